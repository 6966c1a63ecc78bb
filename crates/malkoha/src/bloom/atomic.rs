//! Bloom filters in shards that several threads use without locks (`engine/atomic_bits.rs`).
//!
//! With several candidate blocks, a thread chooses by what it sees of them while others set bits: it may choose
//! another block than it would have alone. The key is stored as well there, because all bits of its pattern are set
//! in that block.

use std::sync::atomic::Ordering;

use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::shared::AtomicWords;
use crate::bits::{BLOCK_WORDS, Block};
use crate::engine::atomic_bits::{AtomicBits, has_bits, set_bits};
use crate::key::KeyHash;
use crate::key::draw::last_draw;

use super::choice::Prices;
use super::layout::{BlockedLayout, BloomLayout};
use super::pattern::{Draws, Scatter};

/// Returns the word of a bit and the bit in it.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: what was allocated can be counted")]
const fn split(at: u64) -> (usize, u64) {
    ((at / 64) as usize, 1 << (at % 64))
}

/// Plain filters.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainBits(pub(super) BloomLayout);

impl PlainBits {
    /// Calls `each` with the words and masks of the bits of a key until it returns `false`; returns whether it never
    /// did.
    #[inline(always)]
    fn all(self, hash: KeyHash, mut each: impl FnMut(usize, u64) -> bool) -> bool {
        let mut draws = Draws::new(hash);
        (0..self.0.key_bits).all(|_| {
            let (word, mask) = split(last_draw(draws.next(), self.0.bits));
            each(word, mask)
        })
    }
}

impl AtomicBits for PlainBits {
    fn contains(&self, words: &AtomicWords, hash: KeyHash) -> bool {
        let words = words.get();
        self.all(hash, |word, mask| has_bits(&words[word], mask))
    }

    fn insert(&self, words: &AtomicWords, hash: KeyHash) {
        let words = words.get();
        self.all(hash, |word, mask| {
            set_bits(&words[word], mask);
            true
        });
    }

    fn prefetch(&self, words: &AtomicWords, hash: KeyHash) {
        self.all(hash, |word, _| {
            words.prefetch(word);
            true
        });
    }

    fn key_bits(&self) -> u32 {
        self.0.key_bits
    }
}

/// Blocked filters.
#[derive(Clone, Debug)]
pub(super) struct BlockedBits<P> {
    pub(super) layout: BlockedLayout,
    pub(super) scatter: P,
    pub(super) prices: Option<Prices>,
    pub(super) cpu: Cpu,
}

impl<P: Scatter> BlockedBits<P> {
    fn choices(&self) -> u8 {
        if P::CHOOSES { self.layout.choices } else { 1 }
    }

    /// The first words of the candidate blocks of a key.
    #[inline(always)]
    fn candidates(&self, hash: KeyHash) -> impl Iterator<Item = usize> {
        let blocks = self.layout.blocks;
        let mut draws = Draws::new(hash);
        let mut fraction = hash.to_raw();
        (0..self.choices()).map(move |_| {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "32-bit targets: what was allocated can be counted"
            )]
            let block = last_draw(fraction, blocks) as usize;
            fraction = draws.next();
            block * BLOCK_WORDS
        })
    }

    #[inline(always)]
    fn pattern(&self, hash: KeyHash, vectors: impl Vectors) -> Block {
        self.scatter.pattern(Draws::after(hash, u64::from(self.choices()) - 1), vectors)
    }

    /// The words of a block as they are now.
    #[inline(always)]
    fn read(words: &AtomicWords, first: usize) -> Block {
        let words = &words.get()[first..first + BLOCK_WORDS];
        Block(core::array::from_fn(|i| words[i].load(Ordering::Relaxed)))
    }
}

/// Makes the pattern of a key.
struct MakePattern<'a, P>(&'a BlockedBits<P>, KeyHash);

impl<P: Scatter> Work for MakePattern<'_, P> {
    const WIDE: bool = true;
    type Output = Block;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Block {
        self.0.pattern(self.1, vectors)
    }
}

impl<P: Scatter> AtomicBits for BlockedBits<P> {
    fn contains(&self, words: &AtomicWords, hash: KeyHash) -> bool {
        let pattern = self.cpu.run(MakePattern(self, hash));
        self.candidates(hash).any(|first| Self::read(words, first).covers(&pattern))
    }

    fn insert(&self, words: &AtomicWords, hash: KeyHash) {
        let pattern = self.cpu.run(MakePattern(self, hash));
        let mut candidates = self.candidates(hash);
        let best = match &self.prices {
            None => candidates.next(),
            // The first in case of a tie, as for one thread.
            Some(prices) => candidates.min_by_key(|first| {
                let block = Self::read(words, *first);
                let new = block.missing(&pattern);
                prices.rank(block.count() + new, new)
            }),
        };
        let first = best.expect("a key has at least one block");
        let block = &words.get()[first..first + BLOCK_WORDS];
        for (word, bits) in block.iter().zip(pattern.0) {
            set_bits(word, bits);
        }
    }

    fn prefetch(&self, words: &AtomicWords, hash: KeyHash) {
        self.candidates(hash).for_each(|first| words.prefetch(first));
    }

    fn key_bits(&self) -> u32 {
        self.layout.key_bits
    }
}
