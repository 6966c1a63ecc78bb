//! `malkoha verify`: checks every byte of filters.

use anyhow::{Result, bail};

use crate::cli::VerifyArgs;
use crate::cmd::Outcome;
use crate::filter_file;
use crate::message::say;
use crate::output::Output;
use crate::units::{grouped, short_bytes};

/// Runs the subcommand. Opening a filter checks its checksums and its whole content. All files are checked,
/// even if one is damaged or nobody reads the output any more.
pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    let (mut out, mut read) = (Output::new(), true);
    let mut damaged = Vec::new();
    for path in &args.filters {
        let filter = match filter_file::open(path) {
            Ok(filter) => filter,
            Err(error) => {
                say(format_args!("malkoha: {error:#}"));
                damaged.push(path.display().to_string());
                continue;
            }
        };
        let (kind, stats) = (filter.geometry().kind(), filter.stats());
        let (keys, bytes) = (grouped(stats.items), short_bytes(stats.memory_bytes));
        if read {
            read =
                out.line_if_read(format_args!("{}: sound, {kind}, {keys} keys, {bytes}", path.display()))?;
        }
    }
    if !damaged.is_empty() {
        bail!("{} of {} files are not sound: {}", damaged.len(), args.filters.len(), damaged.join(", "));
    }
    Ok(Outcome::Done)
}
