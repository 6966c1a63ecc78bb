//! Many keys at once: hashed a chunk at a time, with their memory on its way, in the order that suits the memory where
//! that makes no difference to the caller.

use std::collections::HashMap;

use super::Filter;
use crate::engine::{Again, Engine, Inserted, Unstored};
use crate::error::{Error, Full, FullAt};
use crate::key::{Key, KeyHash, KeyHasher};
use crate::regions::Regions;

/// Keys that are hashed before the first of them is looked up.
pub(crate) const CHUNK: usize = 2048;

/// Hashes keys a chunk at a time and has `ask` answer for each chunk; the slices have equal lengths.
pub(crate) fn ask_in_chunks<K: Key>(
    keys: &[K],
    answers: &mut [bool],
    hasher: &KeyHasher,
    ask: impl Fn(&[KeyHash], &mut [bool]),
) {
    let mut hashes = [KeyHash::from_raw(0); CHUNK];
    for (keys, answers) in keys.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = key.hash(hasher);
        }
        ask(&hashes[..keys.len()], answers);
    }
}

/// Calls `act` with hashes, a chunk at a time.
fn each_chunk<E>(
    hashes: impl Iterator<Item = KeyHash>,
    mut act: impl FnMut(&[KeyHash]) -> Result<(), E>,
) -> Result<(), E> {
    let mut chunk = [KeyHash::from_raw(0); CHUNK];
    let mut filled = 0;
    for hash in hashes {
        chunk[filled] = hash;
        filled += 1;
        if filled == CHUNK {
            act(&chunk)?;
            filled = 0;
        }
    }
    act(&chunk[..filled])
}

/// Keys are sorted only for tables of at least so many bytes.
const SORTED_BYTES: u64 = 4 << 20;

/// The fewest keys that are sorted.
const SORTED_KEYS: usize = 1 << 16;

/// There must be a key for so many slots, or a pass through the table would be for a few.
const SORTED_SHARE: u64 = 64;

impl Filter {
    /// Stores every key of a slice, in order, and stops at the first for which there is no room: then those before it
    /// are stored, and no others.
    ///
    /// Large slices are stored in the order that suits the memory as long as all keys have room, with the memory that
    /// [`extend`](Self::extend) needs beside the filter. The content is a function of the keys and their order, but not
    /// that of storing them one by one. A slice that is refused takes up to three times as long, and what was stored
    /// before may lie elsewhere than it did, as after any insert.
    pub fn insert_slice<K: Key>(&mut self, keys: &[K]) -> Result<(), FullAt> {
        let sorted = self.insert_sorted((keys, &[]));
        let mut done = sorted;
        each_chunk(keys[sorted..].iter().map(|key| key.hash(&self.hasher)), |hashes| {
            let stored = self.engine.insert_batch(hashes);
            stored.map_err(|FullAt { done: more }| FullAt { done: done + more })?;
            done += hashes.len();
            Ok(())
        })
    }

    /// Stores keys, each with its value if there are any, in the order that suits the memory, and says how many. Stops
    /// before the first round in which a key finds no room; no key of that round stays.
    pub(super) fn insert_sorted<K: Key>(&mut self, keys: (&[K], &[u16])) -> usize {
        let room = self.geometry.capacity().saturating_sub(self.len());
        self.in_rounds(keys, room, |engine, regions| {
            let counters = engine.counters();
            let stored = engine.insert_sorted(regions, Again::StoreAndTell, 1);
            stored.map_err(|unstored| {
                take_out(engine, regions, unstored);
                engine.count_on(counters);
            })
        })
    }

    /// Sorts the first keys of a slice, at most so many, by the region of the table that they belong to, a round at a
    /// time, and runs `act` on every round until it fails. Says how many keys were in rounds that did not fail: none
    /// where there are too few keys, or order does not help.
    fn in_rounds<K: Key>(
        &mut self,
        (keys, values): (&[K], &[u16]),
        most: u64,
        mut act: impl FnMut(&mut dyn Engine, &Regions) -> Result<(), ()>,
    ) -> usize {
        let Some(layout) = self.geometry.cuckoo().filter(|_| !self.geometry.is_growing()) else { return 0 };
        let few = SORTED_KEYS.max(usize::try_from(layout.slots() / SORTED_SHARE).unwrap_or(usize::MAX));
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(keys.len());
        if layout.bytes() < SORTED_BYTES || most < few {
            return 0;
        }
        // What is refused here is refused again one by one.
        let Ok(Some(order)) = self.engine.order(0, Again::Skip) else { return 0 };
        let (mut regions, hasher) = (Regions::default(), self.hasher);
        let rounds = most.div_ceil(order.most);
        let round = most.div_ceil(rounds);
        let mut done = 0;
        for begin in (0..most).step_by(round) {
            let end = most.min(begin + round);
            let batch = (&keys[begin..end], values.get(begin..end).unwrap_or(&[]));
            // Without memory to sort in, one by one does as well.
            let sorted = regions.sort_alone(batch, order, |key| key.hash(&hasher));
            if sorted.is_err() || act(&mut *self.engine, &regions).is_err() {
                break;
            }
            done = end;
        }
        done
    }

