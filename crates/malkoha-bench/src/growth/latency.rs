//! How long single inserts take, growth included, beside inserts into a planned filter.
//!
//! The clock itself takes some 20 to 40 ns, in both filters. The longest insert of a turn is often an interruption by
//! the system, so the shortest of all turns says most.

use std::error::Error;
use std::time::Instant;

use malkoha::Spec;

use super::speed::planned;
use super::{Course, Results, have_memory_ready};
use crate::measure::Series;

/// More keys would need too much memory for the times.
const MOST_KEYS: u64 = 10_000_000;

/// The times of one filter, turn by turn, in microseconds.
struct Times {
    name: &'static str,
    spec: Spec,
    /// The time within which 9999 of 10,000 inserts are done.
    usual: Series,
    longest: Vec<f64>,
}

/// Times every insert of filters with this many keys.
pub(super) fn measure(course: &Course, count: u64, results: &mut Results) -> Result<(), Box<dyn Error>> {
    if count > MOST_KEYS {
        return Ok(());
    }
    let times = |name, spec| Times { name, spec, usual: Series::default(), longest: Vec::new() };
    let mut both = [times("growing", Spec::rate(course.rate)), times("planned", planned(count, course.rate))];
    for turn in 1..=course.repeats {
        eprintln!("latency at {count} keys: turn {turn} of {}", course.repeats);
        for times in &mut both {
            let mut nanoseconds = nanoseconds(&times.spec, count)?;
            let at = nanoseconds.len() - 1 - nanoseconds.len() / 10_000;
            times.usual.push(f64::from(*nanoseconds.select_nth_unstable(at).1) / 1e3);
            times.longest.push(f64::from(nanoseconds.into_iter().max().unwrap_or(0)) / 1e3);
        }
    }
    for Times { name, usual, longest, .. } in both {
        let shortest = longest.into_iter().fold(f64::INFINITY, f64::min);
        results.push("latency", count, &format!("99.99 %, {name}"), usual.median());
        results.push("latency", count, &format!("longest, {name}"), shortest);
    }
    Ok(())
}

/// Nanoseconds of every insert.
fn nanoseconds(spec: &Spec, count: u64) -> Result<Vec<u32>, Box<dyn Error>> {
    let mut times = vec![0; usize::try_from(count)?];
    have_memory_ready(count)?;
    let mut filter = spec.build()?;
    for (key, time) in (0..count).zip(&mut times) {
        let begun = Instant::now();
        filter.insert(&key)?;
        *time = u32::try_from(begun.elapsed().as_nanos()).unwrap_or(u32::MAX);
    }
    Ok(times)
}
