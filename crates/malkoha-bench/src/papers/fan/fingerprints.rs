//! The table of fingerprint lengths: the bound 2b/2^f beside the rate.

use std::error::Error;

use malkoha::{Kind, Spec, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use crate::papers::strangers::{ask, deviations};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "fan-fingerprints",
    paper: Paper::Fan,
    number: "Equation 1 and its table",
    title: "fingerprint length against the bound and the measured rate",
    minutes: (0.4, 6.0),
    run,
    show,
    check,
};

/// The paper's two filters, then ours.
const KINDS: [Kind; 8] = [
    Kind::Classic(4),
    Kind::SemiSorted,
    Kind::Flexible(4),
    Kind::Windowed(4),
    Kind::Windowed(3),
    Kind::Windowed(2),
    Kind::Sorted,
    Kind::Flexible(2),
];

/// Bits of a slot.
const WIDTHS: [u32; 5] = [8, 10, 12, 14, 16];

/// The lengths for which the paper prints the bound.
const PUBLISHED: [u32; 3] = [8, 12, 16];

/// Returns the bound on the rate with buckets of four slots: 8/2^f.
fn bound(bits: u32) -> f64 {
    8.0 * 2f64.powi(-bits.cast_signed())
}

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "fingerprint lengths",
        &["kind", "slot_bits", "slots", "keys", "bits_per_key", "bound", "predicted", "strangers", "hits"],
    );
    let (slots, strangers) = size.pick((1 << 14, 1 << 19), (1 << 20, 1 << 23), (1u64 << 22, 1 << 27));
    for width in WIDTHS {
        eprintln!("  slots of {width} bits");
        for kind in KINDS {
            // Theory says how many more bits than the rate a slot has.
            let k = f64::from(width) - theory::bits_per_key(kind, 0.0, 1.0);
            // Whole cache lines and a spare word must not halve the kinds whose sizes are powers of two.
            let bytes = slots * u64::from(width) / 8 + 128;
            let spec = Spec::rate_in_memory((-k).exp2(), bytes).kind(kind);
            let geometry = spec.plan()?;
            let filter = spec.build_from(&(0..geometry.keys()).collect::<Vec<_>>())?;
            let hits = ask(&filter, strangers);
            let layout = geometry.cuckoo().ok_or("only cuckoo kinds have slots")?;
            table.push(vec![
                Cell::text(kind),
                Cell::number(layout.slot_bits(), 0),
                Cell::Count(layout.slots()),
                Cell::Count(geometry.keys()),
                Cell::number(geometry.bits_per_key(), 3),
                Cell::Rate(bound(width)),
                Cell::Rate(geometry.predicted_rate(geometry.keys())),
                Cell::Count(strangers),
                Cell::Count(hits),
            ]);
        }
    }
    Ok(table)
}

fn find(record: &Record, kind: Kind, width: u32) -> Option<Row<'_>> {
    let kind = kind.to_string();
    let fits = |row: &Row<'_>| (row.number("slot_bits") - f64::from(width)).abs() < 0.5;
    record.rows().find(|row| row.text("kind") == kind && fits(row))
}

fn measured(row: Row<'_>) -> f64 {
    row.number("hits") / row.number("strangers")
}

