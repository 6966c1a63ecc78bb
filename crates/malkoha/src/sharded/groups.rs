//! Many keys at a time. Changes are sorted by shard, so that each lock is taken once for all keys of a shard.

use std::ops::Range;

use crate::engine::rows::Keys;
use crate::engine::{CHUNK, Inserted};
use crate::error::{Error, Full, Refused};
use crate::filter::{Filter, ask_in_chunks};
use crate::key::{Key, KeyHash};

use super::shards::Shards;
use super::{Sharded, shard_of};

/// The number of keys grouped at a time: enough per shard for the filters to prefetch memory, and never so many that
/// the keys themselves leave the cache for long.
const LEAST_GROUPED: usize = 1 << 14;
const MOST_GROUPED: usize = 1 << 20;
const KEYS_PER_SHARD: usize = 256;

/// Hashes sorted by shard, and where each was in the slice.
#[derive(Debug, Default)]
pub(super) struct Groups {
    drawn: Vec<(usize, KeyHash)>,
    hashes: Vec<KeyHash>,
    from: Vec<u32>,
    /// Where the hashes of each shard end.
    ends: Vec<usize>,
}

impl Groups {
    /// Sorts hashes, at most 2^32 of them, by shard; those of one shard keep their order.
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^20 keys are grouped at a time")]
    pub(super) fn group(&mut self, hashes: impl Iterator<Item = KeyHash>, shards: usize) {
        self.drawn.clear();
        self.drawn.extend(hashes.map(|hash| shard_of(hash, shards)));
        self.ends.clear();
        self.ends.resize(shards + 1, 0);
        for (shard, _) in &self.drawn {
            self.ends[shard + 1] += 1;
        }
        for shard in 1..shards {
            self.ends[shard + 1] += self.ends[shard];
        }
        self.hashes.resize(self.drawn.len(), KeyHash::from_raw(0));
        self.from.resize(self.drawn.len(), 0);
        // Here `ends[shard]` is where the hashes of a shard begin; placing them moves it to where they end.
        for (at, (shard, hash)) in self.drawn.iter().enumerate() {
            let to = self.ends[*shard];
            self.hashes[to] = *hash;
            self.from[to] = at as u32;
            self.ends[*shard] += 1;
        }
    }

    /// The shards that have hashes, with those hashes and where they were in the slice.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, &[KeyHash], &[u32])> {
        let mut start = 0;
        self.ends.iter().enumerate().filter_map(move |(shard, &end)| {
            let part: Range<usize> = start..end;
            start = end;
            (!part.is_empty()).then(|| (shard, &self.hashes[part.clone()], &self.from[part]))
        })
    }
}

/// Stores all hashes in order; calls `refused` with the index of each one without room.
fn insert_all(filter: &mut Filter, hashes: &[KeyHash], mut refused: impl FnMut(usize)) {
    let mut tried = 0;
    while let Err(rest) = filter.insert_slice(&hashes[tried..]) {
        tried += rest.first();
        refused(tried);
        tried += 1;
    }
}

impl Sharded {
    /// Groups some keys at a time and calls `act` with each shard that has some of them, their hashes and
    /// their indices in the slice.
    fn each_shard<K: Key>(
        &self,
        keys: &[K],
        mut act: impl FnMut(usize, &[KeyHash], &mut dyn Iterator<Item = usize>),
    ) {
        let shards = self.shards.len();
        let mut groups = Groups::default();
        let size = (KEYS_PER_SHARD * shards).clamp(LEAST_GROUPED, MOST_GROUPED);
        for (keys, start) in keys.chunks(size).zip((0..).step_by(size)) {
            groups.group(keys.iter().map(|key| key.key_hash(&self.hasher)), shards);
            for (shard, hashes, from) in groups.parts() {
                act(shard, hashes, &mut from.iter().map(|&at| start + at as usize));
            }
        }
    }

