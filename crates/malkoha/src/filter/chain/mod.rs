//! The chain: a filter that grows by adding larger tables.
//!
//! ```text
//!   link     1          2                  3                                    plan/growth.rs
//!         +------+ +------------+ +------------------------+
//!         | P, F | |  2P, 4F    | |         4P, 4F         |   ...   places, fingerprints
//!         +------+ +------------+ +------------------------+
//!   keys     n          2n                 4n
//! ```
//!
//! Keys go to the newest link that has room. When none has, a link is added, about twice as large and with
//! longer fingerprints, so that the rates of all links together stay below the promise. Lookups search every
//! link.
//!
//! # Why removals lose no keys
//!
//! Independent links would lose keys: on removing x, the chain may find a tag of y that looks like x in one
//! link while x itself is in another, and then no tag is left that looks like y. Here links share hash bits.
//! With signed offsets, all that a link knows about a key is its *pair*: first place and fingerprint. The
//! number of pairs of each link is a multiple of that of every older link, and a pair is the hash scaled down
//! to the number of pairs. Hence (1): keys with equal pairs in one link have equal pairs in all older links.
//!
//! Call a chain *sound* if its tags can be assigned to the stored copies of keys, one to each and none left
//! over, so that every copy gets a tag that is its own pair in that tag's link. In a sound chain every stored
//! key is found, and at least as many copies are counted as were stored. Every operation keeps a chain sound:
//!
//! - *Inserting* into any link adds one copy and one tag with its pair.
//! - *Removing* a stored x takes a tag t equal to x's pair from the newest link that has one. Let s be the
//!   tag assigned to the copy of x; its link is that of t or older. If s is t, we are done. Otherwise t was
//!   assigned to a copy of some y with the same pair in t's link. By (1), x and y have the same pair in the
//!   link of s, so s can be assigned to y.
//! - *Compacting* moves a tag to an older link, where its owner's pair follows from the tag alone, by (1).
//!
//! Copies of one key are no exception: x and y may be the same key. The argument requires that the newest
//! link is searched first: with s in a newer link than t, nothing would follow. It also requires that a tag
//! stands for one pair. With XOR placements it stands for two, so they do not grow.
//!
//! Bloom kinds remove nothing and need none of this. In them, a key that is already found is not stored
//! again.

mod join;
pub(crate) mod rules;
#[cfg(test)]
mod tests;

use crate::engine::rows::Keys;
use core::convert::Infallible;

use super::{Body, Filter};
use crate::bits::Words;
use crate::cuckoo::has_order;
use crate::engine::{
    Again, BloomEngine, Content, Copied, Counters, CuckooEngine, Engine, Fill, Flaw, Inserted, Many, Stashed,
    Values, for_each_ahead, saturating_sum,
};
use crate::error::{Error, Full, FullAt};
use crate::key::{KeyHash, KeyHasher};
use crate::plan::{Geometry, Growth, next_number};

/// The number of keys that a link can take until its share of the rate is used up.
pub(crate) fn room(link: &Filter) -> u64 {
    link.geometry().keys().saturating_sub(link.len())
}

/// Stores a key in a link if there is room.
fn insert(link: &mut Filter, hash: KeyHash) -> Result<(), Full> {
    if room(link) > 0 { link.insert(&hash) } else { Err(Full) }
}

/// The engine of a link of a cuckoo kind.
fn cuckoo(link: &Filter) -> &dyn CuckooEngine {
    link.cuckoo("be a link of tags").expect("links are of the kind of their chain")
}

fn cuckoo_mut(link: &mut Filter) -> &mut dyn CuckooEngine {
    link.cuckoo_mut("be a link of tags").expect("links are of the kind of their chain")
}

/// The engine of a link of a Bloom kind.
fn bloom(link: &Filter) -> &dyn BloomEngine {
    link.bloom("be a link of bits").expect("links are of the kind of their chain")
}

