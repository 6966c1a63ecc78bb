//! Shards of cuckoo kinds: lookups without locks, changes under the lock of their shard.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;

use crate::bits::chosen::Answerer;
use crate::bits::shared_arena::SharedArena;
use crate::engine::reader::{Blind, Front, Locked, Reader, alone};
use crate::engine::rows::Keys;
use crate::filter::Filter;
use crate::key::KeyHash;

use super::shard_of;

/// The panic message for a lock whose holder panicked.
const BROKEN: &str = "a thread panicked inside this shard, so its content cannot be trusted any more; rebuild the \
                      filter from its keys or load its last file";

/// The filters of all shards, each with its lock, and the reader that needs no lock.
pub(super) struct Tags {
    /// What looks up a single key, in `reader`.
    look_up: Answerer,
    reader: Arc<dyn Reader>,
    locks: Arc<Locks>,
    /// Where shards grow, if they do.
    arena: Option<Arc<SharedArena>>,
}

/// The locks of all shards, under which their filters are.
struct Locks(Box<[Lock]>);

impl Locks {
    /// The filter of a shard, to be read: writers wait.
    fn read(&self, shard: usize) -> RwLockReadGuard<'_, Filter> {
        self.0[shard].0.read().expect(BROKEN)
    }
}

impl Locked for Locks {
    fn contains(&self, hash: KeyHash) -> bool {
        let (shard, hash) = shard_of(hash, self.0.len());
        self.read(shard).contains(&hash)
    }
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
        let locks = Locks(filters.into_iter().map(|filter| Lock(RwLock::new(filter))).collect());
        let locks = Arc::new(locks);
        let reader = if locks.0.is_empty() {
            Arc::new(Blind { fronts, locks: locks.clone() })
        } else {
            locks.read(0).reader(fronts, locks.clone())
        };
        Self { look_up: Arc::clone(&reader).look_up(), reader, locks, arena }
    }

    /// The filters alone.
    pub(super) fn into_filters(self) -> Vec<Filter> {
        let Self { look_up, reader, locks, .. } = self;
        drop(look_up);
        let fronts = reader.into_fronts();
        let locks = alone(locks).0;
        let filters = locks.into_iter().zip(fronts).map(|(lock, front)| {
            let mut filter = lock.0.into_inner().expect(BROKEN);
            filter.take_back(front.into_words());
            filter
        });
        filters.collect()
    }

    pub(super) fn len(&self) -> usize {
        self.locks.0.len()
    }

    /// Bytes of memory that shards which grow have at hand.
    pub(super) fn spare_bytes(&self) -> u64 {
        self.arena.as_ref().map_or(0, |arena| arena.free_bytes() as u64)
    }

    /// # Panics
    ///
    /// If a thread panicked inside a shard.
    pub(super) fn check(&self) {
        assert!(!self.locks.0.iter().any(|lock| lock.0.is_poisoned()), "{BROKEN}");
    }

    /// The filter of a shard, to be read: writers wait.
    pub(super) fn read(&self, shard: usize) -> RwLockReadGuard<'_, Filter> {
        self.locks.read(shard)
    }

    /// The filter of a shard, to be changed.
    pub(super) fn write(&self, shard: usize) -> Change<'_> {
        Change::new(&self.locks.0[shard], &self.reader.fronts()[shard])
    }

    /// Whether the shard of a key may hold it.
    #[inline]
    pub(super) fn contains(&self, hash: KeyHash) -> bool {
        self.look_up.ask(hash)
    }

    /// Looks up all keys; the slices have equal lengths.
    pub(super) fn contains_keys(&self, keys: Keys, answers: &mut [bool]) {
        self.reader.contains_keys(keys, answers);
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

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locks").field("shards", &self.0.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tags").field("shards", &self.len()).finish_non_exhaustive()
    }
}