    /// Looks up every key of a slice; returns the answers in order.
    ///
    /// ```
    /// let filter = malkoha::Spec::new(1000, 1e-6).sharded(4).build()?;
    /// filter.insert_slice(&["cuckoo", "koel"])?;
    /// assert_eq!(filter.contains_slice(&["cuckoo", "owl", "koel"]), [true, false, true]);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
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
        if let Some(numbers) = K::as_numbers(keys) {
            return self.shards.contains_keys(Keys::Numbers(numbers, &self.hasher), answers);
        }
        ask_in_chunks(keys, answers, &self.hasher, |hashes, answers| {
            self.shards.contains_keys(Keys::Hashes(hashes), answers);
        });
    }

    /// Stores every key of a slice. The error names the keys without room in their shards; all others are
    /// stored.
    pub fn insert_slice<K: Key>(&self, keys: &[K]) -> Result<(), Refused> {
        let tags = match &self.shards {
            Shards::Tags(tags) => tags,
            Shards::Bits(bits) => {
                let mut hashes = [KeyHash::from_raw(0); CHUNK];
                for keys in keys.chunks(CHUNK) {
                    hashes.iter_mut().zip(keys).for_each(|(hash, key)| *hash = key.key_hash(&self.hasher));
                    bits.insert_keys(Keys::Hashes(&hashes[..keys.len()]));
                }
                return Ok(());
            }
        };
        let mut refused = Vec::new();
        self.each_shard(keys, |shard, hashes, indices| {
            let mut full = Vec::new();
            insert_all(&mut tags.write(shard), hashes, |at| full.push(at));
            if !full.is_empty() {
                let indices: Vec<usize> = indices.collect();
                refused.extend(full.into_iter().map(|at| indices[at]));
            }
        });
        if refused.is_empty() { Ok(()) } else { Err(Refused::some(refused)) }
    }

    /// Stores every key of a slice that is not yet present; returns the outcome of each key, in order. Once a key has
    /// found no room, those after it in the same shard are only looked up: [`Seen`](Inserted::Seen) or [`Full`].
    ///
    /// ```
    /// use malkoha::{Inserted::{Seen, Stored}, Spec};
    /// let filter = Spec::new(1000, 0.001).sharded(4).build()?;
    /// assert_eq!(filter.insert_unique_slice(&["a", "b", "a"]), [Ok(Stored), Ok(Stored), Ok(Seen)]);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert_unique_slice<K: Key>(&self, keys: &[K]) -> Vec<Result<Inserted, Full>> {
        let tags = match &self.shards {
            Shards::Tags(tags) => tags,
            Shards::Bits(bits) => {
                let hashes = keys.iter().map(|key| key.key_hash(&self.hasher));
                return hashes.map(|hash| Ok(bits.insert_unique(hash))).collect();
            }
        };
        let mut answers = vec![Err(Full); keys.len()];
        self.each_shard(keys, |shard, hashes, indices| {
            let inserted = tags.write(shard).insert_unique_slice(hashes);
            indices.zip(inserted).for_each(|(at, inserted)| answers[at] = inserted);
        });
        answers
    }

    /// Removes one copy of every key of a slice; returns how many there were.
    pub fn remove_slice<K: Key>(&self, keys: &[K]) -> Result<usize, Error> {
        let tags = self.shards.tags(self.geometry.kind(), "remove keys")?;
        let mut removed = Ok(0);
        self.each_shard(keys, |shard, hashes, _| {
            if let Ok(sum) = &mut removed {
                match tags.write(shard).remove_slice(hashes) {
                    Ok(count) => *sum += count,
                    // A kind that cannot remove has removed nothing.
                    Err(error) => removed = Err(error),
                }
            }
        });
        removed
    }

    /// Counts the stored copies that look like each key of a slice, in order.
    pub fn count_slice<K: Key>(&self, keys: &[K]) -> Result<Vec<u32>, Error> {
        let tags = self.shards.tags(self.geometry.kind(), "count copies")?;
        let mut counts = vec![0; keys.len()];
        let mut outcome = Ok(());
        self.each_shard(keys, |shard, hashes, indices| match tags.read(shard).count_slice(hashes) {
            Ok(found) => indices.zip(found).for_each(|(at, count)| counts[at] = count),
            Err(error) => outcome = Err(error),
        });
        outcome.map(|()| counts)
    }
}
