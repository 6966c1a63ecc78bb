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
//! Buckets and windows differ only in where a place begins and in the stamps of the tags, so one search serves both,
//! with the widths in registers:
//!
//! ```text
//!   load       the 8 bytes from the byte where the place begins, shifted: the slots are lanes of a word, and
//!              what lies above them does not matter
//!   compare    with the tags that the key would have in each lane: fingerprint x steps + stamps
//!   answer     a lane that is equal leaves a mark (`bits/lanes.rs`)
//! ```
//!
//! A place that does not fit into one load is searched in several groups of lanes, each with its own load.

use core::hint::select_unpredictable;

use crate::bits::cpu::Vectors;
use crate::bits::lanes::Lanes;
use crate::bits::pair::Pair;
use crate::bits::source::Source;
use crate::bits::words::{LAST_BYTE, ROW, SURE_BITS, mask};
use crate::bits::{Words, lanes};

use super::groups::{Empty, Group, MOST_SLOTS};
use super::layout::CuckooLayout;
use super::place::{Homes, Place};
use super::row::Row;
use super::table::{Entry, Swap, Table};
use super::tag::{Anatomy, Side, Tag};

/// Which of its two places a key goes to, if both have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    First,
    Emptier,
}

/// Buckets or windows of slots.
#[derive(Clone, Debug)]
pub struct Slots {
    words: Words,
    /// Bits from one place to the next.
    stride: u64,
    /// The same in bytes if it is a whole number, else 0.
    stride_bytes: u64,
    /// The bits of every lane that belong to the key, not to the value.
    keys: u64,
    /// The number of groups.
    count: u32,
    /// Bits from one group to the next.
    group_bits: u32,
    groups: [Group; MOST_SLOTS],
    tag: Anatomy,
    /// The mask of a tag.
    tag_mask: u64,
    /// Slots per place.
    l: u32,
    /// A place fits into one load.
    one_load: bool,
    /// A place fits into one load, and tags have no values.
    plain: bool,
    /// In addition, tags have fields of whole bits.
    simple: bool,
    choice: Choice,
}

impl Slots {
    /// Returns the same table, with keys going to the emptier of their two places. This saves walks in buckets that are
    /// filled in order. Only for tables that nobody keeps: equal histories give equal tables, in every version.
    pub(super) fn balanced(self) -> Self {
        debug_assert!(
            !self.is_windowed(),
            "windows share slots with others, and the emptier one is no better"
        );
        Self { choice: Choice::Emptier, ..self }
    }

    /// Returns the bit where a place begins.
    #[inline(always)]
    fn bit(&self, place: Place) -> u64 {
        place.0 * self.stride
    }

    /// Returns the bit where a slot of a place begins.
    #[inline(always)]
    fn slot_bit(&self, place: Place, rank: u32) -> u64 {
        self.bit(place) + u64::from(rank * self.tag.bits)
    }

    /// Returns the groups of a place: the first bit of each, counted from that of the place, and its lanes.
    #[inline(always)]
    fn groups(&self) -> impl Iterator<Item = (u64, &Group)> {
        self.groups
            .iter()
            .enumerate()
            .map(|(i, group)| (i as u64 * u64::from(self.group_bits), group))
            .take(self.count as usize)
    }

    /// Returns the lanes of the group that begins at bit `at`. If tags are wider than `SURE_BITS`, it has one lane.
    #[inline(always)]
    fn lanes(&self, at: u64) -> u64 {
        self.lanes_in(&self.words, at)
    }

    #[inline(always)]
    fn lanes_in(&self, words: &impl Source, at: u64) -> u64 {
        if self.tag.bits <= SURE_BITS { words.load(at) } else { words.read(at, self.tag.bits) }
    }

    /// Returns the lanes of groups that begin at these bits.
    #[inline(always)]
    fn load_row(&self, at: &[u64; ROW]) -> [u64; ROW] {
        if self.tag.bits <= SURE_BITS { self.words.load_row(at) } else { at.map(|at| self.lanes(at)) }
    }

