//! Figure 4: overhead, load and rate for k = 3 to 20.

use std::error::Error;

use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::formulas::FORMULAS;
use super::layouts::{self, Layout, NAMES};
use crate::contestants::lookup_and_insert;
use crate::papers::{Exhibit, Paper, Piece, Size, strangers};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-figure-4",
    paper: Paper::Cuckoo,
    number: "Figure 4",
    title: "actual overhead, load and rate against k",
    minutes: (0.8, 15.0),
    run,
    show,
    check,
};

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "actual properties",
        &[
            "layout",
            "k",
            "keys",
            "stored",
            "slots",
            "slot_bits",
            "C",
            "load",
            "queries",
            "rate",
            "predicted_rate",
            "log2_ratio",
        ],
    );
    let keys: u64 = size.pick(1 << 13, 500_000, 10_000_000);
    let numbers: Vec<u64> = (0..keys).collect();
    let exponents: Vec<u32> = size.pick(vec![3, 5, 8, 13, 14], (3..=20).collect(), (3..=20).collect());
    for layout in layouts::ALL {
        if size != Size::Tiny {
            eprintln!("  {}", layout.name);
        }
        for k in &exponents {
            let mut filter = layout.wish(*k)?.for_keys(keys).build()?;
            let stored = lookup_and_insert(&mut filter, &numbers)?;
            // Strangers find what is stored as often as if all keys had been stored: a key that is seen adds
            // nothing.
            let predicted = filter.geometry().predicted_rate(keys);
            // A few thousand false positives, as far as time allows.
            let queries = (4000 << k).clamp(1 << 16, size.pick(1 << 16, 1 << 23, 1 << 28));
            let rate = strangers::ask(&filter, queries) as f64 / queries as f64;
            let (stats, plan) = (filter.stats(), filter.geometry());
            table.push(vec![
                Cell::text(layout.name),
                Cell::Count(u64::from(*k)),
                Cell::Count(keys),
                Cell::Count(stored),
                Cell::Count(stats.slots),
                Cell::number(plan.cuckoo().map_or(f64::NAN, malkoha::cuckoo::CuckooLayout::slot_bits), 1),
                Cell::number(stats.memory_bytes as f64 * 8.0 / (keys * u64::from(*k)) as f64, 4),
                Cell::number(stats.load, 4),
                Cell::Count(queries),
                Cell::Rate(rate),
                Cell::Rate(predicted),
                Cell::number((rate * f64::from(*k).exp2()).log2(), 3),
            ]);
        }
    }
    Ok(table)
}

fn show(record: &Record) -> Vec<Piece> {
    let x = || Scale::linear("k of rate 2^-k").between(2.0, 21.0);
    let curves =
        |column: &'static str| layouts::ALL.map(|layout| layout.curve(layout.rows(record), "k", column));
    let formula =
        FORMULAS.iter().find(|formula| formula.name == "improved cuckoo").map(|formula| formula.best);
    let published = formula.map(|best| (5..=20).map(f64::from).map(|k| (k, best(k))).collect());
    let published =
        Curve::hollow("(w, 2), published", layouts::named("(w, 2)").colour, published.unwrap_or_default());
    let overhead =
        Panel::new("overhead C", x(), Scale::linear("bits per key / k")).with(curves("C")).with([published]);
    let goals = layouts::PAPERS.iter().map(|layout| {
        Curve::dashed(
            "98 % of the threshold",
            7,
            vec![(8.0, layout.planned_load()), (20.0, layout.planned_load())],
        )
    });
    let load =
        Panel::new("load", x(), Scale::linear("occupied slots / slots")).with(goals).with(curves("load"));
    let rate = Panel::new("rate", x(), Scale::linear("log2 of the rate x 2^k"))
        .with(curves("log2_ratio"))
        .with([Curve::dashed("promised rate", 1, vec![(3.0, 0.0), (20.0, 0.0)])]);
    let well_known =
        record.rows().filter(|row| row.number("queries") * row.number("predicted_rate") >= 400.0);
    let highest = well_known.map(|row| row.number("log2_ratio")).fold(f64::NEG_INFINITY, f64::max);
    let of_three = layouts::named("(w, 3) local").rows(record).find(|row| row.is("k", 8));
    let of_three = of_three.map_or(f64::NAN, |row| row.number("log2_ratio").exp2());
    vec![
        Piece::Text(format!(
            "{} keys, inserted if the filter does not report them, with at most 10 000 steps; the paper has 2 \
             * 10^9 keys in five subfilters. {NAMES} The paper does not give its points as numbers. It has the \
             formula C = 1.057 (1 + 2/k) for windows of two, and says that loads are 98 % of the threshold \
             from k = 8 on.",
            record.fact("keys")
        )),
        Piece::Figure(Figure::new(vec![overhead, load, rate])),
        Piece::Text(format!(
            "The paper's windows miss the rate for k up to 4, because one fingerprint means empty. Here the \
             rate is a promise: where k + 2 or k + 3 bits would miss it, slots get one more bit, which raises \
             C at small k and brings the rate to about half of 2^-k. The highest log ratio is {highest:.3}, \
             among those with at least 400 false positives, which vary by 0.07. Windows of three have whole \
             bits and six tags per fingerprint; at k = 8 their rate is {of_three:.2} of the requested one.",
        )),
        Piece::Table(wider(record)),
    ]
}