    /// Stores every key of a slice that is not there yet, in order, and appends to `answers` what became of
    /// each. Stops at the first for which there is no room.
    ///
    /// ```
    /// use malkoha::{Inserted::{Seen, Stored}, Spec};
    /// let mut filter = Spec::new(1000, 0.001).build()?;
    /// let mut answers = Vec::new();
    /// filter.insert_unique_slice(&["a", "b", "a"], &mut answers).unwrap();
    /// assert_eq!(answers, [Stored, Stored, Seen]);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert_unique_slice<K: Key>(
        &mut self,
        keys: &[K],
        answers: &mut Vec<Inserted>,
    ) -> Result<(), FullAt> {
        let mut done = 0;
        self.each_mut(keys, |engine, hash| {
            answers.push(engine.insert_unique(hash).map_err(|Full| FullAt { done })?);
            done += 1;
            Ok(())
        })
    }

    /// Answers for every key of a slice, in order. Quicker than one by one, much quicker if the filter is larger
    /// than the caches.
    #[must_use]
    pub fn contains_slice<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut answers = vec![false; keys.len()];
        self.contains_slice_into(keys, &mut answers);
        answers
    }

    /// Answers for every key of a slice into a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice_into<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        if let Some(numbers) = K::as_numbers(keys)
            && self.engine.contains_numbers(numbers, &self.hasher, answers)
        {
            return;
        }
        ask_in_chunks(keys, answers, &self.hasher, |hashes, answers| {
            self.engine.contains_batch(hashes, answers);
        });
    }

    /// Removes one copy of every key of a slice, in filters with values one with value 0; returns how many were there.
    ///
    /// Large slices are taken in the order that suits the memory, which needs as much beside the filter as
    /// [`extend`](Self::extend) does; the answer is the same.
    pub fn remove_slice<K: Key>(&mut self, keys: &[K]) -> Result<usize, Error> {
        let unsupported = self.unsupported("remove keys");
        let mut removed = 0;
        let sorted = self.in_rounds((keys, &[]), u64::MAX, |engine, regions| {
            each_chunk(regions.keys().map(|(hash, _)| hash), |hashes| {
                removed += engine.remove_batch(hashes).ok_or(())?;
                Ok(())
            })
        });
        each_chunk(keys[sorted..].iter().map(|key| key.hash(&self.hasher)), |hashes| {
            removed += self.engine.remove_batch(hashes).ok_or(unsupported.clone())?;
            Ok(())
        })?;
        Ok(removed)
    }

    /// How many stored copies look like each key of a slice.
    pub fn count_slice<K: Key>(&self, keys: &[K]) -> Result<Vec<u32>, Error> {
        keys.iter().map(|key| self.count(key)).collect()
    }

    /// Hashes keys a chunk at a time, asks for their memory, then runs `act` on each in order.
    pub(super) fn each_mut<K: Key, E>(
        &mut self,
        keys: &[K],
        mut act: impl FnMut(&mut dyn Engine, KeyHash) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut hashes = [KeyHash::from_raw(0); 32];
        for keys in keys.chunks(hashes.len()) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = key.hash(&self.hasher);
                self.engine.prefetch(*hash);
            }
            for hash in &hashes[..keys.len()] {
                act(&mut *self.engine, *hash)?;
            }
        }
        Ok(())
    }
}

/// Takes those keys out again that were stored, though not all were. Keys that a filter cannot tell apart are one as
/// good as the other, so that it then holds what it held before.
fn take_out(engine: &mut dyn Engine, keys: &Regions, Unstored(unstored): Unstored) {
    let mut left: HashMap<(KeyHash, u16), u64> = HashMap::new();
    for key in unstored {
        *left.entry(key).or_default() += 1;
    }
    for key @ (hash, value) in keys.keys() {
        match left.get_mut(&key) {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                let removed =
                    if value == 0 { engine.remove(hash) } else { engine.remove_with(hash, value).ok() };
                debug_assert_eq!(removed, Some(true), "what was stored is there");
            }
        }
    }
}
