//! Keys that are lost if the number of buckets is not a power of two.

use std::error::Error;

use malkoha::{Kind, Offsets, Spec};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::modulo::{Distance, Modulo, other};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::Record;
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "fan-power-of-two",
    paper: Paper::Fan,
    number: "False negatives",
    title: "a number of buckets that is not a power of two",
    minutes: (0.3, 0.5),
    run,
    show,
    check,
};

/// Numbers of buckets, in eighths of a power of two.
const EIGHTHS: [usize; 5] = [8, 9, 10, 12, 14];

const LOADS: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95];

const DISTANCES: [(Distance, &str); 2] =
    [(Distance::Whole, "XOR whole hash, mod m"), (Distance::Bits, "XOR bits of m, mod m")];

/// Our kinds, which can have any number of places.
const OURS: [(Kind, Offsets, &str); 6] = [
    (Kind::Sorted, Offsets::Local, "sorted"),
    (Kind::Sorted, Offsets::Near(96), "sorted+near96"),
    (Kind::Flexible(4), Offsets::Local, "flexible:4"),
    (Kind::Flexible(4), Offsets::Whole, "flexible:4+whole"),
    (Kind::Windowed(2), Offsets::Local, "windowed:2"),
    (Kind::Windowed(3), Offsets::Local, "windowed:3"),
];

/// The published value: up to this share of the keys is lost at a load of 0.95.
const PUBLISHED: (f64, f64) = (0.95, 0.10);

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table =
        Table::new("lost keys", &["filter", "buckets", "of_power_of_two", "load", "keys", "lost", "refused"]);
    let power = size.pick(1 << 10, 1 << 15, 1 << 19);
    for eighths in EIGHTHS {
        let buckets = power / 8 * eighths;
        eprintln!("  {buckets} buckets");
        let mut push = |filter: &str, load: f64, keys: u64, lost: usize, refused: u64| {
            table.push(vec![
                Cell::text(filter),
                Cell::Count(buckets as u64),
                Cell::number(eighths as f64 / 8.0, 3),
                Cell::number(load, 3),
                Cell::Count(keys),
                Cell::Count(lost as u64),
                Cell::Count(refused),
            ]);
        };
        let keys_at = |load: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "fewer than the slots"
            )]
            let keys = (load * 4.0 * buckets as f64) as u64;
            keys
        };
        for (distance, name) in DISTANCES {
            let mut filter = Modulo::new(buckets, distance);
            let (mut stored, mut tried) = (Vec::new(), 0);
            for load in LOADS {
                stored.extend((tried..keys_at(load)).filter(|key| filter.insert(*key)));
                tried = keys_at(load);
                let lost = stored.iter().filter(|key| !filter.contains(**key)).count();
                let keys = stored.len() as u64;
                push(name, filter.load(), keys, lost, tried - keys);
            }
        }
        for (kind, offsets, name) in OURS {
            let keys = keys_at(0.95).min(keys_at(0.98 * malkoha::theory::threshold(kind)));
            let spec = Spec::new(keys, 1.0 / 512.0).kind(kind).offsets(offsets);
            let mut filter = spec.build()?;
            let refused = (0..keys).filter(|key| filter.insert(key).is_err()).count() as u64;
            let lost = (0..keys).filter(|key| !filter.contains(key)).count();
            push(name, filter.stats().load, keys, lost, refused);
        }
    }
    Ok(table)
}

/// Returns the share of lost keys of one filter, by load.
fn points(record: &Record, filter: &str, eighths: usize) -> Vec<(f64, f64)> {
    let here = |share: f64| (share - eighths as f64 / 8.0).abs() < 1e-6;
    let rows =
        record.rows().filter(|row| row.text("filter") == filter && here(row.number("of_power_of_two")));
    rows.map(|row| (row.number("load"), row.number("lost") / row.number("keys"))).collect()
}

fn at_full(record: &Record, filter: &str, eighths: usize) -> f64 {
    points(record, filter, eighths).last().map_or(f64::NAN, |(_, lost)| *lost)
}

