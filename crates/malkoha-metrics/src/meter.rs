//! `Meter`: counts lookups and measures some of them.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::Instant;

use crate::readings::{BUCKETS, Latency, Readings};

/// Samples the lookups of a filter of any type.
///
/// All methods take `&self` and can be called from any thread. A lookup costs one addition; a sampled one
/// also reads the clock twice. All threads add to the same number, whose cache line then moves between their
/// processors. If many threads query at once and every nanosecond counts, send only one thread, or one in
/// every few lookups, through the meter. Rates and latencies are then those of a sample, and the number of
/// lookups counts only the metered ones.
///
/// ```
/// use malkoha::Spec;
/// use malkoha_metrics::Meter;
///
/// let mut filter = Spec::new(1000, 0.01).build()?;
/// let store: Vec<u64> = (0..1000).collect();
/// filter.insert_slice(&store)?;
///
/// let meter = Meter::new(1);
/// for key in 0..100_000u64 {
///     if meter.lookup(|| filter.contains(&key)) {
///         // The store knows better.
///         if store.binary_search(&key).is_ok() { meter.confirm() } else { meter.refute() }
///     }
/// }
/// let estimate = meter.readings().false_positive_estimate().unwrap();
/// assert!((0.005..0.011).contains(&estimate));
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Debug)]
pub struct Meter {
    every: u64,
    lookups: AtomicU64,
    sampled_yes: AtomicU64,
    confirmed: AtomicU64,
    refuted: AtomicU64,
    counts: [AtomicU64; BUCKETS],
    nanoseconds: AtomicU64,
}

impl Meter {
    /// Returns a meter that measures one in `every` lookups; 0 counts as 1.
    #[must_use]
    pub fn new(every: u32) -> Self {
        Self {
            every: u64::from(every.max(1)),
            lookups: AtomicU64::new(0),
            sampled_yes: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            refuted: AtomicU64::new(0),
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            nanoseconds: AtomicU64::new(0),
        }
    }

    /// Calls `ask`, measures it if it is due, and returns its answer.
    #[inline]
    pub fn lookup(&self, ask: impl FnOnce() -> bool) -> bool {
        let turn = self.lookups.fetch_add(1, Ordering::Relaxed);
        if turn.is_multiple_of(self.every) { self.measure(ask) } else { ask() }
    }

    #[cold]
    fn measure(&self, ask: impl FnOnce() -> bool) -> bool {
        let begin = Instant::now();
        let answer = ask();
        let nanoseconds = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts[Latency::bucket(nanoseconds)].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        self.sampled_yes.fetch_add(u64::from(answer), Ordering::Relaxed);
        answer
    }

    /// Records that the caller found an answer of yes to be right. It is enough to check some of them, if
    /// they are chosen at random.
    pub fn confirm(&self) {
        self.confirmed.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the caller found an answer of yes to be wrong: a false positive.
    pub fn refute(&self) {
        self.refuted.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns what was measured so far.
    #[must_use]
    pub fn readings(&self) -> Readings {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let counts = core::array::from_fn(|at| load(&self.counts[at]));
        let latency = Latency { counts, sum: Duration::from_nanos(load(&self.nanoseconds)) };
        Readings {
            lookups: load(&self.lookups),
            sampled: latency.count(),
            sampled_yes: load(&self.sampled_yes),
            confirmed: load(&self.confirmed),
            refuted: load(&self.refuted),
            latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lookup_of_every_so_many_is_measured_and_every_answer_is_passed_on() {
        let meter = Meter::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let meter = &meter;
                scope.spawn(move || {
                    for turn in 0..1000 {
                        let answer = (turn + thread).is_multiple_of(3);
                        assert_eq!(meter.lookup(|| answer), answer);
                    }
                    meter.confirm();
                    meter.refute();
                });
            }
        });
        let seen = meter.readings();
        assert_eq!((seen.lookups, seen.sampled, seen.latency.count()), (4000, 1000, 1000));
        assert_eq!((seen.confirmed, seen.refuted), (4, 4));
        assert!(seen.sampled_yes > 0 && seen.sampled_yes < 1000);
        assert!(seen.latency.sum() > Duration::ZERO);
    }

    #[test]
    fn a_slow_lookup_is_seen_as_one() {
        let meter = Meter::new(1);
        meter.lookup(|| {
            std::thread::sleep(Duration::from_millis(2));
            true
        });
        let p99 = meter.readings().latency.quantile(0.99);
        assert!(p99.is_none_or(|p99| p99 >= Duration::from_millis(2)), "{p99:?}");
    }
}
