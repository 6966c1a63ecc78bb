//! Filters in files, and inputs that are read as keys of such a filter.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use malkoha::{Filter, Stats};

use crate::cli::KeyArgs;
use crate::input::Source;
use crate::interrupt;
use crate::key_format;
use crate::lock::Lock;
use crate::report::Report;
use crate::units::{grouped, rate_in_words, short_bytes};

/// Reads and verifies a filter.
pub(crate) fn open(path: &Path) -> Result<Filter> {
    Filter::open(path).with_context(|| format!("cannot use {} as a filter", path.display()))
}

/// Reads and verifies a filter that is to be changed. Nobody else changes it before the lock is dropped.
pub(crate) fn open_to_change(path: &Path) -> Result<(Filter, Option<Lock>)> {
    let lock = Lock::of(path)?;
    Ok((open(path)?, lock))
}

/// Replaces a file with a filter, once that is complete. Waits if another program is changing the file.
pub(crate) fn save(filter: &Filter, path: &Path) -> Result<()> {
    let lock = Lock::of(path)?;
    save_changed(filter, path, lock)
}

/// Replaces a file that was opened to be changed.
pub(crate) fn save_changed(filter: &Filter, path: &Path, lock: Option<Lock>) -> Result<()> {
    let saved = interrupt::shielded(|| filter.save(path));
    drop(lock);
    saved.with_context(|| {
        let path = path.display();
        format!(
            "cannot save the filter as {path}; the old file is unchanged; free some space or use another path"
        )
    })
}

/// The first bytes of a filter, as docs/FORMAT.md specifies them.
const MAGIC: [u8; 8] = *b"\x89malkoha";

/// Refuses, before any work is done, an output path that cannot be written to or where something else would
/// be lost.
pub(crate) fn check_target(path: &Path, inputs: &[PathBuf]) -> Result<()> {
    if path.exists() && !path.is_file() {
        bail!("{} is not a file; give another with -o", path.display());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("there is no folder {}; make it, or give another with -o", folder.display());
    }
    if inputs.iter().any(|input| is_same_file(path, input)) {
        bail!("{} is an input, which would be lost; give another file with -o", path.display());
    }
    if path.exists() && !may_be_replaced(path)? {
        bail!("{} exists and is not a filter; remove it, or give another file with -o", path.display());
    }
    Ok(())
}

/// Returns whether a file is empty or begins like a filter.
fn may_be_replaced(path: &Path) -> Result<bool> {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut begin));
    read.with_context(|| format!("cannot read {}; give another file with -o", path.display()))?;
    Ok(begin.is_empty() || begin == MAGIC)
}

/// Returns whether a file is the same as an input, under any names.
#[cfg(unix)]
fn is_same_file(path: &Path, input: &Path) -> bool {
    let input = if input.as_os_str() == "-" { Path::new("/dev/stdin") } else { input };
    matches!((path.metadata(), input.metadata()), (Ok(one), Ok(other)) if crate::lock::is_one_file(&one, &other))
}

/// Returns whether a file is the same as an input, under any names.
#[cfg(not(unix))]
fn is_same_file(path: &Path, input: &Path) -> bool {
    matches!((path.canonicalize(), input.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Returns the inputs as keys of a filter: read as for its build, if that is known.
pub(crate) fn source(
    filter: &Filter,
    path: &Path,
    args: &KeyArgs,
    inputs: &[PathBuf],
    bar: ProgressBar,
) -> Result<Source> {
    let (format, kmer) = key_format::reading(filter, path, args)?;
    Ok(Source::new(inputs, format, kmer, bar))
}

/// Says how many more keys a filter takes.
fn room(stats: &Stats) -> String {
    let keys = grouped(stats.head_room);
    match stats.links.len() {
        0 if stats.growth.is_some() => format!("{keys} more keys without growing; it grows as needed"),
        0 => format!("{keys} more keys ({})", stats.level),
        1 => format!("{keys} more keys before it grows"),
        links => format!("{keys} more keys before it grows beyond its {links} links"),
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
}
