//! Spending the 64 bits of a hash: a place first, then a fingerprint, each from bits the other did not use.
//!
//! A hash is read as a fraction in [0, 1). Multiplied by a number of choices, the whole part is the choice
//! and the fraction that remains is uniform again, independent of it, and ready for the next draw:
//!
//! ```text
//!   hash x places        = place       . rest
//!   rest x fingerprints  = fingerprint . rest'
//! ```
//!
//! This works for any number of choices, powers of two or not, and costs one multiplication per draw (two in vectors).
//! The pair (place, fingerprint) is the whole part of hash x places x fingerprints / 2^64, so 64 bits carry it as long
//! as the product of the numbers of choices is at most 2^64.

/// Draws a number below `choices`; returns it and the rest of the fraction.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
pub(crate) const fn draw(fraction: u64, choices: u64) -> (u64, u64) {
    let product = fraction as u128 * choices as u128;
    ((product >> 64) as u64, product as u64)
}

/// Draws a number below `choices`, the last draw from this fraction.
#[inline(always)]
pub(crate) const fn last_draw(fraction: u64, choices: u64) -> u64 {
    draw(fraction, choices).0
}

/// How draws are multiplied out. All implementations give the same results.
pub trait Multiply {
    /// [`draw`].
    fn draw(fraction: u64, choices: u64) -> (u64, u64);

    /// [`last_draw`].
    #[inline(always)]
    fn last_draw(fraction: u64, choices: u64) -> u64 {
        Self::draw(fraction, choices).0
    }
}

/// In one product of 128 bits, among any number of choices.
pub(crate) struct Whole;

impl Multiply for Whole {
    #[inline(always)]
    fn draw(fraction: u64, choices: u64) -> (u64, u64) {
        draw(fraction, choices)
    }
}

/// In two products of 64 bits, which vectors have, among numbers of choices that [`are_narrow`] allows.
#[cfg(any(target_arch = "x86_64", test))]
pub(crate) struct Narrow;

#[cfg(any(target_arch = "x86_64", test))]
impl Multiply for Narrow {
    #[inline(always)]
    fn draw(fraction: u64, choices: u64) -> (u64, u64) {
        debug_assert!(choices <= LOWER, "the caller has checked that the choices are narrow");
        // The mask only tells the compiler that there is no upper half.
        let choices = choices & LOWER;
        let (upper, lower) = ((fraction >> 32) * choices, (fraction & LOWER) * choices);
        ((upper + (lower >> 32)) >> 32, (upper << 32).wrapping_add(lower))
    }
}

/// The lower half of a word.
const LOWER: u64 = u32::MAX as u64;

/// Whether [`Narrow`] can draw among each of these numbers of choices.
pub(crate) fn are_narrow(choices: &[u64]) -> bool {
    choices.iter().all(|&choices| choices <= LOWER)
}

/// The smallest fraction from which successive draws give these numbers, each with the choices it was drawn
/// from.
///
/// The draws together are one draw of `number` among the product of all choices. The result is the smallest
/// fraction with fraction x product >= number. It stays below the next number because the product is at most
/// 2^64.
pub(crate) fn undraw(draws: &[(u64, u64)]) -> u64 {
    let (mut number, mut product) = (0u128, 1u128);
    for &(drawn, choices) in draws {
        debug_assert!(drawn < choices, "a draw is below its choices");
        number = number * u128::from(choices) + u128::from(drawn);
        product *= u128::from(choices);
    }
    debug_assert!(product <= 1 << 64, "64 bits carry all draws");
    #[expect(clippy::cast_possible_truncation, reason = "a number below the product gives less than 2^64")]
    let fraction = (number << 64).div_ceil(product) as u64;
    fraction
}

/// The bits that independent draws among these numbers of choices use up, rounded up.
///
/// A table draws a place and a fingerprint; shards add one more draw before them.
pub(crate) fn bits_needed(choices: &[u64]) -> u32 {
    let pairs = choices.iter().fold(1u128, |product, &choices| product.saturating_mul(u128::from(choices)));
    u128::BITS - pairs.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::mix;

    #[test]
    fn narrow_draws_are_whole_draws() {
        let edges = [0, 1, 2, 255, LOWER - 1, LOWER, LOWER + 1, 1 << 63, u64::MAX - 1, u64::MAX];
        for fraction in edges.into_iter().chain((0..10_000).map(mix)) {
            for choices in [0, 1, 2, 3, 255, 256, 65_537, 1 << 31, LOWER - 1, LOWER, mix(fraction) & LOWER] {
                assert_eq!(Narrow::draw(fraction, choices), draw(fraction, choices), "{fraction}, {choices}");
            }
        }
        assert!(are_narrow(&[1, LOWER]) && !are_narrow(&[1, LOWER + 1]));
    }

    #[test]
    fn successive_draws_are_uniform_and_independent() {
        let mut counts = [[0u32; 5]; 7];
        for step in 0..35_000u64 {
            let fraction = step * (u64::MAX / 35_000);
            let (place, rest) = draw(fraction, 7);
            counts[place as usize][last_draw(rest, 5) as usize] += 1;
        }
        for count in counts.as_flattened() {
            assert!((999..=1001).contains(count), "{counts:?}");
        }
    }

    #[test]
    fn draws_stay_below_their_bound_beyond_32_bits() {
        let places = (1 << 40) + 12_345;
        assert_eq!(last_draw(0, places), 0);
        assert_eq!(last_draw(u64::MAX, places), places - 1);
    }

    #[test]
    fn what_was_drawn_leads_to_a_fraction_that_draws_the_same() {
        for (places, fingerprints) in
            [(1, 1), (7, 5), (3, 1 << 60), (1 << 40, 1 << 24), ((1 << 50) + 7, 8191)]
        {
            for step in 0..1000u64 {
                let (place, rest) = draw(crate::key::mix(step), places);
                let fingerprint = last_draw(rest, fingerprints);
                let fraction = undraw(&[(place, places), (fingerprint, fingerprints)]);
                let (again, rest) = draw(fraction, places);
                assert_eq!((again, last_draw(rest, fingerprints)), (place, fingerprint));
            }
            let last = undraw(&[(places - 1, places), (fingerprints - 1, fingerprints)]);
            assert_eq!(draw(last, places).0, places - 1);
        }
    }

    #[test]
    fn bits_are_added_up() {
        assert_eq!(bits_needed(&[1 << 40, 1 << 24]), 64);
        assert_eq!(bits_needed(&[(1 << 40) + 1, 1 << 24]), 65);
        assert_eq!(bits_needed(&[1 << 30, 1 << 10, 8]), 43);
    }
}
