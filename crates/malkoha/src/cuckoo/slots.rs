//! `Slots`: tags side by side in one row of bits, grouped into buckets or windows.
//!
//! ```text
//!   slots      0     1     2     3     4     5     6     7
//!           +-----+-----+-----+-----+-----+-----+-----+-----+--
//!   buckets |<---- place 0 ---->    |<---- place 1 ---->    |       a place begins every l slots
//!   windows |<- place 0 ->|
//!                 |<- place 1 ->|                                   a place begins at every slot
//! ```
//!
//! Buckets and windows differ only in where a place begins and in the stamps of the tags, so that one search
//! serves both: read the slots of a place as lanes of a word, compare them all at once with the tag that each
//! lane would hold. If a place is wider than a word it is searched in several groups of lanes.

use core::hint::select_unpredictable;

use crate::bits::words::{LINE_BYTES, mask};
use crate::bits::{Words, lanes};

use super::layout::CuckooLayout;
use super::place::Place;
use super::table::{Entry, Swap, Table};
use super::tag::{Anatomy, Side, Tag};

/// Bits of a cache line.
const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// A comparison of whole tags: every bit is relevant.
const ALL: u64 = u64::MAX;

/// The numbers that a search needs, worked out once.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    tag: Anatomy,
    /// Slots of a place.
    l: u32,
    /// Slots from one place to the next: l for buckets, 1 for windows.
    stride: u32,
    /// Lanes compared at once, at most l.
    lanes: u32,
    ones: u64,
    /// The bits of each lane that tell of its key.
    keys: u64,
    /// The stamps of the lanes, by side and group.
    stamps: [[u64; 8]; 2],
}

impl Search {
    /// The search in places of `l` slots, windows if the tags have ranks.
    const fn new(tag: Anatomy, l: u32, windowed: bool) -> Self {
        let fit = 64 / tag.bits;
        let lanes = if fit < l { fit } else { l };
        let mut stamps = [[0; 8]; 2];
        let mut slot = 0;
        while slot < l {
            let (group, lane) = (slot / lanes, slot % lanes);
            stamps[0][group as usize] |= tag.stamp(Side::First, slot as u64) << (lane * tag.bits);
            stamps[1][group as usize] |= tag.stamp(Side::Second, slot as u64) << (lane * tag.bits);
            slot += 1;
        }
        let stride = if windowed { 1 } else { l };
        let ones = lanes::ones(tag.bits, lanes);
        Self { tag, l, stride, lanes, ones, keys: ones.wrapping_mul(tag.key_mask()), stamps }
    }
}

/// Where a table finds its [`Search`]: in a field, or compiled in.
pub trait Shape: Clone + Send + Sync + core::fmt::Debug + 'static {
    /// Whether tags have values, which a search has to leave out.
    const VALUED: bool;
    /// Whether a layout has this shape.
    fn fits(layout: &CuckooLayout) -> bool;
    /// The shape for a layout that has it.
    fn new(layout: &CuckooLayout) -> Self;
    /// The numbers.
    fn search(&self) -> &Search;
}

/// Any shape, known at run time: of tags with values or of tags without.
#[derive(Clone, Debug)]
pub struct Dynamic<const VALUED: bool = false>(Search);

impl<const VALUED: bool> Shape for Dynamic<VALUED> {
    const VALUED: bool = VALUED;

    fn fits(layout: &CuckooLayout) -> bool {
        (layout.value_bits() > 0) == VALUED
    }

    fn new(layout: &CuckooLayout) -> Self {
        Self(Search::new(layout.tag, layout.slots_per_place, layout.kind.is_windowed()))
    }

    #[inline(always)]
    fn search(&self) -> &Search {
        &self.0
    }
}

/// A shape known at compile time: buckets or windows of `L` slots of `BITS` bits, with signed offsets and
/// without values.
#[derive(Clone, Debug)]
pub struct Fixed<const BITS: u32, const L: u32, const WINDOWED: bool>;

impl<const BITS: u32, const L: u32, const WINDOWED: bool> Fixed<BITS, L, WINDOWED> {
    const SEARCH: Search =
        Search::new(Anatomy::new(BITS, 2, if WINDOWED { L as u64 } else { 1 }), L, WINDOWED);
}

impl<const BITS: u32, const L: u32, const WINDOWED: bool> Shape for Fixed<BITS, L, WINDOWED> {
    const VALUED: bool = false;

    fn fits(layout: &CuckooLayout) -> bool {
        let windowed = layout.kind.is_windowed();
        layout.tag == Self::SEARCH.tag && layout.slots_per_place == L && windowed == WINDOWED
    }

    fn new(_: &CuckooLayout) -> Self {
        Self
    }

    #[inline(always)]
    fn search(&self) -> &Search {
        &Self::SEARCH
    }
}

