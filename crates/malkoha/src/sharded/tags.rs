//! Shards of cuckoo kinds: lookups without locks, changes under the lock of their shard.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;

use crate::bits::shared_arena::SharedArena;
use crate::engine::reader::{Blind, Closer, Front, Reader};
use crate::engine::rows::Keys;
use crate::filter::Filter;
use crate::key::KeyHash;

use super::shard_of;

/// How often a reader that meets writers looks again before it takes the lock. A change of one key takes about as long
/// as a few looks; a reader that is still unlucky after so many has met a slice, or a thread that was interrupted.
const MOST_LOOKS: u32 = 32;

/// The panic message for a lock whose holder panicked.
const BROKEN: &str = "a thread panicked inside this shard, so its content cannot be trusted any more; rebuild the \
                      filter from its keys or load its last file";

/// The filters of all shards, each with its lock, and the reader that needs no lock.
pub(super) struct Tags {
    reader: Box<dyn Reader>,
    locks: Box<[Lock]>,
    /// Where shards grow, if they do.
    arena: Option<Arc<SharedArena>>,
}

/// The lock of one shard, on two cache lines of its own: processors fetch lines in pairs, and a lock that is taken
/// would slow down its neighbours.
#[repr(align(128))]
pub(super) struct Lock(RwLock<Filter>);

impl Tags {
    /// Makes shards of filters of equal geometry.
    pub(super) fn new(mut filters: Vec<Filter>) -> Self {
        let mut arena = filters.iter().find_map(|filter| filter.arena().cloned());
        if let Some(arena) = &arena {
            // There are no readers yet.
            arena.trim();
        }
        let fronts: Box<[Front]> = filters.iter_mut().map(|filter| filter.front(&mut arena)).collect();
        let reader = match filters.first() {
            Some(filter) => filter.reader(fronts),
            None => Box::new(Blind(fronts)),
        };
        let locks = filters.into_iter().map(|filter| Lock(RwLock::new(filter))).collect();
        Self { reader, locks, arena }
    }

    /// The filters alone.
    pub(super) fn into_filters(self) -> Vec<Filter> {
        let fronts = self.reader.into_fronts();
        let filters = self.locks.into_iter().zip(fronts).map(|(lock, front)| {
            let mut filter = lock.0.into_inner().expect(BROKEN);
            filter.take_back(front.into_words());
            filter
        });
        filters.collect()
    }

    pub(super) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Bytes of memory that shards which grow have at hand.
    pub(super) fn spare_bytes(&self) -> u64 {
        self.arena.as_ref().map_or(0, |arena| arena.free_bytes() as u64)
    }

    /// # Panics
    ///
    /// If a thread panicked inside a shard.
    pub(super) fn check(&self) {
        assert!(!self.locks.iter().any(|lock| lock.0.is_poisoned()), "{BROKEN}");
    }

    /// The filter of a shard, to be read: writers wait.
    pub(super) fn read(&self, shard: usize) -> RwLockReadGuard<'_, Filter> {
        self.locks[shard].0.read().expect(BROKEN)
    }

    /// The filter of a shard, to be changed.
    pub(super) fn write(&self, shard: usize) -> Change<'_> {
        Change::new(&self.locks[shard], &self.reader.fronts()[shard])
    }

    /// Whether the shard of a key may hold it.
    #[inline]
    pub(super) fn contains(&self, hash: KeyHash) -> bool {
        self.reader.contains(hash).answer().unwrap_or_else(|| self.look_closely(hash))
    }

    /// Looks up a key that was not clear to see.
    #[cold]
    fn look_closely(&self, hash: KeyHash) -> bool {
        for _ in 0..MOST_LOOKS {
            match self.reader.look_closely(hash) {
                Closer::Answer(answer) => return answer,
                Closer::Aside => break,
                Closer::Blurred => core::hint::spin_loop(),
            }
        }
        self.ask(hash)
    }

    /// Looks a key up under the lock of its shard.
    fn ask(&self, hash: KeyHash) -> bool {
        let (shard, hash) = shard_of(hash, self.len());
        self.read(shard).contains(&hash)
    }

    /// Looks up all keys; the slices have equal lengths.
    pub(super) fn contains_keys(&self, keys: Keys, answers: &mut [bool]) {
        let mut unclear = Vec::new();
        self.reader.contains_keys(keys, answers, &mut |at| unclear.push(at));
        for at in unclear {
            answers[at] = self.contains(keys.get(at));
        }
    }
}

/// A shard that a thread changes. Readers without locks do not trust what they see until it is dropped.
pub(super) struct Change<'a> {
    filter: RwLockWriteGuard<'a, Filter>,
    front: &'a Front,
    /// The thread was panicking already when the change began.
    was_panicking: bool,
}

impl<'a> Change<'a> {
    fn new(lock: &'a Lock, front: &'a Front) -> Self {
        let filter = lock.0.write().expect(BROKEN);
        front.begin();
        Self { filter, front, was_panicking: thread::panicking() }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        // After a panic the change never ends: readers go to the lock, which is broken.
        if thread::panicking() == self.was_panicking {
            self.filter.end_change(self.front);
        }
    }
}

impl Deref for Change<'_> {
    type Target = Filter;

    fn deref(&self) -> &Filter {
        &self.filter
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tags").field("shards", &self.len()).finish_non_exhaustive()
    }
}
