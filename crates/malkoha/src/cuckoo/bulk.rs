//! Many keys at once: roughly sorted by place, then stored region by region inside the cache.
//!
//! ```text
//!   rounds     keys are taken an eighth of the slots at a time
//!   hashes     sorted into regions by their upper bits, which name the first place (`regions.rs`)
//!   regions    stored one after the other: offsets are local, so walks stay in the cache
//!   parts      runs of regions whose memory no other part touches; threads take parts (`parts.rs`)
//!   leftovers  keys whose places or walk cross the border of a part, stored at the end
//! ```
//!
//! Regions and parts depend on the layout and the number of keys, and keys keep their order inside a region, so the
//! content does not depend on the number of threads. Every key is stored in the same way as a single key, only in
//! another order; all guarantees for single keys hold here too.

use core::convert::Infallible;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bits::Words;
use crate::engine::{Again, Copied, Many, for_each_ahead, threads};
use crate::error::{Full, FullAt};

use super::Cuckoo;
use super::parts::{Cut, Filling};
use super::place::Placement;
use super::regions::{Order, Regions};
use super::table::Table;

/// The fewest keys that are worth a thread.
const FEWEST: usize = 4096;

/// Slices of any size are sorted only if the table has at least this many bytes, and there are at least this many
/// keys and one key per this many slots: a pass through the table should not be for a few keys.
const SORTED_BYTES: u64 = 4 << 20;
const SORTED_KEYS: u64 = 1 << 16;
const SORTED_SHARE: u64 = 64;

/// What happens to keys that are present, and to the rest of a round when a key finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Every copy is stored. After a refusal the caller undoes the whole, so the rest is skipped.
    All,
    /// Every copy is stored. After a refusal the keys that were not stored are listed, so that the caller can remove
    /// the others.
    AllOrListed,
    /// Keys that are present are left out. What was stored before a refusal stays.
    Once,
    /// The bits of their values are added to those of keys that are present. What was stored before a refusal stays.
    Unite,
}

/// The keys of a round that were not stored; only [`Mode::AllOrListed`] lists them.
#[derive(Debug)]
struct Unstored(Vec<Copied>);

/// Returns rounds of equal size, of at most `most` keys each.
fn rounds(keys: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let round = keys.div_ceil(keys.div_ceil(most).max(1)).max(1);
    (0..keys).step_by(round).map(move |from| from..keys.min(from + round))
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Stores keys in rounds, in the order of the table; in the given order if sorting does not help or there is no
    /// memory for it.
    pub(super) fn insert_all(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        let room = self.layout.slots - (self.len - self.stash.len() as u64) + u64::from(self.layout.stash);
        if keys.len() as u64 > room && self.layout.subtable_bits == 0 && again == Again::Store {
            self.counters.failures += 1;
            return Err(Full);
        }
        let Some(mut loose) = self.loosened(keys.len() as u64) else {
            return self.insert_in_order(keys, again, threads);
        };
        let stored = loose.insert_in_order(keys, again, threads);
        self.tighten(loose);
        stored
    }

    fn insert_in_order(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        let mode = match again {
            Again::Store => Mode::All,
            Again::Skip => Mode::Once,
            Again::Unite => Mode::Unite,
        };
        let mut regions = Regions::default();
        let mut rest = 0..keys.len();
        if let Some(Cut { order, .. }) = Cut::new(&self.layout) {
            for round in rounds(keys.len(), order.most) {
                if regions.sort(&keys.part(round.clone()), order, threads).is_err() {
                    break;
                }
                let stored = self.insert_round(&regions, mode, threads);
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
            (Again::Unite, values) => for_each_ahead(self, hashes, values, |filter, hash, value| {
                filter.or_at(hash, filter.placement.homes(hash), value).map(drop)
            }),
        })
    }

    /// Stores the first of these keys, at most `most`, in whole rounds, and returns how many. Stops before the first
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
            if let Err(Unstored(unstored)) = self.insert_round(&regions, Mode::AllOrListed, 1) {
                self.take_out(&regions, unstored);
                self.counters = counters;
                break;
            }
            done = round.end;
        }
        done
    }

    /// Removes one copy of every key with value 0, in the order of the table if that helps; returns the number
    /// removed.
    pub(super) fn remove_all(&mut self, keys: &Many) -> usize {
        let (mut regions, mut removed, mut rest) = (Regions::default(), 0, 0..keys.len());
        if let Some(order) = self.order_of_slice(keys.len() as u64) {
            for round in rounds(keys.len(), order.most) {
                if regions.sort(&keys.part(round.clone()), order, 1).is_err() {
                    break;
                }
                regions.each_list(&mut |hashes| removed += self.remove_batch(hashes));
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

    /// Returns the best order for this many keys of a slice; `None` for the given order.
    fn order_of_slice(&self, keys: u64) -> Option<Order> {
        let few = SORTED_KEYS.max(self.layout.slots / SORTED_SHARE);
        let worthwhile = keys >= few && self.layout.bytes() >= SORTED_BYTES;
        worthwhile.then(|| Cut::new(&self.layout))?.map(|cut| cut.order)
    }

    /// Removes the stored keys of a round of which some were not stored. Keys that a filter cannot tell apart are
    /// interchangeable, so afterwards it holds what it held before.
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

    /// Stores the keys of a round, which are sorted in the order of this layout. If some find no room, the error lists
    /// those that were not stored, if the mode asks for it.
    fn insert_round(&mut self, keys: &Regions, mode: Mode, threads: usize) -> Result<(), Unstored> {
        let cut = Cut::new(&self.layout).expect("keys are in the order of this layout");
        assert_eq!(keys.parts(), cut.order.parts, "keys are in the order of this layout");
        let threads = threads.min(cut.order.parts).min(1 + keys.len() / FEWEST);
        let some_full = AtomicBool::new(false);
        let mut fillings = self.take_apart(&cut);
        threads::for_each(fillings.iter_mut().enumerate(), threads, |(part, filling)| {
            let stashed = |homes| !self.stash.is_empty() && self.stash_count(homes) > 0;
            for list in keys.of_part(part) {
                // Work that will be undone can be skipped. Otherwise each part stores what it can, so that the
                // content does not depend on which part is first.
                if filling.is_full() || (mode == Mode::All && some_full.load(Ordering::Relaxed)) {
                    some_full.store(true, Ordering::Relaxed);
                    if mode != Mode::AllOrListed {
                        return;
                    }
                    filling.leftovers.extend(list.keys());
                    continue;
                }
                let limits = (self.cpu, self.layout.max_steps);
                filling.store(&self.placement, list, mode, stashed, limits);
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
            let stored = match mode {
                Mode::Once if self.holds(homes) => Ok(()),
                Mode::Unite => self.or_at(hash, homes, value).map(drop),
                _ => self.insert_at(hash, homes, value),
            };
            if stored.is_err() {
                break;
            }
            left.next();
        }
        if !full && left.peek().is_none() {
            return Ok(());
        }
        Err(Unstored(if mode == Mode::AllOrListed { left.collect() } else { Vec::new() }))
    }
}
