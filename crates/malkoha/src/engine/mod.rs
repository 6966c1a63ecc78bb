//! Filters inside this crate: tables that work on hashes, behind traits.
//!
//! ```text
//!   Engine          operations on keys, one or many at a time: every filter
//!   Content         what is stored: its size, its bytes, its counters: every filter
//!   CuckooEngine    removing, counting, values, listing what is stored: filters made of tags
//!   BloomEngine     set bits, merging by OR: filters made of bits
//! ```
//!
//! A caller that holds a [`CuckooEngine`] or a [`BloomEngine`] can use all of its methods; none fails because the kind
//! is wrong. (A chain of tables implements both, and is held as the one that its tables are.)

pub(crate) mod atomic_bits;
mod counters;
mod fill;
mod many;
pub(crate) mod reader;
pub(crate) mod rows;
pub(crate) mod threads;
mod values;
pub(crate) mod version;

/// The atomics of `version.rs`, which a test replaces.
mod atomic {
    pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
}

pub(crate) use counters::{Counters, saturating_sum};
pub use fill::Fill;
pub(crate) use many::{CHUNK, Many, Share};
pub use values::Values;

use core::any::Any;
use std::sync::Arc;

use crate::bits::Words;
use crate::bits::shared::Shared;
use crate::bits::shared_arena::SharedArena;
use crate::error::{Full, FullAt};
use crate::key::{KeyHash, KeyHasher};
use atomic_bits::AtomicBits;
use reader::{Blind, Front, Locked, Reader};
use rows::Keys;

/// The outcome of storing a key that should be stored only once.
///
/// A key that was `Seen` is *not* stored: it, or another key that looks the same, was already there. Removing
/// a seen key removes that other key's fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key was not there and has been stored.
    Stored,
    /// The filter already reported the key as present, and has not changed.
    Seen,
}

/// What to do with a key that the filter already reports as present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Store one more copy.
    Store,
    /// Leave it out.
    Skip,
    /// Add the bits of its value to those of the copy that is there.
    Unite,
}

/// An entry of a stash: place, fingerprint and value.
pub(crate) type Stashed = (u64, u64, u16);

/// A stored copy as a filter knows it: a hash that the filter cannot tell from the key's own, and the value.
pub(crate) type Copied = (KeyHash, u16);

/// The most copies that a filter counts.
pub(crate) const MOST_COPIES: u64 = 1 << 62;

/// Content that no history of operations leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// In the table, at a bit.
    Table { bit: u64, what: &'static str },
    /// In an entry of the stash.
    Stash { index: usize, what: &'static str },
    /// In the number of copies: `there` is the true number, or an upper bound of it.
    Count { there: u64 },
}

/// What is stored.
pub(crate) trait Content: Any + Send + Sync + core::fmt::Debug {
    /// The number of stored copies.
    fn len(&self) -> u64;
    /// Bytes of memory.
    fn bytes(&self) -> usize;
    /// The words of the table.
    fn words(&self) -> &[u64];
    /// What is kept outside the table.
    fn stash_entries(&self) -> Vec<Stashed> {
        Vec::new()
    }
    fn stash_len(&self) -> usize {
        0
    }
    fn clear(&mut self);

    /// Takes over the number of copies and the stash from a file. The words are already there.
    fn restore(&mut self, len: u64, stash: Vec<Stashed>);
    /// Refuses a stash that no history leads to.
    fn audit_stash(&self) -> Result<(), Flaw> {
        Ok(())
    }
    /// Refuses content that no history leads to: afterwards no operation on the filter can panic.
    fn audit(&self) -> Result<(), Flaw>;

    /// The counters of events, for filters that have any.
    fn counters(&self) -> Counters {
        Counters::default()
    }
    /// Continues counting from these numbers.
    fn count_on(&mut self, counters: Counters) {
        let _ = counters;
    }
}

/// Operations on keys. One virtual call serves a whole batch.
pub(crate) trait Engine: Content {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full>;
    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full>;
    fn contains(&self, hash: KeyHash) -> bool;
    /// Prefetches the memory that a hash will need.
    fn prefetch(&self, hash: KeyHash);

    /// Looks up all hashes; the slices have equal lengths.
    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]);
    /// Looks up all numbers as keys; the slices have equal lengths. Returns `false`, without answers, if this filter
    /// gains nothing from hashing them itself.
    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        let _ = (numbers, hasher, answers);
        false
    }
    /// Stores keys in order. If one of them finds no place, the error says how many were stored before it.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt>;

    /// Stores keys in whatever order suits the memory, on `threads` threads. If one finds no place, others may still
    /// have been stored. The content depends on the keys and their order, not on the threads.
    fn insert_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full>;
}

/// Further operations of filters made of tags. Values are 0 where filters have none, and never wider than planned.
pub(crate) trait CuckooEngine: Engine {
    /// Removes one copy with value 0; returns whether there was one.
    fn remove(&mut self, hash: KeyHash) -> bool;
    /// Removes one copy of every key with value 0; returns how many there were.
    fn remove_many(&mut self, keys: &Many) -> usize;
    /// The number of copies that look like a key, with any value.
    fn count(&self, hash: KeyHash) -> u32;

