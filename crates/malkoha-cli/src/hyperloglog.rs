//! Estimates the number of distinct keys in 64 KiB: `HyperLogLog` with the estimator of Ertl (2017, algorithm
//! 6).

use malkoha::KeyHash;

/// Bits of a hash that choose a register.
const INDEX_BITS: u32 = 16;
const REGISTERS: usize = 1 << INDEX_BITS;
/// Bits of a hash in which zeros are counted.
const COUNTED_BITS: u32 = u64::BITS - INDEX_BITS;

/// Counts distinct hashes.
#[derive(Clone, Debug)]
pub(crate) struct HyperLogLog {
    /// For every register, the longest run of zeros that was seen, plus one; 0 if nothing was seen.
    registers: Vec<u8>,
}

impl HyperLogLog {
    /// The relative standard error of an estimate.
    pub(crate) const STANDARD_ERROR: f64 = 1.04 / 256.0;

    pub(crate) fn new() -> Self {
        Self { registers: vec![0; REGISTERS] }
    }

    pub(crate) fn add(&mut self, hashes: &[KeyHash]) {
        for hash in hashes {
            let bits = hash.to_raw();
            let register = &mut self.registers[(bits >> COUNTED_BITS) as usize];
            // The set bit limits the longest run that is counted.
            let zeros = ((bits << INDEX_BITS) | (1 << (INDEX_BITS - 1))).leading_zeros();
            #[expect(clippy::cast_possible_truncation, reason = "at most 48")]
            let run = zeros as u8 + 1;
            *register = (*register).max(run);
        }
    }

    /// Estimates the number of distinct hashes, with a relative standard error of [`Self::STANDARD_ERROR`].
    pub(crate) fn estimate(&self) -> f64 {
        let mut counts = [0u32; COUNTED_BITS as usize + 2];
        for &run in &self.registers {
            counts[usize::from(run)] += 1;
        }
        let m = REGISTERS as f64;
        let share = |count: u32| f64::from(count) / m;
        let last = COUNTED_BITS as usize + 1;
        let mut z = m * tau(1.0 - share(counts[last]));
        for count in counts[1..last].iter().rev() {
            z = 0.5 * (z + f64::from(*count));
        }
        z += m * sigma(share(counts[0]));
        m * m / (2.0 * core::f64::consts::LN_2 * z)
    }
}

/// Computes x + sum over k from 1 of x^(2^k) 2^(k-1), for the share of registers that are still 0.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut weight) = (x, 1.0);
    loop {
        x *= x;
        let before = sum;
        sum += x * weight;
        weight *= 2.0;
        if sum <= before {
            return sum;
        }
    }
}

/// Computes (1 - x - sum over k from 1 of (1 - x^(2^-k))^2 2^-k) / 3, for the share of registers at their
/// maximum.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut sum, mut weight) = (1.0 - x, 1.0);
    loop {
        x = x.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * weight;
        if sum >= before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use malkoha::KeyHasher;

    fn of(keys: std::ops::Range<u64>, seed: u64) -> HyperLogLog {
        let hasher = KeyHasher::new(seed);
        let mut counter = HyperLogLog::new();
        counter.add(&keys.map(|key| hasher.number(key)).collect::<Vec<_>>());
        counter
    }

    #[test]
    fn estimates_are_within_four_standard_errors() {
        for (keys, seed) in
            [(1, 1), (100, 2), (10_000, 3), (65_536, 4), (150_000, 5), (1_000_000, 6), (3_000_000, 7)]
        {
            let estimate = of(0..keys, seed).estimate();
            let error = estimate / keys as f64 - 1.0;
            assert!(error.abs() < 4.0 * HyperLogLog::STANDARD_ERROR, "{keys} keys: {estimate}");
        }
    }

    #[test]
    fn the_standard_error_is_what_it_is_said_to_be() {
        let squares = (0..200).map(|seed| (of(0..30_000, 100 + seed).estimate() / 30_000.0 - 1.0).powi(2));
        let error = (squares.sum::<f64>() / 200.0).sqrt();
        // Well below the number of registers, the error is smaller than the asymptotic one.
        assert!(error < 1.2 * HyperLogLog::STANDARD_ERROR, "{error}");
        assert!(error > 0.1 * HyperLogLog::STANDARD_ERROR, "{error}");
    }

    #[test]
    fn keys_that_come_again_are_counted_once() {
        let hashes: Vec<_> = (0..60_000).map(|key| KeyHasher::new(1).number(key)).collect();
        let mut twice = of(0..100_000, 1);
        twice.add(&hashes);
        assert_eq!(twice.registers, of(0..100_000, 1).registers);
        assert_eq!(HyperLogLog::new().estimate(), 0.0);
    }

    #[test]
    fn hashes_of_many_zeros_stay_inside() {
        let mut counter = HyperLogLog::new();
        counter.add(&[KeyHash::from_raw(0), KeyHash::from_raw(u64::MAX), KeyHash::from_raw(1)]);
        assert_eq!(counter.registers.iter().max(), Some(&49));
        assert!(counter.estimate().is_finite());
    }
}
