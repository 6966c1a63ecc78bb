//! `malkoha remove`: removes keys from a filter, in place.

use anyhow::Result;

use crate::cli::ChangeArgs;
use crate::cmd::{Outcome, threads};
use crate::input;
use crate::output::Output;
use crate::pipeline::{self, Worked};
use crate::report::Report;
use crate::units::grouped;
use crate::{filter_file, progress};

/// Runs the subcommand.
pub(crate) fn run(args: &ChangeArgs) -> Result<Outcome> {
    let (mut filter, lock) = filter_file::open_to_change(&args.filter)?;
    let kind = filter.geometry().kind();
    if kind.is_bloom() {
        let error = malkoha::Error::Unsupported { kind, operation: "remove keys" };
        return Err(anyhow::Error::new(error).context(args.filter.display().to_string()));
    }
    let input = &args.input;
    let inputs = input::or_standard_input(&input.inputs);
    let bar = progress::bar(&inputs, "removing", input.quiet);
    let source = filter_file::source(&filter, &args.filter, input, &inputs, bar.clone())?;
    let (keying, hasher) = (source.keying(), *filter.hasher());
    let (mut read, mut removed) = (0, 0);
    let work = |block: &mut Vec<u8>, worked: &mut Worked| worked.keys.read(block, keying, &hasher);
    pipeline::run(source, threads(input.threads), &work, &mut |Worked { keys, .. }| {
        read += keys.hashes.len() as u64;
        removed += filter.remove_slice(&keys.hashes)? as u64;
        Ok(())
    })?;
    bar.finish_and_clear();
    filter_file::save_changed(&filter, &args.filter, lock)?;
    if !input.quiet {
        let mut report = Report::default();
        let absent = grouped(read - removed);
        report.fact(
            "keys",
            format_args!("{} read, {} removed, {absent} were not there", grouped(read), grouped(removed)),
        );
        filter_file::describe(&mut report, &filter);
        let mut out = Output::new();
        out.line(report)?;
        out.finish()?;
    }
    Ok(Outcome::Done)
}
