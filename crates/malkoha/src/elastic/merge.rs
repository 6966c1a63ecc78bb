//! Merging: the entries of one filter are stored in another, whatever their sizes.
//!
//! An entry of one filter is an interval of hashes, and so it is in every other filter with the same hashes. It is
//! brought to the level of the region that takes it. Its chance to be hit by a stranger stays, so the rates of the two
//! filters add up.

use crate::bits::cpu::{Vectors, Work};
use crate::error::Full;
use crate::key::KeyHash;

use super::bulk::towards;
use super::directory::Elastic;
use super::entry::Entry;
use super::growth::{self, MOST_IN_TABLE, Step};
use super::layout::{BASES, GROUP_BITS};
use super::region::Region;

/// What gives the entries of a region their meaning: that of a filter, or what it would be after some doublings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    prefix: u64,
    depth: u32,
    group: usize,
    level: u32,
    /// Bits of the tags.
    bits: u32,
}

impl Frame {
    fn of(region: &Region) -> Self {
        let shape = region.shape();
        let (group, level) = (shape.group(), growth::level(&shape));
        Self { prefix: shape.prefix, depth: shape.depth, group, level, bits: region.bits() }
    }

    /// Whether the region has the same hashes and places.
    fn is_like(&self, other: &Self) -> bool {
        (self.prefix, self.depth, self.level) == (other.prefix, other.depth, other.level)
    }

    fn places(&self) -> u64 {
        u64::from(BASES[self.group]) << (self.level - (self.depth - GROUP_BITS))
    }

    /// An entry, outside of the region.
    fn free(&self, mut entry: Entry) -> Free {
        let before = self.prefix << GROUP_BITS >> 1 >> (63 - (self.depth - GROUP_BITS));
        entry.place += before * self.places();
        Free { entry, group: self.group, level: self.level, bits: self.bits }
    }

    /// The region after a doubling, which may split it.
    fn doubled(self, splits: bool) -> [Self; 2] {
        let depth = self.depth + u32::from(splits);
        let one = Self { level: self.level + 1, depth, ..self };
        [one, Self { prefix: self.prefix | u64::from(splits) << (64 - depth), ..one }]
    }
}

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

/// Puts entries with tags of so many bits into a region, as long as they find an empty slot; returns the number of the
/// first that does not.
struct PutSome<'a>(&'a mut Region, &'a [Entry], u32);

impl Work for PutSome<'_> {
    const WIDE: bool = true;
    type Output = usize;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> usize {
        let Self(region, entries, bits) = self;
        let own_bits = region.bits();
        for (i, entry) in entries.iter().enumerate() {
            let entry = entry.fitted(bits, own_bits);
            if region.entries >= region.most || !region.put_in_either(entry, vectors) {
                return i;
            }
        }
        entries.len()
    }
}

impl Region {
    /// Every stored copy, as a hash that leads to its entry, and its value.
    pub(super) fn copies(&self) -> impl Iterator<Item = (KeyHash, u16)> + use<> {
        let (mut copies, frame) = (Vec::new(), Frame::of(self));
        let all: Result<(), Full> = self.each_entry(|entry, count| {
            copies.push((frame.free(entry).first_hash(), entry.value, count));
            Ok(())
        });
        debug_assert!(all.is_ok(), "nothing can fail");
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        copies
            .into_iter()
            .flat_map(move |(hash, value, copies)| core::iter::repeat_n((hash, value), count(copies)))
    }

    /// The entries of the table: the first slot of all places, then the second. Whoever stores them in this order
    /// does not wait for what was just written to the same places.
    fn table_entries(&self) -> Result<Vec<Entry>, Full> {
        let mut entries = Vec::new();
        entries.try_reserve_exact(self.entries as usize).map_err(|_| Full)?;
        let form = self.table.form();
        for slot in 0..form.slots() {
            let (mut bit, stride) = (form.slot(0, slot), form.bit(1));
            for place in 0..self.table.places() {
                let content = self.table.read(bit);
                bit += stride;
                if content != 0 {
                    entries.push(self.entry_of(place, content));
                }
            }
        }
        Ok(entries)
    }
}

