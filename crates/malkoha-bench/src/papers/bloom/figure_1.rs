//! Figure 1: overhead factors and costs of filters with online insertion.

use std::error::Error;

use malkoha::{Filter, Kind, Offsets, Pattern, Spec, theory};
use malkoha_bench_peers::Offer;
use malkoha_figure::{Curve, Figure, Panel, Scale};

use crate::papers::{Exhibit, Paper, Piece, Size, strangers};
use crate::race::STRANGERS;
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "bloom-figure-1",
    paper: Paper::Bloom,
    number: "Figure 1",
    title: "overhead factors of filters that take keys one by one",
    minutes: (0.5, 6.0),
    run,
    show,
    check,
};

/// A row of the paper's table.
struct Published {
    name: &'static str,
    /// C(k) in the best case; for blocked filters only k = 10 is known.
    best: fn(f64) -> Option<f64>,
    /// The worst C at k = 10.
    worst: f64,
    /// Cache misses of an insert and of a lookup.
    misses: (&'static str, &'static str),
}

const PUBLISHED: [Published; 6] = [
    Published { name: "Bloom", best: |_| Some(1.443), worst: 1.443, misses: ("k", "k") },
    Published { name: "Blocked Bloom", best: |k| only_ten(k, 1.565), worst: 1.565, misses: ("1", "1") },
    Published { name: "BlowChoc", best: |k| only_ten(k, 1.456), worst: 1.456, misses: ("2", "1 to 2") },
    Published {
        name: "Cuckoo",
        best: |k| Some(1.053 * (1.0 + 3.0 / k)),
        worst: 2.73,
        misses: ("1 to M", "2"),
    },
    Published {
        name: "Quotient",
        best: |k| Some(1.053 * (1.0 + 2.125 / k)),
        worst: 2.55,
        misses: ("some", "some"),
    },
    Published {
        name: "Vector quotient",
        best: |k| Some(1.0753 * (1.0 + 2.914 / k)),
        worst: 2.77,
        misses: ("2", "2"),
    },
];

fn only_ten(k: f64, factor: f64) -> Option<f64> {
    ((k - 10.0).abs() < 1e-9).then_some(factor)
}

/// The k of the paper's column for the worst case.
const TEN: u32 = 10;

/// One of our filters or a peer, with the row of the paper that it represents, if any.
struct Subject {
    name: &'static str,
    published: Option<usize>,
    make: Maker,
}

enum Maker {
    Ours(Kind, fn(Spec) -> Spec),
    Peer(&'static str),
}

const fn ours(
    name: &'static str,
    published: Option<usize>,
    kind: Kind,
    variant: fn(Spec) -> Spec,
) -> Subject {
    Subject { name, published, make: Maker::Ours(kind, variant) }
}

const SUBJECTS: [Subject; 16] = [
    ours("bloom", Some(0), Kind::Bloom, |spec| spec),
    ours("blocked:1", Some(1), Kind::Blocked(1), |spec| spec),
    ours("blocked:1 spread", None, Kind::Blocked(1), |spec| spec.pattern(Pattern::Spread)),
    ours("blocked:2", Some(2), Kind::Blocked(2), |spec| spec),
    ours("blocked:3", None, Kind::Blocked(3), |spec| spec),
    ours("blocked:4", None, Kind::Blocked(4), |spec| spec),
    ours("classic:4", Some(3), Kind::Classic(4), |spec| spec),
    Subject { name: "qfilter (peer)", published: Some(4), make: Maker::Peer("qfilter") },
    ours("semisorted", None, Kind::SemiSorted, |spec| spec),
    ours("flexible:4", None, Kind::Flexible(4), |spec| spec),
    ours("flexible:4 near", None, Kind::Flexible(4), |spec| spec.offsets(Offsets::Near(96))),
    ours("windowed:2", None, Kind::Windowed(2), |spec| spec),
    ours("windowed:3", None, Kind::Windowed(3), |spec| spec),
    ours("windowed:4", None, Kind::Windowed(4), |spec| spec),
    ours("sorted", None, Kind::Sorted, |spec| spec),
    ours("sorted dense", None, Kind::Sorted, Spec::dense),
];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let columns = [
        "k",
        "filter",
        "keys",
        "bits_per_key",
        "bits_per_key_worst",
        "strangers",
        "rate",
        "steps_mean",
        "first_refusal",
        "overfull_factor",
        "overfull_predicted",
    ];
    let mut table = Table::new("overhead factors", &columns);
    let keys = size.pick(30_000, 200_000, 4_000_000);
    let strangers = size.pick(1 << 17, 1 << 20, 1 << 26);
    let ks = size.pick(vec![8, TEN], (4..=20).collect(), (4..=20).collect::<Vec<u32>>());
    // False positives at rates below 2^-14 are too rare to count; there, filters are only planned.
    let counted = size.pick(vec![TEN], vec![TEN], vec![6, TEN, 14]);
    for k in ks {
        for subject in &SUBJECTS {
            let strangers = if counted.contains(&k) { strangers } else { 0 };
            let rate = 2f64.powi(-k.cast_signed());
            let facts = match subject.make {
                Maker::Ours(kind, variant) => {
                    let spec = |keys| variant(Spec::new(keys, rate).kind(kind));
                    measure(spec, keys, strangers)?
                }
                Maker::Peer(name) => measure_peer(name, rate, keys, strangers)?,
            };
            table.push(
                [Cell::Count(u64::from(k)), Cell::text(subject.name)].into_iter().chain(facts).collect(),
            );
        }
        eprintln!("  k = {k}");
    }
    Ok(table)
}

