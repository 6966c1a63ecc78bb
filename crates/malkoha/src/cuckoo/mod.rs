//! The cuckoo family: one filter over a placement and a table.
//!
//! ```text
//!   hash -> first place, fingerprint        place.rs   Xor, Subtables, Signed
//!        -> second place
//!        -> tags sought in both             tag.rs     value, side, rank, fingerprint
//!        -> slots compared                  table.rs   the trait of tables: slots.rs buckets and windows,
//!                                                      sorted.rs and quadruples.rs sorted buckets
//!   many at once                            row.rs     64 keys in vectors; batch.rs  prefetching
//!                                           bulk.rs    in the order of the table: regions.rs sorts keys,
//!                                                      parts.rs is for threads, loose.rs unpacks sorted buckets
//!   full  -> others move                    walk.rs    steps, budget, undo
//!         -> or the key is set aside        stash.rs
//! ```
//!
//! The five named filters are just combinations of these parts. Most callers want [`Filter`](crate::Filter), which
//! chooses the combination at run time; the aliases here are for callers who know it at compile time and already have
//! hashes.

mod audit;
mod batch;
mod bulk;
mod doubled;
mod groups;
mod layout;
mod loose;
mod parts;
mod place;
mod quadruples;
mod regions;
mod row;
mod shared;
mod sizing;
mod slots;
mod sorted;
mod stash;
mod table;
mod tag;
#[cfg(test)]
mod tests;
mod values;
mod walk;

pub use layout::{CuckooLayout, Offsets, Ring};
pub use place::{Signed, Subtables, Xor};
pub use slots::Slots;
pub use sorted::SortedBuckets;

pub(crate) use layout::MOST_SUBTABLE_BITS;
pub(crate) use parts::has_order;
pub(crate) use place::Placement;
pub(crate) use regions::round;
pub(crate) use sizing::Wish;

use std::sync::Arc;

use crate::bits::Words;
use crate::bits::chosen::{Chosen, Question};
use crate::bits::cpu::{Cpu, Vectors};
use crate::bits::shared::Shared;
use crate::engine::reader::{Front, Locked, Reader, aside_bit};
use crate::engine::rows::Keys;
use crate::engine::{
    Again, Content, Copied, Counters, CuckooEngine, Engine, Flaw, Inserted, Many, Stashed, Values,
};
use crate::error::{Error, Full, FullAt};
use crate::key::draw::Whole;
use crate::key::{KeyHash, KeyHasher};
use place::{Homes, Place};
use stash::{Kept, Stash};
use table::Table;
use tag::{Fingerprint, Side};
use walk::{End, Ground, Walk};

/// Fan et al. 2014: XOR with a hash of the fingerprint, buckets.
pub type ClassicCuckoo = Cuckoo<Xor, Slots>;
/// Fan et al. 2014, section 5.2: the same, with sorted buckets.
pub type SemiSortedCuckoo = Cuckoo<Xor, SortedBuckets>;
/// Eppstein 2016: XOR with the fingerprint itself, subtables, a stash for each.
pub type SimplifiedCuckoo = Cuckoo<Subtables, Slots>;
/// Schmitz, Zentgraf, Rahmann 2025: signed offsets, with buckets (section 3.1, [`Flexible`](crate::Kind::Flexible))
/// or overlapping windows (section 3.2, [`Windowed`](crate::Kind::Windowed)); the layout determines which.
pub type SignedCuckoo = Cuckoo<Signed, Slots>;
/// Signed offsets and sorted buckets: any size, and the fewest bits.
pub type SortedCuckoo = Cuckoo<Signed, SortedBuckets>;

