//! `malkoha dedup`: prints the first occurrence of every line, in order. `text/` does the same for JSON lines.

use std::time::Instant;

use anyhow::Result;
use malkoha::Inserted;

use crate::cli::{DedupArgs, Format};
use crate::cmd::{Outcome, threads};
use crate::input::{self, Source};
use crate::message::say;
use crate::output::Output;
use crate::pipeline::{self, Worked};
use crate::progress;
use crate::report::Report;
use crate::seen::{KIND, Seen};
use crate::tally::Tally;
use crate::text;
use crate::units::{grouped, short_bytes};

/// Runs the subcommand.
pub(crate) fn run(args: &DedupArgs) -> Result<Outcome> {
    if let Some(field) = &args.text.jsonl {
        text::run(args, field, threads(args.threads))?;
        return Ok(Outcome::Done);
    }
    let start = Instant::now();
    let inputs = input::or_standard_input(&args.inputs);
    let mut seen = Seen::new(args)?;
    let bar = progress::bar(&inputs, "reading", args.quiet);
    let format = if args.nul { Format::Nul } else { Format::Lines };
    let source = Source::new(&inputs, Some(format), None, bar.clone());
    let (keying, hasher) = (source.keying(), seen.hasher());
    let work = |block: &mut Vec<u8>, worked: &mut Worked| {
        worked.keys.read(block, keying, &hasher);
        std::mem::swap(block, &mut worked.text);
    };
    let (mut out, mut tally, mut answers) = (Output::new(), Tally::default(), Vec::new());
    pipeline::run(source, threads(args.threads), &work, &mut |Worked { text, keys, .. }| {
        answers.clear();
        seen.remember(&keys.hashes, &mut answers)?;
        let stored = answers.iter().filter(|answer| **answer == Inserted::Stored).count() as u64;
        tally.add(&seen, answers.len(), stored);
        let new = answers.iter().map(|answer| *answer == Inserted::Stored);
        keys.each_text(text, keying, new, |part| out.write(part))?;
        out.flush()
    })?;
    tally.settle(&seen);
    bar.finish_and_clear();
    out.finish()?;
    if !args.quiet {
        say(report(args, &seen, &tally, start));
    }
    Ok(Outcome::Done)
}

fn report(args: &DedupArgs, seen: &Seen, tally: &Tally, start: Instant) -> Report {
    let mut report = Report::default();
    let (dropped, wrongly) = (grouped(tally.keys - tally.stored), tally.alike_in_words());
    report
        .fact("lines", format_args!("{} read, {} written", grouped(tally.keys), grouped(tally.stored)))
        .fact("filter", format_args!("{}, {}", args.kind.unwrap_or(KIND), short_bytes(seen.memory_bytes())))
        .fact("time", format_args!("{:.2} seconds", start.elapsed().as_secs_f64()))
        .fact("dropped", format_args!("{dropped} as duplicates; expected wrongly among them: {wrongly}"));
    report
}