    /// Returns all bits of the lanes of a group that are zero.
    #[inline(always)]
    fn zero_lanes(&self, group: &Group, lanes: u64) -> u64 {
        let Lanes { ones, highs } = group.lanes;
        let highest = highs ^ lanes::nonzero_marks(lanes, ones, highs);
        // From the lowest bit of each up to below the lowest of the lane above it.
        (highest << 1).wrapping_sub(highest >> (self.tag.bits - 1))
    }

    /// Returns the first lane of a place that `differ` makes zero: the bit of its group, the group, and the lowest
    /// bit of the lane in it.
    #[inline(always)]
    fn find(&self, place: Place, differ: impl Fn(u64, &Group) -> u64) -> Option<(u64, Group, u32)> {
        for (from, group) in self.groups() {
            let at = self.bit(place) + from;
            let marks = group.marks(differ(self.lanes(at), group));
            if marks != 0 {
                return Some((at, *group, self.lane(marks)));
            }
        }
        None
    }

    /// Finds the first copy of an entry with its value.
    #[inline(always)]
    fn find_copy(&self, entry: Entry) -> Option<(u64, Group, u32)> {
        self.find(entry.place, |lanes, group| lanes ^ self.sought(group, entry))
    }

    /// Returns the lowest bit of the first marked lane.
    #[inline(always)]
    fn lane(&self, marks: u64) -> u32 {
        lanes::first(marks, self.tag.bits)
    }

    /// Returns what the lanes of a group hold if they hold an entry.
    #[inline(always)]
    fn sought(&self, group: &Group, entry: Entry) -> u64 {
        let value = self.tag.raised(entry.value).wrapping_mul(group.lanes.ones);
        group.sought(entry.fingerprint.0, entry.side).wrapping_add(value)
    }

    /// Writes one lane of those that `lanes` reads at a bit.
    #[inline(always)]
    fn write_lane(&mut self, at: u64, lane: u32, lanes: u64) {
        let mask = self.tag_mask << lane;
        if self.tag.bits <= SURE_BITS {
            self.words.store(at, mask, lanes & mask);
        } else {
            self.words.write(at, self.tag.bits, lanes & mask);
        }
    }

    /// Returns what the lanes of a place of one load hold if they hold a key with a value, by side.
    #[inline(always)]
    fn sought_by_side(&self, homes: Homes, value: u16) -> [u64; 2] {
        let group = &self.groups[0];
        let value = self.tag.raised(value).wrapping_mul(group.lanes.ones);
        let base = group.base(homes.fingerprint.0).wrapping_add(value);
        group.stamps.map(|stamps| base.wrapping_add(stamps))
    }

    /// Does [`put_in_either`](Table::put_in_either) for places of several groups.
    #[inline(never)]
    fn put_in_either_group(&mut self, homes: Homes, value: u16) -> bool {
        let [first, second] = homes.both(value);
        // Which of the two it is cannot be predicted, so the choice is made without a branch.
        let (one, other) = (self.first_empty(first.place), self.first_empty(second.place));
        let here = self.is_first(one.marks != 0, one.distance(), other.distance());
        let empty = Empty {
            marks: select_unpredictable(here, one.marks, other.marks),
            at: select_unpredictable(here, one.at, other.at),
            group: select_unpredictable(here, one.group, other.group),
        };
        let side = if here { Side::First } else { Side::Second };
        self.put_at(empty, Entry { side, ..first })
    }

    /// Returns whether a key goes to its first place rather than to its second, given whether the first has room, and
    /// how far the first empty slot of each is from its beginning: the nearer, the emptier.
    #[inline(always)]
    fn is_first(&self, has_room: bool, first: u32, second: u32) -> bool {
        if self.choice == Choice::Emptier { first <= second } else { has_room }
    }

