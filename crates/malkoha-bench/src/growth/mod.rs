//! `growth`: what a filter costs that is not told how many keys it will hold.
//!
//! ```text
//!   curve     one filter grown key by key: memory, rate and longest insert at every tenth of a doubling
//!   speed     a grown filter beside one planned for as many keys, in turns
//!   latency   how long single inserts take in both
//!   merge     many filters of uneven sizes merged, beside storing all of their keys again
//! ```
//!
//! Every number is one row of the record: the part, the number of keys, what was measured, and the number.

mod curve;
mod latency;
mod merge;
mod speed;

use std::error::Error;

use malkoha::{Filter, Spec};

use crate::cli::GrowthArgs;
use crate::memory::{touch, use_pages};
use crate::race::STRANGERS;
use crate::table::{Cell, Table};

/// Keys that the curve begins with.
const FIRST_KEYS: u64 = 1000;

/// What is measured, and how often.
#[derive(Clone, Debug)]
struct Course {
    rate: f64,
    /// Keys at the end of the curve.
    keys: u64,
    speeds: Vec<u64>,
    /// Filters that are merged, and the keys of the smallest and the largest.
    parts: usize,
    merged: [u64; 2],
    queries: usize,
    strangers: u64,
    repeats: usize,
}

impl TryFrom<&GrowthArgs> for Course {
    type Error = Box<dyn Error>;

    fn try_from(args: &GrowthArgs) -> Result<Self, Self::Error> {
        let scale = if args.quick { 10 } else { 1 };
        let merged = match args.merged.as_deref() {
            None => [10_000 / scale, 1_000_000 / scale],
            Some(&[least, most]) if 0 < least && least <= most => [least, most],
            Some(_) => return Err("--merged takes two numbers, the smaller one first".into()),
        };
        Ok(Self {
            rate: args.rate.0,
            keys: args.keys.unwrap_or(10_000_000 / scale).max(FIRST_KEYS),
            speeds: args.speeds.clone().unwrap_or_else(|| vec![100_000, 10_000_000 / scale]),
            parts: args.parts.max(1),
            merged,
            queries: args.queries,
            strangers: args.strangers.max(1),
            repeats: args.repeats.unwrap_or(if args.quick { 3 } else { 5 }).max(1),
        })
    }
}

/// The rows of the record.
struct Results(Table);

impl Results {
    fn push(&mut self, part: &str, keys: u64, what: &str, number: f64) {
        self.0.push(vec![Cell::text(part), Cell::Count(keys), Cell::text(what), Cell::Number(number, 3)]);
    }
}

/// Measures everything and returns one row for each number.
pub(crate) fn run(args: &GrowthArgs) -> Result<Table, Box<dyn Error>> {
    use_pages(args.pages);
    let course = Course::try_from(args)?;
    let mut results = Results(Table::new("growth", &["part", "keys", "what", "number"]));
    curve::measure(&course, &mut results)?;
    for keys in &course.speeds {
        speed::measure(&course, *keys, &mut results)?;
        latency::measure(&course, *keys, &mut results)?;
    }
    merge::measure(&course, &mut results)?;
    Ok(results.0)
}

/// Takes as much memory as all filters of so many keys together, and gives it back. On a virtual machine the first touch
/// of a page of 2 MiB may take milliseconds, because its host has to find memory for it. That is no part of a step of
/// growth: whoever takes memory first waits for it.
fn have_memory_ready(keys: u64) -> Result<(), Box<dyn Error>> {
    touch(usize::try_from(16 * keys)?);
    Ok(())
}

/// A filter that took its keys one by one.
fn one_by_one(spec: &Spec, keys: &[u64]) -> Result<Filter, Box<dyn Error>> {
    let mut filter = spec.build()?;
    for key in keys {
        filter.insert(key)?;
    }
    Ok(filter)
}

/// The share of keys that are found though they were never stored.
fn measured_rate(filter: &Filter, strangers: u64) -> f64 {
    const CHUNK: u64 = 1 << 16;
    let mut found = 0;
    for begin in (0..strangers).step_by(1 << 16) {
        let keys: Vec<u64> = (begin..strangers.min(begin + CHUNK)).map(|key| STRANGERS + key).collect();
        found += filter.contains_slice(&keys).into_iter().filter(|found| *found).count();
    }
    found as f64 / strangers as f64
}

/// Ends the run if a key is not found.
fn check(filter: &Filter, keys: &[u64]) -> Result<(), Box<dyn Error>> {
    let all = keys.chunks(1 << 16).all(|keys| filter.contains_slice(keys).into_iter().all(|found| found));
    if all { Ok(()) } else { Err("a filter lost a key".into()) }
}
