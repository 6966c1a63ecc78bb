//! `malkoha add`: adds keys to a filter, in place.

use anyhow::{Result, anyhow};

use crate::cli::AddArgs;
use crate::cmd::{Outcome, threads};
use crate::filling::{Storing, fill, is_full};
use crate::filter_file::{self, Changing};
use crate::input;
use crate::progress;
use crate::report::{Audience, Report};
use crate::units::grouped;

/// Runs the subcommand.
pub(crate) fn run(args: &AddArgs) -> Result<Outcome> {
    let (copies, args) = (args.copies, &args.change);
    let mut changing = Changing::open(&args.filter)?;
    let input = &args.input;
    let inputs = input::or_standard_input(&input.inputs);
    let bar = progress::bar(&inputs, "adding", input.quiet);
    let source = filter_file::source(&changing.filter, &args.filter, input, &inputs, bar.clone(), false)?;
    let storing = if copies { Storing::Copies } else { Storing::Once };
    let tally = fill(&mut changing.filter, source, threads(input.threads), storing).map_err(|error| {
        let path = args.filter.display();
        if is_full(&error) {
            anyhow!("{path} has no room for all of these keys and is unchanged; build a larger filter")
        } else {
            error
        }
    })?;
    bar.finish_and_clear();
    let filter = changing.save()?;
    filter_file::warn_of_broken_promise(&filter, &args.filter);
    let mut report = Report::default();
    report
        .fact("keys", format_args!("{} read, {} stored", grouped(tally.keys), grouped(tally.stored)))
        .data("file", args.filter.display().to_string())
        .data("keys_read", tally.keys)
        .data("keys_stored", tally.stored);
    tally.report_skipped(&mut report);
    filter_file::describe(&mut report, &filter);
    report.show(Audience { json: input.json, quiet: input.quiet, aside: false })?;
    Ok(Outcome::Done)
}
