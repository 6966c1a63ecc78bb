//! The bits of a key inside its block.
//!
//! A pattern is a 512-bit mask of the bits that a key sets. It is made from the key's hash alone and is the same
//! for all of its candidate blocks. There are three ways to make it:
//!
//! ```text
//!   Random    9 bits of hash name a bit, key_bits times; two may name the same
//!   Distinct  one of all subsets of key_bits bits, each equally probable
//!   Spread    equally many bits in each of the eight words, which suits vector units
//! ```
//!
//! `Distinct` has the distribution of appendix B of the paper, which keeps chosen bits sorted and steps over
//! them. Here bits are drawn as for `Random`, and if some coincide, the missing ones are drawn anew: the first
//! n different bits of an endless random sequence are any set of n with equal probability, and nothing is
//! sorted. Floyd's sampling, which draws from shrinking ranges and never redraws, took twice as long: every
//! draw waits for the one before it.

use crate::bits::cpu::Vectors;
use crate::bits::drawn::{STEP, factors, fold};
use crate::bits::{BLOCK_BITS, BLOCK_WORDS, Block, WORD_BITS, WORDS};
use crate::key::KeyHash;
use crate::kind::Pattern;
use crate::theory::occupancy::{distinct_share, random_share};

/// An endless sequence of 64-bit words drawn from a hash: a counter is multiplied, and the two halves of the
/// product are folded. The hash is already mixed, so one multiplication is enough.
///
/// The words are functions of the 64 bits of the hash: keys with equal hashes cannot be told apart.
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    #[inline(always)]
    pub(crate) fn new(hash: KeyHash) -> Self {
        Self(hash.to_raw())
    }

    /// The words of a hash without the first `words`.
    #[inline(always)]
    pub(crate) fn after(hash: KeyHash, words: u64) -> Self {
        Self(hash.to_raw().wrapping_add(words.wrapping_mul(STEP)))
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        fold(factors(self.0))
    }
}

/// The same words, eight at a time, as the factors of their products.
///
/// The counter is that of the word after these eight: if it were that of one of them, the compiler would move it
/// between the vector that holds the eight and the register that holds the counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eights(u64);

impl Eights {
    #[inline(always)]
    pub(crate) fn new(hash: KeyHash) -> Self {
        Self::after(hash, 0)
    }

    /// The words of a hash without the first `words`.
    #[inline(always)]
    pub(crate) fn after(hash: KeyHash, words: u64) -> Self {
        Self(Draws::after(hash, words + 9).0)
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> [[u64; 2]; 8] {
        let beyond = self.0;
        self.0 = beyond.wrapping_add(STEP.wrapping_mul(8));
        core::array::from_fn(|i| factors(beyond.wrapping_sub(STEP.wrapping_mul(8 - i as u64))))
    }
}

/// A way to scatter the bits of a key over a block: [`Random`], [`Distinct`] or [`Spread`].
pub trait Scatter: Copy + Send + Sync + core::fmt::Debug + 'static {
    /// Its name.
    const PATTERN: Pattern;

    /// Whether a key may have more than one candidate block (see `BlockedLayout::check`). If not, no code for
    /// choices is compiled.
    const CHOOSES: bool;

    /// The pattern for keys of `key_bits` bits.
    fn new(key_bits: u32) -> Self;

    /// The bits of a key.
    fn pattern(&self, draws: Draws, vectors: impl Vectors) -> Block;

    /// Whether one of several blocks has all bits of a key.
    #[inline(always)]
    fn lies_in<const C: usize>(
        &self,
        draws: Draws,
        blocks: [&[u64; BLOCK_WORDS]; C],
        vectors: impl Vectors,
    ) -> bool {
        let pattern = self.pattern(draws, vectors);
        blocks.into_iter().fold(false, |found, block| found | vectors.covers(block, &pattern))
    }

    /// The share of all patterns that a block covers: its own rate of false positives.
    fn share(&self, block: &Block) -> f64;
}

/// Independent bits, of which some may coincide.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    key_bits: u32,
}

impl Scatter for Random {
    const PATTERN: Pattern = Pattern::Random;
    const CHOOSES: bool = true;

