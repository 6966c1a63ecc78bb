//! Theorem 5.1: a stash does not change the rate.

use std::error::Error;

use malkoha::{Filter, Kind, Spec};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use crate::papers::strangers::{ask, deviations};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "eppstein-theorem-5-1",
    paper: Paper::Eppstein,
    number: "Theorem 5.1",
    title: "the rate with and without a stash",
    minutes: (0.5, 6.0),
    run,
    show,
    check,
};

/// The paper's filter, the original one, and ours.
const KINDS: [Kind; 9] = [
    Kind::Simplified(2),
    Kind::Simplified(4),
    Kind::Simplified(8),
    Kind::Classic(4),
    Kind::SemiSorted,
    Kind::Flexible(4),
    Kind::Windowed(2),
    Kind::Windowed(3),
    Kind::Sorted,
];

/// Shares of the planned keys at which the rate is measured while the stash is empty.
const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

/// Keys per stash at which the rate is measured.
const STASHED: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Inserts between two checks of the stash.
const LOOK: u64 = 16;

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let columns = [
        "kind",
        "places",
        "fingerprints",
        "stashes",
        "n",
        "load",
        "stashed",
        "bound",
        "naive",
        "predicted",
        "strangers",
        "hits",
        "lost",
    ];
    let mut table = Table::new("rates with and without a stash", &columns);
    let (keys, strangers) = size.pick((3000, 1 << 16), (100_000, 1 << 21), (1_000_000u64, 1 << 25));
    for kind in KINDS {
        eprintln!("  {kind}");
        let most = STASHED[STASHED.len() - 1];
        let spec = Spec::new(keys, 2f64.powi(-7)).kind(kind).stash(u32::try_from(most)?).max_steps(500);
        let mut filter = spec.build()?;
        let mut next = 0;
        for share in SHARES {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the keys")]
            let until = (keys as f64 * share) as u64;
            (next..until).try_for_each(|key| filter.insert(&key))?;
            next = until;
            table.push(measured(&filter, next, strangers));
        }
        let stashes = stashes(&filter);
        // Insert beyond the planned keys, until some stash is full.
        'filling: for stashed in STASHED.map(|each| each * stashes) {
            while filter.stats().stash_size < stashed {
                for _ in 0..LOOK {
                    if filter.insert(&next).is_err() {
                        break 'filling;
                    }
                    next += 1;
                }
            }
            table.push(measured(&filter, next, strangers));
        }
        if filter.stats().insert_failures > 0 {
            table.push(measured(&filter, next, strangers));
        }
    }
    Ok(table)
}

/// Returns the number of stashes of a filter: one for each subtable.
fn stashes(filter: &Filter) -> u64 {
    let layout = filter.geometry().cuckoo().expect("all of these are cuckoo filters");
    if layout.subtable_bits() == 0 { 1 } else { layout.places() >> layout.subtable_bits() }
}

/// Measures the rate of a filter that holds the keys below n, beside the bounds.
fn measured(filter: &Filter, n: u64, strangers: u64) -> Vec<Cell> {
    let geometry = filter.geometry();
    let layout = geometry.cuckoo().expect("all of these are cuckoo filters");
    let stats = filter.stats();
    let (places, fingerprints) = (layout.places() as f64, layout.fingerprints() as f64);
    // A pair of places has two names with XOR, and one with signed offsets.
    let names = if geometry.kind().is_signed() { 1.0 } else { 2.0 };
    let stash = stats.stash_size as f64 / stashes(filter) as f64;
    let slots = names * stats.slots as f64 / places;
    let lost = (0..n).filter(|key| !filter.contains(key)).count() as u64;
    vec![
        Cell::text(geometry.kind()),
        Cell::Count(layout.places()),
        Cell::Count(layout.fingerprints()),
        Cell::Count(stashes(filter)),
        Cell::Count(n),
        Cell::number(stats.load, 4),
        Cell::Count(stats.stash_size),
        Cell::Rate(names * n as f64 / (places * fingerprints)),
        Cell::Rate((slots + stash) / fingerprints),
        Cell::Rate(geometry.predicted_rate(n)),
        Cell::Count(strangers),
        Cell::Count(ask(filter, strangers)),
        Cell::Count(lost),
    ]
}

fn rate(row: Row<'_>) -> f64 {
    row.number("hits") / row.number("strangers")
}

fn of_kind(record: &Record, kind: Kind) -> Vec<Row<'_>> {
    let kind = kind.to_string();
    record.rows().filter(|row| row.text("kind") == kind).collect()
}

/// Returns the mean number of keys in each stash.
fn stashed(row: Row<'_>) -> f64 {
    row.number("stashed") / row.number("stashes")
}

