//! The cuckoo family: one filter over a placement and a table.
//!
//! ```text
//!   hash -> first place, fingerprint        place.rs   Xor, Subtables, Signed
//!        -> second place
//!        -> tags sought in both             tag.rs     side, rank, fingerprint
//!        -> slots compared                  slots.rs   buckets and windows; sorted.rs  sorted buckets
//!   full  -> others move                    walk.rs    steps, budget, undo
//!         -> or the key is kept aside       stash.rs
//! ```
//!
//! The six named filters are combinations of these parts and nothing else. Most callers want
//! [`Filter`](crate::Filter), which chooses the combination at run time; the aliases here are for those who
//! know it at compile time and have hashes in hand.

mod layout;
mod place;
mod sizing;
mod slots;
mod sorted;
mod stash;
mod table;
mod tag;
#[cfg(test)]
mod tests;
mod walk;

pub use layout::{CuckooLayout, Ring};
pub use place::{Signed, Subtables, Xor};
pub use slots::{Dynamic, Fixed, Slots};
pub use sorted::SortedBuckets;
pub use tag::Anatomy;

pub(crate) use sizing::Wish;

use crate::engine::{Counters, Engine, Inserted};
use crate::error::{Error, Full};
use crate::key::KeyHash;
use place::{Place, Placement};
use stash::Stash;
use table::{Entry, Table};
use tag::Side;
use walk::{Budget, Walk};

/// Fan et al. 2014: XOR with a hash of the fingerprint, buckets.
pub type ClassicCuckoo = Cuckoo<Xor, Slots<Dynamic>>;
/// Fan et al. 2014, section 5.2: the same with sorted buckets.
pub type SemiSortedCuckoo = Cuckoo<Xor, SortedBuckets>;
/// Eppstein 2016: XOR with the fingerprint itself, subtables, a stash for each.
pub type SimplifiedCuckoo = Cuckoo<Subtables, Slots<Dynamic>>;
/// Schmitz, Zentgraf, Rahmann 2025, section 3.1: signed offsets, buckets.
pub type FlexibleCuckoo<S = Dynamic> = Cuckoo<Signed, Slots<S>>;
/// Schmitz, Zentgraf, Rahmann 2025, section 3.2: signed offsets, overlapping windows.
pub type WindowedCuckoo<S = Dynamic> = Cuckoo<Signed, Slots<S>>;
/// Signed offsets and sorted buckets: any size, and the fewest bits.
pub type SortedCuckoo = Cuckoo<Signed, SortedBuckets>;

/// Keys whose memory is fetched ahead of being looked at.
const BATCH: usize = 32;

