//! `SortedBuckets`: buckets of four tags, stored in ascending order in four bits less.
//!
//! The order of the tags in a bucket carries no information, so it need not be stored. The highest four bits of the
//! sorted tags are an ascending quadruple of numbers below 16; there are 3876 of them, so the number of a quadruple
//! fits in 12 bits instead of 16:
//!
//! ```text
//!   +-----------------------+----------+----------+----------+----------+
//!   | number of a quadruple | rest 0   | rest 1   | rest 2   | rest 3   |
//!   +-----------------------+----------+----------+----------+----------+
//!     12 bits                 bits - 4 each
//! ```
//!
//! A quadruple (a <= b <= c <= d) has the number C(a,1) + C(b+1,2) + C(c+2,3) + C(d+3,4): the quadruples counted in
//! the order of d, then c, then b, then a. Empty slots are zero tags, so they come first. A set of four tags has
//! exactly one representation, so inserting a tag and removing it again restores every bit.
//!
//! Values are the highest bits of the tags, so tags are sorted by value first: a bucket takes four bits less with
//! values as well as without.
//!
//! A search compares lanes as in `slots.rs`, twice: the rests as they lie, and the quadruple, which a table
//! spreads into lanes of the same width (`quadruples.rs`).

use crate::bits::cpu::Vectors;
use crate::bits::lanes::Lanes;
use crate::bits::pair::Pair;
use crate::bits::source::Source;
use crate::bits::words::{LAST_BYTE, ROW, SURE_BITS, mask};
use crate::bits::{Words, lanes};
use crate::kind::Kind;

use super::layout::CuckooLayout;
use super::place::{Homes, Place};
use super::quadruples::{MOST_LANE, NUMBER_BITS, NUMBERS, decode, encode, spread_into};
use super::row::Row;
use super::slots::Slots;
use super::table::{Entry, Swap, Table};
use super::tag::{Anatomy, Fingerprint, Side, Tag};

/// How a search reads the lanes of a bucket.
#[derive(Clone, Copy, Debug)]
enum Search {
    /// Number and rests in one load, four lanes in a word, and quadruples spread into the lanes.
    Word,
    /// The same with rests of less than four bits, which are spread too.
    Narrow,
    /// Number and rests in separate loads, with two lanes in a word or one.
    Groups,
    /// One tag after the other.
    Tags,
}

/// Buckets of four sorted tags.
#[derive(Clone, Debug)]
pub struct SortedBuckets {
    words: Words,
    /// Bits of a bucket.
    width: u64,
    /// The same in bytes if it is a whole number, else 0.
    width_bytes: u64,
    search: Search,
    /// Lanes of a word.
    group: u32,
    /// The quadruples by number, in lanes; only for searches that have four of them in a word.
    quadruples: &'static [u64; NUMBERS],
    lanes: Lanes,
    /// Bits of a tag that are stored as they are, and their mask.
    rest: u32,
    rest_mask: u64,
    /// The bits that belong to the key, not to the value: of the highest four, and of the rest, in every lane.
    keys: Sought,
    /// What the second side adds to a tag, and what each side adds to the upper bits in plain tables.
    second: Sought,
    second_uppers: [u64; 2],
    in_vectors: InVectors,
    tag: Anatomy,
    /// The search is by words, and tags have no values.
    plain: bool,
}

/// Numbers of a table of four lanes in a word, in the form that vectors need.
#[derive(Clone, Copy, Debug)]
struct InVectors {
    /// Bits of one rest, and of two.
    rest: u64,
    two_rests: u64,
    /// The mask of a rest, twice.
    rest_mask: [u64; 2],
    /// The lowest bits of the first two lanes, twice.
    two_ones: [u64; 2],
}

/// A tag in every lane, in two words: its highest four bits, and the rest.
#[derive(Clone, Copy, Debug)]
struct Sought {
    upper: u64,
    rest: u64,
}

impl Sought {
    #[inline(always)]
    const fn new(tag: u64, rest: u32, ones: u64) -> Self {
        let (upper, rest) = (tag >> rest, tag & !(u64::MAX << rest));
        Self { upper: upper.wrapping_mul(ones), rest: rest.wrapping_mul(ones) }
    }
}

