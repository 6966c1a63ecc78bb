//! `malkoha query`: prints the keys that a filter may hold, or those that it certainly does not.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use malkoha::{Filter, KeyFormat};
use serde_json::json;

use crate::cli::QueryArgs;
use crate::cmd::{Outcome, threads};
use crate::input::{self, is_standard_input};
use crate::message::note;
use crate::output::Output;
use crate::pipeline::{self, Worked};
use crate::report::{Audience, Report};
use crate::units::{counted, rate_in_words, short_count};
use crate::{filter_file, key_format, progress};

/// How many keys of an input were read, and how many of them matched.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    read: u64,
    matched: u64,
}

/// Runs the subcommand.
pub(crate) fn run(args: &QueryArgs) -> Result<Outcome> {
    let input = &args.input;
    let inputs = input::or_standard_input(&input.inputs);
    if is_standard_input(&args.filter) && inputs.iter().any(|input| is_standard_input(input)) {
        bail!("standard input cannot be both the filter and the keys; give a file for one of them");
    }
    let filter = filter_file::open(&args.filter)?;
    if let KeyFormat::Minimizers { .. } = key_format::of(&filter) {
        let held = key_format::in_words(key_format::of(&filter));
        bail!("{} holds {held}; compare reads with it with `malkoha reads`", filter_file::name(&args.filter));
    }
    let bar = progress::bar(&inputs, "asking", input.quiet || prints_keys(args));
    let mut source =
        filter_file::source(&filter, &args.filter, input, &inputs, bar.clone(), args.no_messages)?;
    let unreadable = source.leave_out_unreadable();
    let work = |block: &mut Vec<u8>, worked: &mut Worked| look_up(args, &filter, block, worked);
    let (mut out, mut skipped) = (Output::new(), 0);
    let mut counts = vec![Counts::default(); inputs.len()];
    pipeline::run(source, threads(input.threads), &work, &mut |worked| {
        if input.quiet && worked.matched > 0 {
            // Other threads may still wait for more input, but the answer is known.
            std::process::exit(0);
        }
        let counts = &mut counts[worked.origin.input];
        counts.read += worked.keys.hashes.len() as u64;
        counts.matched += worked.matched;
        skipped += worked.keys.skipped;
        out.write(&worked.text)?;
        if worked.text.is_empty() { Ok(()) } else { out.flush() }
    })?;
    bar.finish_and_clear();
    let all = Counts {
        read: counts.iter().map(|counts| counts.read).sum(),
        matched: counts.iter().map(|counts| counts.matched).sum(),
    };
    if !input.quiet && !input.json {
        print_counts(args, &inputs, &counts, all, &mut out)?;
    }
    out.finish()?;
    if !input.quiet && !args.no_messages {
        notes(args, &filter, all, skipped);
    }
    if input.json && !input.quiet {
        let report = report(args, &filter, &inputs, &counts, all);
        report.show(Audience { json: true, quiet: false, aside: prints_keys(args) })?;
    }
    Ok(match all.matched {
        _ if unreadable.load(Ordering::Relaxed) => Outcome::Failed,
        0 => Outcome::Nothing,
        _ => Outcome::Done,
    })
}

/// Returns whether keys are printed, not only their number.
fn prints_keys(args: &QueryArgs) -> bool {
    !args.count && !args.by_file && !args.input.quiet
}

/// Looks up the keys of a block, and copies the text of those that are to be printed.
fn look_up(args: &QueryArgs, filter: &Filter, block: &[u8], worked: &mut Worked) {
    worked.hash(block, filter.hasher());
    let Worked { origin, keys, answers, matched, text, .. } = worked;
    answers.resize(keys.hashes.len(), false);
    filter.contains_slice_into(&keys.hashes, answers);
    if args.invert {
        for answer in answers.iter_mut() {
            *answer = !*answer;
        }
    }
    *matched = answers.iter().map(|answer| u64::from(*answer)).sum();
    text.clear();
    if prints_keys(args) {
        let copy = |part: &[u8]| {
            text.extend_from_slice(part);
            Ok(())
        };
        keys.each_text(block, origin.keying, answers.iter().copied(), copy).expect("copying does not fail");
    }
}

/// Prints how many keys matched, in all or in every input.
fn print_counts(
    args: &QueryArgs,
    inputs: &[PathBuf],
    counts: &[Counts],
    all: Counts,
    out: &mut Output,
) -> Result<()> {
    if args.by_file {
        let mut lines = inputs.iter().zip(counts);
        lines.try_for_each(|(input, counts)| out.line(format_args!("{}:{}", input.display(), counts.matched)))
    } else if args.count {
        out.line(all.matched)
    } else {
        Ok(())
    }
}

/// Says what the output does not tell.
fn notes(args: &QueryArgs, filter: &Filter, all: Counts, skipped: u64) {
    if skipped > 0 {
        note(format_args!("skipped {} with letters other than ACGT", counted(skipped, "word")));
    }
    let missing = missing(filter, all.matched);
    if args.invert && missing >= 0.5 {
        let rate = rate_in_words(filter.stats().predicted_rate);
        note(format_args!(
            "about {} absent keys are missing here: the filter takes them for present ones at its rate, {rate}",
            short_count(missing.ceil())
        ));
    }
}

/// Returns how many absent keys a filter is expected to have taken for present ones, given how many it did not.
fn missing(filter: &Filter, absent: u64) -> f64 {
    let rate = filter.stats().predicted_rate;
    absent as f64 * rate / (1.0 - rate)
}

fn report(args: &QueryArgs, filter: &Filter, inputs: &[PathBuf], counts: &[Counts], all: Counts) -> Report {
    let file = |(input, counts): (&PathBuf, &Counts)| json!({ "file": input.display().to_string(), "keys_read": counts.read, "keys_matched": counts.matched });
    let mut report = Report::default();
    report
        .data("filter", args.filter.display().to_string())
        .data("inverted", args.invert)
        .data("keys_read", all.read)
        .data("keys_matched", all.matched)
        .data("predicted_rate", filter.stats().predicted_rate)
        .data("inputs", inputs.iter().zip(counts).map(file).collect::<Vec<_>>());
    if args.invert {
        report.data("expected_missing", missing(filter, all.matched));
    }
    report
}
