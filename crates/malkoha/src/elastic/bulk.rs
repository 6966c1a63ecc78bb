//! Many keys at once: sorted by region, then stored region by region inside the cache.
//!
//! ```text
//!   rounds    keys are taken a sixteenth of all keys at a time
//!   lists     one per region: the keys of a round in their order
//!   regions   filled one by one, on several threads: a region that grows becomes a list of regions
//! ```
//!
//! If all keys of a call will be stored, a region grows at once to the size that it will need. The content depends on
//! the keys and their order, not on the number of threads.

use core::convert::Infallible;
use std::collections::HashMap;

use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::engine::{Again, Copied, Counters, CuckooEngine, MOST_COPIES, Many, for_each_ahead, threads};
use crate::error::Full;
use crate::key::KeyHash;

use super::directory::{Elastic, MOST_EXCESS};
use super::growth::{self, Grown, Step};
use super::layout::{ElasticLayout, MOST_SLOTS, limit};
use super::region::Region;

/// Fewer keys are stored one by one.
const FEW: usize = 1 << 12;

/// Keys of a round: at least so many, and this part of all keys.
const LEAST_ROUND: usize = 1 << 20;
const ROUNDS: u64 = 16;

/// Entries of a region, about: as many as it has before it is split for the first time.
const REGION_ENTRIES_LOG2: u32 = 15;

/// Keys in the order of the regions that they belong to.
struct Lists {
    hashes: Vec<u64>,
    /// One for each key, or none.
    values: Vec<u16>,
    /// Where the list of each region ends.
    ends: Vec<usize>,
}

/// Some keys, each with a value unless there are none.
#[derive(Clone, Copy)]
struct List<'a> {
    hashes: &'a [u64],
    values: &'a [u16],
}

impl List<'_> {
    #[inline(always)]
    fn get(&self, i: usize) -> Copied {
        (KeyHash::from_raw(self.hashes[i]), self.values.get(i).copied().unwrap_or(0))
    }
}

impl Lists {
    /// Sorts keys; `None` if the system has no memory for it.
    fn sort(elastic: &Elastic, keys: &Many, threads: usize) -> Option<Self> {
        let (mut all, mut all_values) = (Vec::new(), Vec::new());
        let mut sorted =
            Self { hashes: Vec::new(), values: Vec::new(), ends: vec![0; elastic.regions.len()] };
        let values = if keys.has_values() { keys.len() } else { 0 };
        all.try_reserve_exact(keys.len()).ok()?;
        all_values.try_reserve_exact(values).ok()?;
        sorted.hashes.try_reserve_exact(keys.len()).ok()?;
        sorted.values.try_reserve_exact(values).ok()?;
        let hashed: Result<(), Infallible> = keys.each_chunk_on(threads, |hashes, values| {
            for hash in hashes {
                sorted.ends[elastic.region_of(*hash)] += 1;
            }
            all.extend(hashes.iter().map(|hash| hash.to_raw()));
            all_values.extend_from_slice(values);
            Ok(())
        });
        let Ok(()) = hashed;
        // Each end moves from the start of its list to the end while the list is filled.
        let mut begin = 0;
        for end in &mut sorted.ends {
            (*end, begin) = (begin, begin + *end);
        }
        sorted.hashes.resize(all.len(), 0);
        sorted.values.resize(all_values.len(), 0);
        for (i, hash) in all.into_iter().enumerate() {
            let end = &mut sorted.ends[elastic.region_of(KeyHash::from_raw(hash))];
            sorted.hashes[*end] = hash;
            if let Some(value) = all_values.get(i) {
                sorted.values[*end] = *value;
            }
            *end += 1;
        }
        Some(sorted)
    }

    fn all(&self) -> List<'_> {
        List { hashes: &self.hashes, values: &self.values }
    }

    /// The list of each region, in order.
    fn each(&self) -> impl Iterator<Item = List<'_>> + Send {
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| List {
            hashes: &self.hashes[begin..end],
            values: self.values.get(begin..end).unwrap_or(&[]),
        })
    }
}

