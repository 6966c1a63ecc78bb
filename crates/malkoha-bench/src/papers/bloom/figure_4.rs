//! Figure 4: the rate against the size of the filter.

use std::error::Error;
use std::f64::consts::LOG2_E;

use malkoha::{Cost, Filter, Kind, Spec};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::family::{MEMBERS, Member, Setting, crossing};
use crate::papers::{Exhibit, Paper, Piece, Size, strangers};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "bloom-figure-4",
    paper: Paper::Bloom,
    number: "Figure 4",
    title: "rate against relative size",
    minutes: (0.7, 15.0),
    run,
    show,
    check,
};

/// Our cuckoo kinds in the same memory.
const CUCKOOS: [Kind; 3] = [Kind::Sorted, Kind::Windowed(2), Kind::Windowed(3)];

/// Numbers from the paper's text: k, filter, log2 of the rate at size 1.
const PUBLISHED_RATES: [(u32, &str, f64); 2] =
    [(10, "blocked:1 random", -9.2), (17, "blocked:1 random", -14.0)];

/// Sizes at which rate 2^-k is met: at k = 10 from Figure 1 of the paper, at k = 14 from its Table 1 (human),
/// both as multiples of the plain filter there.
const PUBLISHED_SIZES: [(u32, &str, f64); 5] = [
    (10, "blocked:1 random", 1.565 / 1.443),
    (10, "blocked:2 random", 1.456 / 1.443),
    (14, "blocked:1 random", 7.45 / 6.42),
    (14, "blocked:2 random", 6.48 / 6.42),
    (14, "blocked:3 random", 6.40 / 6.42),
];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let columns = [
        "k",
        "filter",
        "key_bits",
        "size",
        "keys",
        "bits_per_key",
        "predicted_rate",
        "rate",
        "strangers",
        "counted_rate",
    ];
    let mut table = Table::new("rates", &columns);
    let all = vec![0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4];
    let sizes = size.pick(vec![0.9, 1.0, 1.2], all.clone(), all);
    let ks = size.pick(vec![4, 10, 17], vec![4, 7, 10, 14, 17, 20], vec![4, 7, 10, 14, 17, 20]);
    let keys = size.pick(20_000, 100_000, 5_000_000);
    for k in ks {
        for &relative in &sizes {
            eprintln!("  k = {k}, size {relative}");
            // Counting takes longer than filling, so only one size is counted.
            let is_one = (relative - 1.0f64).abs() < 1e-9;
            let strangers = if is_one { size.pick(1 << 16, 1 << 20, 1 << 27) } else { 0 };
            let setting = Setting { keys, k, size: relative, cost: Cost::default(), seed: 4, strangers };
            for member in MEMBERS {
                let filled = setting.fill(member)?;
                table.push(row(
                    &setting,
                    member.to_string(),
                    u64::from(setting.key_bits(member)),
                    setting.predicted_rate(member),
                    (filled.rate, filled.counted),
                ));
            }
            for kind in CUCKOOS {
                if let Some(row) = cuckoo(&setting, kind)? {
                    table.push(row);
                }
            }
        }
    }
    Ok(table)
}

fn row(
    setting: &Setting,
    filter: String,
    bits: u64,
    predicted: f64,
    (rate, counted): (f64, f64),
) -> Vec<Cell> {
    let of = |rate: f64| if rate.is_finite() { Cell::Rate(rate) } else { Cell::Missing };
    vec![
        Cell::Count(u64::from(setting.k)),
        Cell::Text(filter),
        Cell::Count(bits),
        Cell::number(setting.size, 2),
        Cell::Count(setting.keys),
        Cell::number(setting.blocks() as f64 * 512.0 / setting.keys as f64, 3),
        of(predicted),
        of(rate),
        Cell::Count(setting.strangers),
        of(counted),
    ]
}

/// Measures a cuckoo filter in the same memory, or returns nothing if the keys do not fit. It has no set bits
/// to compute a rate from, so its rate is that of the strangers, where they are looked up.
fn cuckoo(setting: &Setting, kind: Kind) -> Result<Option<Vec<Cell>>, Box<dyn Error>> {
    let spec = Spec::keys_in_memory(setting.keys, setting.blocks() * 64).kind(kind).seed(setting.seed);
    let Ok(geometry) = spec.plan() else { return Ok(None) };
    let predicted = geometry.predicted_rate(setting.keys);
    let mut counted = f64::NAN;
    if setting.strangers > 0 {
        let mut filter = Filter::new(geometry)?;
        for key in 0..setting.keys {
            filter.insert(&key)?;
        }
        counted = strangers::ask(&filter, setting.strangers) as f64 / setting.strangers as f64;
    }
    let bits = geometry.cuckoo().map_or(0, |layout| u64::from(layout.tag_bits()));
    Ok(Some(row(setting, kind.to_string(), bits, predicted, (f64::NAN, counted))))
}

fn ks(record: &Record) -> Vec<u32> {
    let mut ks: Vec<u32> = record.rows().filter_map(|row| row.text("k").parse().ok()).collect();
    ks.dedup();
    ks
}

