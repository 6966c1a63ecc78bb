//! Memory, rate and longest insert while a filter grows, beside a chain and plans for every size.

use std::error::Error;
use std::time::{Duration, Instant};

use malkoha::{Filter, Spec, testing};

use super::{Course, FIRST_KEYS, Results, check, have_memory_ready, measured_rate};

/// Points in a doubling.
const POINTS: i32 = 10;

/// Grows both filters from point to point.
pub(super) fn measure(course: &Course, results: &mut Results) -> Result<(), Box<dyn Error>> {
    let mut growing = Spec::rate(course.rate).build()?;
    let mut chain = testing::build_chain(&Spec::new(FIRST_KEYS, course.rate))?;
    let mut next = 0;
    for keys in points(course.keys) {
        eprintln!("curve: {keys} of {} keys", course.keys);
        for key in next..keys {
            growing.insert(&key)?;
            chain.insert(&key)?;
        }
        next = keys;
        let (stats, planned) = (growing.stats(), Spec::new(keys, course.rate).plan()?);
        let mut push = |what, number| results.push("curve", keys, what, number);
        push("bits", bits_per_key(&growing));
        push("chain bits", bits_per_key(&chain));
        push("planned bits", planned.bits_per_key());
        push("predicted rate", stats.predicted_rate);
        push("measured rate", measured_rate(&growing, course.strangers));
    }
    check(&growing, &(0..next).collect::<Vec<_>>())?;
    drop((growing, chain));
    for (keys, longest) in longest_inserts(course)? {
        results.push("curve", keys, "longest insert in us", longest.as_secs_f64() * 1e6);
    }
    Ok(())
}

/// For every point, the longest insert since the point before. Growth does the same work every time, but the system
/// interrupts some inserts for longer than they take, so this is of the run in which it was shortest.
fn longest_inserts(course: &Course) -> Result<Vec<(u64, Duration)>, Box<dyn Error>> {
    let mut shortest: Vec<_> = points(course.keys).into_iter().map(|keys| (keys, Duration::MAX)).collect();
    for run in 1..=course.repeats {
        eprintln!("longest inserts: run {run} of {}", course.repeats);
        let (mut growing, mut next) = (Spec::rate(course.rate).build()?, 0);
        for (keys, shortest) in &mut shortest {
            // Again for every point: what was given back seconds ago, the system may have given back to its host.
            have_memory_ready(*keys - next)?;
            let mut longest = Duration::ZERO;
            for key in next..*keys {
                let begun = Instant::now();
                growing.insert(&key)?;
                longest = longest.max(begun.elapsed());
            }
            (next, *shortest) = (*keys, longest.min(*shortest));
        }
    }
    Ok(shortest)
}

fn bits_per_key(filter: &Filter) -> f64 {
    let stats = filter.stats();
    8.0 * stats.memory_bytes as f64 / stats.items as f64
}

/// Numbers of keys from the first to the last, every tenth of a doubling.
fn points(last: u64) -> Vec<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
    let point = |i: i32| (FIRST_KEYS as f64 * (f64::from(i) / f64::from(POINTS)).exp2()).round() as u64;
    let mut points: Vec<u64> = (0..1000).map(point).take_while(|keys| *keys < last).collect();
    points.push(last);
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_a_tenth_of_a_doubling_apart() {
        let points = points(10_000);
        assert_eq!((points[0], points[10], points[30], points[34]), (1000, 2000, 8000, 10_000));
        assert!(points.is_sorted() && points.len() == 35);
    }
}
