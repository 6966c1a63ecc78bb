//! `Sharded`: independent filters side by side, for many threads at once.
//!
//! ```text
//!   hash x shards = shard . rest          one more draw before the place (key/draw.rs)
//!   rest   -> place, fingerprint          in the filter of that shard, as usual
//!
//!   lookups    without a lock             tags.rs: a version for each shard says whether a writer was in the way
//!   changes    under the lock of a shard  tags.rs; slices are sorted by shard (groups.rs), one lock at a time
//!   Bloom      atomic bits, no locks      bits.rs
//!   growth     readers see old memory     elastic/shared.rs, bits/shared_arena.rs
//!   bulk       through `&mut`             bulk.rs: threads own shards
//! ```
//!
//! The invariant: a key has one shard, and the filter of a shard is only touched under its lock or through `&mut`;
//! readers without the lock see its front (`engine/reader.rs`). A thread waits for a lock only while it holds none, or
//! only those of lower numbers, so no two threads wait for each other. No code of the caller runs while a lock is held,
//! because keys are hashed before. The exception is the writer given to [`Sharded::write_to`], which runs under read
//! locks.

mod bits;
mod bulk;
mod geometry;
mod groups;
mod merge;
mod shards;
mod spec;
mod tags;
#[cfg(test)]
mod tests;
mod values;

use core::fmt;

pub use geometry::ShardedGeometry;
pub use spec::ShardedSpec;

use shards::{Shards, Shown};

use crate::bits::Words;
use crate::engine::saturating_sum;
use crate::engine::{Counters, Inserted};
use crate::error::{Error, Full};
use crate::filter::Filter;
use crate::filter::{GrowthStats, Level, Stats};
use crate::key::draw::draw;
use crate::key::{Key, KeyHash, KeyHasher};
#[cfg(doc)]
use crate::plan::Spec;

/// The maximum number of shards.
pub(crate) const MOST_SHARDS: u32 = 4096;

/// A filter that many threads can use at once: inserts, lookups and removals take `&self`.
///
/// Keys are spread over independent shards by their hashes. Lookups take no locks and write to no shared memory, so any
/// number of threads look up at the speed of one [`Filter`] that they share. Inserts and removals wait only for changes
/// of the same shard; with Bloom kinds, inserts take no locks either. Counts, values and statistics are read under the
/// locks of shards. Created by [`Spec::sharded`](crate::Spec::sharded).
///
/// # The guarantee
///
/// That of [`Filter`]: every stored key is found until it is removed, as long as `remove` is called only for
/// stored keys. An operation on one key takes effect at one moment between its call and its return.
/// Operations on many keys, and [`len`](Self::len), [`stats`](Self::stats) and [`clear`](Self::clear), visit
/// one shard after another: other threads may act in between. `docs/DESIGN.md`, "Threads", has the details.
///
/// # The price
///
/// Shards fill unevenly, so each has room for the fullest of them: about 6 standard deviations more than the
/// mean, so that one filter in a million has a fuller shard. With a million keys of the default kind, 2
/// shards take 0.6 %, 8 take 1.7 % and 64 take 5.6 % more memory than no shards. Bloom kinds, which refuse no
/// key, take 0.4 to 0.6 % more with 64. The rate stays the same: `docs/NOTEBOOK.md`, "The price of shards".
///
/// # Growth
///
/// Shards of a growing spec ([`Spec::rate`](crate::Spec::rate), [`Spec::growing`](crate::Spec::growing)) grow and
/// shrink one by one, while lookups go on without locks. They need no room for the fullest shard. Memory that becomes
/// free is used again, but returns to the system only when no reader can look at it:
/// [`release_memory`](Self::release_memory).
///
/// # Panics
///
/// If a thread panics inside a shard, which only a bug in this crate could cause, the shard cannot be trusted
/// any more. From then on every operation on that shard panics rather than give a wrong answer; the other
/// shards keep working.
///
/// ```
/// use malkoha::Spec;
///
/// let filter = Spec::new(100_000, 0.001).sharded(16).build()?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| (0..50_000u64).for_each(|key| filter.insert(&key).unwrap()));
///     scope.spawn(|| (50_000..100_000u64).for_each(|key| filter.insert(&key).unwrap()));
///     scope.spawn(|| filter.contains("anything, at any time"));
/// });
/// assert_eq!(filter.len(), 100_000);
/// assert!(filter.remove(&77_777u64)?);
/// # Ok::<(), malkoha::Error>(())
/// ```
pub struct Sharded {
    pub(crate) geometry: ShardedGeometry,
    hasher: KeyHasher,
    shards: Shards,
}

impl Sharded {
    /// The maximum number of shards.
    pub const MOST_SHARDS: u32 = MOST_SHARDS;

    /// Creates an empty filter with this geometry.
    pub fn new(geometry: ShardedGeometry) -> Result<Self, Error> {
        Ok(Self::of(geometry, empty_filters(&geometry)?))
    }