fn rows<'a>(record: &'a Record, k: u32, filter: &str) -> impl Iterator<Item = Row<'a>> {
    record.rows().filter(move |row| row.text("k") == k.to_string() && row.text("filter") == filter)
}

/// Returns sizes with log2 of a rate.
fn points(record: &Record, k: u32, filter: &str, column: &str) -> Vec<(f64, f64)> {
    let all = rows(record, k, filter).map(|row| (row.number("size"), row.number(column).log2()));
    all.filter(|(_, rate)| rate.is_finite()).collect()
}

fn show(record: &Record) -> Vec<Piece> {
    let panels = ks(record).into_iter().map(|k| panel(record, k)).collect();
    vec![
        Piece::Text(words(record)),
        Piece::Figure(Figure::new(panels)),
        Piece::Text(
            "log2 of the rate, plus k, at the size of a plain filter (below 0 is better than the goal). Counts \
             below 100 are left out.".into(),
        ),
        Piece::Table(at_size_one(record)),
        Piece::Text(sizes_words(record)),
        Piece::Table(sizes(record)),
    ]
}

fn panel(record: &Record, k: u32) -> Panel {
    let plain = points(record, k, "bloom", "rate");
    let ends = (plain.first().map_or(0.9, |point| point.0), plain.last().map_or(1.1, |point| point.0));
    // Sorted buckets are far below: only the part that fits the axis of the others is drawn.
    let lowest = plain.iter().map(|point| point.1).fold(f64::INFINITY, f64::min).floor();
    let curves = MEMBERS.into_iter().map(|member| {
        let (name, points) = (member.to_string(), points(record, k, &member.to_string(), "rate"));
        let draw = if member.is_distinct() { Curve::broken } else { Curve::points };
        draw(name, member.colour(), points)
    });
    let mut sorted = points(record, k, "sorted", "predicted_rate");
    sorted.retain(|point| point.1 >= lowest);
    let goal = -f64::from(k);
    let stated = |member: Member| {
        let name = member.to_string();
        let rates = PUBLISHED_RATES.iter().filter(|known| known.0 == k && known.1 == name);
        let rates = rates.map(|known| (1.0, known.2));
        let sizes = PUBLISHED_SIZES.iter().filter(|known| known.0 == k && known.1 == name);
        let points: Vec<_> = rates.chain(sizes.map(|known| (known.2, goal))).collect();
        (!points.is_empty()).then(|| Curve::hollow(format!("{name}: published"), member.colour(), points))
    };
    Panel::new(format!("k = {k}"), Scale::linear("relative size"), Scale::linear("log2 rate"))
        .with([Curve::dashed("goal: 2^-k", 9, vec![(ends.0, goal), (ends.1, goal)])])
        .with(curves)
        .with([Curve::line("sorted: predicted", 0, sorted)])
        .with(MEMBERS.into_iter().filter_map(stated))
}

fn words(record: &Record) -> String {
    let keys = record.fact("keys");
    let penalty = |k: u32| {
        let row = rows(record, k, "blocked:1 random").find(is_one);
        row.map_or(f64::NAN, |row| row.number("rate").log2() + f64::from(k))
    };
    format!(
        "Rates are computed from the set bits of filters with {keys} keys (the paper counts, with 2 x 10^9 \
         keys). Every key has k bits; spread patterns have the best multiple of 8. The paper prints no table \
         of its curves; rings are the numbers in its text, Figure 1 and Table 1. Its blocked filter at size 1 \
         misses the goal by 0.8 at k = 10 and by 3 at k = 17; ours by {:.2} and {:.2}. The curves for four \
         choices, spread patterns and sorted buckets are ours.",
        penalty(10),
        penalty(17)
    )
}

fn is_one(row: &Row) -> bool {
    (row.number("size") - 1.0).abs() < 1e-9
}

fn at_size_one(record: &Record) -> Table {
    let ks = ks(record);
    let mut columns = vec!["filter".to_owned(), "what".to_owned()];
    columns.extend(ks.iter().map(|k| format!("k = {k}")));
    let mut table = Table { title: String::new(), columns, rows: Vec::new() };
    let names = MEMBERS.iter().map(ToString::to_string).chain(CUCKOOS.iter().map(ToString::to_string));
    for name in names {
        for (what, column) in
            [("predicted", "predicted_rate"), ("from set bits", "rate"), ("counted", "counted_rate")]
        {
            let excess = |k: &u32| {
                let row = rows(record, *k, &name).find(is_one);
                // A few hits say little about a rate.
                let shown = |row: &Row| {
                    column != "counted_rate" || row.number("counted_rate") * row.number("strangers") >= 100.0
                };
                row.filter(shown).map_or(f64::NAN, |row| row.number(column).log2() + f64::from(*k))
            };
            let cells: Vec<_> = ks.iter().map(|k| Cell::number(excess(k), 3)).collect();
            if cells.iter().any(|cell| *cell != Cell::Missing) {
                table.push([Cell::text(&name), Cell::text(what)].into_iter().chain(cells).collect());
            }
        }
    }
    table
}

