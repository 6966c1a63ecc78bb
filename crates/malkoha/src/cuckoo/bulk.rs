//! Many keys at once: sorted roughly by place, then stored region by region inside the cache.
//!
//! ```text
//!   hashes     sorted into regions by their upper bits, which name the first place
//!   regions    stored one after the other: offsets are local, so walks stay in the cache
//!   parts      runs of regions whose memory no other part touches; threads take parts
//!   leftovers  keys whose places or walk cross the border of a part, stored at the end
//! ```
//!
//! Regions and parts follow from the layout alone, and keys keep their order inside a region, so the content
//! does not depend on the number of threads. Every key is stored by the same steps as one by one, in another
//! order; what holds for one by one holds here.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bits::{Words, pages};
use crate::engine::Counters;
use crate::error::Full;
use crate::key::KeyHash;
use crate::reduce::last_draw;

use super::layout::CuckooLayout;
use super::place::{Place, Placement};
use super::table::{Entry, Swap, Table};
use super::tag::Side;
use super::walk::{End, Walk};
use super::{Cuckoo, Homes};

/// Bytes of a region: with its neighbourhood it fits the L2 cache of common CPUs.
const REGION_BYTES: u64 = 256 << 10;

/// The most regions, so that the places where they are written fit the cache while keys are sorted.
const MOST_REGIONS: u64 = 4096;

/// The most parts, and the fewest places that a part has for each place that offsets reach.
const MOST_PARTS: u64 = 16;
const PART_REACHES: u64 = 64;

/// The fewest places of a part: more than the margin at its end (`take_apart`) has where places are one bit
/// wide, also when its beginning is rounded up.
const LEAST_PART: u64 = 256;

/// Parts begin at multiples of this, where in every layout a word begins.
const ALIGNMENT: u64 = 64;

/// How many keys ahead of the one that is stored the memory is asked for.
const AHEAD: usize = 16;

/// Walks without room in one part after which the filter counts as full: many more than the stash takes, and
/// than a filter that is not too full ever has.
const MOST_TIRED: u32 = 200;

/// What is done with a key that the filter already answers to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// One more copy is stored.
    Store,
    /// It is left out.
    Skip,
}

/// Hashes of keys, and the value of each; no values at all if they are all 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    pub(super) hashes: &'a [KeyHash],
    pub(super) values: &'a [u16],
    pub(super) again: Again,
}

impl Batch<'_> {
    #[inline(always)]
    fn value(&self, i: usize) -> u16 {
        self.values.get(i).copied().unwrap_or(0)
    }

    /// Those in a range.
    fn range(&self, range: core::ops::Range<usize>) -> Self {
        let values = if self.values.is_empty() { &[] } else { &self.values[range.clone()] };
        Self { hashes: &self.hashes[range], values, ..*self }
    }
}

/// How a layout is cut for bulk work.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    regions: u64,
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
        let regions = (layout.bytes() / REGION_BYTES).clamp(1, MOST_REGIONS);
        if layout.places / reach < PART_REACHES {
            return None;
        }
        let parts = (layout.places / (PART_REACHES * reach).max(LEAST_PART)).clamp(1, MOST_PARTS);
        // Subtables are never cut in two; they may be larger than the alignment.
        let step = if layout.kind.is_signed() { ALIGNMENT } else { ALIGNMENT.max(reach) };
        let begins = (1..parts).map(|i| (layout.places / parts * i).next_multiple_of(step)).collect();
        Some(Self { regions, begins })
    }

    /// Sorts hashes by region, keeping their order inside each, and their values along with them if there are
    /// any; returns where each region ends.
    fn sort(&self, batch: Batch, sorted: &mut Vec<KeyHash>, sorted_values: &mut Vec<u16>) -> Vec<usize> {
        let Batch { hashes, values, .. } = batch;
        let region = |hash: KeyHash| index(last_draw(hash.to_raw(), self.regions));
        let mut ends = vec![0usize; index(self.regions)];
        for &hash in hashes {
            ends[region(hash)] += 1;
        }
        let mut begin = 0;
        for end in &mut ends {
            begin += core::mem::replace(end, begin);
        }
        pages::resize(sorted, hashes.len(), KeyHash::from_raw(0));
        sorted_values.resize(values.len(), 0);
        for (i, &hash) in hashes.iter().enumerate() {
            let at = &mut ends[region(hash)];
            sorted[*at] = hash;
            if let Some(&value) = values.get(i) {
                sorted_values[*at] = value;
            }
            *at += 1;
        }
        ends
    }

    /// The first region of each part after the first: the one in which the part's first place lies.
    fn first_regions(&self, places: u64) -> impl Iterator<Item = usize> {
        let regions = u128::from(self.regions);
        self.begins.iter().map(move |&place| {
            #[expect(clippy::cast_possible_truncation, reason = "below the number of regions")]
            index((u128::from(place) * regions / u128::from(places)) as u64)
        })
    }
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
    fn inside(&self, entry: Entry) -> Entry {
        Entry { place: Place(entry.place.0 - self.begin), ..entry }
    }

    fn outside(&self, entry: Entry) -> Entry {
        // One who lives in the first slots may have its window begin before the part.
        Entry { place: Place(entry.place.0.wrapping_add(self.begin)), ..entry }
    }
}

