//! Entries find a slot: the emptier of their two places, or a walk if both are full.

use crate::bits::cpu::{Cpu, Vectors, Work};
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

    /// Puts an entry into the table. If both places are full, others move: a walk of limited length, which is undone
    /// if it does not end at an empty slot. No others move for an entry of which copies are in the overflow. Returns
    /// the number of steps, or `None` if nothing has changed.
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
        if region.put_in_either(entry, vectors) {
            return Some(0);
        }
        // Some walk for a copy of it was in vain, and one for this copy most likely is too: 250 steps, and back.
        if region.overflow().has(entry) {
            return None;
        }
        region.cpu.run(Walk(region, entry))
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
        let key = region.approach_entry(entry);
        let random = mix(entry.place << 32 ^ entry.tag ^ u64::from(region.entries));
        let (at, content, sought) = (key.at(), region.content(entry), region.sought_of(entry));
        let (has_holes, cpu) = (region.has_holes, region.cpu);
        let steps = walk(&mut region.table, at, (content, sought), random, has_holes, cpu, vectors)?;
        region.gained(entry.tag);
        Some(steps)
    }
}

/// Makes room for an entry whose two places are full, given where they begin, what a slot of the first would contain,
/// and its tag below the highest bit of a word. A place without holes has an empty slot only if the last one is empty.
/// Returns the number of steps, or `None` if nothing has changed.
#[inline(always)]
fn walk(
    table: &mut PrefixTable,
    mut at: [u32; 2],
    (mut content, sought): (u64, u64),
    mut random: u64,
    has_holes: bool,
    cpu: Cpu,
    vectors: impl Vectors,
) -> Option<u64> {
    let mut log = Log::default();
    let form = table.form();
    let (slots, side) = (form.slots(), 1u64 << (form.tag_bits() - 1));
    // The first step looks at the residents of both places, the others at those of one.
    for step in 1..=MOST_STEPS {
        let both = table.both(at, sought);
        let (others, with_room) = vectors.others_with_room(&both);
        let mut movable = if step == 1 { with_room } else { with_room & 0xFF };
        if movable == 0 && has_holes {
            movable = with_vacant(table, &others, step == 1, cpu);
        }
        if movable != 0 {
            // The slot of the resident that moves, and where it moves.
            let number = movable.trailing_zeros();
            let (bit, other) = (both.bit(number), others[number as usize]);
            let empty = vectors.vacant(&table.both([other; 2], 0)).trailing_zeros();
            let resident = table.read(bit);
            table.write(form.slot(other.into(), empty), resident ^ side);
            table.write(bit, if number < 8 { content } else { content ^ side });
            return Some(step);
        }
        // If both places are full of the same entry, nobody can move elsewhere.
        if step == 1 && vectors.hits(&both).count_ones() == 2 * slots {
            return None;
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

/// The residents of two places, or of the first, whose other places have an empty slot. (Not inlined, so that walks in
/// tables without holes have all registers.)
#[inline(never)]
fn with_vacant(table: &PrefixTable, others: &[u32; 16], of_both: bool, cpu: Cpu) -> u32 {
    cpu.run(WithVacant { table, others, of_both })
}

struct WithVacant<'a> {
    table: &'a PrefixTable,
    others: &'a [u32; 16],
    of_both: bool,
}

impl Work for WithVacant<'_> {
    const WIDE: bool = true;
    type Output = u32;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> u32 {
        let Self { table, others, of_both } = self;
        let slots = table.form().slots();
        let numbers = (0..slots).chain((8..8 + slots).filter(|_| of_both));
        numbers.fold(0, |movable, number| {
            let place = table.both([others[number as usize]; 2], 0);
            movable | u32::from(vectors.vacant(&place) != 0) << number
        })
    }
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
