//! The chapter on speed: the goals, and every number of the runs behind them.

use std::error::Error;
use std::path::Path;

use crate::record::{Record, Row};
use crate::table::{Cell, Table};

use super::{distinct, markdown, origin};

/// The records of this chapter.
struct Records {
    limits: Record,
    /// Tables of 256 MB, with peers.
    memory: Record,
    /// Both on a machine with slower memory, and with the code of that day.
    slow_limits: Record,
    slow_memory: Record,
    /// Tables that fit in the second-level cache, with peers.
    cache: Record,
    /// Sizes and rates.
    space: Record,
    scale: Record,
    /// Filters turned into bytes and files, and back.
    store: Record,
}

/// Returns the chapter, or `None` if the runs behind it were not made.
pub(super) fn chapter(folder: &Path) -> Result<Option<String>, Box<dyn Error>> {
    if !folder.join("speed-memory.csv").exists() {
        return Ok(None);
    }
    let read = |name| Record::read(folder, name);
    let records = Records {
        limits: read("limits")?,
        memory: read("speed-memory")?,
        slow_limits: read("limits-slow-memory")?,
        slow_memory: read("speed-slow-memory")?,
        cache: read("speed-cache")?,
        space: read("speed-space")?,
        scale: read("scale")?,
        store: read("store")?,
    };
    let mut text = "## Speed\n\n### Goals\n\n".to_owned();
    text.push_str(
        "One thread and tables of 256 MB on 2 MiB pages unless stated otherwise. Slices are batches of keys; C \
         is bits per key divided by -log2 of the measured rate. The slower memory is that of a Xeon, on which most \
         of these goals were set and the record is of older code, as are those of C and of the cost of building. The \
         other machine reads random lines four times as fast. There, lookups must take fewer instructions for the same share of the limit, and builds are bound \
         by their instructions, not by memory.\n\n",
    );
    text.push_str(&markdown(&goals(&records)));
    let sections = [
        ("What the machine allows", &records.limits, vec![limits(&records.limits)]),
        ("Tables of 256 MB", &records.memory, speeds(&records.memory)),
        ("What slower memory allows", &records.slow_limits, vec![limits(&records.slow_limits)]),
        ("Tables of 256 MB in slower memory", &records.slow_memory, speeds(&records.slow_memory)),
        ("Tables in the second-level cache", &records.cache, speeds(&records.cache)),
        ("Space", &records.space, vec![space(&records.space)]),
        ("Building larger and larger filters", &records.scale, vec![scale(&records.scale)]),
        ("Saving and loading filters", &records.store, vec![store(&records.store)]),
    ];
    for (title, record, tables) in sections {
        text.extend(["### ", title, "\n\n", &origin(record, record.fact("parameters"))]);
        for table in tables {
            if !table.title.is_empty() {
                text.extend([&table.title[..], ":\n\n"]);
            }
            text.push_str(&markdown(&table));
        }
    }
    Ok(Some(text))
}

/// A measured value that should not be beyond a bound.
pub(super) struct Goal {
    what: String,
    bound: Bound,
    measured: f64,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(super) fn at_least(what: impl Into<String>, least: f64, measured: f64) -> Self {
        Self { what: what.into(), bound: Bound::AtLeast(least), measured }
    }

    pub(super) fn at_most(what: impl Into<String>, most: f64, measured: f64) -> Self {
        Self { what: what.into(), bound: Bound::AtMost(most), measured }
    }

    pub(super) fn cells(&self) -> Vec<Cell> {
        let (bound, met) = match self.bound {
            Bound::AtLeast(least) => (format!("at least {least}"), self.measured >= least),
            Bound::AtMost(most) => (format!("at most {most}"), self.measured <= most),
        };
        let met = if met { "yes" } else { "no" };
        vec![Cell::text(&self.what), Cell::text(bound), Cell::number(self.measured, 3), Cell::text(met)]
    }
}

/// Returns the row of one filter and one operation.
fn row<'a>(record: &'a Record, filter: &str, operation: &str) -> Option<Row<'a>> {
    record.rows().find(|row| row.text("filter") == filter && row.text("operation") == operation)
}

fn value(record: &Record, filter: &str, operation: &str, column: &str) -> f64 {
    row(record, filter, operation).map_or(f64::NAN, |row| row.number(column))
}

/// The peers that can delete.
const DELETABLE: [&str; 2] = ["cuckoofilter", "qfilter"];

/// The kinds of most goals.
const KINDS: [&str; 3] = ["flexible:4@13", "windowed:2@14", "sorted@14"];

