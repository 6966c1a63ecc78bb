//! The chain: a filter that grows by adding larger ones.
//!
//! ```text
//!   link     1          2                  3                                    plan.rs
//!         +------+ +------------+ +------------------------+
//!         | P, F | |  2P, 4F    | |         4P, 4F         |   ...   places, fingerprints
//!         +------+ +------------+ +------------------------+
//!   keys     n          2n                 4n
//! ```
//!
//! Keys go to the newest link that has room; when none has, a link is added, about twice as large and with
//! longer fingerprints, so that the rates of all links together stay below the promise. Lookups ask every
//! link.
//!
//! # Why removing loses nobody
//!
//! Links that are independent lose keys: asked to remove x, the chain may find a tag of y that looks like x
//! in one link while x itself lies in another, and y looks like nothing that is left. Here links share hash
//! bits. With signed offsets a link knows of a key its *pair*, first place and fingerprint, and nothing else.
//! The number of pairs of each link is a multiple of that of every older link, and a pair is the hash scaled
//! down to the number of pairs. Hence (1): keys with equal pairs in one link have equal pairs in all older
//! links.
//!
//! Call a chain *sound* if its tags can be dealt out to the stored copies of keys, one to each and none left,
//! so that every copy gets a tag that is its own pair in that tag's link. In a sound chain every stored key
//! is found, and as many copies are counted as were stored. Every operation keeps a chain sound:
//!
//! - *Insert* into any link adds one copy and one tag with its pair.
//! - *Remove* a stored x takes a tag t equal to x's pair from the newest link that has one. Let s be the tag
//!   dealt to the copy of x; its link is that of t or older. If s is t, done. Otherwise t was dealt to a copy
//!   of some y with the same pair in t's link. By (1) x and y have the same pair in the link of s, so that s
//!   can be dealt to y.
//! - *Compact* moves a tag to an older link, where its owner's pair follows from the tag alone, by (1).
//!
//! Copies of one key are no exception: x and y may be the same key. The argument needs that the newest link
//! is asked first: with s in a newer link than t nothing would follow. It needs that a tag is one pair, which
//! XOR placements do not give, where a tag stands for two; so they do not grow.
//!
//! Bloom kinds remove nothing and need none of this. There a key that is already found is not stored again.

mod join;
mod plan;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use plan::{Growth, share};
pub(crate) use store::{bytes, from_links, numbers, read, write};

use crate::bloom::Fill;
use crate::engine::{Again, Counters, Engine, Flaw, Inserted, Stashed, Unstored};
use crate::error::{Error, Full};
use crate::filter::Filter;
use crate::geometry::Geometry;
use crate::key::{KeyHash, KeyHasher};
use crate::regions::{Order, Regions};
use crate::sums::saturating_sum;

/// Keys that a link takes until its share of the rate is used up.
pub(crate) fn room(link: &Filter) -> u64 {
    link.geometry().keys().saturating_sub(link.len())
}

/// Stores a key in a link if there is room.
fn insert(link: &mut Filter, hash: KeyHash) -> Result<(), Full> {
    if room(link) > 0 { link.insert(&hash) } else { Err(Full) }
}

/// Keys that are stored in an empty link at once, at least, if it has room for them.
const FIRST_ROUND: usize = 1 << 24;

/// Whether so many keys at once are worth the copy of the link that is made first.
fn pays(link: &Filter, keys: u64) -> bool {
    keys >= link.geometry().keys() / 64
}

/// Answers for all hashes whether any of the filters holds them: asks the first filter for all, then the next
/// one for those that are still unknown.
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

/// Links, the oldest first; there is always one.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    geometry: Geometry,
    growth: Growth,
    links: Vec<Filter>,
    /// Inserts that the chain refused, and what links counted that are no more.
    past: Counters,
}

impl Chain {
    /// The chain that a growing geometry describes, with one empty link.
    pub(crate) fn new(geometry: &Geometry, growth: &Growth) -> Result<Self, Error> {
        Ok(Self::of_links(geometry, growth, vec![Filter::new(geometry.first_link())?]))
    }

    /// The chain with these links, which follow from one another.
    fn of_links(geometry: &Geometry, growth: &Growth, links: Vec<Filter>) -> Self {
        Self { geometry: *geometry, growth: *growth, links, past: Counters::default() }
    }

    fn is_bloom(&self) -> bool {
        self.geometry.kind().is_bloom()
    }

    fn newest(&mut self) -> &mut Filter {
        self.links.last_mut().expect("there is always a link")
    }

    /// Stores a key in the newest link that has room, or in a new one.
    fn store(&mut self, hash: KeyHash) -> Result<(), Full> {
        // Usually the newest has room. Older ones have where keys were removed.
        if self.links.iter_mut().rev().any(|link| insert(link, hash).is_ok()) {
            return Ok(());
        }
        let stored = self.grow(1).and_then(|()| insert(self.newest(), hash));
        stored.inspect_err(|Full| self.past.failures += 1)
    }

    /// Adds a link with room for at least so many keys, if a hash has the bits and the system the memory for
    /// it. Otherwise nothing changes.
    #[cold]
    fn grow(&mut self, keys: u64) -> Result<(), Full> {
        let newest = self.newest();
        // A link that is half empty and yet refuses a key is asked for too many copies of that key. Without
        // this, they would add ever larger links, each for a few of them.
        if newest.len() < room(newest) {
            return Err(Full);
        }
        let last = *newest.geometry();
        let number = u32::try_from(self.links.len()).map_err(|_| Full)?;
        for doublings in 1.. {
            let next = self.growth.next_link(&self.geometry, &last, number, doublings).map_err(|_| Full)?;
            if next.keys() >= keys {
                self.links.push(Filter::new(next).map_err(|_| Full)?);
                break;
            }
        }
        Ok(())
    }

