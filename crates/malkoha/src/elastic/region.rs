//! A region: a small table for all hashes with one prefix.
//!
//! ```text
//!   hash   prefix | place . fingerprint ..
//!                     |        |
//!                     |        +- its first four bits: the offset to the second place, around the region
//!                     +- drawn from the number of places
//! ```

use crate::bits::Words;
use crate::bits::cpu::Vectors;
use crate::bits::prefixes::{Approach, Form, matches};
use crate::bits::words::mask;
use crate::error::{Error, Full};
use crate::key::draw::{draw, last_draw};
use crate::key::{KeyHash, mix};

use super::entry::{Entry, length};
use super::layout::{self, GROUP_BITS, OFFSET_BITS};
use super::overflow::Overflow;

/// The most steps of a walk.
const MOST_STEPS: u64 = 250;

/// The distances to the second place, as fractions of the region in units of 2^-32. They are pseudo-random and not evenly
/// spaced, so that places have few common neighbours.
const DISTANCES: [u32; 1 << OFFSET_BITS] = {
    let mut distances = [0; 1 << OFFSET_BITS];
    let mut i = 0;
    while i < distances.len() {
        distances[i] = (mix(i as u64 + 1) >> 32) as u32;
        i += 1;
    }
    distances
};

/// The shape of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The first bits of all hashes of the region, from the highest bit down.
    pub(crate) prefix: u64,
    /// The number of these bits.
    pub(crate) depth: u32,
    pub(crate) places: u32,
    pub(crate) slots: u32,
    /// Bits of a slot below the value.
    pub(crate) tag_bits: u32,
    pub(crate) value_bits: u32,
}

impl Shape {
    /// The group of hashes that the region is of.
    pub(crate) fn group(&self) -> usize {
        #[allow(clippy::cast_possible_truncation, reason = "32-bit targets: two bits")]
        let group = (self.prefix >> (64 - GROUP_BITS)) as usize;
        group
    }

    fn form(&self) -> Form {
        Form::new(self.value_bits, self.tag_bits, self.slots)
    }

    /// Bits of the table.
    pub(crate) fn table_bits(&self) -> u64 {
        self.form().bit(self.places)
    }

    /// Bits of the buffer that holds the table.
    pub(crate) fn buffer_bits(&self) -> u64 {
        self.table_bits() + self.form().spare_bits()
    }
}

/// The two places of a key, and what is sought there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homes {
    pub(super) places: [u32; 2],
    /// The side, and the fingerprint as long as slots allow, with one bit more in place of the mark.
    pub(super) sought: [u64; 2],
}

/// A table of entries, which knows nothing of other regions. What lookups need is in the first cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Region {
    words: Words,
    overflow: Overflow,
    places: u32,
    form: Form,
    depth: u8,
    /// The first bits of all its hashes.
    prefix: u64,
    /// Entries in the table.
    pub(super) entries: u32,
    /// The most entries before the region grows.
    pub(super) most: u32,
    /// The fewest entries before the region shrinks.
    pub(super) least: u32,
    /// The sum of what every entry adds to the rate, in units of a fingerprint of full length.
    weight: u128,
}

impl Region {
    pub(super) fn new(shape: Shape) -> Result<Self, Error> {
        Ok(Self::in_words(shape, Words::pooled(shape.buffer_bits())?))
    }

    /// The region with this shape in a buffer of the size that it needs, which is still empty.
    pub(crate) fn in_words(shape: Shape, words: Words) -> Self {
        Self {
            words,
            form: shape.form(),
            places: shape.places,
            depth: u8::try_from(shape.depth).expect("at most 64"),
            prefix: shape.prefix,
            entries: 0,
            most: layout::limit(shape.places, shape.slots),
            least: 0,
            weight: 0,
            overflow: Overflow::default(),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        let form = self.form;
        Shape {
            prefix: self.prefix,
            depth: self.depth.into(),
            places: self.places,
            slots: form.slots(),
            tag_bits: form.tag_bits(),
            value_bits: form.width() - form.tag_bits(),
        }
    }

    /// A copy, if the system has the memory.
    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        let mut copy = Self::new(self.shape())?;
        copy.words.copy_from_slice(&self.words);
        copy.overflow = self.overflow.clone();
        Ok(copy.counted(self))
    }