/// Looks up all hashes in several filters: all of them in the first, then in each further one those not yet
/// found.
pub(crate) fn contains_in_any<'a>(
    mut filters: impl Iterator<Item = &'a Filter>,
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    match filters.next() {
        Some(first) => first.engine().contains_batch(hashes, answers),
        None => answers.fill(false),
    }
    let mut unknown: Vec<usize> = (0..hashes.len()).filter(|i| !answers[*i]).collect();
    let (mut asked, mut found) = (Vec::new(), Vec::new());
    for filter in filters {
        asked.clear();
        asked.extend(unknown.iter().map(|&i| hashes[i]));
        found.clear();
        found.resize(asked.len(), false);
        filter.engine().contains_batch(&asked, &mut found);
        for (&i, &found) in unknown.iter().zip(&found) {
            answers[i] = found;
        }
        unknown.retain(|&i| !answers[i]);
    }
}

/// Links, oldest first; there is always at least one.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    geometry: Geometry,
    growth: Growth,
    links: Vec<Filter>,
    /// Inserts that the chain refused, and the counters of links that no longer exist.
    past: Counters,
}

impl Chain {
    /// The chain that a growing geometry describes, with one empty link.
    pub(crate) fn new(geometry: &Geometry, growth: &Growth) -> Result<Self, Error> {
        Ok(Self::of_links(geometry, growth, vec![Filter::new(geometry.first_link())?]))
    }

    /// The chain with these links, which follow from one another.
    pub(crate) fn of_links(geometry: &Geometry, growth: &Growth, links: Vec<Filter>) -> Self {
        Self { geometry: *geometry, growth: *growth, links, past: Counters::default() }
    }

    /// The body of a filter that is this chain.
    pub(crate) fn into_body(self) -> Body {
        if self.is_bloom() { Body::Bloom(Box::new(self)) } else { Body::Cuckoo(Box::new(self)) }
    }

    /// The links, oldest first.
    pub(crate) fn links(&self) -> &[Filter] {
        &self.links
    }

    fn is_bloom(&self) -> bool {
        self.geometry.kind().is_bloom()
    }

    fn newest(&mut self) -> &mut Filter {
        self.links.last_mut().expect("there is always a link")
    }

    /// Stores a key in the newest link that has room, or in a new one.
    fn store(&mut self, hash: KeyHash) -> Result<(), Full> {
        // Usually the newest has room. Older ones have room where keys were removed.
        if self.links.iter_mut().rev().any(|link| insert(link, hash).is_ok()) {
            return Ok(());
        }
        let stored = self.grow(1).and_then(|()| insert(self.newest(), hash));
        stored.inspect_err(|Full| self.past.failures += 1)
    }

    /// Adds a link with room for at least `keys` keys, if a hash has enough bits and the system enough
    /// memory. Otherwise nothing changes.
    #[cold]
    fn grow(&mut self, keys: u64) -> Result<(), Full> {
        let newest = self.newest();
        // If a link is half empty and still refuses a key, there are too many copies of that key. Without
        // this check they would add ever larger links, each for a few of them.
        if newest.len() < room(newest) {
            return Err(Full);
        }
        let last = *newest.geometry();
        let number = u32::try_from(self.links.len()).map_err(|_| Full)?;
        let taken: f64 = self.links.iter().map(|link| link.geometry().rate()).sum();
        let number = next_number(number, taken / self.geometry.rate()).ok_or(Full)?;
        for doublings in 1.. {
            let next = self.growth.next_link(&self.geometry, &last, number, doublings).map_err(|_| Full)?;
            if next.keys() >= keys {
                self.links.push(Filter::new(next).map_err(|_| Full)?);
                break;
            }
        }
        Ok(())
    }

    /// The newest link with room for at least one key, or a new one with room for all `keys` keys.
    fn link_with_room(&mut self, keys: u64) -> Result<&mut Filter, Full> {
        let at = if let Some(at) = self.links.iter().rposition(|link| room(link) > 0) {
            at
        } else {
            self.grow(keys).inspect_err(|Full| self.past.failures += 1)?;
            self.links.len() - 1
        };
        Ok(&mut self.links[at])
    }