/// Spreads four rests of less than four bits into lanes of four bits.
#[inline(always)]
const fn widen(rests: u64, rest: u32) -> u64 {
    let (low, more) = ((1 << rest) - 1, 4 - rest);
    let second = low << rest;
    let (third, fourth) = (second << rest, second << (2 * rest));
    rests & low | (rests & second) << more | (rests & third) << (2 * more) | (rests & fourth) << (3 * more)
}

impl SortedBuckets {
    /// Returns the number of bits that four tags of `tag_bits` bits take.
    pub(crate) const fn bucket_bits(tag_bits: u32) -> u32 {
        NUMBER_BITS + 4 * (tag_bits - 4)
    }

    #[inline(always)]
    fn bit(&self, place: Place) -> u64 {
        place.0 * self.width
    }

    /// Returns the tag of a key in every lane, on one side and with value 0.
    #[inline(always)]
    fn sought(&self, fingerprint: u64, side: Side) -> Sought {
        // Buckets have no ranks: on the first side the tag is the fingerprint, on the second one bit is added.
        let (upper, rest) = (fingerprint >> self.rest, fingerprint & self.rest_mask);
        let ones = self.lanes.ones;
        let first = Sought { upper: upper.wrapping_mul(ones), rest: rest.wrapping_mul(ones) };
        match side {
            Side::First => first,
            Side::Second => {
                Sought { upper: first.upper | self.second.upper, rest: first.rest | self.second.rest }
            }
        }
    }

    /// Returns [`sought`](Self::sought) on the first side, upper bits and rest, each twice. It uses vectors, because
    /// integer resources are what a lookup runs out of first. A vector product always has room for two lanes; a shift
    /// turns them into four.
    #[inline(always)]
    fn sought_pair(&self, fingerprint: u64) -> (Pair, Pair) {
        let InVectors { rest, two_rests, rest_mask, two_ones } = self.in_vectors;
        let tag = Pair::both(fingerprint);
        let (upper, rest) = (tag.shifted_down_by(rest), tag.and(Pair::new(rest_mask)));
        let in_lanes = |number: Pair| {
            let two = number.times(Pair::new(two_ones));
            two.or(two.shifted_up_by(two_rests))
        };
        (in_lanes(upper), in_lanes(rest))
    }

    /// Marks a lane whose upper bits and rest are both those of a key; returns 0 if there is none.
    #[inline(always)]
    fn marks(&self, uppers: u64, rests: u64, sought: Sought) -> u64 {
        let differ = (uppers ^ sought.upper) & self.keys.upper | (rests ^ sought.rest) & self.keys.rest;
        lanes::zero_marks(differ, self.lanes.ones, self.lanes.highs)
    }

    /// Returns the upper bits of a bucket in lanes, given one load of it.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "12 bits")]
    fn upper(&self, bucket: u64) -> u64 {
        self.quadruples[bucket as usize % NUMBERS]
    }

    /// Returns a number that is not 0 if a bucket, given as one load, has a key.
    #[inline(always)]
    fn marks_of_word(&self, bucket: u64, sought: Sought) -> u64 {
        self.marks(self.upper(bucket), bucket >> NUMBER_BITS, sought)
    }

    /// Returns the groups of rests if they have separate loads: the first bit of each, counted from that of the
    /// bucket, and the shift of its upper bits in a quadruple.
    #[inline(always)]
    fn groups(&self) -> impl Iterator<Item = (u64, u32)> {
        (0..4 / self.group).map(|i| {
            let first = i * self.group;
            (u64::from(NUMBER_BITS + first * self.rest), 4 * first)
        })
    }

    /// Returns the upper bits of a group as lanes; `fields` has four bits for each, the first lowest.
    #[inline(always)]
    fn group_uppers(&self, fields: u64) -> u64 {
        // With one lane, what lies above it does not matter.
        fields & 0xF | (fields & 0xF0) << (self.rest - 4)
    }

