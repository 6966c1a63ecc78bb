//! `malkoha add`: adds keys to a filter, in place.

use anyhow::Result;

use crate::cli::AddArgs;
use crate::cmd::{Outcome, threads};
use crate::filling::{fill, is_full};
use crate::input;
use crate::output::Output;
use crate::report::Report;
use crate::units::grouped;
use crate::{filter_file, progress};

/// Runs the subcommand.
pub(crate) fn run(args: &AddArgs) -> Result<Outcome> {
    let (copies, args) = (args.copies, &args.change);
    let (mut filter, lock) = filter_file::open_to_change(&args.filter)?;
    let input = &args.input;
    let inputs = input::or_standard_input(&input.inputs);
    let bar = progress::bar(&inputs, "adding", input.quiet);
    let source = filter_file::source(&filter, &args.filter, input, &inputs, bar.clone())?;
    let tally = fill(&mut filter, source, threads(input.threads), copies).map_err(|error| {
        let path = args.filter.display();
        if is_full(&error) {
            error.context(format!(
                "{path} has no room for all of these keys and is unchanged; build a larger filter"
            ))
        } else {
            error
        }
    })?;
    bar.finish_and_clear();
    filter_file::save_changed(&filter, &args.filter, lock)?;
    if !input.quiet {
        let mut report = Report::default();
        report.fact("keys", format_args!("{} read, {} stored", grouped(tally.keys), grouped(tally.stored)));
        tally.report_skipped(&mut report);
        filter_file::describe(&mut report, &filter);
        let mut out = Output::new();
        out.line(report)?;
        out.finish()?;
    }
    Ok(Outcome::Done)
}
