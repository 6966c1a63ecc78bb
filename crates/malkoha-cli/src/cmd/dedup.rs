//! `malkoha dedup`: the first occurrence of every line, in order.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use malkoha::{Filter, Inserted, Spec};

use crate::cli::{DedupArgs, Format};
use crate::cmd::{Outcome, threads};
use crate::input::{self, Keys, Source};
use crate::output::Output;
use crate::units::{grouped, short_bytes};
use crate::{pipeline, progress};

/// Runs the subcommand.
pub(crate) fn run(args: &DedupArgs) -> Result<Outcome> {
    let start = Instant::now();
    let inputs = input::or_standard_input(&args.inputs);
    let Some(keys) = args.keys else { bail!("give --keys") };
    let mut filter = Spec::new(keys, args.rate).kind(args.kind).build()?;
    let bar = progress::bar(&inputs, "reading", args.quiet);
    let format = if args.nul { Format::Nul } else { Format::Lines };
    let source = Source::new(&inputs, Some(format), None, bar.clone());
    let (keying, hasher) = (source.keying(), *filter.hasher());
    let (mut out, mut count) = (Output::new(), Count::default());
    let work = |block: &mut Vec<u8>| {
        let keys = Keys::of(block, keying, &hasher);
        (std::mem::take(block), keys)
    };
    let mut answers = Vec::new();
    pipeline::run(source, threads(args.threads), work, |(block, keys)| {
        answers.clear();
        filter.insert_unique_slice(&keys.hashes, &mut answers).with_context(|| {
            format!("more different lines than --keys {}; give more, or leave it out", grouped(filter.geometry().keys()))
        })?;
        count.add(&filter, &answers);
        write_new(&mut out, &block, &keys, &answers)
    })?;
    bar.finish_and_clear();
    out.finish()?;
    if !args.quiet {
        eprintln!("{}", count.summary(&filter, start));
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
