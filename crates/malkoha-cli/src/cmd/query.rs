//! `malkoha query`: the keys that a filter may hold, or those that it certainly does not.

use anyhow::Result;

use crate::cli::QueryArgs;
use crate::cmd::{Outcome, threads};
use crate::input::{self, Keying, Keys};
use crate::message::say;
use crate::output::Output;
use crate::units::grouped;
use crate::{filter_file, pipeline, progress};

/// Runs the subcommand.
pub(crate) fn run(args: &QueryArgs) -> Result<Outcome> {
    let filter = filter_file::open(&args.filter)?;
    let input = &args.input;
    let inputs = input::or_standard_input(&input.inputs);
    let bar = progress::bar(&inputs, "asking", input.quiet || !args.count);
    let source = filter_file::source(&filter, &args.filter, input, &inputs, bar.clone())?;
    let (keying, hasher) = (source.keying(), *filter.hasher());
    let work = |block: &mut Vec<u8>| {
        let keys = Keys::of(block, keying, &hasher);
        let mut answers = filter.contains_slice(&keys.hashes);
        if args.invert {
            answers = answers.into_iter().map(|answer| !answer).collect();
        }
        let text = if args.count { Vec::new() } else { matching(block, keying, &keys, &answers) };
        (answers.into_iter().filter(|answer| *answer).count() as u64, text, keys.skipped)
    };
    let (mut out, mut matched, mut skipped) = (Output::new(), 0, 0);
    pipeline::run(source, threads(input.threads), work, |(count, text, others)| {
        matched += count;
        skipped += others;
        out.write(&text)?;
        if count > 0 { out.flush() } else { Ok(()) }
    })?;
    bar.finish_and_clear();
    if args.count {
        out.line(matched)?;
    }
    out.finish()?;
    if skipped > 0 && !input.quiet {
        say(format_args!("malkoha: skipped {} words with letters other than ACGT", grouped(skipped)));
    }
    Ok(if matched > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// The text of the keys of a block that are to be printed.
fn matching(block: &[u8], keying: Keying, keys: &Keys, answers: &[bool]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut before = 0;
    for (&end, answer) in keys.ends.iter().zip(answers) {
        let end = end as usize;
        if *answer {
            text.extend_from_slice(keying.text(block, before, end));
            if matches!(keying, Keying::Words(_)) {
                text.push(b'\n');
            }
        }
        before = end;
    }
    text
}
