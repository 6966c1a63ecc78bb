//! Filters in files, and inputs that are read as keys of such a filter.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use malkoha::{Filter, GrowthStats, KeyFormat, Level, Stats};
use serde_json::{Value, json};

use crate::cli::KeyArgs;
use crate::input::{Source, is_standard_input};
use crate::key_format;
use crate::lock::Lock;
use crate::message::note;
use crate::report::Report;
use crate::target::Place;
use crate::units::{counted, grouped, rate_in_words, short_bytes};

/// The size in bytes from which a file is checked in pieces before there is memory for it.
const LARGE: u64 = 64 << 20;

/// How far the rate may be above the promise: that of a Bloom filter with as many keys as planned varies a little.
const TOLERANCE: f64 = 1.1;

/// Reads and verifies a filter from a file, a pipe or, if the path is `-`, standard input. A file with holes is checked
/// in pieces first: its header may promise a table that nobody ever wrote, and that takes only memory.
pub(crate) fn open(path: &Path) -> Result<Filter> {
    if !is_standard_input(path) && path.metadata().is_ok_and(|found| found.is_file() && has_holes(&found)) {
        check(path)?;
    }
    let filter = if is_standard_input(path) {
        Filter::read_from(io::stdin().lock())
    } else if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let pipe = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Filter::read_from(pipe)
    } else {
        Filter::open(path)
    };
    filter.with_context(|| format!("cannot use {} as a filter", name(path)))
}

/// Reads and verifies a filter. A large file that is damaged, or whose header promises more than there is, is refused
/// before it takes the memory of a filter.
pub(crate) fn open_with_care(path: &Path) -> Result<Filter> {
    let is_large = |found: std::fs::Metadata| found.is_file() && found.len() >= LARGE && !has_holes(&found);
    if !is_standard_input(path) && path.metadata().is_ok_and(is_large) {
        check(path)?;
    }
    open(path)
}

/// Checks a file in pieces.
fn check(path: &Path) -> Result<()> {
    Filter::check_file(path).with_context(|| format!("cannot use {} as a filter", name(path)))
}

/// Returns whether a large file takes less room than it has bytes: parts of it were never written, or its system
/// compresses files.
#[cfg(unix)]
fn has_holes(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // The unit is 512 bytes on every system.
    found.len() >= LARGE && found.blocks().saturating_mul(512) < found.len()
}

/// Other systems do not tell.
#[cfg(not(unix))]
fn has_holes(found: &std::fs::Metadata) -> bool {
    found.len() >= LARGE
}

/// Returns the name of a filter in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// A filter that is being changed. Nobody else changes its file meanwhile.
pub(crate) struct Changing {
    pub(crate) filter: Filter,
    place: Place,
    lock: Option<Lock>,
}

impl Changing {
    /// Reads and verifies a filter that is to be changed.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        check_is_file(path)?;
        let place = Place::of(path)?;
        let lock = place.lock()?;
        let filter = open(place.real())?;
        place.check_folder()?;
        if !filter.labels().is_empty() {
            bail!(
                "{} has labels, which only `build` can give to keys; build it again with --label",
                name(path)
            );
        }
        Ok(Self { filter, place, lock })
    }

    /// Replaces the file.
    pub(crate) fn save(self) -> Result<Filter> {
        self.place.save(&self.filter, self.lock)?;
        Ok(self.filter)
    }
}

/// Refuses what can be no file that is changed: standard input, pipes, devices and folders.
pub(crate) fn check_is_file(path: &Path) -> Result<()> {
    if is_standard_input(path) || (path.exists() && !path.is_file()) {
        bail!("{} is not a file, and only files can be changed; give a file", name(path));
    }
    Ok(())
}

/// Returns the inputs as keys of a filter: read as for its build, if that is known. Unless `silent`, what is doubtful
/// is noted.
pub(crate) fn source(
    filter: &Filter,
    path: &Path,
    args: &KeyArgs,
    inputs: &[PathBuf],
    bar: ProgressBar,
    silent: bool,
) -> Result<Source> {
    let (format, words) = key_format::reading(filter, path, args)?;
    if key_format::is_guessed(filter, args) && !silent {
        note(format_args!(
            "{} does not tell what its keys are, so lines are; if they are not, give --format",
            name(path)
        ));
    }
    let mut source = Source::new(inputs, format, words, args.table.column(), bar);
    source.silent(silent);
    Ok(source)
}

