//! `SortedBuckets`: buckets of four tags, stored in ascending order in four bits less.
//!
//! The order of the tags in a bucket carries no information, so it need not be stored. The highest four bits
//! of the sorted tags are an ascending quadruple of numbers below 16; there are 3876 of those, and the number
//! of one fits 12 bits instead of 16:
//!
//! ```text
//!   +-----------------------+----------+----------+----------+----------+
//!   | number of a quadruple | rest 0   | rest 1   | rest 2   | rest 3   |
//!   +-----------------------+----------+----------+----------+----------+
//!     12 bits                 bits - 4 each
//! ```
//!
//! A quadruple (a <= b <= c <= d) has the number C(a,1) + C(b+1,2) + C(c+2,3) + C(d+3,4): the quadruples
//! counted in the order of d, then c, then b, then a. Empty slots are zero tags, so they come first. A set of
//! four tags has exactly one image, so putting a tag in and taking it out again restores every bit.
//!
//! Values are the highest bits of the tags and thus the first to be sorted by: a bucket takes four bits less
//! with values as it does without.

use crate::bits::{Words, lanes, words::mask};

use super::layout::CuckooLayout;
use super::place::Place;
use super::table::{Entry, Swap, Table};
use super::tag::{Anatomy, Tag};

/// Bits of the number of a quadruple.
pub(super) const NUMBER_BITS: u32 = 12;

/// Ascending quadruples of numbers below 16.
pub(super) const QUADRUPLES: u64 = 3876;

/// What each position of a quadruple adds to its number.
static BINOMIALS: [[u64; 16]; 4] = {
    let mut table = [[0; 16]; 4];
    let mut value = 0;
    while value < 16 {
        let n = value as u64;
        table[0][value] = n;
        table[1][value] = n * (n + 1) / 2;
        table[2][value] = n * (n + 1) * (n + 2) / 6;
        table[3][value] = n * (n + 1) * (n + 2) * (n + 3) / 24;
        value += 1;
    }
    table
};

/// The quadruples by number, four bits each, the smallest lowest. Numbers beyond the last count as the first,
/// so that no bytes can do harm.
static DECODED: [u16; 1 << NUMBER_BITS] = {
    let mut table = [0; 1 << NUMBER_BITS];
    let mut number = 0;
    let mut d = 0;
    while d < 16 {
        let mut c = 0;
        while c <= d {
            let mut b = 0;
            while b <= c {
                let mut a = 0;
                while a <= b {
                    table[number] = a | b << 4 | c << 8 | d << 12;
                    number += 1;
                    a += 1;
                }
                b += 1;
            }
            c += 1;
        }
        d += 1;
    }
    table
};

/// The number of an ascending quadruple.
#[expect(clippy::cast_possible_truncation, reason = "numbers below 16")]
fn encode(quadruple: [u64; 4]) -> u64 {
    (0..4).map(|i| BINOMIALS[i][quadruple[i] as usize]).sum()
}

/// The quadruple with a number below 2^12.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "numbers below 2^12")]
pub(super) fn decode(number: u64) -> u64 {
    u64::from(DECODED[number as usize])
}

/// Buckets of four sorted tags of `TAG_BITS` bits; of any width, known at run time, if that is 0. Only those
/// may have values.
#[derive(Clone, Debug)]
pub struct SortedBuckets<const TAG_BITS: u32 = 0, const VALUED: bool = false> {
    words: Words,
    tag: Anatomy,
}

impl SortedBuckets {
    /// The bits that four tags of `tag_bits` bits take.
    pub(crate) const fn bucket_bits(tag_bits: u32) -> u32 {
        NUMBER_BITS + 4 * (tag_bits - 4)
    }
}

impl<const TAG_BITS: u32, const VALUED: bool> SortedBuckets<TAG_BITS, VALUED> {
    /// Of a width known at compile time there are only tags with sides and without values.
    const ANATOMY: Anatomy = Anatomy::new(if TAG_BITS == 0 { 4 } else { TAG_BITS }, 2, 1);

    #[inline(always)]
    fn anatomy(&self) -> Anatomy {
        if TAG_BITS != 0 {
            Self::ANATOMY
        } else if VALUED {
            self.tag
        } else {
            self.tag.without_values()
        }
    }

    /// Bits of a tag that are stored as they are.
    #[inline(always)]
    fn rest(&self) -> u32 {
        self.anatomy().bits - 4
    }

    /// Bits of a bucket.
    #[inline(always)]
    fn width(&self) -> u32 {
        NUMBER_BITS + 4 * self.rest()
    }

    #[inline(always)]
    fn bit(&self, place: Place) -> u64 {
        place.0 * u64::from(self.width())
    }

