//! Tables of which the fractions of a hash draw a block.
//!
//! A draw is below the number of choices whatever the fraction is (`reduce.rs`). So it is enough to ask once, when a
//! table is made, whether its words hold all that can be drawn; a lookup asks no more. With the question a lookup
//! of a single key in a blocked filter was six instructions of 36 longer: the length of the buffer, its comparison, and
//! a stack for the panic.
#![expect(unsafe_code, reason = "what was drawn lies inside, and need not be checked")]

use crate::reduce::last_draw;

use super::block::{BLOCK_BITS, BLOCK_WORDS, Block};
use super::words::{Words, prefetch_line};

/// Words as so many blocks.
///
/// The invariant: there is at least one block, and the words hold all of them. Words never change their number.
#[derive(Clone, Debug)]
pub(crate) struct BlockTable {
    blocks: usize,
    words: Words,
}

impl BlockTable {
    /// Words as so many blocks; there may be more words.
    ///
    /// # Panics
    ///
    /// If there are fewer, or if there is no block.
    #[expect(clippy::cast_possible_truncation, reason = "not more than there are words")]
    pub(crate) fn new(words: Words, blocks: u64) -> Self {
        assert!(
            blocks > 0 && blocks <= words.as_chunks::<BLOCK_WORDS>().0.len() as u64,
            "words hold all blocks"
        );
        Self { blocks: blocks as usize, words }
    }

    /// The blocks.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> Blocks<'_> {
        // SAFETY: there are that many chunks, by the invariant.
        Blocks(unsafe { self.words.as_chunks().0.get_unchecked(..self.blocks) })
    }

    /// The words of the block that a fraction draws, to be written to.
    #[inline(always)]
    pub(crate) fn draw_mut(&mut self, fraction: u64) -> &mut [u64; BLOCK_WORDS] {
        let number = draw(fraction, self.blocks);
        // SAFETY: a draw is below the number of blocks, which is not 0, and there are that many chunks, by the
        // invariant.
        unsafe { self.words.as_chunks_mut().0.get_unchecked_mut(number) }
    }

    /// All words, also those beyond the last block.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The same, to be written to.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

/// The blocks of a table: at least one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a>(&'a [[u64; BLOCK_WORDS]]);

impl<'a> Blocks<'a> {
    /// The words of the block that a fraction draws.
    #[inline(always)]
    pub(crate) fn draw(self, fraction: u64) -> &'a [u64; BLOCK_WORDS] {
        // SAFETY: a draw is below the number of blocks, which is not 0.
        unsafe { self.0.get_unchecked(draw(fraction, self.0.len())) }
    }

    /// Asks the CPU to fetch it.
    #[inline(always)]
    pub(crate) fn prefetch(self, fraction: u64) {
        prefetch_line(core::ptr::from_ref(self.draw(fraction)).cast());
    }

    /// All of them.
    pub(crate) fn iter(self) -> impl Iterator<Item = Block> + use<'a> {
        self.0.iter().map(|words| Block(*words))
    }

    /// Their words.
    pub(crate) fn words(self) -> &'a [u64] {
        self.0.as_flattened()
    }

    /// Their bits.
    pub(crate) fn bits(self) -> u64 {
        self.0.len() as u64 * u64::from(BLOCK_BITS)
    }

    /// Their bytes.
    #[inline(always)]
    pub(crate) fn bytes(self) -> usize {
        size_of_val(self.0)
    }
}

/// The two halves of a product folded into one word.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a product")]
pub(crate) const fn fold([a, b]: [u64; 2]) -> u64 {
    let product = a as u128 * b as u128;
    (product >> 64) as u64 ^ product as u64
}

/// Draws a number below `choices`, which is not 0.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "below a number of the same type")]
fn draw(fraction: u64, choices: usize) -> usize {
    last_draw(fraction, choices as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::mix;

    fn fractions() -> impl Iterator<Item = u64> {
        [0, 1, 1 << 63, u64::MAX - 1, u64::MAX].into_iter().chain((0..200).map(mix))
    }

    #[test]
    fn blocks_are_the_cache_lines_of_the_words() {
        for blocks in [1, 2, 3, 77] {
            let mut table = BlockTable::new(Words::zeroed(blocks * 512).unwrap(), blocks);
            for (i, word) in table.words_mut().iter_mut().enumerate() {
                *word = i as u64;
            }
            for fraction in fractions() {
                let number = last_draw(fraction, blocks);
                assert_eq!(table.blocks().draw(fraction)[3], number * 8 + 3);
                assert_eq!(table.draw_mut(fraction)[7], number * 8 + 7);
                table.blocks().prefetch(fraction);
            }
            assert_eq!(table.blocks().iter().count() as u64, blocks);
            assert_eq!(table.blocks().words().len() as u64, blocks * 8);
            assert_eq!(table.blocks().bits(), blocks * 512);
            assert!(table.blocks().bytes() < table.bytes(), "there are spare words");
        }
    }

    #[test]
    #[should_panic(expected = "words hold all blocks")]
    fn words_for_too_few_blocks_are_refused() {
        // Three blocks, with the spare words.
        let words = Words::zeroed(512 * 3 - 128).unwrap();
        BlockTable::new(words, 4);
    }
}