/// A cuckoo filter: a placement, which decides where keys go, and the table that holds them.
///
/// ```
/// use malkoha::cuckoo::SortedCuckoo;
/// use malkoha::{Key, KeyHasher, Kind, Spec};
///
/// let geometry = Spec::new(1000, 0.001).kind(Kind::Sorted).plan()?;
/// let mut filter = SortedCuckoo::new(geometry.cuckoo().unwrap())?;
/// let hasher = KeyHasher::new(1);
/// filter.insert("malkoha".key_hash(&hasher))?;
/// assert!(filter.contains("malkoha".key_hash(&hasher)));
/// assert!(filter.remove("malkoha".key_hash(&hasher)));
/// assert!(filter.is_empty());
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cuckoo<P, T> {
    placement: P,
    table: T,
    stash: Stash,
    layout: CuckooLayout,
    len: u64,
    walk: Walk,
    cpu: Cpu,
    /// The function that looks up a single key.
    look_up: Chosen<Self>,
    counters: Counters,
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Makes an empty filter with this layout. Fails if the layout is of a kind that this type does not serve.
    pub fn new(layout: &CuckooLayout) -> Result<Self, Error> {
        Self::in_words(layout, Words::zeroed(layout.table_bits().unwrap_or(u64::MAX / 2))?)
    }

    /// Makes an empty filter with this layout in `words`, which are as many as it needs and all zero.
    pub(crate) fn in_words(layout: &CuckooLayout, words: Words) -> Result<Self, Error> {
        if !(P::fits(layout) && T::fits(layout)) {
            let what = "this layout belongs to another type of filter; use Filter, which finds the right one";
            return Err(Error::Option { kind: layout.kind, what });
        }
        // Each subtable has its own part of the stash; without subtables the whole table shares one.
        let group_bits = if layout.subtable_bits == 0 { u64::BITS } else { layout.subtable_bits };
        let mut filter = Self {
            placement: P::new(layout),
            table: T::new(layout, words),
            stash: Stash::new(layout.stash, group_bits),
            layout: *layout,
            len: 0,
            walk: Walk::default(),
            cpu: Cpu::detect(),
            look_up: Chosen::any(Self::contains_otherwise),
            counters: Counters::default(),
        };
        filter.stash_has_changed();
        Ok(filter)
    }

    /// Chooses the lookup function again. Must be called after every change of the stash.
    fn stash_has_changed(&mut self) {
        self.look_up = self.choose_look_up();
    }

    /// Chooses the function that looks up a single key. Plain filters have a shorter one: they have no doublings or
    /// values, a place is one load, and the stash is empty.
    fn choose_look_up(&self) -> Chosen<Self> {
        let plain = self.table.is_plain() && self.stash.is_empty();
        let Some(near) = self.placement.is_near().filter(|_| plain) else {
            return Chosen::any(Self::contains_otherwise);
        };
        if P::HAS_WAYS && near {
            self.choose_by::<Near>()
        } else if P::HAS_WAYS && self.placement.is_local() {
            self.choose_by::<Local>()
        } else {
            self.choose_by::<Far>()
        }
    }

    fn choose_by<W: Way>(&self) -> Chosen<Self> {
        if self.table.has_whole_bytes() {
            self.cpu.choose::<_, Plainly<W, true>>()
        } else {
            self.cpu.choose::<_, Plainly<W, false>>()
        }
    }

    /// Prefetches both places of a key.
    #[inline(always)]
    fn prefetch_homes(&self, homes: Homes) {
        table::ask_for(&self.table, homes.first);
        table::ask_for(&self.table, homes.second);
    }

    #[inline(always)]
    fn holds(&self, homes: Homes) -> bool {
        let in_table = table::holds(&self.table, homes);
        if self.stash.is_empty() { in_table } else { in_table || self.stash_count(homes) > 0 }
    }

    #[cold]
    fn stash_count(&self, homes: Homes) -> u32 {
        self.stash.count(self.name(homes), homes.fingerprint)
    }

    /// Returns the place that names a key in the stash.
    fn name(&self, homes: Homes) -> Place {
        self.placement.canonical(homes.first, homes.fingerprint, Side::First)
    }

    /// Returns the entry of a key in the stash.
    fn kept(&self, homes: Homes, value: u16) -> Kept {
        Kept { name: self.name(homes), fingerprint: homes.fingerprint, value }
    }

    /// Stores one copy of a key, with value 0 in filters with values. If there is no room, nothing changes.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        let homes = self.placement.homes(hash);
        self.insert_at(hash, homes, 0)
    }

    #[inline(always)]
    fn insert_at(&mut self, hash: KeyHash, homes: Homes, value: u16) -> Result<(), Full> {
        if !self.table.put_in_either(homes, value) {
            self.make_room(hash, homes, value)?;
        }
        self.len += 1;
        Ok(())
    }

    /// Stores a key whose two places are full: by a walk, or otherwise in the stash.
    #[cold]
    fn make_room(&mut self, hash: KeyHash, homes: Homes, value: u16) -> Result<(), Full> {
        let key = (hash, homes.both(value));
        let most_steps = self.layout.max_steps;
        let ground = Ground { table: &mut self.table, begin: 0, end: self.layout.places };
        let end = self.walk.make_room(&self.placement, ground, key, most_steps);
        if let End::Room(steps) = end {
            self.counters.walked(steps);
            return Ok(());
        }
        let kept = self.kept(homes, value);
        if self.stash.put(kept) {
            self.stash_has_changed();
            return Ok(());
        }
        self.counters.failures += 1;
        Err(Full)
    }

    /// Stores a key unless the filter already seems to hold it.
    pub fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full> {
        let homes = self.placement.homes(hash);
        if self.holds(homes) {
            return Ok(Inserted::Seen);
        }
        self.insert_at(hash, homes, 0).map(|()| Inserted::Stored)
    }

    /// Returns whether the filter may hold a key. Never `false` for a stored key.
    #[must_use]
    #[inline(always)]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.look_up.ask(self, hash)
    }

    /// Does what [`contains`](Self::contains) does, for filters that are not plain.
    fn contains_otherwise(&self, hash: KeyHash) -> bool {
        self.holds(self.placement.homes(hash))
    }

    /// Removes one copy of a stored key, in filters with values one with value 0. Returns `false` if there was none.
    pub fn remove(&mut self, hash: KeyHash) -> bool {
        self.remove_at(self.placement.homes(hash), 0)
    }

    #[inline(always)]
    fn remove_at(&mut self, homes: Homes, value: u16) -> bool {
        if self.table.take_from_either(homes, value) {
            if !self.stash.is_empty() {
                self.unstash(homes.first);
            }
        } else if self.stash.is_empty() || !self.stash.take(self.kept(homes, value)) {
            return false;
        } else {
            self.stash_has_changed();
        }
        self.len -= 1;
        true
    }

    /// Moves keys from the group of `place` in the stash back to the table where there is room again.
    #[cold]
    fn unstash(&mut self, place: Place) {
        for i in self.stash.group(place).rev() {
            let kept @ Kept { name, fingerprint, value } = self.stash.entries()[i];
            let second = self.placement.other(name, fingerprint, Side::First);
            let homes = Homes { first: name, second, fingerprint };
            if self.table.put_in_either(homes, value) {
                self.stash.take(kept);
            }
        }
        self.stash_has_changed();
    }

    /// Counts the stored copies that look like this key, with any values.
    #[must_use]
    pub fn count(&self, hash: KeyHash) -> u32 {
        let homes = self.placement.homes(hash);
        homes.both(0).map(|entry| self.table.count(entry)).iter().sum::<u32>() + self.stash_count(homes)
    }

    /// Returns a hash and the value of every stored copy. This filter cannot tell the hash from that of the stored
    /// key; a filter knows no more of its keys. Inserting them into another filter of the same layout, or one whose
    /// places and fingerprints follow from those of this layout, stores the same keys there.
    pub(crate) fn copies(&self) -> impl Iterator<Item = Copied> {
        let stored = (0..self.layout.slots).filter_map(|slot| self.table.entry_at(slot)).map(|entry| {
            // For kinds without sides, either place will do.
            let first = match entry.side {
                Side::First => entry.place,
                Side::Second => self.placement.other(entry.place, entry.fingerprint, entry.side),
            };
            (first, entry.fingerprint, entry.value)
        });
        let stashed = self.stash.entries().iter().map(|kept| (kept.name, kept.fingerprint, kept.value));
        let hash = |first, fingerprint| self.placement.hash(first, fingerprint);
        stored.chain(stashed).map(move |(first, fingerprint, value)| (hash(first, fingerprint), value))
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.table.clear();
        self.stash.clear();
        self.stash_has_changed();
        self.len = 0;
    }

    /// Returns the number of stored copies.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the filter is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Looks up every key of a slice, and writes the answers to a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.look_up(Keys::Hashes(hashes), answers);
    }
}