fn show(record: &Record) -> Vec<Piece> {
    let rate = |kind, width| find(record, kind, width).map_or(f64::NAN, measured);
    let percent = |rate: f64, decimals| Cell::number(100.0 * rate, decimals);
    let mut published = Table::new(
        "",
        &[
            "fingerprint length",
            "bound, published",
            "classic:4 predicted",
            "classic:4 measured",
            "of the bound",
        ],
    );
    for width in PUBLISHED {
        let predicted = find(record, Kind::Classic(4), width).map_or(f64::NAN, |row| row.number("predicted"));
        published.push(vec![
            Cell::text(format!("{width} bits")),
            Cell::text(format!("{:.3} %", 100.0 * bound(width))),
            Cell::text(format!("{:.4} %", 100.0 * predicted)),
            Cell::text(format!("{:.4} %", 100.0 * rate(Kind::Classic(4), width))),
            Cell::number(rate(Kind::Classic(4), width) / bound(width), 3),
        ]);
    }
    let mut all = Table::new("", &["layout, rate in % by bits of a slot"]);
    all.columns.extend(WIDTHS.map(|width| width.to_string()));
    all.columns.push("bits per key at 12".to_owned());
    for kind in KINDS {
        let rates = WIDTHS.map(|width| percent(rate(kind, width), 4));
        let bits = find(record, kind, 12).map_or(f64::NAN, |row| row.number("bits_per_key"));
        let name = [Cell::text(kind)];
        all.push(name.into_iter().chain(rates).chain([Cell::number(bits, 2)]).collect());
    }
    let share = |kind: Kind| rate(kind, 12) / rate(Kind::Classic(4), 12);
    vec![
        Piece::Text(format!(
            "Filters of {} slots, filled to the planned load, are asked for {} keys that were never stored. \
             The bound is 2b/2^f with b = 4 slots per bucket, all of them full, and all fingerprints allowed. \
             A filter at the planned load, with one fingerprint less, stays below it.",
            record.fact("slots"),
            record.fact("strangers"),
        )),
        Piece::Table(published),
        Piece::Text(format!(
            "The other layouts with slots of the same width. At 12 bits Sorted has {:.2} times the rate of the \
             classic filter, windows of two {:.2} times and windows of three {:.2} times, and they can have \
             any number of slots, not only a power of two.",
            share(Kind::Sorted),
            share(Kind::Windowed(2)),
            share(Kind::Windowed(3)),
        )),
        Piece::Table(all),
        Piece::Figure(figure(record)),
    ]
}

fn figure(record: &Record) -> Figure {
    let curve = |of: fn(Row<'_>) -> f64| {
        move |(colour, kind): (usize, Kind)| {
            let point = |width: u32| find(record, kind, width).map(|row| (f64::from(width), of(row)));
            Curve::points(kind.to_string(), colour, WIDTHS.into_iter().filter_map(point).collect())
        }
    };
    let over = |row: Row<'_>| measured(row) / row.number("bound");
    let bounds = |widths: &[u32]| widths.iter().map(|width| (f64::from(*width), bound(*width))).collect();
    let width = || Scale::linear("bits of a slot").between(7.0, 17.0);
    Figure::new(vec![
        Panel::new("Rate", width(), Scale::logarithmic("rate", 2))
            .with([Curve::hollow("bound, published", 9, bounds(&PUBLISHED))])
            .with([Curve::dashed("bound 8/2^f", 9, bounds(&WIDTHS))])
            .with(KINDS.into_iter().enumerate().map(curve(measured))),
        Panel::new(
            "Rate over the bound 8/2^f",
            width(),
            Scale::linear("share of the bound").between(0.0, 1.2),
        )
        .with([Curve::dashed("bound 8/2^f", 9, vec![(7.0, 1.0), (17.0, 1.0)])])
        .with(KINDS.into_iter().enumerate().map(curve(over))),
    ])
}

/// Checks that slots are as wide as requested, that every rate is as predicted, and that the classic filter's
/// is below the bound.
fn check(record: &Record) -> Result<(), String> {
    for kind in KINDS {
        for width in WIDTHS {
            let row =
                find(record, kind, width).ok_or_else(|| format!("{kind} has no slots of {width} bits"))?;
            let (hits, strangers) = (row.number("hits"), row.number("strangers"));
            let strays = |rate: f64| deviations(hits, strangers, rate, row.number("keys"));
            if strays(row.number("predicted")).abs() > 5.0 {
                return Err(format!("{kind}, {width} bits: a rate of {}", measured(row)));
            }
            let bounded = kind.slots_per_place() <= 4;
            if bounded && strays(row.number("bound")) > 3.0 {
                return Err(format!("{kind}, {width} bits: {} is above the bound", measured(row)));
            }
        }
    }
    Ok(())
}