impl<T: Table> Table for Part<T> {
    const VALUED: bool = T::VALUED;

    fn fits(layout: &CuckooLayout) -> bool {
        T::fits(layout)
    }

    fn new(layout: &CuckooLayout, words: Words) -> Self {
        Self { table: T::new(layout, words), begin: 0, end: layout.places }
    }

    fn holds(&self, entry: Entry) -> bool {
        self.covers(entry.place) && self.table.holds(self.inside(entry))
    }

    fn count(&self, entry: Entry) -> u32 {
        self.table.count(self.inside(entry))
    }

    #[inline(always)]
    fn slots_per_place(&self) -> u32 {
        self.table.slots_per_place()
    }

    #[inline(always)]
    fn is_windowed(&self) -> bool {
        self.table.is_windowed()
    }

    #[inline(always)]
    fn put_in_either(&mut self, entries: [Entry; 2]) -> bool {
        debug_assert!(entries.iter().all(|entry| self.covers(entry.place)), "both places are in this part");
        self.table.put_in_either(entries.map(|entry| self.inside(entry)))
    }

    #[inline(always)]
    fn put(&mut self, entry: Entry) -> bool {
        self.covers(entry.place) && self.table.put(self.inside(entry))
    }

    fn take(&mut self, entry: Entry) -> bool {
        self.covers(entry.place) && self.table.take(self.inside(entry))
    }

    fn values(&self, entry: Entry, each: impl FnMut(u16)) {
        if self.covers(entry.place) {
            self.table.values(self.inside(entry), each);
        }
    }

    fn update(&mut self, entry: Entry, value: u16) -> bool {
        self.covers(entry.place) && self.table.update(self.inside(entry), value)
    }

    #[inline(always)]
    fn resident(&self, place: Place, rank: u32) -> Entry {
        self.outside(self.table.resident(Place(place.0 - self.begin), rank))
    }

    fn entry_at(&self, slot: u64) -> Option<Entry> {
        self.table.entry_at(slot).map(|entry| self.outside(entry))
    }

    #[inline(always)]
    fn swap(&mut self, entry: Entry, rank: u32) -> (Entry, Swap) {
        let (victim, swap) = self.table.swap(self.inside(entry), rank);
        (self.outside(victim), swap)
    }

    fn undo(&mut self, swap: Swap) {
        self.table.undo(swap);
    }

    #[inline(always)]
    fn covers(&self, place: Place) -> bool {
        // Those before the part count as far behind it: one comparison.
        place.0.wrapping_sub(self.begin) < self.end - self.begin
    }

    fn stride_bits(&self) -> u64 {
        self.table.stride_bits()
    }

    fn with_words(&self, words: Words) -> Self {
        Self { table: self.table.with_words(words), ..*self }
    }

    fn into_words(self) -> Words {
        self.table.into_words()
    }

    #[inline(always)]
    fn prefetch(&self, place: Place) {
        if self.covers(place) {
            self.table.prefetch(Place(place.0 - self.begin));
        }
    }

    fn words(&self) -> &Words {
        self.table.words()
    }

    fn clear(&mut self) {
        self.table.clear();
    }
}

/// What one part made of its keys.
struct Work<T> {
    part: Part<T>,
    stored: u64,
    counters: Counters,
    leftovers: Vec<(KeyHash, u16)>,
    /// Keys for which a walk within the part found no room.
    tired: u32,
}

