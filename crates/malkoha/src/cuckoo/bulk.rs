//! Many keys at once: sorted roughly by place, then stored region by region inside the cache.
//!
//! ```text
//!   rounds     keys are taken an eighth of the slots at a time
//!   hashes     sorted into regions by their upper bits, which name the first place (`regions.rs`)
//!   regions    stored one after the other: offsets are local, so walks stay in the cache
//!   parts      runs of regions whose memory no other part touches; threads take parts
//!   leftovers  keys whose places or walk cross the border of a part, stored at the end
//! ```
//!
//! Regions and parts follow from the layout and the number of keys, and keys keep their order inside a region, so
//! the content does not depend on the number of threads. Every key is stored by the same steps as one by one, in
//! another order; what holds for one by one holds here.

use core::convert::Infallible;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bits::Words;
use crate::bits::cpu::Cpu;
use crate::bits::words::ROW;
use crate::engine::{Again, Copied, Counters, Many, for_each_ahead, threads};
use crate::error::{Full, FullAt};
use crate::key::KeyHash;

use super::Cuckoo;
use super::layout::CuckooLayout;
use super::place::{Homes, Place, Placement};
use super::regions::{List, MOST_REGIONS, Order, REGION_BYTES, Regions, round};
use super::row::{self, Row};
use super::table::{self, Table};
use super::walk::{End, Ground, Walk};

/// The most parts, and the fewest places that a part has for each place that offsets reach.
const MOST_PARTS: u64 = 16;
const PART_REACHES: u64 = 64;

/// The fewest places of a part: more than the margin at its end (`take_apart`) has where places are one bit
/// wide, also when its beginning is rounded up.
const LEAST_PART: u64 = 256;

/// Parts begin at multiples of this, where in every layout a word begins.
const ALIGNMENT: u64 = 64;

/// The fewest keys that are worth a thread.
const FEWEST: usize = 4096;

/// Walks without room in one part after which the filter counts as full: many more than the stash takes, and
/// than a filter that is not too full ever has.
const MOST_TIRED: u32 = 200;

/// Slices that may come in any size are sorted only for tables of at least so many bytes, if there are at least so
/// many keys, and one for so many slots: a pass through the table should not be for a few.
const SORTED_BYTES: u64 = 4 << 20;
const SORTED_KEYS: u64 = 1 << 16;
const SORTED_SHARE: u64 = 64;

/// What is done with the keys of a round that found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// Nothing: the caller undoes the whole.
    Forget,
    /// They are told, so that all others can be taken out again.
    Tell,
}

/// Some keys of a round were not stored: these, if that was to be told.
#[derive(Debug)]
struct Unstored(Vec<Copied>);

/// How a layout is cut for bulk work.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    order: Order,
    /// Where the parts after the first begin.
    begins: Vec<u64>,
}

impl Cut {
    /// The cut of a layout; `None` if keys have their places so far apart that order does not help.
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
        // Subtables are never cut in two; they may be larger than the alignment.
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

/// Rounds of equal size, of at most so many keys each.
fn rounds(keys: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let round = keys.div_ceil(keys.div_ceil(most).max(1)).max(1);
    (0..keys).step_by(round).map(move |from| from..keys.min(from + round))
}

/// A number of regions or keys, which fits the memory.
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: counts of things in memory")]
const fn index(number: u64) -> usize {
    number as usize
}

/// A part of a table: the places from `begin` to `end`, under their numbers in the whole.
#[derive(Clone, Debug)]
struct Part<T> {
    table: T,
    begin: u64,
    end: u64,
}

impl<T: Table> Part<T> {
    #[inline(always)]
    fn covers(&self, place: Place) -> bool {
        // Those before the part count as far behind it: one comparison.
        place.0.wrapping_sub(self.begin) < self.end - self.begin
    }

    /// The homes of a key under their numbers in this part; `None` if not both are in it.
    #[inline(always)]
    fn homes_inside(&self, homes: Homes) -> Option<Homes> {
        let inside = |place: Place| Place(place.0.wrapping_sub(self.begin));
        let both = self.covers(homes.first) & self.covers(homes.second);
        both.then(|| Homes { first: inside(homes.first), second: inside(homes.second), ..homes })
    }

