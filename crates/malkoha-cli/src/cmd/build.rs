//! `malkoha build`: stores the keys of files in a new filter.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use malkoha::{Filter, KeyFormat, KeyHash, KeyHasher, Kind, Spec};

use crate::cli::{BuildArgs, Label};
use crate::cmd::{Outcome, threads};
use crate::filling::{Storing, fill, is_full};
use crate::hyperloglog::HyperLogLog;
use crate::input::kmers::Rule;
use crate::input::{self, Source};
use crate::message::note;
use crate::pipeline::{self, Worked};
use crate::reads::classes::Class;
use crate::report::{Audience, Report};
use crate::tally::Tally;
use crate::target::Target;
use crate::units::{brief_count, grouped, rounded_up, short_bytes};
use crate::{filter_file, key_format, progress};

/// How many standard errors a filter is larger than the estimate of its keys.
const STANDARD_ERRORS: f64 = 4.0;

/// Keys that a growing filter of a Bloom kind takes before it grows. Lookups search all of its tables, so it begins
/// with a large one.
const FIRST_LINK: u64 = 1_000_000;

/// The most labels: the bits of a value.
const MOST_LABELS: usize = 16;

/// A filter for an unknown number of keys. The default kind is for a known number; if it must grow, it is another one.
/// Cuckoo kinds that were asked for by name are refused by the engine.
pub(crate) fn growing(rate: f64, kind: Kind) -> Spec {
    match kind {
        Kind::Sorted | Kind::Elastic => Spec::rate(rate),
        _ => Spec::new(FIRST_LINK, rate).kind(kind).growing(),
    }
}

/// What to build, and from which inputs.
struct Build<'a> {
    args: &'a BuildArgs,
    inputs: Vec<PathBuf>,
    labels: Labels,
    threads: usize,
}

/// The names of labels, and which of them each input has, as a bit.
#[derive(Default)]
struct Labels {
    names: Vec<String>,
    inputs: Vec<u16>,
}

impl Labels {
    fn new(labels: &[Label]) -> Result<Self> {
        let mut all = Self::default();
        for Label { name, .. } in labels {
            Class::check_label(name)?;
            let bit = all.names.iter().position(|known| known == name).unwrap_or_else(|| {
                all.names.push(name.clone());
                all.names.len() - 1
            });
            if bit >= MOST_LABELS {
                bail!("there are more than {MOST_LABELS} labels; give fewer");
            }
            all.inputs.push(1 << bit);
        }
        Ok(all)
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &BuildArgs) -> Result<Outcome> {
    let start = Instant::now();
    if let (Some(k), Some(_)) = (args.input.kmer, args.minimizers)
        && k > KeyFormat::MOST_MINIMIZER_K
    {
        let most = KeyFormat::MOST_MINIMIZER_K;
        bail!("minimizers have at most {most} letters, and --kmer asks for {k}; leave out --minimizers");
    }
    let labels = Labels::new(&args.label)?;
    let inputs = match args.label.as_slice() {
        [] => input::or_standard_input(&args.input.inputs),
        labels => labels.iter().map(|label| label.input.clone()).collect(),
    };
    let target = Target::new(&args.out, &inputs)?;
    let build = Build { args, inputs, labels, threads: threads(args.input.threads) };
    let (filter, tally) = match args.keys {
        Some(keys) => build.planned(keys)?,
        None if input::can_be_read_again(&build.inputs) => build.estimated()?,
        None => build.growing()?,
    };
    target.save(&filter)?;
    filter_file::warn_of_broken_promise(&filter, &args.out);
    let audience = Audience { json: args.input.json, quiet: args.input.quiet, aside: target.is_output() };
    report(args, &filter, &tally, start).show(audience)?;
    Ok(Outcome::Done)
}

impl Build<'_> {
    fn spec(&self, keys: u64) -> Spec {
        let args = self.args;
        self.labelled(Spec::new(keys, args.rate).kind(args.kind).key_format(key_format::of_new(args)))
    }

    /// Returns a spec with a bit for each label.
    fn labelled(&self, spec: Spec) -> Spec {
        let labels = u32::try_from(self.labels.names.len()).expect("a few labels");
        if labels == 0 { spec } else { spec.values(labels) }
    }

    /// Runs `work` with a source of all inputs, under a progress bar.
    fn with_source<T>(&self, what: &'static str, work: impl FnOnce(Source) -> Result<T>) -> Result<T> {
        let args = &self.args.input;
        let bar = progress::bar(&self.inputs, what, args.quiet);
        let words = args.kmer.map(|k| Rule { k, window: self.args.minimizers });
        let source = Source::new(&self.inputs, args.format, words, args.table.column(), bar.clone());
        let done = work(source);
        bar.finish_and_clear();
        done
    }

    fn fill(&self, mut filter: Filter) -> Result<(Filter, Tally)> {
        filter.set_labels(&self.labels.names)?;
        let storing = match self.args.copies {
            true => Storing::Copies,
            false if self.labels.names.is_empty() => Storing::Once,
            false => Storing::Labels(&self.labels.inputs),
        };
        let tally =
            self.with_source("building", |source| fill(&mut filter, source, self.threads, storing))?;
        Ok((filter, tally))
    }

    /// Builds a filter for a known number of keys.
    fn planned(&self, keys: u64) -> Result<(Filter, Tally)> {
        self.fill(self.spec(keys).build()?).map_err(|error| {
            if is_full(&error) {
                let different =
                    if self.args.copies { "keys, or more copies of a key," } else { "different keys" };
                let more = format!(
                    "there are more {different} than --keys {keys} has room for; give a larger number, or \
                     leave it out"
                );
                anyhow!(more)
            } else {
                error
            }
        })
    }