/// Measures a full filter of ours, and the memory with one more key.
fn measure(spec: impl Fn(u64) -> Spec, keys: u64, strangers: u64) -> Result<Vec<Cell>, Box<dyn Error>> {
    // As many keys as the table planned for this many holds: only kinds in powers of two have room for many
    // more.
    let table = spec(keys).plan()?.bytes();
    let mut most = spec(keys).plan()?.capacity();
    while spec(most).plan()?.bytes() > table {
        most -= most.div_ceil(2000);
    }
    let geometry = spec(most).plan()?;
    let mut next = most;
    while spec(next).plan()?.bytes() <= table {
        next += next.div_ceil(2000);
    }
    let worst = spec(next).plan()?.bytes() as f64 * 8.0 / next as f64;
    let mut row = vec![
        Cell::Count(most),
        Cell::number(geometry.bits_per_key(), 3),
        Cell::number(worst.max(geometry.bits_per_key()), 3),
        Cell::Count(strangers),
    ];
    if strangers == 0 {
        row.extend([const { Cell::Missing }; 5]);
        return Ok(row);
    }
    let mut filter = Filter::new(geometry)?;
    for key in 0..most {
        filter.insert(&key).map_err(|full| format!("{}: {full}", geometry.kind()))?;
    }
    if !(0..most.min(10_000)).all(|key| filter.contains(&key)) {
        return Err(format!("{} lost a key", geometry.kind()).into());
    }
    let rate = strangers::ask(&filter, strangers) as f64 / strangers as f64;
    let steps = if geometry.kind().is_bloom() { f64::NAN } else { filter.stats().steps_mean };
    // Insert a tenth more keys than planned.
    let before = filter.fill().map(|fill| fill.rate);
    let refused = (most..most + most / 10).find(|key| filter.insert(key).is_err());
    let overfull = match (before, filter.fill()) {
        (Ok(before), Ok(after)) => after.rate / before,
        _ => f64::NAN,
    };
    row.extend([
        Cell::Rate(rate),
        Cell::number(steps, 2),
        Cell::number(refused.map_or(f64::NAN, |key| key as f64 / most as f64), 4),
        Cell::number(overfull, 3),
        Cell::number(geometry.predicted_rate(most + most / 10) / geometry.predicted_rate(most), 3),
    ]);
    Ok(row)
}

