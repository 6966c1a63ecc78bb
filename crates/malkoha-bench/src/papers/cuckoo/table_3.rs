//! Table 3: throughput and overhead at k = 8, 13 and 14.

use std::error::Error;

use malkoha::theory;

use super::layouts::{self, Layout, NAMES};
use super::races;
use crate::contestants::Way;
use crate::operation::Operation;
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::Record;
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-table-3",
    paper: Paper::Cuckoo,
    number: "Table 3",
    title: "throughput and overhead at k = 8, 13 and 14",
    minutes: (0.8, 18.0),
    run,
    show,
    check,
};

const EXPONENTS: [u32; 3] = [8, 13, 14];

/// Million inserts and lookups per second and C, for every k.
type Published = (&'static str, [[f64; 3]; 3]);

const NOT: [f64; 3] = [f64::NAN; 3];
const PUBLISHED: [Published; 7] = [
    ("(b, 2)", [[4.11, 42.88, 1.39], [4.19, 41.85, 1.29], [4.34, 51.67, 1.28]]),
    ("(b, 4)", [[6.06, 36.27, 1.42], [6.43, 46.61, 1.28], [5.81, 22.25, 1.26]]),
    ("(w, 2)", [[3.04, 30.01, 1.31], [3.02, 28.07, 1.21], [3.12, 35.26, 1.20]]),
    ("(w, 4)", [[7.83, 28.45, 1.40], [8.56, 33.16, 1.25], [7.35, 18.41, 1.24]]),
    ("prefix (VQF)", [[31.32, 43.81, 1.44], NOT, NOT]),
    ("prefix (CF12)", [[30.16, 44.60, 1.45], NOT, NOT]),
    ("vector quotient", [[21.59, 27.76, 1.48], NOT, NOT]),
];

const INSERT: Operation = Operation::Insert { way: Way::OneByOne, threads: 1 };
const BUILD: Operation = Operation::Insert { way: Way::Build, threads: 1 };
const FIND: Operation = Operation::Find { way: Way::OneByOne, percent: 50, threads: 1 };
const FIND_SLICE: Operation = Operation::Find { way: Way::Slice, percent: 50, threads: 1 };

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "throughput and overhead",
        &[
            "layout",
            "k",
            "slots_of_16_bits",
            "keys",
            "bits_per_key",
            "rate",
            "C",
            "insert",
            "build",
            "find",
            "find_slice",
            "find_limit",
            "strangers",
        ],
    );
    let (power, queries, strangers, repeats) =
        size.pick((13, 2000, 100_000, 1), (21, 1 << 20, 1 << 22, 2), (26, 1 << 22, 1 << 25, 3));
    for k in EXPONENTS {
        let line = format!(
            "--sizes 2^{power} --queries {queries} --strangers {strangers} --repeats {repeats} --fills 1 \
             --fill-by one-by-one,build --present 50"
        );
        for (layout, standing) in races::run(&layouts::ALL, k, &line)? {
            let speed = |operation| Cell::number(races::speed(&standing, operation), 2);
            table.push(vec![
                Cell::text(layout.name),
                Cell::Count(u64::from(k)),
                Cell::Count(standing.size.0),
                Cell::Count(standing.keys),
                Cell::number(standing.bits_per_key(), 3),
                Cell::Rate(standing.rate),
                Cell::number(standing.overhead(), 3),
                speed(INSERT),
                speed(BUILD),
                speed(FIND),
                speed(FIND_SLICE),
                Cell::number(
                    standing.outcome(FIND_SLICE).map_or(f64::NAN, |outcome| outcome.limits.median()),
                    2,
                ),
                Cell::Count(strangers),
            ]);
        }
    }
    Ok(table)
}

/// Returns C as in Table 3: divided by -log2 of the actual rate, which is the load times 2^-k. Slots have
/// whole bits; what this adds to windows of three lowers their rate.
fn predicted(layout: Layout, k: u32) -> f64 {
    let (bits, load) = (theory::bits_per_key(layout.kind, f64::from(k), 1.0), layout.planned_load());
    let added = bits.ceil() - bits;
    (bits + added) / load / (f64::from(k) + added - load.log2())
}

fn at(record: &Record, layout: Layout, k: u32, column: &str) -> f64 {
    let mut rows = layout.rows(record);
    rows.find(|row| row.is("k", k)).map_or(f64::NAN, |row| row.number(column))
}

