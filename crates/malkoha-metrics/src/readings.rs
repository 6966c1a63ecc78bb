//! `Readings`: what a meter has measured.

use core::time::Duration;

/// Buckets of the histogram: up to 2^5 ns, 2^6 ns, .. 2^24 ns, which is 17 ms, and one for longer times.
pub(crate) const BUCKETS: usize = 21;
const FIRST_BITS: usize = 5;

/// How long sampled lookups took, by powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    pub(crate) counts: [u64; BUCKETS],
    pub(crate) sum: Duration,
}

impl Latency {
    /// Returns the bucket of a lookup that took this long.
    pub(crate) fn bucket(nanoseconds: u64) -> usize {
        let bits = (u64::BITS - nanoseconds.saturating_sub(1).leading_zeros()) as usize;
        bits.saturating_sub(FIRST_BITS).min(BUCKETS - 1)
    }

    /// Returns the upper end of each bucket and its number of lookups; the last bucket has no upper end.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        let longest = |at: usize| (at + 1 < BUCKETS).then(|| Duration::from_nanos(1 << (at + FIRST_BITS)));
        self.counts.into_iter().enumerate().map(move |(at, count)| (longest(at), count))
    }

    /// Returns the number of lookups measured.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the total time of all of them.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns a time within which this share of the lookups was answered: the end of a bucket, at most twice
    /// too long. `None` if nothing was measured, or if the time is beyond the last end, 17 ms.
    ///
    /// ```
    /// let nothing = malkoha_metrics::Latency::default();
    /// assert_eq!(nothing.quantile(0.99), None);
    /// ```
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = share * self.count() as f64;
        let mut within = 0;
        let enough = self.buckets().find(|(_, count)| {
            within += count;
            within > 0 && within as f64 >= wanted
        });
        enough.and_then(|(longest, _)| longest)
    }
}

/// What a [`Meter`](crate::Meter) has measured so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Lookups counted.
    pub lookups: u64,
    /// Of these, lookups that were sampled.
    pub sampled: u64,
    /// Of these, lookups answered with yes.
    pub sampled_yes: u64,
    /// Answers of yes that the caller found right.
    pub confirmed: u64,
    /// Answers of yes that the caller found wrong.
    pub refuted: u64,
    /// How long the sampled lookups took.
    pub latency: Latency,
}

impl Readings {
    /// Estimates the share of absent keys that were answered with yes. It is 0 if no sampled answer was yes,
    /// and `None` if no lookup was sampled, if no answer of yes was checked, or if there was neither a wrong
    /// yes nor a no.
    ///
    /// A share of `refuted / (refuted + confirmed)` of all answers of yes is wrong, whether the caller
    /// checked all of them or some. Every no is right.
    ///
    /// ```
    /// use malkoha_metrics::Readings;
    /// // 50 of 1000 lookups said yes; of 10 that were looked at, 2 were wrong: 10 in 960 absent keys.
    /// let seen = Readings { sampled: 1000, sampled_yes: 50, confirmed: 8, refuted: 2, ..Readings::default() };
    /// assert!((seen.false_positive_estimate().unwrap() - 10.0 / 960.0).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn false_positive_estimate(&self) -> Option<f64> {
        if self.sampled_yes == 0 {
            return (self.sampled > 0).then_some(0.0);
        }
        let judged = self.confirmed + self.refuted;
        let wrong = self.sampled_yes as f64 * self.refuted as f64 / judged as f64;
        let absent = wrong + self.sampled.saturating_sub(self.sampled_yes) as f64;
        (judged > 0 && absent > 0.0).then(|| wrong / absent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_end_at_powers_of_two() {
        for (nanoseconds, bucket) in
            [(0, 0), (32, 0), (33, 1), (64, 1), (65, 2), (1 << 24, 19), ((1 << 24) + 1, 20)]
        {
            assert_eq!(Latency::bucket(nanoseconds), bucket, "{nanoseconds}");
        }
        assert_eq!(Latency::bucket(u64::MAX), BUCKETS - 1);
        let ends: Vec<_> = Latency::default().buckets().map(|(end, _)| end).collect();
        assert_eq!(ends[0], Some(Duration::from_nanos(32)));
        assert_eq!(ends[BUCKETS - 2], Some(Duration::from_nanos(1 << 24)));
        assert_eq!(ends[BUCKETS - 1], None);
    }

    #[test]
    fn quantiles_are_the_ends_of_buckets() {
        let mut latency = Latency::default();
        latency.counts[0] = 98;
        latency.counts[3] = 2;
        assert_eq!(latency.quantile(0.5), Some(Duration::from_nanos(32)));
        assert_eq!(latency.quantile(0.99), Some(Duration::from_nanos(256)));
        latency.counts[BUCKETS - 1] = 100;
        assert_eq!(latency.quantile(0.99), None, "beyond all ends");
    }

    #[test]
    fn without_absent_keys_or_judgements_there_is_no_estimate() {
        let of = |sampled, sampled_yes, confirmed, refuted| {
            Readings { sampled, sampled_yes, confirmed, refuted, ..Readings::default() }
                .false_positive_estimate()
        };
        assert_eq!(of(0, 0, 0, 0), None);
        assert_eq!(of(10, 0, 0, 0), Some(0.0));
        assert_eq!(of(10, 5, 0, 0), None);
        assert_eq!(of(10, 10, 3, 0), None);
        assert_eq!(of(10, 5, 3, 0), Some(0.0));
        assert_eq!(of(10, 5, 0, 3), Some(0.5));
    }
}