    /// Finds the first empty lane of a place of several groups. It looks at all groups, because which of them is the
    /// first with an empty lane is unpredictable.
    #[inline(always)]
    fn first_empty(&self, place: Place) -> Empty {
        let mut empty = Empty { marks: 0, at: 0, group: 0 };
        if self.group_bits == self.tag.bits && self.tag.bits <= SURE_BITS {
            // Groups of one lane, whose highest bit is its mark.
            let mark = 1 << (self.tag.bits - 1);
            let mut at = self.bit(place) + u64::from(self.l * self.tag.bits);
            for rank in (0..self.l as usize).rev() {
                at -= u64::from(self.tag.bits);
                let is_empty = self.words.load(at) & self.tag_mask == 0;
                empty.at = select_unpredictable(is_empty, at, empty.at);
                empty.group = select_unpredictable(is_empty, rank, empty.group);
                empty.marks = select_unpredictable(is_empty, mark, empty.marks);
            }
            return empty;
        }
        let mut at = self.bit(place) + u64::from(self.count * self.group_bits);
        for group in (0..self.count as usize).rev() {
            at -= u64::from(self.group_bits);
            let marks = self.groups[group].marks(self.lanes(at));
            empty.at = select_unpredictable(marks != 0, at, empty.at);
            empty.group = select_unpredictable(marks != 0, group, empty.group);
            empty.marks = select_unpredictable(marks != 0, marks, empty.marks);
        }
        empty
    }

    /// Puts an entry into an empty lane, whatever its `place` is; returns `false` if there is none.
    #[inline(always)]
    fn put_at(&mut self, empty: Empty, entry: Entry) -> bool {
        if empty.marks == 0 {
            return false;
        }
        let sought = self.sought(&self.groups[empty.group], entry);
        self.write_lane(empty.at, self.lane(empty.marks), sought);
        true
    }

    /// Does [`take_from_either`](Table::take_from_either) for places of several groups.
    #[inline(never)]
    fn take_from_either_group(&mut self, homes: Homes, value: u16) -> bool {
        homes.both(value).into_iter().any(|entry| self.take(entry))
    }

    /// Removes one copy of an entry, with its value, from its place.
    fn take(&mut self, entry: Entry) -> bool {
        let Some((at, _, lane)) = self.find_copy(entry) else { return false };
        self.write_lane(at, lane, 0);
        true
    }

    /// Puts an entry into an empty slot of its place, in one of several groups.
    #[inline(always)]
    fn put_in_groups(&mut self, entry: Entry) -> bool {
        self.put_at(self.first_empty(entry.place), entry)
    }

    /// Finds the first lane that `differ` makes zero in one of two places, and writes `sought` to it, or empties it;
    /// returns `false` if there is none. Only for places of one load. Which place it is cannot be predicted, so that
    /// choice is made without a branch.
    #[inline(always)]
    fn write_in_either<const EMPTY: bool>(
        &mut self,
        homes: Homes,
        sought: [u64; 2],
        differ: impl Fn(u64, u64) -> u64,
    ) -> bool {
        let group = &self.groups[0];
        let bits = [self.bit(homes.first), self.bit(homes.second)];
        let (words, shifts) = self.words.load_two(bits[0], bits[1]);
        let marks = |i: usize| group.marks(differ(words[i] >> shifts[i], sought[i]));
        let (first, second) = (marks(0), marks(1));
        let here = if EMPTY {
            first != 0
        } else {
            self.is_first(first != 0, first.trailing_zeros(), second.trailing_zeros())
        };
        let marks = select_unpredictable(here, first, second);
        if marks == 0 {
            return false;
        }
        let choose = |pair: [u64; 2]| select_unpredictable(here, pair[0], pair[1]);
        let shift = choose(shifts);
        let mask = (self.tag_mask << self.lane(marks)) << shift;
        let word = if EMPTY { choose(words) & !mask } else { choose(words) | choose(sought) << shift & mask };
        self.words.store_back(choose(bits), word);
        true
    }

    /// Returns whether a lane in the groups of the two places of a key holds it.
    fn hold_in_groups(&self, words: &impl Source, homes: Homes) -> bool {
        let mut marks = 0;
        for (from, group) in self.groups() {
            for (place, side) in [(homes.first, Side::First), (homes.second, Side::Second)] {
                let lanes = self.lanes_in(words, self.bit(place) + from);
                marks |= group.marks((lanes ^ group.sought(homes.fingerprint.0, side)) & self.keys);
            }
        }
        marks != 0
    }