/// What filling needs to know.
#[derive(Clone, Copy)]
struct Plan<'a> {
    layout: &'a ElasticLayout,
    again: Again,
    cpu: Cpu,
    /// Keys of this call that are still to be stored, in all regions, if all of them will be.
    coming: u64,
    /// The depth beyond which regions are not split.
    deepest: u32,
}

/// A region and what becomes of it.
#[derive(Default)]
struct Filling {
    regions: Vec<Region>,
    stored: u64,
    grown: u64,
    counters: Counters,
    unstored: Vec<Copied>,
}

/// Stores keys from `from` on as long as they find an empty slot; returns the number of the first that does not, and
/// counts those stored.
struct StoreSome<'a>(&'a mut Region, List<'a>, usize, Again, &'a mut u64);

impl Work for StoreSome<'_> {
    const WIDE: bool = true;
    type Output = usize;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> usize {
        let Self(region, list, from, again, stored) = self;
        for i in from..list.hashes.len() {
            let (hash, value) = list.get(i);
            let is_done = match again {
                Again::Store => false,
                Again::Skip => region.holds(hash, vectors),
                // Without memory for that, an entry of its own has these bits.
                Again::Unite => region.unite(hash, value) == Ok(true),
            };
            if is_done {
                continue;
            }
            if region.entries >= region.most || !region.put_in_either(region.entry(hash, value), vectors) {
                return i;
            }
            *stored += 1;
        }
        list.hashes.len()
    }
}

/// One step from a region to one that takes as many entries as expected: wide enough, or else doubled.
pub(super) fn towards(
    region: &Region,
    expected: f64,
    layout: &ElasticLayout,
    deepest: u32,
) -> Result<Grown, Full> {
    let shape = region.shape();
    let fits = |slots: &u32| expected <= f64::from(limit(shape.places, *slots));
    match (shape.slots + 1..=MOST_SLOTS).find(fits) {
        Some(slots) => growth::widened(region, layout, slots).map(Grown::One),
        None if shape.depth > deepest => Err(Full),
        None => growth::doubled(region, layout),
    }
}

impl Filling {
    /// Fills a region with a list of keys. If it splits, the rest of the list is divided.
    fn fill(&mut self, mut region: Region, list: List, plan: Plan) {
        match self.prepare(region, list, plan) {
            Grown::One(one) => region = one,
            Grown::Two(two) => return self.fill_two(two, list, 0, plan),
        }
        let mut done = 0;
        loop {
            done = plan.cpu.run(StoreSome(&mut region, list, done, plan.again, &mut self.stored));
            if done == list.hashes.len() {
                return self.regions.push(region);
            }
            let (hash, value) = list.get(done);
            match growth::store_or_grow(&mut region, (hash, value), plan.layout, plan.deepest) {
                Ok(Step::Stored(steps)) => {
                    self.counters.walked(steps);
                    self.stored += 1;
                    done += 1;
                }
                Ok(Step::Grown(Grown::One(larger))) => {
                    self.grown += 1;
                    region = larger;
                }
                Ok(Step::Grown(Grown::Two(two))) => {
                    self.grown += 1;
                    return self.fill_two(two, list, done, plan);
                }
                Err(Full) => {
                    self.counters.failures += 1;
                    self.unstored.push((hash, value));
                    done += 1;
                }
            }
        }
    }

    /// Makes a region as large as it will have to be.
    fn prepare(&mut self, mut region: Region, list: List, plan: Plan) -> Grown {
        let shape = region.shape();
        let coming = (plan.coming as f64 * (-f64::from(shape.depth)).exp2()).max(list.hashes.len() as f64);
        let expected = f64::from(region.entries) + coming;
        while plan.again == Again::Store && expected > f64::from(region.most) {
            match towards(&region, expected, plan.layout, plan.deepest) {
                Ok(Grown::One(larger)) => {
                    self.grown += 1;
                    region = larger;
                }
                Ok(two) => {
                    self.grown += 1;
                    return two;
                }
                Err(Full) => break,
            }
        }
        Grown::One(region)
    }