    /// A bucket in two parts: the quadruple of its upper bits, four bits each, and the rests side by side.
    /// Only for rests that fit one word.
    #[inline(always)]
    fn halves(&self, place: Place) -> (u64, u64) {
        let at = self.bit(place);
        if self.width() <= 64 {
            let bucket = if self.width() == 64 {
                self.words.word(place.0)
            } else if self.width().is_multiple_of(8) {
                self.words.read_bytes(at, self.width())
            } else {
                self.words.read(at, self.width())
            };
            (decode(bucket & mask(NUMBER_BITS)), bucket >> NUMBER_BITS)
        } else {
            let number = self.words.read(at, NUMBER_BITS);
            (decode(number), self.words.read(at + u64::from(NUMBER_BITS), 4 * self.rest()))
        }
    }

    /// The tags of a bucket, ascending.
    #[inline(always)]
    fn load(&self, place: Place) -> [u64; 4] {
        let tag = |upper: u64, i: usize, rest: u64| (upper >> (4 * i) & 15) << self.rest() | rest;
        if self.rest() == 0 {
            let upper = decode(self.words.read(self.bit(place), NUMBER_BITS));
            core::array::from_fn(|i| tag(upper, i, 0))
        } else if self.rest() <= 16 {
            let (upper, rests) = self.halves(place);
            core::array::from_fn(|i| {
                tag(upper, i, rests >> (i as u64 * u64::from(self.rest())) & mask(self.rest()))
            })
        } else {
            let at = self.bit(place);
            let upper = decode(self.words.read(at, NUMBER_BITS));
            let rest = |i: usize| at + u64::from(NUMBER_BITS) + i as u64 * u64::from(self.rest());
            core::array::from_fn(|i| tag(upper, i, self.words.read(rest(i), self.rest())))
        }
    }

    /// Stores four tags in ascending order.
    #[inline(always)]
    fn store(&mut self, place: Place, mut tags: [u64; 4]) {
        sort(&mut tags);
        let at = self.bit(place);
        let number = encode(tags.map(|tag| tag >> self.rest()));
        let rests = tags.map(|tag| tag & !(u64::MAX << self.rest()));
        if self.width() <= 64 {
            let side_by_side =
                |bucket, (i, rest): (usize, u64)| bucket | rest << (i as u64 * u64::from(self.rest()));
            let rests = rests.into_iter().enumerate().fold(0, side_by_side);
            self.words.write(at, self.width(), rests << NUMBER_BITS | number);
            return;
        }
        self.words.write(at, NUMBER_BITS, number);
        for (i, rest) in rests.into_iter().enumerate() {
            let at = at + u64::from(NUMBER_BITS) + i as u64 * u64::from(self.rest());
            self.words.write(at, self.rest(), rest);
        }
    }

    /// Puts one tag in the stead of another that the place holds; `false` if it does not.
    #[inline(always)]
    fn replace(&mut self, place: Place, old: Tag, new: Tag) -> bool {
        let mut tags = self.load(place);
        let Some(slot) = tags.iter().position(|&tag| tag == old.0) else { return false };
        tags[slot] = new.0;
        self.store(place, tags);
        true
    }

    #[inline(always)]
    fn tag(&self, entry: Entry) -> Tag {
        self.anatomy().tag(entry.fingerprint, entry.side, 0, entry.value)
    }

    /// The entry that a tag is of.
    #[inline(always)]
    fn entry(&self, place: Place, tag: Tag) -> Entry {
        let (fingerprint, side, _) = self.anatomy().parts(tag);
        Entry { place, fingerprint, side, value: self.anatomy().value(tag) }
    }

    /// The tags of a bucket that are of the key of an entry, with any values.
    #[inline(always)]
    fn of_key(&self, entry: Entry) -> impl Iterator<Item = Tag> {
        let (anatomy, tag) = (self.anatomy(), self.tag(entry));
        self.load(entry.place).into_iter().map(Tag).filter(move |held| anatomy.same_key(*held, tag))
    }
}

/// Moves four fields of four bits apart, into lanes of `width` bits.
#[inline(always)]
const fn spread(fields: u64, width: u32) -> u64 {
    let pairs = fields & 0xFF | (fields & 0xFF00) << (2 * width - 8);
    let low = 0xF | 0xF << (2 * width);
    pairs & low | (pairs & low << 4) << (width - 4)
}

/// Sorts four numbers with five comparisons.
#[inline(always)]
fn sort(tags: &mut [u64; 4]) {
    let mut order = |i: usize, j: usize| {
        let (low, high) = (tags[i].min(tags[j]), tags[i].max(tags[j]));
        (tags[i], tags[j]) = (low, high);
    };
    order(0, 1);
    order(2, 3);
    order(0, 2);
    order(1, 3);
    order(1, 2);
}

impl<const TAG_BITS: u32, const VALUED: bool> Table for SortedBuckets<TAG_BITS, VALUED> {
    const VALUED: bool = VALUED;

    fn fits(layout: &CuckooLayout) -> bool {
        let anatomy_fits = TAG_BITS == 0 || layout.tag == Self::ANATOMY;
        layout.kind.is_sorted() && anatomy_fits && (layout.value_bits() > 0) == VALUED
    }