fn goals(records: &Records) -> Table {
    let mut table = Table::new("", &["goal", "bound", "measured", "met"]);
    let mut goals = Vec::new();
    for filter in ["flexible:4@13", "sorted@14"] {
        goals.push(pairs_goal(&records.memory, "", filter, 0.85));
    }
    goals.extend(goals_of_memory(&records.memory, ""));
    goals.extend(goals_of_slow_memory(&records.slow_memory));
    let cache = |filter: &str, operation: &str| value(&records.cache, filter, operation, "mkeys_per_s");
    goals.push(Goal::at_least(
        "flexible:4@13 in the second-level cache: finds of slices over cuckoofilter",
        1.5,
        cache("flexible:4@13", "find[] 50") / cache("cuckoofilter", "find 50"),
    ));
    goals.push(Goal::at_least(
        "blocked:1@10+spread in the second-level cache: finds of slices over sbbf-rs",
        0.8,
        cache("blocked:1@10+spread", "find[] 50") / cache("sbbf-rs 16 bits", "find 50"),
    ));
    for (filter, most) in [
        ("sorted@8", 1.294),
        ("sorted@10", 1.243),
        ("sorted@14", 1.186),
        ("sorted@14+dense", 1.17),
        ("windowed:2@8", 1.312),
        ("windowed:2@10", 1.262),
        ("windowed:2@14", 1.205),
    ] {
        let measured = value(&records.space, filter, "find[] 50", "C");
        goals.push(Goal::at_most(format!("{filter}: C"), most, measured));
    }
    goals.extend(growth(&records.scale));
    for goal in &goals {
        table.push(goal.cells());
    }
    table
}

/// Lookups in slices beside what memory allows.
fn pairs_goal(record: &Record, place: &str, filter: &str, least: f64) -> Goal {
    let what = format!("{place}{filter}: finds of slices, half present, over random pairs of lines");
    Goal::at_least(what, least, value(record, filter, "find[] 50", "fraction"))
}

/// The goals for tables of 256 MB in any memory: beside the best peer that can delete, and from a second thread.
fn goals_of_memory(record: &Record, place: &str) -> Vec<Goal> {
    let fraction = |filter: &str, operation: &str| value(record, filter, operation, "fraction");
    let speed = |filter: &str, operation: &str| value(record, filter, operation, "mkeys_per_s");
    let peers = DELETABLE.map(|peer| speed(peer, "find 50")).into_iter().fold(f64::NAN, f64::max);
    let mut goals: Vec<_> = KINDS
        .map(|filter| {
            let what = format!("{place}{filter}: finds of slices over the best peer with deletes");
            Goal::at_least(what, 2.0, speed(filter, "find[] 50") / peers)
        })
        .into();
    // The gain of the filter over that of the limit, from the fractions: both were measured in the same turn there.
    let gain = |filter: &str| fraction(filter, "find[] 50 x2") / fraction(filter, "find[] 50");
    for filter in KINDS {
        let what = format!("{place}{filter}: gain of finds from a second thread over that of pairs of lines");
        goals.push(Goal::at_least(what, 0.9, gain(filter)));
        let what = format!("{place}{filter}: gain of building from a second thread");
        goals.push(Goal::at_least(what, 1.25, speed(filter, "build x2") / speed(filter, "build")));
    }
    goals
}

/// The goals for memory that is slow beside the processor.
fn goals_of_slow_memory(record: &Record) -> Vec<Goal> {
    const PLACE: &str = "slower memory, ";
    let fraction = |filter: &str, operation: &str| value(record, filter, operation, "fraction");
    let pairs = [
        ("flexible:4@13", 0.9),
        ("windowed:2@14", 0.9),
        ("sorted@14", 0.75),
        ("flexible:4@13+near96", 1.1),
        ("blocked:2@8", 0.8),
    ];
    let mut goals: Vec<_> = pairs.map(|(filter, least)| pairs_goal(record, PLACE, filter, least)).into();
    goals.push(Goal::at_least(
        format!("{PLACE}blocked:1@8+spread: finds of slices, half present, over random lines"),
        0.85,
        fraction("blocked:1@8+spread", "find[] 50"),
    ));
    let builds =
        [("flexible:4@13", 0.25), ("windowed:4@13", 0.25), ("windowed:2@14", 0.1), ("sorted@14", 0.1)];
    goals.extend(builds.map(|(filter, least)| {
        let what = format!("{PLACE}{filter}: building from a slice over random lines read and written");
        Goal::at_least(what, least, fraction(filter, "build"))
    }));
    goals.extend(goals_of_memory(record, PLACE));
    goals
}

/// Returns how much more a key costs in the largest filter of a kind than in the smallest.
fn growth(record: &Record) -> Vec<Goal> {
    let goal = |filter: &str| {
        let rows: Vec<_> =
            record.rows().filter(|row| row.text("filter") == filter && row.text("threads") == "1").collect();
        let by_keys = |a: &&Row<'_>, b: &&Row<'_>| a.number("keys").total_cmp(&b.number("keys"));
        let (least, most) = (rows.iter().min_by(by_keys), rows.iter().max_by(by_keys));
        let cost = |row: Option<&Row<'_>>| row.map_or(f64::NAN, |row| row.number("ns/key"));
        let what = format!("{filter}: cost per key of building, largest over smallest below");
        Goal::at_most(what, 1.3, cost(most) / cost(least))
    };
    filters(record).into_iter().map(goal).collect()
}