fn show(record: &Record) -> Vec<Piece> {
    let slots = record.fact("slots_of_16_bits");
    let mut pieces = vec![Piece::Text(format!(
        "One thread, in tables of {slots} slots of 16 bits or the same memory; the paper has 2^30 slots, on an \
         AMD Ryzen 9 9950X with DDR5 memory. Million keys per second; half of the keys looked up are present. \
         Ours are inserted and found one by one and, after the plus sign, built and found as slices. The limit \
         of the memory is two random lines per key. C is bits per key divided by -log2 of the measured rate: \
         this reproduces the published values, while -log2 of the requested rate does not. {NAMES}"
    ))];
    for (at_k, k) in EXPONENTS.into_iter().enumerate() {
        let mut table = Table::new(
            "",
            &[
                "filter",
                "insert, published",
                "insert + build",
                "find, published",
                "find + slices",
                "C, published",
                "predicted",
                "C",
            ],
        );
        let published =
            |name: &str| PUBLISHED.iter().find(|row| row.0 == name).map_or(NOT, |row| row.1[at_k]);
        for layout in layouts::ALL {
            let [insert, find, overhead] = published(layout.name);
            let pair = |one: &str, many: &str| {
                Cell::text(format!("{:.1} + {:.1}", at(record, layout, k, one), at(record, layout, k, many)))
            };
            table.push(vec![
                Cell::text(layout.name),
                Cell::number(insert, 2),
                pair("insert", "build"),
                Cell::number(find, 2),
                pair("find", "find_slice"),
                Cell::number(overhead, 2),
                Cell::number(predicted(layout, k), 3),
                Cell::number(at(record, layout, k, "C"), 3),
            ]);
        }
        for (name, _) in PUBLISHED.iter().filter(|(_, numbers)| k == 8 && numbers[1][0].is_nan()) {
            let [insert, find, overhead] = published(name);
            let (insert, find, overhead) =
                (Cell::number(insert, 2), Cell::number(find, 2), Cell::number(overhead, 2));
            table.push(vec![
                Cell::text(name),
                insert,
                Cell::Missing,
                find,
                Cell::Missing,
                overhead,
                Cell::Missing,
                Cell::Missing,
            ]);
        }
        let limit = at(record, layouts::ALL[2], k, "find_limit");
        pieces
            .push(Piece::Text(format!("Rate 2^-{k}; two random lines: {limit:.1} million keys per second.")));
        pieces.push(Piece::Table(table));
    }
    pieces.push(Piece::Text(remarks(record)));
    pieces
}

/// Lists where ours falls short of the published values.
fn remarks(record: &Record) -> String {
    let slower = |which: usize, column: &str| {
        let mut names = Vec::new();
        for (name, numbers) in
            PUBLISHED.iter().filter(|(name, _)| layouts::PAPERS.iter().any(|layout| layout.name == *name))
        {
            for (k, numbers) in EXPONENTS.into_iter().zip(numbers) {
                let share = at(record, layouts::named(name), k, column) / numbers[which];
                if share < 1.0 {
                    names.push(format!("{name} k = {k}: {share:.2}"));
                }
            }
        }
        if names.is_empty() { "none".to_owned() } else { names.join("; ") }
    };
    format!(
        "Ours divided by published, where that is below 1, on a machine with other memory than the paper's. \
         Inserts one by one: {}. Lookups one by one: {}. Lookups as slices: {}.",
        slower(0, "insert"),
        slower(1, "find"),
        slower(1, "find_slice")
    )
}

/// Checks that windows of two are the smallest of the paper's layouts, that sorted buckets are smaller still,
/// and that C is as predicted.
fn check(record: &Record) -> Result<(), String> {
    for k in EXPONENTS {
        let bits = |name: &str| at(record, layouts::named(name), k, "bits_per_key");
        let smallest = layouts::PAPERS.iter().map(|layout| bits(layout.name)).fold(f64::INFINITY, f64::min);
        if bits("(w, 2)") > smallest
            || bits("sorted local") >= smallest
            || bits("sorted dense") >= bits("sorted local")
        {
            return Err(format!(
                "at k = {k}, the order of sizes is not sorted dense, sorted, windows of two, others"
            ));
        }
        for layout in layouts::ALL {
            let share = at(record, layout, k, "C") / predicted(layout, k);
            let hits = at(record, layout, k, "rate") * at(record, layout, k, "strangers");
            let small = 1.5 / at(record, layout, k, "keys").sqrt() * 2.0;
            let noise = 0.005 + small + 4.0 * std::f64::consts::LOG2_E / hits.sqrt() / f64::from(k);
            if hits > 0.0 && (share - 1.0).abs() > noise {
                return Err(format!("{} at k = {k}: {share:.4} of the predicted C", layout.name));
            }
            let speeds =
                ["insert", "build", "find", "find_slice"].map(|column| at(record, layout, k, column));
            if speeds.iter().any(|speed| speed.is_nan() || *speed <= 0.0) {
                return Err(format!("{} at k = {k}: a speed is missing", layout.name));
            }
        }
    }
    Ok(())
}
