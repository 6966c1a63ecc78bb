//! Checks a table that came from a file as strictly as if an attacker had written it.
//!
//! A tag that no key has would send a walk to places outside the table. So every slot is checked before the caller
//! gets a filter: several at a time and on all processors, because a file should open as fast as it can be read. Only
//! where something is wrong are slots checked one by one, to report what.

use core::ops::Range;

use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::words::mask;
use crate::bits::{Words, lanes};
use crate::engine::Flaw;
use crate::engine::threads::for_shares;

use super::layout::CuckooLayout;
use super::quadruples::{NUMBER_BITS, QUADRUPLES, decode};
use super::sorted::SortedBuckets;
use super::tag::Tag;

/// Words, or sorted buckets, that are checked as one block.
const BLOCK_WORDS: usize = 512;

/// Counts the tags of a table; refuses tags that no key has, or that are in the wrong place.
pub(super) fn audit(words: &Words, layout: &CuckooLayout) -> Result<u64, Flaw> {
    let table = Audit { words, layout, essential: essential_bits(layout), cpu: Cpu::detect() };
    if layout.kind.is_sorted() {
        let shares = for_shares(layout.places, BLOCK_WORDS as u64, |places| table.buckets(places));
        return shares.into_iter().sum();
    }
    // Blocks begin at the same slots whatever the shares are, and so flaws are reported the same way.
    let shares = for_shares(layout.slots, slots_in_a_block(layout.tag.bits), |slots| match table.essential {
        Some(essential) => table.lanes(slots, essential),
        None => table.slots(slots),
    });
    let occupied = shares.into_iter().sum::<Result<_, _>>()?;
    if layout.kind.is_windowed() {
        // Inside the table a window may begin anywhere; near its ends the ranks must be checked.
        let l = u64::from(layout.slots_per_place);
        table.slots(0..l)?;
        table.slots(layout.slots - l..layout.slots)?;
    }
    Ok(occupied)
}

/// Returns the bits of a tag that are all zero only in empty slots, if tags need no other check.
fn essential_bits(layout: &CuckooLayout) -> Option<u64> {
    if layout.subtable_bits > 0 {
        return Some(mask(layout.subtable_bits));
    }
    layout.tag.essential_bits().filter(|_| layout.fingerprints == layout.tag.fingerprints())
}

/// Returns the number of tags of `bits` bits in one load. Any field of up to 57 bits lies within 8 bytes; where tags
/// fill words, so do 64 bits.
fn in_a_load(bits: u32) -> u32 {
    if 64 % bits == 0 { 64 / bits } else { (57 / bits).max(1) }
}

/// Returns the number of slots that are checked as one block. Each lane counts its own tags, and must not overflow.
fn slots_in_a_block(bits: u32) -> u64 {
    mask(bits).min(BLOCK_WORDS as u64) * u64::from(in_a_load(bits))
}

struct Audit<'a> {
    words: &'a Words,
    layout: &'a CuckooLayout,
    essential: Option<u64>,
    cpu: Cpu,
}

