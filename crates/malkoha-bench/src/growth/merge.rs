//! Many growing filters of uneven sizes merged into one, beside storing all of their keys again.

use std::error::Error;

use malkoha::Spec;

use super::{Course, Results, check, measured_rate, one_by_one};
use crate::measure;

/// Merges filters whose sizes are evenly spread over the orders of magnitude. Each has its share of the rate.
pub(super) fn measure(course: &Course, results: &mut Results) -> Result<(), Box<dyn Error>> {
    let sizes = sizes(course);
    let total: u64 = sizes.iter().sum();
    let keys: Vec<u64> = (0..total).collect();
    let part = Spec::rate(course.rate / course.parts as f64);
    let (mut parts, mut rest) = (Vec::new(), &keys[..]);
    for (number, size) in (1..).zip(&sizes) {
        eprintln!("merge: filter {number} of {}", sizes.len());
        let (mine, others) = rest.split_at(usize::try_from(*size)?);
        parts.push(one_by_one(&part, mine)?);
        rest = others;
    }
    // The largest takes the others.
    let mut all = parts.pop().ok_or("nothing to merge")?;
    let (merging, merged) = measure::time(|| parts.iter().try_for_each(|part| all.merge(part)));
    merged?;
    check(&all, &keys)?;
    let (inserting, again) = measure::time(|| one_by_one(&Spec::rate(course.rate), &keys));
    let again = again?;
    let (bulk, built) = measure::time(|| Spec::rate(course.rate).build_from(&keys));
    built?;
    let stats = all.stats();
    let mut push = |what, number| results.push("merge", total, what, number);
    push("filters", sizes.len() as f64);
    push("seconds merging", merging.as_secs_f64());
    push("seconds inserting again", inserting.as_secs_f64());
    push("seconds in bulk", bulk.as_secs_f64());
    push("promised rate", stats.promised_rate);
    push("predicted rate", stats.predicted_rate);
    push("measured rate", measured_rate(&all, 4 * course.strangers));
    push("bits", 8.0 * stats.memory_bytes as f64 / total as f64);
    push("bits inserting again", 8.0 * again.stats().memory_bytes as f64 / total as f64);
    Ok(())
}

/// The keys of every filter, ascending.
fn sizes(course: &Course) -> Vec<u64> {
    let [least, most] = course.merged.map(|keys| keys as f64);
    let last = (course.parts - 1).max(1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
    let size = |i: usize| (least * (most / least).powf(i as f64 / last)).round() as u64;
    (0..course.parts).map(size).collect()
}
