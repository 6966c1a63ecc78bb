//! Whole reads: kept or discarded by how many of their words a filter holds, or put into classes by their labels.
//!
//! ```text
//!   input/records.rs   blocks of whole records          input/pairs.rs   of two inputs side by side
//!   block.rs           records and what becomes of them
//!   asking.rs          how many words are found         threshold.rs     how many must be found
//!   labelling.rs       labels of words                  classes.rs       where a read comes from
//!   outputs.rs         records in the order of the input, compressed by the threads that have them
//! ```

pub(crate) mod asking;
pub(crate) mod block;
pub(crate) mod classes;
mod labelling;
pub(crate) mod outputs;
pub(crate) mod threshold;

pub(crate) use block::ReadBlock;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use malkoha::{Filter, KeyFormat};

use crate::cli::RecordArgs;
use crate::cmd::threads;
use crate::filter_file;
use crate::input::kmers::{MOST_PACKED, Rule};
use crate::input::pairs::Pairs;
use crate::input::{self, Origin, Source, is_standard_input, name};
use crate::pipeline::{self, Worked};
use crate::report::Report;
use crate::units::{counted, grouped};
use crate::{key_format, progress};
use block::Tally;
use outputs::Outputs;

/// How records belong together, and where they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Each alone.
    Single,
    /// In pairs, which stay together in one output.
    Together,
    /// In pairs, the mates in an output of their own.
    Apart,
}

impl Pairing {
    pub(crate) fn has_two_outputs(self) -> bool {
        self == Self::Apart
    }
}

/// A filter and the records that are compared with it.
pub(crate) struct Job<'a> {
    args: &'a RecordArgs,
    path: &'a Path,
    pub(crate) filter: Filter,
    pub(crate) rule: Rule,
    pub(crate) pairing: Pairing,
    inputs: Vec<PathBuf>,
    begun: Instant,
}

impl<'a> Job<'a> {
    /// Opens the filter. `apart` means that mates have an output of their own.
    pub(crate) fn new(path: &'a Path, args: &'a RecordArgs, apart: bool) -> Result<Self> {
        let begun = Instant::now();
        let inputs = input::or_standard_input(&args.inputs);
        if !args.mates.is_empty() && args.mates.len() != inputs.len() {
            let (files, mates) =
                (counted(inputs.len() as u64, "file"), counted(args.mates.len() as u64, "file"));
            bail!("{files} of reads and {mates} of mates are not pairs; give one with -2 for each");
        }
        let streams = [path].into_iter().chain(inputs.iter().chain(&args.mates).map(PathBuf::as_path));
        if streams.filter(|path| is_standard_input(path)).count() > 1 {
            bail!("standard input can be only one of the files; give files for the others");
        }
        let pairing = match (args.mates.is_empty() && !args.interleaved, apart) {
            (true, true) => bail!("-O is for the mates of pairs; give them with -2, or --interleaved"),
            (true, false) => Pairing::Single,
            (false, true) => Pairing::Apart,
            (false, false) => Pairing::Together,
        };
        let filter = filter_file::open(path)?;
        let rule = rule(&filter, path, args.minimizers)?;
        Ok(Self { args, path, filter, rule, pairing, inputs, begun })
    }

    /// Returns everything that is read, and must not be overwritten.
    pub(crate) fn read(&self) -> Vec<PathBuf> {
        [self.path.to_owned()].iter().chain(&self.inputs).chain(&self.args.mates).cloned().collect()
    }

