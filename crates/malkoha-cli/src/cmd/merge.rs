//! `malkoha merge`: merges filters of equal geometry, or filters that grow, into a new one, without their keys.

use anyhow::{Context, Result};

use crate::cli::MergeArgs;
use crate::cmd::Outcome;
use crate::output::Output;
use crate::report::Report;
use crate::units::{grouped, rate_in_words};
use crate::{filter_file, key_format};

/// Runs the subcommand.
pub(crate) fn run(args: &MergeArgs) -> Result<Outcome> {
    filter_file::check_target(&args.out, &args.filters)?;
    let (first, others) = args.filters.split_first().context("give the filters to merge")?;
    let mut united = filter_file::open(first)?;
    let mut copies = united.len();
    for path in others {
        let other = filter_file::open(path)?;
        key_format::check_merge((&united, first), (&other, path))?;
        copies += other.len();
        // Growing filters keep all copies: what looks alike in one may be different keys in the other.
        let all = args.copies || united.geometry().elastic().is_some();
        let merged = if all { united.merge(&other) } else { united.merge_unique(&other) };
        merged.with_context(|| format!("cannot merge {} into {}", path.display(), first.display()))?;
    }
    filter_file::save(&united, &args.out)?;
    let mut report = Report::default();
    report.fact("file", args.out.display());
    report.fact(
        "keys",
        format_args!(
            "{} in {} filters, {} stored",
            grouped(copies),
            args.filters.len(),
            grouped(united.len())
        ),
    );
    if united.geometry().elastic().is_some() {
        let sum = rate_in_words(united.geometry().rate());
        report.fact("promise", format_args!("{sum}: the rates of growing filters add up"));
    }
    filter_file::describe(&mut report, &united);
    let mut out = Output::new();
    out.line(report)?;
    out.finish()?;
    Ok(Outcome::Done)
}
