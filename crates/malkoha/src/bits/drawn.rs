//! Tables from which the fractions of a hash draw a block or a bit.
//!
//! A draw is below the number of choices for every fraction (`key/draw.rs`). So it is enough to check once, when a
//! table is made, that its words hold all that can be drawn; lookups need no check. With one, a lookup of a single
//! key in a blocked filter was six instructions of 36 longer: the length of the buffer, its comparison, and a stack
//! for the panic.
#![expect(unsafe_code, reason = "what was drawn lies inside, and need not be checked")]

use crate::key::KeyHash;
use crate::key::draw::{Multiply, Whole, last_draw};

use super::block::{BLOCK_BITS, BLOCK_WORDS, Block};
use super::words::{ROW, Words, prefetch_line};

/// Words seen as blocks.
///
/// The invariant: there is at least one block, and the words hold all of them. The number of words never changes, and
/// they are not shared.
#[derive(Clone, Debug)]
pub(crate) struct BlockTable {
    blocks: usize,
    words: Words,
}

impl BlockTable {
    /// Makes a table of `blocks` blocks; there may be more words.
    ///
    /// # Panics
    ///
    /// If there are too few words, or no blocks.
    #[expect(clippy::cast_possible_truncation, reason = "not more than there are words")]
    pub(crate) fn new(words: Words, blocks: u64) -> Self {
        assert!(
            blocks > 0 && blocks <= words.as_chunks::<BLOCK_WORDS>().0.len() as u64,
            "words hold all blocks"
        );
        assert!(!words.is_shared(), "the words are those of one thread");
        Self { blocks: blocks as usize, words }
    }

    /// Returns the blocks.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> Blocks<'_> {
        // SAFETY: there are that many chunks, by the invariant.
        Blocks(unsafe { self.words.as_chunks().0.get_unchecked(..self.blocks) })
    }

    /// Returns the words of the block that a fraction draws, mutable.
    #[inline(always)]
    pub(crate) fn draw_mut(&mut self, fraction: u64) -> &mut [u64; BLOCK_WORDS] {
        let number = draw(fraction, self.blocks);
        // SAFETY: the words are not shared, by the invariant.
        let words = unsafe { self.words.unshared_mut() };
        // SAFETY: a draw is below the number of blocks, which is not 0, and there are that many chunks, by the
        // invariant.
        unsafe { words.as_chunks_mut().0.get_unchecked_mut(number) }
    }

    /// Returns the words of all blocks, mutable.
    #[inline(always)]
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))]
    pub(super) fn all_mut(&mut self) -> &mut [[u64; BLOCK_WORDS]] {
        // SAFETY: the words are not shared, by the invariant.
        let words = unsafe { self.words.unshared_mut() };
        // SAFETY: there are that many chunks, by the invariant.
        unsafe { words.as_chunks_mut().0.get_unchecked_mut(..self.blocks) }
    }

    /// Returns all words, including those beyond the last block.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the same words, mutable.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns the words alone.
    pub(crate) fn into_words(self) -> Words {
        self.words
    }

    /// Returns the number of bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

/// The blocks of a table: at least one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a>(&'a [[u64; BLOCK_WORDS]]);

impl<'a> Blocks<'a> {
    /// Returns the words of the block that a fraction draws.
    #[inline(always)]
    pub(crate) fn draw(self, fraction: u64) -> &'a [u64; BLOCK_WORDS] {
        // SAFETY: a draw is below the number of blocks, which is not 0.
        unsafe { self.0.get_unchecked(draw(fraction, self.0.len())) }
    }

    /// Prefetches what a fraction draws.
    #[inline(always)]
    pub(crate) fn prefetch(self, fraction: u64) {
        prefetch_line(core::ptr::from_ref(self.draw(fraction)).cast());
    }

    /// Returns the words of each block.
    #[inline(always)]
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))]
    pub(super) fn all(self) -> &'a [[u64; BLOCK_WORDS]] {
        self.0
    }

    /// Returns an iterator over the blocks.
    pub(crate) fn iter(self) -> impl Iterator<Item = Block> + use<'a> {
        self.0.iter().map(|words| Block(*words))
    }

    /// Returns the words of all blocks.
    pub(crate) fn words(self) -> &'a [u64] {
        self.0.as_flattened()
    }

    /// Returns the number of bits.
    pub(crate) fn bits(self) -> u64 {
        self.0.len() as u64 * u64::from(BLOCK_BITS)
    }

    /// Returns the number of bytes.
    #[inline(always)]
    pub(crate) fn bytes(self) -> usize {
        size_of_val(self.0)
    }
}

