//! Table 1: filters of the 31-letter words of genomes.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, thread};

use malkoha::{Inserted, Kind, Offsets, Pattern, Sharded, ShardedSpec, Spec};

use super::dna;
use crate::measure;
use crate::papers::{Exhibit, Paper, Piece, Size, strangers};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "bloom-table-1",
    paper: Paper::Bloom,
    number: "Table 1",
    title: "genomes as sets of words of 31 letters",
    minutes: (0.5, 20.0),
    run,
    show,
    check,
};

/// The variable that names the folder with the genomes, as uncompressed FASTA files.
const FOLDER: &str = "MALKOHA_GENOMES";

const THREADS: usize = 2;
const SHARDS: u32 = 16;
const K: i32 = 14;

/// The rows of the paper: seconds and GB for fruit fly, human and axolotl.
const PUBLISHED: [(&str, [(f64, f64); 3]); 4] = [
    ("bloom", [(8.0, 0.53), (137.0, 6.42), (1555.0, 43.93)]),
    ("blocked:1", [(5.0, 0.58), (48.0, 7.45), (512.0, 51.23)]),
    ("blocked:2", [(6.0, 0.53), (72.0, 6.48), (745.0, 44.38)]),
    ("blocked:3", [(7.0, 0.53), (81.0, 6.40), (824.0, 43.75)]),
];

/// The species of the paper, and their keys.
const SPECIES: [(&str, f64); 3] = [("fruit fly", 122e6), ("human", 2.5e9), ("axolotl", 17.7e9)];

/// A filter by name.
type Filter = (&'static str, Kind, fn(Spec) -> Spec);

/// The filters of the paper, then ours.
const FILTERS: [Filter; 11] = [
    ("bloom", Kind::Bloom, |spec| spec),
    ("blocked:1", Kind::Blocked(1), |spec| spec),
    ("blocked:2", Kind::Blocked(2), |spec| spec),
    ("blocked:3", Kind::Blocked(3), |spec| spec),
    ("blocked:1 spread", Kind::Blocked(1), |spec| spec.pattern(Pattern::Spread)),
    ("blocked:4", Kind::Blocked(4), |spec| spec),
    ("sorted", Kind::Sorted, |spec| spec),
    ("sorted dense", Kind::Sorted, Spec::dense),
    ("windowed:2", Kind::Windowed(2), |spec| spec),
    ("windowed:3", Kind::Windowed(3), |spec| spec),
    ("flexible:4 near", Kind::Flexible(4), |spec| spec.offsets(Offsets::Near(96))),
];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let columns = [
        "genome",
        "letters",
        "words",
        "distinct",
        "filter",
        "threads",
        "runs",
        "seconds",
        "bytes",
        "strangers",
        "rate",
    ];
    let mut table = Table::new("genomes", &columns);
    for genome in genomes(size)? {
        let letters = dna::letters(&fs::read(&genome.path)?);
        let mut words = 0u64;
        dna::each_word(&letters, |_| words += 1);
        let distinct = dna::distinct(&letters);
        for (name, kind, variant) in FILTERS {
            eprintln!("  {}: {name}", genome.name);
            let spec = variant(Spec::new(distinct.len() as u64, 2f64.powi(-K)).kind(kind)).sharded(SHARDS);
            let (runs, mut least) = (size.pick(1, 1, 3), f64::INFINITY);
            let mut built = None;
            for _ in 0..runs {
                let (time, filter) = measure::time(|| build(&genome.path, &spec));
                least = least.min(time.as_secs_f64());
                built = Some(filter?);
            }
            let filter = built.ok_or("no run")?;
            if !distinct.chunks(1 << 16).all(|words| filter.contains_slice(words).iter().all(|found| *found))
            {
                return Err(format!("{name} lost a word of {}", genome.name).into());
            }
            let strangers = size.pick(1 << 17, 1 << 20, 1 << 24);
            table.push(vec![
                Cell::text(&genome.name),
                Cell::Count(letters.len() as u64),
                Cell::Count(words),
                Cell::Count(distinct.len() as u64),
                Cell::text(name),
                Cell::Count(THREADS as u64),
                Cell::Count(runs),
                Cell::number(least, 3),
                Cell::Count(filter.geometry().bytes()),
                Cell::Count(strangers),
                Cell::Rate(rate(&filter, strangers)),
            ]);
        }
    }
    Ok(table)
}

struct Genome {
    name: String,
    path: PathBuf,
    /// Removes the file when dropped, if it was made up.
    _made: Option<MadeUp>,
}

struct MadeUp(PathBuf);

