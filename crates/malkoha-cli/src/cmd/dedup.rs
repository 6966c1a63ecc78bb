//! `malkoha dedup`: the first occurrence of every line, in order.

use std::time::Instant;

use anyhow::{Context, Result};
use malkoha::{Filter, Inserted, Spec};

use crate::cli::{DedupArgs, Format};
use crate::cmd::build::FIRST_LINK;
use crate::cmd::{Outcome, threads};
use crate::input::{self, Keys, Source};
use crate::output::Output;
use crate::report::Report;
use crate::tally::Tally;
use crate::units::{grouped, short_bytes};
use crate::{pipeline, progress};

/// Runs the subcommand.
pub(crate) fn run(args: &DedupArgs) -> Result<Outcome> {
    let start = Instant::now();
    let inputs = input::or_standard_input(&args.inputs);
    let mut filter = match args.keys {
        Some(keys) => Spec::new(keys, args.rate).kind(args.kind).build()?,
        None => Spec::new(FIRST_LINK, args.rate).kind(args.kind).growing().build().context("give --keys")?,
    };
    let bar = progress::bar(&inputs, "reading", args.quiet);
    let format = if args.nul { Format::Nul } else { Format::Lines };
    let source = Source::new(&inputs, Some(format), None, bar.clone());
    let (keying, hasher) = (source.keying(), *filter.hasher());
    let work = |block: &mut Vec<u8>| {
        let keys = Keys::of(block, keying, &hasher);
        (std::mem::take(block), keys)
    };
    let (mut out, mut tally, mut answers) = (Output::new(), Tally::default(), Vec::new());
    pipeline::run(source, threads(args.threads), work, |(block, keys)| {
        answers.clear();
        let filled = filter.insert_unique_slice(&keys.hashes, &mut answers);
        filled.with_context(|| {
            let planned = grouped(filter.geometry().keys());
            format!("there are more different lines than --keys {planned}; give more, or leave it out")
        })?;
        let stored = answers.iter().filter(|answer| **answer == Inserted::Stored).count() as u64;
        tally.add(&filter, answers.len(), stored);
        write_new(&mut out, &block, &keys, &answers)
    })?;
    tally.settle(&filter);
    bar.finish_and_clear();
    out.finish()?;
    if !args.quiet {
        eprintln!("{}", report(&filter, &tally, start));
    }
    Ok(Outcome::Done)
}

/// Writes the lines of a block that are new, neighbours at once.
fn write_new(out: &mut Output, block: &[u8], keys: &Keys, answers: &[Inserted]) -> Result<()> {
    let (mut from, mut to) = (0, 0);
    for (&end, answer) in keys.ends.iter().zip(answers) {
        let end = end as usize;
        if *answer == Inserted::Seen {
            out.write(&block[from..to])?;
            from = end;
        }
        to = end;
    }
    out.write(&block[from..to])?;
    out.flush()
}

fn report(filter: &Filter, tally: &Tally, start: Instant) -> Report {
    let mut report = Report::default();
    let memory = short_bytes(filter.stats().memory_bytes);
    report
        .fact("lines", format_args!("{} read, {} written", grouped(tally.keys), grouped(tally.stored)))
        .fact("dropped", format_args!("{} of them wrongly, as expected from the rate", tally.dropped()))
        .fact("filter", format_args!("{}, {memory}", filter.geometry().kind()))
        .fact("time", format_args!("{:.2} seconds", start.elapsed().as_secs_f64()));
    report
}
