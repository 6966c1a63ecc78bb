//! Shards of Bloom kinds: bits that all threads set and read, without locks.
//!
//! What needs the filter of a shard as a whole, such as saving or statistics, makes a copy of it.

use core::fmt;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use crate::bits::Words;
use crate::bits::shared::AtomicWords;
use crate::engine::atomic_bits::{AtomicBits, BitShard};
use crate::engine::rows::{Keys, ROW};
use crate::engine::{Inserted, MOST_COPIES};
use crate::filter::Filter;
use crate::key::KeyHash;
use crate::plan::Geometry;

use super::shard_of;

/// The bits of all shards.
pub(super) struct Bits {
    kernel: Box<dyn AtomicBits>,
    geometry: Geometry,
    shards: Box<[BitShard]>,
    /// One lock for each shard, which only keys that must be stored once take.
    locks: Box<[Mutex<()>]>,
}

impl Bits {
    /// Makes shards of filters of equal geometry; gives them back if they are not of a Bloom kind.
    pub(super) fn new(filters: Vec<Filter>) -> Result<Self, Vec<Filter>> {
        let Some((kernel, geometry)) =
            filters.first().and_then(|filter| Some((filter.atomic_bits()?, *filter.geometry())))
        else {
            return Err(filters);
        };
        let shards: Box<[BitShard]> = filters
            .into_iter()
            .map(|filter| {
                let len = filter.len();
                BitShard::new(AtomicWords::new(filter.into_words()), len)
            })
            .collect();
        let locks = shards.iter().map(|_| Mutex::new(())).collect();
        Ok(Self { kernel, geometry, shards, locks })
    }

    /// The filters alone.
    pub(super) fn into_filters(self) -> Vec<Filter> {
        let geometry = self.geometry;
        let filter = |shard: BitShard| {
            let len = shard.len();
            Self::filter(geometry, shard.words.into_words(), len, self.kernel.key_bits())
        };
        self.shards.into_iter().map(filter).collect()
    }

    /// A filter in these words. The number of inserts is one that can have set their bits, whatever threads did at the
    /// same time.
    fn filter(geometry: Geometry, words: Words, len: u64, key_bits: u32) -> Filter {
        let set: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        let least = set.div_ceil(u64::from(key_bits));
        let len = if set == 0 { 0 } else { len.clamp(least, MOST_COPIES.max(least)) };
        let mut filter = Filter::in_words(geometry, words).expect("the words of such a filter");
        filter.engine_mut().restore(len, Vec::new());
        filter
    }

    /// A copy of the filter of a shard. Keys whose inserts have returned are in it.
    pub(super) fn copy(&self, shard: usize) -> Filter {
        let bits = self.geometry.table_bits().expect("a table in memory can be counted");
        let mut words = Words::zeroed(bits).expect("memory for a copy of a shard");
        let shard = &self.shards[shard];
        for (to, from) in words.iter_mut().zip(shard.words.get()) {
            *to = from.load(Ordering::Relaxed);
        }
        Self::filter(self.geometry, words, shard.len(), self.kernel.key_bits())
    }

    pub(super) fn len(&self) -> usize {
        self.shards.len()
    }

    /// The number of inserts into a shard.
    pub(super) fn added(&self, shard: usize) -> u64 {
        self.shards[shard].len().min(MOST_COPIES)
    }

    pub(super) fn clear(&self, shard: usize) {
        self.shards[shard].clear();
    }

    /// Whether the shard of a key may hold it.
    #[inline]
    pub(super) fn contains(&self, hash: KeyHash) -> bool {
        let (shard, hash) = shard_of(hash, self.len());
        self.kernel.contains(&self.shards[shard].words, hash)
    }

    /// Stores a key.
    pub(super) fn insert(&self, hash: KeyHash) {
        let (shard, hash) = shard_of(hash, self.len());
        let shard = &self.shards[shard];
        self.kernel.insert(&shard.words, hash);
        shard.count(1);
    }

    /// Stores a key that is not yet present. If several threads do so with the same key, one of them stores it.
    pub(super) fn insert_unique(&self, hash: KeyHash) -> Inserted {
        if self.contains(hash) {
            return Inserted::Seen;
        }
        // Nothing is broken if a holder panics: bits are set one by one in any case.
        let lock = &self.locks[shard_of(hash, self.len()).0];
        let _lock = lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.contains(hash) {
            return Inserted::Seen;
        }
        self.insert(hash);
        Inserted::Stored
    }

    /// Calls `act` with every key in order, while the memory of the next row is prefetched.
    fn each_ahead(&self, keys: Keys, mut act: impl FnMut(usize, KeyHash)) {
        for begin in (0..keys.len()).step_by(ROW) {
            let row = begin..keys.len().min(begin + ROW);
            for i in row.clone() {
                let (shard, hash) = shard_of(keys.get(i), self.len());
                self.kernel.prefetch(&self.shards[shard].words, hash);
            }
            row.for_each(|i| act(i, keys.get(i)));
        }
    }

    /// Looks up all keys; the slices have equal lengths.
    pub(super) fn contains_keys(&self, keys: Keys, answers: &mut [bool]) {
        self.each_ahead(keys, |i, hash| answers[i] = self.contains(hash));
    }

    /// Stores all keys.
    pub(super) fn insert_keys(&self, keys: Keys) {
        self.each_ahead(keys, |_, hash| self.insert(hash));
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bits").field("shards", &self.len()).finish_non_exhaustive()
    }
}