    fn insert_value(&mut self, hash: KeyHash, value: u16) -> Result<(), Full>;
    /// The values of all copies that look like a key, ascending.
    fn values(&self, hash: KeyHash) -> Values;
    /// Stores a key with a value or, if a copy already looks like it, adds the bits of the value to those of that copy.
    fn or_value(&mut self, hash: KeyHash, value: u16) -> Result<Inserted, Full>;
    /// The bits of the values of all copies that look like each key, together; the slices have equal lengths.
    fn unions(&self, keys: Keys, unions: &mut [u16]);
    /// Changes the value of one copy of a key from `old` to `new`; returns whether there was one.
    fn update_value(&mut self, hash: KeyHash, old: u16, new: u16) -> bool;
    /// Removes one copy of a key with this value; returns whether there was one.
    fn remove_value(&mut self, hash: KeyHash, value: u16) -> bool;

    /// Stores the first of these keys, at most `most`, in the order that suits the memory; returns how many. Stops
    /// before a round of keys in which one finds no room, and stores none of that round. Stores none at all where order
    /// does not help.
    fn insert_first(&mut self, keys: &Many, most: u64) -> usize;

    /// Lets readers that hold no lock see the table; returns what they read. Tables that readers cannot see give
    /// nothing.
    fn share(&mut self) -> Shared {
        Shared::default()
    }
    /// Does the same as a front. Filters that grow do so in `arena`, one for all shards, which is made when it is
    /// needed.
    fn front(&mut self, arena: &mut Option<Arc<SharedArena>>) -> Front {
        let _ = arena;
        Front::new(self.share(), self.aside())
    }
    /// The arena in which this filter grows.
    fn arena(&self) -> Option<&Arc<SharedArena>> {
        None
    }
    /// Shows readers what has changed, at the end of a change under the lock of the shard.
    fn end_change(&mut self, front: &Front) {
        front.end(self.aside());
    }
    /// Takes back what [`share`](Self::share) returned.
    fn take_back(&mut self, shared: Shared) {
        drop(shared);
    }
    /// The bits ([`reader::aside_bit`]) of all that is kept outside the table.
    fn aside(&self) -> u64 {
        0
    }
    /// A reader of shards that all have the layout of this filter.
    fn reader(&self, fronts: Box<[Front]>, locks: Arc<dyn Locked>) -> Arc<dyn Reader> {
        Arc::new(Blind { fronts, locks })
    }

    /// Every stored copy.
    fn copies(&self) -> Box<dyn Iterator<Item = Copied> + '_>;
    fn clone_box(&self) -> Box<dyn CuckooEngine>;
}

/// Further operations of filters made of bits.
pub(crate) trait BloomEngine: Engine {
    fn fill(&self) -> Fill;
    /// The number of distinct keys, estimated from the set bits.
    fn estimate_keys(&self) -> f64;
    /// Sets the bits that are set in a filter of equal geometry, and adds its number of keys.
    fn merge_bits(&mut self, other: &dyn BloomEngine);
    /// How shards with the layout of this filter are read and written without locks; `None` for chains.
    fn atomic_bits(&self) -> Option<Box<dyn AtomicBits>> {
        None
    }
    /// The words of the table, of which there is one unless this is a chain.
    fn into_words(self: Box<Self>) -> Words;
    fn clone_box(&self) -> Box<dyn BloomEngine>;
}

/// The number of keys whose memory is prefetched before the first of them is used.
const AHEAD: usize = 32;

/// Calls `act` with every hash and its value in order, while the memory of later ones is prefetched. Values are 0 where
/// there are none.
pub(crate) fn for_each_ahead<T: Engine + ?Sized, E>(
    engine: &mut T,
    hashes: &[KeyHash],
    values: &[u16],
    mut act: impl FnMut(&mut T, KeyHash, u16) -> Result<(), E>,
) -> Result<(), E> {
    for (i, hashes) in hashes.chunks(AHEAD).enumerate() {
        for hash in hashes {
            engine.prefetch(*hash);
        }
        for (j, hash) in hashes.iter().enumerate() {
            act(engine, *hash, values.get(i * AHEAD + j).copied().unwrap_or(0))?;
        }
    }
    Ok(())
}

/// Stores keys in the given order, for tables in which no other order helps.
pub(crate) fn insert_in_order(
    engine: &mut dyn Engine,
    keys: &Many,
    again: Again,
    threads: usize,
) -> Result<(), Full> {
    keys.each_chunk_on(threads, |hashes, _| match again {
        Again::Store => engine.insert_batch(hashes).map_err(|FullAt { .. }| Full),
        // These tables have no values to unite.
        Again::Skip | Again::Unite => {
            for_each_ahead(engine, hashes, &[], |engine, hash, _| engine.insert_unique(hash).map(drop))
        }
    })
}