    /// Stores all keys, or none, in a link that has room for them; returns whether it did. It does not if order does
    /// not help there, or if they are too few to justify the copy of the link that is made first.
    fn insert_in_one(link: &mut Filter, keys: &Many, threads: usize) -> bool {
        let ordered = link.geometry().cuckoo().is_some_and(has_order);
        if !ordered || (keys.len() as u64) < link.geometry().keys() / 64 {
            return false;
        }
        let copy = (!link.is_empty()).then(|| link.try_clone()).transpose();
        // Without memory for the copy, keys are stored one by one.
        let Ok(before) = copy else { return false };
        let stored = link.engine_mut().insert_many(keys, Again::Store, threads).is_ok();
        if !stored {
            match before {
                Some(before) => *link = before,
                None => link.clear(),
            }
        }
        stored
    }

    /// Moves tags from newer links to older ones that have room, oldest first, and drops links that are then
    /// empty.
    ///
    /// The hashes that a link yields lead to the same pairs as the keys themselves, in that link and hence in
    /// all older ones. No link gets more keys than its share of the rate allows, so the promise holds.
    pub(crate) fn compact(&mut self) -> u64 {
        let mut moved = 0;
        for newer in (1..self.links.len()).rev() {
            let (older, rest) = self.links.split_at_mut(newer);
            let link = &mut rest[0];
            let rooms = saturating_sum(older.iter().map(room));
            let rooms = usize::try_from(rooms).unwrap_or(usize::MAX);
            // Only as many copies are read as there is room for; a link whose keys all stay costs nothing.
            let copies: Vec<_> = cuckoo(link).copies().take(rooms).collect();
            for (hash, _) in copies {
                if older.iter_mut().any(|older| insert(older, hash).is_ok()) {
                    let taken = cuckoo_mut(link).remove(hash);
                    debug_assert!(taken, "what a link yields is there");
                    moved += 1;
                }
            }
        }
        while self.links.len() > 1 && self.newest().is_empty() {
            self.past = self.counters();
            self.links.pop();
            let past = self.past;
            self.count_on(past);
        }
        moved
    }
}

impl Engine for Chain {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        if self.is_bloom() { self.insert_unique(hash).map(|_| ()) } else { self.store(hash) }
    }

    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full> {
        if self.contains(hash) {
            return Ok(Inserted::Seen);
        }
        self.store(hash).map(|()| Inserted::Stored)
    }

    fn contains(&self, hash: KeyHash) -> bool {
        self.links.iter().rev().any(|link| link.engine().contains(hash))
    }

    fn prefetch(&self, hash: KeyHash) {
        // The newest is the largest and the first to be searched.
        if let Some(link) = self.links.last() {
            link.engine().prefetch(hash);
        }
    }

    /// Searches the newest link first, which has most of the keys.
    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        contains_in_any(self.links.iter().rev(), hashes, answers);
    }

    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        match self.links.as_slice() {
            [only] => only.engine().contains_numbers(numbers, hasher, answers),
            _ => false,
        }
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        let mut done = 0;
        for_each_ahead(self, hashes, &[], |chain, hash, _| {
            chain.insert(hash).map_err(|Full| FullAt { done })?;
            done += 1;
            Ok(())
        })
    }

    /// Stores keys link by link, as many as each has room for. If some find no place there, all of these are
    /// stored individually.
    fn insert_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        if self.is_bloom() || again != Again::Store {
            return keys.each_chunk_on(threads, |hashes, _| {
                for_each_ahead(self, hashes, &[], |chain, hash, _| chain.insert_unique(hash).map(drop))
            });
        }
        let mut done = 0;
        while done < keys.len() {
            let left = keys.len() - done;
            let link = self.link_with_room(left as u64)?;
            let room = usize::try_from(room(link)).unwrap_or(usize::MAX);
            let now = keys.part(done..done + left.min(room));
            if !Self::insert_in_one(link, &now, threads) {
                now.each_chunk_on(threads, |hashes, _| {
                    for_each_ahead(self, hashes, &[], |chain, hash, _| chain.store(hash))
                })?;
            }
            done += now.len();
        }
        Ok(())
    }
}

/// Chains have no values: every copy has value 0.
impl CuckooEngine for Chain {
    fn remove(&mut self, hash: KeyHash) -> bool {
        self.links.iter_mut().rev().any(|link| cuckoo_mut(link).remove(hash))
    }

