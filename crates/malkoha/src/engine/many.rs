//! Many keys at once, hashed when they are needed.

use core::ops::Range;

use crate::key::{Key, KeyHash, KeyHasher};

use super::threads;

/// The number of keys hashed before the first of them is used; their hashes stay in the cache.
pub(crate) const CHUNK: usize = 2048;

/// The number of keys hashed at a time by several threads.
const SHARED_CHUNK: usize = 1 << 18;

/// What is done with the hashes and the values of a chunk; there are no values if no key has one.
type ForChunk<'a, E> = dyn FnMut(&[KeyHash], &[u16]) -> Result<(), E> + 'a;

/// A slice of keys of any type, so that code for many keys is compiled once for all types.
trait Hashes {
    /// Hashes the keys from index `from` on, as many as fit into `hashes`.
    fn hash(&self, from: usize, hashes: &mut [KeyHash]);
}

struct Slice<'a, K>(&'a [K], &'a KeyHasher);

impl<K: Key> Hashes for Slice<'_, K> {
    fn hash(&self, from: usize, hashes: &mut [KeyHash]) {
        let Self(keys, hasher) = *self;
        for (hash, key) in hashes.iter_mut().zip(&keys[from..]) {
            *hash = key.key_hash(hasher);
        }
    }
}

/// Keys to be hashed by the holder of this share, each with a value if there are values.
#[derive(Clone)]
pub(crate) struct Share<'a> {
    keys: &'a dyn Hashes,
    range: Range<usize>,
    /// One value for each key of the whole slice, or none.
    values: &'a [u16],
}

impl Share<'_> {
    /// Calls `act` with hashes and values in order, a chunk at a time.
    pub(crate) fn each_chunk<E>(&self, act: &mut ForChunk<E>) -> Result<(), E> {
        let mut hashes = [KeyHash::from_raw(0); CHUNK];
        for from in self.range.clone().step_by(CHUNK) {
            let range = from..self.range.end.min(from + CHUNK);
            let hashes = &mut hashes[..range.len()];
            self.keys.hash(from, hashes);
            act(hashes, self.values.get(range).unwrap_or(&[]))?;
        }
        Ok(())
    }
}

/// Many keys, each with a value if there are values.
#[derive(Clone)]
pub(crate) struct Many<'a> {
    all: Share<'a>,
    /// The same keys, if any thread may hash them.
    shared: Option<&'a (dyn Hashes + Sync)>,
}

impl Many<'_> {
    /// Runs `act` with these keys, which any thread may hash. There is one value per key, or none.
    pub(crate) fn shared<K: Key + Sync, T>(
        (keys, values): (&[K], &[u16]),
        hasher: &KeyHasher,
        act: impl FnOnce(&Many) -> T,
    ) -> T {
        debug_assert!(values.is_empty() || values.len() == keys.len(), "a value for each key, or none");
        let slice = &Slice(keys, hasher);
        act(&Many { all: Share { keys: slice, range: 0..keys.len(), values }, shared: Some(slice) })
    }

    /// Runs `act` with these keys, which only this thread may hash.
    pub(crate) fn own<K: Key, T>(
        (keys, values): (&[K], &[u16]),
        hasher: &KeyHasher,
        act: impl FnOnce(&Many) -> T,
    ) -> T {
        debug_assert!(values.is_empty() || values.len() == keys.len(), "a value for each key, or none");
        act(&Many { all: Share { keys: &Slice(keys, hasher), range: 0..keys.len(), values }, shared: None })
    }

    pub(crate) fn len(&self) -> usize {
        self.all.range.len()
    }

    /// Whether each key has a value.
    pub(crate) fn has_values(&self) -> bool {
        !self.all.values.is_empty()
    }

    /// The keys at these indices.
    pub(crate) fn part(&self, part: Range<usize>) -> Self {
        let first = self.all.range.start;
        Self { all: Share { range: first + part.start..first + part.end, ..self.all.clone() }, ..*self }
    }

    /// Calls `act` with hashes and values in order, a chunk at a time.
    pub(crate) fn each_chunk<E>(
        &self,
        mut act: impl FnMut(&[KeyHash], &[u16]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.all.each_chunk(&mut act)
    }

    /// The same, with keys hashed on `threads` threads if any thread may hash them.
    pub(crate) fn each_chunk_on<E>(
        &self,
        threads: usize,
        mut act: impl FnMut(&[KeyHash], &[u16]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_shared_chunk(threads, &mut act)
    }

    fn each_shared_chunk<E>(&self, threads: usize, act: &mut ForChunk<E>) -> Result<(), E> {
        let Some(keys) = self.shared.filter(|_| threads > 1 && self.len() > CHUNK) else {
            return self.all.each_chunk(act);
        };
        let Range { start, end } = self.all.range;
        let mut hashes = vec![KeyHash::from_raw(0); self.len().min(SHARED_CHUNK)];
        for from in (start..end).step_by(SHARED_CHUNK) {
            let range = from..end.min(from + SHARED_CHUNK);
            let hashes = &mut hashes[..range.len()];
            let share = hashes.len().div_ceil(threads).max(CHUNK);
            threads::for_each(hashes.chunks_mut(share).enumerate(), threads, |(i, hashes)| {
                keys.hash(from + i * share, hashes);
            });
            act(hashes, self.all.values.get(range).unwrap_or(&[]))?;
        }
        Ok(())
    }

    /// Hands out shares of `size` keys in order, each with one of `items`, on `threads` threads if any thread may hash
    /// them.
    pub(crate) fn share_out<T: Send>(
        &self,
        size: usize,
        items: impl Iterator<Item = T> + Send,
        threads: usize,
        act: impl Fn(T, Share) + Sync,
    ) {
        let Share { range, values, .. } = self.all.clone();
        let ranges = range.clone().step_by(size.max(1)).map(move |from| from..range.end.min(from + size));
        let Some(keys) = self.shared else {
            items.zip(ranges).for_each(|(item, range)| act(item, Share { range, ..self.all.clone() }));
            return;
        };
        threads::for_each(items.zip(ranges), threads, |(item, range)| {
            act(item, Share { keys, range, values });
        });
    }
}
