//! Table 3: bits per key and rate in 192 MiB, and how fast filters are filled.

use std::error::Error;

use malkoha::{Kind, theory};

use crate::cli::SpeedArgs;
use crate::contestants::{self, Way};
use crate::memory::PageSize;
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::speed;
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "fan-table-3",
    paper: Paper::Fan,
    number: "Table 3",
    title: "space and speed in 192 MiB",
    minutes: (0.6, 18.0),
    run,
    show,
    check,
};

/// The published values of a filter, and how many million keys per second the authors' own program inserts.
/// The comment at its top (`benchmarks/conext-table3.cc` of efficient/cuckoofilter, on a Core i7-4790) gives
/// this for two filters.
struct Published {
    filter: &'static str,
    bits_per_key: f64,
    rate: f64,
    inserts: f64,
}

const PUBLISHED: [Published; 3] = [
    Published { filter: "classic:4@9", bits_per_key: 12.60, rate: 0.0019, inserts: 5.86 },
    Published { filter: "semisorted@10", bits_per_key: 12.58, rate: 0.0009, inserts: 4.10 },
    Published { filter: "bloom@9", bits_per_key: 13.00, rate: 0.0019, inserts: f64::NAN },
];

/// Ours at the two rates: 2^-9 like the classic filter, 2^-10 like the semi-sorted one.
const OURS: [&str; 13] = [
    "sorted@10",
    "sorted@10+dense",
    "sorted@9",
    "sorted@9+dense",
    "windowed:2@10",
    "windowed:2@9",
    "windowed:3@9",
    "windowed:4@9",
    "flexible:4@9",
    "flexible:4@9+near96",
    "blocked:1@9",
    "blocked:2@9",
    "blocked:3@9",
];

/// The size of the paper's filters.
const BYTES: u64 = 192 << 20;

/// Inserts one by one, as the paper fills its filters; building, our fastest way; finds of slices.
const OPERATIONS: [&str; 3] = ["insert", "build", "find[] 50"];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let share = size.pick(1 << 13, 16, 1);
    let kinds = PUBLISHED.iter().map(|published| published.filter).chain(OURS).map(str::parse);
    let args = SpeedArgs {
        kinds: kinds.collect::<Result<_, _>>()?,
        sizes: vec![contestants::Size(BYTES / share * 8 / contestants::SLOT_BITS)],
        repeats: size.pick(1, 2, 3),
        fills: Some(1),
        fill_by: vec![Way::OneByOne, Way::Build],
        present: vec![50, 100],
        queries: size.pick(1 << 12, 1 << 20, 1 << 22),
        strangers: size.pick(1 << 17, 1 << 22, 1 << 26),
        threads: 1,
        pages: PageSize::Huge,
        peers: false,
        finds_only: false,
        memory: 8.0,
        quick: false,
    };
    Ok(speed::table(&speed::run(&args)?))
}

fn find<'a>(record: &'a Record, filter: &str, operation: &str) -> Option<Row<'a>> {
    record.rows().find(|row| row.text("filter") == filter && row.text("operation") == operation)
}

/// Returns a number that is the same for all operations of a filter, or that of one operation.
fn of(record: &Record, filter: &str, operation: &str, column: &str) -> f64 {
    find(record, filter, operation).map_or(f64::NAN, |row| row.number(column))
}

