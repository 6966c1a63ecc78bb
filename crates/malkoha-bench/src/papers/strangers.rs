//! Measures the rate of a filter by looking up keys that were never stored.

use malkoha::Filter;

use crate::race::STRANGERS;

/// Keys that are looked up at once.
const CHUNK: u64 = 1 << 16;

/// Returns how many of this many strangers a filter reports: integers from 2^41 on, none of which may be
/// stored.
pub(super) fn ask(filter: &Filter, strangers: u64) -> u64 {
    ask_from(STRANGERS, strangers, |keys, answers| filter.contains_slice_into(keys, answers))
}

/// Returns how many of this many integers, from `first` on, `contains` reports.
pub(super) fn ask_from(first: u64, strangers: u64, mut contains: impl FnMut(&[u64], &mut [bool])) -> u64 {
    let (mut keys, mut answers) = (Vec::new(), Vec::new());
    let mut hits = 0;
    let mut start = 0;
    while start < strangers {
        let end = (start + CHUNK).min(strangers);
        keys.clear();
        keys.extend(first + start..first + end);
        answers.resize(keys.len(), false);
        contains(&keys, &mut answers);
        hits += answers.iter().filter(|found| **found).count() as u64;
        start = end;
    }
    hits
}

/// Returns by how many standard deviations the hits exceed what a rate predicts. The rate of a filter itself
/// varies around its expectation, by about the root of its keys.
pub(super) fn deviations(hits: f64, strangers: f64, rate: f64, keys: f64) -> f64 {
    let expected = strangers * rate;
    (hits - expected) / (expected + expected * expected / keys).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use malkoha::Spec;

    #[test]
    fn strangers_are_found_as_often_as_predicted() {
        let spec = Spec::new(100_000, 0.01);
        let filter = spec.build_from(&(0..100_000u64).collect::<Vec<_>>()).unwrap();
        let hits = ask(&filter, 300_000) as f64;
        let rate = filter.geometry().predicted_rate(100_000);
        assert!(deviations(hits, 300_000.0, rate, 1e5).abs() < 5.0, "{hits}");
        assert!(deviations(hits, 300_000.0, 1.2 * rate, 1e5).abs() > 5.0, "{hits}");
        assert_eq!(ask(&spec.build().unwrap(), 1000), 0);
    }
}