    /// This region with the counts of another with equal content.
    fn counted(self, other: &Self) -> Self {
        Self { entries: other.entries, least: other.least, weight: other.weight, ..self }
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn overflow(&self) -> &Overflow {
        &self.overflow
    }

    /// Bits of a tag without the side.
    #[inline(always)]
    pub(super) fn bits(&self) -> u32 {
        self.form.tag_bits() - 1
    }

    /// The bit of a tag that is set on the second side.
    #[inline(always)]
    fn side(&self) -> u64 {
        1 << self.bits()
    }

    /// The distance from the first to the second place of a key, given the first bits of its fingerprint.
    #[inline(always)]
    fn distance(&self, first_bits: u64) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "four bits")]
        let fraction = DISTANCES[first_bits as usize % DISTANCES.len()];
        let distance = ((u64::from(fraction) * u64::from(self.places - 1)) >> 32) as u32;
        distance + 1
    }

    /// The other place of a tag, whose highest bit is its side.
    #[inline(always)]
    fn other(&self, place: u32, tag: u64) -> u32 {
        let distance = self.distance(tag >> (self.bits() - OFFSET_BITS));
        let step = if tag & self.side() == 0 { distance } else { self.places - distance };
        self.around(place + step)
    }

    #[inline(always)]
    fn around(&self, place: u32) -> u32 {
        if place >= self.places { place - self.places } else { place }
    }

    #[inline(always)]
    pub(super) fn homes(&self, hash: KeyHash) -> Homes {
        let (place, rest) = draw(hash.to_raw() << self.depth, u64::from(self.places));
        #[expect(clippy::cast_possible_truncation, reason = "below the number of places")]
        let place = place as u32;
        let second = self.around(place + self.distance(rest >> (64 - OFFSET_BITS)));
        let sought = rest >> (64 - self.bits());
        Homes { places: [place, second], sought: [sought, sought | self.side()] }
    }

    /// The bits at which the places of a key begin.
    #[inline(always)]
    fn begins(&self, homes: Homes) -> [u64; 2] {
        homes.places.map(|place| self.form.bit(place))
    }

    /// A key with these homes at its places, in a region with narrow slots.
    #[inline(always)]
    pub(super) fn approach(&self, homes: Homes) -> Approach<'_> {
        self.form.approach(&self.words, self.begins(homes), homes.sought)
    }

    #[inline(always)]
    pub(super) fn is_narrow(&self) -> bool {
        self.form.is_narrow()
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, homes: Homes) {
        // A window may end in the next cache line.
        let window = self.form.spare_bits() - 1;
        for at in self.begins(homes) {
            self.words.prefetch(at);
            self.words.prefetch(at + window);
        }
    }

    /// Whether an entry matches a key.
    #[inline(always)]
    pub(super) fn holds(&self, hash: KeyHash, vectors: impl Vectors) -> bool {
        let homes = self.homes(hash);
        let found = if self.is_narrow() {
            vectors.holds_narrow(&self.approach(homes))
        } else {
            vectors.holds_wide(&self.words, self.form, self.begins(homes), homes.sought)
        };
        self.or_in_overflow(found, hash)
    }

    /// Whether a key was found in the table or is in the overflow. There is no branch on what cannot be predicted: the
    /// overflow is usually empty, but whether a key is found may be anything.
    #[inline(always)]
    pub(super) fn or_in_overflow(&self, found: bool, hash: KeyHash) -> bool {
        if self.overflow.is_empty() { found } else { found || self.overflow_holds(hash) }
    }

    /// Whether an entry in the overflow matches a key.
    #[cold]
    fn overflow_holds(&self, hash: KeyHash) -> bool {
        let homes = self.homes(hash);
        self.overflow.holds(homes.places[0].into(), homes.sought[0])
    }

    /// The entry of a key, as long as slots allow.
    #[inline(always)]
    pub(super) fn entry(&self, hash: KeyHash, value: u16) -> Entry {
        let homes = self.homes(hash);
        Entry { place: homes.places[0].into(), tag: homes.sought[0] | 1, value }
    }

    #[inline(always)]
    fn read(&self, place: u32, slot: u32) -> u64 {
        self.words.read(self.form.slot(self.form.bit(place), slot), self.form.width())
    }

    #[inline(always)]
    fn write(&mut self, place: u32, slot: u32, content: u64) {
        self.words.write(self.form.slot(self.form.bit(place), slot), self.form.width(), content);
    }

    #[inline(always)]
    fn first_empty(&self, place: u32) -> Option<u32> {
        self.form.first_empty(&self.words, self.form.bit(place))
    }

    /// What a slot contains, for an entry on its first side.
    #[inline(always)]
    fn content(&self, entry: Entry) -> u64 {
        (u64::from(entry.value) << 1 << self.bits()) | entry.tag
    }

    #[inline(always)]
    fn value(&self, content: u64) -> u16 {
        #[expect(clippy::cast_possible_truncation, reason = "at most 16 bits are left")]
        let value = (content >> 1 >> self.bits()) as u16;
        value
    }

    /// What an entry adds to the weight.
    #[inline(always)]
    fn weight_of(tag: u64) -> u128 {
        1 << tag.trailing_zeros()
    }

    /// Counts an entry that the table has gained.
    #[inline(always)]
    fn gained(&mut self, tag: u64) {
        self.entries += 1;
        self.weight += Self::weight_of(tag);
    }

    /// The first place of an entry of this region.
    #[inline(always)]
    fn place_of(entry: Entry) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "below the number of places")]
        let place = entry.place as u32;
        place
    }

    /// Puts an entry into an empty slot of its places; returns whether there was one.
    #[inline(always)]
    pub(super) fn put_in_either(&mut self, entry: Entry) -> bool {
        let (content, first) = (self.content(entry), Self::place_of(entry));
        if let Some(slot) = self.first_empty(first) {
            self.write(first, slot, content);
        } else {
            let second = self.other(first, entry.tag);
            let Some(slot) = self.first_empty(second) else { return false };
            self.write(second, slot, content | self.side());
        }
        self.gained(entry.tag);
        true
    }

    /// Puts an entry into the table. If both places are full, others move: a walk of limited length, which is undone
    /// if it does not end at an empty slot. Returns the number of steps, or `None` if nothing has changed.
    pub(super) fn put(&mut self, entry: Entry) -> Option<u64> {
        if self.put_in_either(entry) {
            return Some(0);
        }
        let steps = self.walk(entry)?;
        self.gained(entry.tag);
        Some(steps)
    }

    #[cold]
    fn walk(&mut self, entry: Entry) -> Option<u64> {
        let mut log = Log::default();
        let mut random = mix(entry.place << 32 ^ entry.tag ^ u64::from(self.entries));
        let (mut place, mut content) = (Self::place_of(entry), self.content(entry));
        if random & 1 == 1 {
            (place, content) = (self.other(place, entry.tag), content | self.side());
        }
        let slots = self.form.slots();
        for step in 0..MOST_STEPS {
            for slot in 0..slots {
                let resident = self.read(place, slot);
                let other = self.other(place, resident);
                if let Some(empty) = self.first_empty(other) {
                    self.write(other, empty, resident ^ self.side());
                    self.write(place, slot, content);
                    return Some(step + 1);
                }
            }
            random = mix(random);
            #[expect(clippy::cast_possible_truncation, reason = "below the number of slots")]
            let slot = last_draw(random, slots.into()) as u32;
            let victim = self.read(place, slot);
            log.push((place, slot, victim));
            self.write(place, slot, content);
            place = self.other(place, victim);
            content = victim ^ self.side();
        }
        log.each_back(|(place, slot, victim)| self.write(place, slot, victim));
        None
    }

    /// Puts copies of an entry into the overflow.
    pub(super) fn put_over(&mut self, entry: Entry, copies: u64) -> Result<(), Full> {
        if self.overflow.put(entry, copies)? {
            self.weight += Self::weight_of(entry.tag);
        }
        Ok(())
    }

    /// Stores copies of an entry in the table, as far as it has room, and the others in the overflow. If the system has
    /// no memory for the overflow, copies may be missing.
    pub(super) fn pour(&mut self, entry: Entry, copies: u64) -> Result<(), Full> {
        for done in 0..copies {
            // After the first copy without a slot, further ones would only walk in vain.
            if self.put(entry).is_none() {
                return self.put_over(entry, copies - done);
            }
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
        let first = Self::place_of(entry);
        let places = [first, self.other(first, entry.tag)];
        let mut matching = 0;
        self.each_match(Homes { places, sought: [entry.tag, entry.tag | self.side()] }, |_, _, _| {
            matching += 1;
        });
        matching == 2 * self.form.slots()
    }

    /// Calls `act` with the place, the slot and the content of every slot that matches a key.
    #[inline(always)]
    fn each_match(&self, homes: Homes, mut act: impl FnMut(u32, u32, u64)) {
        let tags = mask(self.form.tag_bits());
        for (place, sought) in homes.places.into_iter().zip(homes.sought) {
            for slot in 0..self.form.slots() {
                let content = self.read(place, slot);
                if matches(content & tags, sought) {
                    act(place, slot, content);
                }
            }
        }
    }

    /// Calls `act` with the value and the number of copies of all entries that match a key.
    pub(super) fn each_copy(&self, hash: KeyHash, mut act: impl FnMut(u16, u64)) {
        let homes = self.homes(hash);
        self.each_match(homes, |_, _, content| act(self.value(content), 1));
        self.overflow.each_match(homes.places[0].into(), homes.sought[0], act);
    }

    /// The longest entry with this value that matches a key.
    #[inline(always)]
    fn longest(&self, hash: KeyHash, value: u16) -> Option<Found> {
        let homes = self.homes(hash);
        let mut best: Option<(u32, Found)> = None;
        self.each_match(homes, |place, slot, content| {
            let mark = content.trailing_zeros();
            if self.value(content) == value && best.is_none_or(|(least, _)| mark < least) {
                best = Some((mark, Found::Slot { place, slot, content }));
            }
        });
        if self.overflow.is_empty() {
            return best.map(|(_, found)| found);
        }
        let over =
            self.overflow.longest(Entry { place: homes.places[0].into(), tag: homes.sought[0], value });
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
            Some(Found::Slot { place, slot, content }) => {
                self.write(place, slot, 0);
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
            Some(Found::Slot { place, slot, content }) => {
                let values = u64::from(old ^ new) << 1 << self.bits();
                self.write(place, slot, content ^ values);
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
        let first = Self::place_of(entry);
        let places = [first, self.other(first, entry.tag)];
        let mark = entry.tag.trailing_zeros();
        let mut covered = false;
        self.each_match(Homes { places, sought: [entry.tag, entry.tag | self.side()] }, |_, _, content| {
            covered |= self.value(content) == entry.value && content.trailing_zeros() >= mark;
        });
        covered || self.overflow.covers(entry)
    }

    /// Calls `act` with every entry of the table.
    pub(super) fn each_table_entry(&self, mut act: impl FnMut(Entry)) {
        for place in 0..self.places {
            for slot in 0..self.form.slots() {
                let content = self.read(place, slot);
                if content != 0 {
                    act(self.entry_of(place, content));
                }
            }
        }
    }

    /// Calls `act` with the first bit and the content of every slot that is not empty.
    pub(super) fn each_content(&self, mut act: impl FnMut(u64, u64)) {
        for place in 0..self.places {
            for slot in 0..self.form.slots() {
                let content = self.read(place, slot);
                if content != 0 {
                    act(self.form.slot(self.form.bit(place), slot), content);
                }
            }
        }
    }

    /// Removes all entries.
    pub(super) fn empty(&mut self) {
        self.words.fill(0);
        self.overflow = Overflow::default();
        (self.entries, self.weight) = (0, 0);
    }

    /// Calls `act` with every entry and the number of its copies, until it fails.
    pub(super) fn each_entry(&self, mut act: impl FnMut(Entry, u64) -> Result<(), Full>) -> Result<(), Full> {
        let mut done = Ok(());
        self.each_table_entry(|entry| {
            if done.is_ok() {
                done = act(entry, 1);
            }
        });
        done?;
        self.overflow.sorted().into_iter().try_for_each(|(entry, copies)| act(entry, copies))
    }

    /// The entry that a place holds as this content.
    pub(super) fn entry_of(&self, place: u32, content: u64) -> Entry {
        let first = if content & self.side() == 0 { place } else { self.other(place, content) };
        Entry { place: first.into(), tag: content & (self.side() - 1), value: self.value(content) }
    }

    /// The same table with more slots for every place. Entries stay in their places.
    pub(super) fn widened(&self, slots: u32) -> Result<Self, Full> {
        let mut wider = Self::new(Shape { slots, ..self.shape() }).map_err(|_| Full)?;
        let width = self.form.width();
        // As many slots at a time as one load always holds.
        let group = (crate::bits::words::SURE_BITS / width).max(1);
        for place in 0..self.places {
            let (from, to) = (self.form.bit(place), wider.form.bit(place));
            for slot in (0..self.form.slots()).step_by(group as usize) {
                let bits = group.min(self.form.slots() - slot) * width;
                let content = self.words.read(self.form.slot(from, slot), bits);
                wider.words.write(wider.form.slot(to, slot), bits, content);
            }
        }
        wider = wider.counted(self);
        // What is in the overflow may find a slot now, and is counted there.
        wider.weight = self.counts().1;
        self.overflow.sorted().into_iter().try_for_each(|(entry, copies)| wider.pour(entry, copies))?;
        Ok(wider)
    }

    /// Takes over the counts of the table and the entries in the overflow, none of them twice, from a file.
    pub(crate) fn restore(&mut self, counts: (u32, u128), overflow: &[(Entry, u64)]) -> Result<(), Full> {
        (self.entries, self.weight) = counts;
        overflow.iter().try_for_each(|(entry, copies)| self.put_over(*entry, *copies))
    }

    /// The number of entries in the table, and their weight, counted.
    pub(crate) fn counted_entries(&self) -> (u32, u128) {
        let (mut entries, mut weight) = (0, 0);
        self.each_content(|_, content| {
            entries += 1;
            weight += Self::weight_of(content);
        });
        (entries, weight)
    }

    /// The number of entries in the table, and their weight.
    pub(crate) fn counts(&self) -> (u32, u128) {
        (self.entries, self.weight - self.overflow_weight())
    }

    /// What the overflow adds to the weight: equal intervals are hit by the same strangers, so they count once.
    fn overflow_weight(&self) -> u128 {
        let mut intervals: Vec<_> =
            self.overflow.sorted().into_iter().map(|(entry, _)| (entry.place, entry.tag)).collect();
        intervals.dedup();
        intervals.into_iter().map(|(_, tag)| Self::weight_of(tag)).sum()
    }

    /// Every entry in the overflow and the number of its copies, ascending.
    pub(crate) fn overflow_entries(&self) -> Vec<(Entry, u64)> {
        self.overflow.sorted()
    }

    /// The expected number of entries that match a stranger, as part of that of the whole filter.
    pub(super) fn expected_matches(&self) -> f64 {
        let hashes = f64::from(self.bits() - 1 + u32::from(self.depth)).exp2() * f64::from(self.places);
        self.weight as f64 / hashes
    }

    /// Bytes of memory, without the overflow.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.words.bytes()
    }

    /// Calls `act` with the length of the fingerprint of every entry, and the number of its copies.
    pub(super) fn each_length(&self, mut act: impl FnMut(u32, u64)) {
        self.each_table_entry(|entry| act(length(entry.tag, self.bits()), 1));
        self.overflow
            .sorted()
            .iter()
            .for_each(|(entry, copies)| act(length(entry.tag, self.bits()), *copies));
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
            && self.words == other.words
            && self.overflow.sorted() == other.overflow.sorted()
    }
}

/// The replacements of a walk: place, slot, and what was there. Most walks are short and need no allocation.
#[derive(Default)]
struct Log {
    few: [(u32, u32, u64); 8],
    len: usize,
    more: Vec<(u32, u32, u64)>,
}

impl Log {
    fn push(&mut self, replaced: (u32, u32, u64)) {
        match self.few.get_mut(self.len) {
            Some(next) => *next = replaced,
            None => self.more.push(replaced),
        }
        self.len += 1;
    }

    /// Calls `act` with every replacement, the last one first.
    fn each_back(self, act: impl FnMut((u32, u32, u64))) {
        let few = &self.few[..self.len.min(self.few.len())];
        few.iter().chain(&self.more).rev().copied().for_each(act);
    }
}

/// Where an entry was found.
#[derive(Clone, Copy)]
enum Found {
    Slot { place: u32, slot: u32, content: u64 },
    Over(Entry),
}
