//! All entries of a region: listed, counted, and copied into wider places.

use crate::bits::cpu::{Vectors, Work};
use crate::bits::prefix_table::PrefixTable;
use crate::error::Full;

use super::entry::{Entry, length};
use super::overflow::Overflow;
use super::region::Region;
use super::shape::Shape;

impl Region {
    /// Calls `act` with the place, the first bit and the content of every slot that is not empty.
    #[inline(always)]
    pub(super) fn each_content(&self, mut act: impl FnMut(u32, u64, u64)) {
        let (slots, width) = (self.table.form().slots(), u64::from(self.table.form().width()));
        let mut bit = 0;
        for place in 0..self.table.places() {
            for _ in 0..slots {
                let content = self.table.read(bit);
                if content != 0 {
                    act(place, bit, content);
                }
                bit += width;
            }
        }
    }

    /// Calls `act` with every entry of the table.
    #[inline(always)]
    pub(super) fn each_table_entry(&self, mut act: impl FnMut(Entry)) {
        self.each_content(|place, _, content| act(self.entry_of(place, content)));
    }

    /// Calls `act` with every entry and the number of its copies, until it fails.
    #[inline(always)]
    pub(super) fn each_entry(&self, mut act: impl FnMut(Entry, u64) -> Result<(), Full>) -> Result<(), Full> {
        let mut done = Ok(());
        self.each_table_entry(|entry| {
            if done.is_ok() {
                done = act(entry, 1);
            }
        });
        done?;
        self.overflow.sorted().into_iter().try_for_each(|(entry, copies)| act(entry, copies))
    }

    /// The entry that a place holds as this content.
    #[inline(always)]
    pub(super) fn entry_of(&self, place: u32, content: u64) -> Entry {
        let first = self.table.first_place(place, self.table.tag(content));
        Entry { place: first.into(), tag: content & (self.side() - 1), value: self.value(content) }
    }

    /// The number of entries of the table whose first places are `place` and those after it.
    pub(super) fn entries_from(&self, place: u32) -> u32 {
        self.cpu.run(EntriesFrom(self, place))
    }

    /// Removes all entries.
    pub(super) fn empty(&mut self) {
        self.table.clear();
        self.overflow = Overflow::default();
        (self.entries, self.weight) = (0, 0);
    }

    /// The same table with more slots for every place. Entries stay in their places.
    pub(super) fn widened(&self, slots: u32) -> Result<Self, Full> {
        let mut wider = self.beside(Shape { slots, ..self.shape() }).map_err(|_| Full)?;
        self.cpu.run(CopyPlaces(&self.table, &mut wider.table));
        wider = wider.counted(self);
        // What is in the overflow may find a slot now, and is counted there.
        wider.weight = self.counts().1;
        self.overflow.sorted().into_iter().try_for_each(|(entry, copies)| wider.pour(entry, copies))?;
        Ok(wider)
    }

    /// Takes over the counts of the table and the entries in the overflow, none of them twice, from a file.
    pub(crate) fn restore(&mut self, counts: (u32, u128), overflow: &[(Entry, u64)]) -> Result<(), Full> {
        (self.entries, self.weight) = counts;
        self.has_holes = true;
        overflow.iter().try_for_each(|(entry, copies)| self.put_over(*entry, *copies))
    }

    /// The number of entries in the table, and their weight, counted.
    pub(crate) fn counted_entries(&self) -> (u32, u128) {
        let (mut entries, mut weight) = (0, 0);
        self.each_content(|_, _, content| {
            entries += 1;
            weight += Self::weight_of(content);
        });
        (entries, weight)
    }

    /// The number of entries in the table, and their weight.
    pub(crate) fn counts(&self) -> (u32, u128) {
        (self.entries, self.weight - self.overflow_weight())
    }

    /// What the overflow adds to the weight: equal intervals are hit by the same strangers, so they count once.
    fn overflow_weight(&self) -> u128 {
        let mut intervals: Vec<_> =
            self.overflow.sorted().into_iter().map(|(entry, _)| (entry.place, entry.tag)).collect();
        intervals.dedup();
        intervals.into_iter().map(|(_, tag)| Self::weight_of(tag)).sum()
    }

    /// Every entry in the overflow and the number of its copies, ascending.
    pub(crate) fn overflow_entries(&self) -> Vec<(Entry, u64)> {
        self.overflow.sorted()
    }

    /// Calls `act` with the length of the fingerprint of every entry, and the number of its copies.
    pub(super) fn each_length(&self, mut act: impl FnMut(u32, u64)) {
        self.each_table_entry(|entry| act(length(entry.tag, self.bits()), 1));
        self.overflow
            .sorted()
            .iter()
            .for_each(|(entry, copies)| act(length(entry.tag, self.bits()), *copies));
    }
}

/// Copies all slots into a table with more of them for every place. (Shifts by variable numbers of bits are what it does
/// most.)
struct CopyPlaces<'a>(&'a PrefixTable, &'a mut PrefixTable);

impl Work for CopyPlaces<'_> {
    const WIDE: bool = false;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        let Self(from, to) = self;
        from.copy_places(to);
    }
}

struct EntriesFrom<'a>(&'a Region, u32);

impl Work for EntriesFrom<'_> {
    const WIDE: bool = false;
    type Output = u32;

    #[inline(always)]
    fn run(self, _: impl Vectors) -> u32 {
        let Self(region, least) = self;
        let mut count = 0;
        let (slots, width) = (region.table.form().slots(), u64::from(region.table.form().width()));
        let mut bit = 0;
        for place in 0..region.table.places() {
            for _ in 0..slots {
                let content = region.table.read(bit);
                let first = region.table.first_place(place, region.table.tag(content));
                count += u32::from(content != 0) & u32::from(first >= least);
                bit += width;
            }
        }
        count
    }
}
