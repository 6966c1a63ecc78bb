//! Parts of a table that threads fill in parallel.
//!
//! A layout is cut into parts (`Cut`) whose words no other part touches. Each is filled independently (`Filling`):
//! keys whose places or walks leave the part are left for the end.

use crate::bits::Words;
use crate::bits::cpu::Cpu;
use crate::bits::words::ROW;
use crate::engine::{Copied, Counters};
use crate::key::KeyHash;

use super::Cuckoo;
use super::bulk::Mode;
use super::layout::CuckooLayout;
use super::place::{Homes, Place, Placement};
use super::regions::{List, MOST_REGIONS, Order, REGION_BYTES, round};
use super::row::{self, Row};
use super::table::{self, Table};
use super::values::unite;
use super::walk::{End, Ground, Walk};

/// The most parts, and the fewest places of a part per place that offsets reach.
const MOST_PARTS: u64 = 16;
const PART_REACHES: u64 = 64;

/// The fewest places of a part: more than the margin at its end (`take_apart`), even if places are one bit wide and
/// its beginning is rounded up.
const LEAST_PART: u64 = 256;

/// Parts begin at multiples of this many places, where a word begins in every layout.
const ALIGNMENT: u64 = 64;

/// The number of failed walks in one part beyond which the filter counts as full: many more than the stash holds, and
/// than ever occur in a filter that is not too full.
const MOST_TIRED: u32 = 200;

/// How a layout is cut for bulk work.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) order: Order,
    /// Where the parts after the first begin.
    begins: Vec<u64>,
}

impl Cut {
    /// Cuts a layout; returns `None` if the places of keys are so far apart that order does not help.
    pub(super) fn new(layout: &CuckooLayout) -> Option<Self> {
        let reach = if layout.kind.is_signed() {
            layout.ring.most.max(layout.ring.group)
        } else {
            1u64.checked_shl(layout.subtable_bits).filter(|_| layout.subtable_bits > 0)?
        };
        if layout.places / reach < PART_REACHES {
            return None;
        }
        let parts = (layout.places / (PART_REACHES * reach).max(LEAST_PART)).clamp(1, MOST_PARTS);
        // Subtables are never split; they may be larger than the alignment.
        let step = if layout.kind.is_signed() { ALIGNMENT } else { ALIGNMENT.max(reach) };
        let begins = (1..parts).map(|i| (layout.places / parts * i).next_multiple_of(step)).collect();
        let order = Order {
            parts: index(parts),
            regions_of_part: index((layout.bytes() / REGION_BYTES).min(MOST_REGIONS).div_ceil(parts).max(1)),
            most: round(layout.slots),
        };
        Some(Self { order, begins })
    }
}

/// Converts a number of things that fit in memory.
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: counts of things in memory")]
const fn index(number: u64) -> usize {
    number as usize
}

/// Whether tables of this layout are better filled in the order of their places.
pub(crate) fn has_order(layout: &CuckooLayout) -> bool {
    Cut::new(layout).is_some()
}

/// A part of a table: the places from `begin` to `end`, numbered as in the whole table.
#[derive(Clone, Debug)]
pub(super) struct Part<T> {
    pub(super) table: T,
    begin: u64,
    end: u64,
}

impl<T: Table> Part<T> {
    #[inline(always)]
    fn covers(&self, place: Place) -> bool {
        // Places before the part wrap around to large numbers, so one comparison is enough.
        place.0.wrapping_sub(self.begin) < self.end - self.begin
    }

    /// Returns the homes of a key as numbered in this part; `None` unless both are in it.
    #[inline(always)]
    fn homes_inside(&self, homes: Homes) -> Option<Homes> {
        let inside = |place: Place| Place(place.0.wrapping_sub(self.begin));
        let both = self.covers(homes.first) & self.covers(homes.second);
        both.then(|| Homes { first: inside(homes.first), second: inside(homes.second), ..homes })
    }

    /// Prefetches a place if it is in this part.
    #[inline(always)]
    fn ask_for(&self, place: Place) {
        if self.covers(place) {
            table::ask_for(&self.table, Place(place.0 - self.begin));
        }
    }
}

/// A part, and what became of its keys. On cache lines of its own, as two threads fill neighbours and each key that one
/// stores is counted here: processors fetch lines in pairs.
#[repr(align(128))]
pub(super) struct Filling<T> {
    pub(super) part: Part<T>,
    pub(super) stored: u64,
    pub(super) counters: Counters,
    pub(super) leftovers: Vec<Copied>,
    /// Keys for which a walk within the part found no room.
    tired: u32,
    walk: Walk,
}

