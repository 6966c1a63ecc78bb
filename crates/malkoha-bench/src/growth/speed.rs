//! A filter that has grown beside one that was planned for as many keys, in turns.
//!
//! Lookups are also measured in a planned filter of as many bytes as the one that has grown: that one has no more of its
//! table in the cache, so what is left between the two is code, not memory.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use malkoha::{Filter, Kind, Spec};

use super::{Course, Results, check, one_by_one};
use crate::measure::{self, Series};
use crate::race;

/// Small filters are filled several times in a row, until this many keys are stored.
const KEYS_PER_TURN: u64 = 1 << 21;

/// The planned filter that growing ones are compared with.
pub(super) fn planned(keys: u64, rate: f64) -> Spec {
    Spec::new(keys, rate).kind(Kind::Flexible(4))
}

/// Speeds of one operation: of the growing filter, of the planned one, and of a planned one of as many bytes as the
/// growing one, unless it was not measured.
#[derive(Default)]
struct Pair {
    growing: Series,
    planned: Series,
    of_equal_bytes: Option<Series>,
}

impl Pair {
    fn record(&self, what: &str, keys: u64, results: &mut Results) {
        results.push("speed", keys, &format!("{what}, growing"), self.growing.median());
        results.push("speed", keys, &format!("{what}, planned"), self.planned.median());
        results.push("speed", keys, &format!("{what}, ratio"), self.growing.over(&self.planned).median());
        if let Some(equal) = &self.of_equal_bytes {
            let ratio = self.growing.over(equal).median();
            results.push("speed", keys, &format!("{what}, planned of equal bytes"), equal.median());
            results.push("speed", keys, &format!("{what}, ratio to equal bytes"), ratio);
        }
    }
}

/// The planned filter with so much more room that it has as many bytes as another, given those that it has without.
fn with_room(count: u64, rate: f64, bytes: u64, without: u64) -> Spec {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
    let room = (count as f64 * bytes as f64 / without as f64) as u64;
    planned(room.max(count), rate)
}

/// Compares the two at one number of keys.
pub(super) fn measure(course: &Course, count: u64, results: &mut Results) -> Result<(), Box<dyn Error>> {
    let keys: Vec<u64> = (0..count).collect();
    let (growing, plan) = (Spec::rate(course.rate), planned(count, course.rate));
    let queries = race::queries(course.queries, count, 50);
    let (mut slices, mut singles, mut inserts, mut bulk) =
        (Pair::default(), Pair::default(), Pair::default(), Pair::default());
    let [mut grown_built, mut bits] = [Series::default(), Series::default()];
    let [mut equal_slices, mut equal_singles] = [Series::default(), Series::default()];
    for turn in 1..=course.repeats {
        eprintln!("speed at {count} keys: turn {turn} of {}", course.repeats);
        let (old, speed) = filled(&keys, || one_by_one(&growing, &keys))?;
        inserts.growing.push(speed);
        let (reference, speed) = filled(&keys, || one_by_one(&plan, &keys))?;
        inserts.planned.push(speed);
        let (young, speed) = filled(&keys, || Ok(growing.build_from(&keys)?))?;
        bulk.growing.push(speed);
        bulk.planned.push(filled(&keys, || Ok(plan.build_from(&keys)?))?.1);
        let bytes = old.stats().memory_bytes;
        let equal = with_room(count, course.rate, bytes, reference.stats().memory_bytes).build_from(&keys)?;
        for filter in [&old, &young, &reference, &equal] {
            check(filter, &keys)?;
        }
        slices.growing.push(find_slices(&old, &queries));
        slices.planned.push(find_slices(&reference, &queries));
        grown_built.push(find_slices(&young, &queries));
        singles.growing.push(find_singles(&old, &queries));
        singles.planned.push(find_singles(&reference, &queries));
        equal_slices.push(find_slices(&equal, &queries));
        equal_singles.push(find_singles(&equal, &queries));
        bits.push(8.0 * bytes as f64 / count as f64);
    }
    slices.of_equal_bytes = Some(equal_slices);
    singles.of_equal_bytes = Some(equal_singles);
    slices.record("find in slices", count, results);
    singles.record("find one by one", count, results);
    inserts.record("insert one by one", count, results);
    bulk.record("bulk", count, results);
    let built = Pair { growing: grown_built, ..slices };
    built.record("find in slices after bulk", count, results);
    results.push("speed", count, "bits", bits.median());
    Ok(())
}

/// Fills a filter, several times if it is small, and returns the last one and million keys per second.
fn filled(
    keys: &[u64],
    fill: impl Fn() -> Result<Filter, Box<dyn Error>>,
) -> Result<(Filter, f64), Box<dyn Error>> {
    let rounds = (KEYS_PER_TURN / keys.len().max(1) as u64).max(1);
    let (mut filter, mut time) = (None, Duration::ZERO);
    for _ in 0..rounds {
        drop(filter.take());
        let (once, made) = measure::time(&fill);
        filter = Some(made?);
        time += once;
    }
    let speed = measure::mega_per_second(keys.len(), time / u32::try_from(rounds)?);
    Ok((filter.ok_or("no filter was filled")?, speed))
}

fn find_slices(filter: &Filter, queries: &[u64]) -> f64 {
    let mut answers = vec![false; queries.len()];
    let few = queries.len() / 4;
    filter.contains_slice_into(&queries[..few], &mut answers[..few]);
    let (time, ()) = measure::time(|| filter.contains_slice_into(queries, &mut answers));
    black_box(&answers);
    measure::mega_per_second(queries.len(), time)
}

fn find_singles(filter: &Filter, queries: &[u64]) -> f64 {
    let found = |queries: &[u64]| queries.iter().filter(|key| filter.contains(*key)).count();
    black_box(found(&queries[..queries.len() / 4]));
    let (time, count) = measure::time(|| found(queries));
    black_box(count);
    measure::mega_per_second(queries.len(), time)
}
