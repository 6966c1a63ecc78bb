//! The rate below which a filter is smaller than Bloom's: published, 3 %.

use std::error::Error;

use malkoha::{Kind, Spec, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use crate::papers::strangers::{ask, deviations};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "fan-crossover",
    paper: Paper::Fan,
    number: "Crossover",
    title: "the rate below which a filter is smaller than Bloom's",
    minutes: (0.4, 3.0),
    run,
    show,
    check,
};

const PUBLISHED: f64 = 0.03;

/// A kind, whether its keys just fill a power of two of slots or are just too many, and its name.
type Case = (Kind, bool, &'static str);

const CASES: [Case; 10] = [
    (Kind::Bloom, true, "bloom"),
    (Kind::Classic(4), true, "classic:4, best size"),
    (Kind::Classic(4), false, "classic:4, worst size"),
    (Kind::SemiSorted, true, "semisorted, best size"),
    (Kind::SemiSorted, false, "semisorted, worst size"),
    (Kind::Flexible(4), false, "flexible:4"),
    (Kind::Windowed(3), false, "windowed:3"),
    (Kind::Windowed(2), false, "windowed:2"),
    (Kind::Sorted, false, "sorted"),
    (Kind::Blocked(2), false, "blocked:2"),
];

/// The largest k at which rates are measured.
const MOST_MEASURED: f64 = 12.0;

/// Returns k in steps of a quarter; filters with whole k are also measured.
fn ks() -> impl Iterator<Item = f64> {
    (8..=64).map(|quarters| f64::from(quarters) / 4.0)
}

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "sizes by rate",
        &["filter", "keys", "k", "bits_per_key", "predicted", "strangers", "hits"],
    );
    let (slots, hits) = size.pick((1 << 14, 200.0), (1 << 20, 2000.0), (1u64 << 22, 20_000.0));
    // As many keys as fit in a power of two of 12-bit slots, and a few more.
    let best = Spec::rate_in_memory(1.0 / 512.0, slots * 12 / 8 + 128).kind(Kind::Classic(4)).plan()?.keys();
    let worst = best + best / 64;
    for (kind, is_best, name) in CASES {
        eprintln!("  {name}");
        let keys = if is_best { best } else { worst };
        let all: Vec<u64> = (0..keys).collect();
        for k in ks() {
            let spec = Spec::new(keys, (-k).exp2()).kind(kind);
            let geometry = spec.plan()?;
            let measured = k.fract() == 0.0 && k <= MOST_MEASURED;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "below the hits times 2^12"
            )]
            let strangers = (hits * k.exp2()) as u64;
            let count = |count: Option<u64>| count.map_or(Cell::Missing, Cell::Count);
            let found = if measured { Some(ask(&spec.build_from(&all)?, strangers)) } else { None };
            table.push(vec![
                Cell::text(name),
                Cell::Count(keys),
                Cell::number(k, 2),
                Cell::number(geometry.bits_per_key(), 3),
                Cell::Rate(geometry.predicted_rate(keys)),
                count(found.map(|_| strangers)),
                count(found),
            ]);
        }
    }
    Ok(table)
}

/// Returns bits per key by k, the lowest k first.
fn sizes(record: &Record, name: &str) -> Vec<(f64, f64)> {
    let rows = record.rows().filter(|row| row.text("filter") == name);
    rows.map(|row| (row.number("k"), row.number("bits_per_key"))).collect()
}

/// Returns the least k from which on a filter is smaller than Bloom's, among all k or whole ones.
fn crossover(record: &Record, name: &str, whole_only: bool) -> Option<f64> {
    let pairs = sizes(record, name).into_iter().zip(sizes(record, "bloom"));
    let counted = pairs.filter(|((k, _), _)| !whole_only || k.fract() == 0.0);
    let mut least = None;
    for ((k, ours), (_, bloom)) in counted {
        least = if ours < bloom { least.or(Some(k)) } else { None };
    }
    least
}

/// Returns the same from the formula, which allows any width and any number of slots.
fn formula(kind: Kind) -> f64 {
    let load = theory::planned_load(kind);
    theory::bits_per_key(kind, 0.0, load) / (std::f64::consts::LOG2_E - 1.0 / load)
}

fn percent(k: Option<f64>) -> Cell {
    k.map_or(Cell::text("never"), |k| Cell::text(format!("{:.2} %", 100.0 * (-k).exp2())))
}

