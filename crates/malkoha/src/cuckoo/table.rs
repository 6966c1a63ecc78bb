//! What a table of places must answer, whatever its layout in memory.

use crate::bits::Words;

use super::layout::CuckooLayout;
use super::place::Place;
use super::tag::{Fingerprint, Side, Tag};

/// A key as it lies in the table, or is about to: where, and with which fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) place: Place,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) side: Side,
    /// What is stored beside it; 0 in tables without values.
    pub(crate) value: u16,
}

/// One tag put in the stead of another, remembered so that it can be undone.
#[derive(Clone, Copy, Debug)]
pub struct Swap {
    pub(crate) place: Place,
    pub(crate) rank: u32,
    pub(crate) old: Tag,
    pub(crate) new: Tag,
}

/// A table of places: [`Slots`](super::slots::Slots) or [`SortedBuckets`](super::sorted::SortedBuckets).
pub trait Table: Clone + Send + Sync + core::fmt::Debug + 'static {
    /// Whether tags have values.
    const VALUED: bool;

    /// Whether a layout is one of this table.
    fn fits(layout: &CuckooLayout) -> bool;

    /// The table for a layout that fits, in words that are as many as the layout needs.
    fn new(layout: &CuckooLayout, words: Words) -> Self;

    /// Whether a place holds an entry, with any value.
    fn holds(&self, entry: Entry) -> bool;

    /// How many copies of an entry its place holds, with any values.
    fn count(&self, entry: Entry) -> u32;

    /// Slots of a place.
    fn slots_per_place(&self) -> u32;

    /// Whether places overlap, so that one who lives in a place may also fit elsewhere in it.
    fn is_windowed(&self) -> bool;

    /// Puts an entry into an empty slot of its place; `false` if there is none.
    fn put(&mut self, entry: Entry) -> bool;

    /// Puts a key into an empty slot of its first place, or else of its second; `false` if neither has one. A
    /// part of a table must have both.
    #[inline(always)]
    fn put_in_either(&mut self, [first, second]: [Entry; 2]) -> bool {
        self.put(first) || self.put(second)
    }

    /// Takes one copy of an entry, with its value, out of its place; `false` if there is none.
    fn take(&mut self, entry: Entry) -> bool;

    /// Calls `each` with the value of every copy of an entry that its place holds.
    fn values(&self, entry: Entry, each: impl FnMut(u16));

    /// Gives one copy of an entry, with its value, another value; `false` if there is none.
    fn update(&mut self, entry: Entry, value: u16) -> bool;

    /// What lies at `rank` of a place that is full.
    fn resident(&self, place: Place, rank: u32) -> Entry;

    /// What lies in a slot, counted from the first slot of the table; `None` if the slot is empty.
    fn entry_at(&self, slot: u64) -> Option<Entry>;

    /// Puts an entry in the stead of the tag at `rank` of its place, which is full. Returns the victim, as it
    /// lay, and how to undo this.
    fn swap(&mut self, entry: Entry, rank: u32) -> (Entry, Swap);

    /// Undoes the latest swap that has not been undone.
    fn undo(&mut self, swap: Swap);

    /// Whether the table has this place; a part of a table does not have all.
    #[inline(always)]
    fn covers(&self, _: Place) -> bool {
        true
    }

    /// The bits from one place to the next.
    fn stride_bits(&self) -> u64;

    /// Puts other words in the stead of its own.
    fn with_words(&self, words: Words) -> Self;

    /// Gives its words away.
    fn into_words(self) -> Words;

    /// Prepares to look at a place.
    fn prefetch(&self, place: Place);

    /// The words that hold the tags.
    fn words(&self) -> &Words;

    /// Empties all slots.
    fn clear(&mut self);
}
