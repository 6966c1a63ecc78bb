//! When a unit is a duplicate, and how likely it becomes one by false positives.

/// How many of the keys of a unit must have been seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threshold {
    /// This share of them.
    Share(f64),
    /// This many.
    Count(u64),
}

/// Tails below this are left out.
const NEGLIGIBLE: f64 = 1e-12;

impl Threshold {
    /// Returns whether this many of the keys are enough. A unit without keys is never a duplicate.
    pub(super) fn is_met(self, seen: u64, keys: u64) -> bool {
        keys > 0
            && match self {
                // The quotient is the number nearest to the true one, as the share is to the text it was read from.
                Self::Share(share) => seen as f64 / keys as f64 >= share,
                Self::Count(count) => seen >= count,
            }
    }

    /// Returns the least number of keys that are enough; `None` if even all of them are not.
    fn least(self, keys: u64) -> Option<u64> {
        match self {
            Self::Count(count) => Some(count).filter(|count| *count <= keys),
            Self::Share(share) => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "up to the keys")]
                let near = (share * keys as f64) as u64;
                (near.saturating_sub(1)..=keys).find(|seen| self.is_met(*seen, keys))
            }
        }
    }

    /// Returns the probability that a unit with this many seen keys, which are not enough, would have had
    /// enough of them if those of its other keys were found with this probability each.
    pub(super) fn chance(self, seen: u64, keys: u64, rate: f64) -> f64 {
        match self.least(keys) {
            Some(least) if rate > 0.0 => tail(keys - seen, least.saturating_sub(seen), rate),
            _ => 0.0,
        }
    }
}

/// Returns the probability that at least `least` of `n` events happen, each with probability p.
fn tail(n: u64, least: u64, p: f64) -> f64 {
    if least == 0 {
        return 1.0;
    }
    if least > n || p >= 1.0 {
        return f64::from(u8::from(least <= n));
    }
    let (count, share) = (n as f64, least as f64 / n as f64);
    // Chernoff's bound on the logarithm of the tail.
    let unless = |share: f64, p: f64| if share > 0.0 { share * (share / p).ln() } else { 0.0 };
    let bound = -count * (unless(share, p) + unless(1.0 - share, 1.0 - p));
    if share > p && bound < NEGLIGIBLE.ln() {
        return 0.0;
    }
    // The first term by its logarithm, and the others from the one before.
    let odds = p / (1.0 - p);
    let first: f64 = (0..least).map(|i| ((n - i) as f64 / (least - i) as f64 * odds).ln()).sum();
    let mut term = (first + count * (-p).ln_1p()).exp();
    let mut sum = term;
    for happened in least..n {
        term *= (n - happened) as f64 / (happened + 1) as f64 * odds;
        sum += term;
        if happened as f64 > count * p && term < sum * 1e-9 {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        for keys in 1..=400u64 {
            for percent in 1..=100u64 {
                let share: f64 = format!("{percent}e-2").parse().unwrap();
                let enough = (percent * keys).div_ceil(100);
                let share = Threshold::Share(share);
                assert!(
                    share.is_met(enough, keys) && !share.is_met(enough - 1, keys),
                    "{percent} % of {keys}"
                );
                assert_eq!(share.least(keys), Some(enough));
            }
        }
        assert!(!Threshold::Share(0.1).is_met(0, 0));
        assert!(Threshold::Count(2).is_met(2, 5) && !Threshold::Count(2).is_met(1, 1));
    }

    #[test]
    fn tails_are_those_of_the_binomial_distribution() {
        // By the sum of all terms, each a product of factors.
        let exactly = |n: u64, k: u64, p: f64| -> f64 {
            let ways: f64 = (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product();
            ways * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
        };
        for (n, p) in [(1, 1e-3), (5, 0.01), (40, 0.3), (100, 0.05), (60, 0.9)] {
            for least in 0..=n + 1 {
                let expected: f64 = (least..=n).map(|k| exactly(n, k, p)).sum();
                let got = tail(n, least, p);
                assert!(
                    (got - expected).abs() <= 1e-6 * expected + NEGLIGIBLE,
                    "{n} {least} {p}: {got}, {expected}"
                );
            }
        }
        assert_eq!(tail(1_000_000, 800_000, 0.001), 0.0);
        assert!((tail(1_000_000, 1000, 0.001) - 0.5).abs() < 0.02, "half of all are above the mean");
    }

    #[test]
    fn a_single_key_is_found_at_the_rate() {
        assert!((Threshold::Share(1.0).chance(0, 1, 1e-3) - 1e-3).abs() < 1e-12);
        assert!((Threshold::Share(0.8).chance(7, 10, 0.01) - (1.0 - 0.99f64.powi(3))).abs() < 1e-9);
        assert_eq!(Threshold::Count(5).chance(0, 4, 0.5), 0.0);
    }
}
