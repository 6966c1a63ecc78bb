//! Figure 5: throughput against k, and the gain from a second thread.

use std::error::Error;

use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::layouts::{self, Layout, NAMES};
use super::races;
use crate::contestants::Way;
use crate::measure;
use crate::operation::Operation;
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-figure-5",
    paper: Paper::Cuckoo,
    number: "Figure 5",
    title: "throughput against k, and speed-up by threads",
    minutes: (1.0, 20.0),
    run,
    show,
    check,
};

/// The k at which threads are compared.
const K: u32 = 10;
/// The subfilters of the paper.
const SHARDS: u32 = 5;

/// What is measured: the name in the record, the operation, the title of its panel.
const OPERATIONS: [(&str, Operation, &str); 4] = [
    ("insert", Operation::Insert { way: Way::Unique, threads: 1 }, "lookup and insert"),
    ("build", Operation::Insert { way: Way::Build, threads: 1 }, "bulk build"),
    ("find present", Operation::Find { way: Way::Slice, percent: 100, threads: 1 }, "find, present"),
    ("find absent", Operation::Find { way: Way::Slice, percent: 0, threads: 1 }, "find, absent"),
];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new("throughput", &["layout", "k", "operation", "threads", "keys", "mkeys_per_s"]);
    let (power, queries, repeats) = size.pick((13, 2000, 1), (19, 1 << 19, 1), (25, 1 << 22, 3));
    let exponents: &[u32] =
        size.pick(&[6, K, 14], &[5, 6, 8, K, 13, 14, 15, 20], &[5, 6, 8, K, 12, 13, 14, 15, 16, 18, 20]);
    let contestants: Vec<Layout> = layouts::of_any_load().collect();
    for k in exponents {
        let line = format!(
            "--sizes 2^{power} --queries {queries} --strangers 10000 --repeats {repeats} --fills 1 --fill-by unique,build \
             --present 0,100 --threads 2"
        );
        for (layout, standing) in races::run(&contestants, *k, &line)? {
            for (name, operation, _) in OPERATIONS {
                for threads in [1, 2] {
                    let speed = races::speed(&standing, operation.with_threads(threads));
                    if speed.is_finite() {
                        table.push(row(layout, *k, name, threads, standing.keys, speed));
                    }
                }
            }
        }
    }
    for layout in contestants {
        for threads in [1, 2] {
            let keys = 1 << power;
            let speed = sharded_insert(layout, keys, threads)?;
            table.push(row(layout, K, "insert into shards", threads, keys, speed));
        }
    }
    Ok(table)
}

fn row(layout: Layout, k: u32, operation: &str, threads: usize, keys: u64, speed: f64) -> Vec<Cell> {
    vec![
        Cell::text(layout.name),
        Cell::Count(u64::from(k)),
        Cell::text(operation),
        Cell::Count(threads as u64),
        Cell::Count(keys),
        Cell::number(speed, 2),
    ]
}

/// Returns how many million keys per second the threads together look up and insert into five shards.
fn sharded_insert(layout: Layout, keys: u64, threads: usize) -> Result<f64, Box<dyn Error>> {
    const CHUNK: usize = 1 << 14;
    let filter = layout.wish(K)?.for_keys(keys).sharded(SHARDS).build()?;
    let numbers: Vec<u64> = (0..keys).collect();
    let insert = |keys: &[u64]| {
        for chunk in keys.chunks(CHUNK) {
            let refused = filter.insert_unique_slice(chunk).into_iter().find_map(Result::err);
            assert!(refused.is_none(), "planned keys fit");
        }
    };
    let parts: Vec<_> =
        numbers.chunks(numbers.len().div_ceil(threads)).map(|part| move || insert(part)).collect();
    let time = measure::time_together(parts);
    let lost = filter.contains_slice(&numbers).into_iter().any(|found| !found);
    if lost {
        Err(format!("{}: a key was lost", layout.name).into())
    } else {
        Ok(measure::mega_per_second(numbers.len(), time))
    }
}

fn rows<'a>(
    record: &'a Record,
    layout: Layout,
    operation: &'a str,
    threads: usize,
) -> impl Iterator<Item = Row<'a>> {
    layout.rows(record).filter(move |row| row.text("operation") == operation && row.is("threads", threads))
}

/// Returns a speed at the k at which threads are compared.
fn at(record: &Record, layout: Layout, operation: &str, threads: usize) -> f64 {
    let mut rows = rows(record, layout, operation, threads);
    rows.find(|row| row.is("k", K)).map_or(f64::NAN, |row| row.number("mkeys_per_s"))
}

fn show(record: &Record) -> Vec<Piece> {
    let panels = OPERATIONS.map(|(name, _, title)| {
        let curve = |layout: Layout| layout.curve(rows(record, layout, name, 1), "k", "mkeys_per_s");
        let curves: Vec<Curve> = layouts::of_any_load().map(curve).collect();
        let speeds = layouts::of_any_load().flat_map(|layout| rows(record, layout, name, 1));
        let most = speeds.map(|row| row.number("mkeys_per_s")).fold(1.0, f64::max);
        let scale = Scale::linear("million keys / s").between(0.0, (most / 5.0).ceil() * 5.0);
        Panel::new(title, Scale::linear("k of rate 2^-k"), scale).with(curves)
    });
    let mut table = Table::new("", &["layout", "insert into shards", "build", "find present", "find absent"]);
    for layout in layouts::of_any_load() {
        let gain = |operation: &str| {
            Cell::number(at(record, layout, operation, 2) / at(record, layout, operation, 1), 2)
        };
        let gains = ["insert into shards", "build", "find present", "find absent"].map(gain);
        table.push([Cell::text(layout.name)].into_iter().chain(gains).collect());
    }
    let keys = rows(record, layouts::ALL[2], "build", 1).find(|row| row.is("k", K));
    vec![
        Piece::Text(format!(
            "One thread, tables of equal memory, which hold {} keys at k = {K} in windows of two. {NAMES} The \
             paper has 2 * 10^9 keys and five threads, and gives no numbers. It reports that (w, 4) has the \
             fastest inserts and (w, 2) the slowest, that lookups do not depend on whether keys are present, \
             and that speed drops where the slots of a place no longer fit in 64 bits: from k = 14 for four \
             slots and from k = 15 for two.",
            keys.map_or("?", |row| row.text("keys"))
        )),
        Piece::Figure(Figure::new(panels.into()).columns(2)),
        Piece::Text(format!(
            "Speed of two threads divided by that of one, at k = {K}. This machine has two cores, so the \
             comparison ends here; the paper's goes to ten threads and is almost linear up to five. The \
             {SHARDS} shards are the paper's, filled by lookup and insert; builds share one table."
        )),
        Piece::Table(table),
    ]
}

/// Checks that everything was measured with one thread and with two. No order of speeds holds at every size.
fn check(record: &Record) -> Result<(), String> {
    for layout in layouts::of_any_load() {
        for operation in ["insert into shards", "build", "find present", "find absent"] {
            for threads in [1, 2] {
                let speed = at(record, layout, operation, threads);
                if !(speed > 0.0 && speed < 1e5) {
                    return Err(format!("{}: {operation} with {threads} threads is missing", layout.name));
                }
            }
        }
        if rows(record, layout, "insert", 1).count() < 3 {
            return Err(format!("{}: lookup and insert is missing", layout.name));
        }
    }
    Ok(())
}
