//! `Block`: 512 bits, one cache line, the unit of the blocked Bloom filters.
//!
//! ```text
//!   word    0          1          ...   7
//!          +----------+----------+----+----------+
//!   bits   | 0 ..  63 | 64 ..127 |    | 448..511 |
//!          +----------+----------+----+----------+
//! ```
//!
//! Every method looks at all eight words, without branches, so that the compiler can process several words at once.

use super::words::LINE_BYTES;

/// Words per block.
pub(crate) const BLOCK_WORDS: usize = LINE_BYTES / 8;

/// Bits per block.
pub(crate) const BLOCK_BITS: u32 = 512;

/// Bits per word.
pub(crate) const WORD_BITS: u32 = u64::BITS;

/// Words per block, for arithmetic with bits.
pub(crate) const WORDS: u32 = BLOCK_BITS / WORD_BITS;

/// 512 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block(pub(crate) [u64; BLOCK_WORDS]);

impl Block {
    /// Sets bit `at`, below 512.
    #[inline(always)]
    pub(crate) fn set(&mut self, at: u64) {
        self.0[word_of(at)] |= 1 << (at % 64);
    }

    /// Returns bit `at`, below 512, as 1 or 0.
    #[cfg(test)]
    pub(crate) fn get(&self, at: u64) -> u64 {
        bit_of(&self.0, at)
    }

    /// Returns whether all bits of `pattern` are set here.
    #[inline(always)]
    pub(crate) fn covers(&self, pattern: &Self) -> bool {
        self.0.iter().zip(&pattern.0).fold(0, |missing, (word, bits)| missing | (bits & !word)) == 0
    }

    /// Counts the bits of `pattern` that are not set here.
    #[inline(always)]
    pub(crate) fn missing(&self, pattern: &Self) -> u32 {
        self.0.iter().zip(&pattern.0).map(|(word, bits)| (bits & !word).count_ones()).sum()
    }

    /// Counts the set bits.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Sets all bits of `pattern`.
    #[inline(always)]
    pub(crate) fn add(&mut self, pattern: &Self) {
        for (word, bits) in self.0.iter_mut().zip(&pattern.0) {
            *word |= bits;
        }
    }
}

/// Returns bit `at`, below 512, of the words of a block as 1 or 0.
#[inline(always)]
pub(crate) const fn bit_of(block: &[u64; BLOCK_WORDS], at: u64) -> u64 {
    block[word_of(at)] >> (at % 64) & 1
}

/// Returns the word that holds bit `at`. The remainder changes nothing; it lets the compiler drop the bounds check.
#[inline(always)]
const fn word_of(at: u64) -> usize {
    (at / 64) as usize % BLOCK_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::mix;

    #[test]
    fn blocks_agree_with_lists_of_bits() {
        for seed in 0..200u64 {
            let bits = |salt: u64, n: u64| (0..n).map(move |i| mix(seed << 32 | salt << 16 | i) % 512);
            let (held, sought): (Vec<_>, Vec<_>) = (bits(1, 300).collect(), bits(2, 1 + seed % 4).collect());
            let (mut block, mut pattern) = (Block::default(), Block::default());
            for &at in &held {
                block.set(at);
            }
            for &at in &sought {
                pattern.set(at);
            }
            let set = |list: &[u64]| (0..512).map(|at| u32::from(list.contains(&at))).sum::<u32>();
            let missing =
                (0..512).map(|at| u32::from(sought.contains(&at) && !held.contains(&at))).sum::<u32>();
            assert_eq!(block.count(), set(&held));
            assert_eq!(block.missing(&pattern), missing);
            assert_eq!(block.covers(&pattern), missing == 0);
            assert!((0..512).all(|at| block.get(at) == u64::from(held.contains(&at))));
            block.add(&pattern);
            assert!(block.covers(&pattern));
            assert_eq!(block.count(), set(&held) + missing);
        }
    }
}
