//! A region: a small table for all hashes with one prefix.
//!
//! ```text
//!   hash   prefix | place . fingerprint ..
//!                     |        |
//!                     |        +- its first four bits: the offset to the second place, around the region
//!                     +- drawn from the number of places
//! ```
//!
//! `put.rs` stores entries, `content.rs` lists them.

use std::sync::Arc;

use crate::bits::Words;
use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::prefix_table::{Approach, PrefixTable};
use crate::bits::shared_arena::SharedArena;
use crate::bits::shared_directory::Shown;
use crate::error::{Error, Full};
use crate::key::KeyHash;

use super::entry::Entry;
use super::layout;
use super::overflow::Overflow;
use super::shape::Shape;

/// A table of entries, which knows nothing of other regions. What lookups need comes first, in 64 bytes: a filter has
/// hundreds of regions, and that part of them must stay in the cache beside the tables. (Regions that begin with a cache
/// line would be 48 bytes larger, too much for a filter of 1000 keys.)
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Region {
    pub(super) table: PrefixTable,
    pub(super) overflow: Overflow,
    pub(super) cpu: Cpu,
    /// Whether the table may have empty slots before others that are not.
    pub(super) has_holes: bool,
    /// The fewest entries before the region shrinks.
    pub(super) least: u32,
    /// The first bits of all its hashes.
    prefix: u64,
    /// Entries in the table.
    pub(super) entries: u32,
    /// The most entries before the region grows.
    pub(super) most: u32,
    /// The sum of what every entry adds to the rate, in units of a fingerprint of full length.
    pub(super) weight: u128,
}

impl Region {
    pub(super) fn new(shape: Shape) -> Result<Self, Error> {
        Ok(Self::in_words(shape, Words::pooled(shape.buffer_bits())?))
    }

    /// An empty region whose table is where that of this one is.
    pub(super) fn beside(&self, shape: Shape) -> Result<Self, Error> {
        Ok(Self::in_words(shape, self.table.words().beside(shape.buffer_bits())?))
    }

    /// The region with this shape in a buffer of the size that it needs, which is still empty.
    pub(crate) fn in_words(shape: Shape, words: Words) -> Self {
        Self {
            overflow: Overflow::default(),
            cpu: Cpu::detect(),
            has_holes: false,
            table: PrefixTable::new(words, shape.places, shape.form()).below(shape.depth),
            prefix: shape.prefix,
            entries: 0,
            most: layout::limit(shape.places, shape.slots),
            least: 0,
            weight: 0,
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        let form = self.table.form();
        Shape {
            prefix: self.prefix,
            depth: self.table.depth(),
            places: self.table.places(),
            slots: form.slots(),
            tag_bits: form.tag_bits(),
            value_bits: form.width() - form.tag_bits(),
        }
    }

    /// A copy, if the system has the memory.
    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        let mut copy = Self::new(self.shape())?;
        copy.table.copy_words(self.words());
        copy.overflow = self.overflow.clone();
        Ok(copy.counted(self))
    }

    /// This region with the counts of another with equal content.
    pub(super) fn counted(self, other: &Self) -> Self {
        let Self { has_holes, entries, least, weight, .. } = *other;
        Self { has_holes, least, entries, weight, ..self }
    }

    /// Moves the table into an arena, unless it is there. Without memory for that, it stays where it is.
    pub(super) fn move_into(&mut self, arena: &Arc<SharedArena>) {
        if self.arena().is_some_and(|own| Arc::ptr_eq(own, arena)) {
            return;
        }
        if let Ok(words) = Words::lent(arena, self.shape().buffer_bits()) {
            self.table = self.table.moved_to(words);
        }
    }

