//! Tables of prefixes, from which the fraction of a hash draws two places.
//!
//! ```text
//!   fraction x places = first place . rest
//!                                      |
//!                                      +- its first four bits: the distance to the second place, around the table
//!                                      +- all of them: the fingerprint
//! ```
//!
//! A draw is below the number of places for every fraction, so it is enough to check once, when a table is made, that
//! its words hold all places; lookups need no check.
#![expect(unsafe_code, reason = "what was drawn lies inside, and need not be checked")]

use core::hint::select_unpredictable;

use crate::key::draw::draw;
use crate::key::mix;

#[cfg(target_arch = "x86_64")]
use super::prefixes::HALF_WINDOW;
use super::prefixes::{Form, matches};
use super::words::{Words, prefetch_line};

/// Bits of a fingerprint that determine the distance to the other place. Every entry keeps them.
pub(crate) const OFFSET_BITS: u32 = 4;

/// The distances to the second place, as fractions of the table in units of 2^-32. They are pseudo-random and not
/// evenly spaced, so that places have few common neighbours.
const DISTANCES: [u32; 1 << OFFSET_BITS] = {
    let mut distances = [0; 1 << OFFSET_BITS];
    let mut i = 0;
    while i < distances.len() {
        distances[i] = (mix(i as u64 + 1) >> 32) as u32;
        i += 1;
    }
    distances
};

/// The numbers of places from the first to the second place, in a table of so many places.
///
/// # Panics
///
/// If there are no places, or more than a number of 16 bits counts.
pub(super) fn distances(places: u32) -> [u16; DISTANCES.len()] {
    DISTANCES.map(|fraction| {
        let between = ((u64::from(fraction) * u64::from(places - 1)) >> 32) + 1;
        // In a table of one place, both places are the same.
        u16::try_from(between % u64::from(places)).expect("fewer than the places")
    })
}

/// The bit of a tag in the highest bits of a word that is set on the second side.
pub(crate) const SECOND_SIDE: u64 = 1 << 63;

/// Words seen as places of slots.
///
/// The invariant: there is at least one place; every distance is shorter than the table; and the words hold all
/// places and a window from each bit of them. None of this changes. (What lookups need comes first, in 64 bytes: the
/// last of it is the address in `words`.)
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PrefixTable {
    places: u32,
    /// Bits of a place.
    stride: u32,
    /// Bits of all places.
    bits: u32,
    /// The distance from a tag to the highest bits of a lane.
    pub(super) shift: u32,
    /// The lanes that are slots: bits 0 to 7 for the first place of a key, 8 to 15 for the second.
    pub(super) lanes: u16,
    /// Bytes of a window.
    window: u8,
    form: Form,
    /// The first bits of a hash, which lead to the table and of which nothing is drawn.
    depth: u8,
    /// The numbers of places from the first to the second place.
    distances: [u16; DISTANCES.len()],
    words: Words,
}

impl PrefixTable {
    /// Makes a table of so many places of this form; there may be more words.
    ///
    /// # Panics
    ///
    /// If there are too few words, no places, or more than a number of 16 bits counts.
    pub(crate) fn new(words: Words, places: u32, form: Form) -> Self {
        let bits = form.bit(places);
        assert!(places > 0 && bits + form.spare_bits() <= 64 * words.len() as u64, "words hold all places");
        assert!(u16::try_from(places).is_ok(), "distances have 16 bits");
        let stride = form.width() * form.slots();
        let distances = distances(places);
        Self {
            places,
            stride,
            bits: places * stride,
            shift: if form.is_narrow() { u32::BITS } else { u64::BITS } - form.tag_bits(),
            lanes: 0x0101 * ((1 << form.slots()) - 1),
            window: u8::try_from(form.window_bytes()).expect("at most 64"),
            form,
            depth: 0,
            distances,
            words,
        }
    }

    /// The same table for hashes whose first `depth` bits lead to it.
    ///
    /// # Panics
    ///
    /// If nothing would be left of a hash.
    pub(crate) fn below(self, depth: u32) -> Self {
        assert!(depth < u64::BITS, "something is left to draw from");
        Self { depth: u8::try_from(depth).expect("less than 64"), ..self }
    }

    /// The first bits of a hash, of which nothing is drawn.
    #[inline(always)]
    pub(crate) fn depth(&self) -> u32 {
        self.depth.into()
    }