    /// The newest link that has room for at least one of so many keys, or a new one that has for all.
    fn link_with_room(&mut self, keys: u64) -> Result<&mut Filter, Full> {
        let at = if let Some(at) = self.links.iter().rposition(|link| room(link) > 0) {
            at
        } else {
            self.grow(keys).inspect_err(|Full| self.past.failures += 1)?;
            self.links.len() - 1
        };
        Ok(&mut self.links[at])
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

    fn remove(&mut self, hash: KeyHash) -> Option<bool> {
        for link in self.links.iter_mut().rev() {
            if link.engine_mut().remove(hash)? {
                return Some(true);
            }
        }
        Some(false)
    }

    fn count(&self, hash: KeyHash) -> Option<u32> {
        self.links.iter().map(|link| link.engine().count(hash)).sum()
    }

    /// Asks the newest link first, which has most of the keys.
    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        contains_in_any(self.links.iter().rev(), hashes, answers);
    }

    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        match self.links.as_slice() {
            [only] => only.engine().contains_numbers(numbers, hasher, answers),
            _ => false,
        }
    }

    fn prefetch(&self, hash: KeyHash) {
        // The newest is the largest and the first to be asked.
        if let Some(link) = self.links.last() {
            link.engine().prefetch(hash);
        }
    }

    /// That of the link which the keys go to, and as many as it has room for.
    fn order(&mut self, keys: u64, again: Again) -> Result<Option<Order>, Full> {
        if self.is_bloom() || again == Again::Skip {
            return Ok(None);
        }
        let link = self.link_with_room(keys)?;
        let keys = keys.min(room(link));
        let most = usize::try_from(keys).unwrap_or(usize::MAX);
        let order =
            match pays(link, keys).then(|| link.engine_mut().order(keys, again)).transpose()?.flatten() {
                // Nothing has to be kept while the first keys are stored: the more of them, the better.
                Some(order) if link.is_empty() => Order { most: order.most.max(FIRST_ROUND), ..order },
                Some(order) => order,
                None => Order::GIVEN,
            };
        Ok(Some(Order { most: order.most.min(most), ..order }))
    }

    /// All into the link that has room for them; if some find no place there, all one by one.
    fn insert_sorted(&mut self, keys: &Regions, again: Again, threads: usize) -> Result<(), Unstored> {
        let count = keys.len() as u64;
        let none = |Full| Unstored(keys.keys().collect());
        let link = self.link_with_room(count).map_err(none)?;
        if pays(link, count) && link.engine_mut().order(count, again).map_err(none)?.is_some() {
            let before = (!link.is_empty()).then(|| link.clone());
            if link.engine_mut().insert_sorted(keys, again, threads).is_ok() {
                return Ok(());
            }
            match before {
                Some(before) => *link = before,
                None => link.clear(),
            }
        }
        let mut left = keys.keys();
        while let Some((hash, value)) = left.next() {
            if self.store(hash).is_err() {
                return Err(Unstored(core::iter::once((hash, value)).chain(left).collect()));
            }
        }
        Ok(())
    }

    /// Empties the first link and drops all others.
    fn clear(&mut self) {
        self.past = self.counters();
        self.links.truncate(1);
        let first = self.newest();
        first.clear();
        first.engine_mut().count_on(Counters::default());
    }

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

    fn restore(&mut self, _: u64, _: Vec<Stashed>) {
        unreachable!("links are restored one by one");
    }

    fn audit(&self) -> Result<(), Flaw> {
        self.links.iter().try_for_each(|link| link.engine().audit())
    }

    fn counters(&self) -> Counters {
        let mut sum = self.past;
        for link in &self.links {
            // What one link refuses another takes; that is no failure.
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

    fn clone_box(&self) -> Box<dyn Engine> {
        Box::new(self.clone())
    }

    /// Moves tags from newer links to older ones that have room, oldest first, and drops links that are empty
    /// then.
    ///
    /// The hashes that a link tells lead to the same pairs as the keys themselves, in that link and hence in
    /// all older ones. No link gets more keys than its share of the rate allows, so the promise holds.
    fn compact(&mut self) -> Option<u64> {
        if self.is_bloom() {
            return None;
        }
        let mut moved = 0;
        for newer in (1..self.links.len()).rev() {
            let (older, rest) = self.links.split_at_mut(newer);
            let link = &mut rest[0];
            let rooms = saturating_sum(older.iter().map(room));
            let rooms = usize::try_from(rooms).unwrap_or(usize::MAX);
            // Only as many are looked at as there is room for; a link whose keys all stay costs nothing.
            let copies: Vec<_> = link.engine().copies()?.take(rooms).collect();
            for (hash, _) in copies {
                if older.iter_mut().any(|older| insert(older, hash).is_ok()) {
                    let taken = link.engine_mut().remove(hash);
                    debug_assert_eq!(taken, Some(true), "what a link tells of is there");
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
        Some(moved)
    }

    fn links(&self) -> &[Filter] {
        &self.links
    }

    fn fill(&self) -> Option<Fill> {
        let mut sum = Fill { set: 0, bits: 0, rate: 0.0 };
        for link in &self.links {
            let fill = link.engine().fill()?;
            sum.set += fill.set;
            sum.bits += fill.bits;
            sum.rate += (1.0 - sum.rate) * fill.rate;
        }
        Some(sum)
    }

    fn estimate_keys(&self) -> Option<f64> {
        self.links.iter().map(|link| link.engine().estimate_keys()).sum()
    }
}
