//! Section 3.1: the placement b' = (B - b - f) mod B that the paper rejects, beside signed offsets.

use std::error::Error;

use malkoha::{Kind, Offsets, Spec};

use super::rejected::{Buckets, Mixed, Placement};
use super::trials::{RANDOM, Trial, trial};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-section-3-1",
    paper: Paper::Cuckoo,
    number: "Section 3.1",
    title: "the rejected placement",
    minutes: (0.3, 6.0),
    run,
    show,
    check,
};

const EXPONENTS: [u32; 3] = [2, 8, 13];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "placements of buckets of four",
        &[
            "placement",
            "by",
            "k",
            "slots",
            "seeds",
            "fingerprints",
            "share_of_threshold",
            "load",
            "rate",
            "insert_mkeys_per_s",
            "find_mkeys_per_s",
            "correlation",
        ],
    );
    let (places, seeds) = size.pick((1 << 12, 1), (1 << 17, 2), (1 << 22, 3));
    let slots = 4 * places;
    for k in EXPONENTS {
        for (name, placement) in [("signed", Placement::Signed), ("mirrored", Placement::Mirrored)] {
            let make = |seed| Buckets::new(Mixed::new(seed), placement, places, k + 3);
            let fingerprints = (1 << if placement == Placement::Signed { k + 2 } else { k + 3 }) - 1;
            let correlation = correlation(&make(0));
            table.push(row(
                (name, "simulator"),
                (k, slots, seeds, fingerprints),
                &trial(make, RANDOM, slots, seeds),
                correlation,
            ));
        }
        for (name, offsets) in [("signed, whole", Offsets::Whole), ("signed, local", Offsets::Local)] {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "fewer than the slots"
            )]
            let keys = (slots as f64 * 0.96) as u64;
            let spec =
                Spec::new(keys, 2f64.powf(-f64::from(k))).kind(Kind::Flexible(4)).offsets(offsets).stash(0);
            let fingerprints = spec.plan()?.cuckoo().map_or(0, malkoha::cuckoo::CuckooLayout::fingerprints);
            let make = |seed| spec.seed(seed).build().expect("what can be planned can be built");
            table.push(row(
                (name, "engine"),
                (k, slots, seeds, fingerprints),
                &trial(make, RANDOM, slots, seeds),
                f64::NAN,
            ));
        }
    }
    Ok(table)
}

fn row(
    (name, by): (&str, &str),
    (k, slots, seeds, fingerprints): (u32, u64, u64, u64),
    trial: &Trial,
    correlation: f64,
) -> Vec<Cell> {
    vec![
        Cell::text(name),
        Cell::text(by),
        Cell::Count(u64::from(k)),
        Cell::Count(slots),
        Cell::Count(seeds),
        Cell::Count(fingerprints),
        Cell::number(trial.share, 4),
        Cell::number(trial.load, 4),
        Cell::Rate(trial.rate),
        Cell::number(trial.insert, 1),
        Cell::number(trial.find, 1),
        Cell::number(correlation, 3),
    ]
}

/// Returns Pearson's correlation between the two places of a key.
fn correlation(table: &Buckets<Mixed>) -> f64 {
    const KEYS: u64 = 100_000;
    let pairs: Vec<(f64, f64)> =
        (0..KEYS).map(|key| table.pair(key)).map(|(a, b)| (a as f64, b as f64)).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / KEYS as f64;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let product: f64 = pairs.iter().map(|pair| (pair.0 - a) * (pair.1 - b)).sum();
    let squares = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| of(pair).powi(2)).sum::<f64>();
    product / (squares(&|pair| pair.0 - a) * squares(&|pair| pair.1 - b)).sqrt()
}

