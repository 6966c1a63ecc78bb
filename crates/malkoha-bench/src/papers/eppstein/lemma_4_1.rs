//! Lemma 4.1: how evenly elements fall into subtables.

use std::error::Error;

use malkoha::{KeyHasher, Kind, Spec, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::{balanced, delta, promised_load};
use crate::access::reduce;
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "eppstein-lemma-4-1",
    paper: Paper::Eppstein,
    number: "Lemma 4.1",
    title: "balance of subtables",
    minutes: (0.2, 0.2),
    run,
    show,
    check,
};

const BLOCKS: [u32; 3] = [4, 6, 8];

/// Bits of a fingerprint; a subtable has 2 to this power cells.
const BITS: [u32; 7] = [2, 4, 6, 8, 10, 12, 14];

/// Kinds whose planned loads are compared: subtables cost some load.
const KINDS: [Kind; 6] = [
    Kind::Simplified(4),
    Kind::Flexible(4),
    Kind::Sorted,
    Kind::Windowed(2),
    Kind::Windowed(3),
    Kind::Windowed(4),
];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "balance of subtables",
        &[
            "part",
            "filter",
            "block",
            "f",
            "n",
            "subtables",
            "overfull",
            "bound",
            "fullest",
            "predicted",
            "load",
        ],
    );
    let most = size.pick(1 << 16, 1 << 21, 1u64 << 26);
    for block in BLOCKS {
        eprintln!("  blocks of {block}");
        for f in BITS {
            let subtable = f64::from(f).exp2() * f64::from(block);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "fewer than the keys"
            )]
            let subtables = (most as f64 / promised_load(block) / subtable) as u32;
            if subtables < 2 {
                continue;
            }
            let mean = subtable * promised_load(block);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the keys")]
            let n = (mean * f64::from(subtables)) as u64;
            let counts = counts(n, subtables as usize);
            let room = subtable * (1.0 - delta(block));
            let overfull = counts.iter().filter(|count| f64::from(**count) > room).count();
            table.push(vec![
                Cell::text("subtables"),
                Cell::text(Kind::Simplified(u8::try_from(block)?)),
                Cell::Count(u64::from(block)),
                Cell::Count(u64::from(f)),
                Cell::Count(n),
                Cell::Count(u64::from(subtables)),
                Cell::Count(overfull as u64),
                Cell::Rate((-delta(block).powi(4) * mean / 3.0).exp()),
                Cell::number(f64::from(counts.into_iter().max().unwrap_or(0)) / mean, 4),
                Cell::number(theory::fullest_shard(n, subtables) as f64 / mean, 4),
                Cell::Missing,
            ]);
        }
    }
    for power in 4..=9 {
        for kind in KINDS {
            let geometry = Spec::new(10u64.pow(power), 2f64.powi(-10)).kind(kind).plan()?;
            let layout = geometry.cuckoo().ok_or("only cuckoo kinds have a load")?;
            let subtables = layout.places() >> layout.subtable_bits();
            let has = matches!(kind, Kind::Simplified(_));
            table.push(vec![
                Cell::text("planned"),
                Cell::text(kind),
                Cell::Count(u64::from(kind.slots_per_place())),
                if has { Cell::Count(u64::from(layout.subtable_bits())) } else { Cell::Missing },
                Cell::Count(geometry.keys()),
                if has { Cell::Count(subtables) } else { Cell::Missing },
                Cell::Missing,
                Cell::Missing,
                Cell::Missing,
                Cell::Missing,
                Cell::number(geometry.load(), 4),
            ]);
        }
    }
    Ok(table)
}

/// Counts the keys of every subtable. As in the engine, the upper part of the hash, as a fraction, gives the
/// place, and the upper bits of the place give the subtable.
fn counts(n: u64, subtables: usize) -> Vec<u32> {
    let hasher = KeyHasher::new(1);
    let mut counts = vec![0; subtables];
    for key in 0..n {
        counts[reduce(hasher.number(key).to_raw(), subtables)] += 1;
    }
    counts
}

fn rows<'a>(record: &'a Record, part: &str) -> impl Iterator<Item = Row<'a>> {
    record.rows().filter(move |row| row.text("part") == part)
}

fn share(row: Row<'_>) -> f64 {
    row.number("overfull") / row.number("subtables")
}

