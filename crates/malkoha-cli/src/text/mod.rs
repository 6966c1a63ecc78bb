//! `malkoha dedup --jsonl`: drops or marks duplicate texts and paragraphs of JSON lines. docs/TEXT.md says
//! exactly what that means.
//!
//! ```text
//!   tree.rs        which files are read and written
//!   batch.rs       files to batches of whole lines                           one thread, a batch ahead
//!   field.rs       the text in a line of JSON                              \
//!   rules.rs       normalisation                                            |
//!   words.rs       words and n-grams as hashes                              | all threads, each with a piece
//!   document.rs    lines to units with their keys, looked up in the filter /
//!   repeats.rs     keys that several units of a batch have                   all threads, each with a part
//!   threshold.rs   when a unit is a duplicate
//!   decide.rs      units in their order; keys of kept units are stored       the engine, on all threads
//!   render.rs      decisions to lines                                        all threads, each with a piece
//!   sink.rs        compression; standard output or files                     in the order of the input
//! ```

mod args;
mod batch;
mod decide;
mod document;
mod field;
mod parallel;
mod remember;
mod render;
mod repeats;
mod rules;
mod sink;
mod tally;
mod threshold;
mod tree;
mod words;

use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use args::Bad;
pub(crate) use args::TextArgs;
use batch::{Batch, Piece, Reader};
use document::{Content, Parsed, Parser, Recipe};
use field::Field;
pub(crate) use remember::held;
use remember::{Keys, Memory};
use sink::Sink;
use tally::{About, Tally};
use threshold::Threshold;
use tree::Leaf;

use crate::cli::DedupArgs;
use crate::input::{self, Stop};
use crate::message::note;
use crate::output::Output;
use crate::pipeline::NO_THREADS;
use crate::progress;
use crate::report::Audience;
use crate::units::{grouped, rate_in_words};

/// The share of n-grams that makes a duplicate, unless another is given.
const OVERLAP: f64 = 0.8;

/// Bad lines that are reported one by one.
const MOST_REPORTED: u64 = 20;

/// Batches that wait to be worked on.
const WAITING: usize = 1;

/// Everything that is needed for a batch.
struct Run {
    recipe: Recipe,
    threshold: Threshold,
    bad: Bad,
    memory: Memory,
    leaves: Vec<Leaf>,
    sink: Sink,
    tally: Tally,
    reported: u64,
    threads: usize,
}

/// Runs the subcommand for the texts in a field.
pub(crate) fn run(args: &DedupArgs, field: &Field, threads: usize) -> Result<()> {
    let (start, text) = (Instant::now(), &args.text);
    if let Some(name) = text.annotate.as_deref().filter(|name| field.is_within(name)) {
        bail!("--annotate={name} would replace the text; give another name");
    }
    let inputs = input::or_standard_input(&args.inputs);
    let leaves = tree::leaves(&inputs)?;
    let sink = match &text.out {
        None => Sink::Standard(Output::new()),
        Some(folder) => {
            tree::check_folder(folder, &inputs, &leaves)?;
            Sink::Folder { folder: folder.clone(), leaves: leaves.clone(), open: None }
        }
    };
    let recipe = Recipe {
        field: field.clone(),
        paragraphs: text.paragraphs,
        ngram: text.ngram,
        min_words: text.min_words,
        rules: text.normalize,
        note: text.annotate.clone(),
    };
    let share = Threshold::Share(text.overlap.unwrap_or(OVERLAP));
    let threshold = text.at_least.map_or(share, Threshold::Count);
    let memory = Memory::new(args, Keys { ngram: text.ngram, rules: text.normalize })?;
    let (bad, tally) = (text.bad, Tally::default());
    let mut run = Run { recipe, threshold, bad, memory, leaves, sink, tally, reported: 0, threads };
    run.all(args.quiet || text.out.is_none() && progress::is_output_seen())?;
    run.finish(args, start)
}

