//! Figure 3: how full blocks may be, and how often the bits of a key coincide.

use std::error::Error;

use malkoha::bloom::{Blocked, BlockedLayout, Distinct, Random, Spread};
use malkoha::{Cost, KeyHasher, Pattern, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::family::{Member, Setting, colour_of_choices};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "bloom-figure-3",
    paper: Paper::Bloom,
    number: "Figure 3",
    title: "set bits that a block may have, and bits of a key that coincide",
    minutes: (0.2, 0.5),
    run,
    show,
    check,
};

/// The set bits of a block stated in the paper's appendix C: k, choices, bits.
const PUBLISHED_BITS: [(u32, u8, f64); 4] = [(7, 2, 232.0), (7, 3, 219.0), (14, 2, 244.0), (14, 3, 237.0)];

/// The paper: "already for k = 10, there is an almost 10 % risk".
const PUBLISHED_RISK: (u32, f64) = (10, 0.1);

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table =
        Table::new("blocks and patterns", &["part", "k", "variant", "keys", "predicted", "measured"]);
    let ks: Vec<u32> = size.pick(vec![4, 10, 17], (3..=20).collect(), (3..=20).collect());
    let keys = size.pick(20_000, 100_000, 2_000_000);
    for &k in &ks {
        for choices in 1..=4 {
            let setting = Setting { keys, k, size: 1.0, cost: Cost::default(), seed: 3, strangers: 0 };
            let (mean, _) = setting.fill(Member::Blocked(choices, Pattern::Distinct))?.moments();
            let (variant, allowed) = (choices.to_string(), theory::bloom::allowed_bits(k, choices));
            table.push(row("allowed", k, variant, keys, (allowed, mean)));
        }
    }
    let keys = size.pick(20_000, 100_000, 1_000_000);
    let ks: Vec<u32> = size.pick(vec![4, 8, 10, 16], (2..=24).collect(), (2..=24).collect());
    for k in ks {
        for pattern in [Pattern::Random, Pattern::Distinct, Pattern::Spread] {
            if pattern == Pattern::Spread && !k.is_multiple_of(8) {
                continue;
            }
            let risk = (coincidence(pattern, k), measured_coincidence(pattern, k, keys)?);
            table.push(row("coincidence", k, pattern.to_string(), keys, risk));
        }
    }
    Ok(table)
}

fn row(part: &str, k: u32, variant: String, keys: u64, (predicted, measured): (f64, f64)) -> Vec<Cell> {
    vec![
        Cell::text(part),
        Cell::Count(u64::from(k)),
        Cell::Text(variant),
        Cell::Count(keys),
        Cell::number(predicted, 5),
        Cell::number(measured, 5),
    ]
}

/// Returns the probability that a key has fewer than k bits: the birthday paradox.
fn coincidence(pattern: Pattern, k: u32) -> f64 {
    let all_differ = |draws: u32, of: f64| (0..draws).map(|i| 1.0 - f64::from(i) / of).product::<f64>();
    match pattern {
        Pattern::Random => 1.0 - all_differ(k, 512.0),
        Pattern::Spread => 1.0 - all_differ(k / 8, 64.0).powi(8),
        _ => 0.0,
    }
}

/// Returns the share of keys with fewer than k bits, from a filter in which few blocks have more than one
/// key. A block with 1 to k set bits has one key, because two keys would set more.
fn measured_coincidence(pattern: Pattern, k: u32, keys: u64) -> Result<f64, malkoha::Error> {
    let layout = BlockedLayout { blocks: 4 * keys, choices: 1, key_bits: k, pattern, cost: Cost::default() };
    macro_rules! histogram {
        ($scatter:ty) => {{
            let mut filter = Blocked::<$scatter>::new(&layout)?;
            let hasher = KeyHasher::new(u64::from(k));
            (0..keys).for_each(|key| filter.insert(hasher.number(key)));
            filter.histogram()
        }};
    }
    let histogram = match pattern {
        Pattern::Random => histogram!(Random),
        Pattern::Spread => histogram!(Spread),
        _ => histogram!(Distinct),
    };
    let fewer: u64 = histogram[1..k as usize].iter().sum();
    Ok(fewer as f64 / (fewer + histogram[k as usize]) as f64)
}

