//! The measured rate agrees with theory, and theory keeps the promise.

use crate::common::{in_parallel, long};
use malkoha::testing::Stream;
use malkoha::{Filter, Kind, Offsets, Spec};

/// A key that is never stored.
fn stranger(number: u64) -> u64 {
    number | 1 << 63
}

/// Looks up strangers until 400 hits are expected; returns hits and lookups.
fn measure(filter: &Filter, rate: f64) -> (f64, f64) {
    let queries = (400.0 / rate).ceil() as u64 + 1;
    let mut hits = 0;
    let mut keys = Vec::new();
    for first in (0..queries).step_by(4096) {
        keys.clear();
        keys.extend((first..queries.min(first + 4096)).map(stranger));
        hits += filter.contains_slice(&keys).into_iter().filter(|found| *found).count();
    }
    (hits as f64, queries as f64)
}

/// Compares the measured rate with the one that theory predicts for the stored keys, and with the promise.
fn check(filter: &Filter, promised: f64) {
    let predicted = filter.stats().predicted_rate;
    let (hits, queries) = measure(filter, predicted);
    let expected = predicted * queries;
    let sigma = expected.sqrt();
    let geometry = filter.geometry();
    assert!(
        (hits - expected).abs() <= 4.0 * sigma,
        "{} at {promised:.2e}: {hits} hits, {expected:.0} expected",
        geometry.kind()
    );
    assert!(hits <= promised * queries + 4.0 * sigma, "{}: promise broken", geometry.kind());
}

fn rates() -> Vec<f64> {
    let mut exponents = vec![2, 3, 5, 8, 10, 12, 14];
    if long() {
        exponents.extend([16, 20]);
    }
    let mut rates: Vec<f64> = exponents.into_iter().map(|k| 2f64.powi(-k)).collect();
    rates.extend([0.01, 0.003]);
    rates
}

#[test]
fn measured_rates_agree_with_theory_and_keep_the_promise() {
    let cases = Kind::cuckoos().flat_map(|kind| rates().into_iter().map(move |rate| (kind, rate)));
    in_parallel(cases, |(kind, rate)| {
        let keys = 50_000;
        let mut filter = Spec::new(keys, rate).kind(kind).seed(keys ^ rate.to_bits()).build().unwrap();
        filter.insert_slice(&(0..keys).collect::<Vec<_>>()).unwrap();
        assert!(filter.geometry().predicted_rate(keys) <= rate, "{kind}: theory must keep the promise");
        check(&filter, rate);
    });
}

#[test]
fn offsets_do_not_change_the_rate() {
    let kinds = [Kind::Flexible(4), Kind::Windowed(2), Kind::Windowed(3), Kind::Sorted];
    let offsets = [Offsets::Whole, Offsets::Near(96), Offsets::Near(192)];
    let cases = kinds.into_iter().flat_map(|kind| offsets.map(|offsets| (kind, offsets)));
    in_parallel(cases, |(kind, offsets)| {
        let (keys, rate) = (50_000, 2f64.powi(-8));
        let mut filter = Spec::new(keys, rate).kind(kind).offsets(offsets).seed(2).build().unwrap();
        filter.insert_slice(&(0..keys).collect::<Vec<_>>()).unwrap();
        check(&filter, rate);
    });
}

#[test]
fn a_full_stash_does_not_change_the_rate() {
    // Eppstein, Theorem 5.1, for the simplified filter; the entries of the others are made in the same way.
    let kinds =
        [Kind::Simplified(4), Kind::Simplified(2), Kind::Classic(4), Kind::Flexible(4), Kind::Windowed(2)];
    in_parallel(kinds, |kind| {
        let mut filter = Spec::new(2_000, 2f64.powi(-8)).kind(kind).stash(3_000).seed(5).build().unwrap();
        let mut stream = Stream::new(1);
        while filter.stats().stash_size < 600 {
            filter.insert(&(stream.draw() >> 1)).unwrap();
        }
        check(&filter, f64::INFINITY);
        // Keys in the stash are found like the others, and removing them empties it.
        let mut stream = Stream::new(1);
        let keys: Vec<u64> = (0..filter.len()).map(|_| stream.draw() >> 1).collect();
        assert_eq!(filter.remove_slice(&keys), Ok(keys.len()), "{kind}");
        assert_eq!(filter.stats().stash_size, 0);
    });
}

#[test]
fn the_planned_rate_is_never_above_the_promise() {
    for kind in Kind::cuckoos() {
        for keys in [1, 2, 3, 7, 50, 1_000, 123_456, 10_000_000, 1_000_000_000] {
            for k in 1..=32 {
                for rate in [2f64.powi(-k), 2f64.powi(-k) * 0.77] {
                    if let Ok(geometry) = Spec::new(keys, rate).kind(kind).plan() {
                        assert!(geometry.predicted_rate(keys) <= rate, "{kind} {keys} {rate}");
                    } else {
                        assert!(
                            (keys as f64).log2() + f64::from(k) > 54.0,
                            "{kind} {keys} 2^-{k} is possible"
                        );
                    }
                }
            }
        }
    }
}