/// Returns the chosen columns of a record, renamed.
fn columns(record: &Record, chosen: &[(&str, &str, Option<usize>)]) -> Table {
    let names: Vec<&str> = chosen.iter().map(|(_, name, _)| *name).collect();
    let mut table = Table::new("", &names);
    for row in record.rows() {
        let cell = |(column, _, decimals): &(&str, &str, Option<usize>)| match decimals {
            Some(decimals) => Cell::number(row.number(column), *decimals),
            None => Cell::text(row.text(column)),
        };
        table.push(chosen.iter().map(cell).collect());
    }
    table
}

fn limits(record: &Record) -> Table {
    columns(
        record,
        &[
            ("limit", "limit", None),
            ("pages", "pages", None),
            ("threads", "threads", Some(0)),
            ("median", "median", Some(1)),
            ("best", "best", Some(1)),
            ("scheme", "scheme", None),
            ("unit", "unit", None),
        ],
    )
}

fn scale(record: &Record) -> Table {
    columns(
        record,
        &[
            ("filter", "filter", None),
            ("keys", "keys", Some(0)),
            ("threads", "threads", Some(0)),
            ("MiB", "MiB", Some(1)),
            ("ns/key", "ns per key", Some(1)),
            ("steps per walk", "steps per walk", Some(2)),
        ],
    )
}

/// Lists filters by ways of saving and loading them: megabytes per second, and the share of a plain copy.
fn store(record: &Record) -> Table {
    let ways = distinct(record.rows(), "way");
    let title = "MB/s, and in brackets the share of the speed of a plain copy of the same bytes in the same \
                 turn: a copy in memory for bytes, a file written and synced for `save`, and a file read, from \
                 the page cache or from the disk, for the others. The plain copies also use 2 MiB pages";
    let mut table = Table::new(title, &["filter", "MB"]);
    table.columns.extend(ways.iter().map(ToString::to_string));
    for filter in filters(record) {
        let of = |way: &str| record.rows().find(|row| row.text("filter") == filter && row.text("way") == way);
        let size = of(ways[0]).map_or(f64::NAN, |row| row.number("MB"));
        let mut cells = vec![Cell::text(filter), Cell::number(size, 1)];
        cells.extend(ways.iter().map(|way| {
            of(way).map_or(Cell::Missing, |row| {
                Cell::text(format!("{:.0} ({:.2})", row.number("MB/s"), row.number("share")))
            })
        }));
        table.push(cells);
    }
    table
}

/// One row for each filter.
fn space(record: &Record) -> Table {
    let mut table = Table::new("", &["filter", "keys", "bits per key", "rate", "C"]);
    for filter in filters(record) {
        let first = record.rows().find(|row| row.text("filter") == filter);
        let Some(row) = first else { continue };
        let mut cells = vec![Cell::text(filter), Cell::number(row.number("keys"), 0)];
        cells.extend(size(row));
        table.push(cells);
    }
    table
}

fn size(row: Row<'_>) -> [Cell; 3] {
    let rate = row.number("rate");
    [
        Cell::number(row.number("bits_per_key"), 2),
        if rate > 0.0 { Cell::Rate(rate) } else { Cell::Missing },
        Cell::number(row.number("C"), 3),
    ]
}

/// Returns the distinct filters of a record, in its order.
fn filters(record: &Record) -> Vec<&str> {
    distinct(record.rows(), "filter")
}

/// Tabulates filters by operations: million keys per second, and fractions of the limit.
fn speeds(record: &Record) -> Vec<Table> {
    let operations = distinct(record.rows(), "operation");
    let pivot = |title: &str, column: &str, decimals: usize, with_size: bool| {
        let mut table = Table::new(title, &["filter"]);
        if with_size {
            table.columns.extend(["bits per key", "rate", "C"].map(str::to_owned));
        }
        table.columns.extend(operations.iter().map(ToString::to_string));
        for filter in filters(record) {
            let mut cells = vec![Cell::text(filter)];
            if with_size {
                cells.extend(
                    record.rows().find(|row| row.text("filter") == filter).map(size).into_iter().flatten(),
                );
            }
            let speed = |operation: &&str| Cell::number(value(record, filter, operation, column), decimals);
            cells.extend(operations.iter().map(speed));
            table.push(cells);
        }
        table
    };
    vec![
        pivot(
            "Million keys per second, medians (`[]`: slices; `find N`: N % of the keys are present)",
            "mkeys_per_s",
            1,
            true,
        ),
        pivot("Fractions of the limit measured in the same turn, medians", "fraction", 2, false),
    ]
}