impl Audit<'_> {
    /// Counts the tags of these slots, which begin at a block, a block at a time.
    fn lanes(&self, slots: Range<u64>, essential: u64) -> Result<u64, Flaw> {
        let bits = self.layout.tag.bits;
        let in_a_load = in_a_load(bits);
        let width = in_a_load * bits;
        let ones = lanes::ones(bits, in_a_load);
        let look = LookAtLanes { loads: &[], bits, ones, essential: essential.wrapping_mul(ones) };
        let whole = slots.start + (slots.end - slots.start) / u64::from(in_a_load) * u64::from(in_a_load);
        let mut block = [0; BLOCK_WORDS];
        let (mut slot, mut occupied) = (slots.start, 0);
        while slot < whole {
            let end = whole.min(slot + slots_in_a_block(bits));
            let bits_of_block = slot * u64::from(bits)..end * u64::from(bits);
            let loads = self.loads(bits_of_block, width, &mut block);
            let (counts, sound) = self.cpu.run(LookAtLanes { loads, ..look });
            if !sound {
                self.slots(slot..end)?;
            }
            occupied += (0..in_a_load).map(|lane| counts >> (lane * bits) & mask(bits)).sum::<u64>();
            slot = end;
        }
        Ok(occupied + self.slots(whole..slots.end)?)
    }

    /// Returns consecutive fields of `width` bits: whole words in place, others copied to the block.
    fn loads<'a>(&'a self, bits: Range<u64>, width: u32, block: &'a mut [u64; BLOCK_WORDS]) -> &'a [u64] {
        if width == 64 {
            return self.words.words(bits);
        }
        let mut filled = 0;
        for (load, at) in block.iter_mut().zip(bits.step_by(width as usize)) {
            *load = self.words.read(at, width);
            filled += 1;
        }
        &block[..filled]
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

    /// Returns the rank of a tag, or what is wrong if no key has it.
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

    /// Counts the tags of these sorted buckets, a block of them at a time.
    fn buckets(&self, places: Range<u64>) -> Result<u64, Flaw> {
        let rest = self.layout.tag.bits - 4;
        let Some(essential) = self.layout.tag.essential_bits().filter(|_| rest > 0 && 4 * rest <= 57) else {
            return self.buckets_one_by_one(places);
        };
        let mut occupied = 0;
        let mut begin = places.start;
        while begin < places.end {
            let end = places.end.min(begin + BLOCK_WORDS as u64);
            let (tags, sound) = self.block_of_buckets(begin..end, essential);
            if !sound {
                self.buckets_one_by_one(begin..end)?;
            }
            occupied += tags;
            begin = end;
        }
        Ok(occupied)
    }

    /// Counts the tags of these buckets, whose rests fit in one load, and returns whether all are sound.
    fn block_of_buckets(&self, places: Range<u64>, essential: u64) -> (u64, bool) {
        let (rest, fingerprints) = (self.layout.tag.bits - 4, self.layout.fingerprints);
        let width = SortedBuckets::bucket_bits(self.layout.tag.bits);
        let bits = places.start * u64::from(width)..places.end * u64::from(width);
        let (mut block, mut uppers) = ([0; BLOCK_WORDS], [0; BLOCK_WORDS]);
        let mut beyond = 0;
        let mut decode_upper = |number: u64| {
            beyond |= (QUADRUPLES - 1).wrapping_sub(number);
            decode(number)
        };
        // If a bucket fits in one load, that holds both number and rests.
        let (others, shift) = if width <= 57 || width == 64 {
            let buckets = self.loads(bits, width, &mut block);
            for (upper, bucket) in uppers.iter_mut().zip(buckets) {
                *upper = decode_upper(bucket & mask(NUMBER_BITS));
            }
            (buckets, NUMBER_BITS)
        } else {
            let begins = bits.step_by(width as usize);
            for ((upper, rests), begin) in uppers.iter_mut().zip(&mut block).zip(begins) {
                *upper = decode_upper(self.words.read(begin, NUMBER_BITS));
                *rests = self.words.read(begin + u64::from(NUMBER_BITS), 4 * rest);
            }
            (&block[..], 0)
        };
        let uppers = &uppers[..index(places.end - places.start)];
        let look = LookAtBuckets { uppers, others, shift, rest, essential, fingerprints };
        let (occupied, wrong) = self.cpu.run(look);
        (occupied, (beyond | wrong) >> 63 == 0)
    }

    /// Counts the same tags bucket by bucket, and reports what is wrong.
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

    /// Returns the tags of the bucket that begins at a bit; `None` if its number is not that of a quadruple.
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

/// Counts the tags in each lane, and returns whether all have a fingerprint.
#[derive(Clone, Copy)]
struct LookAtLanes<'a> {
    loads: &'a [u64],
    bits: u32,
    ones: u64,
    essential: u64,
}

impl Work for LookAtLanes<'_> {
    const WIDE: bool = true;
    type Output = (u64, bool);

    #[inline(always)]
    fn run(self, _: impl Vectors) -> (u64, bool) {
        let highs = self.ones << (self.bits - 1);
        let (mut counts, mut wrong) = (0, 0);
        for &load in self.loads {
            let tags = lanes::nonzero_marks(load, self.ones, highs);
            wrong |= tags ^ lanes::nonzero_marks(load & self.essential, self.ones, highs);
            counts += tags >> (self.bits - 1);
        }
        (counts, wrong == 0)
    }
}

/// Counts the tags of sorted buckets, given as their highest and their other bits. The highest bit of the second
/// result is set if some tags are not in order, or have a fingerprint that no key has. No branch depends on the
/// content, and comparisons are subtractions, so the compiler can process several buckets at a time.
struct LookAtBuckets<'a> {
    /// The highest four bits of the four tags of each bucket.
    uppers: &'a [u64],
    /// The other bits of each bucket, from bit `shift` on, `rest` bits per tag.
    others: &'a [u64],
    shift: u32,
    rest: u32,
    /// The mask of a fingerprint, and the last fingerprint; the first is 1.
    essential: u64,
    fingerprints: u64,
}

impl Work for LookAtBuckets<'_> {
    const WIDE: bool = true;
    type Output = (u64, u64);

    #[inline(always)]
    fn run(self, _: impl Vectors) -> (u64, u64) {
        let rest = self.rest;
        let (mut occupied, mut wrong) = (0, 0u64);
        for (upper, bucket) in self.uppers.iter().zip(self.others) {
            let all = bucket >> self.shift;
            let tag = |i: u32| (upper >> (4 * i) & 15) << rest | (all >> (i * rest) & mask(rest));
            let tags = [tag(0), tag(1), tag(2), tag(3)];
            for i in 0..3 {
                wrong |= tags[i + 1].wrapping_sub(tags[i]);
            }
            for tag in tags {
                let (present, fingerprint) = (is_not_zero(tag), tag & self.essential);
                occupied += present;
                wrong |= is_not_zero(fingerprint).wrapping_sub(present);
                wrong |= self.fingerprints.wrapping_sub(fingerprint);
            }
        }
        (occupied, wrong)
    }
}

/// Returns 1 for numbers from 1 to 2^63, and 0 for 0.
#[inline(always)]
fn is_not_zero(number: u64) -> u64 {
    number.wrapping_neg() >> 63
}

/// Converts a number of buckets of a block.
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: a block is short")]
fn index(number: u64) -> usize {
    number as usize
}