    /// Returns a number that is not 0 if a bucket has a key, by the search of this table.
    #[inline(always)]
    fn marks_in(&self, words: &impl Source, place: Place, fingerprint: u64, side: Side) -> u64 {
        let at = self.bit(place);
        let sought = self.sought(fingerprint, side);
        match self.search {
            Search::Word => self.marks_of_word(words.load(at), sought),
            Search::Narrow => {
                let bucket = words.load(at);
                self.marks(self.upper(bucket), widen(bucket >> NUMBER_BITS, self.rest), sought)
            }
            Search::Groups => {
                let upper = decode(words.load(at));
                self.groups().fold(0, |marks, (from, shift)| {
                    let rests = words.load(at + from);
                    marks | self.marks(self.group_uppers(upper >> shift), rests, sought)
                })
            }
            Search::Tags => {
                let tag = self.tag.tag(Fingerprint(fingerprint), side, 0, 0);
                let same = |held: u64| u64::from(self.tag.same_key(Tag(held), tag));
                self.load_from(words, place).into_iter().map(same).sum()
            }
        }
    }

    /// Returns the tags of a bucket, ascending.
    #[inline(always)]
    fn load(&self, place: Place) -> [u64; 4] {
        self.load_from(&self.words, place)
    }

    #[inline(always)]
    fn load_from(&self, words: &impl Source, place: Place) -> [u64; 4] {
        let at = self.bit(place);
        if let Search::Word | Search::Narrow = self.search {
            let bucket = words.load(at);
            let (upper, rests) = (decode(bucket), bucket >> NUMBER_BITS);
            return [0, 1, 2, 3]
                .map(|i| (upper >> (4 * i) & 15) << self.rest | (rests >> (i * self.rest) & self.rest_mask));
        }
        let upper = decode(words.load(at));
        core::array::from_fn(|i| {
            let at = at + u64::from(NUMBER_BITS) + i as u64 * u64::from(self.rest);
            (upper >> (4 * i) & 15) << self.rest | words.read(at, self.rest)
        })
    }

    /// Stores four tags that are in ascending order.
    #[inline(always)]
    fn store(&mut self, place: Place, tags: [u64; 4]) {
        let at = self.bit(place);
        let number = encode(tags.map(|tag| tag >> self.rest));
        if let Search::Word | Search::Narrow = self.search {
            let rests = |bucket, i: u32| bucket | (tags[i as usize] & self.rest_mask) << (i * self.rest);
            let rests = (0..4).fold(0, rests);
            #[expect(clippy::cast_possible_truncation, reason = "at most 64 bits")]
            return self.words.store(at, mask(self.width as u32), rests << NUMBER_BITS | number);
        }
        self.words.write(at, NUMBER_BITS, number);
        for (i, tag) in (0..).zip(tags) {
            let at = at + u64::from(NUMBER_BITS) + i * u64::from(self.rest);
            self.words.write(at, self.rest, tag & self.rest_mask);
        }
    }

    /// Replaces one tag of a bucket by another; returns `false` if the bucket does not hold it.
    #[inline(always)]
    fn replace(&mut self, place: Place, old: Tag, new: Tag) -> bool {
        let mut tags = self.load(place);
        let Some(slot) = tags.iter().position(|&tag| tag == old.0) else { return false };
        tags[slot] = new.0;
        sort(&mut tags);
        self.store(place, tags);
        true
    }

    #[inline(always)]
    fn tag(&self, entry: Entry) -> Tag {
        self.tag.tag(entry.fingerprint, entry.side, 0, entry.value)
    }

    /// Returns the entry of a tag.
    #[inline(always)]
    fn entry(&self, place: Place, tag: Tag) -> Entry {
        let (fingerprint, side, _) = self.tag.parts(tag);
        Entry { place, fingerprint, side, value: self.tag.value(tag) }
    }

    /// Returns the tags of a bucket that match the key of an entry, with any values.
    fn of_key(&self, entry: Entry) -> impl Iterator<Item = Tag> {
        let (anatomy, tag) = (self.tag, self.tag(entry));
        self.load(entry.place).into_iter().map(Tag).filter(move |held| anatomy.same_key(*held, tag))
    }
}

/// Puts two of four numbers in order, without a branch.
#[inline(always)]
fn order(tags: &mut [u64; 4], i: usize, j: usize) {
    (tags[i], tags[j]) = (tags[i].min(tags[j]), tags[i].max(tags[j]));
}

