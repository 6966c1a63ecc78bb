//! How unevenly keys fall into shards.
//!
//! Every key draws its shard, so the number of keys in one shard is binomial. The fullest has about the mean
//! + 6 standard deviations, if one filter in a million may have a fuller one.

/// The chance that some shard gets more keys than [`fullest_shard`] returns.
const FAILURE: f64 = 1e-6;

/// Roughly the most bits that a key of a Bloom filter sets: the rate grows at most as this power of the
/// number of keys.
const STEEPEST: f64 = 32.0;

/// The number of keys for which each shard must have room, so that n keys fit into all but one filter in a
/// million: the least x for which Chernoff's bound of P(some shard gets more than x) is at most 10^-6.
///
/// ```
/// use malkoha::theory::fullest_shard;
/// assert_eq!(fullest_shard(1_000_000, 1), 1_000_000);
/// let (mean, sigma) = (15_625.0, 124.0);
/// let sigmas = (fullest_shard(1_000_000, 64) as f64 - mean) / sigma;
/// assert!((5.9..6.2).contains(&sigmas), "{sigmas}");
/// ```
#[must_use]
pub fn fullest_shard(n: u64, shards: u32) -> u64 {
    if shards <= 1 {
        return n;
    }
    let (mut below, mut enough) = (n / u64::from(shards), n);
    let (keys, shards) = (n as f64, f64::from(shards));
    let mean = keys / shards;
    // n times the divergence of the share x / n from the share of one shard: 0 at the mean, then growing.
    let divergence = |x: f64| {
        let (share, above) = (x / keys, (x - mean) / keys);
        let others = if share < 1.0 { (1.0 - share) * (-above / (1.0 - 1.0 / shards)).ln_1p() } else { 0.0 };
        keys * (share * (above * shards).ln_1p() + others)
    };
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        let fits = divergence((middle + 1) as f64) >= (shards / FAILURE).ln();
        if fits { enough = middle } else { below = middle }
    }
    enough
}

/// The number of keys for which each shard of a Bloom kind is planned, so that the mean rate of all shards is
/// at most that of a shard with this number.
///
/// Bloom kinds refuse no key, so no shard needs room for the fullest. But their rates are convex: fuller
/// shards lose more than emptier ones gain. ln rate is concave in the number of keys, and its slope at x keys
/// is at most b/x for b bits per key. So the mean of the rates is at most the moment of a Poisson variable,
/// and x - mean is about b/2.
///
/// ```
/// use malkoha::theory::mean_shard;
/// assert_eq!(mean_shard(1_000_000, 64), 15_625 + 17);
/// ```
#[must_use]
pub fn mean_shard(n: u64, shards: u32) -> u64 {
    let mean = n as f64 / f64::from(shards);
    let slope = STEEPEST / mean;
    let keys = mean + mean / slope * (slope.exp_m1() - slope);
    let fullest = fullest_shard(n, shards);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than the fullest")]
    if keys < fullest as f64 { keys.ceil() as u64 } else { fullest }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X > x) of a binomial variable, term by term.
    fn above(n: u64, p: f64, x: u64) -> f64 {
        let mut term = (n as f64 * (-p).ln_1p()).exp();
        let mut sum = 0.0;
        for k in 1..=n {
            term *= (n - k + 1) as f64 / k as f64 * p / (1.0 - p);
            sum += if k > x { term } else { 0.0 };
        }
        sum
    }

    #[test]
    fn the_fullest_shard_is_exceeded_once_in_a_million_and_not_much_less() {
        for (n, shards) in [(10, 2), (100, 3), (1_000, 8), (3_000, 64), (5_000, 4096), (20_000, 100)] {
            let p = 1.0 / f64::from(shards);
            let fullest = fullest_shard(n, shards);
            let chance = f64::from(shards) * above(n, p, fullest);
            assert!(chance <= 1e-6, "{n} {shards}: {chance}");
            // Chernoff's bound gives away a factor of about 20, which is two or three keys in small shards.
            let chance = f64::from(shards) * above(n, p, fullest.saturating_sub(6));
            assert!(chance > 1e-7 || fullest < 12, "{n} {shards}: {chance}");
        }
    }

    #[test]
    fn few_keys_and_huge_numbers_are_no_problem() {
        assert_eq!(fullest_shard(0, 8), 0);
        assert_eq!(fullest_shard(1, 4096), 1);
        assert_eq!(mean_shard(1, 4096), 1);
        for shards in [2, 3, 64, 4096] {
            let n = 1u64 << 55;
            let mean = n as f64 / f64::from(shards);
            let sigmas = (fullest_shard(n, shards) as f64 - mean) / mean.sqrt();
            assert!((3.5..8.0).contains(&sigmas), "{shards}: {sigmas}");
            for n in 1..300 {
                assert!(fullest_shard(n, shards) <= fullest_shard(n + 1, shards), "{n} {shards}");
                assert!(fullest_shard(n, shards) >= n.div_ceil(u64::from(shards)));
            }
        }
    }
}