impl Drop for MadeUp {
    fn drop(&mut self) {
        // A failure does no harm: the folder for temporary files is cleaned by others too.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the genomes of the named folder, or a made-up one.
fn genomes(size: Size) -> Result<Vec<Genome>, Box<dyn Error>> {
    if let (Size::Quick | Size::Full, Some(folder)) = (size, env::var_os(FOLDER)) {
        return in_folder(Path::new(&folder));
    }
    if size == Size::Full {
        eprintln!("  {FOLDER} does not name a folder with FASTA files; using a made-up genome instead");
    }
    let path = env::temp_dir().join(format!(
        "malkoha-genome-{}-{:?}.fa",
        std::process::id(),
        thread::current().id()
    ));
    let made = MadeUp(path.clone());
    fs::write(&path, dna::synthetic(size.pick(40_000, 3_000_000, 50_000_000)))?;
    Ok(vec![Genome { name: "synthetic".into(), path, _made: Some(made) }])
}

/// Returns the FASTA files of a folder, sorted by name.
fn in_folder(folder: &Path) -> Result<Vec<Genome>, Box<dyn Error>> {
    let context = |error| format!("{FOLDER} is {}: {error}", folder.display());
    let mut paths = fs::read_dir(folder)
        .map_err(context)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(context)?;
    let is_fasta = |path: &PathBuf| {
        path.extension().is_some_and(|end| ["fa", "fasta", "fna"].iter().any(|known| end == *known))
    };
    paths.retain(is_fasta);
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{FOLDER} is {}: no .fa, .fasta or .fna there", folder.display()).into());
    }
    // A leading number only orders the files.
    let name = |path: &Path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        stem.trim_start_matches(|first: char| first.is_ascii_digit()).trim().to_owned()
    };
    Ok(paths.into_iter().map(|path| Genome { name: name(&path), path, _made: None }).collect())
}

/// Reads a genome and inserts all of its words, repeats included, into a filter. Each thread takes a part of
/// the letters; cuckoo kinds store only the words that they do not find.
fn build(path: &Path, spec: &ShardedSpec) -> Result<Sharded, Box<dyn Error>> {
    let letters = dna::letters(&fs::read(path)?);
    let filter = spec.build()?;
    thread::scope(|scope| {
        let filter = &filter;
        let insert = |part| scope.spawn(move || insert(part, filter));
        let threads: Vec<_> = dna::parts(&letters, THREADS).map(insert).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("inserting does not panic"))
    })?;
    Ok(filter)
}

fn insert(letters: &[u8], filter: &Sharded) -> Result<(), String> {
    const CHUNK: usize = 1 << 14;
    let is_bloom = filter.geometry().kind().is_bloom();
    let flush = |words: &mut Vec<u64>| {
        let stored = if is_bloom {
            filter.insert_slice(words).is_ok()
        } else {
            let answers = filter.insert_unique_slice(words);
            answers.iter().all(|answer| matches!(answer, Ok(Inserted::Stored | Inserted::Seen)))
        };
        words.clear();
        if stored { Ok(()) } else { Err(format!("{} found no room for a word", filter.geometry().kind())) }
    };
    let (mut words, mut result) = (Vec::with_capacity(CHUNK), Ok(()));
    dna::each_word(letters, |word| {
        words.push(word);
        if words.len() == CHUNK && result.is_ok() {
            result = flush(&mut words);
        }
    });
    result.and_then(|()| flush(&mut words))
}

/// Returns the share of numbers that the filter reports although they are not words.
fn rate(filter: &Sharded, strangers: u64) -> f64 {
    const NO_WORD: u64 = 1 << 63;
    let contains = |keys: &[u64], answers: &mut [bool]| filter.contains_slice_into(keys, answers);
    strangers::ask_from(NO_WORD, strangers, contains) as f64 / strangers as f64
}

fn names(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = record.rows().map(|row| row.text("genome").to_owned()).collect();
    names.dedup();
    names
}

fn find<'a>(record: &'a Record, genome: &str, filter: &str) -> Option<Row<'a>> {
    record.rows().find(|row| row.text("genome") == genome && row.text("filter") == filter)
}