    /// What readers without locks are led to.
    pub(super) fn shown(&self) -> Shown<'_> {
        (&self.table, self.table.depth(), !self.overflow.is_empty())
    }

    /// The arena that the table is in, if other threads may read it.
    pub(super) fn arena(&self) -> Option<&Arc<SharedArena>> {
        self.table.words().arena()
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.table.words()
    }

    pub(super) fn overflow(&self) -> &Overflow {
        &self.overflow
    }

    /// Bits of a tag without the side.
    #[inline(always)]
    pub(super) fn bits(&self) -> u32 {
        self.table.form().tag_bits() - 1
    }

    /// The bit of a tag that is set on the second side.
    #[inline(always)]
    pub(super) fn side(&self) -> u64 {
        1 << self.bits()
    }

    /// A key at its places.
    #[inline(always)]
    pub(super) fn approach(&self, hash: KeyHash) -> Approach<'_> {
        self.table.approach(hash.to_raw())
    }

    /// The tag of an entry below the highest bit of a word.
    #[inline(always)]
    pub(super) fn sought_of(&self, entry: Entry) -> u64 {
        entry.tag << (63 - self.bits())
    }

    /// What begins like an entry, at its places.
    #[inline(always)]
    pub(super) fn approach_entry(&self, entry: Entry) -> Approach<'_> {
        self.table.approach_at(Self::place_of(entry), self.sought_of(entry))
    }

    /// Whether slots are narrow and the overflow is empty.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.overflow.is_empty() && self.table.form().is_narrow()
    }

    /// Whether an entry matches a key. There is no branch on what cannot be predicted: regions are usually plain, but
    /// whether a key is found may be anything.
    #[inline(always)]
    pub(super) fn holds(&self, hash: KeyHash, vectors: impl Vectors) -> bool {
        if self.is_plain() { vectors.holds_narrow(&self.approach(hash)) } else { self.holds_anywhere(hash) }
    }

    #[cold]
    #[inline(never)]
    fn holds_anywhere(&self, hash: KeyHash) -> bool {
        self.cpu.run(HitsOfKey(self, hash)) != 0 || self.overflow_holds(hash)
    }

    /// Whether an entry in the overflow matches a key.
    pub(super) fn overflow_holds(&self, hash: KeyHash) -> bool {
        !self.overflow.is_empty() && self.overflow.holds(self.sought(hash, 0))
    }

    /// The entry that a key would match if its fingerprint were as long as slots allow, and one bit longer in place of
    /// the mark.
    #[inline(always)]
    fn sought(&self, hash: KeyHash, value: u16) -> Entry {
        let (place, rest) = self.table.draw(hash.to_raw());
        Entry { place: place.into(), tag: rest >> (64 - self.bits()), value }
    }

    /// The entry of a key, as long as slots allow.
    #[inline(always)]
    pub(super) fn entry(&self, hash: KeyHash, value: u16) -> Entry {
        let sought = self.sought(hash, value);
        Entry { tag: sought.tag | 1, ..sought }
    }

    /// What a slot contains, for an entry on its first side.
    #[inline(always)]
    pub(super) fn content(&self, entry: Entry) -> u64 {
        (u64::from(entry.value) << 1 << self.bits()) | entry.tag
    }

    #[inline(always)]
    pub(super) fn value(&self, content: u64) -> u16 {
        #[expect(clippy::cast_possible_truncation, reason = "at most 16 bits are left")]
        let value = (content >> 1 >> self.bits()) as u16;
        value
    }

    /// What an entry adds to the weight.
    #[inline(always)]
    pub(super) fn weight_of(tag: u64) -> u128 {
        u128::from(tag & tag.wrapping_neg())
    }

    /// The first place of an entry of this region.
    #[inline(always)]
    pub(super) fn place_of(entry: Entry) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "below the number of places")]
        let place = entry.place as u32;
        place
    }

    /// Puts copies of an entry into the overflow.
    pub(super) fn put_over(&mut self, entry: Entry, copies: u64) -> Result<(), Full> {
        if self.overflow.put(entry, copies)? {
            self.weight += Self::weight_of(entry.tag);
        }
        Ok(())
    }

    /// Removes one copy of an entry from the overflow.
    fn take_over(&mut self, entry: Entry) {
        if self.overflow.take(entry) {
            self.weight -= Self::weight_of(entry.tag);
        }
    }

    /// Whether all slots of both places match what an entry stands for, so that no walk can make room.
    pub(super) fn is_full_of(&self, entry: Entry) -> bool {
        self.cpu.run(Hits(self.approach_entry(entry))).count_ones() == 2 * self.table.form().slots()
    }

    /// Calls `act` with the first bit and the content of every slot that matches a key.
    #[inline(always)]
    fn each_match(&self, key: Approach<'_>, mut act: impl FnMut(u64, u64)) {
        let mut hits = self.cpu.run(Hits(key));
        while hits != 0 {
            let bit = key.bit(hits.trailing_zeros());
            act(bit, self.table.read(bit));
            hits &= hits - 1;
        }
    }

    /// Calls `act` with the value and the number of copies of all entries that match a key.
    pub(super) fn each_copy(&self, hash: KeyHash, mut act: impl FnMut(u16, u64)) {
        self.each_match(self.approach(hash), |_, content| act(self.value(content), 1));
        self.overflow.each_match(self.sought(hash, 0), act);
    }

    /// The longest entry with this value that matches a key.
    #[inline(always)]
    fn longest(&self, hash: KeyHash, value: u16) -> Option<Found> {
        let mut best: Option<(u32, Found)> = None;
        self.each_match(self.approach(hash), |bit, content| {
            let mark = content.trailing_zeros();
            if self.value(content) == value && best.is_none_or(|(least, _)| mark < least) {
                best = Some((mark, Found::Slot { bit, content }));
            }
        });
        if self.overflow.is_empty() {
            return best.map(|(_, found)| found);
        }
        let over = self.overflow.longest(self.sought(hash, value));
        match (best, over) {
            (Some((mark, found)), Some(over)) if mark <= over.tag.trailing_zeros() => Some(found),
            (_, Some(over)) => Some(Found::Over(over)),
            (best, None) => best.map(|(_, found)| found),
        }
    }

    /// Removes the longest entry with this value that matches a key; returns whether there was one. (Why the longest:
    /// see [`elastic`](super).)
    pub(super) fn remove(&mut self, hash: KeyHash, value: u16) -> bool {
        match self.longest(hash, value) {
            None => return false,
            Some(Found::Slot { bit, content }) => {
                self.table.write(bit, 0);
                self.has_holes = true;
                self.entries -= 1;
                self.weight -= Self::weight_of(content);
            }
            Some(Found::Over(entry)) => self.take_over(entry),
        }
        true
    }

    /// Changes the value of the longest entry that matches a key and has the value `old`; returns whether there was
    /// one, or `Full` if there was and the system has no memory.
    pub(super) fn update(&mut self, hash: KeyHash, old: u16, new: u16) -> Result<bool, Full> {
        match self.longest(hash, old) {
            None => return Ok(false),
            Some(Found::Slot { bit, content }) => {
                let values = u64::from(old ^ new) << 1 << self.bits();
                self.table.write(bit, content ^ values);
            }
            Some(Found::Over(entry)) => {
                self.put_over(Entry { value: new, ..entry }, 1)?;
                self.take_over(entry);
            }
        }
        Ok(true)
    }

    /// Whether another entry with the same value covers the whole interval of an entry.
    pub(super) fn covers(&self, entry: Entry) -> bool {
        let mark = entry.tag.trailing_zeros();
        let mut covered = false;
        self.each_match(self.approach_entry(entry), |_, content| {
            covered |= self.value(content) == entry.value && content.trailing_zeros() >= mark;
        });
        covered || self.overflow.covers(entry)
    }

    /// The expected number of entries that match a stranger, as part of that of the whole filter.
    pub(super) fn expected_matches(&self) -> f64 {
        let hashes = f64::from(self.bits() - 1 + self.table.depth()).exp2() * f64::from(self.table.places());
        self.weight as f64 / hashes
    }

    /// Bytes of memory, without the overflow.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.table.words().bytes()
    }
}

impl Clone for Region {
    /// # Panics
    ///
    /// Like every clone of a collection, when memory runs out.
    fn clone(&self) -> Self {
        self.try_clone().expect("memory for a second table of this size")
    }
}

/// Equal content.
impl PartialEq for Region {
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape()
            && self.words() == other.words()
            && self.overflow.sorted() == other.overflow.sorted()
    }
}

/// The slots that match a key.
struct Hits<'a>(Approach<'a>);

impl Work for Hits<'_> {
    const WIDE: bool = true;
    type Output = u32;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> u32 {
        vectors.hits(&self.0)
    }
}

/// The slots that match a key, which is brought to its places on the way.
struct HitsOfKey<'a>(&'a Region, KeyHash);

impl Work for HitsOfKey<'_> {
    const WIDE: bool = true;
    type Output = u32;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> u32 {
        let Self(region, hash) = self;
        vectors.hits(&region.approach(hash))
    }
}

/// Where an entry was found.
#[derive(Clone, Copy)]
enum Found {
    Slot { bit: u64, content: u64 },
    Over(Entry),
}
