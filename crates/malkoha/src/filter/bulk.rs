//! Many keys at once, in the order that suits the memory.

use super::Filter;
use crate::engine::{Again, Many};
use crate::error::Full;
use crate::key::Key;

/// The most threads that are of use: a table has no more parts.
const MOST_THREADS: usize = 16;

impl Filter {
    /// Stores all keys of a slice, in whatever order suits the memory, on `threads` threads. If one of them
    /// finds no place, none is stored and the filter stays as it was, bit for bit.
    ///
    /// In filters larger than the caches, with places that are near each other ([`Offsets::Local`] and
    /// [`Offsets::Near`](crate::Offsets::Near), and [`Kind::Simplified`](crate::Kind::Simplified)), this is several
    /// times faster than single inserts. The content depends on the keys and their order, not on the number of
    /// threads. Keys are stored in rounds of an eighth of the slots, or of 2^20 keys if that is more. This needs
    /// memory for 9 to 12 bytes per key of a round, which for slots of 16 bits is about half the size of the filter,
    /// and more if many keys are equal; without it, keys are stored individually. A growing or non-empty filter also
    /// needs memory for a second table. So does a filter of sorted buckets of at most 256 MiB, with slots that are
    /// one bit wider, if there is a key for every four slots; without it, this takes nearly twice the time.
    ///
    /// [`Offsets::Local`]: crate::Offsets::Local
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).build()?;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// filter.extend(&keys, 2)?;
    /// assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> Result<(), Full> {
        self.all_or_nothing(|filter| filter.insert_many((keys, &[]), Again::Store, threads))
    }

    /// Stores many keys as a whole: if some find no room, the previous content is restored.
    pub(super) fn all_or_nothing(
        &mut self,
        store: impl FnOnce(&mut Self) -> Result<(), Full>,
    ) -> Result<(), Full> {
        // Bloom kinds never refuse. An empty chain that has grown differs from a cleared one.
        let restorable =
            self.geometry.growth().is_none() && (self.is_empty() || self.geometry.kind().is_bloom());
        let before = (!restorable).then(|| self.body.clone());
        store(self).inspect_err(|Full| {
            let failures = self.counters();
            match before {
                Some(body) => self.body = body,
                None => self.clear(),
            }
            self.count_on(failures);
        })
    }

    /// Stores all keys of a slice that are not yet present, in whatever order suits the memory, on `threads`
    /// threads; returns how many were stored. If one of them finds no place, those already stored stay, as
    /// with [`insert_unique_slice`](Self::insert_unique_slice).
    ///
    /// A key that was left out is not stored, and must not be removed: it may only look like a stored one.
    /// The content depends on the keys and their order, not on the number of threads. As fast as
    /// [`extend`](Self::extend) except for growing filters, and needs no second table.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).build()?;
    /// let keys: Vec<u64> = (0..200_000).map(|key| key / 2).collect();
    /// let stored = filter.extend_unique(&keys, 2)?;
    /// assert!(stored <= 100_000, "every key once");
    /// assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend_unique<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> Result<u64, Full> {
        let before = self.len();
        self.insert_many((keys, &[]), Again::Skip, threads)?;
        Ok(self.len() - before)
    }

    /// Stores many keys, each with its value if there are values. Keys already stored stay if one finds no
    /// room.
    pub(crate) fn insert_many<K: Key + Sync>(
        &mut self,
        keys: (&[K], &[u16]),
        again: Again,
        threads: usize,
    ) -> Result<(), Full> {
        let (threads, hasher) = (threads.clamp(1, MOST_THREADS), self.hasher);
        Many::shared(keys, &hasher, |keys| self.engine_mut().insert_many(keys, again, threads))
    }
}