    fn new(key_bits: u32) -> Self {
        Self { key_bits }
    }

    #[inline(always)]
    fn pattern(&self, mut draws: Draws, vectors: impl Vectors) -> Block {
        let mut block = Block::default();
        add_random_bits(&mut block, &mut draws, self.key_bits, vectors);
        block
    }

    /// Tests the bits in the blocks, fourteen at a time: building a pattern would take them one by one.
    #[inline(always)]
    fn lies_in<const C: usize>(
        &self,
        mut draws: Draws,
        blocks: [&[u64; BLOCK_WORDS]; C],
        vectors: impl Vectors,
    ) -> bool {
        let mut missing = [0; C];
        let mut left = self.key_bits;
        while left > 0 {
            let numbers = [draws.next(), if left > NUMBERS { draws.next() } else { 0 }];
            let more = vectors.missing_bits(blocks, numbers, left.min(2 * NUMBERS));
            for (missing, more) in missing.iter_mut().zip(more) {
                *missing |= more;
            }
            left = left.saturating_sub(2 * NUMBERS);
        }
        missing.into_iter().map(|missing| u32::from(missing == 0)).fold(0, |any, one| any | one) != 0
    }

    fn share(&self, block: &Block) -> f64 {
        random_share(block.count(), self.key_bits)
    }
}

/// Distinct bits, every set equally probable.
#[derive(Clone, Copy, Debug)]
pub struct Distinct {
    key_bits: u32,
}

impl Scatter for Distinct {
    const PATTERN: Pattern = Pattern::Distinct;
    const CHOOSES: bool = true;

    fn new(key_bits: u32) -> Self {
        Self { key_bits }
    }

    #[inline(always)]
    fn pattern(&self, mut draws: Draws, vectors: impl Vectors) -> Block {
        let mut block = Block::default();
        let mut missing = self.key_bits;
        while missing > 0 {
            add_random_bits(&mut block, &mut draws, missing, vectors);
            missing = self.key_bits - block.count();
        }
        block
    }

    fn share(&self, block: &Block) -> f64 {
        distinct_share(block.count(), self.key_bits)
    }
}

/// Independent bits, equally many in each of the eight words.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Bits in each word beyond the first. Usually 0.
    more: u32,
}

impl Scatter for Spread {
    const PATTERN: Pattern = Pattern::Spread;
    const CHOOSES: bool = false;

    fn new(key_bits: u32) -> Self {
        Self { more: key_bits / WORDS - 1 }
    }

    #[inline(always)]
    fn pattern(&self, mut draws: Draws, vectors: impl Vectors) -> Block {
        let mut block = vectors.bit_in_each_word(draws.next());
        for _ in 0..self.more {
            block.add(&vectors.bit_in_each_word(draws.next()));
        }
        block
    }

    /// Tests the bits in the blocks, as for random patterns.
    #[inline(always)]
    fn lies_in<const C: usize>(
        &self,
        mut draws: Draws,
        blocks: [&[u64; BLOCK_WORDS]; C],
        vectors: impl Vectors,
    ) -> bool {
        let mut all = vectors.has_bit_in_each_word(blocks[0], draws.next());
        for _ in 0..self.more {
            all &= vectors.has_bit_in_each_word(blocks[0], draws.next());
        }
        all
    }

    fn share(&self, block: &Block) -> f64 {
        let full = |word: &u64| f64::from(word.count_ones()) / f64::from(WORD_BITS);
        block.0.iter().map(full).product::<f64>().powi(self.more.cast_signed() + 1)
    }
}

/// Nine-bit numbers in one draw.
const NUMBERS: u32 = 7;

/// Sets `bits` random bits, some of which may coincide with each other or with bits already set.
#[inline(always)]
fn add_random_bits(block: &mut Block, draws: &mut Draws, bits: u32, vectors: impl Vectors) {
    let mut left = bits;
    // All numbers of a word: this number of iterations is known at compile time.
    while left >= NUMBERS {
        add_numbered_bits(block, draws.next(), NUMBERS, vectors);
        left -= NUMBERS;
    }
    if left > 0 {
        add_numbered_bits(block, draws.next(), left, vectors);
    }
}

