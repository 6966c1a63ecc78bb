//! Bits thrown into a block: how many distinct bits are set, and which share of patterns they cover.

use crate::bits::BLOCK_BITS;

/// The probabilities that `throws` random bits of a block are 0, 1, 2... distinct bits.
pub(crate) fn distinct_bits(throws: u32) -> Vec<f64> {
    occupancy(BLOCK_BITS, throws)
}

/// The probabilities that `throws` throws into `cells` cells leave 0, 1, 2... of them occupied.
pub(crate) fn occupancy(cells: u32, throws: u32) -> Vec<f64> {
    let mut occupied = vec![1.0];
    for _ in 0..throws {
        occupied = one_more_throw(cells, &occupied);
    }
    occupied
}

/// The probabilities of the numbers of occupied cells after one more throw.
pub(crate) fn one_more_throw(cells: u32, occupied: &[f64]) -> Vec<f64> {
    let most = (occupied.len()).min(cells as usize);
    let share = |i: usize| i as f64 / f64::from(cells);
    let at = |i: usize| occupied.get(i).copied().unwrap_or(0.0);
    (0..=most)
        .map(|i| at(i) * share(i) + if i == 0 { 0.0 } else { at(i - 1) * (1.0 - share(i - 1)) })
        .collect()
}

/// The share of random patterns of `key_bits` bits that lie in `set` set bits: `(set / 512)^key_bits`.
pub(crate) fn random_share(set: u32, key_bits: u32) -> f64 {
    (f64::from(set) / f64::from(BLOCK_BITS)).powi(key_bits.cast_signed())
}

/// The share of distinct patterns of `key_bits` bits that lie in `set` set bits: a ratio of binomial
/// coefficients.
pub(crate) fn distinct_share(set: u32, key_bits: u32) -> f64 {
    (0..key_bits).map(|i| f64::from(set.saturating_sub(i)) / f64::from(BLOCK_BITS - i)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_occupy_cells_with_probability_one() {
        let occupied = occupancy(64, 100);
        assert_eq!(occupied.len(), 65);
        assert!((occupied.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mean: f64 = occupied.iter().enumerate().map(|(i, p)| i as f64 * p).sum();
        assert!((mean - 64.0 * (1.0 - (63.0f64 / 64.0).powi(100))).abs() < 1e-9);
    }
}