/// Lists the slots that are wider than the paper's, and their rates.
fn wider(record: &Record) -> Table {
    let mut table = Table::new("", &["layout", "k", "bits of a slot", "paper's", "C", "load", "log2 ratio"]);
    for row in record.rows() {
        let layout = layouts::named(row.text("layout"));
        let paper = paper_bits(layout, &row);
        if layout.is_published() && row.number("slot_bits") > paper {
            table.push(vec![
                Cell::text(layout.name),
                Cell::number(row.number("k"), 0),
                Cell::number(row.number("slot_bits"), 0),
                Cell::number(paper, 0),
                Cell::number(row.number("C"), 3),
                Cell::number(row.number("load"), 3),
                Cell::number(row.number("log2_ratio"), 2),
            ]);
        }
    }
    table
}

/// Returns the bits of a slot in the paper: k + 1 + log2 l.
fn paper_bits(layout: Layout, row: &Row<'_>) -> f64 {
    row.number("k") + 1.0 + f64::from(layout.kind.slots_per_place()).log2()
}

/// Checks that rates are kept and as predicted, that loads are as planned from k = 8 on and lower below, and
/// that from k = 8 on windows of two have the smallest C of the paper's layouts and sorted buckets a smaller
/// one.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let (name, k) = (row.text("layout"), row.number("k"));
        let (queries, predicted) = (row.number("queries"), row.number("predicted_rate"));
        let off = strangers::deviations(queries * row.number("rate"), queries, predicted, row.number("keys"));
        if off.abs() > 5.0 {
            return Err(format!("{name} at k = {k}: the rate is off by {off:.1} standard deviations"));
        }
        if row.number("predicted_rate") > (-k).exp2() {
            return Err(format!("{name} at k = {k}: the rate is above the promise"));
        }
        let share = row.number("stored") / row.number("keys");
        // The promised rate limits how many keys look like others; chance adds a few.
        let seen = row.number("keys") * (-k).exp2();
        let least = 1.0 - (seen + 5.0 * seen.sqrt() + 5.0) / row.number("keys");
        if share > 1.0 || share < least || (k < 6.0 && share > 0.999) {
            return Err(format!("{name} at k = {k}: {share:.4} of the keys were stored"));
        }
        let overhead = |name: &str| {
            let mut rows = layouts::named(name).rows(record);
            rows.find(|row| row.is("k", k)).map_or(f64::NAN, |row| row.number("C"))
        };
        if k >= 8.0 {
            let smallest =
                layouts::PAPERS.iter().map(|layout| overhead(layout.name)).fold(f64::INFINITY, f64::min);
            if overhead("(w, 2)") > smallest || overhead("sorted local") >= smallest {
                return Err(format!(
                    "at k = {k}, sorted buckets and then windows of two are not the smallest"
                ));
            }
        }
    }
    Ok(())
}
