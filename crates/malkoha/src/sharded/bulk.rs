//! Many keys by ownership: threads own shards, and take no locks.
//!
//! ```text
//!   slice    threads hash shares of the keys -> hashes in the order of shards -> threads fill whole shards
//!   stream   the caller's thread hashes keys -> a buffer for each inserter    -> bounded queues -> inserters,
//!                                                                               each with its set of shards
//! ```
//!
//! If the system provides no thread for some work, the calling thread does it.
//!
//! Either way, the keys of a shard arrive in order, so the content does not depend on the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::cuckoo::round;
use crate::engine::threads::{self, join, spawn};
use crate::engine::{Again, CHUNK};
use crate::error::Full;
use crate::filter::Filter;
use crate::key::{Key, KeyHash, KeyHasher};

use super::groups::Groups;
use super::{Sharded, shard_of};

/// The most threads that are of use; no more are started.
const MOST_THREADS: usize = 256;

/// Hashes per buffer, and buffers that may wait for an inserter: 512 KiB per inserter.
const BUFFER: usize = 1 << 13;
const BUFFERS: usize = 8;

impl Sharded {
    /// Stores all keys of a slice on `threads` threads, each of which owns the shards that it fills. If one
    /// of the keys finds no room, nothing is stored.
    ///
    /// Keys are stored in rounds of an eighth of the planned keys, or of 2^20 keys if that is more. Needs memory for 16
    /// bytes per key of a round, for 9 to 12 bytes per key that is being stored, and for a second filter if this one is
    /// not empty.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).sharded(8).build()?;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// filter.extend(&keys, 2)?;
    /// assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> Result<(), Full> {
        let threads = threads.clamp(1, MOST_THREADS);
        // Of a filter that grows, it is an eighth of the keys that there will be.
        let all = if self.geometry.is_growing() { self.len().saturating_add(keys.len() as u64) } else { 0 };
        let round = round(self.geometry.keys().max(all));
        let hasher = self.hasher;
        self.all_or_nothing(|filters| {
            keys.chunks(round).try_for_each(|keys| store_slice(filters, &hasher, keys, threads))
        })
    }

    /// Stores all keys of a stream: the calling thread reads and hashes them, and `threads` inserters store
    /// them. Each inserter owns a set of shards and is fed through a bounded queue. If one of the keys finds
    /// no room, nothing is stored, and the stream is not read to its end.
    ///
    /// Needs memory for 512 KiB per inserter, and for a second filter if this one is not empty.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(1000, 0.001).sharded(8).build()?;
    /// filter.extend_from_stream((0..1000u64).map(|i| i * i), 2)?;
    /// assert!(filter.contains(&144u64));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend_from_stream<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        threads: usize,
    ) -> Result<(), Full> {
        let hasher = self.hasher;
        let threads = threads.clamp(1, MOST_THREADS);
        self.all_or_nothing(|filters| store_stream(filters, &hasher, keys.into_iter(), threads))
    }

    /// Restores the previous content if `store` fails, and keeps the counters.
    fn all_or_nothing(&mut self, store: impl FnOnce(&mut [Filter]) -> Result<(), Full>) -> Result<(), Full> {
        // Bloom kinds never refuse.
        let restorable = self.geometry.kind().is_bloom() || self.is_empty();
        let mut filters = self.shards.exclusive();
        let before = if restorable { Vec::new() } else { filters.to_vec() };
        store(&mut filters).inspect_err(|Full| {
            let mut before = before.into_iter();
            for filter in filters.iter_mut() {
                let counters = filter.counters();
                match before.next() {
                    Some(before) => *filter = before,
                    None => filter.clear(),
                }
                filter.count_on(counters);
            }
        })
    }
}

/// Stores keys on threads that each own the shards that they fill.
fn store_slice<K: Key + Sync>(
    filters: &mut [Filter],
    hasher: &KeyHasher,
    keys: &[K],
    threads: usize,
) -> Result<(), Full> {
    let shards = filters.len();
    let shares = in_order_of_shards(shards, hasher, keys, threads);
    // Threads that find no shard of their own help inside one.
    let within = (threads / shards).max(1);
    let full = AtomicBool::new(false);
    threads::for_each(filters.iter_mut().enumerate(), threads.min(shards), |(shard, filter)| {
        // What is going to be undone need not be done.
        if full.load(Ordering::Relaxed) {
            return;
        }
        let hashes: Vec<KeyHash> = shares.iter().flat_map(|share| share.of(shard)).copied().collect();
        if let Err(Full) = filter.insert_many((&hashes[..], &[]), Again::Store, within) {
            full.store(true, Ordering::Relaxed);
        }
    });
    if full.into_inner() { Err(Full) } else { Ok(()) }
}

/// The hashes of a share of the keys, in the order of shards.
#[derive(Default)]
struct SortedShare {
    hashes: Vec<KeyHash>,
    /// Where the hashes of each shard end.
    ends: Vec<usize>,
}

impl SortedShare {
    /// The hashes of a shard, in the order of their keys.
    fn of(&self, shard: usize) -> &[KeyHash] {
        let begin = if shard == 0 { 0 } else { self.ends[shard - 1] };
        &self.hashes[begin..self.ends[shard]]
    }
}