/// Words seen as bits.
///
/// The invariant: the words hold all bits, and there is at least one word. The number of words never changes, and
/// they are not shared.
#[derive(Clone, Debug)]
pub(crate) struct BitTable {
    bits: u64,
    words: Words,
}

impl BitTable {
    /// Makes a table of `bits` bits; there may be more words.
    ///
    /// # Panics
    ///
    /// If there are too few words.
    pub(crate) fn new(words: Words, bits: u64) -> Self {
        assert!(bits.max(1).div_ceil(64) <= words.len() as u64, "words hold all bits");
        assert!(!words.is_shared(), "the words are those of one thread");
        Self { bits, words }
    }

    /// Returns the bits.
    #[inline(always)]
    pub(crate) fn bits(&self) -> Bits<'_> {
        Bits { bits: self.bits, words: &self.words }
    }

    /// Sets the bit that a fraction draws.
    #[inline(always)]
    pub(crate) fn set(&mut self, fraction: u64) {
        let at = last_draw(fraction, self.bits);
        // SAFETY: the words are not shared, by the invariant.
        let words = unsafe { self.words.unshared_mut() };
        // SAFETY: a draw is below the number of bits, or 0 if there are none, and the words hold that many, by the
        // invariant.
        let word = unsafe { words.get_unchecked_mut(word_of(at)) };
        *word |= 1 << (at % 64);
    }

    /// Returns all words, including those beyond the last bit.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the same words, mutable.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns the words alone.
    pub(crate) fn into_words(self) -> Words {
        self.words
    }

    /// Returns the number of bytes allocated.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

/// The bits of a table. The words hold all of them, and there is at least one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits<'a> {
    bits: u64,
    words: &'a [u64],
}

impl<'a> Bits<'a> {
    /// Returns the bit that a fraction draws as the lowest bit; the others are not defined.
    #[inline(always)]
    pub(crate) fn draw(self, fraction: u64) -> u64 {
        let at = last_draw(fraction, self.bits);
        // SAFETY: a draw is below the number of bits, or 0 if there are none, and the words hold that many.
        let word = unsafe { self.words.get_unchecked(word_of(at)) };
        word >> (at % 64)
    }

    /// Prefetches what a fraction draws.
    #[inline(always)]
    pub(crate) fn prefetch(self, fraction: u64) {
        let at = last_draw(fraction, self.bits);
        prefetch_line(self.words.as_ptr().wrapping_add(word_of(at)).cast());
    }

    /// Returns the same bits if they are few enough for vectors.
    #[inline(always)]
    pub(crate) fn narrow(self) -> Option<NarrowBits<'a>> {
        Some(NarrowBits { count: u32::try_from(self.bits).ok()?, words: self.words })
    }
}

/// The bits of a table, few enough for [`Narrow`](crate::key::draw::Narrow) to draw from. The words hold all of them,
/// and there is at least one word.
#[derive(Clone, Copy, Debug)]
pub struct NarrowBits<'a> {
    count: u32,
    words: &'a [u64],
}

impl<'a> NarrowBits<'a> {
    /// Returns the same bits without the limit.
    #[inline(always)]
    pub(crate) fn all(self) -> Bits<'a> {
        Bits { bits: u64::from(self.count), words: self.words }
    }

    /// Returns the number of bits.
    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(super) fn count(self) -> u32 {
        self.count
    }

    /// Returns the words that hold the bits.
    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(super) fn words(self) -> &'a [u64] {
        self.words
    }
}

/// Returns the index of the word that holds bit `at` of a table.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: what was allocated can be counted")]
const fn word_of(at: u64) -> usize {
    (at / 64) as usize
}

/// A list from which fractions draw items: there is at least one. The list never changes its length.
#[derive(Debug)]
pub(crate) struct Choices<T>(Box<[T]>);