fn show(record: &Record) -> Vec<Piece> {
    let mut table = Table::new(
        "",
        &[
            "block",
            "f",
            "subtables",
            "overfull, measured",
            "Chernoff's bound",
            "fullest over mean, measured",
            "1 in 10^6 exceeds",
        ],
    );
    for row in rows(record, "subtables") {
        table.push(vec![
            Cell::text(row.text("block")),
            Cell::text(row.text("f")),
            Cell::text(row.text("subtables")),
            Cell::Rate(share(row)),
            Cell::Rate(row.number("bound")),
            Cell::number(row.number("fullest"), 3),
            Cell::number(row.number("predicted"), 3),
        ]);
    }
    let mut loads = Table::new("", &["keys", "simplified:4: f of subtables", "subtables"]);
    loads.columns.extend(KINDS.map(|kind| format!("load of {kind}")));
    for power in 4..=9 {
        let n = 10u64.pow(power).to_string();
        let of = |kind: Kind| {
            rows(record, "planned").find(|row| row.text("n") == n && row.text("filter") == kind.to_string())
        };
        let text = |column| Cell::text(of(KINDS[0]).map_or("", |row| row.text(column)));
        let load = |kind| Cell::number(of(kind).map_or(f64::NAN, |row| row.number("load")), 4);
        let head = [Cell::text(format!("10^{power}")), text("f"), text("subtables")];
        loads.push(head.into_iter().chain(KINDS.map(load)).collect());
    }
    let n: f64 = record.fact("n").parse().unwrap_or(f64::NAN);
    let least = |block| balanced(n, block, 1.0);
    vec![
        Piece::Text(format!(
            "About {n} keys in subtables of 2^f cells, at the load 1 - delta - delta^2 that the paper gives \
             for each block size. A subtable is overfull above a load of 1 - delta. Chernoff's bound \
             exp(-delta^4 mu / 3) is far from tight: for a chance of at most 1/n that any subtable is \
             overfull, it requires f of at least {:.1}, {:.1} and {:.1} bits for blocks of 4, 6 and 8. In the \
             measurement, no subtable is overfull from {} on. The engine plans for the fullest subtable \
             instead (`theory::fullest_shard` for shards, the same consideration for subtables).",
            least(4),
            least(6),
            least(8),
            even(record),
        )),
        Piece::Figure(figure(record)),
        Piece::Table(table),
        Piece::Text(
            "The cost of balance: the load that the engine plans for a rate of 2^-10, with and without \
             subtables. Offsets around one ring need no spare room for a fullest subtable."
                .to_owned(),
        ),
        Piece::Table(loads),
    ]
}

/// Lists the lengths from which on no subtable was overfull.
fn even(record: &Record) -> String {
    let words = BLOCKS.map(|block| {
        let mut least = None;
        for row in rows(record, "subtables").filter(|row| row.text("block") == block.to_string()) {
            least = if row.number("overfull") > 0.0 { None } else { least.or(Some(row.text("f"))) };
        }
        format!("{} bits (b = {block})", least.unwrap_or("more than the longest"))
    });
    words.join(", ")
}

fn figure(record: &Record) -> Figure {
    let curve = |block: u32, of: fn(Row<'_>) -> f64| {
        let block = block.to_string();
        let rows = rows(record, "subtables").filter(move |row| row.text("block") == block);
        rows.map(|row| (row.number("f"), of(row))).collect::<Vec<_>>()
    };
    let f = || Scale::linear("f, bits").between(1.0, 15.0);
    let pairs = |measured: fn(Row<'_>) -> f64, bound: (&'static str, fn(Row<'_>) -> f64)| {
        BLOCKS.into_iter().enumerate().flat_map(move |(at, block)| {
            [
                Curve::points(format!("measured, b = {block}"), at, curve(block, measured)),
                Curve::dashed(format!("{}, b = {block}", bound.0), at, curve(block, bound.1)),
            ]
        })
    };
    Figure::new(vec![
        Panel::new("Overfull subtables", f(), Scale::logarithmic("share", 10).between(1e-7, 1.0))
            .with(pairs(share, ("Chernoff", |row| row.number("bound")))),
        Panel::new("The fullest subtable", f(), Scale::linear("fullest over mean").between(1.0, 3.0))
            .with(pairs(|row| row.number("fullest"), ("1 in 10^6 above", |row| row.number("predicted")))),
    ])
}

/// Checks that no more subtables are overfull than Chernoff allows, that none is fuller than predicted, and
/// that rings are planned at least as full.
fn check(record: &Record) -> Result<(), String> {
    for row in rows(record, "subtables") {
        let name = format!("b = {}, f = {}", row.text("block"), row.text("f"));
        let expected = row.number("bound") * row.number("subtables");
        if row.number("overfull") > expected + 5.0 * expected.sqrt() + 1.0 {
            return Err(format!("{name}: {} subtables are overfull", row.text("overfull")));
        }
        if row.number("fullest") > row.number("predicted") || row.number("fullest") < 1.0 {
            return Err(format!("{name}: the fullest has {} times the mean", row.text("fullest")));
        }
    }
    for row in rows(record, "planned").filter(|row| row.text("filter") == "flexible:4") {
        let simplified = Kind::Simplified(4).to_string();
        let other = rows(record, "planned")
            .find(|other| other.text("filter") == simplified && other.text("n") == row.text("n"));
        if other.is_none_or(|other| other.number("load") > row.number("load") + 1e-4) {
            return Err(format!("subtables of {} keys are planned fuller than a ring", row.text("n")));
        }
    }
    Ok(())
}