fn show(record: &Record) -> Vec<Piece> {
    let points = |part: &str, variant: &str, column: &str| -> Vec<(f64, f64)> {
        let rows = rows(record, part).filter(|row| row.text("variant") == variant);
        rows.map(|row| (row.number("k"), row.number(column))).collect()
    };
    let allowed = (1..=4u8).flat_map(|choices| {
        let (variant, colour) = (choices.to_string(), colour_of_choices(choices));
        let published = PUBLISHED_BITS.iter().filter(|(_, c, _)| *c == choices);
        let published: Vec<_> = published.map(|(k, _, bits)| (f64::from(*k), *bits)).collect();
        let ring = Curve::hollow(format!("c = {choices}: published"), colour, published.clone());
        [
            Some(Curve::line(
                format!("c = {choices}: allowed"),
                colour,
                points("allowed", &variant, "predicted"),
            )),
            Some(Curve::broken(
                format!("c = {choices}: measured mean"),
                colour,
                points("allowed", &variant, "measured"),
            )),
            (!published.is_empty()).then_some(ring),
        ]
    });
    let patterns = [(Pattern::Random, 0), (Pattern::Distinct, 3), (Pattern::Spread, 8)];
    let coincidences = patterns.into_iter().flat_map(|(pattern, colour)| {
        let variant = pattern.to_string();
        [
            Curve::line(
                format!("{variant}: predicted"),
                colour,
                points("coincidence", &variant, "predicted"),
            ),
            Curve::points(
                format!("{variant}: measured"),
                colour,
                points("coincidence", &variant, "measured"),
            ),
        ]
    });
    let (k, risk) = PUBLISHED_RISK;
    let published = Curve::hollow("random: published", 0, vec![(f64::from(k), risk)]);
    let figure = Figure::new(vec![
        Panel::new("A: set bits of a block", Scale::linear("k"), Scale::linear("bits of 512"))
            .with(allowed.flatten()),
        Panel::new("B: keys whose bits coincide", Scale::linear("k"), Scale::linear("share of keys"))
            .with(coincidences)
            .with([published]),
    ]);
    vec![Piece::Text(words(record)), Piece::Figure(figure), Piece::Table(table(record))]
}

fn rows<'a>(record: &'a Record, part: &str) -> impl Iterator<Item = Row<'a>> {
    record.rows().filter(move |row| row.text("part") == part)
}

/// Lists the numbers stated in the paper beside ours.
fn table(record: &Record) -> Table {
    let mut table = Table::new("", &["k", "c", "published", "allowed", "measured mean"]);
    for (k, choices, bits) in PUBLISHED_BITS {
        let find = |row: &Row| row.text("k") == k.to_string() && row.text("variant") == choices.to_string();
        let measured = rows(record, "allowed").find(find).map_or(f64::NAN, |row| row.number("measured"));
        table.push(vec![
            Cell::Count(u64::from(k)),
            Cell::Count(u64::from(choices)),
            Cell::number(bits, 0),
            Cell::number(theory::bloom::allowed_bits(k, choices), 1),
            Cell::number(measured, 1),
        ]);
    }
    table
}

fn words(record: &Record) -> String {
    let meets = |choices: u8| {
        let enough = |row: &Row| {
            row.text("variant") == choices.to_string() && row.number("measured") <= row.number("predicted")
        };
        let least =
            rows(record, "allowed").filter(enough).map(|row| row.number("k")).fold(f64::NAN, f64::min);
        if least.is_nan() { "for no k".to_owned() } else { format!("from k = {least} on") }
    };
    let (two, three, four) = (meets(2), meets(3), meets(4));
    let keys = record.fact("keys");
    format!(
        "A: the most bits that may be set in every block for rate 2^-k with c choices, and the mean in filters \
         of the size of a plain one (distinct patterns, the default cost, {keys} keys). The mean is low enough \
         {two} with two choices, {three} with three and {four} with four, which is ours. Whether the rate is \
         met also depends on how even the blocks are (Figures 4 and 7). B: the share of keys with fewer than k \
         distinct bits; spread patterns are ours. The paper gives four numbers for A and one for B (\"almost \
         10 %\"), shown as rings."
    )
}

/// Checks that patterns agree with the birthday paradox, and that more choices set fewer bits.
fn check(record: &Record) -> Result<(), String> {
    for row in rows(record, "coincidence") {
        let (expected, measured) = (row.number("predicted"), row.number("measured"));
        // About four fifths of the keys are alone in their block, and only these are counted.
        let sigma = (expected * (1.0 - expected) / (0.7 * row.number("keys"))).sqrt();
        if (measured - expected).abs() > 5.0 * sigma {
            return Err(format!(
                "{} patterns, k = {}: {measured}, not {expected}",
                row.text("variant"),
                row.text("k")
            ));
        }
    }
    let allowed: Vec<_> = rows(record, "allowed").collect();
    for pair in allowed.windows(2).filter(|pair| pair[0].text("k") == pair[1].text("k")) {
        if pair[1].number("measured") >= pair[0].number("measured") {
            let (k, variant) = (pair[1].text("k"), pair[1].text("variant"));
            return Err(format!("k = {k}: {variant} choices set no fewer bits than one less"));
        }
        if pair[1].number("predicted") >= pair[0].number("predicted") {
            return Err("more choices allow more bits".to_owned());
        }
    }
    Ok(())
}