/// Buckets or windows of slots.
#[derive(Clone, Debug)]
pub struct Slots<S> {
    words: Words,
    shape: S,
}

impl<S: Shape> Slots<S> {
    /// How tags are made. That they have no values is compiled in.
    #[inline(always)]
    fn anatomy(&self) -> Anatomy {
        let tag = self.shape.search().tag;
        if S::VALUED { tag } else { tag.without_values() }
    }

    /// The bit at which slot `slot` of a place begins.
    #[inline(always)]
    fn bit(&self, place: Place, slot: u32) -> u64 {
        let search = self.shape.search();
        (place.0 * u64::from(search.stride) + u64::from(slot)) * u64::from(search.tag.bits)
    }

    /// Compares the slots of a place, a group of lanes at a time, with the tags sought there, in those bits
    /// that are in `relevant`. Calls `answer` with the number of the group's first slot and marks at the
    /// slots that are equal, of which only the first is certain, until it has seen enough.
    #[inline(always)]
    fn compare(
        &self,
        place: Place,
        sought: impl Fn(usize) -> u64,
        relevant: u64,
        mut answer: impl FnMut(u32, u64) -> bool,
    ) {
        let search = self.shape.search();
        let mut slot = 0;
        let mut group = 0;
        while slot < search.l {
            let lanes = search.lanes.min(search.l - slot);
            let width = lanes * search.tag.bits;
            let used = mask(width);
            let at = self.bit(place, slot);
            let content = if width == 64 && search.stride == search.l && lanes == search.l {
                self.words.word(place.0)
            } else if search.tag.bits.is_multiple_of(8) {
                self.words.read_bytes(at, width)
            } else {
                self.words.read(at, width)
            };
            let ones = search.ones & used;
            let highs = ones << (search.tag.bits - 1);
            let difference = (content ^ (sought(group) & used)) & relevant;
            if answer(slot, lanes::zero_marks(difference, ones, highs)) {
                break;
            }
            slot += lanes;
            group += 1;
        }
    }

    /// The first slot of a place that holds exactly what is sought there.
    #[inline(always)]
    fn find(&self, place: Place, sought: impl Fn(usize) -> u64) -> Option<u32> {
        let mut found = None;
        self.compare(place, sought, ALL, |slot, marks| {
            if marks != 0 {
                found = Some(slot + lanes::first(marks, self.shape.search().tag.bits));
            }
            found.is_some()
        });
        found
    }

    /// Whether some slot of a place holds what is sought there, in those bits that are in `relevant`. All
    /// groups are compared before anything is decided.
    #[inline(always)]
    fn holds_in(&self, place: Place, sought: impl Fn(usize) -> u64, relevant: u64) -> bool {
        let mut all = 0;
        self.compare(place, sought, relevant, |_, marks| {
            all |= marks;
            false
        });
        all != 0
    }

    /// What the lanes of each group hold if they hold an entry.
    #[inline(always)]
    fn sought(&self, entry: Entry) -> impl Fn(usize) -> u64 {
        let search = self.shape.search();
        let base = search.tag.base(entry.fingerprint) + self.anatomy().raised(entry.value);
        let base = base.wrapping_mul(search.ones);
        let stamps = &search.stamps[entry.side as usize];
        move |group| base + stamps[group]
    }

    fn read(&self, place: Place, slot: u32) -> Tag {
        Tag(self.words.read(self.bit(place, slot), self.shape.search().tag.bits))
    }

    fn write(&mut self, place: Place, slot: u32, tag: Tag) {
        let bits = self.shape.search().tag.bits;
        let at = self.bit(place, slot);
        self.words.write(at, bits, tag.0);
    }

    fn tag(&self, entry: Entry, slot: u32) -> Tag {
        self.anatomy().tag(entry.fingerprint, entry.side, u64::from(slot), entry.value)
    }
}

impl<S: Shape> Table for Slots<S> {
    const VALUED: bool = S::VALUED;

    fn fits(layout: &CuckooLayout) -> bool {
        !layout.kind.is_sorted() && S::fits(layout)
    }

    fn new(layout: &CuckooLayout, words: Words) -> Self {
        Self { words, shape: S::new(layout) }
    }

    #[inline(always)]
    fn holds(&self, entry: Entry) -> bool {
        let relevant = if S::VALUED { self.shape.search().keys } else { ALL };
        self.holds_in(entry.place, self.sought(entry), relevant)
    }

    fn count(&self, entry: Entry) -> u32 {
        let search = self.shape.search();
        let same = |slot| self.anatomy().same_key(self.read(entry.place, slot), self.tag(entry, slot));
        (0..search.l).map(|slot| u32::from(same(slot))).sum()
    }

    #[inline(always)]
    fn slots_per_place(&self) -> u32 {
        self.shape.search().l
    }

