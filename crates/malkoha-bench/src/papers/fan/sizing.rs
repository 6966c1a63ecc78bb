//! The worked example of sizing: a hundred million keys at a rate of 0.1 %.

use std::error::Error;

use malkoha::{Kind, Offsets, Spec};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use crate::papers::strangers::{ask, deviations};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "fan-sizing",
    paper: Paper::Fan,
    number: "Worked example",
    title: "memory for 10^8 keys at a rate of 0.1 %",
    minutes: (0.2, 6.0),
    run,
    show,
    check,
};

const KEYS: u64 = 100_000_000;
const RATE: f64 = 0.001;

/// The text's load, 0.9.
const LOAD: f64 = 0.9;

/// A filter by name, and its spec.
type Wish = (&'static str, fn(Spec) -> Spec);

/// The text's filter and the one it is compared with, then all others.
const WISHES: [Wish; 15] = [
    (CLASSIC, |spec| spec.kind(Kind::Classic(4)).load(LOAD)),
    ("bloom", |spec| spec.kind(Kind::Bloom)),
    ("classic:4", |spec| spec.kind(Kind::Classic(4))),
    ("semisorted", |spec| spec.kind(Kind::SemiSorted)),
    ("simplified:4", |spec| spec.kind(Kind::Simplified(4))),
    ("flexible:4", |spec| spec.kind(Kind::Flexible(4))),
    ("windowed:4", |spec| spec.kind(Kind::Windowed(4))),
    ("windowed:3", |spec| spec.kind(Kind::Windowed(3))),
    ("windowed:2", |spec| spec.kind(Kind::Windowed(2))),
    ("sorted", |spec| spec.kind(Kind::Sorted)),
    ("sorted, load 0.9", |spec| spec.kind(Kind::Sorted).load(LOAD)),
    ("sorted+near96", |spec| spec.kind(Kind::Sorted).offsets(Offsets::Near(96))),
    ("sorted+dense", |spec| spec.kind(Kind::Sorted).dense()),
    ("blocked:2", |spec| spec.kind(Kind::Blocked(2))),
    ("blocked:3", |spec| spec.kind(Kind::Blocked(3))),
];

const CLASSIC: &str = "classic:4, load 0.9";

/// Published megabytes of the classic filter and of Bloom's.
const PUBLISHED: [(&str, f64); 2] = [(CLASSIC, 218.0), ("bloom", 180.0)];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "the worked example",
        &[
            "filter",
            "bytes",
            "slot_bits",
            "places",
            "load",
            "filled",
            "predicted",
            "strangers",
            "hits",
            "lost",
        ],
    );
    let (keys, strangers) = size.pick((20_000, 1 << 18), (1_000_000, 1 << 22), (KEYS, 1 << 26));
    let all: Vec<u64> = (0..keys).collect();
    for (name, wish) in WISHES {
        eprintln!("  {name}");
        let geometry = wish(Spec::new(KEYS, RATE)).plan()?;
        let layout = geometry.cuckoo();
        let filter = wish(Spec::new(keys, RATE)).threads(2).build_from(&all)?;
        let lost = all.chunks(1 << 16).flat_map(|keys| filter.contains_slice(keys)).filter(|found| !found);
        let lost = lost.count() as u64;
        let hits = ask(&filter, strangers);
        table.push(vec![
            Cell::text(name),
            Cell::Count(geometry.bytes()),
            layout.map_or(Cell::Missing, |layout| Cell::number(layout.slot_bits(), 0)),
            layout.map_or(Cell::Missing, |layout| Cell::Count(layout.places())),
            Cell::number(geometry.load(), 3),
            Cell::Count(keys),
            Cell::Rate(filter.geometry().predicted_rate(keys)),
            Cell::Count(strangers),
            Cell::Count(hits),
            Cell::Count(lost),
        ]);
    }
    Ok(table)
}

fn find<'a>(record: &'a Record, filter: &str) -> Option<Row<'a>> {
    record.rows().find(|row| row.text("filter") == filter)
}

fn megabytes(record: &Record, filter: &str) -> f64 {
    find(record, filter).map_or(f64::NAN, |row| row.number("bytes") / 1e6)
}

fn published(filter: &str) -> Option<f64> {
    PUBLISHED.into_iter().find(|(name, _)| *name == filter).map(|(_, bytes)| bytes)
}