    #[inline(always)]
    pub(crate) fn places(&self) -> u32 {
        self.places
    }

    #[inline(always)]
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// The numbers of places from the first to the second place, by the first bits of a fingerprint.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn distances(&self) -> &[u16; DISTANCES.len()] {
        &self.distances
    }

    /// Bits of a place.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn stride(&self) -> u32 {
        self.stride
    }

    /// Bytes of a window.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn window_bytes(&self) -> u8 {
        self.window
    }

    /// Bits of all places.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    /// The same table in other words, as many as these.
    ///
    /// # Panics
    ///
    /// If there are fewer or more of them.
    pub(crate) fn moved_to(&self, mut words: Words) -> Self {
        words.copy_words(&self.words);
        Self::new(words, self.places, self.form).below(self.depth())
    }

    /// Replaces all words. (They are not lent as `Words`, which could be replaced by fewer.)
    ///
    /// # Panics
    ///
    /// If there are fewer or more of them.
    pub(crate) fn copy_words(&mut self, words: &[u64]) {
        self.words.copy_words(words);
    }

    /// Removes the content of all slots.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    /// The number of places from the first place of a key to the second, given the rest of its fraction.
    #[inline(always)]
    fn distance(&self, rest: u64) -> u32 {
        self.distances[(rest >> (64 - OFFSET_BITS)) as usize].into()
    }

    /// A bit below twice the number of all bits, counted around the table.
    #[inline(always)]
    fn around(&self, bit: u32) -> u32 {
        // (By the sign: places are counted by 16 bits, so bits are far from 31. Compilers turn comparisons of numbers
        // without a sign into more instructions.)
        let less = bit.wrapping_sub(self.bits);
        if less.cast_signed() < 0 { bit } else { less }
    }

    /// Where the other place of a tag begins, given where its place does. The tag is in the highest bits of a word.
    ///
    /// # Panics
    ///
    /// If the table has no such bit.
    #[inline(always)]
    pub(crate) fn other(&self, at: u32, tag: u64) -> u32 {
        assert!(at < self.bits, "a place begins in the table");
        let distance = self.distance(tag << 1) * self.stride;
        let step = if tag & SECOND_SIDE == 0 { distance } else { self.bits - distance };
        self.around(at + step)
    }

    /// The first place of a tag that is at this place.
    #[inline(always)]
    pub(crate) fn first_place(&self, place: u32, tag: u64) -> u32 {
        first_place(self.places, self.distance(tag << 1), place, tag)
    }

    /// The numbers that lead from one place of an entry to the other.
    pub(crate) fn ways(&self) -> Ways {
        Ways { places: self.places, distances: self.distances }
    }

    /// Draws the first place of a hash; returns it and the rest of the fraction.
    #[inline(always)]
    pub(crate) fn draw(&self, hash: u64) -> (u32, u64) {
        let (place, rest) = draw(hash << self.depth, u64::from(self.places));
        #[expect(clippy::cast_possible_truncation, reason = "below the number of places")]
        (place as u32, rest)
    }

    /// A key at its two places, given its hash.
    #[inline(always)]
    pub(crate) fn approach(&self, hash: u64) -> Approach<'_> {
        let (first, rest) = self.draw(hash);
        self.approach_drawn(first, rest)
    }

    /// What begins with the bits of `sought`, which leave the highest bit free, at its two places.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    #[inline(always)]
    pub(crate) fn approach_at(&self, first: u32, sought: u64) -> Approach<'_> {
        assert!(first < self.places, "there is such a place");
        self.approach_drawn(first, sought << 1)
    }

    /// Both places are inside the table: the first is given, and `around` makes the second so.
    #[inline(always)]
    fn approach_drawn(&self, first: u32, rest: u64) -> Approach<'_> {
        let at = first * self.stride;
        let second = self.around(at + self.distance(rest) * self.stride);
        Approach { table: self, at: [at, second], sought: rest >> 1 }
    }

    /// What begins with the bits of `sought`, which leave the highest bit free, at two places given by their first bits.
    ///
    /// # Panics
    ///
    /// If the table has no such bits.
    #[inline(always)]
    pub(crate) fn both(&self, at: [u32; 2], sought: u64) -> Approach<'_> {
        assert!(at[0] < self.bits && at[1] < self.bits, "places begin in the table");
        Approach { table: self, at, sought }
    }

    /// The content of a slot that begins at this bit.
    #[inline(always)]
    pub(crate) fn read(&self, bit: u64) -> u64 {
        self.words.read(bit, self.form.width())
    }

    /// Changes the content of a slot that begins at this bit.
    #[inline(always)]
    pub(crate) fn write(&mut self, bit: u64, content: u64) {
        self.words.write(bit, self.form.width(), content);
    }

    /// Copies all slots into an empty table with as many places, which have at least as many slots of the same width.
    #[inline(always)]
    pub(crate) fn copy_places(&self, to: &mut Self) {
        let form = self.form;
        assert!(to.places == self.places && to.stride >= self.stride, "the other places are not smaller");
        let group = form.slots_per_load() * form.width();
        let mut writer = BitWriter { words: &mut to.words, done: 0, bits: 0, count: 0 };
        let mut at = 0u64;
        for _ in 0..self.places {
            let (mut bits, mut rest) = (self.stride, to.stride);
            while bits > group {
                writer.push(self.words.read(at, group), group);
                at += u64::from(group);
                (bits, rest) = (bits - group, rest - group);
            }
            // The last bits of the place, and as many of the new slots, which are empty, as fit into the same word.
            let last = self.words.read(at, bits);
            at += u64::from(bits);
            writer.push(last, rest.min(u64::BITS));
            while rest > u64::BITS {
                rest -= u64::BITS;
                writer.push(0, rest.min(u64::BITS));
            }
        }
        writer.finish();
    }

    /// Writes the contents of all slots of an empty table, place after place, which are 0 where a slot stays empty:
    /// `content` gives that of slot `.1` of place `.0`.
    #[inline(always)]
    pub(crate) fn fill<P>(
        &mut self,
        places: impl Iterator<Item = P>,
        mut content: impl FnMut(&P, usize) -> u64,
    ) {
        let (width, slots) = (self.form.width(), self.form.slots() as usize);
        let mut writer = BitWriter { words: &mut self.words, done: 0, bits: 0, count: 0 };
        for place in places.take(self.places as usize) {
            for slot in 0..slots {
                writer.push(content(&place, slot), width);
            }
        }
        writer.finish();
    }

    /// The content of a slot as a tag in the highest bits of a word.
    #[inline(always)]
    pub(crate) fn tag(&self, content: u64) -> u64 {
        content << (64 - self.form.tag_bits())
    }
}