    /// Runs all records through `work`, which may write them, and adds up what it counts.
    pub(crate) fn run(
        &self,
        mut outputs: Outputs,
        work: &(dyn Fn(&[u8], &Origin, &mut ReadBlock) + Sync),
        count: &mut dyn FnMut(&ReadBlock),
    ) -> Result<Tally> {
        let bar = progress::bar(&self.inputs, "reading", self.args.quiet || outputs.has_standard());
        let packings = outputs.packings();
        let work = |block: &mut Vec<u8>, worked: &mut Worked| {
            work(block, &worked.origin, &mut worked.reads);
            worked.reads.pack(&packings);
        };
        let (mut tally, mut at, mut before) = (Tally::default(), 0, 0);
        let mut sink = |worked: &mut Worked| {
            let (reads, origin) = (&worked.reads, worked.origin);
            if at != origin.input {
                (at, before) = (origin.input, 0);
            }
            before += reads.tally.records / if origin.mates.is_some() { 2 } else { 1 };
            if let Some(what) = &reads.flaw {
                let file = name(&self.inputs[at]);
                let file = if self.args.mates.is_empty() { file } else { format!("{file} or its mates") };
                bail!("{file}: record {} cannot be read: {what}", before + 1);
            }
            tally.add(&reads.tally);
            count(reads);
            outputs.write(&reads.pieces)
        };
        let threads = threads(self.args.threads);
        let source = |inputs: &[PathBuf]| Source::of_records(inputs, self.args.interleaved, bar.clone());
        if self.args.mates.is_empty() {
            pipeline::run(source(&self.inputs), threads, &work, &mut sink)?;
        } else {
            let pairs = Pairs::new(source(&self.inputs), source(&self.args.mates));
            pipeline::run(pairs, threads, &work, &mut sink)?;
        }
        bar.finish_and_clear();
        outputs.finish()?;
        Ok(tally)
    }

    /// Begins a report with what was read.
    pub(crate) fn report(&self, tally: &Tally) -> Report {
        let mut report = Report::default();
        let names =
            |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        report
            .data("version", env!("CARGO_PKG_VERSION"))
            .data("filter", self.path.display().to_string())
            .data("k", self.rule.k)
            .data("window", self.rule.window)
            .data("inputs", names(&self.inputs))
            .data("mates", names(&self.args.mates))
            .data("paired", self.pairing != Pairing::Single)
            .data("records_read", tally.records)
            .data("letters_read", tally.letters)
            .data("records_without_words", tally.wordless)
            .data("words", tally.words)
            .data("predicted_rate", self.filter.stats().predicted_rate);
        report
    }

    /// Ends a report with the time.
    pub(crate) fn report_time(&self, report: &mut Report, tally: &Tally) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let gigabases = tally.letters as f64 * 60.0 / seconds / 1e9;
        report
            .fact("time", format_args!("{seconds:.2} seconds, {gigabases:.2} Gbp per minute"))
            .data("seconds", seconds)
            .data("gbp_per_minute", gigabases);
    }

    /// Returns what the words are called.
    pub(crate) fn words_in_words(&self) -> String {
        match self.rule.window {
            None => format!("{}-mers", self.rule.k),
            Some(window) => format!("minimizers ({}-mers, first of {})", self.rule.k, grouped(window.into())),
        }
    }
}

/// Returns which words of records a filter is asked for.
fn rule(filter: &Filter, path: &Path, window: Option<u32>) -> Result<Rule> {
    let path = filter_file::name(path);
    match (key_format::of(filter), window) {
        (KeyFormat::Kmers { k }, Some(_)) if k > MOST_PACKED => {
            bail!(
                "{path} holds words of {k} letters, and minimizers have at most {MOST_PACKED}; leave out --minimizers"
            )
        }
        (KeyFormat::Kmers { k }, window) => Ok(Rule { k, window }),
        (KeyFormat::Minimizers { w, .. }, Some(asked)) if asked != w => {
            bail!(
                "{path} holds minimizers, each the first of {w} words, not of {asked}; leave out --minimizers"
            )
        }
        (KeyFormat::Minimizers { k, w }, _) => Ok(Rule { k, window: Some(w) }),
        (format, _) => {
            let held = key_format::in_words(format);
            bail!("{path} holds {held}, and reads are compared by DNA words; build it with --kmer")
        }
    }
}