    pub(crate) fn of(geometry: ShardedGeometry, shards: Vec<Filter>) -> Self {
        Self { geometry, hasher: KeyHasher::new(geometry.seed()), shards: Shards::new(shards) }
    }

    /// The exact numbers of this filter.
    #[must_use]
    pub fn geometry(&self) -> &ShardedGeometry {
        &self.geometry
    }

    /// The hasher that turns keys into hashes for this filter.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// The shard of a key, and its hash there.
    #[inline]
    fn locate<K: Key + ?Sized>(&self, key: &K) -> (usize, KeyHash) {
        shard_of(key.key_hash(&self.hasher), self.shards.len())
    }

    /// Stores one copy of a key. If there is no room in its shard, the filter stays as it was, bit for bit.
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<(), Full> {
        let hash = key.key_hash(&self.hasher);
        match &self.shards {
            Shards::Tags(tags) => {
                let (shard, hash) = shard_of(hash, tags.len());
                tags.write(shard).insert(&hash)
            }
            Shards::Bits(bits) => {
                bits.insert(hash);
                Ok(())
            }
        }
    }

    /// Stores a key unless the filter already reports it as present. If several threads do so with the same
    /// key at the same time, one of them stores it.
    ///
    /// ```
    /// use malkoha::{Inserted, Spec};
    /// let filter = Spec::new(1000, 0.001).sharded(4).build()?;
    /// assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Stored));
    /// assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Seen));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert_unique<K: Key + ?Sized>(&self, key: &K) -> Result<Inserted, Full> {
        let hash = key.key_hash(&self.hasher);
        match &self.shards {
            // Keys that are there need no lock.
            Shards::Tags(tags) if tags.contains(hash) => Ok(Inserted::Seen),
            Shards::Tags(tags) => {
                let (shard, hash) = shard_of(hash, tags.len());
                tags.write(shard).insert_unique(&hash)
            }
            Shards::Bits(bits) => Ok(bits.insert_unique(hash)),
        }
    }

    /// Whether the filter may hold a key: `false` is certain, `true` is wrong with the filter's rate. Takes no lock
    /// and writes to no memory that other threads read. Exceptions, in cuckoo kinds: the key looks like one in the
    /// stash of its shard, it is absent from a region with an overflow, or somebody changes the shard for a long time, as
    /// `clear` and inserts of slices do.
    #[must_use]
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.shards.contains(key.key_hash(&self.hasher))
    }

    /// Removes one copy of a stored key. Returns `false`, and changes nothing, if there is none.
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        let (shard, hash) = self.locate(key);
        self.shards.tags(self.geometry.kind(), "remove keys")?.write(shard).remove(&hash)
    }

    /// Counts the stored copies that look like this key.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Result<u32, Error> {
        let (shard, hash) = self.locate(key);
        self.shards.tags(self.geometry.kind(), "count copies")?.read(shard).count(&hash)
    }

    /// Removes all keys, one shard after another. In Bloom kinds, a key that is inserted at the same time may be lost.
    pub fn clear(&self) {
        (0..self.shards.len()).for_each(|shard| self.shards.clear(shard));
    }

    /// Gives memory back to the system that shards which [grow](Spec::growing) have at hand. A table that became too
    /// small or too large leaves its memory to later ones, because a reader may still look at it; only where there can be
    /// no reader, as here and in other operations that take `&mut self`, the system gets it back.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::rate(0.001).sharded(4).build()?;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// filter.insert_slice(&keys)?;
    /// filter.remove_slice(&keys[1000..])?;
    /// let before = filter.stats().memory_bytes;
    /// filter.release_memory();
    /// assert!(filter.stats().memory_bytes < before / 2);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn release_memory(&mut self) {
        drop(self.shards.exclusive());
    }

    /// The number of copies stored.
    #[must_use]
    pub fn len(&self) -> u64 {
        saturating_sum((0..self.shards.len()).map(|shard| self.shards.copies(shard)))
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        (0..self.shards.len()).all(|shard| self.shards.copies(shard) == 0)
    }

    /// Returns statistics of every shard, in order.
    #[must_use]
    pub fn shard_stats(&self) -> Vec<Stats> {
        (0..self.shards.len()).map(|shard| self.shards.show(shard).stats()).collect()
    }

    /// Returns statistics of the whole filter: sums over the shards, means of loads and rates, the longest of
    /// all walks. The head-room is that of the whole; the level is also `Full` as soon as one shard has
    /// refused an insert and has no head-room left.
    ///
    /// ```
    /// let filter = malkoha::Spec::new(10_000, 0.001).sharded(8).build()?;
    /// filter.insert_slice(&(0..5000u64).collect::<Vec<_>>())?;
    /// let stats = filter.stats();
    /// assert_eq!(stats.items, 5000);
    /// assert!(stats.head_room >= 5000);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut counters = Counters::default();
        let mut parts = Vec::with_capacity(self.shards.len());
        for shard in 0..self.shards.len() {
            let filter = self.shards.show(shard);
            counters.add(filter.counters());
            parts.push(filter.stats());
        }
        let sum = |number: fn(&Stats) -> u64| saturating_sum(parts.iter().map(number));
        let mean = |number: fn(&Stats) -> f64| parts.iter().map(number).sum::<f64>() / parts.len() as f64;
        let (items, capacity) = (sum(|part| part.items), self.geometry.capacity());
        let stash_size = sum(|part| part.stash_size);
        let growth = parts.iter().filter_map(|part| part.growth).reduce(|sum, one| GrowthStats {
            regions: sum.regions + one.regions,
            steps: sum.steps + one.steps,
            shrinks: sum.shrinks + one.shrinks,
            longest_step: sum.longest_step.max(one.longest_step),
            overflow: sum.overflow.saturating_add(one.overflow),
            promised_keys: capacity,
        });
        let grows = self.geometry.is_growing();
        let refusing = parts.iter().any(|part| part.level == Level::Full && part.insert_failures > 0);
        Stats {
            items,
            slots: sum(|part| part.slots),
            load: mean(|part| part.load),
            threshold: self.geometry.shard.threshold(),
            memory_bytes: sum(|part| part.memory_bytes).saturating_add(self.shards.spare_bytes()),
            stash_size,
            insert_failures: counters.failures,
            steps_mean: counters.steps_mean(),
            steps_max: counters.most_steps,
            promised_rate: self.geometry.rate,
            predicted_rate: mean(|part| part.predicted_rate),
            head_room: if grows { sum(|part| part.head_room) } else { capacity.saturating_sub(items) },
            level: match () {
                () if grows => Level::Room,
                () if refusing => Level::Full,
                () => Level::of(items, capacity, stash_size),
            },
            grows,
            links: Vec::new(),
            growth,
        }
    }

    /// All shards at one moment: guards that keep every writer out, or copies of the shards of Bloom kinds, which
    /// have no locks. A copy has all keys whose inserts have returned.
    pub(crate) fn freeze(&self) -> Vec<Shown<'_>> {
        (0..self.shards.len()).map(|shard| self.shards.show(shard)).collect()
    }
}