    /// Returns the tags of a bucket of four.
    #[inline(always)]
    pub(super) fn bucket(&self, place: Place) -> [u64; 4] {
        if self.one_load {
            let lanes = self.words.load(self.bit(place));
            return [0, 1, 2, 3].map(|rank| lanes >> (rank * self.tag.bits) & self.tag_mask);
        }
        [0, 1, 2, 3].map(|rank| self.read(place, rank).0)
    }

    /// Writes the tags of a bucket of four.
    #[inline(always)]
    pub(super) fn set_bucket(&mut self, place: Place, tags: [u64; 4]) {
        if self.one_load {
            let lanes = tags.into_iter().rev().fold(0, |lanes, tag| lanes << self.tag.bits | tag);
            return self.words.store(self.bit(place), mask(4 * self.tag.bits), lanes);
        }
        for (rank, tag) in (0..).zip(tags) {
            self.write_lane(self.slot_bit(place, rank), 0, tag);
        }
    }

    #[inline(always)]
    fn read(&self, place: Place, rank: u32) -> Tag {
        Tag(self.lanes(self.slot_bit(place, rank)) & self.tag_mask)
    }

    #[inline(always)]
    fn tag(&self, entry: Entry, rank: u32) -> Tag {
        self.tag.tag(entry.fingerprint, entry.side, u64::from(rank), entry.value)
    }

    /// Returns the entry of a tag at a rank of a place.
    fn entry(&self, place: Place, rank: u32, tag: Tag) -> Entry {
        let (fingerprint, side, own_rank) = self.tag.parts(tag);
        Entry { place: self.begin(place, rank, own_rank), fingerprint, side, value: self.tag.value(tag) }
    }

    /// Returns the own place of a tag that lies at a rank of a place. Its window may begin elsewhere; the tag stores
    /// how far back. In a part of a table the window may begin before the part: the number wraps around, and the part
    /// corrects it.
    #[inline(always)]
    fn begin(&self, place: Place, rank: u32, own_rank: u64) -> Place {
        let begin = place.0.wrapping_add(u64::from(rank)).wrapping_sub(own_rank);
        if self.is_windowed() { Place(begin) } else { place }
    }
}

impl Table for Slots {
    type Loose = Self;

    fn loose_layout(_: &CuckooLayout) -> Option<CuckooLayout> {
        None
    }

    fn new_loose(layout: &CuckooLayout, words: Words) -> Self {
        Self::new(layout, words)
    }

    fn loosen(&self, _: &mut Self, _: u64) {
        unreachable!("slots are loose")
    }

    fn tighten(&mut self, _: &Self, _: u64) {
        unreachable!("slots are loose")
    }

    #[inline(always)]
    fn slots_per_place(&self) -> u32 {
        self.l
    }

    #[inline(always)]
    fn is_windowed(&self) -> bool {
        self.stride < u64::from(self.place_bits())
    }

    fn count(&self, entry: Entry) -> u32 {
        if self.one_load {
            let group = &self.groups[0];
            let lanes = self.words.load(self.bit(entry.place)) ^ self.sought(group, entry);
            if group.marks(lanes & self.keys) == 0 {
                return 0;
            }
        }
        let same = |rank| self.tag.same_key(self.read(entry.place, rank), self.tag(entry, rank));
        (0..self.l).map(|rank| u32::from(same(rank))).sum()
    }

    #[inline(always)]
    fn resident<const SIMPLE: bool>(&self, place: Place, rank: u32) -> Entry {
        if !SIMPLE {
            return self.entry(place, rank, self.read(place, rank));
        }
        let tag = Tag(self.words.load(self.slot_bit(place, rank)) & self.tag_mask);
        let (fingerprint, side, own_rank) = self.tag.fields(tag);
        Entry { place: self.begin(place, rank, own_rank), fingerprint, side, value: 0 }
    }

    #[inline(always)]
    fn put<const SIMPLE: bool>(&mut self, entry: Entry) -> bool {
        if !SIMPLE {
            return self.put_in_groups(entry);
        }
        let group = &self.groups[0];
        let at = self.bit(entry.place);
        let (word, shift) = self.words.load_one(at);
        let marks = group.marks(word >> shift);
        if marks == 0 {
            return false;
        }
        let sought = group.sought(entry.fingerprint.0, entry.side);
        self.words.store_back(at, word | (sought & self.tag_mask << self.lane(marks)) << shift);
        true
    }

