//! `malkoha query`: prints the keys that a filter may hold, or those that it certainly does not.

use anyhow::Result;

use crate::cli::QueryArgs;
use crate::cmd::{Outcome, threads};
use crate::input;
use crate::message::say;
use crate::output::Output;
use crate::pipeline::{self, Worked};
use crate::units::grouped;
use crate::{filter_file, progress};

/// Runs the subcommand.
pub(crate) fn run(args: &QueryArgs) -> Result<Outcome> {
    let filter = filter_file::open(&args.filter)?;
    let input = &args.input;
    let inputs = input::or_standard_input(&input.inputs);
    let bar = progress::bar(&inputs, "asking", input.quiet || !args.count);
    let source = filter_file::source(&filter, &args.filter, input, &inputs, bar.clone())?;
    let (keying, hasher) = (source.keying(), *filter.hasher());
    let work = |block: &mut Vec<u8>, worked: &mut Worked| {
        let Worked { keys, answers, matched, text } = worked;
        keys.read(block, keying, &hasher);
        answers.resize(keys.hashes.len(), false);
        filter.contains_slice_into(&keys.hashes, answers);
        if args.invert {
            for answer in answers.iter_mut() {
                *answer = !*answer;
            }
        }
        *matched = answers.iter().map(|answer| u64::from(*answer)).sum();
        if !args.count {
            text.clear();
            let copy = |part: &[u8]| {
                text.extend_from_slice(part);
                Ok(())
            };
            keys.each_text(block, keying, answers.iter().copied(), copy).expect("copying does not fail");
        }
    };
    let (mut out, mut matched, mut skipped) = (Output::new(), 0, 0);
    pipeline::run(source, threads(input.threads), &work, &mut |worked| {
        matched += worked.matched;
        skipped += worked.keys.skipped;
        out.write(&worked.text)?;
        if worked.matched > 0 { out.flush() } else { Ok(()) }
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