    /// Builds a filter from streams, whose length is unknown.
    fn growing(&self) -> Result<(Filter, Tally)> {
        let spec = growing(self.args.rate, self.args.kind).key_format(key_format::of_new(self.args));
        let filter = self.labelled(spec).build();
        self.fill(filter.context("a stream needs a filter that grows; give --keys, or leave out --kind")?)
    }

    /// Builds a filter from files, which are counted first.
    fn estimated(&self) -> Result<(Filter, Tally)> {
        if self.args.copies {
            return self.counted();
        }
        let estimate = self.with_source("counting", |source| self.estimate(source))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
        let keys = (estimate * (1.0 + STANDARD_ERRORS * HyperLogLog::STANDARD_ERROR)).ceil() as u64;
        self.read_until_it_fits(keys.max(1))
    }

    /// Builds a filter from files all of whose keys are stored: their number is known exactly.
    fn counted(&self) -> Result<(Filter, Tally)> {
        let keys = self.with_source("counting", |source| self.count(source))?;
        self.fill(self.spec(keys.max(1)).build()?).map_err(|error| {
            if is_full(&error) {
                anyhow!("some keys occur more often than copies fit; leave out --copies, or give each once")
            } else {
                error
            }
        })
    }

    /// Reads files into a filter for this many keys, and again into one twice as large if that was too small.
    fn read_until_it_fits(&self, mut keys: u64) -> Result<(Filter, Tally)> {
        loop {
            match self.fill(self.spec(keys).build()?) {
                Err(error) if is_full(&error) => {
                    keys = keys.checked_mul(2).context("more keys than can be counted")?;
                    note(format_args!("more keys than estimated; reading again for {}", grouped(keys)));
                }
                filled => return filled,
            }
        }
    }

    /// Counts the keys.
    fn count(&self, source: Source) -> Result<u64> {
        let mut keys = 0;
        self.each(source, |hashes| keys += hashes.len() as u64)?;
        Ok(keys)
    }

    /// Estimates the number of distinct keys.
    fn estimate(&self, source: Source) -> Result<f64> {
        let mut counter = HyperLogLog::new();
        self.each(source, |hashes| counter.add(hashes))?;
        Ok(counter.estimate())
    }

    /// Passes on the hashes of all keys, in the order of the input.
    fn each(&self, mut source: Source, mut look: impl FnMut(&[KeyHash])) -> Result<()> {
        // What is doubtful is noted when the inputs are read again.
        source.silent(true);
        let hasher = KeyHasher::new(Spec::DEFAULT_SEED);
        let work = |block: &mut Vec<u8>, worked: &mut Worked| worked.hash(block, &hasher);
        pipeline::run(source, self.threads, &work, &mut |worked| {
            look(&worked.keys.hashes);
            Ok(())
        })
    }
}

fn report(args: &BuildArgs, filter: &Filter, tally: &Tally, start: Instant) -> Report {
    let seconds = start.elapsed().as_secs_f64();
    let mut report = Report::default();
    report
        .fact("file", args.out.display())
        .data("file", args.out.display().to_string())
        .data("keys_read", tally.keys)
        .data("keys_stored", tally.stored)
        .data("seconds", seconds);
    if args.copies {
        report.fact("keys", format_args!("{0} read, {0} stored", grouped(tally.keys)));
    } else {
        let (read, different) = (grouped(tally.keys), grouped(tally.different()));
        report.fact("keys", format_args!("{read} read, about {different} different"));
        report.data("keys_different", tally.different());
        if !args.kind.is_bloom() {
            tally.report_alike(&mut report);
        }
    }
    tally.report_skipped(&mut report);
    filter_file::describe(&mut report, filter);
    report.fact("time", format_args!("{seconds:.2} seconds"));
    if filter.geometry().is_growing() && tally.stored > FIRST_LINK {
        report.fact("tip", tip(filter, tally));
    }
    report
}

/// Says what a filter of a large stream would have gained from knowing how many keys there are.
fn tip(filter: &Filter, tally: &Tally) -> String {
    let keys = tally.different();
    let geometry = filter.geometry();
    let planned = Spec::new(keys, geometry.rate()).kind(geometry.kind()).plan().map(|plan| plan.bytes());
    let (took, keys) = (filter.stats().memory_bytes, brief_count(rounded_up(keys)));
    match planned {
        Ok(bytes) if bytes < took => {
            let (bytes, took) = (short_bytes(bytes), short_bytes(took));
            format!("for this many keys give --keys {keys}: the filter then takes {bytes} instead of {took}")
        }
        _ => format!("for this many keys give --keys {keys}: the filter then has its size from the start"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    #[test]
    fn files_are_read_again_if_the_estimate_was_too_small() {
        let path = std::env::temp_dir().join(format!("malkoha-build-{}.txt", std::process::id()));
        let lines: Vec<_> = (0..50_000).map(|line| format!("line {line}\n")).collect();
        std::fs::write(&path, lines.concat()).unwrap();
        let Command::Build(args) = Cli::parse_from(["malkoha", "build", "-o", "none"]).command else {
            panic!("build is not build");
        };
        let build = Build { args: &args, inputs: vec![path.clone()], labels: Labels::default(), threads: 2 };
        let (filter, tally) = build.read_until_it_fits(10_000).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(filter.geometry().keys(), 80_000);
        assert_eq!(tally.keys, 50_000, "what was read into smaller filters does not count");
        assert!((0..50_000).all(|line| filter.contains(&format!("line {line}"))));
    }
}
