//! Memory, rate and longest step while a filter grows, beside a chain and plans for every size.

use std::error::Error;

use malkoha::{Filter, Spec, testing};

use super::{Course, FIRST_KEYS, Results, check, have_memory_ready, measured_rate};

/// Points in a doubling.
const POINTS: i32 = 10;

/// Grows both filters from point to point.
pub(super) fn measure(course: &Course, results: &mut Results) -> Result<(), Box<dyn Error>> {
    have_memory_ready(course.keys)?;
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
        let step = stats.growth.ok_or("a filter of a rate alone grows by regions")?.longest_step;
        let mut push = |what, number| results.push("curve", keys, what, number);
        push("bits", bits_per_key(&growing));
        push("chain bits", bits_per_key(&chain));
        push("planned bits", planned.bits_per_key());
        push("predicted rate", stats.predicted_rate);
        push("measured rate", measured_rate(&growing, course.strangers));
        push("longest step in us", step.as_secs_f64() * 1e6);
    }
    check(&growing, &(0..next).collect::<Vec<_>>())
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