/// Sorts four numbers with five comparisons.
#[inline(always)]
fn sort(tags: &mut [u64; 4]) {
    for (i, j) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
        order(tags, i, j);
    }
}

impl Table for SortedBuckets {
    type Loose = Slots;

    fn loose_layout(layout: &CuckooLayout) -> Option<CuckooLayout> {
        let kind = if layout.kind.is_signed() { Kind::Flexible(4) } else { Kind::Classic(4) };
        Some(CuckooLayout { kind, ..*layout })
    }

    fn new_loose(layout: &CuckooLayout, words: Words) -> Slots {
        Slots::new(layout, words).balanced()
    }

    fn loosen(&self, loose: &mut Slots, places: u64) {
        for place in (0..places).map(Place) {
            let [a, b, c, d] = self.load(place);
            // Empty slots come first in sorted buckets.
            loose.set_bucket(place, [d, c, b, a]);
        }
    }

    fn tighten(&mut self, loose: &Slots, places: u64) {
        for place in (0..places).map(Place) {
            let mut tags = loose.bucket(place);
            sort(&mut tags);
            self.store(place, tags);
        }
    }

    #[inline(always)]
    fn slots_per_place(&self) -> u32 {
        4
    }

    #[inline(always)]
    fn is_windowed(&self) -> bool {
        false
    }

    fn count(&self, entry: Entry) -> u32 {
        self.of_key(entry).map(|_| 1).sum()
    }

    #[inline(always)]
    fn resident<const SIMPLE: bool>(&self, place: Place, rank: u32) -> Entry {
        if !SIMPLE {
            return self.entry(place, Tag(self.load(place)[rank as usize]));
        }
        let bucket = self.words.load(self.bit(place));
        let upper = decode(bucket) >> (4 * rank) & 15;
        let rest = bucket >> NUMBER_BITS >> (rank * self.rest) & self.rest_mask;
        let (fingerprint, side, _) = self.tag.fields(Tag(upper << self.rest | rest));
        Entry { place, fingerprint, side, value: 0 }
    }

    #[inline(always)]
    fn put<const SIMPLE: bool>(&mut self, entry: Entry) -> bool {
        if SIMPLE {
            // Empty slots come first. Usually there is none, and the others need not be read.
            let bucket = self.words.load(self.bit(entry.place));
            if decode(bucket) & 15 | bucket >> NUMBER_BITS & self.rest_mask != 0 {
                return false;
            }
        }
        let mut tags = self.load(entry.place);
        if tags[0] != Tag::EMPTY.0 {
            return false;
        }
        // The tag moves from the first slot to where it belongs.
        tags[0] = self.tag(entry).0;
        for i in 0..3 {
            order(&mut tags, i, i + 1);
        }
        self.store(entry.place, tags);
        true
    }

    #[inline(always)]
    fn swap<const SIMPLE: bool>(&mut self, entry: Entry, rank: u32) -> (Entry, Swap) {
        let mut tags = self.load(entry.place);
        let (old, new) = (Tag(tags[rank as usize]), self.tag(entry));
        tags[rank as usize] = new.0;
        sort(&mut tags);
        self.store(entry.place, tags);
        (self.entry(entry.place, old), Swap { place: entry.place, rank, old, new })
    }

    fn undo(&mut self, swap: Swap) {
        let found = self.replace(swap.place, swap.new, swap.old);
        debug_assert!(found, "what was put in last is still there");
    }

    fn fits(layout: &CuckooLayout) -> bool {
        layout.kind.is_sorted()
    }