/// A cuckoo filter: where keys go, and the table they go to.
///
/// ```
/// use malkoha::cuckoo::SortedCuckoo;
/// use malkoha::{Key, KeyHasher, Kind, Spec};
///
/// let geometry = Spec::new(1000, 0.001).kind(Kind::Sorted).plan()?;
/// let mut filter = SortedCuckoo::new(geometry.cuckoo().unwrap())?;
/// let hasher = KeyHasher::new(1);
/// filter.insert("malkoha".hash(&hasher)).unwrap();
/// assert!(filter.contains("malkoha".hash(&hasher)));
/// assert!(filter.remove("malkoha".hash(&hasher)));
/// assert!(filter.is_empty());
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cuckoo<P, T> {
    placement: P,
    table: T,
    stash: Stash,
    budget: Budget,
    len: u64,
    walk: Walk,
    counters: Counters,
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// An empty filter with this layout, which must be one of a kind with this placement and table.
    pub fn new(layout: &CuckooLayout) -> Result<Self, Error> {
        let budget = Budget {
            slots: layout.slots_per_place,
            steps: layout.max_steps,
            windowed: layout.kind.is_windowed(),
        };
        // Only subtables keep to themselves; elsewhere the whole table shares one stash.
        let group_bits = if layout.subtable_bits == 0 { u64::BITS } else { layout.subtable_bits };
        Ok(Self {
            placement: P::new(layout),
            table: T::new(layout)?,
            stash: Stash::new(layout.stash, group_bits),
            budget,
            len: 0,
            walk: Walk::default(),
            counters: Counters::default(),
        })
    }

    /// A key at home: its two entries, one of which the table may hold.
    #[inline(always)]
    fn homes(&self, hash: KeyHash) -> [Entry; 2] {
        let (place, fingerprint) = self.placement.locate(hash);
        let other = self.placement.other(place, fingerprint, Side::First);
        [
            Entry { place, fingerprint, side: Side::First },
            Entry { place: other, fingerprint, side: Side::Second },
        ]
    }

    #[inline(always)]
    fn holds(&self, homes: [Entry; 2]) -> bool {
        self.table.holds(homes[0]) | self.table.holds(homes[1]) || self.stash_count(homes) > 0
    }

    #[inline(always)]
    fn stash_count(&self, homes: [Entry; 2]) -> u32 {
        if self.stash.is_empty() { 0 } else { self.stash.count(self.name(homes[0]), homes[0].fingerprint) }
    }

    /// The place under which an entry would be in the stash.
    fn name(&self, entry: Entry) -> Place {
        self.placement.canonical(entry.place, entry.fingerprint, entry.side)
    }

    /// Stores one copy of a key. If there is no room nothing changes.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        let homes = self.homes(hash);
        self.insert_at(hash, homes)
    }

    #[inline(always)]
    fn insert_at(&mut self, hash: KeyHash, homes: [Entry; 2]) -> Result<(), Full> {
        if !self.table.put(homes[0]) && !self.table.put(homes[1]) {
            self.make_room(hash, homes)?;
        }
        self.len += 1;
        Ok(())
    }

    /// Stores a key whose two places are full: by a walk, or else in the stash.
    #[cold]
    fn make_room(&mut self, hash: KeyHash, homes: [Entry; 2]) -> Result<(), Full> {
        // If all 2l slots hold this very key, moving them around leads nowhere.
        let copies = self.table.count(homes[0]) + self.table.count(homes[1]);
        if copies < 2 * self.budget.slots {
            let steps = self.walk.make_room(&self.placement, &mut self.table, (hash, homes), self.budget);
            if let Some(steps) = steps {
                self.counters.walked(steps);
                return Ok(());
            }
        }
        let name = self.name(homes[0]);
        if self.stash.put(name, homes[0].fingerprint) {
            return Ok(());
        }
        self.counters.failures += 1;
        Err(Full)
    }

    /// Stores a key unless the filter already answers that it is there.
    pub fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full> {
        let homes = self.homes(hash);
        if self.holds(homes) {
            return Ok(Inserted::Seen);
        }
        self.insert_at(hash, homes).map(|()| Inserted::Stored)
    }

    /// Whether the filter may hold a key. Never `false` for a key that is stored.
    #[must_use]
    #[inline]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.holds(self.homes(hash))
    }

    /// Removes one copy of a stored key; `false` if there was none.
    pub fn remove(&mut self, hash: KeyHash) -> bool {
        let homes = self.homes(hash);
        if self.table.take(homes[0]) || self.table.take(homes[1]) {
            self.unstash(homes[0].place);
        } else if self.stash.is_empty() || !self.stash.take(self.name(homes[0]), homes[0].fingerprint) {
            return false;
        }
        self.len -= 1;
        true
    }

    /// Brings keys back from the stash for which there is room again, looking where `place` is.
    fn unstash(&mut self, place: Place) {
        if self.stash.is_empty() {
            return;
        }
        for i in self.stash.group(place).rev() {
            let (place, fingerprint) = self.stash.entries()[i];
            let second = self.placement.other(place, fingerprint, Side::First);
            if self.table.put(Entry { place, fingerprint, side: Side::First })
                || self.table.put(Entry { place: second, fingerprint, side: Side::Second })
            {
                self.stash.take(place, fingerprint);
            }
        }
    }

    /// How many stored copies look like this key.
    #[must_use]
    pub fn count(&self, hash: KeyHash) -> u32 {
        let homes = self.homes(hash);
        self.table.count(homes[0]) + self.table.count(homes[1]) + self.stash_count(homes)
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.table.clear();
        self.stash.clear();
        self.len = 0;
    }

    /// The number of copies stored.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Runs `visit` on the homes of every key, a batch at a time, after asking for the memory of all of them.
    #[inline(always)]
    fn in_batches(&self, hashes: &[KeyHash], mut visit: impl FnMut(usize, [Entry; 2])) {
        for (batch, hashes) in hashes.chunks(BATCH).enumerate() {
            let mut homes = [None; BATCH];
            for (home, hash) in homes.iter_mut().zip(hashes) {
                let entries = self.homes(*hash);
                self.table.prefetch(entries[0].place);
                self.table.prefetch(entries[1].place);
                *home = Some(entries);
            }
            for (i, entries) in homes.into_iter().flatten().enumerate() {
                visit(batch * BATCH + i, entries);
            }
        }
    }
}

impl<P: Placement, T: Table> Engine for Cuckoo<P, T> {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.insert(hash)
    }

    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full> {
        self.insert_unique(hash)
    }

    fn contains(&self, hash: KeyHash) -> bool {
        self.contains(hash)
    }

    fn remove(&mut self, hash: KeyHash) -> Option<bool> {
        Some(self.remove(hash))
    }

    fn count(&self, hash: KeyHash) -> Option<u32> {
        Some(self.count(hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.in_batches(hashes, |i, homes| answers[i] = self.holds(homes));
    }

    fn prefetch(&self, hash: KeyHash) {
        let homes = self.homes(hash);
        self.table.prefetch(homes[0].place);
        self.table.prefetch(homes[1].place);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn words(&self) -> &[u64] {
        self.table.words()
    }

    fn stash_entries(&self) -> Vec<(u64, u64)> {
        self.stash.entries().iter().map(|(place, fingerprint)| (place.0, fingerprint.0)).collect()
    }

    fn bytes(&self) -> usize {
        self.table.words().bytes() + self.stash.bytes()
    }

    fn stash_len(&self) -> usize {
        self.stash.len()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn clone_box(&self) -> Box<dyn Engine> {
        Box::new(self.clone())
    }
}
