//! `malkoha remove`: removes keys from a filter, in place.

use anyhow::Result;

use crate::cli::ChangeArgs;
use crate::cmd::{Outcome, threads};
use crate::filter_file::{self, Changing};
use crate::input;
use crate::pipeline::{self, Worked};
use crate::progress;
use crate::report::{Audience, Report};
use crate::units::grouped;

/// Runs the subcommand.
pub(crate) fn run(args: &ChangeArgs) -> Result<Outcome> {
    let mut changing = Changing::open(&args.filter)?;
    let filter = &mut changing.filter;
    let kind = filter.geometry().kind();
    if kind.is_bloom() {
        let error = malkoha::Error::Unsupported { kind, operation: "remove keys" };
        return Err(anyhow::Error::new(error).context(args.filter.display().to_string()));
    }
    let input = &args.input;
    let inputs = input::or_standard_input(&input.inputs);
    let bar = progress::bar(&inputs, "removing", input.quiet);
    let source = filter_file::source(filter, &args.filter, input, &inputs, bar.clone(), false)?;
    let hasher = *filter.hasher();
    let (mut read, mut removed) = (0, 0);
    let work = |block: &mut Vec<u8>, worked: &mut Worked| worked.hash(block, &hasher);
    pipeline::run(source, threads(input.threads), &work, &mut |Worked { keys, .. }| {
        read += keys.hashes.len() as u64;
        removed += filter.remove_slice(&keys.hashes)? as u64;
        Ok(())
    })?;
    bar.finish_and_clear();
    let filter = changing.save()?;
    let mut report = Report::default();
    let absent = grouped(read - removed);
    report
        .fact(
            "keys",
            format_args!("{} read, {} removed, {absent} were not there", grouped(read), grouped(removed)),
        )
        .data("file", args.filter.display().to_string())
        .data("keys_read", read)
        .data("keys_removed", removed);
    filter_file::describe(&mut report, &filter);
    report.show(Audience { json: input.json, quiet: input.quiet, aside: false })?;
    Ok(Outcome::Done)
}