fn show(record: &Record) -> Vec<Piece> {
    let mut pieces = vec![Piece::Text(words(record)), Piece::Table(published())];
    for genome in names(record) {
        let Some(plain) = find(record, &genome, "bloom") else { continue };
        pieces.push(Piece::Text(format!(
            "{genome}: {} letters, {} words, {} of them distinct.",
            plain.text("letters"),
            plain.text("words"),
            plain.text("distinct")
        )));
        let columns = [
            "filter",
            "seconds",
            "x of bloom",
            "published (human)",
            "MB",
            "bits per word",
            "x of bloom's size",
            "published size (human)",
            "rate x 2^14",
        ];
        let mut table = Table::new("", &columns);
        for (name, ..) in FILTERS {
            let Some(row) = find(record, &genome, name) else { continue };
            let human = |of: fn(&(f64, f64)) -> f64| {
                let known = PUBLISHED.iter().find(|known| known.0 == name);
                Cell::number(known.map_or(f64::NAN, |known| of(&known.1[1]) / of(&PUBLISHED[0].1[1])), 3)
            };
            let (seconds, bytes) = (row.number("seconds"), row.number("bytes"));
            table.push(vec![
                Cell::text(name),
                Cell::number(seconds, 2),
                Cell::number(seconds / plain.number("seconds"), 3),
                human(|(seconds, _)| *seconds),
                Cell::number(bytes / 1e6, 2),
                Cell::number(8.0 * bytes / row.number("distinct"), 2),
                Cell::number(bytes / plain.number("bytes"), 3),
                human(|(_, gigabytes)| *gigabytes),
                Cell::number(row.number("rate") * 2f64.powi(K), 3),
            ]);
        }
        pieces.push(Piece::Table(table));
    }
    pieces
}

/// The paper's table, with bits per key.
fn published() -> Table {
    let mut columns = vec!["published".to_owned()];
    for (species, _) in SPECIES {
        columns.extend([
            format!("{species}, m:s"),
            format!("{species}, GB"),
            format!("{species}, bits per key"),
        ]);
    }
    let mut table = Table { title: String::new(), columns, rows: Vec::new() };
    for (name, cells) in PUBLISHED {
        let mut row = vec![Cell::text(name)];
        for ((seconds, gigabytes), (_, keys)) in cells.iter().zip(SPECIES) {
            let minutes = (seconds / 60.0).floor();
            row.extend([
                Cell::text(format!("{minutes}:{:02}", seconds - 60.0 * minutes)),
                Cell::number(*gigabytes, 2),
                Cell::number(8e9 * gigabytes / keys, 2),
            ]);
        }
        table.push(row);
    }
    table
}

fn words(record: &Record) -> String {
    let last = names(record).pop().unwrap_or_default();
    let ratio = |column: &str| {
        let of = |filter: &str| find(record, &last, filter).map_or(f64::NAN, |row| row.number(column));
        of("sorted") / of("blocked:2")
    };
    format!(
        "Rate 2^-14. The paper's genomes are not available here; those below are (`scripts/genomes`). The \
         paper's rows come first for reference. It builds with 9 inserter threads on 16 cores, ours with {} on \
         the machine named above, so only ratios to the plain filter can be compared. Time runs from opening \
         the FASTA file to the filled filter, best of {}. Every occurrence of a word is inserted; cuckoo kinds \
         insert it only if it is not found. The filters have {SHARDS} shards. The paper's sizes for the fruit \
         fly do not match its number of keys: 0.53 GB is {:.1} bits for each of 122 million keys, where {:.1} \
         are enough. The kinds below the paper's four are ours; for {last}, sorted buckets take {:.3} times \
         the memory of two choices and {:.2} times the time.",
        record.fact("threads"),
        record.fact("runs"),
        8e9 * 0.53 / 122e6,
        f64::from(K) * std::f64::consts::LOG2_E,
        ratio("bytes"),
        ratio("seconds"),
    )
}

/// Checks that rates hold, and that sizes have the order of the paper.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let expected = 2f64.powi(-K) * row.number("strangers");
        let hits = row.number("rate") * row.number("strangers");
        if hits.is_nan() || hits > expected + 5.0 * expected.sqrt() {
            return Err(format!("{}: {hits} strangers found, expected {expected}", row.text("filter")));
        }
    }
    for genome in names(record) {
        let bytes = |filter: &str| find(record, &genome, filter).map_or(f64::NAN, |row| row.number("bytes"));
        // Shards with few words need room for unevenness: only large genomes have the sizes of the paper.
        let large = find(record, &genome, "bloom").is_some_and(|row| row.number("distinct") >= 1e6);
        let ordered: &[&str] = if large {
            &["blocked:1", "blocked:2", "blocked:3", "sorted"]
        } else {
            &["blocked:1", "blocked:2"]
        };
        for pair in ordered.windows(2) {
            let (larger, smaller) = (bytes(pair[0]), bytes(pair[1]));
            if larger.is_nan() || larger <= smaller {
                return Err(format!("{genome}: {} is not larger than {}", pair[0], pair[1]));
            }
        }
        let ratio = bytes("blocked:2") / bytes("bloom");
        if large && !(0.99..1.03).contains(&ratio) {
            return Err(format!("{genome}: two choices take {ratio} of the memory of a plain filter"));
        }
    }
    Ok(())
}