fn sizes_words(record: &Record) -> String {
    let need = |k| needed(record, k, "blocked:3 random");
    format!(
        "The size at which rate 2^-k is met, as a multiple of the plain filter's size, read off the curves. \
         The paper says \"slightly above 1.0\" for two choices and about 0.98 for three at k = 10 to 20, but \
         its Table 1 gives 0.997 at k = 14. Ours with three choices needs {:.3} at k = 10 and {:.3} at k = 17. \
         For cuckoo kinds the size is the one that `Spec` plans.",
        need(10),
        need(17)
    )
}

/// Returns the size at which a filter has rate 2^-k.
fn needed(record: &Record, k: u32, name: &str) -> f64 {
    crossing(&points(record, k, name, "rate"), -f64::from(k)).unwrap_or(f64::NAN)
}

fn sizes(record: &Record) -> Table {
    let ks = ks(record);
    let mut columns = vec!["filter".to_owned()];
    columns.extend(ks.iter().map(|k| format!("k = {k}")));
    columns.extend(["published k = 10".to_owned(), "published k = 14".to_owned()]);
    let mut table = Table { title: String::new(), columns, rows: Vec::new() };
    for member in MEMBERS {
        let name = member.to_string();
        let published = |k| {
            let known = PUBLISHED_SIZES.iter().find(|known| known.0 == k && known.1 == name);
            Cell::number(known.map_or(f64::NAN, |known| known.2), 3)
        };
        let cells = ks.iter().map(|k| Cell::number(needed(record, *k, &name), 3));
        let row = [Cell::text(&name)].into_iter().chain(cells);
        table.push(row.chain([published(10), published(14)]).collect());
    }
    for kind in CUCKOOS {
        let planned = |k: &u32| {
            let plan = Spec::new(10_000_000, 2f64.powi(-k.cast_signed())).kind(kind).plan();
            plan.map_or(f64::NAN, |plan| plan.bits_per_key() / (f64::from(*k) * LOG2_E))
        };
        let cells = ks.iter().map(|k| Cell::number(planned(k), 3));
        let row = [Cell::text(kind)].into_iter().chain(cells);
        table.push(row.chain([Cell::Missing, Cell::Missing]).collect());
    }
    table
}

/// Checks what the paper sees in its figure, and that prediction, set bits and counts agree.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let name = format!("k = {}, {}, size {}", row.text("k"), row.text("filter"), row.text("size"));
        let (predicted, rate, counted) =
            (row.number("predicted_rate"), row.number("rate"), row.number("counted_rate"));
        // With one choice a few very full blocks determine the rate, so it varies.
        let one = row.text("filter").starts_with("blocked:1");
        let stray = if one { 0.02 * row.number("k") } else { 0.005 * row.number("k") };
        let stray = stray * (1e5 / row.number("keys")).sqrt() + 0.03;
        if (rate / predicted).log2().abs() > stray {
            return Err(format!("{name}: rate {rate:e}, predicted {predicted:e}"));
        }
        let expected = if rate.is_nan() { predicted } else { rate };
        let hits = expected * row.number("strangers");
        if (counted * row.number("strangers") - hits).abs() > 5.0 * hits.sqrt() + 5.0 {
            return Err(format!("{name}: counted {counted:e}, expected {expected:e}"));
        }
    }
    ks(record).into_iter().try_for_each(|k| check_order(record, k))
}

fn check_order(record: &Record, k: u32) -> Result<(), String> {
    let points = |name: &str| points(record, k, name, "rate");
    let at_one = |name: &str| {
        let rate = rows(record, k, name).find(is_one).map_or(f64::NAN, |row| row.number("rate"));
        rate.log2() + f64::from(k)
    };
    let [one, two, three] =
        ["blocked:1 random", "blocked:2 random", "blocked:3 random"].map(|name| (at_one(name), name));
    let plain = at_one("bloom");
    if plain.abs() > 0.05 {
        return Err(format!("k = {k}: a plain filter strays from 2^-k by {plain}"));
    }
    let below = |(low, low_name): (f64, &str), (high, high_name): (f64, &str)| {
        if low < high { Ok(()) } else { Err(format!("k = {k}: {low_name} is not below {high_name}")) }
    };
    match k {
        4 => [below(one, two), below(two, three)].into_iter().collect::<Result<(), _>>()?,
        10.. => below(two, one)?,
        _ => {}
    }
    if k >= 14 {
        below(three, two)?;
    }
    if k == 17 && !(2.3..3.7).contains(&one.0) {
        return Err(format!("k = 17: one choice is worse by {}, not by 3", one.0));
    }
    for member in MEMBERS {
        let points = points(&member.to_string());
        if let Some(pair) = points.windows(2).find(|pair| pair[1].1 >= pair[0].1) {
            return Err(format!("k = {k}, {member}: larger filters are no better at size {}", pair[1].0));
        }
    }
    let sorted = rows(record, k, "sorted").find(is_one).map_or(f64::NAN, |row| row.number("predicted_rate"));
    if k >= 10 && sorted.log2() >= -f64::from(k) {
        return Err(format!("k = {k}: sorted buckets are no better than a plain filter"));
    }
    Ok(())
}