fn show(record: &Record) -> Vec<Piece> {
    let mut table = Table::new(
        "",
        &["filter", "MB, published", "MB", "bits per key", "bits per slot", "places", "load", "rate in %"],
    );
    for (name, _) in WISHES {
        let Some(row) = find(record, name) else { continue };
        table.push(vec![
            Cell::text(name),
            published(name).map_or(Cell::Missing, |bytes| Cell::number(bytes, 0)),
            Cell::number(row.number("bytes") / 1e6, 1),
            Cell::number(row.number("bytes") * 8.0 / KEYS as f64, 2),
            Cell::number(row.number("slot_bits"), 0),
            Cell::number(row.number("places"), 0),
            Cell::number(row.number("load"), 3),
            Cell::number(100.0 * row.number("hits") / row.number("strangers"), 4),
        ]);
    }
    let (sorted, classic) = (megabytes(record, "sorted"), megabytes(record, CLASSIC));
    vec![
        Piece::Text(format!(
            "The classic filter has f = ceil(log2(8 / 0.001)) = 13 bits and 10^8 / 0.9 slots, rounded up to a \
             power of two of buckets, so it is filled only to {:.3}. Sorted needs {sorted:.1} MB, which is \
             {:.0} % less than the classic filter and {:.0} % less than Bloom, which cannot delete. With the \
             same headroom (load 0.9) it needs {:.1} MB. Rates are those of filters for {} keys.",
            find(record, CLASSIC).map_or(f64::NAN, |row| row.number("load")),
            100.0 * (1.0 - sorted / classic),
            100.0 * (1.0 - sorted / megabytes(record, "bloom")),
            megabytes(record, "sorted, load 0.9"),
            record.fact("filled"),
        )),
        Piece::Table(table),
        Piece::Text(
            "The cost of rounding depends on the number of keys. The figure shows the planned memory, in all \
             and per key, by the number of keys."
                .to_owned(),
        ),
        Piece::Figure(figure()),
    ]
}

/// Draws the planned memory against the number of keys.
fn figure() -> Figure {
    let shown = [CLASSIC, "semisorted", "simplified:4", "bloom", "blocked:2", "windowed:2", "sorted"];
    let millions = || (40..=260).step_by(2);
    let planned = |unit: fn(u64, u64) -> f64| {
        move |(colour, name): (usize, &'static str)| {
            let wish = WISHES.into_iter().find(|(other, _)| *other == name).map(|(_, wish)| wish);
            let point = |millions: u64| {
                let geometry = wish?(Spec::new(millions * 1_000_000, RATE)).plan().ok()?;
                Some((millions as f64, unit(geometry.bytes(), geometry.keys())))
            };
            Curve::line(name, colour, millions().filter_map(point).collect())
        }
    };
    let keys = || Scale::linear("million keys").between(40.0, 260.0);
    let dots = PUBLISHED.into_iter().map(|(name, bytes)| {
        let colour = shown.iter().position(|shown| *shown == name).unwrap_or(0);
        Curve::hollow(
            format!("published, {}", name.split(',').next().unwrap_or(name)),
            colour,
            vec![(KEYS as f64 / 1e6, bytes)],
        )
    });
    Figure::new(vec![
        Panel::new("Memory", keys(), Scale::linear("MB"))
            .with(shown.into_iter().enumerate().map(planned(|bytes, _| bytes as f64 / 1e6)))
            .with(dots),
        Panel::new("Bits per key", keys(), Scale::linear("bits per key"))
            .with(shown.into_iter().enumerate().map(planned(|bytes, keys| bytes as f64 * 8.0 / keys as f64))),
    ])
}

/// Checks that the classic filter is as large as published, that Sorted is the smallest of those that delete,
/// and that all keep their rate.
fn check(record: &Record) -> Result<(), String> {
    for (name, bytes) in PUBLISHED {
        let ours = megabytes(record, name);
        if (ours / bytes - 1.0).abs() > 0.005 {
            return Err(format!("{name} takes {ours:.1} MB and not {bytes}"));
        }
    }
    let classic = find(record, CLASSIC).ok_or("no classic filter")?;
    if (classic.text("slot_bits"), classic.text("places")) != ("13", "33554432") {
        return Err(format!("{} buckets of {} bits", classic.text("places"), classic.text("slot_bits")));
    }
    for row in record.rows() {
        let (name, smallest) = (row.text("filter"), megabytes(record, "sorted+dense"));
        if row.number("bytes") / 1e6 < smallest {
            return Err(format!("{name} is smaller than sorted+dense"));
        }
        let (hits, strangers) = (row.number("hits"), row.number("strangers"));
        let strays = |rate: f64| deviations(hits, strangers, rate, row.number("filled"));
        if strays(row.number("predicted")).abs() > 5.0 || strays(RATE) > 4.0 {
            return Err(format!("{name} has a rate of {}", hits / strangers));
        }
        if row.number("lost") > 0.0 {
            return Err(format!("{name} lost a key"));
        }
    }
    Ok(())
}
