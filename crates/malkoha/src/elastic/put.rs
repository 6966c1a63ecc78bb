//! Entries find a slot: the emptier of their two places, or a walk if both are full.

use crate::bits::cpu::{Vectors, Work};
use crate::bits::prefix_table::PrefixTable;
use crate::error::Full;
use crate::key::draw::last_draw;
use crate::key::{KeyHash, mix};

use super::entry::Entry;
use super::region::Region;

/// The most steps of a walk.
const MOST_STEPS: u64 = 250;

impl Region {
    /// Puts an entry into an empty slot of its places; returns whether there was one.
    #[inline(always)]
    pub(super) fn put_in_either(&mut self, entry: Entry, vectors: impl Vectors) -> bool {
        let key = self.approach_entry(entry);
        let vacant = vectors.vacant(&key);
        if vacant == 0 {
            return false;
        }
        let (first, second) = (vacant & 0xFF, vacant & 0xFF00);
        let emptier = if second.count_ones() > first.count_ones() { second } else { first };
        let number = emptier.trailing_zeros();
        let side = u64::from(number / 8) << self.bits();
        self.table.write(key.bit(number), self.content(entry) | side);
        self.gained(entry.tag);
        true
    }

    /// Puts an entry into a slot that is empty.
    #[inline(always)]
    pub(super) fn put_at(&mut self, entry: Entry, place: u32, slot: u32, side: u64) {
        let form = self.table.form();
        self.table.write(form.slot(form.bit(place), slot), self.content(entry) | side);
        self.gained(entry.tag);
    }

    /// Puts an entry into the table. If both places are full, others move: a walk of limited length, which is undone
    /// if it does not end at an empty slot. Returns the number of steps, or `None` if nothing has changed.
    pub(super) fn put(&mut self, entry: Entry) -> Option<u64> {
        self.cpu.run(Put(self, entry))
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

    /// Counts an entry that the table has gained.
    #[inline(always)]
    fn gained(&mut self, tag: u64) {
        self.entries += 1;
        self.weight += Self::weight_of(tag);
    }
}

struct Put<'a>(&'a mut Region, Entry);

impl Work for Put<'_> {
    const WIDE: bool = true;
    type Output = Option<u64>;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Option<u64> {
        let Self(region, entry) = self;
        if region.put_in_either(entry, vectors) { Some(0) } else { region.cpu.run(Walk(region, entry)) }
    }
}

/// Puts a key into the table as [`Region::put`] does, unless the region must grow first.
pub(super) struct PutKey<'a>(pub(super) &'a mut Region, pub(super) KeyHash, pub(super) u16);

impl Work for PutKey<'_> {
    const WIDE: bool = true;
    type Output = Option<u64>;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Option<u64> {
        let Self(region, hash, value) = self;
        if region.entries >= region.most {
            return None;
        }
        Put(region, region.entry(hash, value)).run(vectors)
    }
}

/// Puts an entry whose places are full into the table. (Not part of `Put`, which would have to save registers for it.)
struct Walk<'a>(&'a mut Region, Entry);

impl Work for Walk<'_> {
    const WIDE: bool = true;
    type Output = Option<u64>;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Option<u64> {
        let Self(region, entry) = self;
        // If both places are full of the same entry, nobody can move elsewhere.
        let key = region.approach_entry(entry);
        if vectors.hits(&key).count_ones() == 2 * region.table.form().slots() {
            return None;
        }
        let random = mix(entry.place << 32 ^ entry.tag ^ u64::from(region.entries));
        let (at, content) = (key.at(), region.content(entry));
        let steps = walk(&mut region.table, at, content, random, vectors)?;
        region.gained(entry.tag);
        Some(steps)
    }
}

/// Makes room for an entry whose two places are full, given where they begin and what a slot of the first would
/// contain. Returns the number of steps, or `None` if nothing has changed.
#[inline(always)]
fn walk(
    table: &mut PrefixTable,
    mut at: [u32; 2],
    mut content: u64,
    mut random: u64,
    vectors: impl Vectors,
) -> Option<u64> {
    let mut log = Log::default();
    let form = table.form();
    let (slots, side) = (form.slots(), 1u64 << (form.tag_bits() - 1));
    // The first step looks at the residents of both places, the others at those of one.
    for step in 1..=MOST_STEPS {
        let both = table.both(at);
        let others = vectors.others(&both);
        let places: &[u32] = if step == 1 { &[0, 8] } else { &[0] };
        for &begin in places {
            let vacant = vacancies(table, &others[begin as usize..][..8], slots, vectors);
            if vacant != 0 {
                let (slot, empty) = (vacant.trailing_zeros() / 8, vacant.trailing_zeros() % 8);
                let bit = both.bit(begin + slot);
                let resident = table.read(bit);
                let other = others[(begin + slot) as usize];
                table.write(form.slot(other.into(), empty), resident ^ side);
                table.write(bit, if begin == 0 { content } else { content ^ side });
                return Some(step);
            }
        }
        random = mix(random);
        #[expect(clippy::cast_possible_truncation, reason = "below the number of slots")]
        let mut victim = last_draw(random, slots.into()) as u32;
        if step == 1 && random & 1 == 1 {
            (victim, content) = (victim + 8, content ^ side);
        }
        let bit = both.bit(victim);
        let resident = table.read(bit);
        log.push((bit, resident));
        table.write(bit, content);
        (at, content) = ([others[victim as usize]; 2], resident ^ side);
    }
    log.each_back(|(bit, resident)| table.write(bit, resident));
    None
}

/// The empty slots of up to eight places, given by their first bits: bit 8 i + j for slot j of place i.
#[inline(always)]
fn vacancies(table: &PrefixTable, places: &[u32], count: u32, vectors: impl Vectors) -> u64 {
    let mut vacant = 0;
    for (i, pair) in (0..count).step_by(2).zip(places.as_chunks::<2>().0) {
        vacant |= u64::from(vectors.vacant(&table.both(*pair))) << (8 * i);
    }
    // If the number is odd, the last place was looked at in vain.
    vacant & u64::MAX >> (64 - 8 * count)
}

/// The replacements of a walk: the bit of a slot, and what was there. Most walks are short and need no allocation.
#[derive(Default)]
struct Log {
    few: [(u64, u64); 8],
    len: usize,
    more: Vec<(u64, u64)>,
}

impl Log {
    fn push(&mut self, replaced: (u64, u64)) {
        match self.few.get_mut(self.len) {
            Some(next) => *next = replaced,
            None => self.more.push(replaced),
        }
        self.len += 1;
    }

    /// Calls `act` with every replacement, the last one first.
    fn each_back(self, act: impl FnMut((u64, u64))) {
        let few = &self.few[..self.len.min(self.few.len())];
        few.iter().chain(&self.more).rev().copied().for_each(act);
    }
}