    #[inline(always)]
    fn swap<const SIMPLE: bool>(&mut self, entry: Entry, rank: u32) -> (Entry, Swap) {
        let victim = self.resident::<SIMPLE>(entry.place, rank);
        let (at, lane) = (self.slot_bit(entry.place, rank), rank * self.tag.bits);
        let (old, new) = if SIMPLE {
            let new = self.groups[0].sought(entry.fingerprint.0, entry.side) >> lane & self.tag_mask;
            (self.words.load(at) & self.tag_mask, new)
        } else {
            (self.read(entry.place, rank).0, self.tag(entry, rank).0)
        };
        if SIMPLE {
            self.words.store(at, self.tag_mask, new);
        } else {
            self.write_lane(at, 0, new);
        }
        (victim, Swap { place: entry.place, rank, old: Tag(old), new: Tag(new) })
    }

    fn undo(&mut self, swap: Swap) {
        debug_assert_eq!(self.read(swap.place, swap.rank), swap.new);
        self.write_lane(self.slot_bit(swap.place, swap.rank), 0, swap.old.0);
    }

    fn fits(layout: &CuckooLayout) -> bool {
        !layout.kind.is_sorted()
    }

    fn new(layout: &CuckooLayout, words: Words) -> Self {
        let (tag, l) = (layout.tag, layout.slots_per_place);
        let stride = if layout.kind.is_windowed() { tag.bits } else { l * tag.bits };
        // The largest shift of a load: where every place begins on a byte it is 0, and one load has 64 bits of a
        // place.
        let most_shift = 8 - (1 << stride.trailing_zeros().min(3));
        let fit = ((u64::BITS - most_shift) / tag.bits).clamp(1, l);
        let count = l.div_ceil(fit);
        // Every group has the same number of lanes, except perhaps the last.
        let lanes_per_group = if count == 1 { l } else { (SURE_BITS / tag.bits).clamp(1, l) };
        let count = l.div_ceil(lanes_per_group);
        let one_load = count == 1 && tag.bits <= SURE_BITS;
        let mut groups = [Group::default(); MOST_SLOTS];
        for (i, group) in (0..count).zip(&mut groups) {
            let first = i * lanes_per_group;
            let lanes = lanes_per_group.min(l - first);
            let ones = lanes::ones(tag.bits, lanes);
            group.lanes = Lanes { ones, highs: ones << (tag.bits - 1) };
            group.steps = ones.wrapping_mul(tag.step());
            for (side, stamps) in [Side::First, Side::Second].into_iter().zip(&mut group.stamps) {
                let stamp = |lane| (1 + tag.stamp(side, u64::from(first + lane))) << (lane * tag.bits);
                *stamps = (0..lanes).map(stamp).sum();
            }
        }
        Self {
            words,
            stride: u64::from(stride),
            stride_bytes: if stride.is_multiple_of(8) { u64::from(stride / 8) } else { 0 },
            keys: lanes::ones(tag.bits, lanes_per_group).wrapping_mul(tag.key_mask()),
            count,
            group_bits: lanes_per_group * tag.bits,
            groups,
            tag,
            tag_mask: mask(tag.bits),
            l,
            one_load,
            plain: one_load && tag.value_bits == 0,
            simple: one_load && tag.value_bits == 0 && tag.has_fields(),
            choice: Choice::First,
        }
    }

    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.plain
    }

    #[inline(always)]
    fn is_simple(&self) -> bool {
        self.simple
    }

    #[inline(always)]
    fn holds_in(&self, words: &impl Source, homes: Homes) -> bool {
        self.hold_in_groups(words, homes)
    }

    fn has_whole_bytes(&self) -> bool {
        self.stride_bytes > 0
    }

    #[inline(always)]
    fn plainly_holds_in<const BYTES: bool>(
        &self,
        words: &impl Source,
        homes: Homes,
        vectors: impl Vectors,
    ) -> bool {
        let group = &self.groups[0];
        let content = if BYTES {
            let byte = |place: Place| place.0 * self.stride_bytes;
            words.load_pair_of_bytes(byte(homes.first), byte(homes.second), vectors)
        } else {
            words.load_pair(self.bit(homes.first), self.bit(homes.second), vectors)
        };
        let sought = Pair::both(group.base(homes.fingerprint.0)).plus(Pair::new(group.stamps));
        vectors.some_lane_is_zero(content.xor(sought), group.lanes)
    }

    #[inline(always)]
    fn hold_row(&self, row: &Row) -> [u64; ROW] {
        let mut marks = [0; ROW];
        if self.tag.bits > SURE_BITS {
            for (i, marks) in marks.iter_mut().enumerate() {
                *marks = u64::from(self.hold_in_groups(&self.words, row.get(i)));
            }
            return marks;
        }
        for (from, &group) in self.groups() {
            for (places, side) in [(&row.first, Side::First), (&row.second, Side::Second)] {
                let lanes = self.words.load_row(&places.map(|place| place * self.stride + from));
                for i in 0..ROW {
                    let differ = (lanes[i] ^ group.sought(row.fingerprint[i], side)) & self.keys;
                    marks[i] |= group.marks(differ);
                }
            }
        }
        marks
    }

    #[inline(always)]
    fn put_in_either(&mut self, homes: Homes, value: u16) -> bool {
        if !self.one_load {
            return self.put_in_either_group(homes, value);
        }
        let sought = self.sought_by_side(homes, value);
        self.write_in_either::<false>(homes, sought, |content, _| content)
    }

    #[inline(always)]
    fn take_from_either(&mut self, homes: Homes, value: u16) -> bool {
        if !self.one_load {
            return self.take_from_either_group(homes, value);
        }
        let sought = self.sought_by_side(homes, value);
        self.write_in_either::<true>(homes, sought, |content, sought| content ^ sought)
    }

    fn values(&self, entry: Entry, mut each: impl FnMut(u16)) {
        for rank in 0..self.l {
            let tag = self.read(entry.place, rank);
            if self.tag.same_key(tag, self.tag(entry, rank)) {
                each(self.tag.value(tag));
            }
        }
    }

    #[inline(always)]
    fn unite_row(&self, row: &Row) -> [u16; ROW] {
        // All lanes that hold the key, those of all groups on top of one another.
        let mut copies = [0; ROW];
        for (from, &group) in self.groups() {
            for (places, side) in [(&row.first, Side::First), (&row.second, Side::Second)] {
                let lanes = self.load_row(&places.map(|place| place * self.stride + from));
                for i in 0..ROW {
                    let differ = (lanes[i] ^ group.sought(row.fingerprint[i], side)) & self.keys;
                    copies[i] |= lanes[i] & self.zero_lanes(&group, differ);
                }
            }
        }
        let mut unions = [0; ROW];
        for lane in 0..self.group_bits / self.tag.bits {
            for (union, copies) in unions.iter_mut().zip(&copies) {
                *union |= self.tag.value(Tag(copies >> (lane * self.tag.bits) & self.tag_mask));
            }
        }
        unions
    }

    fn update(&mut self, entry: Entry, value: u16) -> bool {
        let Some((at, group, lane)) = self.find_copy(entry) else { return false };
        self.write_lane(at, lane, self.sought(&group, Entry { value, ..entry }));
        true
    }

    fn entry_at(&self, slot: u64) -> Option<Entry> {
        let bits = self.tag.bits;
        let tag = Tag(self.words.read(slot * u64::from(bits), bits));
        let place = if self.is_windowed() { slot } else { slot / u64::from(self.l) };
        (tag != Tag::EMPTY).then(|| self.entry(Place(place), 0, tag))
    }

    #[inline(always)]
    fn stride_bits(&self) -> u64 {
        self.stride
    }

    #[inline(always)]
    fn place_bits(&self) -> u32 {
        self.l * self.tag.bits
    }

    #[inline(always)]
    fn reach_bits(&self) -> u64 {
        u64::from((self.count - 1) * self.group_bits + LAST_BYTE)
    }

    fn with_words(&self, words: Words) -> Self {
        Self { words, ..*self }
    }

    fn into_words(self) -> Words {
        self.words
    }

    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    fn clear(&mut self) {
        self.words.clear();
    }
}