impl Run {
    /// Reads, decides and writes everything.
    fn all(&mut self, quiet: bool) -> Result<()> {
        let paths: Vec<_> = self.leaves.iter().map(|leaf| leaf.input.clone()).collect();
        let bar = progress::bar(&paths, "reading", quiet);
        let stop = Stop::default();
        let mut reader = Reader::new(paths, bar.clone(), stop.clone());
        let ended = if self.threads <= 1 {
            std::iter::from_fn(|| reader.next().transpose()).try_for_each(|batch| self.batch(&batch?))
        } else {
            let (sender, batches) = sync_channel(WAITING);
            std::thread::scope(|scope| {
                let read = Builder::new().spawn_scoped(scope, move || {
                    // Nobody receives after an error.
                    while let Some(batch) = reader.next().transpose()
                        && sender.send(batch).is_ok()
                    {}
                });
                read.context(NO_THREADS)?;
                let ended = batches.into_iter().try_for_each(|batch| self.batch(&batch?));
                if ended.is_err() {
                    stop.now();
                }
                ended
            })
        };
        bar.finish_and_clear();
        ended
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        let (threads, bytes) = (self.threads, &batch.bytes);
        let mut work: Vec<_> = batch.pieces.iter().map(|piece| (piece, Parsed::default())).collect();
        let parser = || Parser::new(&self.recipe, &self.memory.filter);
        parallel::for_each(threads, &mut work, parser, |parser, (piece, parsed)| {
            *parsed = parser.parse(bytes, piece);
        });
        for (piece, parsed) in &work {
            self.report_flaws(piece, parsed)?;
        }
        let mut parsed: Vec<_> = work.into_iter().map(|(_, parsed)| parsed).collect();
        let wrongly = decide::decide(&mut parsed, &mut self.memory, self.threshold, threads)?;
        self.tally.expect_wrongly(wrongly);
        let pieces = batch.pieces.iter().zip(&parsed);
        let mut output: Vec<_> =
            pieces.map(|(piece, parsed)| (parsed, self.sink.packing(piece.file), Vec::new())).collect();
        let (recipe, bad) = (&self.recipe, self.bad);
        parallel::for_each(
            threads,
            &mut output,
            || (),
            |(), (parsed, packing, output)| {
                let mut lines = Vec::new();
                render::render(bytes, parsed, recipe, bad, &mut lines);
                if !lines.is_empty() {
                    *output = packing.pack(lines);
                }
            },
        );
        for (piece, (parsed, _, output)) in batch.pieces.iter().zip(output) {
            self.sink.write(piece.file, &output, piece.last)?;
            self.tally.add(parsed, &self.recipe);
            self.tally.read(piece.range.len(), usize::from(piece.last));
        }
        Ok(())
    }

    /// Reports lines without a text, or ends with an error for the first.
    fn report_flaws(&mut self, piece: &Piece, parsed: &Parsed) -> Result<()> {
        for (line, number) in parsed.lines.iter().zip(piece.line..) {
            let Content::Flawed(flaw) = &line.content else { continue };
            let file = input::name(&self.leaves[piece.file].input);
            let what = flaw.in_words(&self.recipe.field);
            let done = match self.bad {
                Bad::Fail => bail!("{file}:{number}: {what}; to go on, give --bad keep or --bad drop"),
                Bad::Keep => "kept",
                Bad::Drop => "dropped",
            };
            self.reported += 1;
            match self.reported {
                1..=MOST_REPORTED => note(format_args!("{file}:{number}: {what}; {done}")),
                _ if self.reported == MOST_REPORTED + 1 => {
                    note("there are more bad lines, which are only counted");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Saves the filter, and prints the summary.
    fn finish(self, args: &DedupArgs, start: Instant) -> Result<()> {
        let Self { recipe, bad, mut memory, sink, tally, threads, .. } = self;
        sink.finish()?;
        memory.save()?;
        let geometry = *memory.filter.geometry();
        if memory.overfilled && !memory.read_only && memory.filter.len() > geometry.keys() {
            note(format_args!(
                "the filter holds {} keys, more than the {} that fit at a rate of {}; its rate is now {}",
                grouped(memory.filter.len()),
                grouped(geometry.keys()),
                rate_in_words(geometry.rate()),
                rate_in_words(memory.rate()),
            ));
        }
        let filter = args.text.filter.as_deref();
        let about = About { recipe: &recipe, bad, memory: &memory, filter, threads, time: start.elapsed() };
        let mut report = tally.report(&about);
        for (name, value) in tally.data(&about) {
            report.data(&name, value);
        }
        report.show(Audience { json: args.json, quiet: args.quiet, aside: true })
    }
}
