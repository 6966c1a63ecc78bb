//! `malkoha verify`: every byte of filters.

use anyhow::Result;

use crate::cli::VerifyArgs;
use crate::cmd::Outcome;
use crate::filter_file;
use crate::output::Output;
use crate::units::{grouped, short_bytes};

/// Runs the subcommand. Opening a filter checks its checksums and its whole content.
pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    let mut out = Output::new();
    for path in &args.filters {
        let filter = filter_file::open(path)?;
        let (kind, stats) = (filter.geometry().kind(), filter.stats());
        let (keys, bytes) = (grouped(stats.items), short_bytes(stats.memory_bytes));
        out.line(format_args!("{}: sound, {kind}, {keys} keys, {bytes}", path.display()))?;
        out.flush()?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}
