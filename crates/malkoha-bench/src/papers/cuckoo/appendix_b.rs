//! Appendix B: the paper's linear hashes beside ours.

use std::error::Error;

use malkoha::{Kind, Offsets, Spec};

use super::rejected::{Buckets, Linear, Mixed, Placement};
use super::trials::{Keys, RANDOM, STRUCTURED, Trial, trial};
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::Record;
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-appendix-b",
    paper: Paper::Cuckoo,
    number: "Appendix B",
    title: "linear hash functions",
    minutes: (0.4, 4.0),
    run,
    show,
    check,
};

const K: u32 = 8;

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "hashes of buckets of four",
        &[
            "hash",
            "by",
            "buckets",
            "keys",
            "slots",
            "seeds",
            "share_of_threshold",
            "least_share",
            "load",
            "rate",
            "most_rate",
            "insert_mkeys_per_s",
            "find_mkeys_per_s",
        ],
    );
    let (places, seeds) = size.pick((1 << 11, 1), (1 << 16, 3), (1 << 20, 5));
    // Appendix B distinguishes numbers of buckets by what divides them.
    for (buckets, places) in [("odd", places - 1), ("even", places - 2), ("a power of two", places)] {
        let slots = 4 * places;
        for keys in [RANDOM].into_iter().chain(STRUCTURED) {
            let linear = |seed| Buckets::new(Linear::new(seed), Placement::Signed, places, K + 3);
            let mixed = |seed| Buckets::new(Mixed::new(seed), Placement::Signed, places, K + 3);
            let mut push =
                |hash, by, trial| table.push(row((hash, by, buckets), keys, (slots, seeds), &trial));
            push("linear", "simulator", trial(linear, keys, slots, seeds));
            push("ours", "simulator", trial(mixed, keys, slots, seeds));
        }
    }
    let slots = 4 * places;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fewer than the slots")]
    let spec = Spec::new((slots as f64 * 0.96) as u64, 2f64.powf(-f64::from(K))).kind(Kind::Flexible(4));
    let spec = spec.offsets(Offsets::Whole).stash(0);
    // A size that cannot be planned is refused here.
    spec.plan()?;
    for keys in [RANDOM].into_iter().chain(STRUCTURED) {
        let make = |seed| spec.seed(seed).build().expect("what can be planned can be built");
        table.push(row(
            ("ours", "engine", "any number"),
            keys,
            (slots, seeds),
            &trial(make, keys, slots, seeds),
        ));
    }
    Ok(table)
}

fn row(
    (hash, by, buckets): (&str, &str, &str),
    keys: Keys,
    (slots, seeds): (u64, u64),
    trial: &Trial,
) -> Vec<Cell> {
    vec![
        Cell::text(hash),
        Cell::text(by),
        Cell::text(buckets),
        Cell::text(keys.0),
        Cell::Count(slots),
        Cell::Count(seeds),
        Cell::number(trial.share, 4),
        Cell::number(trial.least_share, 4),
        Cell::number(trial.load, 4),
        Cell::Rate(trial.rate),
        Cell::Rate(trial.most_rate),
        Cell::number(trial.insert, 1),
        Cell::number(trial.find, 1),
    ]
}

