//! `malkoha reads`: keeps or discards whole records by how many of their words a filter holds.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::ReadsArgs;
use crate::cmd::Outcome;
use crate::input::Origin;
use crate::output::Output;
use crate::reads::asking::{Answer, Question};
use crate::reads::block::Tally;
use crate::reads::outputs::Outputs;
use crate::reads::threshold::Chances;
use crate::reads::{Job, Pairing, ReadBlock};
use crate::report::Audience;
use crate::units::{grouped, short_count};

/// Runs the subcommand.
pub(crate) fn run(args: &ReadsArgs) -> Result<Outcome> {
    let job = Job::new(&args.filter, &args.records, args.out_mates.is_some())?;
    let paths = match (&args.out, args.count) {
        (_, true) => Vec::new(),
        (None, false) => vec![PathBuf::from("-")],
        (Some(out), false) => [out].into_iter().chain(&args.out_mates).cloned().collect(),
    };
    let outputs = Outputs::new(&paths, &job.read())?;
    let aside = outputs.has_standard();
    let chances = Chances::new(args.at_least, job.filter.stats().predicted_rate);
    let question =
        Question { filter: &job.filter, rule: job.rule, threshold: args.at_least, totals: args.totals };
    let work = |block: &[u8], origin: &Origin, reads: &mut ReadBlock| {
        reads.read(block, origin);
        reads.ask(block, &question);
        reads.begin_pieces(paths.len());
        for at in 0..reads.units.len() {
            let (unit, Answer { words, found, matches }) = (reads.units[at], reads.answers[at]);
            reads.tally.words_found += found;
            if words == 0 {
                reads.tally.wordless += if job.pairing == Pairing::Single { 1 } else { 2 };
            }
            reads.tally.by_chance += chances.of(words);
            if matches != args.invert {
                reads.keep(unit);
                if !paths.is_empty() {
                    reads.write(block, unit, 0, job.pairing);
                }
            }
        }
    };
    let tally = job.run(outputs, &work, &mut |_| ())?;
    let audience = Audience { json: args.records.json, quiet: args.records.quiet, aside };
    if args.count && !args.records.json {
        let mut out = Output::new();
        out.line(tally.records_kept)?;
        out.finish()?;
        return Ok(Outcome::Done);
    }
    let (read, kept) = (tally.records, tally.records_kept);
    let mut report = job.report(&tally);
    report
        .fact(
            "records",
            format_args!("{} read, {} kept ({:.2} %)", grouped(read), grouped(kept), share(kept, read)),
        )
        .fact(
            "letters",
            format_args!("{} read, {} kept", grouped(tally.letters), grouped(tally.letters_kept)),
        )
        .fact("words", words_in_words(&job, &tally, args.totals))
        .fact("matches", matches_in_words(args))
        .data(
            "at_least",
            args.at_least.share().map_or_else(|| args.at_least.of(0).into(), serde_json::Value::from),
        )
        .data("inverted", args.invert)
        .data("records_kept", kept)
        .data("records_discarded", read - kept)
        .data("letters_kept", tally.letters_kept)
        .data("words_found", args.totals.then_some(tally.words_found))
        .data("expected_by_chance", tally.by_chance);
    if tally.by_chance >= 0.5 {
        let expected = short_count(tally.by_chance.ceil());
        let units = if job.pairing == Pairing::Single { "records" } else { "pairs" };
        report
            .fact("chance", format_args!("at most about {expected} {units} match by false positives alone"));
    }
    if tally.wordless > 0 {
        let (none, words) = (grouped(tally.wordless), job.words_in_words());
        report.fact("short", format_args!("{none} without {words}, which never match"));
    }
    job.report_time(&mut report, &tally);
    report.show(audience)?;
    Ok(Outcome::Done)
}

fn share(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// Says how many words there were, and how many of them were found, if all were looked up.
fn words_in_words(job: &Job<'_>, tally: &Tally, totals: bool) -> String {
    let all = format!("{} {}", grouped(tally.words), job.words_in_words());
    if totals {
        let found = tally.words_found;
        format!("{all}, {} found ({:.2} %)", grouped(found), share(found, tally.words))
    } else {
        all
    }
}

/// Says which records match, and whether they are kept.
fn matches_in_words(args: &ReadsArgs) -> String {
    let what = match args.at_least.share() {
        Some(_) => format!("at least {} of the words found", args.at_least),
        None => format!("at least {} found", args.at_least),
    };
    format!("{what}; {}", if args.invert { "discarded" } else { "kept" })
}