fn show(record: &Record) -> Vec<Piece> {
    let mut worked = Table::new("", &["buckets", "first bucket", "hash", "second bucket", "and back"]);
    for buckets in [16, 12] {
        let second = other(6, 9, buckets);
        let cells = [buckets, 6, 9, second as u64, other(second as u64, 9, buckets) as u64];
        worked.push(cells.map(Cell::Count).to_vec());
    }
    let mut lost = Table::new("", &["filter, % of keys lost at the highest load, by buckets"]);
    let names = || DISTANCES.map(|(_, name)| name).into_iter().chain(OURS.map(|(_, _, name)| name));
    lost.columns.extend(EIGHTHS.map(|eighths| format!("{:.3} of 2^x", eighths as f64 / 8.0)));
    for name in names() {
        let shares = EIGHTHS.map(|eighths| Cell::number(100.0 * at_full(record, name, eighths), 2));
        lost.push([Cell::text(name)].into_iter().chain(shares).collect());
    }
    let worst = |name: &str| {
        let shares = EIGHTHS.map(|eighths| 100.0 * at_full(record, name, eighths));
        shares.into_iter().fold(0.0, f64::max)
    };
    vec![
        Piece::Text(
            "The worked examples of the text: with 16 buckets the XOR leads back to the first bucket, with 12 \
             it does not."
                .to_owned(),
        ),
        Piece::Table(worked),
        Piece::Text(format!(
            "A simulated filter takes the other bucket modulo any number of buckets (the engine cannot do \
             this). At a load of 0.95 it loses up to {:.1} % of its keys if the whole hash of the fingerprint \
             is XORed, and up to {:.1} % if only as many bits are XORed as a bucket number has. The published \
             value, from Birdwatching, is up to {:.0} %. With the smaller distance, a bucket fails only if the \
             XOR leads past the end, so the loss depends on how far the number is from the next power of two. \
             A power of two loses nothing. Ours lose nothing with any number of places, because a signed \
             offset leads back from everywhere.",
            worst(DISTANCES[0].1),
            worst(DISTANCES[1].1),
            100.0 * PUBLISHED.1,
        )),
        Piece::Table(lost),
        Piece::Figure(figure(record)),
    ]
}

fn figure(record: &Record) -> Figure {
    let panel = |(at, (_, name)): (usize, (Distance, &str))| {
        let curve = |(colour, eighths): (usize, usize)| {
            let percent = points(record, name, eighths).into_iter().map(|(load, lost)| (load, 100.0 * lost));
            let name = format!("m = {:.3} of 2^x", eighths as f64 / 8.0);
            Curve::points(name, colour, percent.collect())
        };
        let ours = OURS.map(|(_, _, name)| EIGHTHS.map(|eighths| points(record, name, eighths)));
        let ours = ours.into_iter().flatten().flatten().map(|(load, lost)| (load, 100.0 * lost));
        let published = vec![(PUBLISHED.0, 100.0 * PUBLISHED.1)];
        let title = ["XOR with the whole hash", "XOR with the bits of a bucket"][at];
        Panel::new(title, Scale::linear("load").between(0.5, 1.0), Scale::linear("keys lost, %"))
            .with(EIGHTHS.into_iter().enumerate().map(curve))
            .with([Curve::points("ours, all of them", 9, ours.collect())])
            .with([Curve::hollow("published, up to", 9, published)])
    };
    Figure::new(DISTANCES.into_iter().enumerate().map(panel).collect())
}

/// Checks that powers of two and ours lose nothing, and that other numbers lose keys.
fn check(record: &Record) -> Result<(), String> {
    for (_, _, name) in OURS {
        for row in record.rows().filter(|row| row.text("filter") == name) {
            if row.number("lost") > 0.0 || row.number("refused") > 0.0 {
                return Err(format!("{name} lost or refused a key"));
            }
        }
    }
    for (_, name) in DISTANCES {
        for eighths in EIGHTHS {
            let lost = points(record, name, eighths);
            if lost.len() != LOADS.len() {
                return Err(format!("{name}: {} loads", lost.len()));
            }
            if eighths == 8 && lost.iter().any(|(_, lost)| *lost > 0.0) {
                return Err(format!("{name}: a power of two lost keys"));
            }
            if eighths != 8 && at_full(record, name, eighths) < 0.005 {
                return Err(format!("{name}: {eighths} eighths of a power of two lost hardly any key"));
            }
        }
    }
    Ok(())
}
