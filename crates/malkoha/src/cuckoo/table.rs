//! `Table`: what a table of places can do, whatever its layout in memory.

use crate::bits::Words;
use crate::bits::cpu::{Portable, Vectors};
use crate::bits::source::Source;
use crate::bits::words::ROW;

use super::layout::CuckooLayout;
use super::place::{Homes, Place};
use super::row::Row;
use super::tag::{Fingerprint, Side, Tag};

/// A key as it is, or will be, stored in the table: where, and with which fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) place: Place,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) side: Side,
    /// The value stored beside the fingerprint; 0 in tables without values.
    pub(crate) value: u16,
}

impl Homes {
    /// Returns the entry of the key on one side, with a value.
    #[inline(always)]
    pub(crate) fn with(self, side: Side, value: u16) -> Entry {
        let place = match side {
            Side::First => self.first,
            Side::Second => self.second,
        };
        Entry { place, fingerprint: self.fingerprint, side, value }
    }

    /// Returns the entries of the key on both sides, with a value, the first side first.
    #[inline(always)]
    pub(crate) fn both(self, value: u16) -> [Entry; 2] {
        [self.with(Side::First, value), self.with(Side::Second, value)]
    }
}

/// The replacement of one tag by another, so that it can be undone.
#[derive(Clone, Copy, Debug)]
pub struct Swap {
    pub(crate) place: Place,
    pub(crate) rank: u32,
    pub(crate) old: Tag,
    pub(crate) new: Tag,
}

/// A table of places: [`Slots`](super::slots::Slots) or [`SortedBuckets`](super::sorted::SortedBuckets).
///
/// The methods for walks have a parameter `SIMPLE`, which is true only for tables that [are simple](Self::is_simple):
/// they skip checks whose result is known there.
pub trait Table: Clone + Send + Sync + core::fmt::Debug + 'static {
    /// A table of the same tags that is faster to fill.
    type Loose: Table;

    /// Returns the layout of the loose form; `None` if this table is loose already.
    fn loose_layout(layout: &CuckooLayout) -> Option<CuckooLayout>;

    /// Makes an empty table in loose form, with its layout, in `words`.
    fn new_loose(layout: &CuckooLayout, words: Words) -> Self::Loose;

    /// Copies all tags to a loose table, which is empty.
    fn loosen(&self, loose: &mut Self::Loose, places: u64);

    /// Replaces all tags by those of a loose table.
    fn tighten(&mut self, loose: &Self::Loose, places: u64);

    /// Returns whether a layout is one of this table.
    fn fits(layout: &CuckooLayout) -> bool;

    /// Makes the table for a layout that fits, in `words`, which are as many as the layout needs.
    fn new(layout: &CuckooLayout, words: Words) -> Self;

    /// Returns whether a place is one load and tags have no values.
    fn is_plain(&self) -> bool;

    /// Returns whether the table is plain and tags have fields of whole bits.
    fn is_simple(&self) -> bool;

    /// Returns whether one of the two places of a key in `words`, which are those of such a table, holds it, with any
    /// value. No branch depends on the answer, which is unpredictable.
    fn holds_in(&self, words: &impl Source, homes: Homes) -> bool;

    /// Returns whether every place begins on a byte.
    fn has_whole_bytes(&self) -> bool;

    /// Does what [`holds_in`](Self::holds_in) does, for [plain](Self::is_plain) tables. `BYTES` is only for tables
    /// whose places [begin on a byte](Self::has_whole_bytes): no shift is needed there.
    fn plainly_holds_in<const BYTES: bool>(
        &self,
        words: &impl Source,
        homes: Homes,
        vectors: impl Vectors,
    ) -> bool;

    /// Does [`holds_in`](Self::holds_in) in the words of this table.
    #[inline(always)]
    fn holds(&self, homes: Homes) -> bool {
        self.holds_in(self.words(), homes)
    }

    /// Does [`plainly_holds_in`](Self::plainly_holds_in) in the words of this table.
    #[inline(always)]
    fn plainly_holds<const BYTES: bool>(&self, homes: Homes, vectors: impl Vectors) -> bool {
        self.plainly_holds_in::<BYTES>(self.words(), homes, vectors)
    }

    /// Does what [`holds`](Self::holds) does, for a row of keys: not 0 for those that are held.
    fn hold_row(&self, row: &Row) -> [u64; ROW];

    /// Returns the number of slots of a place.
    fn slots_per_place(&self) -> u32;

    /// Returns whether places overlap, so that a resident may also fit into another slot of its own place.
    fn is_windowed(&self) -> bool;

    /// Counts the copies of an entry in its place, with any values.
    fn count(&self, entry: Entry) -> u32;

    /// Returns the entry at `rank` of a full place.
    fn resident<const SIMPLE: bool>(&self, place: Place, rank: u32) -> Entry;

    /// Puts an entry into an empty slot of its place; returns `false` if there is none.
    fn put<const SIMPLE: bool>(&mut self, entry: Entry) -> bool;

    /// Replaces the tag at `rank` of the place of an entry, which is full, by the entry. Returns the victim as it was
    /// stored, and how to undo the swap.
    fn swap<const SIMPLE: bool>(&mut self, entry: Entry, rank: u32) -> (Entry, Swap);

    /// Undoes the latest swap that has not been undone yet.
    fn undo(&mut self, swap: Swap);

    /// Puts a key into an empty slot of one of its two places; returns `false` if neither has one.
    fn put_in_either(&mut self, homes: Homes, value: u16) -> bool;

    /// Removes one copy of a key, with its value, from its first place, or else from its second; returns `false` if
    /// neither has one.
    fn take_from_either(&mut self, homes: Homes, value: u16) -> bool;

    /// Calls `each` with the value of every copy of an entry in its place.
    fn values(&self, entry: Entry, each: impl FnMut(u16));

    /// Returns the bits of the values of all copies of each key of a row, together. No branch depends on what is found.
    fn unite_row(&self, row: &Row) -> [u16; ROW];

    /// Changes the value of one copy of an entry with its value; returns `false` if there is none.
    fn update(&mut self, entry: Entry, value: u16) -> bool;

    /// Returns the entry in a slot, counted from the first slot of the table; `None` if the slot is empty.
    fn entry_at(&self, slot: u64) -> Option<Entry>;

    /// Returns the number of bits from one place to the next.
    fn stride_bits(&self) -> u64;

    /// Returns the number of bits of a place.
    fn place_bits(&self) -> u32;

    /// Returns a bit, counted from the first of a place, in the last byte that a lookup loads there. It may be beyond
    /// the place: a load is 8 bytes.
    fn reach_bits(&self) -> u64;

    /// Returns the same table with other words.
    fn with_words(&self, words: Words) -> Self;

    /// Returns the words of the table.
    fn into_words(self) -> Words;

    /// Returns the words that hold the tags.
    fn words(&self) -> &Words;

    /// Returns the same words, to be shared with other threads or taken back from them.
    fn words_mut(&mut self) -> &mut Words;

    /// Empties all slots.
    fn clear(&mut self);
}