/// The hashes of all keys, in shares that follow each other. Each share is sorted by the thread that hashes it, in
/// memory that no other thread has touched, so nothing is left for one thread alone.
fn in_order_of_shards<K: Key + Sync>(
    shards: usize,
    hasher: &KeyHasher,
    keys: &[K],
    threads: usize,
) -> Vec<SortedShare> {
    let size = keys.len().div_ceil(threads).max(BUFFER);
    let mut shares: Vec<_> = keys.chunks(size).map(|_| SortedShare::default()).collect();
    threads::for_each(keys.chunks(size).zip(&mut shares), threads, |(keys, share)| {
        let drawn: Vec<KeyHash> = keys.iter().map(|key| key.key_hash(hasher)).collect();
        // Here an end is where the hashes of the shard before end; placing hashes moves it to its own end.
        let mut ends = vec![0; shards + 1];
        for hash in &drawn {
            ends[shard_of(*hash, shards).0 + 1] += 1;
        }
        for shard in 1..shards {
            ends[shard] += ends[shard - 1];
        }
        ends.truncate(shards);
        let mut hashes = vec![KeyHash::from_raw(0); drawn.len()];
        for hash in drawn {
            let (shard, rest) = shard_of(hash, shards);
            hashes[ends[shard]] = rest;
            ends[shard] += 1;
        }
        *share = SortedShare { hashes, ends };
    });
    shares
}

/// Stores keys that come from a stream.
fn store_stream<K: Key>(
    filters: &mut [Filter],
    hasher: &KeyHasher,
    mut keys: impl Iterator<Item = K>,
    threads: usize,
) -> Result<(), Full> {
    let shards = filters.len();
    let size = shards.div_ceil(threads);
    let inserters: Vec<_> = (filters.chunks_mut(size).enumerate())
        .map(|(at, set)| Mutex::new(Inserter { set, first: at * size, shards, groups: Groups::default() }))
        .collect();
    thread::scope(|scope| {
        let (mut feeds, mut running) = (Vec::new(), Vec::new());
        for inserter in &inserters {
            let (queue, buffers) = sync_channel(BUFFERS);
            let thread = spawn(scope, move || buffers.iter().try_for_each(|hashes| store(inserter, hashes)));
            feeds.push(Feed { buffer: Vec::new(), inserter, queue: thread.is_some().then_some(queue) });
            running.extend(thread);
        }
        let fed = keys.try_for_each(|key| {
            let hash = key.key_hash(hasher);
            feeds[shard_of(hash, shards).0 / size].push(hash)
        });
        let fed = fed.and_then(|()| feeds.iter_mut().try_for_each(Feed::hand_on));
        drop(feeds);
        running.into_iter().map(join).fold(fed, Result::and)
    })
}

/// Fills a set of shards.
struct Inserter<'a> {
    set: &'a mut [Filter],
    /// The number of the set's first shard.
    first: usize,
    /// The number of all shards.
    shards: usize,
    groups: Groups,
}

/// Stores hashes in the shards of an inserter.
fn store(inserter: &Mutex<Inserter>, hashes: Vec<KeyHash>) -> Result<(), Full> {
    let Inserter { set, first, shards, groups } = &mut *inserter.lock().expect("no holder panics");
    groups.group(hashes.into_iter(), *shards);
    groups.parts().try_for_each(|(shard, hashes, _)| {
        // Long slices might be stored in another order, and how many keys of a shard come together depends on the threads.
        let mut chunks = hashes.chunks(CHUNK);
        chunks.try_for_each(|hashes| set[shard - *first].insert_slice(hashes).map_err(|_| Full))
    })
}

/// Hands hashes to an inserter.
struct Feed<'a> {
    buffer: Vec<KeyHash>,
    inserter: &'a Mutex<Inserter<'a>>,
    /// Leads to the thread of the inserter, if one was available.
    queue: Option<SyncSender<Vec<KeyHash>>>,
}

impl Feed<'_> {
    fn push(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.buffer.reserve_exact(BUFFER - self.buffer.len());
        self.buffer.push(hash);
        if self.buffer.len() < BUFFER { Ok(()) } else { self.hand_on() }
    }

    /// Hands the hashes of the buffer over to be stored; waits while the queue is full. If the thread is gone, some key
    /// found no room.
    fn hand_on(&mut self) -> Result<(), Full> {
        let hashes = core::mem::take(&mut self.buffer);
        match &self.queue {
            Some(queue) => queue.send(hashes).map_err(|_| Full),
            None => store(self.inserter, hashes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    #[test]
    fn inserters_without_a_thread_store_what_they_are_fed() {
        let keys = 3 * BUFFER as u64;
        let spec = Spec::new(keys, 0.01).sharded(4);
        let mut streamed = spec.build().unwrap();
        streamed.extend_from_stream(0..keys, 2).unwrap();

        let mut filter = spec.build().unwrap();
        let hasher = filter.hasher;
        let mut filters = filter.shards.exclusive();
        let shards = filters.len();
        let feed_all = |filters: &mut [Filter]| {
            let inserter = Mutex::new(Inserter { set: filters, first: 0, shards, groups: Groups::default() });
            let mut feed = Feed { buffer: Vec::new(), inserter: &inserter, queue: None };
            (0..keys).try_for_each(|key| feed.push(key.key_hash(&hasher)))?;
            feed.hand_on()
        };
        assert_eq!(feed_all(&mut filters), Ok(()));
        drop(filters);
        assert!(filter == streamed);
        assert_eq!(feed_all(&mut filter.shards.exclusive()), Err(Full), "there is no room");
    }
}
