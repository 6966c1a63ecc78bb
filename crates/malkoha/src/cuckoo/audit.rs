//! Looking at a table that came from a file, as strictly as if an enemy had written it.
//!
//! A tag that no key has would send a walk to places outside the table. So every slot is looked at before a filter
//! is given away: several at a time, because a file should open as quickly as it can be read, and one by one only
//! where something is wrong, to say what.

use core::ops::Range;

use crate::bits::words::mask;
use crate::bits::{Words, lanes};
use crate::engine::Flaw;

use super::layout::CuckooLayout;
use super::sorted::{NUMBER_BITS, QUADRUPLES, SortedBuckets, decode};
use super::tag::Tag;

/// Words, or sorted buckets, that are looked at before anything is decided.
const BLOCK_WORDS: usize = 512;

/// Counts the tags of a table; refuses those that no key has, or that are not where they belong.
pub(super) fn audit(words: &Words, layout: &CuckooLayout) -> Result<u64, Flaw> {
    let table = Audit { words, layout, essential: essential_bits(layout) };
    if layout.kind.is_sorted() {
        return table.buckets();
    }
    let occupied = match table.essential {
        Some(essential) if 64 % layout.tag.bits == 0 => table.whole_words(essential)?,
        Some(essential) => table.lanes(essential, 0..layout.slots)?,
        None => table.slots(0..layout.slots)?,
    };
    if layout.kind.is_windowed() {
        // Inside the table a window may begin anywhere; near its ends the ranks must be looked at.
        let l = u64::from(layout.slots_per_place);
        table.slots(0..l)?;
        table.slots(layout.slots - l..layout.slots)?;
    }
    Ok(occupied)
}

/// The bits of a tag that are all zero in empty slots only, if that is all there is to say of tags.
fn essential_bits(layout: &CuckooLayout) -> Option<u64> {
    if layout.subtable_bits > 0 {
        return Some(mask(layout.subtable_bits));
    }
    layout.tag.essential_bits().filter(|_| layout.fingerprints == layout.tag.fingerprints())
}

struct Audit<'a> {
    words: &'a Words,
    layout: &'a CuckooLayout,
    essential: Option<u64>,
}

