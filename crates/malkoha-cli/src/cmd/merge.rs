//! `malkoha merge`: merges filters of equal geometry, or filters that grow, into a new one, without their keys.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use malkoha::{Error, Filter};

use crate::cli::MergeArgs;
use crate::cmd::Outcome;
use crate::filter_file::{self, name};
use crate::input::kmers;
use crate::key_format;
use crate::report::{Audience, Report};
use crate::target::Target;
use crate::units::{grouped, rate_in_words};

/// Runs the subcommand.
pub(crate) fn run(args: &MergeArgs) -> Result<Outcome> {
    let target = Target::new(&args.out, &args.filters)?;
    if args.filters.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        bail!("standard input can be only one of the filters");
    }
    let (first, others) = args.filters.split_first().context("give the filters to merge")?;
    let mut united = filter_file::open(first)?;
    refuse_labels(&united, first)?;
    let mut copies = united.len();
    for path in others {
        let other = filter_file::open(path)?;
        refuse_labels(&other, path)?;
        key_format::check_merge((&united, first), (&other, path))?;
        copies += other.len();
        // Growing filters keep all copies: what looks alike in one may be different keys in the other.
        let all = args.copies || united.geometry().elastic().is_some();
        let merged = if all { united.merge(&other) } else { united.merge_unique(&other) };
        merged
            .map_err(|error| in_words(error, (&united, first), (&other, path)))
            .with_context(|| format!("cannot merge {} into {}", name(path), name(first)))?;
    }
    target.save(&united)?;
    filter_file::warn_of_broken_promise(&united, &args.out);
    let (filters, stored) = (args.filters.len(), united.len());
    let mut report = Report::default();
    report
        .fact("file", args.out.display())
        .fact("keys", format_args!("{} in {filters} filters, {} stored", grouped(copies), grouped(stored)))
        .data("file", args.out.display().to_string())
        .data("filters", filters)
        .data("keys_read", copies)
        .data("keys_stored", stored);
    if united.geometry().elastic().is_some() {
        let sum = rate_in_words(united.geometry().rate());
        report.fact("promise", format_args!("{sum}: the rates of growing filters add up"));
    }
    filter_file::describe(&mut report, &united);
    report.show(Audience { json: args.json, quiet: args.quiet, aside: target.is_output() })?;
    Ok(Outcome::Done)
}

/// Refuses a filter with labels: its keys would be stored once for each set of labels.
fn refuse_labels(filter: &Filter, path: &Path) -> Result<()> {
    if !filter.labels().is_empty() {
        bail!("{} has labels, and is not merged; build one filter of all files with --label", name(path));
    }
    Ok(())
}

/// Says why two filters cannot be merged, in the words of the program's options.
fn in_words(error: Error, one: (&Filter, &Path), other: (&Filter, &Path)) -> anyhow::Error {
    let first = |is: fn(&Filter) -> bool| if is(one.0) { name(one.1) } else { name(other.1) };
    let seed = |filter: &Filter| filter.geometry().seed();
    match error {
        Error::Growing { .. } => {
            let growing = first(|filter| filter.geometry().is_growing());
            anyhow!("{growing} grows, as filters of streams do; build all of them with the same --keys")
        }
        Error::Geometries { .. } if seed(one.0) != seed(other.0) => {
            if [one.0, other.0].iter().any(|filter| kmers::of_seed(seed(filter)).is_some()) {
                let old = first(|filter| kmers::of_seed(filter.geometry().seed()).is_some());
                return anyhow!(
                    "{old} was built by an older version, which hashed DNA words differently; build it again"
                );
            }
            anyhow!("they hash keys differently; build both with this program")
        }
        Error::Geometries { what } if what.starts_with("their key formats") => {
            anyhow!("the filters differ in {what}; merge filters of the same keys")
        }
        Error::Geometries { what } => {
            anyhow!("the filters differ in {what}; build all of them with the same --kind, --rate and --keys")
        }
        Error::MergeFull { copies, room, left_over } if copies <= room => {
            let (copies, left_over) = (grouped(copies), grouped(left_over));
            anyhow!(
                "together they hold {copies} keys, of which {left_over} found no place: a key may have too many \
                 copies; build all with --kind elastic, or without --copies"
            )
        }
        Error::MergeFull { copies, room, .. } => {
            let (copies, room) = (grouped(copies), grouped(room));
            anyhow!(
                "together they hold {copies} keys, but each has room for {room}; build all with more --keys"
            )
        }
        error => error.into(),
    }
}
