//! Figure 7: the distribution of set bits per block.

use std::error::Error;

use malkoha::{Cost, Pattern, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::family::{Member, Setting, colour_of_choices};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "bloom-figure-7",
    paper: Paper::Bloom,
    number: "Figure 7",
    title: "set bits per block",
    minutes: (0.2, 1.5),
    run,
    show,
    check,
};

const KS: [u32; 2] = [7, 14];
const CHOICES: std::ops::RangeInclusive<u8> = 1..=4;

/// Set bits that are counted together.
const BIN: usize = 4;

/// The costs in the paper's figure, one row of panels each.
fn costs(k: u32) -> [(&'static str, Cost); 3] {
    let sigma = if k == 7 { 2.5 } else { 50.0 };
    [
        ("mixed", Cost::Mixed { sigma }),
        ("look-ahead", Cost::LookAhead { mu: 3.5 }),
        ("exponential", Cost::default()),
    ]
}

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let columns =
        ["k", "cost", "choices", "keys", "mean", "deviation", "predicted_mean", "rate", "set_bits", "share"];
    let mut table = Table::new("set bits per block", &columns);
    let keys = size.pick(40_000, 500_000, 10_000_000);
    for k in KS {
        for (name, cost) in costs(k) {
            for choices in CHOICES {
                eprintln!("  k = {k}, {name} cost, {choices} choices");
                let setting = Setting { keys, k, size: 1.0, cost, seed: 7, strangers: 0 };
                let filled = setting.fill(Member::Blocked(choices, Pattern::Random))?;
                let (mean, deviation) = filled.moments();
                let predicted = 512.0 * setting.blocked(choices, Pattern::Random).fill(keys);
                let blocks = filled.histogram.iter().sum::<u64>() as f64;
                for (at, bin) in filled.histogram.chunks(BIN).enumerate() {
                    let share = bin.iter().sum::<u64>() as f64 / blocks;
                    if share < 1e-5 {
                        continue;
                    }
                    table.push(vec![
                        Cell::Count(u64::from(k)),
                        Cell::text(name),
                        Cell::Count(u64::from(choices)),
                        Cell::Count(keys),
                        Cell::number(mean, 2),
                        Cell::number(deviation, 2),
                        Cell::number(predicted, 2),
                        Cell::Rate(filled.rate),
                        Cell::number((at * BIN) as f64 + (BIN - 1) as f64 / 2.0, 1),
                        Cell::number(share, 5),
                    ]);
                }
            }
        }
    }
    Ok(table)
}

fn rows<'a>(record: &'a Record, k: u32, cost: &str, choices: u8) -> impl Iterator<Item = Row<'a>> {
    let (k, choices) = (k.to_string(), choices.to_string());
    record
        .rows()
        .filter(move |row| row.text("k") == k && row.text("cost") == cost && row.text("choices") == choices)
}

/// Returns a fact about one filter, which is the same in all of its rows.
fn fact(record: &Record, k: u32, cost: &str, choices: u8, column: &str) -> f64 {
    rows(record, k, cost, choices).next().map_or(f64::NAN, |row| row.number(column))
}

fn show(record: &Record) -> Vec<Piece> {
    let panels = (0..3).flat_map(|cost| KS.map(|k| panel(record, k, costs(k)[cost].0)));
    let mut table = Table::new(
        "",
        &["cost", "k", "c", "mean", "predicted", "allowed", "standard deviation", "log2 rate + k"],
    );
    for k in KS {
        for (cost, choices) in costs(k).iter().flat_map(|cost| CHOICES.map(|choices| (cost.0, choices))) {
            let fact = |column| fact(record, k, cost, choices, column);
            table.push(vec![
                Cell::text(cost),
                Cell::Count(u64::from(k)),
                Cell::Count(u64::from(choices)),
                Cell::number(fact("mean"), 1),
                Cell::number(fact("predicted_mean"), 1),
                Cell::number(theory::bloom::allowed_bits(k, choices), 1),
                Cell::number(fact("deviation"), 1),
                Cell::number(fact("rate").log2() + f64::from(k), 3),
            ]);
        }
    }
    let keys = record.fact("keys");
    let deviation = |choices| fact(record, 14, "exponential", choices, "deviation");
    vec![
        Piece::Text(format!(
            "Filters of the size of a plain one with {keys} keys, random patterns; vertical lines are means. \
             Four choices are ours. The paper gives no numbers for its histograms. \"Allowed\" is the mean \
             that an even filter may have at rate 2^-k (Figure 3). With the exponential cost at k = 14, the \
             standard deviation falls from {:.1} bits with one choice to {:.1}, {:.1} and {:.1} with two, \
             three and four.",
            deviation(1),
            deviation(2),
            deviation(3),
            deviation(4)
        )),
        Piece::Figure(Figure::new(panels.collect()).columns(2)),
        Piece::Table(table),
    ]
}

fn panel(record: &Record, k: u32, cost: &str) -> Panel {
    let curves = CHOICES.flat_map(|choices| {
        let points: Vec<_> = rows(record, k, cost, choices)
            .map(|row| (row.number("set_bits"), 100.0 * row.number("share") / BIN as f64))
            .collect();
        let mean = fact(record, k, cost, choices, "mean");
        let top = points.iter().map(|point| point.1).fold(0.0, f64::max);
        let colour = colour_of_choices(choices);
        [
            Curve::line(format!("c = {choices}"), colour, points),
            Curve::dashed(format!("c = {choices}: mean"), colour, vec![(mean, 0.0), (mean, top)]),
        ]
    });
    let title = format!("k = {k}, {cost} cost");
    Panel::new(title, Scale::linear("set bits of a block"), Scale::linear("% of the blocks")).with(curves)
}

/// Checks that more choices make blocks emptier and more even, and that the means agree with the model.
fn check(record: &Record) -> Result<(), String> {
    for (k, cost) in KS.into_iter().flat_map(|k| costs(k).map(|cost| (k, cost.0))) {
        for choices in CHOICES {
            let fact = |choices, column| fact(record, k, cost, choices, column);
            let name = format!("k = {k}, {cost} cost, {choices} choices");
            let (mean, predicted) = (fact(choices, "mean"), fact(choices, "predicted_mean"));
            // In a filter with few blocks, candidates are not quite independent.
            let slack = 0.3 + 2e4 / fact(choices, "keys");
            if (mean - predicted).abs() > slack || mean.is_nan() {
                return Err(format!("{name}: a mean of {mean}, predicted {predicted}"));
            }
            if choices > 1 {
                if mean >= fact(choices - 1, "mean") {
                    return Err(format!("{name}: blocks are no emptier than with one choice less"));
                }
                // The paper has up to three choices. A fourth saves bits, but with the mixed cost it does not
                // make blocks more even.
                let must_be_even = choices <= 3 || cost == "exponential";
                if must_be_even && fact(choices, "deviation") >= fact(choices - 1, "deviation") {
                    return Err(format!("{name}: blocks are no more even than with one choice less"));
                }
            }
            let share: f64 = rows(record, k, cost, choices).map(|row| row.number("share")).sum();
            if !(0.99..1.001).contains(&share) {
                return Err(format!("{name}: the histogram sums to {share}"));
            }
        }
        let rate = |cost: &str| fact(record, k, cost, 2, "rate");
        if rate(cost) < rate("exponential") {
            return Err(format!("k = {k}: the {cost} cost is better than the exponential one"));
        }
    }
    Ok(())
}