impl<T: Table> Filling<T> {
    /// Stores the keys that stay inside the part, walks included; the others are left over. Stops if the part is too
    /// full; the remaining keys are left over only with `Mode::AllOrListed`.
    pub(super) fn store<P: Placement>(
        &mut self,
        placement: &P,
        list: List,
        mode: Mode,
        stashed: impl Fn(Homes) -> bool,
        (cpu, most_steps): (Cpu, u32),
    ) {
        let mut rows = [Row::default(), Row::default()];
        let approach = |part: &Part<T>, from: usize, row: &mut Row| {
            let hashes = core::array::from_fn(|i| list.get(from + i).unwrap_or(KeyHash::from_raw(0)));
            row::find_homes(cpu, placement, &hashes, row);
            for i in 0..ROW.min(list.len() - from) {
                part.ask_for(row.get(i).first);
                part.ask_for(row.get(i).second);
            }
        };
        for (i, (hash, value)) in list.keys().enumerate() {
            if i == 0 {
                approach(&self.part, 0, &mut rows[0]);
            }
            if i % ROW == 0 && i + ROW < list.len() {
                approach(&self.part, i + ROW, &mut rows[(i / ROW + 1) % 2]);
            }
            if self.is_full() {
                if mode == Mode::AllOrListed {
                    self.leftovers.extend(list.keys().skip(i));
                }
                return;
            }
            let here = rows[i / ROW % 2].get(i % ROW);
            let Some(inside) = self.part.homes_inside(here) else {
                self.leftovers.push((hash, value));
                continue;
            };
            if mode == Mode::Once && (table::holds(&self.part.table, inside) || stashed(here)) {
                // Already stored.
            } else if mode == Mode::Unite && unite(&mut self.part.table, inside, value) {
                // Its bits are stored.
            } else if mode == Mode::Unite && stashed(here) {
                self.leftovers.push((hash, value));
            } else if self.part.table.put_in_either(inside, value) {
                self.stored += 1;
            } else {
                let key = (hash, here.both(value));
                let Part { table, begin, end } = &mut self.part;
                let ground = Ground { table, begin: *begin, end: *end };
                match self.walk.make_room(placement, ground, key, most_steps) {
                    End::Room(steps) => {
                        self.counters.walked(steps);
                        self.stored += 1;
                        continue;
                    }
                    // A key that is to be stored once is left over once, even if it is given repeatedly.
                    End::Tired if mode == Mode::Once && self.leftovers.contains(&(hash, value)) => {
                        continue;
                    }
                    End::Tired if mode == Mode::Unite && self.unite_leftover(hash, value) => continue,
                    End::Tired => self.tired += 1,
                    End::Strayed | End::Copies => {}
                }
                self.leftovers.push((hash, value));
            }
        }
    }

    /// Adds the bits of a value to those of a key that is left over; returns `false` if it is not.
    fn unite_leftover(&mut self, hash: KeyHash, value: u16) -> bool {
        let leftover = self.leftovers.iter_mut().find(|(left, _)| *left == hash);
        leftover.map(|(_, bits)| *bits |= value).is_some()
    }

    /// Returns whether so many walks failed that the filter counts as full.
    pub(super) fn is_full(&self) -> bool {
        self.tired > MOST_TIRED
    }
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Splits the table into parts, and leaves a table without words.
    pub(super) fn take_apart(&mut self, cut: &Cut) -> Vec<Filling<T>> {
        let stride = self.table.stride_bits();
        let cuts: Vec<usize> = cut.begins.iter().map(|begin| index(begin * stride / 64)).collect();
        let hollow = self.table.with_words(Words::zeroed(0).expect("memory for a few words"));
        let whole = core::mem::replace(&mut self.table, hollow);
        let parts =
            whole.into_words().into_parts(&cuts).into_iter().map(|words| self.table.with_words(words));
        let begins = core::iter::once(0).chain(cut.begins.iter().copied());
        // A place near the end of a part may extend into the next part, or be read together with bits of it.
        let margin = 128u64.div_ceil(stride) + u64::from(self.layout.slots_per_place);
        let ends = cut.begins.iter().map(|begin| begin - margin).chain([self.layout.places]);
        parts
            .zip(begins.zip(ends))
            .map(|(table, (begin, end))| Filling {
                part: Part { table, begin, end },
                stored: 0,
                counters: Counters::default(),
                leftovers: Vec::new(),
                tired: 0,
                walk: Walk::default(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Geometry, Kind, Layout, Spec};

    /// The smallest offsets and the narrowest tags that a file may have: without a lower limit, parts would be
    /// shorter than their margins.
    #[test]
    fn parts_are_longer_than_their_margins() {
        for kind in [Kind::Flexible(1), Kind::Windowed(2), Kind::Sorted] {
            let planned = Spec::new(2000, 0.5).kind(kind).plan().unwrap();
            let mut layout = *planned.cuckoo().unwrap();
            layout.ring.most = CuckooLayout::least_offset(kind);
            let places = layout.places;
            for begin in Cut::new(&layout).map_or(Vec::new(), |cut| cut.begins) {
                assert!((LEAST_PART - ALIGNMENT..=places).contains(&begin), "{kind}: {begin} of {places}");
            }
            let layout = Layout::Cuckoo(layout);
            let mut filter = crate::Filter::new(Geometry::new(500, 0.5, 0, layout)).unwrap();
            let keys: Vec<u64> = (0..500).collect();
            if filter.extend(&keys, 2).is_ok() {
                assert!(keys.iter().all(|key| filter.contains(key)), "{kind}");
            }
        }
    }
}
