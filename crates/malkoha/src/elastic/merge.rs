//! Merging: the entries of one filter are stored in another, whatever their sizes.
//!
//! An entry of one filter is an interval of hashes, and so it is in every other filter with the same hashes. It is
//! brought to the level of the region that takes it. Its chance to be hit by a stranger stays, so the rates of the two
//! filters add up.

use crate::error::Full;
use crate::key::KeyHash;

use super::directory::Elastic;
use super::entry::Entry;
use super::growth::{self, MOST_IN_TABLE, Step};
use super::region::Region;

/// An entry outside of any region: its place is one of all places of its group at a level.
#[derive(Clone, Copy, Debug)]
struct Free {
    entry: Entry,
    group: usize,
    level: u32,
    /// Bits of the tag.
    bits: u32,
}

impl Free {
    fn of(region: &Region, mut entry: Entry) -> Self {
        let shape = region.shape();
        let group = shape.group();
        let before = shape.prefix << super::GROUP_BITS >> 1 >> (63 - (shape.depth - super::GROUP_BITS));
        entry.place += before * u64::from(shape.places);
        Self { entry, group, level: growth::level(&shape), bits: region.bits() }
    }

    /// The smallest hash of the interval.
    fn first_hash(&self) -> KeyHash {
        self.entry.first_hash(self.group, self.level, self.bits)
    }

    fn doubled(self) -> (Self, Option<Self>) {
        let (one, two) = self.entry.doubled(self.bits);
        let free = |entry| Self { entry, level: self.level + 1, ..self };
        (free(one), two.map(free))
    }

    fn halved(self) -> Self {
        Self { entry: self.entry.halved(self.bits), level: self.level - 1, bits: self.bits + 1, ..self }
    }

    /// The entry of a region at the same level.
    fn inside(self, region: &Region) -> Entry {
        let mut entry = self.entry.fitted(self.bits, region.bits());
        entry.place %= u64::from(region.shape().places);
        entry
    }
}

impl Region {
    /// Every stored copy, as a hash that leads to its entry, and its value.
    pub(super) fn copies(&self) -> impl Iterator<Item = (KeyHash, u16)> + use<> {
        let mut copies = Vec::new();
        let all: Result<(), Full> = self.each_entry(|entry, count| {
            copies.push((Free::of(self, entry).first_hash(), entry.value, count));
            Ok(())
        });
        debug_assert!(all.is_ok(), "nothing can fail");
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        copies
            .into_iter()
            .flat_map(move |(hash, value, copies)| core::iter::repeat_n((hash, value), count(copies)))
    }
}

impl Elastic {
    /// Stores what another filter with the same hashes holds, or only what is not yet covered by an entry here, in
    /// filters with values one with the same value. If the system has no memory, copies may be missing.
    pub(crate) fn take_over(&mut self, other: &Self, only_unknown: bool) -> Result<(), Full> {
        let (mut stored, mut all) = (0u64, 0u64);
        for region in other.in_order() {
            // Regions are made as deep as those of the other filter, whose keys will need the room.
            let prefix = KeyHash::from_raw(region.shape().prefix);
            while growth::level(&self.region(prefix).shape()) < growth::level(&region.shape()) {
                self.double(self.region_of(prefix))?;
            }
            region.each_entry(|entry, copies| {
                let free = Free::of(region, entry);
                all = all.saturating_add(copies);
                if only_unknown && self.covers(free) {
                    return Ok(());
                }
                stored = stored.saturating_add(copies);
                self.settle(free, copies)
            })?;
        }
        // Entries that ran out of bits are two for one copy.
        self.len += if stored == all { other.len } else { stored.min(other.len) };
        Ok(())
    }

    /// Whether every key that an entry stands for is found, with the value of the entry if there are values: the key
    /// that it was made for is one of them, and nobody knows which.
    fn covers(&self, free: Free) -> bool {
        let region = self.region(free.first_hash());
        let level = growth::level(&region.shape());
        if level > free.level {
            let (one, two) = free.doubled();
            return self.covers(one) && two.is_none_or(|two| self.covers(two));
        }
        let mut lower = free;
        while lower.level > level {
            lower = lower.halved();
        }
        region.covers(lower.inside(region))
    }

    /// Stores copies of an entry in the regions that it belongs to.
    fn settle(&mut self, free: Free, copies: u64) -> Result<(), Full> {
        let mut left = copies;
        while left > 0 {
            let (at, deepest) = (self.region_of(free.first_hash()), self.deepest());
            let region = &mut self.regions[at];
            let level = growth::level(&region.shape());
            if level > free.level {
                let (one, two) = free.doubled();
                self.settle(one, left)?;
                return two.map_or(Ok(()), |two| self.settle(two, left));
            }
            let mut lower = free;
            while lower.level > level {
                lower = lower.halved();
            }
            let entry = lower.inside(region);
            if left > MOST_IN_TABLE {
                region.put_over(entry, left - MOST_IN_TABLE)?;
                left = MOST_IN_TABLE;
            }
            match growth::store_entry_or_grow(region, entry, &self.layout, deepest)? {
                Step::Stored(_) => left -= 1,
                Step::Grown(grown) => self.put_grown(at, grown)?,
            }
            self.note_overflow(self.region_of(free.first_hash()));
        }
        Ok(())
    }
}