fn show(record: &Record) -> Vec<Piece> {
    let mut table = Table::new(
        "",
        &[
            "hash",
            "measured in",
            "buckets",
            "keys",
            "first failure / T",
            "least",
            "rate x 2^k",
            "highest",
            "inserts",
            "finds",
        ],
    );
    let scaled = |rate: f64| Cell::number(rate * f64::from(1 << K), 3);
    for row in record.rows() {
        table.push(vec![
            Cell::text(row.text("hash")),
            Cell::text(row.text("by")),
            Cell::text(row.text("buckets")),
            Cell::text(row.text("keys")),
            Cell::number(row.number("share_of_threshold"), 4),
            Cell::number(row.number("least_share"), 4),
            scaled(row.number("rate")),
            scaled(row.number("most_rate")),
            Cell::number(row.number("insert_mkeys_per_s"), 1),
            Cell::number(row.number("find_mkeys_per_s"), 1),
        ]);
    }
    let highest = |hash: &str, random: bool| {
        let rows =
            record.rows().filter(|row| row.text("hash") == hash && (row.text("keys") == RANDOM.0) == random);
        rows.map(|row| row.number("most_rate")).fold(0.0, f64::max) * f64::from(1 << K)
    };
    let least = |hash: &str| {
        let rows = record.rows().filter(|row| row.text("hash") == hash);
        rows.map(|row| row.number("least_share")).fold(f64::INFINITY, f64::min)
    };
    vec![
        Piece::Text(format!(
            "Buckets of four with signed offsets at k = {K}, mean and worst of {} seeds. The linear hash x -> \
             a x mod 2^64 mod b, with the paper's two exceptions for even b, is compared with our hash of \
             integers in the same simple simulator. Speeds are million keys per second one by one. They can \
             only be compared within the simulator, where b is not a compile-time constant as it is in the \
             paper's programs.",
            record.fact("seeds")
        )),
        Piece::Table(table),
        Piece::Text(format!(
            "The highest rate with linear hashes is {:.2} times 2^-k for random keys, the only ones in the \
             paper, and {:.2} times for keys with a pattern; with ours it is {:.2} and {:.2} times. The \
             earliest first failure is at {:.4} of the threshold with linear hashes and at {:.4} with ours. {} \
             On random keys, inserts with linear hashes are {:.2} times and finds {:.2} times as fast as with \
             ours, averaged over the numbers of buckets.",
            highest("linear", true),
            highest("linear", false),
            highest("ours", true),
            highest("ours", false),
            least("linear"),
            least("ours"),
            verdict(highest("linear", false), least("linear")),
            quicker(record, "insert_mkeys_per_s"),
            quicker(record, "find_mkeys_per_s"),
        )),
    ]
}

/// Says what patterns do to linear hashes, judged by the highest rate over 2^-k and the earliest first
/// failure.
fn verdict(rate: f64, share: f64) -> &'static str {
    if rate > 1.2 || share < 0.97 {
        "So even among these few patterns, some make linear hashes miss the rate or the load."
    } else {
        "None of these patterns makes linear hashes miss the rate or the load: keys in regular steps spread \
         more evenly than random keys, and fewer collide. The argument against linear hashes is not in this \
         table: anyone who knows the factors can make keys that collide."
    }
}

/// Returns the speed of linear hashes divided by that of ours, in the simulator.
fn quicker(record: &Record, column: &str) -> f64 {
    let sum = |hash: &str| {
        let rows = record.rows().filter(|row| row.text("hash") == hash && row.text("by") == "simulator");
        rows.filter(|row| row.text("keys") == RANDOM.0).map(|row| row.number(column)).sum::<f64>()
    };
    sum("linear") / sum("ours")
}

/// Checks that ours fills and keeps its rate for all keys, and that linear hashes do so for random ones.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let name = format!("{} {}, {} keys", row.text("by"), row.text("hash"), row.text("keys"));
        if row.text("hash") == "linear" && row.text("keys") != RANDOM.0 {
            continue;
        }
        let least = if row.number("slots") < 1e5 { 0.96 } else { 0.985 };
        if row.number("least_share") < least {
            return Err(format!("{name}: first failure at {} T", row.text("least_share")));
        }
        // One fingerprint of 2^(k + 2) means empty.
        let expected = 4.0 * row.number("load") / f64::from((1 << (K + 2)) - 1);
        let hits = 2.0 * row.number("slots") * row.number("seeds") * expected;
        if (row.number("rate") / expected - 1.0).abs() > 0.02 + 5.0 / hits.sqrt() {
            return Err(format!("{name}: a rate of {}, not {expected:.3e}", row.text("rate")));
        }
    }
    Ok(())
}
