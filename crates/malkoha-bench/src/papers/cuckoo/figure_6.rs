//! Figure 6: the load at the first failure against the length of walks, the size and the rate.

use std::error::Error;

use malkoha::{Inserted, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::layouts::{self, Layout, NAMES};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-figure-6",
    paper: Paper::Cuckoo,
    number: "Figure 6",
    title: "achievable loads against walk length, size and rate",
    minutes: (0.8, 15.0),
    run,
    show,
    check,
};

const STEPS: [u32; 7] = [1, 10, 100, 1000, 10_000, 20_000, 50_000];
/// The k of the right side.
const EXPONENTS: [u32; 4] = [4, 8, 14, 20];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "loads at the first failure",
        &["side", "layout", "k", "slots", "steps", "seeds", "threshold", "load", "share"],
    );
    let mut measure = |side: &str, layout: Layout, k: u32, slots: u64, steps: u32, seeds: u64| {
        let loads = (0..seeds).map(|seed| first_failure(layout, k, slots, steps, seed));
        let load = loads.sum::<Result<f64, Box<dyn Error>>>()? / seeds as f64;
        let threshold = theory::threshold(layout.kind);
        table.push(vec![
            Cell::text(side),
            Cell::text(layout.name),
            Cell::Count(u64::from(k)),
            Cell::Count(slots),
            Cell::Count(u64::from(steps)),
            Cell::Count(seeds),
            Cell::number(threshold, 5),
            Cell::number(load, 5),
            Cell::number(load / threshold, 5),
        ]);
        Ok::<(), Box<dyn Error>>(())
    };
    let (slots, seeds) = size.pick((1 << 12, 1), (1 << 18, 2), (1 << 22, 5));
    let powers: &[u32] = size.pick(&[12, 13], &[14, 16, 18], &[14, 16, 18, 20, 22, 24]);
    for layout in layouts::of_any_load() {
        if size != Size::Tiny {
            eprintln!("  {}", layout.name);
        }
        for steps in STEPS {
            measure("walks", layout, 14, slots, steps, seeds)?;
        }
        for k in EXPONENTS {
            for power in powers {
                // Five runs, as in the paper, but only one for the largest size.
                let seeds = if *power > 22 { 1 } else { seeds };
                measure("sizes", layout, k, 1 << power, 10_000, seeds)?;
            }
        }
    }
    Ok(table)
}

/// Returns the load at which the first key finds no place, inserting the keys that the filter does not
/// report.
fn first_failure(layout: Layout, k: u32, slots: u64, steps: u32, seed: u64) -> Result<f64, Box<dyn Error>> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fewer than the slots")]
    let keys = (slots as f64 * layout.planned_load()) as u64;
    let mut filter = layout.wish(k)?.for_keys(keys).stash(0).max_steps(steps).seed(seed).build()?;
    let stored = |key: u64| filter.insert_unique(&key).map(|answer| answer == Inserted::Stored);
    // The seed makes these different keys in every filter; a few are seen and not stored.
    let refused = (0..4 * slots).map(stored).any(|answer| answer.is_err());
    if refused { Ok(filter.stats().load) } else { Err("four times as many keys as slots do not fit".into()) }
}

fn rows<'a>(record: &'a Record, side: &'a str, layout: Layout) -> impl Iterator<Item = Row<'a>> {
    layout.rows(record).filter(move |row| row.text("side") == side)
}

fn show(record: &Record) -> Vec<Piece> {
    let y = || Scale::linear("load / threshold");
    let walks = Panel::new("walk length, rate 2^-14", Scale::logarithmic("steps allowed", 10), y())
        .with([Curve::dashed("threshold", 7, vec![(1.0, 1.0), (1e5, 1.0)])])
        .with(
            layouts::of_any_load()
                .map(|layout| layout.curve(rows(record, "walks", layout), "steps", "share")),
        );
    let shares = || record.rows().filter(|row| row.text("side") == "sizes").map(|row| row.number("share"));
    let range = (
        (shares().fold(1.0, f64::min) * 100.0).floor() / 100.0,
        (shares().fold(1.0, f64::max) * 100.0).ceil() / 100.0,
    );
    let sizes = EXPONENTS.map(|k| {
        let of = |layout: Layout| {
            let rows = rows(record, "sizes", layout).filter(|row| row.is("k", k));
            layout.curve(rows, "slots", "share")
        };
        let scale = y().between(range.0, range.1);
        Panel::new(format!("rate 2^-{k}, 10 000 steps"), Scale::logarithmic("slots", 2), scale)
            .with(layouts::of_any_load().map(of))
    });
    let of = |steps: u32| {
        let shares = record.rows().filter(|row| row.text("side") == "walks" && row.is("steps", steps));
        shares.map(|row| row.number("share")).fold(1.0, f64::min)
    };
    let mut pieces = vec![
        Piece::Text(format!(
            "The load at which the first insert fails, as a share of the threshold, without a stash. Keys are \
             inserted if the filter does not report them. {NAMES} The paper does not give its points (10^9 \
             slots) as numbers. It concludes that 10 000 to 20 000 steps come close to the thresholds, that \
             loads do not depend on the rate except at k = 4, where they are lower, and that they fall \
             slightly with the size."
        )),
        Piece::Figure(Figure::new([walks].into_iter().chain(sizes).collect())),
    ];
    pieces.push(Piece::Text(format!(
        "The lowest of all layouts reaches {:.4} of its threshold with 1000 steps, {:.4} with 10 000 and {:.4} \
         with 50 000. At k = 4 the slots of windows have one more bit here than in the paper, so that they \
         keep their rate. Offsets of a fixed reach should slowly lose load as tables grow, so their reach \
         grows in very large dense tables.",
        of(1000),
        of(10_000),
        of(50_000)
    )));
    pieces
}

/// Checks that loads rise with the steps, that 10 000 steps come close to the threshold, and that the rate
/// hardly matters from k = 8 on.
fn check(record: &Record) -> Result<(), String> {
    let tiny = record.rows().any(|row| row.number("slots") < 10_000.0);
    for layout in layouts::of_any_load() {
        let walks: Vec<f64> = rows(record, "walks", layout).map(|row| row.number("share")).collect();
        let noise = if tiny { 0.02 } else { 0.004 };
        if walks.windows(2).any(|pair| pair[1] < pair[0] - noise) || walks[0] > 0.97 {
            return Err(format!("{}: loads do not rise with the steps: {walks:?}", layout.name));
        }
        for row in rows(record, "sizes", layout) {
            let least = if row.number("k") < 8.0 {
                0.85
            } else if tiny {
                0.93
            } else {
                0.97
            };
            if !(least..1.02).contains(&row.number("share")) {
                let (k, slots, share) = (row.text("k"), row.text("slots"), row.text("share"));
                return Err(format!("{} at k = {k}, {slots} slots: first failure at {share} T", layout.name));
            }
        }
    }
    Ok(())
}