/// Returns whether one of the two places of a key holds it, in the fastest way for the table.
#[inline(always)]
pub(super) fn holds(table: &impl Table, homes: Homes) -> bool {
    if table.is_plain() { table.plainly_holds::<false>(homes, Portable) } else { table.holds(homes) }
}

/// Prefetches a place.
#[inline(always)]
pub(super) fn ask_for(table: &impl Table, place: Place) {
    ask_for_in(table, table.words(), place);
}

/// Prefetches a place in `words`.
#[inline(always)]
pub(super) fn ask_for_in(table: &impl Table, words: &impl Source, place: Place) {
    let at = place.0 * table.stride_bits();
    words.prefetch(at);
    if may_straddle(table) {
        words.prefetch(at + table.reach_bits());
    }
}

/// Prefetches both places of each key of a row.
pub(super) fn ask_for_row(table: &impl Table, row: &Row) {
    let (words, stride) = (table.words(), table.stride_bits());
    for (first, second) in row.first.iter().zip(&row.second) {
        words.prefetch(first * stride);
        words.prefetch(second * stride);
    }
    if may_straddle(table) {
        // Most of these were already requested; requesting them again costs less than a check.
        let reach = table.reach_bits();
        for (first, second) in row.first.iter().zip(&row.second) {
            words.prefetch(first * stride + reach);
            words.prefetch(second * stride + reach);
        }
    }
}

/// Returns whether the loads of a place may cross from one cache line into the next.
#[inline(always)]
fn may_straddle(table: &impl Table) -> bool {
    let stride = table.stride_bits();
    table.reach_bits() >= stride || !stride.is_power_of_two()
}
