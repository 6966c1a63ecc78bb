//! Deduplication with expiry: events that repeat within an hour are dropped; later they count as new.
//!
//! ```text
//! cargo run -p malkoha --example pattern_ttl_dedup
//! ```

use std::collections::HashSet;

use malkoha::{Generations, Inserted, Spec};

const HOUR: u64 = 3600;

/// A day of events, ten per second, each of which is delivered again some minutes later.
pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
    // Planned for the busiest hour, not the average one, plus a tenth: beyond its plan a window takes more memory.
    // With six generations a key is forgotten after 1 to 1.2 hours.
    let rate = 0.001;
    let mut seen = Generations::of_ticks(&Spec::new(11 * HOUR, rate), 6, HOUR)?;
    let mut processed = 0u64;
    let mut dropped_wrongly = HashSet::new();
    let memory = seen.stats().memory_bytes;

    for second in 0..24 * HOUR {
        for event in 0..10 {
            let new = second * 10 + event;
            match seen.insert_unique_at(&new, second)? {
                Inserted::Stored => processed += 1,
                Inserted::Seen => drop(dropped_wrongly.insert(new)),
            }
        }
        // An event of 50 minutes ago is delivered a second time. Only an event that was mistaken for another, and
        // so not stored, may count as new now.
        if let Some(before) = second.checked_sub(HOUR * 5 / 6) {
            let again = before * 10;
            let answer = seen.insert_unique_at(&again, second)?;
            assert!(
                answer == Inserted::Seen || dropped_wrongly.contains(&again),
                "{again} was inside the window"
            );
        }
    }
    let (wrong, all) = (dropped_wrongly.len() as u64, 10 * 24 * HOUR);
    assert_eq!(processed + wrong, all);
    assert!((wrong as f64) < 1.2 * rate * all as f64, "{wrong} new events of {all} were dropped");
    assert_eq!(seen.stats().memory_bytes, memory, "the memory is that of an hour, even after a day");

    // Two hours later everything is forgotten.
    assert_eq!(seen.insert_unique_at(&(10 * 24 * HOUR - 1), 26 * HOUR)?, Inserted::Stored);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
