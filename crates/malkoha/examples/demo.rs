//! Every kind of filter, filled with a million keys: what was predicted beside what is measured.
//!
//! ```text
//! cargo run --release -p malkoha --example demo
//! ```
#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::error::Error;
use std::time::Instant;

use malkoha::{Filter, Kind, Spec};

const KEYS: u64 = 1_000_000;
const RATE: f64 = 1.0 / 1024.0;
const STRANGERS: u64 = 4_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{KEYS} keys, rate at most {RATE:.6}; million keys per second, one thread\n");
    println!("                bits     rate                             insert      insert  find     find");
    println!("kind            per key  predicted  measured  load      one by one  bulk    present  absent");
    let kinds = [
        Kind::Classic(4),
        Kind::SemiSorted,
        Kind::Simplified(4),
        Kind::Flexible(4),
        Kind::Windowed(2),
        Kind::Windowed(3),
        Kind::Windowed(4),
        Kind::Sorted,
        Kind::Bloom,
        Kind::Blocked(1),
        Kind::Blocked(2),
        Kind::Blocked(3),
    ];
    for kind in kinds {
        row(kind)?;
    }
    println!("\nevery stored key was found, and every cuckoo filter was empty after removing them all");
    Ok(())
}

/// Fills a filter, asks it for every key and for strangers, and empties it again if it can.
fn row(kind: Kind) -> Result<(), Box<dyn Error>> {
    let keys: Vec<u64> = (0..KEYS).collect();
    let spec = Spec::new(KEYS, RATE).kind(kind);
    let mut filter = spec.build()?;

    let start = Instant::now();
    for key in &keys {
        filter.insert(key)?;
    }
    let inserts = per_second(KEYS, start);

    let start = Instant::now();
    let bulk = spec.build_from(&keys)?;
    let bulk_inserts = per_second(KEYS, start);

    let start = Instant::now();
    let found = filter.contains_slice(&keys);
    let finds = per_second(KEYS, start);
    assert!(found.into_iter().all(|found| found), "{kind} lost a key");
    assert!(bulk.contains_slice(&keys).into_iter().all(|found| found), "{kind} lost a key");

    let (measured, absent) = measured_rate(&filter);
    println!(
        "{kind:14} {:8.2} {:10.6} {measured:9.6} {:7.4} {inserts:11.1} {bulk_inserts:7.1} {finds:8.1} {absent:7.1}",
        filter.geometry().bits_per_key(),
        filter.geometry().predicted_rate(KEYS),
        filter.stats().load,
    );

    if !kind.is_bloom() {
        assert_eq!(filter.remove_slice(&keys)?, keys.len(), "{kind} lost a key");
        assert!(filter.is_empty());
    }
    Ok(())
}

fn per_second(keys: u64, start: Instant) -> f64 {
    keys as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// The share of keys that were never stored and are found all the same, and the million keys per second that
/// it took to ask.
fn measured_rate(filter: &Filter) -> (f64, f64) {
    let strangers: Vec<u64> = (KEYS..KEYS + STRANGERS).collect();
    let start = Instant::now();
    let answers = filter.contains_slice(&strangers);
    let finds = per_second(STRANGERS, start);
    (answers.into_iter().filter(|found| *found).count() as f64 / STRANGERS as f64, finds)
}