    fn new(layout: &CuckooLayout, words: Words) -> Self {
        let tag = layout.tag;
        let rest = tag.bits - 4;
        let width = Self::bucket_bits(tag.bits);
        // If all buckets begin on a byte or half a byte, one load holds more of a bucket.
        let most_shift = 8 - (1 << width.trailing_zeros().min(3));
        let (search, lanes, lane) = if width + most_shift <= u64::BITS {
            match rest {
                0..4 => (Search::Narrow, 4, 4),
                _ => (Search::Word, 4, rest),
            }
        } else if 2 * rest <= SURE_BITS {
            (Search::Groups, 2, rest)
        } else if rest <= SURE_BITS {
            (Search::Groups, 1, rest)
        } else {
            (Search::Tags, 1, rest)
        };
        debug_assert!(lanes < 4 || lane <= MOST_LANE, "a table of quadruples has four lanes in a word");
        let ones = lanes::ones(lane, lanes);
        let second = Sought::new(tag.stamp(Side::Second, 0), rest, ones);
        Self {
            words,
            width: u64::from(width),
            width_bytes: if width.is_multiple_of(8) { u64::from(width / 8) } else { 0 },
            search,
            group: lanes,
            quadruples: spread_into(lane.min(MOST_LANE)),
            lanes: Lanes { ones, highs: ones << (lane - 1) },
            rest,
            rest_mask: !(u64::MAX << rest),
            keys: Sought::new(tag.key_mask(), rest, ones),
            second,
            second_uppers: [0, second.upper],
            in_vectors: InVectors {
                rest: u64::from(rest),
                two_rests: u64::from(2 * rest),
                rest_mask: [!(u64::MAX << rest); 2],
                two_ones: [1 | 1 << rest.min(MOST_LANE); 2],
            },
            tag,
            plain: matches!(search, Search::Word) && tag.value_bits == 0,
        }
    }

    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.plain
    }

    #[inline(always)]
    fn is_simple(&self) -> bool {
        self.plain
    }

    fn has_whole_bytes(&self) -> bool {
        self.width_bytes > 0
    }

    #[inline(always)]
    fn plainly_holds_in<const BYTES: bool>(
        &self,
        words: &impl Source,
        homes: Homes,
        vectors: impl Vectors,
    ) -> bool {
        let (uppers, rests) = if BYTES {
            let byte = |place: Place| place.0 * self.width_bytes;
            let words = words.load_two_bytes(byte(homes.first), byte(homes.second));
            (words.map(|word| self.upper(word)), Pair::new(words))
        } else {
            let (words, shifts) = words.load_two(self.bit(homes.first), self.bit(homes.second));
            let uppers = [self.upper(words[0] >> shifts[0]), self.upper(words[1] >> shifts[1])];
            (uppers, vectors.shifted(words, shifts))
        };
        let rests = rests.shifted_down::<{ NUMBER_BITS.cast_signed() }>();
        // The side is the highest bit of a tag: only the upper bits differ between the two.
        let (sought_uppers, sought_rests) = self.sought_pair(homes.fingerprint.0);
        let sought_uppers = sought_uppers.or(Pair::new(self.second_uppers));
        let differ = Pair::new(uppers).xor(sought_uppers).or(rests.xor(sought_rests));
        vectors.some_lane_is_zero(differ, self.lanes)
    }

    #[inline(always)]
    fn holds_in(&self, words: &impl Source, homes: Homes) -> bool {
        let fingerprint = homes.fingerprint.0;
        let marks = |place, side| self.marks_in(words, place, fingerprint, side);
        marks(homes.first, Side::First) | marks(homes.second, Side::Second) != 0
    }

    #[inline(always)]
    fn hold_row(&self, row: &Row) -> [u64; ROW] {
        let mut marks = [0; ROW];
        for (places, side) in [(&row.first, Side::First), (&row.second, Side::Second)] {
            let at = places.map(|place| place * self.width);
            match self.search {
                Search::Word => {
                    let buckets = self.words.load_row(&at);
                    for i in 0..ROW {
                        let sought = self.sought(row.fingerprint[i], side);
                        marks[i] |= self.marks_of_word(buckets[i], sought);
                    }
                }
                Search::Narrow => {
                    let buckets = self.words.load_row(&at);
                    for i in 0..ROW {
                        let sought = self.sought(row.fingerprint[i], side);
                        let rests = widen(buckets[i] >> NUMBER_BITS, self.rest);
                        marks[i] |= self.marks(self.upper(buckets[i]), rests, sought);
                    }
                }
                Search::Groups => {
                    let uppers = self.words.load_row(&at).map(decode);
                    for (from, shift) in self.groups() {
                        let rests = self.words.load_row(&at.map(|at| at + from));
                        for i in 0..ROW {
                            let sought = self.sought(row.fingerprint[i], side);
                            marks[i] |= self.marks(self.group_uppers(uppers[i] >> shift), rests[i], sought);
                        }
                    }
                }
                Search::Tags => {
                    for i in 0..ROW {
                        marks[i] |= self.marks_in(&self.words, Place(places[i]), row.fingerprint[i], side);
                    }
                }
            }
        }
        marks
    }

    #[inline(always)]
    fn put_in_either(&mut self, homes: Homes, value: u16) -> bool {
        let [first, second] = homes.both(value);
        self.put::<false>(first) || self.put::<false>(second)
    }

    #[inline(always)]
    fn take_from_either(&mut self, homes: Homes, value: u16) -> bool {
        let entries = homes.both(value);
        entries.into_iter().any(|entry| self.replace(entry.place, self.tag(entry), Tag::EMPTY))
    }

    fn values(&self, entry: Entry, mut each: impl FnMut(u16)) {
        self.of_key(entry).for_each(|tag| each(self.tag.value(tag)));
    }

    #[inline(always)]
    fn unite_row(&self, row: &Row) -> [u16; ROW] {
        // All tags of the key, on top of one another.
        let mut copies = [0; ROW];
        for (places, side) in [(&row.first, Side::First), (&row.second, Side::Second)] {
            let bits = places.map(|place| place * self.width);
            if let Search::Tags = self.search {
                for (i, copies) in copies.iter_mut().enumerate() {
                    let tags = self.of_key(row.get(i).with(side, 0));
                    *copies = tags.fold(*copies, |copies, tag| copies | tag.0);
                }
                continue;
            }
            let uppers = self.words.load_row(&bits).map(decode);
            for (from, shift) in self.groups() {
                let rests = self.words.load_row(&bits.map(|bit| bit + from));
                for lane in 0..self.group {
                    for (i, copies) in copies.iter_mut().enumerate() {
                        let upper = uppers[i] >> (shift + 4 * lane) & 15;
                        let tag = upper << self.rest | rests[i] >> (lane * self.rest) & self.rest_mask;
                        let sought = self.tag.tag(Fingerprint(row.fingerprint[i]), side, 0, 0);
                        *copies |= if self.tag.same_key(Tag(tag), sought) { tag } else { 0 };
                    }
                }
            }
        }
        copies.map(|copies| self.tag.value(Tag(copies)))
    }

    fn update(&mut self, entry: Entry, value: u16) -> bool {
        self.replace(entry.place, self.tag(entry), self.tag(Entry { value, ..entry }))
    }

    fn entry_at(&self, slot: u64) -> Option<Entry> {
        let place = Place(slot / 4);
        let tag = Tag(self.load(place)[(slot % 4) as usize]);
        (tag != Tag::EMPTY).then(|| self.entry(place, tag))
    }

    #[inline(always)]
    fn stride_bits(&self) -> u64 {
        self.width
    }

    #[inline(always)]
    fn place_bits(&self) -> u32 {
        Self::bucket_bits(self.tag.bits)
    }

    #[inline(always)]
    fn reach_bits(&self) -> u64 {
        let last = match self.search {
            Search::Word | Search::Narrow => 0,
            Search::Groups | Search::Tags => NUMBER_BITS + (4 - self.group) * self.rest,
        };
        u64::from(last + LAST_BYTE)
    }

    fn with_words(&self, words: Words) -> Self {
        Self { words, ..*self }
    }

    fn into_words(self) -> Words {
        self.words
    }

    #[inline(always)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_numbers_are_sorted() {
        for number in 0..256u64 {
            let mut tags = core::array::from_fn(|i| number >> (2 * i) & 3);
            let mut expected = tags;
            expected.sort_unstable();
            sort(&mut tags);
            assert_eq!(tags, expected);
        }
    }

    #[test]
    fn narrow_rests_are_widened() {
        for rest in 0..4u32 {
            for rests in 0..1u64 << (4 * rest) {
                let one = |i: u32| rests >> (i * rest) & ((1 << rest) - 1);
                let expected: u64 = (0..4).map(|i| one(i) << (4 * i)).sum();
                assert_eq!(widen(rests | 1 << (4 * rest), rest), expected, "{rests:#x} of {rest} bits");
            }
        }
    }
}
