//! `malkoha dedup`: prints the first occurrence of every line, in order, or the second one. `text/` does the same for
//! JSON lines.

use std::time::Instant;

use anyhow::Result;
use malkoha::{Inserted, Kind};

use crate::cli::{DedupArgs, Format};
use crate::cmd::{Outcome, threads};
use crate::input::{self, Source};
use crate::output::Output;
use crate::pipeline::{self, Worked};
use crate::progress;
use crate::report::{Audience, Report};
use crate::seen::{Once, Seen};
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
    let mut first = Once::new(Seen::new(args)?);
    let mut second = if args.repeated { Some(Once::new(Seen::new(args)?)) } else { None };
    let bar = progress::bar(&inputs, "reading", args.quiet || !args.count && progress::is_output_seen());
    let format = if args.nul { Format::Nul } else { Format::Lines };
    let source = Source::new(&inputs, Some(format), None, args.table.column(), bar.clone());
    let hasher = first.seen.hasher();
    let work = |block: &mut Vec<u8>, worked: &mut Worked| {
        worked.hash(block, &hasher);
        std::mem::swap(block, &mut worked.text);
    };
    let (mut out, mut written, mut wanted) = (Output::new(), 0, Vec::new());
    pipeline::run(source, threads(args.threads), &work, &mut |Worked { origin, text, keys, .. }| {
        let answers = first.remember(&keys.hashes)?;
        wanted.clear();
        wanted.extend(answers.iter().map(|answer| *answer == Inserted::Stored));
        if let Some(second) = &mut second {
            second.remember_again(&keys.hashes, &mut wanted)?;
        }
        written += wanted.iter().filter(|wanted| **wanted).count() as u64;
        if args.count {
            return Ok(());
        }
        keys.each_text(text, origin.keying, wanted.iter().copied(), |part| out.write(part))?;
        out.flush()
    })?;
    first.settle();
    bar.finish_and_clear();
    if args.count {
        out.line(written)?;
    }
    out.finish()?;
    let (tally, mut memory) = (first.tally, first.seen.memory_bytes());
    if let Some(second) = &mut second {
        second.settle();
        memory += second.seen.memory_bytes();
    }
    first.warn_of_broken_promise();
    let kind = first.seen.kind(args.kind);
    let report = report(kind, &tally, second.map(|second| second.tally), written, memory, start);
    report.show(Audience { json: args.json, quiet: args.quiet, aside: true })?;
    Ok(Outcome::Done)
}

fn report(
    kind: Kind,
    tally: &Tally,
    repeated: Option<Tally>,
    written: u64,
    memory: u64,
    start: Instant,
) -> Report {
    let mut report = Report::default();
    let (seconds, wrongly) = (start.elapsed().as_secs_f64(), tally.alike_in_words());
    report
        .fact("lines", format_args!("{} read, {} written", grouped(tally.keys), grouped(written)))
        .fact("filter", format_args!("{kind}, {}", short_bytes(memory)))
        .fact("time", format_args!("{seconds:.2} seconds"))
        .data("lines_read", tally.keys)
        .data("lines_written", written)
        .data("lines_different", tally.different())
        .data("kind", kind.to_string())
        .data("bytes", memory)
        .data("seconds", seconds);
    if let Some(repeated) = repeated {
        let dropped = repeated.alike_in_words();
        report
            .fact("wrong", format_args!("expected: {wrongly} written that occur once, {dropped} not written"))
            .data("expected_wrongly_written", tally.alike())
            .data("expected_wrongly_dropped", repeated.alike());
    } else {
        let dropped = tally.keys - tally.stored;
        report
            .fact(
                "dropped",
                format_args!("{} as duplicates; expected wrongly among them: {wrongly}", grouped(dropped)),
            )
            .data("lines_dropped", dropped)
            .data("expected_wrongly_dropped", tally.alike());
    }
    report
}