impl<T> Choices<T> {
    /// # Panics
    ///
    /// If there are no items.
    pub(crate) fn new(items: Box<[T]>) -> Self {
        assert!(!items.is_empty(), "there is something to draw");
        Self(items)
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn into_all(self) -> Box<[T]> {
        self.0
    }

    /// Returns the item that a hash draws, and the rest of the hash.
    #[inline(always)]
    pub(crate) fn draw(&self, hash: KeyHash) -> (&T, KeyHash) {
        let (item, rest) = self.draw_by::<Whole>(hash);
        // SAFETY: it points to an item of the list, as `draw_by` says.
        (unsafe { &*item }, rest)
    }

    /// Does the same for a row of hashes, in draws by `M`.
    #[inline(always)]
    pub(crate) fn draw_row<'a, M: Multiply>(&'a self, hashes: &mut [KeyHash; ROW], items: &mut [&'a T; ROW]) {
        for (item, hash) in items.iter_mut().zip(hashes) {
            let (drawn, rest) = self.draw_by::<M>(*hash);
            // SAFETY: it points to an item of the list, as `draw_by` says.
            (*item, *hash) = (unsafe { &*drawn }, rest);
        }
    }

    /// Returns the address of the item that a hash draws, and the rest of the hash.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below the length of the list")]
    fn draw_by<M: Multiply>(&self, hash: KeyHash) -> (*const T, KeyHash) {
        let (number, rest) = M::draw(hash.to_raw(), self.0.len() as u64);
        // SAFETY: a draw is below the number of choices, which is not 0.
        (unsafe { self.0.as_ptr().add(number as usize) }, KeyHash::from_raw(rest))
    }
}

/// The step of the counter that words are drawn from.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The bits in which the two factors of a drawn word differ.
pub(crate) const FLIPS: u64 = 0xE703_7ED1_A0B4_28DB;

/// Returns the two factors whose folded product is the word of this counter.
#[inline(always)]
pub(crate) const fn factors(counter: u64) -> [u64; 2] {
    [counter, counter ^ FLIPS]
}

/// Folds the two halves of a product into one word.
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
    fn bits_are_those_of_the_words() {
        for bits in [0, 1, 64, 65, 1000] {
            let mut table = BitTable::new(Words::zeroed(bits).unwrap(), bits);
            for fraction in fractions() {
                let at = last_draw(fraction, bits);
                let (word, bit) = ((at / 64) as usize, at % 64);
                assert_eq!(table.bits().draw(fraction) & 1, table.words()[word] >> bit & 1);
                table.set(fraction);
                assert_eq!(table.bits().draw(fraction) & 1, 1);
                assert_eq!(table.words()[word] >> bit & 1, 1);
                table.bits().prefetch(fraction);
            }
            assert!(table.words()[bits.div_ceil(64).max(1) as usize..].iter().all(|word| *word == 0));
        }
    }

    #[test]
    fn choices_are_drawn_like_numbers() {
        for count in [1, 2, 3, 64, 1000] {
            let choices = Choices::new((0..count).collect());
            assert!(choices.all().iter().copied().eq(0..count));
            let mut hashes = [KeyHash::from_raw(0); ROW];
            for (hash, fraction) in hashes.iter_mut().zip(fractions()) {
                *hash = KeyHash::from_raw(fraction);
            }
            let (mut rests, mut items) = (hashes, [&0; ROW]);
            choices.draw_row::<Whole>(&mut rests, &mut items);
            for (i, hash) in hashes.into_iter().enumerate() {
                let (number, rest) = crate::key::draw::draw(hash.to_raw(), count);
                assert_eq!((*items[i], rests[i].to_raw()), (number, rest));
                assert_eq!(choices.draw(hash), (&number, KeyHash::from_raw(rest)));
            }
        }
    }

    #[test]
    fn only_few_bits_are_narrow() {
        let words = [0];
        for (bits, narrow) in [(0, true), (u64::from(u32::MAX), true), (1 << 32, false), (u64::MAX, false)] {
            assert_eq!(Bits { bits, words: &words }.narrow().is_some(), narrow);
        }
    }

    #[test]
    #[should_panic(expected = "words hold all blocks")]
    fn words_for_too_few_blocks_are_refused() {
        // Three blocks, with the spare words.
        let words = Words::zeroed(512 * 3 - 128).unwrap();
        BlockTable::new(words, 4);
    }

    #[test]
    #[should_panic(expected = "words hold all bits")]
    fn words_for_too_few_bits_are_refused() {
        let words = Words::zeroed(64).unwrap();
        let all = 64 * words.len() as u64;
        BitTable::new(words, all + 1);
    }
}