/// How homes are found in a plain filter.
trait Way {
    fn homes(placement: &impl Placement, hash: KeyHash) -> Homes;
}

/// Some offsets are near.
struct Near;
/// No offset is near.
struct Far;
/// No offset is near, and their range is the one that most tables have.
struct Local;

impl Way for Near {
    #[inline(always)]
    fn homes(placement: &impl Placement, hash: KeyHash) -> Homes {
        placement.homes_by::<Whole, true>(hash)
    }
}

impl Way for Far {
    #[inline(always)]
    fn homes(placement: &impl Placement, hash: KeyHash) -> Homes {
        placement.homes_by::<Whole, false>(hash)
    }
}

impl Way for Local {
    #[inline(always)]
    fn homes(placement: &impl Placement, hash: KeyHash) -> Homes {
        placement.local_homes(hash)
    }
}

/// Whether a plain filter holds a key, with homes by `W`. `BYTES` is set where every place begins on a byte.
struct Plainly<W, const BYTES: bool>(W);

impl<P: Placement, T: Table, W: Way, const BYTES: bool> Question<Cuckoo<P, T>> for Plainly<W, BYTES> {
    #[inline(always)]
    fn ask(of: &Cuckoo<P, T>, hash: KeyHash, vectors: impl Vectors) -> bool {
        of.table.plainly_holds::<BYTES>(W::homes(&of.placement, hash), vectors)
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

    fn prefetch(&self, hash: KeyHash) {
        self.prefetch_homes(self.placement.homes(hash));
    }

    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.contains_slice(hashes, answers);
    }

    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        self.look_up(Keys::Numbers(numbers, hasher), answers);
        true
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        self.insert_batch(hashes)
    }

    fn insert_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        self.insert_all(keys, again, threads)
    }
}