/// Empty filters for all shards, side by side in one buffer, which is on large pages if it is large. Those that grow
/// have tables of their own.
fn empty_filters(geometry: &ShardedGeometry) -> Result<Vec<Filter>, Error> {
    if geometry.is_growing() {
        Words::expect_room(geometry.bytes())?;
        return (0..geometry.shards).map(|_| Filter::new(geometry.shard)).collect();
    }
    let too_large = || Error::TooLarge { keys: geometry.keys };
    let bytes = Words::bytes_for(geometry.shard.table_bits().ok_or_else(too_large)?);
    let all = bytes.checked_mul(u64::from(geometry.shards)).and_then(Words::bits_in).ok_or_else(too_large)?;
    let all = Words::zeroed(all)?;
    #[expect(clippy::cast_possible_truncation, reason = "a part of what was allocated")]
    let cuts: Vec<usize> = (1..geometry.shards as usize).map(|shard| shard * bytes as usize / 8).collect();
    all.into_parts(&cuts).into_iter().map(|words| Filter::in_words(geometry.shard, words)).collect()
}

/// The shard that a hash draws, and the rest of the hash, for the place and the fingerprint.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "below the number of shards")]
fn shard_of(hash: KeyHash, shards: usize) -> (usize, KeyHash) {
    let (shard, rest) = draw(hash.to_raw(), shards as u64);
    (shard as usize, KeyHash::from_raw(rest))
}

/// A copy of all shards as they are at one moment.
impl Clone for Sharded {
    fn clone(&self) -> Self {
        let shards = self.freeze().iter().map(|shown| Filter::clone(shown)).collect();
        Self::of(self.geometry, shards)
    }
}

/// Equal content, shard by shard, each of the two as it is at one moment.
impl PartialEq for Sharded {
    fn eq(&self, other: &Self) -> bool {
        // A filter is equal to itself; taking its locks twice could deadlock.
        if core::ptr::eq(self, other) {
            return true;
        }
        // Every thread takes the same order, or two of them could wait for each other.
        let (first, second) = if core::ptr::from_ref(self) < other { (self, other) } else { (other, self) };
        first.geometry == second.geometry && {
            let (first, second) = (first.freeze(), second.freeze());
            first.iter().zip(&second).all(|(first, second)| **first == **second)
        }
    }
}

impl fmt::Debug for Sharded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharded")
            .field("kind", &format_args!("{}", self.geometry.kind()))
            .field("shards", &self.geometry.shards)
            .field("items", &self.len())
            .field("planned_keys", &self.geometry.keys)
            .field("rate", &self.geometry.rate)
            .field("bytes", &self.geometry.bytes())
            .finish_non_exhaustive()
    }
}