impl<T: Table> Work<T> {
    /// Stores keys as long as they and their walks stay inside the part; the others are left over. Gives up
    /// if so many walks found no room that the filter is too full, in this part or, as `full` tells, in
    /// another.
    fn store<P: Placement>(
        &mut self,
        placement: &P,
        batch: Batch,
        stashed: impl Fn(Homes) -> bool,
        most_steps: u32,
        full: &AtomicBool,
    ) {
        let hashes = batch.hashes;
        let mut walk = Walk::default();
        let homes = |part: &Part<T>, hash: KeyHash| {
            let (first, fingerprint) = placement.locate(hash);
            let second = placement.other(first, fingerprint, Side::First);
            part.prefetch(first);
            part.prefetch(second);
            Homes { first, second, fingerprint }
        };
        let mut ring = [Homes::NOWHERE; AHEAD];
        for (slot, &hash) in ring.iter_mut().zip(hashes) {
            *slot = homes(&self.part, hash);
        }
        for (i, &hash) in hashes.iter().enumerate() {
            let slot = &mut ring[i % AHEAD];
            let value = if T::VALUED { batch.value(i) } else { 0 };
            let here = *slot;
            let entries = [slot.with(Side::First, value), slot.with(Side::Second, value)];
            if let Some(&next) = hashes.get(i + AHEAD) {
                *slot = homes(&self.part, next);
            }
            if !self.part.covers(entries[0].place) || !self.part.covers(entries[1].place) {
                self.leftovers.push((hash, value));
            } else if batch.again == Again::Skip
                && (self.part.holds(entries[0]) || self.part.holds(entries[1]) || stashed(here))
            {
                // It is there.
            } else if self.part.put_in_either(entries) {
                self.stored += 1;
            } else {
                match walk.make_room(placement, &mut self.part, (hash, entries), most_steps) {
                    End::Room(steps) => {
                        self.counters.walked(steps);
                        self.stored += 1;
                        continue;
                    }
                    // However often it comes, a key that is to be stored once is left over once.
                    End::Tired if batch.again == Again::Skip && self.leftovers.contains(&(hash, value)) => {
                        continue;
                    }
                    End::Tired => self.tired += 1,
                    End::Strayed | End::Copies => {}
                }
                self.leftovers.push((hash, value));
                if self.tired > MOST_TIRED {
                    full.store(true, Ordering::Relaxed);
                }
                if full.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    }
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Stores all keys of a batch in the order of their places. `sorted` is room for as many hashes. `None`
    /// if the places are so far apart that their order does not help.
    ///
    /// If some key finds no place, others may have been stored: the caller must have kept the content, if
    /// that is to be restored.
    pub(super) fn insert_many(
        &mut self,
        batch: Batch,
        sorted: &mut Vec<KeyHash>,
        threads: usize,
    ) -> Option<Result<(), Full>> {
        let Batch { hashes, values, again } = batch;
        debug_assert!(values.is_empty() || values.len() == hashes.len(), "a value for each key, or none");
        let room = self.layout.slots - (self.len - self.stash.len() as u64) + u64::from(self.layout.stash);
        if hashes.len() as u64 > room && self.layout.subtable_bits == 0 && again == Again::Store {
            self.counters.failures += 1;
            return Some(Err(Full));
        }
        let cut = Cut::new(&self.layout)?;
        let mut sorted_values = Vec::new();
        let ends = cut.sort(batch, sorted, &mut sorted_values);
        let batch = Batch { hashes: sorted, values: &sorted_values, again };
        Some(self.insert_sorted(&cut, batch, &ends, threads))
    }

    /// Stores keys that are sorted by region; `ends` says where each region ends.
    fn insert_sorted(&mut self, cut: &Cut, batch: Batch, ends: &[usize], threads: usize) -> Result<(), Full> {
        let begin_of = |region: usize| if region == 0 { 0 } else { ends[region - 1] };
        let mut keys: Vec<Batch> = Vec::new();
        let mut from = 0;
        for to in cut.first_regions(self.layout.places).map(begin_of).chain([batch.hashes.len()]) {
            keys.push(batch.range(from..to));
            from = to;
        }
        let full = AtomicBool::new(false);
        let queue = Mutex::new(self.take_apart(cut).into_iter().zip(keys).enumerate());
        let done = Mutex::new(Vec::new());
        let work = || loop {
            let Some((number, (mut work, keys))) = queue.lock().expect("no thread panics").next() else {
                break;
            };
            let stashed = |homes| self.stash_count(homes) > 0;
            work.store(&self.placement, keys, stashed, self.layout.max_steps, &full);
            done.lock().expect("no thread panics").push((number, work));
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(cut.begins.len() + 1) {
                scope.spawn(work);
            }
            work();
        });
        let mut done = done.into_inner().expect("no thread panics");
        done.sort_unstable_by_key(|(number, _)| *number);
        let mut leftovers = Vec::new();
        let mut words = Vec::new();
        for (_, work) in done {
            self.len += work.stored;
            self.counters.add(work.counters);
            leftovers.extend(work.leftovers);
            words.push(work.part.into_words());
        }
        self.table = self.table.with_words(Words::join(words));
        if full.into_inner() {
            self.counters.failures += 1;
            return Err(Full);
        }
        leftovers.into_iter().try_for_each(|(hash, value)| {
            let homes = self.homes(hash);
            if batch.again == Again::Skip && self.holds(homes) {
                return Ok(());
            }
            self.insert_at(hash, homes, value)
        })
    }

    /// Takes the table apart; what stays behind is a table without words.
    fn take_apart(&mut self, cut: &Cut) -> Vec<Work<T>> {
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
            .map(|(table, (begin, end))| Work {
                part: Part { table, begin, end },
                stored: 0,
                counters: Counters::default(),
                leftovers: Vec::new(),
                tired: 0,
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