/// Says how many more keys a filter takes.
fn room(stats: &Stats) -> String {
    let keys = counted(stats.head_room, "more key");
    match (stats.links.len(), stats.level) {
        _ if stats.growth.is_some() => format!("{keys} without growing; it grows as needed"),
        (0, Level::Room) => keys,
        (0, Level::NearlyFull) => format!("{keys}; it is nearly full"),
        (0, Level::Full) => "none: it is full".to_owned(),
        (1, _) => format!("{keys} before it grows"),
        (links, _) => format!("{keys} before it grows beyond its {links} links"),
    }
}

/// Says that a filter holds so many keys that it cannot keep its promise; `None` if it keeps it.
pub(crate) fn broken_promise(filter: &Filter, stats: &Stats) -> Option<String> {
    let planned = filter.geometry().keys();
    if stats.items <= planned || stats.predicted_rate <= TOLERANCE * stats.promised_rate {
        return None;
    }
    Some(format!(
        "the rate is {} instead of the promised {}: it holds {} and was planned for {}; build it again with \
         more --keys",
        rate_in_words(stats.predicted_rate),
        rate_in_words(stats.promised_rate),
        counted(stats.items, "key"),
        grouped(planned)
    ))
}

/// Warns, however quiet the program is, if a filter that was just written cannot keep its promise.
pub(crate) fn warn_of_broken_promise(filter: &Filter, path: &Path) {
    if let Some(why) = broken_promise(filter, &filter.stats()) {
        let name = if path.as_os_str() == "-" { "the filter".to_owned() } else { path.display().to_string() };
        note(format_args!("warning: {name}: {why}"));
    }
}

/// Reports what a filter is and how full it is.
pub(crate) fn describe(report: &mut Report, filter: &Filter) {
    let (geometry, stats) = (filter.geometry(), filter.stats());
    let size = format!("{}, {} in memory", geometry.kind(), short_bytes(stats.memory_bytes));
    report
        .fact("filter", size)
        .fact("load", format_args!("{:.3} of at most {:.3}", stats.load, stats.threshold))
        .fact("rate", format_args!("{} predicted", rate_in_words(stats.predicted_rate)))
        .fact("room", room(&stats));
    let format = key_format::of(filter);
    let (kmer, window) = match format {
        KeyFormat::Kmers { k } => (Some(k), None),
        KeyFormat::Minimizers { k, w } => (Some(k), Some(w)),
        _ => (None, None),
    };
    if !filter.labels().is_empty() {
        report.fact("labels", filter.labels().join(", "));
    }
    report
        .data("kind", geometry.kind().to_string())
        .data("key_format", format.name())
        .data("kmer", kmer)
        .data("window", window)
        .data("labels", filter.labels())
        .data("keys", stats.items)
        .data("planned_keys", geometry.keys())
        .data("promised_rate", geometry.rate())
        .data("predicted_rate", stats.predicted_rate)
        .data("promise_kept", broken_promise(filter, &stats).is_none())
        .data("bytes", stats.memory_bytes)
        .data("load", stats.load)
        .data("threshold", stats.threshold)
        .data("stash", stats.stash_size)
        .data("head_room", stats.head_room)
        .data("level", stats.level.to_string())
        .data("links", links(&stats))
        .data("growth", stats.growth.map(|growth| growth_data(filter, &growth)))
        .data("seed", geometry.seed());
}

/// How a growing filter has grown.
fn growth_data(filter: &Filter, growth: &GrowthStats) -> Value {
    let length = |(bits, copies): (u32, u64)| json!({ "bits": bits, "copies": copies });
    json!({
        "regions": growth.regions,
        "steps": growth.steps,
        "shrinks": growth.shrinks,
        "longest_step_seconds": growth.longest_step.as_secs_f64(),
        "overflow": growth.overflow,
        "promised_keys": growth.promised_keys,
        "fingerprint_lengths": filter.fingerprint_lengths().into_iter().map(length).collect::<Vec<_>>(),
    })
}

fn links(stats: &Stats) -> Value {
    let link = |link: &malkoha::LinkStats| {
        json!({
            "keys": link.items,
            "planned_keys": link.keys,
            "bytes": link.memory_bytes,
            "load": link.load,
            "predicted_rate": link.predicted_rate,
        })
    };
    stats.links.iter().map(link).collect()
}
