//! Figure 1: overhead against k, and the buckets saved by a filter that can have any number of them.

use std::error::Error;

use malkoha::{Kind, Spec, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::formulas::{self, FORMULAS};
use super::layouts::{self, NAMES};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::Record;
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-figure-1",
    paper: Paper::Cuckoo,
    number: "Figure 1",
    title: "overhead factors, and the staircase of buckets",
    minutes: (0.1, 0.1),
    run,
    show,
    check,
};

/// Keys of the filters whose overhead is planned. Planning allocates nothing.
const KEYS: u64 = 1_000_000_000;
const EXPONENTS: std::ops::RangeInclusive<u32> = 4..=24;

/// The filters of the staircase: the classic one, and one of any size.
const STAIRS: [(Kind, &str, usize); 2] =
    [(Kind::Classic(4), "classic:4, planned", 3), (Kind::Flexible(4), "flexible:4, planned", 1)];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new("overhead and buckets", &["layout", "k", "keys", "C", "places"]);
    for layout in layouts::ALL {
        for k in EXPONENTS {
            let plan = layout.wish(k)?.for_keys(KEYS).plan()?;
            table.push(vec![
                Cell::text(layout.name),
                Cell::Count(u64::from(k)),
                Cell::Count(KEYS),
                Cell::number(plan.bits_per_key() / f64::from(k), 4),
                Cell::Missing,
            ]);
        }
    }
    let steps = size.pick(20, 200, 200);
    for (kind, _, _) in STAIRS {
        for keys in (1..=steps).map(|step| step * 8_000_000 / steps) {
            let plan = Spec::new(keys, 2f64.powi(-8)).kind(kind).plan()?;
            let places = plan.cuckoo().map_or(0, malkoha::cuckoo::CuckooLayout::places);
            table.push(vec![
                Cell::text(kind),
                Cell::Count(8),
                Cell::Count(keys),
                Cell::number(plan.bits_per_key() / 8.0, 4),
                Cell::Count(places),
            ]);
        }
    }
    Ok(table)
}

fn show(record: &Record) -> Vec<Piece> {
    let line = |k: u32| f64::from(k);
    let published = FORMULAS.iter().enumerate().map(|(at, formula)| {
        let points = EXPONENTS.map(|k| (line(k), (formula.best)(f64::from(k)))).collect();
        Curve::dashed(format!("{}, published", formula.name), at + 4, points)
    });
    let ours =
        [2, 6, 7, 9].map(|at| layouts::ALL[at]).map(|layout| layout.curve(layout.rows(record), "k", "C"));
    let limit = EXPONENTS.map(|k| (line(k), theory::information_limit(line(k)) / line(k))).collect();
    let overhead = Panel::new("overhead C, best case", Scale::linear("k of rate 2^-k"), Scale::linear("C"))
        .with(published)
        .with(ours)
        .with([Curve::line("any filter with deletes", 0, limit)]);
    let places = |kind: Kind| record.rows().filter(move |row| row.text("layout") == kind.to_string());
    let stairs = STAIRS.map(|(kind, name, colour)| {
        Curve::line(
            name,
            colour,
            places(kind).map(|row| (row.number("keys") / 1e6, row.number("places") / 1e6)).collect(),
        )
    });
    let published: Vec<(f64, f64)> = places(Kind::Classic(4))
        .map(|row| (row.number("keys") / 1e6, formulas::staircase(row.number("keys")) / 1e6))
        .collect();
    let buckets =
        Panel::new("buckets of four slots", Scale::linear("million keys"), Scale::linear("million buckets"))
            .with(stairs)
            .with([Curve::dashed("power of two above 1.05 n / 4", 2, published)]);
    let worst = places(Kind::Classic(4)).map(|row| row.number("C")).fold(0.0, f64::max);
    let flexible = places(Kind::Flexible(4))
        .filter(|row| row.number("keys") >= 1e6)
        .map(|row| row.number("C"))
        .fold(0.0, f64::max);
    vec![
        Piece::Text(format!(
            "Left: the formulas of the paper's Table 1 as dashed lines, and our filters as planned for {KEYS} \
             keys. {NAMES} At small k our slots are wider than the paper's k + 2 or k + 3 bits, for three \
             reasons: one fingerprint means empty, the rate is a promise, and among a billion keys so many \
             tags are equal that some keys would find no place. Right: the original filter has a power of two \
             of buckets. From 10^6 to 8 * 10^6 keys, its C at a rate of 2^-8 rises to {worst:.2}; that of a \
             filter with any number of buckets stays below {flexible:.2}."
        )),
        Piece::Figure(Figure::new(vec![overhead, buckets])),
    ]
}

/// Checks that planned filters of a billion keys agree with theory, except for the fingerprint that means
/// empty and for whole bits; that the layouts have the paper's order, with sorted buckets smaller still; and
/// that flexible filters have no stairs.
fn check(record: &Record) -> Result<(), String> {
    let overhead = |name: &str, k: u32| {
        let mut rows = layouts::named(name).rows(record);
        rows.find(|row| row.is("k", k)).map_or(f64::NAN, |row| row.number("C"))
    };
    for k in 8..=24 {
        for layout in layouts::ALL.into_iter().filter(|layout| layout.kind != Kind::Windowed(3)) {
            let share = overhead(layout.name, k) / layout.predicted_overhead(k);
            if !(0.999..1.002).contains(&share) {
                return Err(format!("{} at k = {k}: {share:.4} of the predicted C", layout.name));
            }
        }
        let smallest =
            layouts::PAPERS.iter().map(|layout| overhead(layout.name, k)).fold(f64::INFINITY, f64::min);
        if overhead("(w, 2)", k) > smallest || overhead("sorted local", k) >= smallest {
            return Err(format!("at k = {k}, sorted buckets and then windows of two are not the smallest"));
        }
    }
    for row in record.rows().filter(|row| row.text("layout") == "flexible:4" && row.number("keys") >= 1e6) {
        let share = row.number("places") * 4.0 * theory::planned_load(Kind::Flexible(4)) / row.number("keys");
        if !(0.999..1.01).contains(&share) {
            return Err(format!("{} keys: {share:.4} of the buckets that are needed", row.text("keys")));
        }
    }
    Ok(())
}