    fn remove_many(&mut self, keys: &Many) -> usize {
        let mut removed = 0;
        let done: Result<(), Infallible> = keys.each_chunk(|hashes, _| {
            for_each_ahead(self, hashes, &[], |chain, hash, _| {
                removed += usize::from(chain.remove(hash));
                Ok(())
            })
        });
        let Ok(()) = done;
        removed
    }

    fn count(&self, hash: KeyHash) -> u32 {
        self.links.iter().map(|link| cuckoo(link).count(hash)).sum()
    }

    fn insert_value(&mut self, hash: KeyHash, value: u16) -> Result<(), Full> {
        debug_assert_eq!(value, 0, "chains have no values");
        self.store(hash)
    }

    fn values(&self, hash: KeyHash) -> Values {
        let mut values = Values::default();
        (0..self.count(hash)).for_each(|_| values.push(0));
        values
    }

    fn or_value(&mut self, hash: KeyHash, value: u16) -> Result<Inserted, Full> {
        debug_assert_eq!(value, 0, "chains have no values");
        self.insert_unique(hash)
    }

    fn unions(&self, _: Keys, unions: &mut [u16]) {
        unions.fill(0);
    }

    fn update_value(&mut self, hash: KeyHash, old: u16, new: u16) -> bool {
        debug_assert_eq!((old, new), (0, 0), "chains have no values");
        self.contains(hash)
    }

    fn remove_value(&mut self, hash: KeyHash, value: u16) -> bool {
        debug_assert_eq!(value, 0, "chains have no values");
        self.remove(hash)
    }

    fn insert_first(&mut self, _: &Many, _: u64) -> usize {
        0
    }

    fn copies(&self) -> Box<dyn Iterator<Item = Copied> + '_> {
        Box::new(self.links.iter().flat_map(|link| cuckoo(link).copies()))
    }

    fn clone_box(&self) -> Box<dyn CuckooEngine> {
        Box::new(self.clone())
    }
}

impl BloomEngine for Chain {
    fn fill(&self) -> Fill {
        let mut sum = Fill { set: 0, bits: 0, rate: 0.0 };
        for fill in self.links.iter().map(|link| bloom(link).fill()) {
            sum.set += fill.set;
            sum.bits += fill.bits;
            sum.rate += (1.0 - sum.rate) * fill.rate;
        }
        sum
    }

    fn estimate_keys(&self) -> f64 {
        self.links.iter().map(|link| bloom(link).estimate_keys()).sum()
    }

    fn merge_bits(&mut self, _: &dyn BloomEngine) {
        unreachable!("merges of growing filters are refused");
    }

    fn into_words(self: Box<Self>) -> Words {
        unreachable!("shards do not grow");
    }

    fn clone_box(&self) -> Box<dyn BloomEngine> {
        Box::new(self.clone())
    }
}

impl Content for Chain {
    fn len(&self) -> u64 {
        saturating_sum(self.links.iter().map(|link| link.engine().len()))
    }

    fn bytes(&self) -> usize {
        self.links.iter().map(|link| link.engine().bytes()).sum()
    }

    /// None of its own: they are in the links.
    fn words(&self) -> &[u64] {
        &[]
    }

    fn stash_len(&self) -> usize {
        self.links.iter().map(|link| link.engine().stash_len()).sum()
    }

    /// Empties the first link and drops all others.
    fn clear(&mut self) {
        self.past = self.counters();
        self.links.truncate(1);
        let first = self.newest();
        first.clear();
        first.engine_mut().count_on(Counters::default());
    }

    fn restore(&mut self, _: u64, _: Vec<Stashed>) {
        unreachable!("links are restored individually");
    }

    fn audit(&self) -> Result<(), Flaw> {
        self.links.iter().try_for_each(|link| link.engine().audit())
    }

    fn counters(&self) -> Counters {
        let mut sum = self.past;
        for link in &self.links {
            // What one link refuses, another takes; that is not a failure.
            sum.add(Counters { failures: 0, ..link.engine().counters() });
        }
        sum
    }

    fn count_on(&mut self, counters: Counters) {
        for link in &mut self.links {
            link.engine_mut().count_on(Counters::default());
        }
        self.past = counters;
    }
}