    /// Asks for the memory of a place, if it is in this part.
    #[inline(always)]
    fn ask_for(&self, place: Place) {
        if self.covers(place) {
            table::ask_for(&self.table, Place(place.0 - self.begin));
        }
    }
}

/// What one part made of its keys.
struct Filling<T> {
    part: Part<T>,
    stored: u64,
    counters: Counters,
    leftovers: Vec<(KeyHash, u16)>,
    /// Keys for which a walk within the part found no room.
    tired: u32,
    walk: Walk,
}

impl<T: Table> Filling<T> {
    /// Stores keys as long as they and their walks stay inside the part; the others are left over. Stops if the part
    /// is too full; the rest is left over only if it is to be told.
    fn store<P: Placement>(
        &mut self,
        placement: &P,
        list: List,
        (again, refusal): (Again, Refusal),
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
                if refusal == Refusal::Tell {
                    self.leftovers.extend(list.keys().skip(i));
                }
                return;
            }
            let here = rows[i / ROW % 2].get(i % ROW);
            let Some(inside) = self.part.homes_inside(here) else {
                self.leftovers.push((hash, value));
                continue;
            };
            if again == Again::Skip && (table::holds(&self.part.table, inside) || stashed(here)) {
                // It is there.
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
                    // However often it comes, a key that is to be stored once is left over once.
                    End::Tired if again == Again::Skip && self.leftovers.contains(&(hash, value)) => {
                        continue;
                    }
                    End::Tired => self.tired += 1,
                    End::Strayed | End::Copies => {}
                }
                self.leftovers.push((hash, value));
            }
        }
    }

    /// Whether so many walks found no room that the filter counts as full.
    fn is_full(&self) -> bool {
        self.tired > MOST_TIRED
    }
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Stores keys in rounds, in the order of the table; one by one where order does not help or there is no memory
    /// for it.
    pub(super) fn insert_all(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        let room = self.layout.slots - (self.len - self.stash.len() as u64) + u64::from(self.layout.stash);
        if keys.len() as u64 > room && self.layout.subtable_bits == 0 && again == Again::Store {
            self.counters.failures += 1;
            return Err(Full);
        }
        let mut regions = Regions::default();
        let mut rest = 0..keys.len();
        if let Some(Cut { order, .. }) = Cut::new(&self.layout) {
            for round in rounds(keys.len(), order.most) {
                if regions.sort(&keys.part(round.clone()), order, threads).is_err() {
                    break;
                }
                let stored = self.insert_round(&regions, (again, Refusal::Forget), threads);
                stored.map_err(|Unstored(_)| Full)?;
                rest.start = round.end;
            }
        }
        keys.part(rest).each_chunk_on(threads, |hashes, values| match (again, values) {
            (Again::Store, []) => self.insert_batch(hashes).map_err(|FullAt { .. }| Full),
            (Again::Store, values) => for_each_ahead(self, hashes, values, |filter, hash, value| {
                let homes = filter.placement.homes(hash);
                filter.insert_at(hash, homes, value)
            }),
            (Again::Skip, _) => {
                for_each_ahead(self, hashes, &[], |filter, hash, _| filter.insert_unique(hash).map(drop))
            }
        })
    }

    /// Stores the first of these keys, at most so many, in whole rounds, and says how many. Stops before the first
    /// round in which a key finds no room; no key of that round stays.
    pub(super) fn insert_rounds(&mut self, keys: &Many, most: u64) -> usize {
        let Some(order) = self.order_of_slice(most.min(keys.len() as u64)) else { return 0 };
        let keys = keys.part(0..keys.len().min(usize::try_from(most).unwrap_or(usize::MAX)));
        let (mut regions, mut done) = (Regions::default(), 0);
        for round in rounds(keys.len(), order.most) {
            if regions.sort(&keys.part(round.clone()), order, 1).is_err() {
                break;
            }
            let counters = self.counters;
            if let Err(Unstored(unstored)) = self.insert_round(&regions, (Again::Store, Refusal::Tell), 1) {
                self.take_out(&regions, unstored);
                self.counters = counters;
                break;
            }
            done = round.end;
        }
        done
    }

    /// Removes one copy of every key with value 0, in the order of the table where that helps; returns how many were
    /// there.
    pub(super) fn remove_all(&mut self, keys: &Many) -> usize {
        let (mut regions, mut removed, mut rest) = (Regions::default(), 0, 0..keys.len());
        if let Some(order) = self.order_of_slice(keys.len() as u64) {
            for round in rounds(keys.len(), order.most) {
                if regions.sort(&keys.part(round.clone()), order, 1).is_err() {
                    break;
                }
                regions.each_list(|hashes| removed += self.remove_batch(hashes));
                rest.start = round.end;
            }
        }
        let done: Result<(), Infallible> = keys.part(rest).each_chunk(|hashes, _| {
            removed += self.remove_batch(hashes);
            Ok(())
        });
        let Ok(()) = done;
        removed
    }

    /// The order in which so many keys of a slice are best taken; `None` for the given one.
    fn order_of_slice(&self, keys: u64) -> Option<Order> {
        let few = SORTED_KEYS.max(self.layout.slots / SORTED_SHARE);
        let worthwhile = keys >= few && self.layout.bytes() >= SORTED_BYTES;
        worthwhile.then(|| Cut::new(&self.layout))?.map(|cut| cut.order)
    }

    /// Takes those keys of a round out again that were stored, though not all were. Keys that a filter cannot tell
    /// apart are one as good as the other, so that it then holds what it held before.
    fn take_out(&mut self, keys: &Regions, unstored: Vec<Copied>) {
        let mut left: HashMap<Copied, u64> = HashMap::new();
        for key in unstored {
            *left.entry(key).or_default() += 1;
        }
        for key @ (hash, value) in keys.keys() {
            match left.get_mut(&key) {
                Some(count) if *count > 0 => *count -= 1,
                _ => {
                    let removed = self.remove_at(self.placement.homes(hash), value);
                    debug_assert!(removed, "what was stored is there");
                }
            }
        }
    }

    /// Stores all keys of a round, which are sorted in the order of this layout. If some find no place, says which
    /// were not stored, if that is to be told; all others were.
    fn insert_round(
        &mut self,
        keys: &Regions,
        (again, refusal): (Again, Refusal),
        threads: usize,
    ) -> Result<(), Unstored> {
        let cut = Cut::new(&self.layout).expect("keys are in the order of this layout");
        assert_eq!(keys.parts(), cut.order.parts, "keys are in the order of this layout");
        let threads = threads.min(cut.order.parts).min(1 + keys.len() / FEWEST);
        let some_full = AtomicBool::new(false);
        let mut fillings = self.take_apart(&cut);
        threads::for_each(fillings.iter_mut().enumerate(), threads, |(part, filling)| {
            let stashed = |homes| !self.stash.is_empty() && self.stash_count(homes) > 0;
            for list in keys.of_part(part) {
                // What is going to be undone need not be done. Otherwise each part stores what it can, so that the
                // content does not depend on which of them is first.
                let undone = again == Again::Store && refusal == Refusal::Forget;
                if filling.is_full() || (undone && some_full.load(Ordering::Relaxed)) {
                    some_full.store(true, Ordering::Relaxed);
                    if refusal == Refusal::Forget {
                        return;
                    }
                    filling.leftovers.extend(list.keys());
                    continue;
                }
                let limits = (self.cpu, self.layout.max_steps);
                filling.store(&self.placement, list, (again, refusal), stashed, limits);
            }
        });
        let full = fillings.iter().any(Filling::is_full);
        let mut leftovers = Vec::new();
        let mut words = Vec::new();
        for filling in fillings {
            self.len += filling.stored;
            self.counters.add(filling.counters);
            leftovers.extend(filling.leftovers);
            words.push(filling.part.table.into_words());
        }
        self.table = self.table.with_words(Words::join(words));
        let mut left = leftovers.into_iter().chain(keys.spilled()).peekable();
        if full {
            self.counters.failures += 1;
        }
        while let Some(&(hash, value)) = left.peek().filter(|_| !full) {
            let homes = self.placement.homes(hash);
            if !(again == Again::Skip && self.holds(homes)) && self.insert_at(hash, homes, value).is_err() {
                break;
            }
            left.next();
        }
        if !full && left.peek().is_none() {
            return Ok(());
        }
        Err(Unstored(if refusal == Refusal::Tell { left.collect() } else { Vec::new() }))
    }

    /// Takes the table apart; what stays behind is a table without words.
    fn take_apart(&mut self, cut: &Cut) -> Vec<Filling<T>> {
        let stride = self.table.stride_bits();
        let cuts: Vec<usize> = cut.begins.iter().map(|begin| index(begin * stride / 64)).collect();
        let hollow = self.table.with_words(Words::zeroed(0).expect("memory for a few words"));
        let whole = core::mem::replace(&mut self.table, hollow);
        let parts =
            whole.into_words().into_parts(&cuts).into_iter().map(|words| self.table.with_words(words));
        let begins = core::iter::once(0).chain(cut.begins.iter().copied());
        // A place near the end of a part may reach into the next one, or be read together with some of it.
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

    /// The smallest offsets and the narrowest tags that a file may have: parts would be shorter than their
    /// margins.
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
