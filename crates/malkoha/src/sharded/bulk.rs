//! Many keys by ownership: threads own shards, and take no locks.
//!
//! ```text
//!   slice    threads hash shares of the keys -> hashes in the order of shards -> threads fill whole shards
//!   stream   the caller's thread hashes keys -> a buffer for each inserter    -> bounded queues -> inserters,
//!                                                                               each with its set of shards
//! ```
//!
//! The keys of a shard arrive in their order either way, so that the content does not depend on the number of
//! threads.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::engine::Again;
use crate::error::{Full, FullAt};
use crate::filter::Filter;
use crate::key::{Key, KeyHash};
use crate::regions::round;
use crate::threads::join;

use super::batch::Batch;
use super::{Shard, Sharded, shard_of};

/// Threads beyond which none is of use, and none is started.
const MOST_THREADS: usize = 256;

/// Hashes of a buffer, and buffers that may wait for an inserter: 512 KiB for each of them.
const BUFFER: usize = 1 << 13;
const BUFFERS: usize = 8;

impl Sharded {
    /// Stores all keys of a slice on so many threads, each of which owns the shards that it fills. If one of
    /// the keys finds no room, nothing is stored.
    ///
    /// Needs room for 16 bytes for each of an eighth of the planned keys, or of 2^20 keys if that is more, and for 9 to
    /// 12 bytes for each of these that is being stored; and a second filter if this one is not empty.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).sharded(8).build()?;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// filter.extend(&keys, 2).unwrap();
    /// assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> Result<(), Full> {
        let threads = threads.clamp(1, MOST_THREADS);
        let round = round(self.geometry.keys());
        self.all_or_nothing(|filter| {
            keys.chunks(round).try_for_each(|keys| filter.store_slice(keys, threads))
        })
    }

    /// Stores all keys of a stream: the calling thread reads and hashes them, so many inserters store them,
    /// each of which owns a set of shards and is fed through a bounded queue. If one of the keys finds no
    /// room, nothing is stored, and the stream is not read to its end.
    ///
    /// Needs room for 512 KiB an inserter, and a second filter if this one is not empty.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(1000, 0.001).sharded(8).build()?;
    /// filter.extend_from_stream((0..1000u64).map(|i| i * i), 2).unwrap();
    /// assert!(filter.contains(&144u64));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend_from_stream<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        threads: usize,
    ) -> Result<(), Full> {
        self.all_or_nothing(|filter| filter.store_stream(keys.into_iter(), threads.clamp(1, MOST_THREADS)))
    }

    /// Restores the content from before if `store` fails. What happened stays counted.
    fn all_or_nothing(&mut self, store: impl FnOnce(&mut Self) -> Result<(), Full>) -> Result<(), Full> {
        // Bloom kinds never refuse.
        let restorable = self.geometry.kind().is_bloom() || self.is_empty();
        let mut before = if restorable { Vec::new() } else { self.clone().shards.into_vec() };
        store(self).inspect_err(|Full| {
            for (at, shard) in self.shards.iter_mut().enumerate() {
                let filter = shard.get_mut();
                let counters = filter.counters();
                match before.get_mut(at) {
                    Some(before) => core::mem::swap(filter, before.get_mut()),
                    None => filter.clear(),
                }
                filter.count_on(counters);
            }
        })
    }

    fn store_slice<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> Result<(), Full> {
        let (hashes, counts) = self.in_order_of_shards(keys, threads);
        // Threads that find no shard of their own help inside one.
        let within = (threads / self.shards.len()).max(1);
        let mut rest = &hashes[..];
        let work: Vec<(&mut Filter, &[KeyHash])> = self
            .shards
            .iter_mut()
            .zip(counts)
            .map(|(shard, count)| (shard.get_mut(), rest.split_off(..count).expect("all hashes are counted")))
            .filter(|(_, hashes)| !hashes.is_empty())
            .collect();
        let queue = Mutex::new(work);
        let take = || queue.lock().expect("nobody panics with it").pop();
        let fill = || {
            while let Some((filter, hashes)) = take() {
                filter.store_many((hashes, &[]), Again::Store, within).inspect_err(|Full| {
                    // Nobody needs to go on.
                    queue.lock().expect("nobody panics with it").clear();
                })?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let others: Vec<_> =
                (1..threads.min(self.geometry.shards as usize)).map(|_| scope.spawn(fill)).collect();
            let mine = fill();
            others.into_iter().map(join).fold(mine, Result::and)
        })
    }

    /// The hashes of all keys, those of one shard together and in order, and how many each shard has.
    fn in_order_of_shards<K: Key + Sync>(&self, keys: &[K], threads: usize) -> (Vec<KeyHash>, Vec<usize>) {
        let shards = self.shards.len();
        let share = keys.len().div_ceil(threads).max(BUFFER);
        let count_share = |keys: &[K]| {
            let mut counts = vec![0usize; shards];
            let hashes: Vec<KeyHash> = keys.iter().map(|key| key.hash(&self.hasher)).collect();
            for hash in &hashes {
                counts[shard_of(*hash, shards).0] += 1;
            }
            (hashes, counts)
        };
        let shares: Vec<(Vec<KeyHash>, Vec<usize>)> = thread::scope(|scope| {
            let all: Vec<_> = keys.chunks(share).map(|keys| scope.spawn(move || count_share(keys))).collect();
            all.into_iter().map(join).collect()
        });
        // A shard has the hashes of the first share, then those of the second, and so on; every share writes
        // into pieces of its own.
        let mut sorted = vec![KeyHash::from_raw(0); keys.len()];
        let mut pieces: Vec<Vec<_>> = shares.iter().map(|_| Vec::with_capacity(shards)).collect();
        let mut counts = vec![0; shards];
        let mut rest = &mut sorted[..];
        for (shard, sum) in counts.iter_mut().enumerate() {
            for ((_, counts), pieces) in shares.iter().zip(&mut pieces) {
                *sum += counts[shard];
                pieces.push(rest.split_off_mut(..counts[shard]).expect("all hashes are counted").iter_mut());
            }
        }
        thread::scope(|scope| {
            for ((hashes, _), mut pieces) in shares.iter().zip(pieces) {
                scope.spawn(move || {
                    for hash in hashes {
                        let (shard, rest) = shard_of(*hash, shards);
                        *pieces[shard].next().expect("all hashes are counted") = rest;
                    }
                });
            }
        });
        (sorted, counts)
    }

    fn store_stream<K: Key>(
        &mut self,
        mut keys: impl Iterator<Item = K>,
        threads: usize,
    ) -> Result<(), Full> {
        let hasher = self.hasher;
        let shards = self.shards.len();
        let set = shards.div_ceil(threads);
        thread::scope(|scope| {
            let mut feeds = Vec::new();
            let mut inserters = Vec::new();
            for (at, shards_of_set) in self.shards.chunks_mut(set).enumerate() {
                let (feed, queue) = sync_channel(BUFFERS);
                feeds.push((feed, Vec::with_capacity(BUFFER)));
                inserters.push(
                    scope.spawn(move || Inserter { set: shards_of_set, first: at * set, shards }.run(&queue)),
                );
            }
            let fed = keys.try_for_each(|key| {
                let hash = key.hash(&hasher);
                let (feed, buffer) = &mut feeds[shard_of(hash, shards).0 / set];
                buffer.push(hash);
                if buffer.len() < BUFFER { Ok(()) } else { send(feed, buffer) }
            });
            // If an inserter has gone, it found no room and says so when it is asked.
            let _ = fed.and_then(|()| feeds.iter_mut().try_for_each(|(feed, buffer)| send(feed, buffer)));
            drop(feeds);
            inserters.into_iter().map(join).fold(Ok(()), Result::and)
        })
    }
}

/// One who stores hashes in its own set of shards.
struct Inserter<'a> {
    set: &'a mut [Shard],
    /// The number of the set's first shard.
    first: usize,
    /// All shards.
    shards: usize,
}

impl Inserter<'_> {
    /// Stores whatever comes, until nobody feeds it any more or a key finds no room.
    fn run(self, queue: &Receiver<Vec<KeyHash>>) -> Result<(), Full> {
        let mut batch = Batch::default();
        for hashes in queue {
            batch.group(hashes.into_iter(), self.shards);
            for (shard, hashes, _) in batch.parts() {
                let filter = self.set[shard - self.first].get_mut();
                filter.insert_slice(hashes).map_err(|FullAt { .. }| Full)?;
            }
        }
        Ok(())
    }
}

/// Hands a buffer on and leaves an empty one; waits while the queue is full.
fn send(feed: &SyncSender<Vec<KeyHash>>, buffer: &mut Vec<KeyHash>) -> Result<(), Full> {
    let full = core::mem::replace(buffer, Vec::with_capacity(BUFFER));
    feed.send(full).map_err(|_| Full)
}