    fn new(layout: &CuckooLayout, words: Words) -> Self {
        Self { words, tag: layout.tag }
    }

    #[inline(always)]
    fn holds(&self, entry: Entry) -> bool {
        let tag = self.tag(entry).0;
        let rest = self.rest();
        if !(4..=16).contains(&rest) {
            return self.of_key(entry).next().is_some();
        }
        // Four lanes as wide as a rest: one is zero if upper bits and rest both agree.
        let ones = lanes::ones(rest, 4);
        let (upper, rests) = self.halves(entry.place);
        let mut uppers = spread(upper, rest) ^ ((tag >> rest) * ones);
        let mut lowers = rests ^ ((tag & mask(rest)) * ones);
        if VALUED {
            let relevant = self.anatomy().key_mask();
            uppers &= (relevant >> rest) * ones;
            lowers &= (relevant & mask(rest)) * ones;
        }
        let difference = uppers | lowers;
        lanes::zero_marks(difference, ones, ones << (rest - 1)) != 0
    }

    fn count(&self, entry: Entry) -> u32 {
        self.of_key(entry).map(|_| 1).sum()
    }

    #[inline(always)]
    fn slots_per_place(&self) -> u32 {
        4
    }

    #[inline(always)]
    fn is_windowed(&self) -> bool {
        false
    }

    #[inline(always)]
    fn put(&mut self, entry: Entry) -> bool {
        self.replace(entry.place, Tag::EMPTY, self.tag(entry))
    }

    #[inline(always)]
    fn take(&mut self, entry: Entry) -> bool {
        self.replace(entry.place, self.tag(entry), Tag::EMPTY)
    }

    #[inline(always)]
    fn values(&self, entry: Entry, mut each: impl FnMut(u16)) {
        if self.holds(entry) {
            self.of_key(entry).for_each(|tag| each(self.anatomy().value(tag)));
        }
    }

    fn update(&mut self, entry: Entry, value: u16) -> bool {
        self.replace(entry.place, self.tag(entry), self.tag(Entry { value, ..entry }))
    }

    #[inline(always)]
    fn resident(&self, place: Place, rank: u32) -> Entry {
        self.entry(place, Tag(self.load(place)[rank as usize]))
    }

    fn entry_at(&self, slot: u64) -> Option<Entry> {
        let place = Place(slot / 4);
        let tag = Tag(self.load(place)[(slot % 4) as usize]);
        (tag != Tag::EMPTY).then(|| self.entry(place, tag))
    }

    #[inline(always)]
    fn swap(&mut self, entry: Entry, rank: u32) -> (Entry, Swap) {
        let mut tags = self.load(entry.place);
        let (old, new) = (Tag(tags[rank as usize]), self.tag(entry));
        tags[rank as usize] = new.0;
        self.store(entry.place, tags);
        (self.entry(entry.place, old), Swap { place: entry.place, rank, old, new })
    }

    fn undo(&mut self, swap: Swap) {
        let found = self.replace(swap.place, swap.new, swap.old);
        debug_assert!(found, "what was put in last is still there");
    }

    fn stride_bits(&self) -> u64 {
        u64::from(self.width())
    }

    fn with_words(&self, words: Words) -> Self {
        Self { words, tag: self.tag }
    }

    fn into_words(self) -> Words {
        self.words
    }

    #[inline(always)]
    fn prefetch(&self, place: Place) {
        self.words.prefetch(self.bit(place));
        if !self.width().is_power_of_two() {
            self.words.prefetch(self.bit(place) + u64::from(self.width()) - 1);
        }
    }

    fn words(&self) -> &Words {
        &self.words
    }

    fn clear(&mut self) {
        self.words.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadruples_are_numbered_without_gaps() {
        for number in 0..QUADRUPLES {
            let packed = decode(number);
            let quadruple: [u64; 4] = core::array::from_fn(|i| packed >> (4 * i) & 15);
            assert!(quadruple.is_sorted());
            assert_eq!(encode(quadruple), number);
        }
        assert_eq!(encode([15; 4]), QUADRUPLES - 1);
        const { assert!(QUADRUPLES < 1 << NUMBER_BITS) };
    }

    #[test]
    fn numbers_beyond_the_last_are_harmless() {
        for number in QUADRUPLES..1 << NUMBER_BITS {
            assert_eq!(decode(number), 0);
        }
    }

    #[test]
    fn fields_are_spread_into_lanes() {
        for width in 4..=16 {
            for fields in [0x0, 0x1234, 0xFFFF, 0xF00F, 0x8421] {
                let expected: u64 = (0..4).map(|i| (fields >> (4 * i) & 15) << (i * width)).sum();
                assert_eq!(spread(fields, width as u32), expected, "{fields:#x} in lanes of {width}");
            }
        }
    }

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
}
