//! What a filter is inside this crate: a table that speaks hashes, behind traits.
//!
//! ```text
//!   Engine          what is done with keys, one by one and many at a time: every filter
//!   Content         what is stored: its size, its bytes, what was counted: every filter
//!   CuckooEngine    removing, counting, values, telling what is stored: filters made of tags
//!   BloomEngine     set bits, merging by OR: filters made of bits
//! ```
//!
//! A caller who has a [`CuckooEngine`] or a [`BloomEngine`] in hand has all that it can do; nothing is refused
//! because the kind is wrong.

mod counters;
mod fill;
mod many;
pub(crate) mod rows;
pub(crate) mod threads;
mod values;

pub(crate) use counters::{Counters, saturating_sum};
pub use fill::Fill;
pub(crate) use many::{CHUNK, Many, Share};
pub use values::Values;

use core::any::Any;

use crate::error::{Full, FullAt};
use crate::key::{KeyHash, KeyHasher};

/// What became of a key that was to be stored only once.
///
/// A key that was `Seen` is *not* stored: it, or another key that looks the same, was there already. Removing
/// a seen key takes that other key's fingerprint away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key was not there and has been stored.
    Stored,
    /// The filter already answered that the key is there, and has not changed.
    Seen,
}

/// What is done with a key that the filter already answers to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// One more copy is stored.
    Store,
    /// It is left out.
    Skip,
}

/// An entry of a stash: place, fingerprint and value.
pub(crate) type Stashed = (u64, u64, u16);

/// A stored copy as a filter knows it: a hash that the filter cannot tell from the key's own, and the value.
pub(crate) type Copied = (KeyHash, u16);

/// Copies beyond which no filter counts.
pub(crate) const MOST_COPIES: u64 = 1 << 62;

/// Content that no history gives a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// In the table, at a bit.
    Table { bit: u64, what: &'static str },
    /// In an entry of the stash.
    Stash { index: usize, what: &'static str },
    /// In the number of copies, for so many are really there, or as many at most.
    Count { there: u64 },
}

/// What is stored.
pub(crate) trait Content: Any + Send + Sync + core::fmt::Debug {
    /// Copies stored.
    fn len(&self) -> u64;
    /// Bytes of memory.
    fn bytes(&self) -> usize;
    /// The words of the table,
    fn words(&self) -> &[u64];
    /// and what is kept outside it.
    fn stash_entries(&self) -> Vec<Stashed> {
        Vec::new()
    }
    fn stash_len(&self) -> usize {
        0
    }
    fn clear(&mut self);

    /// Takes over what a file says: the number of copies and the stash. The words are there already.
    fn restore(&mut self, len: u64, stash: Vec<Stashed>);
    /// Refuses a stash that no history gives.
    fn audit_stash(&self) -> Result<(), Flaw> {
        Ok(())
    }
    /// Refuses content that no history gives: after this nothing that is done with the filter can panic.
    fn audit(&self) -> Result<(), Flaw>;

    /// What happened, for filters to which it happens.
    fn counters(&self) -> Counters {
        Counters::default()
    }
    /// Goes on counting from here.
    fn count_on(&mut self, counters: Counters) {
        let _ = counters;
    }
}

/// What is done with keys. One virtual call serves a whole batch.
pub(crate) trait Engine: Content {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full>;
    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full>;
    fn contains(&self, hash: KeyHash) -> bool;
    /// Asks for the memory that a hash will need.
    fn prefetch(&self, hash: KeyHash);

    /// Answers for all hashes; the slices have equal lengths.
    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]);
    /// Answers for all numbers as keys; the slices have equal lengths. `false` if this filter has nothing to gain
    /// from hashing them itself, and has not answered.
    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        let _ = (numbers, hasher, answers);
        false
    }
    /// Stores keys in order. If one of them finds no place, says how many did before it.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt>;

    /// Stores keys in whatever order suits the memory, on as many threads. If one finds no place, others may have
    /// been stored all the same. The content depends on the keys and their order, not on the threads.
    fn insert_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full>;
}

/// What filters made of tags do beyond that. Values are 0 where filters have none, and never wider than planned.
pub(crate) trait CuckooEngine: Engine {
    /// Removes one copy with value 0, and says whether there was one.
    fn remove(&mut self, hash: KeyHash) -> bool;
    /// Removes one copy of every key with value 0; returns how many were there.
    fn remove_many(&mut self, keys: &Many) -> usize;
    /// Copies that look like a key, with any value.
    fn count(&self, hash: KeyHash) -> u32;

    fn insert_value(&mut self, hash: KeyHash, value: u16) -> Result<(), Full>;
    /// The values of all copies that look like a key, ascending.
    fn values(&self, hash: KeyHash) -> Values;
    /// Gives one copy of a key with the value `old` the value `new`, and says whether there was one.
    fn update_value(&mut self, hash: KeyHash, old: u16, new: u16) -> bool;
    /// Removes one copy of a key with a value, and says whether there was one.
    fn remove_value(&mut self, hash: KeyHash, value: u16) -> bool;

    /// Stores the first of these keys, at most so many, in the order that suits the memory, and says how many. Stops
    /// before keys of which one finds no room, and stores none of them; stores none at all where order does not help.
    fn insert_first(&mut self, keys: &Many, most: u64) -> usize;

    /// Every stored copy.
    fn copies(&self) -> Box<dyn Iterator<Item = Copied> + '_>;
    fn clone_box(&self) -> Box<dyn CuckooEngine>;
}

/// What filters made of bits do beyond that.
pub(crate) trait BloomEngine: Engine {
    fn fill(&self) -> Fill;
    /// The number of different keys that the set bits tell of.
    fn estimate_keys(&self) -> f64;
    /// Sets the bits that are set in a filter of equal geometry, and counts its keys as its own.
    fn merge_bits(&mut self, other: &dyn BloomEngine);
    fn clone_box(&self) -> Box<dyn BloomEngine>;
}

/// Keys whose memory is asked for before the first of them is looked at.
const AHEAD: usize = 32;

/// Does something with every hash and its value in order, with the memory of later ones on its way. Values are 0
/// where there are none.
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