/// Measures the peer's quotient filter: a power of two of slots, filled to 0.95.
fn measure_peer(name: &str, rate: f64, keys: u64, strangers: u64) -> Result<Vec<Cell>, Box<dyn Error>> {
    let offer: Offer =
        malkoha_bench_peers::all().into_iter().find(|offer| offer.name == name).ok_or("no such peer")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the slots")]
    let most = (0.95 * keys.next_power_of_two() as f64) as u64;
    let make = |keys: u64| Ok::<_, Box<dyn Error>>((offer.make)(usize::try_from(keys)?, rate));
    let mut filter = make(most)?;
    let bits = |filter: &dyn malkoha_bench_peers::Peer, keys: u64| filter.bytes() as f64 * 8.0 / keys as f64;
    let (best, worst) = (bits(&*filter, most), bits(&*make(most + most / 1000)?, most + most / 1000));
    let mut row =
        vec![Cell::Count(most), Cell::number(best, 3), Cell::number(worst, 3), Cell::Count(strangers)];
    let mut rate = Cell::Missing;
    if strangers > 0 {
        filter.insert(&(0..most).collect::<Vec<_>>())?;
        let hits = strangers::ask_from(STRANGERS, strangers, |keys, answers| filter.contains(keys, answers));
        rate = Cell::Rate(hits as f64 / strangers as f64);
    }
    row.extend([rate, Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing]);
    Ok(row)
}

fn rows<'a>(record: &'a Record, filter: &str) -> impl Iterator<Item = Row<'a>> {
    record.rows().filter(move |row| row.text("filter") == filter)
}

fn at_ten<'a>(record: &'a Record, filter: &str) -> Option<Row<'a>> {
    rows(record, filter).find(|row| row.text("k") == TEN.to_string())
}

fn show(record: &Record) -> Vec<Piece> {
    vec![Piece::Text(words(record)), Piece::Table(table(record)), Piece::Figure(figure(record))]
}

fn table(record: &Record) -> Table {
    let columns = [
        "filter",
        "published best C(10)",
        "best C(10)",
        "published worst C(10)",
        "worst C(10)",
        "rate x 2^10",
        "published misses (insert; lookup)",
        "steps per insert",
        "10 % more keys",
    ];
    let mut table = Table::new("", &columns);
    for subject in &SUBJECTS {
        let Some(row) = at_ten(record, subject.name) else { continue };
        let published = subject.published.map(|at| &PUBLISHED[at]);
        let (refusal, factor) = (row.number("first_refusal"), row.number("overfull_factor"));
        let name =
            published.map_or(subject.name.to_owned(), |known| format!("{} ({})", subject.name, known.name));
        let ten = f64::from(TEN);
        table.push(vec![
            Cell::Text(name),
            Cell::number(published.and_then(|known| (known.best)(ten)).unwrap_or(f64::NAN), 3),
            Cell::number(row.number("bits_per_key") / ten, 3),
            Cell::number(published.map_or(f64::NAN, |known| known.worst), 3),
            Cell::number(row.number("bits_per_key_worst") / ten, 3),
            Cell::number(row.number("rate") * 1024.0, 3),
            published
                .map_or(Cell::Missing, |known| Cell::text(format!("{}; {}", known.misses.0, known.misses.1))),
            Cell::number(row.number("steps_mean"), 2),
            match (factor.is_finite(), refusal.is_finite()) {
                (true, _) => Cell::text(format!("rate x {factor:.2}")),
                (_, true) => Cell::text(format!("refused from {:+.1} %", 100.0 * (refusal - 1.0))),
                _ => Cell::Missing,
            },
        ]);
    }
    table
}