/// A copy of the numbers that lead from one place of an entry to the other, for loops that write tables: the compiler
/// knows that they do not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ways {
    places: u32,
    distances: [u16; DISTANCES.len()],
}

impl Ways {
    #[inline(always)]
    fn distance(&self, rest: u64) -> u32 {
        self.distances[(rest >> (64 - OFFSET_BITS)) as usize].into()
    }

    /// The second place of what continues after the first with the bits of `rest`.
    #[inline(always)]
    pub(crate) fn second_place(&self, first: u32, rest: u64) -> u32 {
        second_place(self.places, self.distance(rest), first)
    }

    /// The first place of a tag that is at this place.
    #[inline(always)]
    pub(crate) fn first_place(&self, place: u32, tag: u64) -> u32 {
        first_place(self.places, self.distance(tag << 1), place, tag)
    }
}

#[inline(always)]
fn second_place(places: u32, distance: u32, first: u32) -> u32 {
    let place = first + distance;
    place.min(place.wrapping_sub(places))
}

/// (Not as a branch: nobody can predict on which side an entry is.)
#[inline(always)]
fn first_place(places: u32, distance: u32, place: u32, tag: u64) -> u32 {
    let back = select_unpredictable(tag & SECOND_SIDE == 0, 0, distance);
    // Around the table: the smaller one, because a difference below 0 is a large number.
    let first = place.wrapping_sub(back);
    first.min(first.wrapping_add(places))
}

/// A key at its two places: everything that a comparison needs.
///
/// The invariant: both bits are inside the table.
#[derive(Clone, Copy, Debug)]
pub struct Approach<'a> {
    pub(super) table: &'a PrefixTable,
    /// The bits at which the places begin.
    at: [u32; 2],
    /// The fingerprint, from bit 62 down. It is longer than any in the table. Bit 63, the side, is 0.
    pub(super) sought: u64,
}

