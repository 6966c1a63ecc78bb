//! `malkoha demo`: every kind of filter with the same keys, predicted beside measured.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use malkoha::{Filter, KeyFormat, Kind, Spec, theory};

use crate::cli::DemoArgs;
use crate::cmd::{Outcome, threads};
use crate::figure;
use crate::output::Output;
use crate::table::{Lines, Style};
use crate::target::Place;
use crate::units::{counted, rate_in_words, short_rate};
use crate::width::paragraph;

/// The measurements of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) kind: Kind,
    pub(crate) bits_per_key: f64,
    pub(crate) predicted_rate: f64,
    pub(crate) found_rate: f64,
    pub(crate) load: f64,
    /// Million keys per second: one after the other,
    pub(crate) inserts_single: f64,
    /// and many at once.
    pub(crate) inserts: f64,
    pub(crate) finds_present: f64,
    pub(crate) finds_absent: f64,
}

/// Keys of the sample that are hashed and stored at a time.
const SAMPLE_BATCH: u64 = 1 << 20;

/// The names of the numbers.
const COLUMNS: [&str; 8] =
    ["bits/key", "predicted", "measured", "load", "insert", "bulk", "present", "absent"];

/// The column for which a terminal has no room.
const LOAD: usize = 3;

/// Runs the subcommand.
pub(crate) fn run(args: &DemoArgs) -> Result<Outcome> {
    let threads = threads(args.threads);
    let start = Instant::now();
    fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make the folder {}; give another with --out", args.out.display()))?;
    let mut out = Output::new();
    if !args.markdown {
        let (keys, rate) = (counted(args.keys, "key"), rate_in_words(args.rate));
        let threads = counted(threads as u64, "thread");
        let what = format!("{keys}, a rate of at most {rate}, {threads}; million keys per second");
        out.line(paragraph(&what, 0) + "\n")?;
    }
    let rows = show(args, threads, &mut out)?;
    let filter = args.out.join("demo.malkoha");
    save_sample(args, &filter, threads)?;
    let figure = args.out.join("demo.svg");
    fs::write(&figure, figure::demo::draw(&rows, args.keys, args.rate))
        .with_context(|| format!("cannot write the figure to {}", figure.display()))?;
    if !args.markdown {
        out.line(conclusion(args, &filter, &figure, start))?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

/// Measures all kinds, and shows each row as soon as it is known.
fn show(args: &DemoArgs, threads: usize, out: &mut Output) -> Result<Vec<Measured>> {
    let keys: Vec<u64> = (0..args.keys).collect();
    let strangers: Vec<u64> = (args.keys..2 * args.keys).collect();
    let spec = Spec::new(args.keys, args.rate).threads(threads);
    let specs: Vec<_> = Kind::USUAL.iter().map(|&kind| spec.kind(kind)).collect();
    let plans = specs.iter().map(|spec| Ok(spec.plan()?.bits_per_key())).collect::<Result<Vec<_>>>()?;
    let smallest = plans.into_iter().fold(f64::INFINITY, f64::min);
    let lines = if args.markdown {
        Lines::new(("kind", 12), &COLUMNS, Style::Markdown)
    } else {
        Lines::new(("kind", 12), &[&COLUMNS[..LOAD], &COLUMNS[LOAD + 1..]].concat(), Style::of_output())
    };
    out.line(lines.head())?;
    out.flush()?;
    let mut rows = Vec::new();
    for (kind, spec) in Kind::USUAL.iter().zip(&specs) {
        progress(&kind.to_string());
        let row = measure(spec, &keys, &strangers, threads).with_context(|| kind.to_string())?;
        progress("");
        let mut fields = fields(&row).to_vec();
        if !args.markdown {
            fields.remove(1 + LOAD);
        }
        out.line(if row.bits_per_key > smallest { lines.row(&fields) } else { lines.marked_row(&fields) })?;
        out.flush()?;
        rows.push(row);
    }
    Ok(rows)
}

fn conclusion(args: &DemoArgs, filter: &Path, figure: &Path, start: Instant) -> String {
    let limit = theory::information_limit(-args.rate.log2());
    let (filter, figure, seconds) = (filter.display(), figure.display(), start.elapsed().as_secs_f64());
    let texts = [
        "Predicted and measured are rates of false positives. Inserts one by one on one thread, and in bulk; lookups \
         of present and of absent keys in batches."
            .to_owned(),
        format!("Every stored key was found in every filter. The information limit is {limit:.2} bits per key."),
        format!("The filter of kind sorted is in {filter}; ask it: echo 17 | malkoha query {filter}"),
        format!("The figure is in {figure}."),
        format!("{seconds:.1} seconds in all."),
    ];
    format!("\n{}", texts.map(|text| paragraph(&text, 0)).join("\n"))
}

/// Shows what is being measured, if standard error is a terminal.
fn progress(what: &str) {
    let mut terminal = io::stderr();
    if terminal.is_terminal() {
        let _ = write!(terminal, "\r\x1b[K{what}");
    }
}

/// Saves the recommended filter with the same keys, written as decimal numbers, one per line.
fn save_sample(args: &DemoArgs, path: &Path, threads: usize) -> Result<()> {
    let mut filter = Spec::new(args.keys, args.rate).key_format(KeyFormat::Bytes).threads(threads).build()?;
    let (hasher, mut text) = (*filter.hasher(), Vec::new());
    let mut begin = 0;
    while begin < args.keys {
        let end = args.keys.min(begin + SAMPLE_BATCH);
        let hashes = (begin..end).map(|key| {
            text.clear();
            write!(text, "{key}").expect("there is room in memory");
            hasher.bytes(&text)
        });
        filter.extend(&hashes.collect::<Vec<_>>(), threads)?;
        begin = end;
    }
    let place = Place::of(path)?;
    place.save(&filter, place.lock()?)
}

/// Builds a filter in two ways, and looks up every key and as many strangers.
fn measure(spec: &Spec, keys: &[u64], strangers: &[u64], threads: usize) -> Result<Measured> {
    let mut single = spec.build()?;
    let start = Instant::now();
    keys.iter().try_for_each(|key| single.insert(key))?;
    let inserts_single = millions_per_second(keys.len(), start);
    ensure!(count(&single, keys, threads) == keys.len(), "a key that was stored alone was not found");
    drop(single);
    let start = Instant::now();
    let filter = spec.build_from(keys)?;
    let inserts = millions_per_second(keys.len(), start);
    let start = Instant::now();
    let found = count(&filter, keys, threads);
    let finds_present = millions_per_second(keys.len(), start);
    ensure!(found == keys.len(), "{} of {} stored keys were not found", keys.len() - found, keys.len());
    let start = Instant::now();
    let false_positives = count(&filter, strangers, threads);
    let finds_absent = millions_per_second(strangers.len(), start);
    let geometry = filter.geometry();
    Ok(Measured {
        kind: geometry.kind(),
        bits_per_key: geometry.bits_per_key(),
        predicted_rate: geometry.predicted_rate(geometry.keys()),
        found_rate: false_positives as f64 / strangers.len() as f64,
        load: filter.stats().load,
        inserts_single,
        inserts,
        finds_present,
        finds_absent,
    })
}

fn millions_per_second(keys: usize, start: Instant) -> f64 {
    keys as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// Counts the keys that the filter reports, on several threads.
fn count(filter: &Filter, keys: &[u64], threads: usize) -> usize {
    let found = |keys: &[u64]| {
        let mut answers = [false; 4096];
        let chunks = keys.chunks(answers.len()).map(|keys| {
            let answers = &mut answers[..keys.len()];
            filter.contains_slice_into(keys, answers);
            answers.iter().filter(|found| **found).count()
        });
        chunks.sum::<usize>()
    };
    std::thread::scope(|scope| {
        let shares = keys.chunks(keys.len().div_ceil(threads));
        let counts: Vec<_> = shares.map(|share| scope.spawn(move || found(share))).collect();
        counts.into_iter().map(|count| count.join().expect("counting does not panic")).sum()
    })
}

/// Returns a row of the table.
fn fields(row: &Measured) -> [String; 1 + COLUMNS.len()] {
    [
        row.kind.to_string(),
        format!("{:.2}", row.bits_per_key),
        short_rate(row.predicted_rate),
        short_rate(row.found_rate),
        format!("{:.3}", row.load),
        format!("{:.1}", row.inserts_single),
        format!("{:.1}", row.inserts),
        format!("{:.1}", row.finds_present),
        format!("{:.1}", row.finds_absent),
    ]
}