fn figure(record: &Record) -> Figure {
    let panel = |title: &str, names: &[(&'static str, usize)], published: &[(usize, usize)]| {
        let ks: Vec<f64> = (4..=20).map(f64::from).collect();
        let measured = names.iter().map(|(name, colour)| {
            let points =
                rows(record, name).map(|row| (row.number("k"), row.number("bits_per_key") / row.number("k")));
            Curve::points(*name, *colour, points.collect())
        });
        let published = published.iter().map(|(at, colour)| {
            let known = &PUBLISHED[*at];
            let points = ks.iter().filter_map(|k| (known.best)(*k).map(|factor| (*k, factor)));
            Curve::hollow(format!("{}: published", known.name), *colour, points.collect())
        });
        Panel::new(title, Scale::linear("k"), Scale::linear("C, bits per key over k"))
            .with(measured)
            .with(published)
    };
    Figure::new(vec![
        panel(
            "Bloom kinds",
            &[
                ("bloom", 7),
                ("blocked:1", 2),
                ("blocked:1 spread", 8),
                ("blocked:2", 1),
                ("blocked:3", 5),
                ("blocked:4", 6),
            ],
            &[(0, 7), (1, 2), (2, 1)],
        ),
        panel(
            "others, at the best number of keys",
            &[
                ("classic:4", 4),
                ("qfilter (peer)", 9),
                ("flexible:4", 8),
                ("windowed:2", 3),
                ("windowed:3", 2),
                ("sorted", 0),
            ],
            &[(3, 4), (4, 9), (5, 5)],
        ),
    ])
}

fn words(record: &Record) -> String {
    let factor =
        |name: &str, column: &str| at_ten(record, name).map_or(f64::NAN, |row| row.number(column) / 10.0);
    format!(
        "C is bits per key divided by k, for rate 2^-k. The paper's cuckoo filter has a load of 0.95 and k + 3 \
         bits per slot; its worst case, twice the best, is one key more than a power of two of slots holds. \
         BlowChoc is the filter with two choices. Ours hold as many keys as fit in their tables (best), or are \
         planned for the fewest keys that need a larger table (worst); the rate is counted and must be at most \
         2^-10. Where any size is possible, best and worst are the same: {:.3} for sorted buckets, {:.3} if \
         dense. The classic filter has {:.3} and {:.3}, less than twice as much, because the slots of a \
         half-empty table need one bit less. Ours has a price: blocked:1 takes {:.3} where the paper has \
         1.565, because it aims at 0.95 of the rate so that each single filter keeps it. Steps are those of \
         the walk, most of them a cache miss. There is no crate with vector quotient filters to measure.",
        factor("sorted", "bits_per_key"),
        factor("sorted dense", "bits_per_key"),
        factor("classic:4", "bits_per_key"),
        factor("classic:4", "bits_per_key_worst"),
        factor("blocked:1", "bits_per_key"),
    )
}

/// Checks that rates hold, that Bloom kinds never refuse a key, that powers of two cost up to twice as much,
/// and that the order is that of the paper's column.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows().filter(|row| row.number("strangers") > 0.0) {
        let (name, k) = (row.text("filter"), row.number("k"));
        let hits = row.number("rate") * row.number("strangers");
        let expected = 2f64.powf(-k) * row.number("strangers");
        if hits.is_nan() || hits > expected + 5.0 * expected.sqrt() {
            return Err(format!("{name}, k = {k}: {hits} strangers were found, expected at most {expected}"));
        }
        let factor = row.number("overfull_factor");
        // Filters with one choice vary most, and so do small ones.
        let stray = 0.01 * k * (1e5 / row.number("keys")).sqrt().max(0.3);
        if (factor / row.number("overfull_predicted") - 1.0).abs() > stray {
            return Err(format!("{name}, k = {k}: a tenth more keys make the rate {factor} times as high"));
        }
        let plain = theory::bloom::overloaded_rate(1.1, k) * 2f64.powf(k);
        if name == "bloom" && (factor / plain - 1.0).abs() > stray {
            return Err(format!(
                "k = {k}: overfilling a plain filter makes {factor} of its rate, not {plain}"
            ));
        }
        if factor.is_finite() && row.number("first_refusal").is_finite() {
            return Err(format!("{name} refused a key"));
        }
    }
    let at =
        |name: &str, column: &str| at_ten(record, name).map_or(f64::NAN, |row| row.number(column) / 10.0);
    let best = |name| at(name, "bits_per_key");
    let ordered = ["blocked:1", "blocked:2", "blocked:3", "windowed:2", "sorted", "sorted dense"];
    for pair in ordered.windows(2) {
        if best(pair[0]) <= best(pair[1]) {
            return Err(format!("{} is not larger than {}", pair[0], pair[1]));
        }
    }
    if !(1.43..1.46).contains(&best("bloom")) {
        return Err(format!("a plain filter has C = {}", best("bloom")));
    }
    let jump = at("classic:4", "bits_per_key_worst") / best("classic:4");
    if !(1.8..2.1).contains(&jump) {
        return Err(format!("the classic filter grows by a factor of {jump}, not by 2"));
    }
    Ok(())
}