impl Elastic {
    /// Stores what another filter with the same hashes holds, or only what is not yet covered by an entry here, in
    /// filters with values one with the same value. If the system has no memory, copies may be missing.
    pub(crate) fn take_over(&mut self, other: &Self, only_unknown: bool) -> Result<(), Full> {
        let (mut stored, mut all) = (0u64, 0u64);
        for region in other.in_order() {
            // Regions are made as deep as those of the other filter, whose keys will need the room.
            let (frame, prefix) = (Frame::of(region), KeyHash::from_raw(region.shape().prefix));
            while Frame::of(self.region(prefix)).level < frame.level {
                self.double(self.region_of(prefix))?;
            }
            if only_unknown {
                region.each_entry(|entry, copies| {
                    let free = frame.free(entry);
                    all = all.saturating_add(copies);
                    if self.covers(free) {
                        return Ok(());
                    }
                    stored = stored.saturating_add(copies);
                    self.settle(free, copies)
                })?;
            } else {
                self.settle_many(frame, &region.table_entries()?)?;
                let over = region.overflow().sorted();
                over.into_iter().try_for_each(|(entry, copies)| self.settle(frame.free(entry), copies))?;
            }
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

    /// Stores entries of a region, one copy of each, in the region that has its hashes here, or in those that it was
    /// split into. They are made as large as they will have to be first.
    fn settle_many(&mut self, frame: Frame, mut entries: &[Entry]) -> Result<(), Full> {
        while !entries.is_empty() {
            let (at, deepest) = (self.region_of(KeyHash::from_raw(frame.prefix)), self.deepest());
            let region = &mut self.regions[at];
            let own = Frame::of(region);
            if own.level > frame.level && own.depth >= frame.depth {
                return self.settle_doubled(frame, entries, own.depth > frame.depth);
            }
            if !own.is_like(&frame) {
                return entries.iter().try_for_each(|entry| self.settle(frame.free(*entry), 1));
            }
            let expected = f64::from(region.entries) + entries.len() as f64;
            if expected > f64::from(region.most)
                && let Ok(grown) = towards(region, expected, &self.layout, deepest)
            {
                self.put_grown(at, grown)?;
                continue;
            }
            entries = &entries[self.cpu.run(PutSome(region, entries, frame.bits))..];
            let Some((first, rest)) = entries.split_first() else { break };
            let entry = first.fitted(frame.bits, own.bits);
            let step = growth::store_entry_or_grow(region, entry, &self.layout, deepest);
            self.note_overflow(at);
            match step? {
                Step::Stored(_) => entries = rest,
                Step::Grown(grown) => self.put_grown(at, grown)?,
            }
        }
        Ok(())
    }

    /// Does the same where regions are at a higher level, and perhaps deeper.
    fn settle_doubled(&mut self, frame: Frame, entries: &[Entry], splits: bool) -> Result<(), Full> {
        let mut halves = [Vec::new(), Vec::new()];
        let half = if splits { frame.places() } else { u64::MAX };
        for entry in entries {
            let (one, two) = entry.doubled(frame.bits);
            for entry in core::iter::once(one).chain(two) {
                let upper = entry.place >= half;
                let place = entry.place - if upper { half } else { 0 };
                let entries = &mut halves[usize::from(upper)];
                entries.try_reserve(1).map_err(|_| Full)?;
                entries.push(Entry { place, ..entry });
            }
        }
        for (frame, entries) in frame.doubled(splits).into_iter().zip(&halves) {
            self.settle_many(frame, entries)?;
        }
        Ok(())
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
            let step = growth::store_entry_or_grow(region, entry, &self.layout, deepest);
            self.note_overflow(at);
            match step? {
                Step::Stored(_) => left -= 1,
                Step::Grown(grown) => self.put_grown(at, grown)?,
            }
        }
        Ok(())
    }
}
