//! `Elastic` as an engine.

use core::convert::Infallible;

use std::sync::Arc;

use crate::bits::shared_arena::SharedArena;
use crate::engine::reader::{Front, Locked, Reader};
use crate::engine::rows::Keys;
use crate::engine::{
    Again, Content, Copied, Counters, CuckooEngine, Engine, Flaw, Inserted, Many, Stashed, Values,
    for_each_ahead,
};
use crate::error::{Full, FullAt};
use crate::key::{KeyHash, KeyHasher};

use super::Elastic;
use super::shared::ElasticReader;

/// The most copies with equal values that are listed. (A file can claim more than memory holds.)
const MOST_EQUAL: u64 = 1 << 16;

impl Content for Elastic {
    fn len(&self) -> u64 {
        self.len
    }

    fn bytes(&self) -> usize {
        self.memory()
    }

    /// There is no single table; `store/elastic.rs` reads and writes the regions.
    fn words(&self) -> &[u64] {
        &[]
    }

    fn clear(&mut self) {
        self.reset();
    }

    fn restore(&mut self, _: u64, _: Vec<Stashed>) {
        unreachable!("regions are read by `store/elastic.rs`");
    }

    /// Regions are verified when they are read.
    fn audit(&self) -> Result<(), Flaw> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn count_on(&mut self, counters: Counters) {
        self.counters = counters;
    }
}

impl Engine for Elastic {
    #[inline]
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.store(hash, 0)
    }

    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full> {
        if self.contains(hash) {
            return Ok(Inserted::Seen);
        }
        self.store(hash, 0).map(|()| Inserted::Stored)
    }

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        self.lookup.ask(self, hash)
    }

    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        self.region(hash).approach(hash).prefetch();
    }

    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.look_up(Keys::Hashes(hashes), answers);
    }

    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        self.look_up(Keys::Numbers(numbers, hasher), answers);
        true
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        let mut done = 0;
        for_each_ahead(self, hashes, &[], |elastic, hash, _| {
            elastic.store(hash, 0).map_err(|Full| FullAt { done })?;
            done += 1;
            Ok(())
        })
    }

    fn insert_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        self.store_many(keys, again, threads)
    }
}

impl CuckooEngine for Elastic {
    fn remove(&mut self, hash: KeyHash) -> bool {
        self.remove_one(hash, 0)
    }

    fn remove_many(&mut self, keys: &Many) -> usize {
        let mut removed = 0;
        let done: Result<(), Infallible> = keys.each_chunk(|hashes, _| {
            for_each_ahead(self, hashes, &[], |elastic, hash, _| {
                removed += usize::from(elastic.remove_one(hash, 0));
                Ok(())
            })
        });
        let Ok(()) = done;
        removed
    }

    fn count(&self, hash: KeyHash) -> u32 {
        let mut count = 0u64;
        self.region(hash).each_copy(hash, |_, copies| count = count.saturating_add(copies));
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn insert_value(&mut self, hash: KeyHash, value: u16) -> Result<(), Full> {
        self.store(hash, value)
    }

    fn values(&self, hash: KeyHash) -> Values {
        let mut values = Values::default();
        self.region(hash).each_copy(hash, |value, copies| {
            (0..copies.min(MOST_EQUAL)).for_each(|_| values.push(value));
        });
        values.sort();
        values
    }

    fn or_value(&mut self, hash: KeyHash, value: u16) -> Result<Inserted, Full> {
        let at = self.region_of(hash);
        if self.regions[at].unite(hash, value)? {
            return Ok(Inserted::Seen);
        }
        self.store(hash, value).map(|()| Inserted::Stored)
    }

    fn unions(&self, keys: Keys, unions: &mut [u16]) {
        self.unite_rows(keys, unions);
    }

    fn update_value(&mut self, hash: KeyHash, old: u16, new: u16) -> bool {
        let at = self.region_of(hash);
        // Without memory, nothing has changed; the caller cannot tell that from a key that is not there.
        self.regions[at].update(hash, old, new).unwrap_or(false)
    }

    fn remove_value(&mut self, hash: KeyHash, value: u16) -> bool {
        self.remove_one(hash, value)
    }

    fn insert_first(&mut self, keys: &Many, _: u64) -> usize {
        self.store_first(keys)
    }

    fn front(&mut self, arena: &mut Option<Arc<SharedArena>>) -> Front {
        self.open_front(arena)
    }

    fn arena(&self) -> Option<&Arc<SharedArena>> {
        self.regions.iter().find_map(super::Region::arena)
    }

    fn end_change(&mut self, front: &Front) {
        self.show(front);
        front.end(0);
    }

    fn reader(&self, fronts: Box<[Front]>, locks: Arc<dyn Locked>) -> Arc<dyn Reader> {
        Arc::new(ElasticReader::new(self.cpu, fronts, locks))
    }

    fn copies(&self) -> Box<dyn Iterator<Item = Copied> + '_> {
        Box::new(self.in_order().flat_map(super::Region::copies))
    }

    fn clone_box(&self) -> Box<dyn CuckooEngine> {
        Box::new(self.clone())
    }
}
