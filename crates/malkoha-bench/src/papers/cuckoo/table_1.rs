//! Table 1: overhead factors in the best and the worst case.

use std::error::Error;

use malkoha::{Kind, theory};

use super::formulas::FORMULAS;
use super::layouts::{self, LEGEND};
use crate::papers::{Exhibit, Paper, Piece, Size, strangers};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};
use crate::wish::Choice;

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-table-1",
    paper: Paper::Cuckoo,
    number: "Table 1",
    title: "overhead factors, best and worst case",
    minutes: (0.2, 0.5),
    run,
    show,
    check,
};

/// The k of the worst cases.
const K: u32 = 8;

/// Filters of earlier papers, each with its row of the published table.
const EARLIER: [(&str, &str); 4] =
    [("Bloom", "bloom@8"), ("standard cuckoo", "classic:4@8"), ("", "semisorted@8"), ("", "blocked:2@8")];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "overhead factors",
        &["filter", "layout", "case", "keys", "bits_per_key", "C", "strangers", "rate", "steps_per_walk"],
    );
    let power = size.pick(14, 18, 22);
    let asked = 4 << power;
    let filters = EARLIER.map(|(_, text)| (text.to_owned(), "")).into_iter();
    for (text, layout) in filters.chain(layouts::ALL.map(|layout| (layout.choice(K), layout.name))) {
        let Choice::One(wish) = text.parse()? else { return Err("a row is one filter".into()) };
        let most = wish.in_memory(memory(wish.kind, power)).plan()?.keys();
        for (case, keys) in [("best", most), ("worst", most + 1)] {
            let spec = wish.for_keys(keys);
            let filter = spec.build_from(&(0..keys).collect::<Vec<_>>())?;
            let stats = filter.stats();
            table.push(vec![
                Cell::text(wish),
                Cell::text(layout),
                Cell::text(case),
                Cell::Count(keys),
                Cell::number(filter.geometry().bits_per_key(), 3),
                Cell::number(filter.geometry().bits_per_key() / f64::from(K), 3),
                Cell::Count(asked),
                Cell::Rate(strangers::ask(&filter, asked) as f64 / asked as f64),
                Cell::number(if wish.kind.is_bloom() { f64::NAN } else { stats.steps_mean }, 2),
            ]);
        }
    }
    Ok(table)
}

/// Returns the bytes of 2^power slots at a rate of 2^-k, so that filters whose sizes are powers of two fill
/// them.
fn memory(kind: Kind, power: u32) -> u64 {
    let slot_bits = if kind.is_bloom() { 12.0 } else { theory::bits_per_key(kind, f64::from(K), 1.0).ceil() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^53")]
    let bytes = (f64::from(power).exp2() * slot_bits / 8.0) as u64;
    bytes
}

fn find<'a>(record: &'a Record, filter: &str, case: &str) -> Option<Row<'a>> {
    record.rows().find(|row| row.text("filter") == filter && row.text("case") == case)
}

fn overhead(record: &Record, filter: &str, case: &str) -> f64 {
    find(record, filter, case).map_or(f64::NAN, |row| row.number("C"))
}

fn show(record: &Record) -> Vec<Piece> {
    let mut published = Table::new(
        "",
        &[
            "filter",
            "C(k), best",
            "C(8)",
            "ours, best",
            "worst C(8)",
            "ours, worst",
            "misses, insert",
            "misses, find",
        ],
    );
    let improved = layouts::named("(w, 2)").choice(K);
    for formula in &FORMULAS {
        let earlier = EARLIER.iter().find(|(name, _)| *name == formula.name).map(|(_, filter)| *filter);
        let ours = if formula.name == "improved cuckoo" { Some(&improved[..]) } else { earlier };
        let of = |case| Cell::number(ours.map_or(f64::NAN, |filter| overhead(record, filter, case)), 3);
        published.push(vec![
            Cell::text(formula.name),
            Cell::text(formula.text),
            Cell::number((formula.best)(f64::from(K)), 3),
            of("best"),
            Cell::number(formula.worst, 3),
            of("worst"),
            Cell::text(formula.misses.0),
            Cell::text(formula.misses.1),
        ]);
    }
    let mut ours = Table::new(
        "",
        &["filter", "layout", "predicted C(8)", "best", "worst", "rate of the best x 2^8", "steps per walk"],
    );
    for row in record.rows().filter(|row| row.text("case") == "best") {
        let layout = layouts::ALL.into_iter().find(|layout| layout.name == row.text("layout"));
        ours.push(vec![
            Cell::text(row.text("filter")),
            Cell::text(row.text("layout")),
            Cell::number(layout.map_or(f64::NAN, |layout| layout.predicted_overhead(K)), 3),
            Cell::number(row.number("C"), 3),
            Cell::number(overhead(record, row.text("filter"), "worst"), 3),
            Cell::number(row.number("rate") * f64::from(1 << K), 3),
            Cell::number(row.number("steps_per_walk"), 2),
        ]);
    }
    let windows = overhead(record, &improved, "best");
    let excess = 100.0 * (windows / layouts::named("(w, 2)").predicted_overhead(K) - 1.0);
    vec![
        Piece::Text(format!(
            "Published formulas beside filters that were built and filled. C is bits per key divided by k = \
             {K}. In the best case a filter holds as many keys as its memory allows, in the worst case one key \
             more. For quotient, vector quotient and prefix filters there are only the paper's numbers. \
             Windows of two are {excess:.1} % above the formula at {} keys, because they have spare slots for \
             the fluctuations of finite tables. The worst case of the standard filter is less than twice its \
             best case, because a half-empty table needs one bit less per slot for the same rate.",
            find(record, &improved, "best").map_or("?", |row| row.text("keys"))
        )),
        Piece::Table(published),
        Piece::Text(format!(
            "All our kinds. {LEGEND} Steps are counted for inserts that find both places full; every step may \
             miss the cache. The prediction for windows of three assumes fractions of bits. Slots have whole \
             bits, so the rate is lower."
        )),
        Piece::Table(ours),
    ]
}

/// Checks that only powers of two have a worst case, that no filter misses its rate, that windows of two are
/// the smallest of the paper's layouts, and that sorted buckets are smaller still.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let (filter, keys) = (row.text("filter"), row.number("keys"));
        let worsening = overhead(record, filter, "worst") / overhead(record, filter, "best");
        let is_power = filter.starts_with("classic") || filter.starts_with("semisorted");
        let expected = if is_power { 1.75..2.1 } else { 0.99..1.01 };
        if !expected.contains(&worsening) {
            return Err(format!("{filter}: one key more makes it {worsening:.3} times as large"));
        }
        let (asked, promise) = (row.number("strangers"), (-f64::from(K)).exp2());
        if strangers::deviations(row.number("rate") * asked, asked, promise, keys) > 4.0 {
            return Err(format!("{filter}: a rate of {} is above the promise", row.text("rate")));
        }
    }
    let best = |name: &str| overhead(record, &layouts::named(name).choice(K), "best");
    let others = [Kind::Flexible(2), Kind::Flexible(4), Kind::Windowed(4)];
    let others = layouts::PAPERS.iter().filter(|layout| others.contains(&layout.kind));
    if others.into_iter().any(|layout| best(layout.name) <= best("(w, 2)")) {
        return Err("windows of two are not the smallest of the paper's layouts".to_owned());
    }
    if best("sorted local") >= best("(w, 2)") || best("sorted dense") >= best("sorted local") {
        return Err(
            "sorted buckets are not smaller than windows of two, or dense ones not smaller still".to_owned()
        );
    }
    Ok(())
}
