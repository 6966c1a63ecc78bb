//! Many keys at once, in the order that suits the memory.

use super::{CHUNK, Filter};
use crate::engine::{Again, Unstored};
use crate::error::{Full, FullAt};
use crate::key::{Key, KeyHash};
use crate::regions::Regions;
use crate::threads;

/// Threads beyond which none is of use: there are not more parts of a table.
pub(super) const MOST_THREADS: usize = 16;

/// Keys that are hashed at a time, on several threads, where they are stored in the order in which they come.
const HASHED: usize = 1 << 18;

impl Filter {
    /// Stores all keys of a slice, in whatever order suits the memory, on so many threads. If one of them
    /// finds no place, none is stored and the filter is as it was, bit for bit.
    ///
    /// In filters larger than the caches, with places that are near each other ([`Offsets::Local`] and
    /// [`Offsets::Near`](crate::Offsets::Near), and [`Kind::Simplified`](crate::Kind::Simplified)), this is
    /// several times quicker than one by one. The content depends on the keys and their order, not on the
    /// number of threads. Keys are stored in rounds of an eighth of the slots, or of 2^20 keys if that is more;
    /// this needs room for 9 to 12 bytes for each key of a round, which for slots of 16 bits is about half of what the
    /// filter has, and more if many keys are equal; without it keys are stored one by one. And it needs a second table
    /// if the filter is growing or not empty.
    ///
    /// [`Offsets::Local`]: crate::Offsets::Local
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).build()?;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// filter.extend(&keys, 2).unwrap();
    /// assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> Result<(), Full> {
        self.all_or_nothing(|filter| filter.store_many((keys, &[]), Again::Store, threads))
    }

    /// Stores many keys as a whole: if some find no room, the content from before is there again.
    pub(super) fn all_or_nothing(
        &mut self,
        store: impl FnOnce(&mut Self) -> Result<(), Full>,
    ) -> Result<(), Full> {
        // Bloom kinds never refuse. An empty filter that has grown is not what a cleared one is.
        let restorable = !self.geometry.is_growing() && (self.is_empty() || self.geometry.kind().is_bloom());
        let before = if restorable { None } else { Some(self.engine.clone_box()) };
        store(self).inspect_err(|Full| {
            let failures = self.engine.counters();
            match before {
                Some(engine) => self.engine = engine,
                None => self.engine.clear(),
            }
            self.engine.count_on(failures);
        })
    }

    /// Stores all keys of a slice that are not there yet, in whatever order suits the memory, on so many
    /// threads, and says how many were stored. If one of them finds no place, those that were stored until
    /// then stay, as with [`insert_unique_slice`](Self::insert_unique_slice).
    ///
    /// A key that was left out is not stored, and must not be removed: it may only look like a stored one.
    /// The content depends on the keys and their order, not on the number of threads. As quick as
    /// [`extend`](Self::extend) except for growing filters, and needs no second table.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).build()?;
    /// let keys: Vec<u64> = (0..200_000).map(|key| key / 2).collect();
    /// let stored = filter.extend_unique(&keys, 2).unwrap();
    /// assert!(stored <= 100_000, "every key once");
    /// assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend_unique<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> Result<u64, Full> {
        let before = self.len();
        self.store_many((keys, &[]), Again::Skip, threads)?;
        Ok(self.len() - before)
    }

    /// Stores many keys, each with its value if there are any. What was stored stays if a key finds no room.
    pub(crate) fn store_many<K: Key + Sync>(
        &mut self,
        (mut keys, mut values): (&[K], &[u16]),
        again: Again,
        threads: usize,
    ) -> Result<(), Full> {
        let threads = threads.clamp(1, MOST_THREADS);
        let hasher = self.hasher;
        let mut regions = Regions::default();
        while !keys.is_empty() {
            let Some(order) = self.engine.order(keys.len() as u64, again)? else { break };
            // Rounds of equal size.
            let now = keys.len().div_ceil(keys.len().div_ceil(order.most));
            let batch = (&keys[..now], &values[..now.min(values.len())]);
            if regions.sort(batch, order, |key| key.hash(&hasher), threads).is_err() {
                // One by one they need hardly any memory.
                break;
            }
            self.engine.insert_sorted(&regions, again, threads).map_err(|Unstored(_)| Full)?;
            keys = &keys[now..];
            values = &values[now.min(values.len())..];
        }
        self.store_in_given_order((keys, values), again, threads)
    }

    fn store_in_given_order<K: Key + Sync>(
        &mut self,
        (keys, values): (&[K], &[u16]),
        again: Again,
        threads: usize,
    ) -> Result<(), Full> {
        let mut hashes = vec![KeyHash::from_raw(0); keys.len().min(HASHED)];
        let mut values = values.chunks(HASHED);
        for keys in keys.chunks(HASHED) {
            let hashes = &mut hashes[..keys.len()];
            self.hash_all(keys, hashes, threads);
            match (again, values.next()) {
                (Again::Skip, _) => {
                    self.each_mut(hashes, |engine, hash| engine.insert_unique(hash).map(drop))
                }
                (Again::Store | Again::StoreAndTell, None) => {
                    self.engine.insert_batch(hashes).map_err(|FullAt { .. }| Full)
                }
                (Again::Store | Again::StoreAndTell, Some(values)) => {
                    let mut values = values.iter();
                    self.each_mut(hashes, |engine, hash| {
                        let value = *values.next().expect("as many values as keys");
                        engine.insert_with(hash, value).map_err(|_| Full)
                    })
                }
            }?;
        }
        Ok(())
    }

    /// Hashes keys on several threads; the slices have equal lengths.
    fn hash_all<K: Key + Sync>(&self, keys: &[K], hashes: &mut [KeyHash], threads: usize) {
        let share = keys.len().div_ceil(threads).max(CHUNK);
        let shares = keys.chunks(share).zip(hashes.chunks_mut(share));
        threads::for_each(shares, keys.len().div_ceil(share), |(keys, hashes)| {
            for (key, hash) in keys.iter().zip(hashes) {
                *hash = key.hash(&self.hasher);
            }
        });
    }
}