    /// Fills two regions with the keys from `from` on.
    fn fill_two(&mut self, two: [Region; 2], list: List, from: usize, plan: Plan) {
        let bit = 64 - two[0].shape().depth;
        let mut halves = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
        for i in from..list.hashes.len() {
            let half = &mut halves[usize::from(list.hashes[i] >> bit & 1 == 1)];
            half.0.push(list.hashes[i]);
            half.1.extend(list.values.get(i));
        }
        for (region, (hashes, values)) in two.into_iter().zip(halves) {
            self.fill(region, List { hashes: &hashes, values: &values }, plan);
        }
    }
}

impl Elastic {
    /// Stores keys in rounds, in the order of the regions; in the given order if they are few or there is no memory to
    /// sort them.
    pub(super) fn store_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        let mut done = 0;
        while let Some(lists) = self.next_round(keys, done, threads) {
            let coming = keys.len() - done;
            done += lists.hashes.len();
            if !self.store_round(&lists, again, coming, threads).is_empty() {
                return Err(Full);
            }
        }
        keys.part(done..keys.len()).each_chunk_on(threads, |hashes, values| {
            for_each_ahead(self, hashes, values, |elastic, hash, value| match again {
                Again::Skip if elastic.lookup.ask(elastic, hash) => Ok(()),
                Again::Unite => elastic.or_value(hash, value).map(drop),
                _ => elastic.store(hash, value),
            })
        })
    }

    /// Stores the first of these keys in whole rounds; returns how many. Stops before a round in which a key finds no
    /// room, and stores none of that round.
    pub(super) fn store_first(&mut self, keys: &Many) -> usize {
        let mut done = 0;
        while let Some(lists) = self.next_round(keys, done, 1) {
            let unstored = self.store_round(&lists, Again::Store, keys.len() - done, 1);
            if !unstored.is_empty() {
                self.take_out(lists.all(), unstored);
                break;
            }
            done += lists.hashes.len();
        }
        done
    }

    /// Sorts the keys of the round after the first `done` keys, if they are many, but not more than can be counted.
    fn next_round(&mut self, keys: &Many, done: usize, threads: usize) -> Option<Lists> {
        let all = self.len.saturating_add(keys.len() as u64);
        if all > MOST_COPIES {
            return None;
        }
        let round = usize::try_from(all / ROUNDS).unwrap_or(usize::MAX).max(LEAST_ROUND);
        let keys = keys.part(done..keys.len().min(done.saturating_add(round)));
        if keys.len() < FEW {
            return None;
        }
        self.sort_regions();
        Lists::sort(self, &keys, threads)
    }

    /// Stores the keys of a round; returns those without room.
    fn store_round(&mut self, lists: &Lists, again: Again, coming: usize, threads: usize) -> Vec<Copied> {
        let coming = if again == Again::Store { coming as u64 } else { 0 };
        let regions = (self.regions.len() as u64).max((self.len + coming) >> REGION_ENTRIES_LOG2);
        let layout = self.layout;
        let deepest = regions.ilog2() + MOST_EXCESS;
        let plan = Plan { layout: &layout, again, cpu: self.cpu, coming, deepest };
        let mut fillings: Vec<Filling> = (0..self.regions.len()).map(|_| Filling::default()).collect();
        let regions = core::mem::take(&mut self.regions);
        let work = fillings.iter_mut().zip(regions).zip(lists.each());
        threads::for_each(work, threads, |((filling, region), list)| filling.fill(region, list, plan));
        let mut unstored = Vec::new();
        for filling in fillings {
            self.regions.extend(filling.regions);
            self.len += filling.stored;
            self.counters.add(filling.counters);
            self.count_grown(filling.grown);
            unstored.extend(filling.unstored);
        }
        self.lead();
        unstored
    }

    /// Removes the keys of a round of which some were not stored.
    fn take_out(&mut self, keys: List, unstored: Vec<Copied>) {
        let mut left: HashMap<Copied, u64> = HashMap::new();
        for key in unstored {
            *left.entry(key).or_default() += 1;
        }
        for i in 0..keys.hashes.len() {
            let key @ (hash, value) = keys.get(i);
            match left.get_mut(&key) {
                Some(count) if *count > 0 => *count -= 1,
                _ => {
                    let removed = self.remove_one(hash, value);
                    debug_assert!(removed, "what was stored is there");
                }
            }
        }
    }
}