impl<P: Placement, T: Table> CuckooEngine for Cuckoo<P, T> {
    fn remove(&mut self, hash: KeyHash) -> bool {
        self.remove(hash)
    }

    fn remove_many(&mut self, keys: &Many) -> usize {
        self.remove_all(keys)
    }

    fn count(&self, hash: KeyHash) -> u32 {
        self.count(hash)
    }

    fn insert_value(&mut self, hash: KeyHash, value: u16) -> Result<(), Full> {
        let homes = self.placement.homes(hash);
        self.insert_at(hash, homes, value)
    }

    fn values(&self, hash: KeyHash) -> Values {
        self.values_at(self.placement.homes(hash))
    }

    fn or_value(&mut self, hash: KeyHash, value: u16) -> Result<Inserted, Full> {
        self.or_at(hash, self.placement.homes(hash), value)
    }

    fn unions(&self, keys: Keys, unions: &mut [u16]) {
        self.unite(keys, unions);
    }

    fn update_value(&mut self, hash: KeyHash, old: u16, new: u16) -> bool {
        self.update_at(self.placement.homes(hash), old, new)
    }

    fn remove_value(&mut self, hash: KeyHash, value: u16) -> bool {
        self.remove_at(self.placement.homes(hash), value)
    }

    fn insert_first(&mut self, keys: &Many, most: u64) -> usize {
        self.insert_rounds(keys, most)
    }

    fn share(&mut self) -> Shared {
        self.table.words_mut().share()
    }

    fn take_back(&mut self, shared: Shared) {
        self.table.words_mut().take_back(shared);
    }

    fn aside(&self) -> u64 {
        self.stash.entries().iter().fold(0, |bits, kept| bits | aside_bit(kept.fingerprint.0))
    }

    fn reader(&self, fronts: Box<[Front]>, locks: Arc<dyn Locked>) -> Arc<dyn Reader> {
        self.reader_of(fronts, locks)
    }

    fn copies(&self) -> Box<dyn Iterator<Item = Copied> + '_> {
        Box::new(self.copies())
    }

    fn clone_box(&self) -> Box<dyn CuckooEngine> {
        Box::new(self.clone())
    }
}

impl<P: Placement, T: Table> Content for Cuckoo<P, T> {
    fn len(&self) -> u64 {
        self.len
    }

    fn bytes(&self) -> usize {
        self.table.words().bytes() + self.stash.bytes()
    }

    fn words(&self) -> &[u64] {
        self.table.words()
    }

    fn stash_entries(&self) -> Vec<Stashed> {
        self.stash.entries().iter().map(|kept| (kept.name.0, kept.fingerprint.0, kept.value)).collect()
    }

    fn stash_len(&self) -> usize {
        self.stash.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn restore(&mut self, len: u64, stash: Vec<Stashed>) {
        self.len = len;
        let entries = stash.into_iter().map(|(name, fingerprint, value)| Kept {
            name: Place(name),
            fingerprint: Fingerprint(fingerprint),
            value,
        });
        self.stash.restore(entries.collect());
        self.stash_has_changed();
    }

    fn audit_stash(&self) -> Result<(), Flaw> {
        for (index, &Kept { name, fingerprint, value }) in self.stash.entries().iter().enumerate() {
            let flaw = |what| Err(Flaw::Stash { index, what });
            if !self.layout.has_fingerprint(fingerprint) {
                return flaw("an entry has a fingerprint that no key has");
            }
            if name.0 >= self.layout.places
                || self.placement.canonical(name, fingerprint, Side::First) != name
            {
                return flaw("an entry has a place that no key is named by");
            }
            if u32::from(value) >> self.layout.value_bits() != 0 {
                return flaw("an entry has a value that is too wide");
            }
        }
        self.stash.audit()
    }

    fn audit(&self) -> Result<(), Flaw> {
        self.audit_stash()?;
        let there = audit::audit(self.table.words(), &self.layout)? + self.stash.len() as u64;
        if there == self.len { Ok(()) } else { Err(Flaw::Count { there }) }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn count_on(&mut self, counters: Counters) {
        self.counters = counters;
    }
}