fn show(record: &Record) -> Vec<Piece> {
    let mut table = Table::new(
        "",
        &[
            "layout",
            "keys",
            "in each stash",
            "Theorem 5.1, %",
            "naive bound, %",
            "measured, %",
            "of Theorem 5.1",
            "of the naive bound",
        ],
    );
    for kind in KINDS {
        let rows = of_kind(record, kind);
        let planned = SHARES.len() - 1;
        for row in rows.get(planned).into_iter().chain(rows.last().filter(|_| rows.len() > SHARES.len())) {
            table.push(vec![
                Cell::text(kind),
                Cell::text(row.text("n")),
                Cell::number(stashed(*row), 1),
                Cell::number(100.0 * row.number("bound"), 3),
                Cell::number(100.0 * row.number("naive"), 3),
                Cell::number(100.0 * rate(*row), 3),
                Cell::number(rate(*row) / row.number("bound"), 3),
                Cell::number(rate(*row) / row.number("naive"), 3),
            ]);
        }
    }
    let shares: Vec<f64> = record.rows().map(|row| rate(row) / row.number("bound")).collect();
    let (least, most) = shares
        .iter()
        .fold((f64::INFINITY, 0f64), |(least, most), share| (least.min(*share), most.max(*share)));
    vec![
        Piece::Text(format!(
            "Each filter is planned for a rate of 2^-7. It is measured with its planned keys, and again \
             overfilled until a stash of {} keys is full (simplified filters have one stash per subtable, all \
             others one in all). Theorem 5.1 bounds the rate by 2n / (N (2^f - 1)), with 1 instead of 2 for \
             signed offsets, whatever is in the stash. The naive bound counts every key of a stash as one more \
             fingerprint that a query meets. Over all rows of the record, measured rates are {least:.3} to \
             {most:.3} times the theorem's bound. The bound holds for every kind, not only for the simplified \
             filter, because the stash names a pair of places the same way from both sides. Strangers: {} for \
             each rate.",
            STASHED[STASHED.len() - 1],
            record.fact("strangers"),
        )),
        Piece::Table(table),
        Piece::Figure(figure(record)),
    ]
}

fn figure(record: &Record) -> Figure {
    let simplified = of_kind(record, Kind::Simplified(4));
    let full = |row: &Row<'_>| row.number("naive") - stashed(*row) / row.number("fingerprints");
    let by_load = |kind: Kind| {
        let rows = of_kind(record, kind);
        rows.iter().take(SHARES.len()).map(|row| (row.number("load"), rate(*row) / full(row))).collect()
    };
    let by_stash = |kind: Kind, of: fn(&Row<'_>) -> f64| {
        let rows = of_kind(record, kind);
        rows.iter().skip(SHARES.len() - 1).map(|row| (stashed(*row), of(row))).collect::<Vec<_>>()
    };
    let curves = |of: &dyn Fn(Kind) -> Vec<(f64, f64)>| {
        KINDS
            .into_iter()
            .enumerate()
            .map(|(at, kind)| Curve::points(kind.to_string(), at, of(kind)))
            .collect::<Vec<_>>()
    };
    let over = |row: &Row<'_>| rate(*row) / row.number("bound");
    let naive = |row: &Row<'_>| row.number("naive") / row.number("bound");
    let most = simplified.iter().map(|row| stashed(*row)).fold(1.0, f64::max);
    Figure::new(vec![
        Panel::new(
            "Without a stash",
            Scale::linear("load").between(0.0, 1.0),
            Scale::linear("rate over 2b/(2^f - 1)").between(0.0, 1.2),
        )
        .with([Curve::dashed("Theorem 5.1", 9, vec![(0.0, 0.0), (1.0, 1.0)])])
        .with(curves(&by_load)),
        Panel::new(
            "With a stash",
            Scale::linear("keys in each stash").between(0.0, 64.0),
            Scale::linear("rate over the bound of 5.1").between(0.0, 2.0),
        )
        .with([Curve::dashed("Theorem 5.1", 9, vec![(0.0, 1.0), (64.0, 1.0)])])
        .with(curves(&|kind| by_stash(kind, over))),
        Panel::new(
            "Simplified, against the naive bound",
            Scale::linear("keys in each stash").between(0.0, most.ceil()),
            Scale::linear("rate over the bound of 5.1").between(0.0, 10.0),
        )
        .with([Curve::dashed("Theorem 5.1", 9, vec![(0.0, 1.0), (most.ceil(), 1.0)])])
        .with([Curve::points("simplified:4", 1, by_stash(Kind::Simplified(4), over))])
        .with([Curve::line("naive bound, simplified:4", 7, by_stash(Kind::Simplified(4), naive))]),
    ])
}

/// Checks that no rate is above the bound, with or without a stash, that every rate is as predicted, that
/// stashes were used, and that no key was lost.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let (name, n) = (row.text("kind"), row.number("n"));
        let strays = |column| deviations(row.number("hits"), row.number("strangers"), row.number(column), n);
        if strays("bound") > 4.5 {
            return Err(format!("{name}, {n} keys: {} is above the theorem's bound", rate(row)));
        }
        if strays("predicted").abs() > 5.0 {
            return Err(format!("{name}, {n} keys: a rate of {} is not as predicted", rate(row)));
        }
        if row.number("lost") > 0.0 {
            return Err(format!("{name}, {n} keys: lost {}", row.text("lost")));
        }
    }
    for kind in KINDS {
        let most = of_kind(record, kind).into_iter().map(stashed).fold(0.0, f64::max);
        if most < 2.0 {
            return Err(format!("{kind}: hardly any key came into the stash"));
        }
    }
    Ok(())
}