fn show(record: &Record) -> Vec<Piece> {
    let mut table = Table::new(
        "",
        &["filter", "formula", "as planned, rates 2^-k with whole k", "as planned, every rate"],
    );
    for (kind, is_best, name) in &CASES[1..] {
        let formula = (!kind.is_bloom() && (kind.is_signed() || *is_best)).then(|| formula(*kind));
        table.push(vec![
            Cell::text(name),
            formula.map_or(Cell::Missing, |k| percent(Some(k))),
            percent(crossover(record, name, true)),
            percent(crossover(record, name, false)),
        ]);
    }
    let rate = |kind| 100.0 * (-formula(kind)).exp2();
    vec![
        Piece::Text(format!(
            "Published: cuckoo filters are smaller than Bloom's below a rate of {:.0} %. The formula compares \
             bits per slot divided by the load with 1.443 log2(1/rate). By the formula, the claim holds for \
             the semi-sorted filter ({:.2} % at its planned load). The classic filter needs one more bit per \
             slot and is smaller only below {:.2} %, Sorted below {:.2} %, windows of two below {:.2} %. Slots \
             have whole bits, so between two powers of two every filter with slots is larger than the formula \
             says; the last column is the rate below which a filter is always smaller. Filters whose sizes are \
             powers of two may be twice as large as the formula says, and are then never smaller.",
            100.0 * PUBLISHED,
            rate(Kind::SemiSorted),
            rate(Kind::Classic(4)),
            rate(Kind::Sorted),
            rate(Kind::Windowed(2)),
        )),
        Piece::Table(table),
        Piece::Figure(figure(record)),
    ]
}

/// Draws every filter that was built, at its measured rate.
fn figure(record: &Record) -> Figure {
    let curves = |of: fn(f64, f64) -> f64| {
        CASES.into_iter().enumerate().map(move |(colour, (_, _, name))| {
            let rows = record.rows().filter(|row| row.text("filter") == name && row.number("hits") > 0.0);
            let point = |row: Row<'_>| {
                let rate = row.number("hits") / row.number("strangers");
                (rate, of(rate, row.number("bits_per_key")))
            };
            Curve::points(name, colour, rows.map(point).collect())
        })
    };
    let panel = |title: &str, y: Scale, of: fn(f64, f64) -> f64| {
        let optimum = -PUBLISHED.log2() * std::f64::consts::LOG2_E;
        Panel::new(title, Scale::logarithmic("rate, measured", 2).between(2f64.powi(-13), 0.5), y)
            .with(curves(of))
            .with([Curve::hollow("published crossover", 9, vec![(PUBLISHED, of(PUBLISHED, optimum))])])
    };
    Figure::new(vec![
        panel("Bits per key", Scale::linear("bits per key"), |_, bits| bits),
        panel("Over 1.443 log2(1/rate)", Scale::linear("relative size").between(0.8, 2.0), |rate, bits| {
            bits / (-rate.log2() * std::f64::consts::LOG2_E)
        }),
    ])
}

/// Checks the order of the crossovers, and that rates are as predicted.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows().filter(|row| row.number("hits") >= 0.0) {
        let (hits, strangers) = (row.number("hits"), row.number("strangers"));
        let strays = deviations(hits, strangers, row.number("predicted"), row.number("keys"));
        // The rates of Bloom filters vary with their set bits, more than by the root of their keys.
        if strays.abs() > 6.0 {
            let (name, k) = (row.text("filter"), row.text("k"));
            return Err(format!("{name} at k = {k} strays by {strays:.1} deviations"));
        }
    }
    let whole = |name: &str| crossover(record, name, true).unwrap_or(f64::INFINITY);
    for (first, second) in [
        ("sorted", "flexible:4"),
        ("windowed:2", "flexible:4"),
        ("semisorted, best size", "classic:4, best size"),
        ("sorted", "windowed:2"),
    ] {
        if whole(first) > whole(second) {
            return Err(format!("{first} is smaller than Bloom's filter only after {second}"));
        }
    }
    if whole("sorted") > 7.0 {
        return Err(format!("sorted is smaller than Bloom's filter from k = {} on", whole("sorted")));
    }
    if crossover(record, "classic:4, worst size", true).is_some() {
        return Err("the classic filter of the worst size is smaller than Bloom's".to_owned());
    }
    Ok(())
}
