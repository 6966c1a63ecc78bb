//! Many keys at once: hashed a chunk at a time, with their memory prefetched, in the order that suits the memory where
//! that makes no difference to the caller.

use core::convert::Infallible;

use super::{Body, Filter};
use crate::engine::{CHUNK, Inserted, Many, for_each_ahead};
use crate::error::{Error, Full, FullAt, Refused};
use crate::key::{Key, KeyHash, KeyHasher};

/// Hashes keys a chunk at a time and calls `ask` for the answers of each chunk; the slices have equal
/// lengths.
pub(crate) fn ask_in_chunks<K: Key>(
    keys: &[K],
    answers: &mut [bool],
    hasher: &KeyHasher,
    ask: impl Fn(&[KeyHash], &mut [bool]),
) {
    let mut hashes = [KeyHash::from_raw(0); CHUNK];
    for (keys, answers) in keys.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = key.key_hash(hasher);
        }
        ask(&hashes[..keys.len()], answers);
    }
}

impl Filter {
    /// Stores every key of a slice, in order, and stops at the first key without room: then those before it are stored,
    /// and no others.
    ///
    /// Large slices are stored in the order that suits the memory as long as all keys have room. This needs as much
    /// additional memory as [`extend`](Self::extend). The content is a function of the keys and their order, but
    /// differs from that of inserting them individually. A refused slice takes up to three times as long, and tags
    /// stored before may have moved, as after any insert.
    pub fn insert_slice<K: Key>(&mut self, keys: &[K]) -> Result<(), Refused> {
        let hasher = self.hasher;
        Many::own((keys, &[]), &hasher, |keys| {
            let mut done = self.insert_first(keys);
            keys.part(done..keys.len()).each_chunk(|hashes, _| {
                let stored = self.engine_mut().insert_batch(hashes);
                stored.map_err(|FullAt { done: more }| Refused::all(done + more..keys.len()))?;
                done += hashes.len();
                Ok(())
            })
        })
    }

    /// Stores the first of many keys in the order that suits the memory, where that helps; returns how many.
    pub(super) fn insert_first(&mut self, keys: &Many) -> usize {
        let room = self.geometry.capacity().saturating_sub(self.len());
        match &mut self.body {
            Body::Cuckoo(engine) => engine.insert_first(keys, room),
            Body::Bloom(_) => 0,
        }
    }

    /// Stores every key of a slice that is not yet present; returns the outcome of each key, in order. Once a key has
    /// found no room, the keys after it are only looked up: [`Seen`](Inserted::Seen) or [`Full`].
    ///
    /// ```
    /// use malkoha::{Inserted::{Seen, Stored}, Spec};
    /// let mut filter = Spec::new(1000, 0.001).build()?;
    /// assert_eq!(filter.insert_unique_slice(&["a", "b", "a"]), [Ok(Stored), Ok(Stored), Ok(Seen)]);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert_unique_slice<K: Key>(&mut self, keys: &[K]) -> Vec<Result<Inserted, Full>> {
        let hasher = self.hasher;
        let mut answers = Vec::with_capacity(keys.len());
        let mut full = false;
        let done: Result<(), Infallible> = Many::own((keys, &[]), &hasher, |keys| {
            keys.each_chunk(|hashes, _| {
                for_each_ahead(self.engine_mut(), hashes, &[], |engine, hash, _| {
                    // Another long walk for every key after the first without room would be in vain.
                    let answer = match full {
                        false => engine.insert_unique(hash),
                        true if engine.contains(hash) => Ok(Inserted::Seen),
                        true => Err(Full),
                    };
                    full |= answer.is_err();
                    answers.push(answer);
                    Ok(())
                })
            })
        });
        let Ok(()) = done;
        answers
    }

    /// Looks up every key of a slice; returns the answers in order. Faster than single lookups, much faster if the
    /// filter is larger than the caches.
    #[must_use]
    pub fn contains_slice<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut answers = vec![false; keys.len()];
        self.contains_slice_into(keys, &mut answers);
        answers
    }

    /// Looks up every key of a slice; writes the answers to a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice_into<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        if let Some(numbers) = K::as_numbers(keys)
            && self.engine().contains_numbers(numbers, &self.hasher, answers)
        {
            return;
        }
        ask_in_chunks(keys, answers, &self.hasher, |hashes, answers| {
            self.engine().contains_batch(hashes, answers);
        });
    }

    /// Removes one copy of every key of a slice, in filters with values one with value 0; returns how many there were.
    ///
    /// Large slices are processed in the order that suits the memory, which needs as much additional memory
    /// as [`extend`](Self::extend); the result is the same.
    pub fn remove_slice<K: Key>(&mut self, keys: &[K]) -> Result<usize, Error> {
        let hasher = self.hasher;
        let engine = self.cuckoo_mut("remove keys")?;
        Ok(Many::own((keys, &[]), &hasher, |keys| engine.remove_many(keys)))
    }

    /// Counts the stored copies that look like each key of a slice.
    pub fn count_slice<K: Key>(&self, keys: &[K]) -> Result<Vec<u32>, Error> {
        keys.iter().map(|key| self.count(key)).collect()
    }
}