/// Sets the bits named by the first `count` numbers of a word.
#[inline(always)]
fn add_numbered_bits(block: &mut Block, mut word: u64, count: u32, vectors: impl Vectors) {
    for _ in 0..count {
        vectors.set(block, word % u64::from(BLOCK_BITS));
        word >>= 9;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::Portable;
    use crate::key::mix;

    fn patterns<P: Scatter>(key_bits: u32, keys: u64) -> impl Iterator<Item = Block> {
        let scatter = P::new(key_bits);
        (0..keys).map(move |key| scatter.pattern(Draws::new(KeyHash::from_raw(mix(key))), Portable))
    }

    /// Checks that all bits are set equally often: chi-squared over 512 bits within 4 sigma.
    fn is_even<P: Scatter>(key_bits: u32) {
        let keys = 200_000;
        let mut counts = [0u64; 512];
        for block in patterns::<P>(key_bits, keys) {
            counts.iter_mut().zip(0..).for_each(|(count, at)| *count += block.get(at));
        }
        let mean = counts.iter().sum::<u64>() as f64 / 512.0;
        // A bit is set in a share `mean / keys` of the patterns, at most once in each.
        let variance = mean * (1.0 - mean / keys as f64);
        let chi = counts.iter().map(|&count| (count as f64 - mean).powi(2) / variance).sum::<f64>();
        assert!((chi - 511.0).abs() < 4.0 * (2.0f64 * 511.0).sqrt(), "{} of {key_bits}: {chi}", P::PATTERN);
    }

    #[test]
    fn bits_are_even() {
        for key_bits in [1, 5, 8, 14, 24] {
            is_even::<Random>(key_bits);
            is_even::<Distinct>(key_bits);
        }
        is_even::<Spread>(8);
        is_even::<Spread>(24);
    }

    #[test]
    fn distinct_bits_are_distinct() {
        for key_bits in 1..=64 {
            assert!(patterns::<Distinct>(key_bits, 2000).all(|block| block.count() == key_bits));
        }
    }

    #[test]
    fn pairs_of_distinct_bits_are_even() {
        // No set is favoured: pairs from 512 bits, folded to the 8 x 8 words they lie in.
        let mut same_word = 0u32;
        let keys = 1_000_000;
        for block in patterns::<Distinct>(2, keys) {
            same_word += u32::from(block.0.iter().any(|word| word.count_ones() == 2));
        }
        let (expected, n) = (63.0 / 511.0, keys as f64);
        let sigma = (n * expected * (1.0 - expected)).sqrt();
        assert!((f64::from(same_word) - n * expected).abs() < 4.0 * sigma, "{same_word}");
    }

    #[test]
    fn random_bits_coincide_as_birthdays_do() {
        let keys = 200_000;
        let fewer = patterns::<Random>(10, keys).filter(|block| block.count() < 10).count() as f64;
        let expected = 1.0 - (0..10).map(|i| 1.0 - f64::from(i) / 512.0).product::<f64>();
        let sigma = (keys as f64 * expected * (1.0 - expected)).sqrt();
        assert!((fewer - keys as f64 * expected).abs() < 4.0 * sigma, "{fewer}");
    }

    #[test]
    fn spread_bits_lie_in_all_words() {
        assert!(patterns::<Spread>(8, 1000).all(|block| block.0.iter().all(|word| word.is_power_of_two())));
    }

    #[test]
    fn shares_are_what_patterns_hit() {
        fn check<P: Scatter>(key_bits: u32) {
            let mut block = Block::default();
            patterns::<Random>(330, 1).for_each(|more| block.add(&more));
            let keys = 1_000_000;
            let hits = patterns::<P>(key_bits, keys).filter(|pattern| block.covers(pattern)).count();
            let expected = P::new(key_bits).share(&block) * keys as f64;
            assert!((hits as f64 - expected).abs() < 4.0 * expected.sqrt(), "{hits} {expected}");
        }
        check::<Random>(6);
        check::<Distinct>(6);
        check::<Spread>(8);
    }
}