fn show(record: &Record) -> Vec<Piece> {
    let mut table = Table::new(
        "",
        &[
            "filter",
            "bits per key, published",
            "rate in %, published",
            "bits per key",
            "rate in %",
            "C",
            "million inserts per second, published",
            "million inserts per second",
            "built",
            "finds of slices",
        ],
    );
    let names = PUBLISHED.iter().map(|published| published.filter).chain(OURS);
    for filter in names {
        let published = PUBLISHED.iter().find(|published| published.filter == filter);
        let theirs = |of: &dyn Fn(&Published) -> f64| Cell::number(published.map_or(f64::NAN, of), 2);
        let number = |column, decimals| Cell::number(of(record, filter, "insert", column), decimals);
        let mut row = vec![
            Cell::text(filter),
            theirs(&|published| published.bits_per_key),
            theirs(&|published| 100.0 * published.rate),
            number("bits_per_key", 2),
            Cell::number(100.0 * of(record, filter, "insert", "rate"), 3),
            number("C", 3),
            theirs(&|published| published.inserts),
        ];
        let speed = |operation: &str| Cell::number(of(record, filter, operation, "mkeys_per_s"), 1);
        row.extend(OPERATIONS.map(speed));
        table.push(row);
    }
    let bits = |filter: &str| of(record, filter, "insert", "bits_per_key");
    let change = |ours: &str, theirs: &Published| 100.0 * (bits(ours) / theirs.bits_per_key - 1.0);
    let [classic, semisorted, bloom] = &PUBLISHED;
    let slots = of(record, "classic:4@9", "insert", "slots");
    let worse = PUBLISHED.iter().any(|published| change(published.filter, published) > 0.05);
    vec![
        Piece::Text(format!(
            "Filters that fill {:.3} MiB (the paper's fill 192) at their planned load; the paper fills its \
             filters until one insert fails. The number after @ is k for a promised rate of 2^-k. Bits per key \
             compared with the published values: classic {:+.1} %, semi-sorted {:+.1} %, Bloom {:+.1} %. Our \
             walks look ahead and plan for a load of {:.3}; the published 12.60 bits mean a load of 0.952.{} \
             With any number of slots, Sorted differs by {:+.1} % and dense by {:+.1} % from the semi-sorted \
             filter at its rate, and by {:+.1} % and {:+.1} % from the classic filter at its rate.",
            slots * contestants::SLOT_BITS as f64 / 8.0 / f64::from(1 << 20),
            change(classic.filter, classic),
            change(semisorted.filter, semisorted),
            change(bloom.filter, bloom),
            theory::planned_load(Kind::Classic(4)),
            if worse { " Where that is more, the table is small and has spare slots." } else { "" },
            change("sorted@10", semisorted),
            change("sorted@10+dense", semisorted),
            change("sorted@9", classic),
            change("sorted@9+dense", classic),
        )),
        Piece::Table(table),
        Piece::Text(
            "Inserts one by one, then all keys at once, on one thread; finds with half of the keys present. \
             The authors' program reports the published speeds for another machine, with filters filled until \
             an insert fails, so they only show the order of magnitude."
                .to_owned(),
        ),
    ]
}

/// Checks that no filter takes more than the published bits or exceeds its promised rate, and that ours are
/// smaller. Small tables have some spare slots, and few keys are looked up in them.
fn check(record: &Record) -> Result<(), String> {
    let small = of(record, "classic:4@9", "insert", "keys") < 1e6;
    let slack = if small { 1.015 } else { 1.0 };
    let bits = |filter: &str| of(record, filter, "insert", "bits_per_key");
    let at_most = |filter: &str, most: f64| match bits(filter) {
        bits if bits <= most * slack => Ok(()),
        bits => Err(format!("{filter} takes {bits:.3} bits per key, more than {most:.3}")),
    };
    for published in PUBLISHED {
        at_most(published.filter, published.bits_per_key)?;
    }
    at_most("sorted@10", bits("semisorted@10") * 1.0005)?;
    at_most("sorted@9", bits("windowed:2@9"))?;
    for (dense, plain) in [("sorted@10+dense", "sorted@10"), ("sorted@9+dense", "sorted@9")] {
        at_most(dense, bits(plain) / slack)?;
    }
    for filter in PUBLISHED.iter().map(|published| published.filter).chain(OURS) {
        let k = filter.split(['@', '+']).nth(1).and_then(|k| k.parse::<f64>().ok()).unwrap_or(f64::NAN);
        let rate = of(record, filter, "insert", "rate") * k.exp2();
        let most = if small { 1.4 } else { 1.06 };
        if !(0.5..most).contains(&rate) {
            return Err(format!("{filter} has {rate:.3} times its promised rate"));
        }
    }
    Ok(())
}
