//! What a table of places must answer, whatever its layout in memory.

use crate::bits::Words;
use crate::bits::cpu::{Portable, Vectors};
use crate::bits::words::ROW;

use super::layout::CuckooLayout;
use super::place::{Homes, Place};
use super::row::Row;
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

impl Homes {
    /// The key as it lies on one side with a value.
    #[inline(always)]
    pub(crate) fn with(self, side: Side, value: u16) -> Entry {
        let place = match side {
            Side::First => self.first,
            Side::Second => self.second,
        };
        Entry { place, fingerprint: self.fingerprint, side, value }
    }

    /// The key as it lies on either side with a value, the first side first.
    #[inline(always)]
    pub(crate) fn both(self, value: u16) -> [Entry; 2] {
        [self.with(Side::First, value), self.with(Side::Second, value)]
    }
}

/// One tag put in place of another, remembered so that it can be undone.
#[derive(Clone, Copy, Debug)]
pub struct Swap {
    pub(crate) place: Place,
    pub(crate) rank: u32,
    pub(crate) old: Tag,
    pub(crate) new: Tag,
}

/// A table of places: [`Slots`](super::slots::Slots) or [`SortedBuckets`](super::sorted::SortedBuckets).
///
/// What walks need has a parameter `SIMPLE`, which is true only for tables that [are](Self::is_simple): there nothing
/// is asked that has only one answer.
pub trait Table: Clone + Send + Sync + core::fmt::Debug + 'static {
    /// Whether a layout is one of this table.
    fn fits(layout: &CuckooLayout) -> bool;

    /// The table for a layout that fits, in words that are as many as the layout needs.
    fn new(layout: &CuckooLayout, words: Words) -> Self;

    /// Whether a place is one load, and tags have no values.
    fn is_plain(&self) -> bool;

    /// Whether, in addition, tags have fields of whole bits.
    fn is_simple(&self) -> bool;

    /// Whether one of its two places holds a key, with any value. No branch depends on the answer, which cannot
    /// be foreseen.
    fn holds(&self, homes: Homes) -> bool;

    /// Whether every place begins with a byte.
    fn has_whole_bytes(&self) -> bool;

    /// [`holds`](Self::holds) for tables that are [plain](Self::is_plain), with `BYTES` only for those whose places
    /// [begin with a byte](Self::has_whole_bytes): there nothing needs to be shifted.
    fn plainly_holds<const BYTES: bool>(&self, homes: Homes, vectors: impl Vectors) -> bool;

    /// [`holds`](Self::holds) for a row of keys: not 0 for those that are held.
    fn hold_row(&self, row: &Row) -> [u64; ROW];

    /// Slots of a place.
    fn slots_per_place(&self) -> u32;

    /// Whether places overlap, so that one who lives in a place may also fit elsewhere in it.
    fn is_windowed(&self) -> bool;

    /// How many copies of an entry its place holds, with any values.
    fn count(&self, entry: Entry) -> u32;

    /// What lies at `rank` of a place that is full.
    fn resident<const SIMPLE: bool>(&self, place: Place, rank: u32) -> Entry;

    /// Puts an entry into an empty slot of its place; `false` if there is none.
    fn put<const SIMPLE: bool>(&mut self, entry: Entry) -> bool;

    /// Puts an entry in place of the tag at `rank` of its place, which is full. Returns the victim, as it lay,
    /// and how to undo this.
    fn swap<const SIMPLE: bool>(&mut self, entry: Entry, rank: u32) -> (Entry, Swap);

    /// Undoes the latest swap that has not been undone.
    fn undo(&mut self, swap: Swap);

    /// Puts a key into an empty slot of its first place, or else of its second; `false` if neither has one.
    fn put_in_either(&mut self, homes: Homes, value: u16) -> bool;

    /// Takes one copy of a key, with its value, out of its first place, or else out of its second; `false` if
    /// neither has one.
    fn take_from_either(&mut self, homes: Homes, value: u16) -> bool;

    /// Calls `each` with the value of every copy of an entry that its place holds.
    fn values(&self, entry: Entry, each: impl FnMut(u16));

    /// Gives one copy of an entry, with its value, another value; `false` if there is none.
    fn update(&mut self, entry: Entry, value: u16) -> bool;

    /// What lies in a slot, counted from the first slot of the table; `None` if the slot is empty.
    fn entry_at(&self, slot: u64) -> Option<Entry>;

    /// The bits from one place to the next.
    fn stride_bits(&self) -> u64;

    /// The bits of a place.
    fn place_bits(&self) -> u32;

    /// A bit, counted from the first of a place, that lies in the last byte which a lookup loads there. That may be
    /// beyond the place: a load has 8 bytes.
    fn reach_bits(&self) -> u64;

    /// The same table in other words.
    fn with_words(&self, words: Words) -> Self;

    /// Gives its words away.
    fn into_words(self) -> Words;

    /// The words that hold the tags.
    fn words(&self) -> &Words;

    /// Empties all slots.
    fn clear(&mut self);
}

/// Whether one of its two places holds a key, by whichever way the table has for it.
#[inline(always)]
pub(super) fn holds(table: &impl Table, homes: Homes) -> bool {
    if table.is_plain() { table.plainly_holds::<false>(homes, Portable) } else { table.holds(homes) }
}

/// Asks for the memory of a place.
#[inline(always)]
pub(super) fn ask_for(table: &impl Table, place: Place) {
    let at = place.0 * table.stride_bits();
    table.words().prefetch(at);
    if may_straddle(table) {
        table.words().prefetch(at + table.reach_bits());
    }
}

/// Asks for the memory of both places of a row of keys.
pub(super) fn ask_for_row(table: &impl Table, row: &Row) {
    let (words, stride) = (table.words(), table.stride_bits());
    for (first, second) in row.first.iter().zip(&row.second) {
        words.prefetch(first * stride);
        words.prefetch(second * stride);
    }
    if may_straddle(table) {
        // Most of these are on their way already; to ask again costs less than to find out.
        let reach = table.reach_bits();
        for (first, second) in row.first.iter().zip(&row.second) {
            words.prefetch(first * stride + reach);
            words.prefetch(second * stride + reach);
        }
    }
}

/// Whether what is loaded of a place may reach from one cache line into the next.
#[inline(always)]
fn may_straddle(table: &impl Table) -> bool {
    let stride = table.stride_bits();
    table.reach_bits() >= stride || !stride.is_power_of_two()
}