impl Audit<'_> {
    /// Counts the tags where lanes fill words: a block of words at a time.
    fn whole_words(&self, essential: u64) -> Result<u64, Flaw> {
        let bits = self.layout.tag.bits;
        let in_a_word = u64::from(64 / bits);
        let ones = lanes::ones(bits, 64 / bits);
        let highs = ones << (bits - 1);
        let essential = essential.wrapping_mul(ones);
        // Each lane counts its own tags, which it can as long as they are fewer than its values.
        let block_words = usize::try_from(mask(bits)).map_or(BLOCK_WORDS, |most| most.min(BLOCK_WORDS));
        let mut occupied = 0;
        let mut slot = 0;
        #[allow(clippy::cast_possible_truncation, reason = "32-bit targets: the words are in memory")]
        let full = (self.layout.slots / in_a_word) as usize;
        for block in self.words[..full].chunks(block_words) {
            let (mut counts, mut wrong) = (0, 0);
            for &word in block {
                let tags = lanes::nonzero_marks(word, ones, highs);
                wrong |= tags ^ lanes::nonzero_marks(word & essential, ones, highs);
                counts += tags >> (bits - 1);
            }
            let end = slot + block.len() as u64 * in_a_word;
            if wrong != 0 {
                self.slots(slot..end)?;
            }
            occupied += (0..64 / bits).map(|lane| counts >> (lane * bits) & mask(bits)).sum::<u64>();
            slot = end;
        }
        Ok(occupied + self.slots(slot..self.layout.slots)?)
    }

    /// Counts the tags of these slots, as many at a time as are read by one load.
    fn lanes(&self, essential: u64, slots: Range<u64>) -> Result<u64, Flaw> {
        let bits = self.layout.tag.bits;
        // A field of up to 57 bits is in 8 bytes wherever it begins.
        let most = (57 / bits).max(1);
        let ones = lanes::ones(bits, most);
        let highs = ones << (bits - 1);
        let essential = essential.wrapping_mul(ones);
        let (mut slot, mut occupied) = (slots.start, 0);
        while slot < slots.end {
            let lanes = most.min(u32::try_from(slots.end - slot).unwrap_or(most));
            let content = self.words.read(slot * u64::from(bits), lanes * bits);
            let tags = lanes::nonzero_marks(content, ones, highs);
            let end = slot + u64::from(lanes);
            if tags != lanes::nonzero_marks(content & essential, ones, highs) {
                self.slots(slot..end)?;
            }
            occupied += u64::from(tags.count_ones());
            slot = end;
        }
        Ok(occupied)
    }

    /// Counts the tags of these slots one by one.
    fn slots(&self, slots: Range<u64>) -> Result<u64, Flaw> {
        let layout = self.layout;
        let bits = u64::from(layout.tag.bits);
        let mut occupied = 0;
        for slot in slots {
            let tag = Tag(self.words.read(slot * bits, layout.tag.bits));
            if tag == Tag::EMPTY {
                continue;
            }
            let flaw = |what| Err(Flaw::Table { bit: slot * bits, what });
            let rank = self.rank(tag).map_err(|what| Flaw::Table { bit: slot * bits, what })?;
            if rank > slot || (layout.kind.is_windowed() && slot - rank >= layout.places) {
                return flaw("a tag belongs to a window outside the table");
            }
            occupied += 1;
        }
        Ok(occupied)
    }

    /// The rank of a tag that some key has.
    fn rank(&self, tag: Tag) -> Result<u64, &'static str> {
        if self.layout.tag.same_key(tag, Tag::EMPTY) {
            return Err("a slot has a value and no fingerprint");
        }
        let (fingerprint, _, rank) = self.layout.tag.parts(tag);
        if self.layout.has_fingerprint(fingerprint) {
            Ok(rank)
        } else {
            Err("a tag has a fingerprint that no key has")
        }
    }

    /// Counts the tags of sorted buckets, a block of them at a time.
    fn buckets(&self) -> Result<u64, Flaw> {
        let rest = self.layout.tag.bits - 4;
        let Some(essential) = self.layout.tag.essential_bits().filter(|_| rest > 0 && 4 * rest <= 57) else {
            return self.buckets_one_by_one(0..self.layout.places);
        };
        let mut occupied = 0;
        let mut begin = 0;
        while begin < self.layout.places {
            let end = self.layout.places.min(begin + BLOCK_WORDS as u64);
            let (tags, sound) = self.block_of_buckets(begin..end, essential);
            if !sound {
                self.buckets_one_by_one(begin..end)?;
            }
            occupied += tags;
            begin = end;
        }
        Ok(occupied)
    }

    /// Counts the tags of these buckets, whose rests fit one load, and says whether all are sound. No branch
    /// depends on what they hold.
    fn block_of_buckets(&self, places: Range<u64>, essential: u64) -> (u64, bool) {
        let (rest, fingerprints) = (self.layout.tag.bits - 4, self.layout.fingerprints);
        let width = u64::from(SortedBuckets::bucket_bits(self.layout.tag.bits));
        let (mut occupied, mut wrong) = (0, 0);
        for bit in places.map(|place| place * width) {
            let number = self.words.read(bit, NUMBER_BITS);
            let (upper, all) = (decode(number), self.words.read(bit + u64::from(NUMBER_BITS), 4 * rest));
            let tag = |i: u32| (upper >> (4 * i) & 15) << rest | (all >> (i * rest) & mask(rest));
            let tags = [tag(0), tag(1), tag(2), tag(3)];
            wrong |= u64::from(number >= QUADRUPLES);
            for pair in [(0, 1), (1, 2), (2, 3)] {
                wrong |= u64::from(tags[pair.0] > tags[pair.1]);
            }
            for tag in tags {
                let present = u64::from(tag != 0);
                occupied += present;
                // The essential bits of a tag of sorted buckets are its fingerprint, which counts from 1.
                wrong |= present & u64::from((tag & essential).wrapping_sub(1) >= fingerprints);
            }
        }
        (occupied, wrong == 0)
    }

    /// The same one by one, saying what is wrong.
    fn buckets_one_by_one(&self, places: Range<u64>) -> Result<u64, Flaw> {
        let width = u64::from(SortedBuckets::bucket_bits(self.layout.tag.bits));
        let mut occupied = 0;
        for bit in places.map(|place| place * width) {
            let flaw = |what| Flaw::Table { bit, what };
            let tags =
                self.bucket(bit).ok_or_else(|| flaw("a sorted bucket has a number beyond the last"))?;
            if !tags.is_sorted() {
                return Err(flaw("a sorted bucket is not in order"));
            }
            for tag in tags.into_iter().filter(|tag| *tag != 0) {
                self.rank(Tag(tag)).map_err(flaw)?;
                occupied += 1;
            }
        }
        Ok(occupied)
    }

    /// The tags of the bucket that begins at a bit; `None` if its number is that of none.
    fn bucket(&self, bit: u64) -> Option<[u64; 4]> {
        let rest = self.layout.tag.bits - 4;
        let number = self.words.read(bit, NUMBER_BITS);
        let upper = (number < QUADRUPLES).then(|| decode(number))?;
        let rests = bit + u64::from(NUMBER_BITS);
        Some(core::array::from_fn(|i| {
            let at = rests + i as u64 * u64::from(rest);
            let below = if rest == 0 { 0 } else { self.words.read(at, rest) };
            (upper >> (4 * i) & 15) << rest | below
        }))
    }
}