fn show(record: &Record) -> Vec<Piece> {
    let mut table = Table::new(
        "",
        &[
            "k",
            "placement",
            "measured in",
            "first failure / T",
            "load",
            "rate x 2^k",
            "inserts",
            "finds",
            "correlation",
        ],
    );
    for row in record.rows() {
        table.push(vec![
            Cell::number(row.number("k"), 0),
            Cell::text(row.text("placement")),
            Cell::text(row.text("by")),
            Cell::number(row.number("share_of_threshold"), 4),
            Cell::number(row.number("load"), 3),
            Cell::number(row.number("rate") * row.number("k").exp2(), 3),
            Cell::number(row.number("insert_mkeys_per_s"), 1),
            Cell::number(row.number("find_mkeys_per_s"), 1),
            Cell::number(row.number("correlation"), 2),
        ]);
    }
    let loss = |k: u32, one: &str, other: &str| {
        let of = |placement: &str| {
            find(record, placement, k).map_or(f64::NAN, |row| row.number("share_of_threshold"))
        };
        100.0 * (of(one) - of(other))
    };
    vec![
        Piece::Text(format!(
            "Buckets of four, k + 3 bits per slot, {} slots, mean of {} seeds. The paper's signed offset \
             spends a bit on the side. The placement b' = (B - b - f) mod B spends none, but it has two names \
             for a pair of places, so the rate is the same. A simple simulator has both; its speeds, in \
             million keys per second one by one, can only be compared with each other. The engine has only \
             signed offsets.",
            record.fact("slots"),
            record.fact("seeds")
        )),
        Piece::Table(table),
        Piece::Text(format!(
            "The paper names two faults: no randomization, and strong anti-correlation of the two places. The \
             correlation appears wherever there are fewer fingerprints than places. It costs load where \
             fingerprints are few: the first failure comes earlier by {:.2} % of the threshold at k = 2, by \
             {:.2} % at k = 8 and by {:.2} % at k = 13 (below 0 means later). What matters is how far offsets \
             reach, not where they lead: the engine's local offsets are correlated just as strongly, on \
             purpose, and its first failure at k = 8 comes {:.2} % of the threshold earlier than with offsets \
             over the whole table.",
            loss(2, "signed", "mirrored"),
            loss(8, "signed", "mirrored"),
            loss(13, "signed", "mirrored"),
            loss(8, "signed, whole", "signed, local")
        )),
    ]
}

fn find<'a>(record: &'a Record, placement: &str, k: u32) -> Option<Row<'a>> {
    record.rows().find(|row| row.text("placement") == placement && row.is("k", k))
}

/// Checks that signed offsets reach the threshold from k = 8 on, that rates follow from load and fingerprints
/// for both placements, and that mirrored places are anti-correlated where fingerprints are few.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let (placement, k) = (row.text("placement"), row.text("k"));
        let least = if row.number("slots") < 1e5 { 0.96 } else { 0.985 };
        if placement != "mirrored" && row.number("k") >= 8.0 && row.number("share_of_threshold") < least {
            return Err(format!(
                "{placement} at k = {k}: first failure at {} T",
                row.text("share_of_threshold")
            ));
        }
        let names = if placement == "mirrored" { 2.0 } else { 1.0 };
        let expected = -(-names * 4.0 * row.number("load") / row.number("fingerprints")).exp_m1();
        let hits = 2.0 * row.number("slots") * row.number("seeds") * expected;
        let slack = 0.02 + 5.0 / hits.sqrt();
        if (row.number("rate") / expected - 1.0).abs() > slack {
            return Err(format!(
                "{placement} at k = {k}: a rate of {}, not {expected:.3e}",
                row.text("rate")
            ));
        }
        let few = row.number("fingerprints") < row.number("slots") / 4.0 / 8.0;
        let wanted = if placement == "mirrored" { -1.0..-0.7 } else { -0.6..0.6 };
        let correlation = row.number("correlation");
        if few && correlation.is_finite() && !wanted.contains(&correlation) {
            return Err(format!("{placement} at k = {k}: a correlation of {correlation:.2}"));
        }
    }
    Ok(())
}
