//! `store`: what saving and loading a filter costs, beside a plain copy of the same bytes.
//!
//! Everything is measured in turns, the plain copies first: a copy in memory into a fresh buffer, as for a
//! filter; a file written, synced and renamed; and a file read. Files are in the page cache when they are
//! read, except "from the disk": then the system was asked to drop them first.

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};

use malkoha::{Filter, Mapped};

use crate::cli::StoreArgs;
use crate::measure::{Series, mega_per_second, time};
use crate::table::{Cell, Table};
use crate::wish::{Choice, Wish};

/// What is measured, each with the plain copy that it is compared with.
pub(crate) const WAYS: [(&str, &str); 11] = [
    ("copy in memory", "copy in memory"),
    ("to_bytes", "copy in memory"),
    ("from_bytes", "copy in memory"),
    ("plain file write", "plain file write"),
    ("save", "plain file write"),
    ("plain file read", "plain file read"),
    ("open", "plain file read"),
    ("map and verify", "plain file read"),
    ("map", "plain file read"),
    ("plain file read, from the disk", "plain file read, from the disk"),
    ("open, from the disk", "plain file read, from the disk"),
];

/// Measures everything and returns one row for each filter and way.
pub(crate) fn run(args: &StoreArgs) -> Result<Table, Box<dyn Error>> {
    let folder = Folder::new(args.folder.as_deref())?;
    let mut table = Table::new(
        format!(
            "MB/s of saving and loading filters, medians of {} turns; share: of a plain copy of the same bytes",
            args.repeats
        ),
        &["filter", "MB", "way", "MB/s", "share"],
    );
    for wish in Choice::expand(&args.kinds) {
        let keys: Vec<u64> = (0..args.keys).collect();
        let filter = wish.for_keys(args.keys).build_from(&keys)?;
        drop(keys);
        let mut series: Vec<Series> = WAYS.iter().map(|_| Series::default()).collect();
        let mut size = 0;
        for turn in 1..=args.repeats {
            eprintln!("store {turn} of {}: {wish}", args.repeats);
            size = turn_of(&filter, &folder.0, &mut series)?;
        }
        push_rows(&mut table, wish, size, &series);
    }
    Ok(table)
}

/// Runs one turn of all ways and returns the bytes of the filter.
fn turn_of(filter: &Filter, folder: &Path, series: &mut [Series]) -> Result<usize, Box<dyn Error>> {
    let bytes = filter.to_bytes()?;
    let (plain, saved) = (folder.join("plain"), folder.join("saved"));
    let mut push = |way: &str, duration| {
        let at = WAYS.iter().position(|(name, _)| *name == way).expect("one of the ways");
        series[at].push(mega_per_second(bytes.len(), duration));
    };
    push("copy in memory", time(|| black_box(bytes.clone())).0);
    push("to_bytes", time(|| black_box(filter.to_bytes())).0);
    let (duration, again) = time(|| Filter::from_bytes(&bytes));
    push("from_bytes", duration);
    check(filter, &again?)?;
    let (duration, written) = time(|| write_plainly(&plain, &bytes));
    written?;
    push("plain file write", duration);
    let (duration, written) = time(|| filter.save(&saved));
    written?;
    push("save", duration);
    push("plain file read", time(|| black_box(fs::read(&plain))).0);
    let (duration, again) = time(|| Filter::open(&saved));
    push("open", duration);
    check(filter, &again?)?;
    let (duration, mapped) = time(|| map(&saved).and_then(|mapped| mapped.verify().map(|()| mapped)));
    push("map and verify", duration);
    drop(mapped?);
    let (duration, mapped) = time(|| map(&saved));
    push("map", duration);
    drop(mapped?);
    forget(&plain)?;
    push("plain file read, from the disk", time(|| black_box(fs::read(&plain))).0);
    forget(&saved)?;
    let (duration, again) = time(|| Filter::open(&saved));
    push("open, from the disk", duration);
    check(filter, &again?)?;
    Ok(bytes.len())
}

/// Writes a file as `save` does, without a filter.
fn write_plainly(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

/// Asks the system to drop all cached pages of a file. This has no effect in tmpfs; choose another folder
/// with `--folder`.
fn forget(path: &Path) -> Result<(), Box<dyn Error>> {
    let file = File::open(path)?;
    file.sync_all()?;
    nix::fcntl::posix_fadvise(&file, 0, 0, nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(())
}

fn check(filter: &Filter, again: &Filter) -> Result<(), Box<dyn Error>> {
    if again == filter { Ok(()) } else { Err("a filter changed on the way".into()) }
}

fn push_rows(table: &mut Table, wish: Wish, size: usize, series: &[Series]) {
    for (at, (way, ruler)) in WAYS.iter().enumerate() {
        let ruler = WAYS.iter().position(|(name, _)| name == ruler).expect("a ruler is a way");
        let speed = series[at].median();
        table.push(vec![
            Cell::text(wish),
            Cell::number(size as f64 / 1e6, 1),
            Cell::text(way),
            Cell::number(speed, 0),
            Cell::number(series[at].over(&series[ruler]).median(), 2),
        ]);
    }
}

/// A folder for the files, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(wished: Option<&Path>) -> std::io::Result<Self> {
        let parent = wished.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = parent.join(format!("malkoha-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder left behind only takes space.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Maps a file of this run.
#[expect(unsafe_code, reason = "mapping a file")]
fn map(path: &Path) -> Result<Mapped, malkoha::Error> {
    // SAFETY: this run made the file and no longer changes it.
    unsafe { Filter::map(path) }
}
