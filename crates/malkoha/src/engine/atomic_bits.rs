//! Tables of bits that several threads read and write without locks.
//!
//! Bits are set and never cleared, each by an atomic or. All operations are relaxed: a key is found if all of its
//! bits are set, in whatever order they became visible. Who learns from another thread that an insert has returned
//! has synchronised with it, and sees the bits.

use core::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bits::shared::AtomicWords;
use crate::key::KeyHash;

/// The bits of one shard, on cache lines of their own, with the number of inserts.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct BitShard {
    pub(crate) words: AtomicWords,
    added: Added,
}

/// A number that inserts write to, apart from the lines that lookups read.
#[repr(align(128))]
#[derive(Debug)]
struct Added(AtomicU64);

impl BitShard {
    pub(crate) fn new(words: AtomicWords, len: u64) -> Self {
        Self { words, added: Added(AtomicU64::new(len)) }
    }

    /// The number of inserts.
    pub(crate) fn len(&self) -> u64 {
        self.added.0.load(Ordering::Relaxed)
    }

    /// Counts inserts whose bits are set.
    #[inline(always)]
    pub(crate) fn count(&self, inserts: u64) {
        self.added.0.fetch_add(inserts, Ordering::Release);
    }

    /// Removes all keys. What is inserted at the same time may be lost. The number goes first: if an insert is in
    /// between, the filter counts a key that is gone, and never has one that is not counted.
    pub(crate) fn clear(&self) {
        self.added.0.swap(0, Ordering::AcqRel);
        self.words.get().iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// Whether the bits of a mask are all set in a word.
#[inline(always)]
pub(crate) fn has_bits(word: &AtomicU64, mask: u64) -> bool {
    word.load(Ordering::Relaxed) & mask == mask
}

/// Sets the bits of a mask in a word. Those that are set already need no write, which would take the line from readers.
#[inline(always)]
pub(crate) fn set_bits(word: &AtomicU64, mask: u64) {
    if !has_bits(word, mask) {
        word.fetch_or(mask, Ordering::Relaxed);
    }
}

/// Reads and writes the bits of keys in shards of one layout. Hashes are those inside the shard.
pub(crate) trait AtomicBits: Send + Sync + fmt::Debug {
    fn contains(&self, words: &AtomicWords, hash: KeyHash) -> bool;
    /// Sets the bits of a key.
    fn insert(&self, words: &AtomicWords, hash: KeyHash);
    /// Prefetches the memory of a key.
    fn prefetch(&self, words: &AtomicWords, hash: KeyHash);
    /// The most bits that a key sets.
    fn key_bits(&self) -> u32;
}