    #[inline(always)]
    fn is_windowed(&self) -> bool {
        let search = self.shape.search();
        search.stride < search.l
    }

    #[inline(always)]
    fn put(&mut self, entry: Entry) -> bool {
        let Some(slot) = self.find(entry.place, |_| 0) else { return false };
        self.write(entry.place, slot, self.tag(entry, slot));
        true
    }

    #[inline(always)]
    fn put_in_either(&mut self, [first, second]: [Entry; 2]) -> bool {
        let search = self.shape.search();
        if search.lanes < search.l || !search.tag.bits.is_multiple_of(8) {
            return self.put(first) || self.put(second);
        }
        // Which of the two it is cannot be foreseen while a table fills up. Where a look at a place is cheap,
        // both are looked at and nothing branches.
        let room = |place| self.holds_in(place, |_| 0, ALL);
        let (here, there) = (room(first.place), room(second.place));
        let place = select_unpredictable(here, first.place, second.place);
        let side = select_unpredictable(here, first.side, second.side);
        here | there && self.put(Entry { place, side, ..first })
    }

    #[inline(always)]
    fn take(&mut self, entry: Entry) -> bool {
        let Some(slot) = self.find(entry.place, self.sought(entry)) else { return false };
        self.write(entry.place, slot, Tag::EMPTY);
        true
    }

    #[inline(always)]
    fn values(&self, entry: Entry, mut each: impl FnMut(u16)) {
        if !self.holds(entry) {
            return;
        }
        let search = self.shape.search();
        for slot in 0..search.l {
            let tag = self.read(entry.place, slot);
            if self.anatomy().same_key(tag, self.tag(entry, slot)) {
                each(self.anatomy().value(tag));
            }
        }
    }

    fn update(&mut self, entry: Entry, value: u16) -> bool {
        let Some(slot) = self.find(entry.place, self.sought(entry)) else { return false };
        self.write(entry.place, slot, self.tag(Entry { value, ..entry }, slot));
        true
    }

    #[inline(always)]
    fn resident(&self, place: Place, rank: u32) -> Entry {
        let search = self.shape.search();
        let tag = self.read(place, rank);
        let (fingerprint, side, own_rank) = self.anatomy().parts(tag);
        // A window that holds this slot may begin elsewhere; its tag says how far back. In a part of a table
        // it may begin before the part, at a negative number so to speak, which the part sets right.
        let begin = place.0.wrapping_add(u64::from(rank)).wrapping_sub(own_rank);
        let place = if search.stride == 1 { Place(begin) } else { place };
        Entry { place, fingerprint, side, value: self.anatomy().value(tag) }
    }

    fn entry_at(&self, slot: u64) -> Option<Entry> {
        let search = self.shape.search();
        let bits = search.tag.bits;
        let tag = Tag(self.words.read(slot * u64::from(bits), bits));
        if tag == Tag::EMPTY {
            return None;
        }
        let (fingerprint, side, rank) = self.anatomy().parts(tag);
        let place = if search.stride == 1 { slot.wrapping_sub(rank) } else { slot / u64::from(search.l) };
        Some(Entry { place: Place(place), fingerprint, side, value: self.anatomy().value(tag) })
    }

    #[inline(always)]
    fn swap(&mut self, entry: Entry, rank: u32) -> (Entry, Swap) {
        let victim = self.resident(entry.place, rank);
        let (old, new) = (self.read(entry.place, rank), self.tag(entry, rank));
        self.write(entry.place, rank, new);
        (victim, Swap { place: entry.place, rank, old, new })
    }

    fn undo(&mut self, swap: Swap) {
        debug_assert_eq!(self.read(swap.place, swap.rank), swap.new);
        self.write(swap.place, swap.rank, swap.old);
    }

    fn stride_bits(&self) -> u64 {
        let search = self.shape.search();
        u64::from(search.stride * search.tag.bits)
    }

    fn with_words(&self, words: Words) -> Self {
        Self { words, shape: self.shape.clone() }
    }

    fn into_words(self) -> Words {
        self.words
    }

    #[inline(always)]
    fn prefetch(&self, place: Place) {
        let search = self.shape.search();
        let (first, last) = (self.bit(place, 0), self.bit(place, search.l) - 1);
        self.words.prefetch(first);
        // Whole buckets fit a line if their width is a power of two; all else may reach into the next one. Windows
        // seldom do, and to ask for their line twice costs more than the branch.
        let width = search.l * search.tag.bits;
        let may_reach_on = search.stride == 1 || !width.is_power_of_two() || width > 512;
        if may_reach_on && (search.stride > 1 || first / LINE_BITS != last / LINE_BITS) {
            self.words.prefetch(last);
        }
    }

    fn words(&self) -> &Words {
        &self.words
    }

    fn clear(&mut self) {
        self.words.fill(0);
    }
}
