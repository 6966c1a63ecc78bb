//! The face that every filter shows inside this crate, and what it counts.

use crate::bloom::Fill;
use crate::error::{Error, Full, FullAt};
use crate::filter::Filter;
use crate::key::{KeyHash, KeyHasher};
use crate::regions::{Order, Regions};
use crate::values::Values;

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
    /// The same, and if keys of a round find no place, it is told which were not stored.
    StoreAndTell,
    /// It is left out.
    Skip,
}

/// Some keys of a round were not stored: these, each with its value, if that was to be told.
#[derive(Debug)]
pub(crate) struct Unstored(pub(crate) Vec<(KeyHash, u16)>);

/// Counts of what happened since the filter was made; not part of its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) failures: u64,
    pub(crate) walks: u64,
    pub(crate) steps: u64,
    pub(crate) most_steps: u64,
}

impl Counters {
    pub(crate) fn walked(&mut self, steps: u64) {
        self.walks += 1;
        self.steps += steps;
        self.most_steps = self.most_steps.max(steps);
    }

    /// Steps per insert that had to walk.
    pub(crate) fn steps_mean(&self) -> f64 {
        self.steps as f64 / self.walks.max(1) as f64
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.failures += other.failures;
        self.walks += other.walks;
        self.steps += other.steps;
        self.most_steps = self.most_steps.max(other.most_steps);
    }
}

/// An entry of a stash: place, fingerprint and value.
pub(crate) type Stashed = (u64, u64, u16);

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

/// Keys whose memory is asked for before the first of them is looked at, where a filter has no better way.
const BATCH: usize = 32;

/// A filter whose kind is known only at run time, speaking hashes. One virtual call serves a whole batch.
pub(crate) trait Engine: Send + Sync + core::fmt::Debug {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full>;
    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full>;
    fn contains(&self, hash: KeyHash) -> bool;
    /// Removes one copy and says whether there was one; `None` if this kind of filter cannot remove.
    fn remove(&mut self, hash: KeyHash) -> Option<bool> {
        let _ = hash;
        None
    }
    /// Counts copies; `None` if this kind of filter cannot count.
    fn count(&self, hash: KeyHash) -> Option<u32> {
        let _ = hash;
        None
    }

    /// Answers for all hashes; the slices have equal lengths.
    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        for (hashes, answers) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for hash in hashes {
                self.prefetch(*hash);
            }
            for (answer, hash) in answers.iter_mut().zip(hashes) {
                *answer = self.contains(*hash);
            }
        }
    }
    /// Answers for all numbers as keys; the slices have equal lengths. `false` if this kind of filter has
    /// nothing to gain from hashing them itself, and has not answered.
    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        let _ = (numbers, hasher, answers);
        false
    }
    /// Asks for the memory that a hash will need.
    fn prefetch(&self, hash: KeyHash);

    /// Stores keys one by one. If one of them finds no place, says how many did before it.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        for (i, hashes) in hashes.chunks(BATCH).enumerate() {
            for hash in hashes {
                self.prefetch(*hash);
            }
            for (j, hash) in hashes.iter().enumerate() {
                self.insert(*hash).map_err(|Full| FullAt { done: i * BATCH + j })?;
            }
        }
        Ok(())
    }

    /// Removes one copy of every key, in order, and says how many were there; `None` if this kind of filter cannot
    /// remove.
    fn remove_batch(&mut self, hashes: &[KeyHash]) -> Option<usize> {
        let mut removed = 0;
        for hashes in hashes.chunks(BATCH) {
            for hash in hashes {
                self.prefetch(*hash);
            }
            for hash in hashes {
                removed += usize::from(self.remove(*hash)?);
            }
        }
        Some(removed)
    }

    /// The order in which the next of so many keys are best stored, and how many of them; `None` if there is no
    /// better order than the given one, for all of them. May make room for them, and says if it cannot.
    fn order(&mut self, keys: u64, again: Again) -> Result<Option<Order>, Full> {
        let _ = (keys, again);
        Ok(None)
    }
    /// Stores keys that were sorted in the order that was asked for; there are values only for filters that have
    /// them, and they have been checked. If some find no place, others have been stored all the same.
    fn insert_sorted(&mut self, keys: &Regions, again: Again, threads: usize) -> Result<(), Unstored> {
        let _ = (keys, again, threads);
        unreachable!("only for filters that have an order");
    }

    /// Stores one copy of a key with a value. This and the three that follow are refused by filters without
    /// values, and for values that are too wide.
    fn insert_with(&mut self, hash: KeyHash, value: u16) -> Result<(), Error> {
        let _ = (hash, value);
        Err(Error::NoValues)
    }
    /// The values of all copies that look like a key, ascending.
    fn get(&self, hash: KeyHash) -> Result<Values, Error> {
        let _ = hash;
        Err(Error::NoValues)
    }
    /// Gives one copy of a key with the value `old` the value `new`, and says whether there was one.
    fn update(&mut self, hash: KeyHash, old: u16, new: u16) -> Result<bool, Error> {
        let _ = (hash, old, new);
        Err(Error::NoValues)
    }
    /// Removes one copy of a key with a value, and says whether there was one.
    fn remove_with(&mut self, hash: KeyHash, value: u16) -> Result<bool, Error> {
        let _ = (hash, value);
        Err(Error::NoValues)
    }
    /// A hash and the value of every stored copy; the filter cannot tell the hash from that of the key that
    /// was stored. `None` if this kind of filter does not know.
    fn copies(&self) -> Option<Box<dyn Iterator<Item = (KeyHash, u16)> + '_>> {
        None
    }

    fn clear(&mut self);
    fn len(&self) -> u64;
    fn bytes(&self) -> usize;
    /// The content: the words of the table,
    fn words(&self) -> &[u64];
    /// and what is kept outside it.
    fn stash_entries(&self) -> Vec<Stashed> {
        Vec::new()
    }
    fn stash_len(&self) -> usize {
        0
    }
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
    /// Moves keys together and gives memory back; says how many were moved. `None` if this kind of filter
    /// cannot.
    fn compact(&mut self) -> Option<u64> {
        None
    }
    /// The filters that it is made of, if it is made of several; they have the content then.
    fn links(&self) -> &[Filter] {
        &[]
    }
    fn clone_box(&self) -> Box<dyn Engine>;

    /// Sets the bits that are set in an engine of equal geometry, and counts its keys as its own; `false` if
    /// this kind of filter is not made of bits.
    fn merge_bits(&mut self, other: &dyn Engine) -> bool {
        let _ = other;
        false
    }
    /// The set bits; `None` if this kind of filter is not made of bits.
    fn fill(&self) -> Option<Fill> {
        None
    }
    /// The number of different keys that the set bits tell of; `None` likewise.
    fn estimate_keys(&self) -> Option<f64> {
        None
    }
}