impl Approach<'_> {
    /// The bits at which the places begin.
    #[inline(always)]
    pub(crate) fn at(&self) -> [u32; 2] {
        self.at
    }

    /// The first byte of the window of a place. All of its bytes are readable.
    #[inline(always)]
    pub(super) fn window(&self, side: usize) -> *const u8 {
        let first = self.table.words.as_ptr().cast::<u8>();
        // SAFETY: the bit is inside the words, by the invariants of this type and the table.
        unsafe { first.add(self.at[side] as usize / 8) }
    }

    /// The first byte of the second half of the window of a place with narrow slots. All of its bytes are readable.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn second_half(&self, side: usize) -> *const u8 {
        let begin = usize::from(self.table.window) - HALF_WINDOW;
        // SAFETY: this is inside the window, which is at least as long as one half.
        unsafe { self.window(side).add(begin) }
    }

    /// The first bit of slot `number` as bits of [`hits`](super::cpu::Vectors::hits) count them. (Not by an index, for
    /// which the places would be written to memory as two numbers and read as one; a CPU waits for that.)
    #[inline(always)]
    pub(crate) fn bit(&self, number: u32) -> u64 {
        let at = select_unpredictable(number < 8, self.at[0], self.at[1]);
        self.table.form.slot(at.into(), number % 8)
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        for side in 0..2 {
            prefetch_line(self.window(side).cast());
            // A window may end in the next cache line.
            prefetch_line(self.window(side).wrapping_add(usize::from(self.table.window) - 1).cast());
        }
    }

    /// Does `Vectors::hits`, one slot at a time.
    #[inline(always)]
    pub(super) fn hits_one_by_one(&self) -> u32 {
        self.mark(|tag, side| matches(tag, self.sought | side))
    }

    /// Does `Vectors::others_with_room`, one slot at a time.
    #[inline(always)]
    pub(super) fn others_with_room_one_by_one(&self) -> ([u32; 16], u32) {
        let (mut others, mut with_room) = ([0; 16], 0);
        let (table, form) = (self.table, self.table.form());
        for side in 0..2 {
            for slot in 0..form.slots() {
                let number = 8 * side + slot;
                let other = table.other(self.at[side as usize], table.tag(table.read(self.bit(number))));
                others[number as usize] = other;
                let last = table.read(form.slot(other.into(), form.slots() - 1));
                with_room |= u32::from(table.tag(last) == 0) << number;
            }
        }
        (others, with_room)
    }

    /// Does `Vectors::vacant`, one slot at a time.
    #[inline(always)]
    pub(super) fn vacant_one_by_one(&self) -> u32 {
        self.mark(|tag, _| tag == 0)
    }

    #[inline(always)]
    fn mark(&self, is: impl Fn(u64, u64) -> bool) -> u32 {
        let slots = self.table.form.slots();
        let sides = [(0, 0), (8, SECOND_SIDE)];
        let numbers =
            sides.into_iter().flat_map(|(begin, side)| (begin..begin + slots).map(move |i| (i, side)));
        numbers.fold(0, |marks, (number, side)| {
            let tag = self.table.tag(self.table.read(self.bit(number)));
            marks | u32::from(is(tag, side)) << number
        })
    }
}

/// Bits written one after the other, a whole word at a time.
struct BitWriter<'a> {
    words: &'a mut Words,
    /// Words that are complete.
    done: usize,
    /// The bits of the next word, and their number.
    bits: u64,
    count: u32,
}

impl BitWriter<'_> {
    /// Appends `count` bits, 1 to 64; the others are 0. (Without a branch on whether the word is complete.)
    #[inline(always)]
    fn push(&mut self, bits: u64, count: u32) {
        let word = self.bits | bits << self.count;
        self.words.put_word(self.done, word);
        let filled = self.count + count;
        let is_complete = filled >= u64::BITS;
        // In two shifts, because one by 64 is not defined.
        let rest = bits >> 1 >> (u64::BITS - 1 - self.count);
        self.bits = select_unpredictable(is_complete, rest, word);
        self.done += usize::from(is_complete);
        self.count = filled % u64::BITS;
    }

    fn finish(self) {
        if self.count > 0 {
            self.words.put_word(self.done, self.bits);
        }
    }
}
