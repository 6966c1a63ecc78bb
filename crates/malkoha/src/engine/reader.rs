//! Lookups in shards without their locks.
//!
//! A shard has a lock, under which its filter is changed, and a `Front`: what readers see of it without the lock. A
//! [`Reader`] looks keys up in the fronts of all shards, which have equal layouts. It writes to no memory that others
//! read. A reader that meets a writer says so, and the caller asks again, or under the lock.

use core::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rows::Keys;
use super::version::{Seen, Version};
use crate::bits::chosen::{Answerer, Chosen};
use crate::bits::shared::Shared;
use crate::bits::shared_directory::SharedDirectory;
use crate::key::KeyHash;

/// How often a reader that meets writers looks again before it takes the lock. A change of one key takes about as long
/// as a few looks; a reader that is still unlucky after so many has met a slice, or a thread that was interrupted.
const MOST_LOOKS: u32 = 32;

/// Whether a reader that saw no answer can find one without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closer {
    Answer(bool),
    /// A writer was at work in the meantime.
    Blurred,
    /// The table does not have the key, but what is kept outside the table may have it.
    Aside,
}

/// What readers see of a shard without its lock, on two cache lines of its own: processors fetch lines in pairs, and
/// a version that is written would slow down readers of its neighbours.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Front {
    version: Version,
    /// A bit for each fingerprint that is kept outside the table ([`aside_bit`]).
    aside: AtomicU64,
    /// The words of the table.
    words: Shared,
    /// What leads to the tables of a filter that grows.
    directory: Option<SharedDirectory>,
}

/// The bit that stands for a fingerprint among those outside the table.
#[inline(always)]
pub(crate) const fn aside_bit(fingerprint: u64) -> u64 {
    1 << (fingerprint % 64)
}

impl Front {
    pub(crate) fn new(words: Shared, aside: u64) -> Self {
        let version = Version::new(aside != 0);
        Self { version, aside: AtomicU64::new(aside), words, directory: None }
    }

    /// The front of a filter that grows.
    pub(crate) fn of_directory(directory: SharedDirectory) -> Self {
        Self { directory: Some(directory), ..Self::new(Shared::default(), 0) }
    }

    /// What leads to the tables of a filter that grows.
    #[inline(always)]
    pub(crate) fn directory(&self) -> Option<&SharedDirectory> {
        self.directory.as_ref()
    }

    pub(crate) fn words(&self) -> &Shared {
        &self.words
    }

    pub(crate) fn into_words(self) -> Shared {
        self.words
    }

    /// Begins a change, under the lock of the shard.
    pub(crate) fn begin(&self) {
        self.version.begin();
    }

    /// Ends a change. These fingerprints are now outside the table.
    pub(crate) fn end(&self, aside: u64) {
        if self.aside.load(Ordering::Relaxed) != aside {
            self.aside.store(aside, Ordering::Relaxed);
        }
        self.version.end(aside != 0);
    }

    #[inline(always)]
    pub(crate) fn look(&self) -> Seen {
        self.version.look()
    }

    /// Finds out more, with what is kept outside the table.
    pub(crate) fn judge_closely(&self, seen: Seen, held: bool, fingerprint: u64) -> Closer {
        let aside = self.aside.load(Ordering::Relaxed);
        Version::look_back();
        if !self.version.is_still(seen) {
            Closer::Blurred
        } else if !held && aside & aside_bit(fingerprint) != 0 {
            Closer::Aside
        } else {
            Closer::Answer(held)
        }
    }

    /// Whether a reader can trust what it read since it looked.
    #[inline(always)]
    pub(crate) fn is_still(&self, seen: Seen) -> bool {
        self.version.is_still(seen)
    }

    /// Returns 0 if a reader that looked at the front, then found a key in the table or not, and then looked back
    /// ([`Version::look_back`]) knows the answer: nothing has changed, and nothing is kept outside the table.
    #[inline(always)]
    pub(crate) fn changes(&self, seen: Seen) -> u64 {
        self.version.changes(seen)
    }
}

/// Looks keys up under the locks of their shards. Hashes are those of whole keys.
pub(crate) trait Locked: Send + Sync + fmt::Debug {
    fn contains(&self, hash: KeyHash) -> bool;
}

/// Looks keys up in the fronts of shards. Hashes are those of whole keys, which first draw a shard.
///
/// The function that looks up a single key ends itself where the key was not clear to see, by [`look_again`]. So its
/// answer is yes or no, and nobody has to compare it with a third: that took five instructions of a lookup.
pub(crate) trait Reader: Send + Sync + fmt::Debug {
    fn fronts(&self) -> &[Front];

    /// The fronts alone.
    ///
    /// # Panics
    ///
    /// If the reader has another owner.
    fn into_fronts(self: Arc<Self>) -> Box<[Front]>;

    /// What looks up a single key.
    fn look_up(self: Arc<Self>) -> Answerer;

    /// Looks up a key that was not clear to see.
    fn look_closely(&self, hash: KeyHash) -> Closer;

    /// Looks up all keys; the slices have equal lengths.
    fn contains_keys(&self, keys: Keys, answers: &mut [bool]);
}

/// Looks up a key that was not clear to see: a few times more, and then under the lock of its shard.
pub(crate) fn look_again(reader: &impl Reader, locks: &dyn Locked, hash: KeyHash) -> bool {
    for _ in 0..MOST_LOOKS {
        match reader.look_closely(hash) {
            Closer::Answer(answer) => return answer,
            Closer::Aside => break,
            Closer::Blurred => core::hint::spin_loop(),
        }
    }
    locks.contains(hash)
}

/// The only owner of a reader.
///
/// # Panics
///
/// If it has another owner.
pub(crate) fn alone<R>(reader: Arc<R>) -> R {
    Arc::into_inner(reader).expect("nobody looks up any more")
}

/// A reader that leaves all lookups to the locks.
#[derive(Debug)]
pub(crate) struct Blind {
    pub(crate) fronts: Box<[Front]>,
    pub(crate) locks: Arc<dyn Locked>,
}

impl Reader for Blind {
    fn fronts(&self) -> &[Front] {
        &self.fronts
    }

    fn into_fronts(self: Arc<Self>) -> Box<[Front]> {
        alone(self).fronts
    }

    fn look_up(self: Arc<Self>) -> Answerer {
        Answerer::new(self, Chosen::any(|reader: &Self, hash| reader.locks.contains(hash)))
    }

    fn look_closely(&self, _: KeyHash) -> Closer {
        Closer::Aside
    }

    fn contains_keys(&self, keys: Keys, answers: &mut [bool]) {
        for (i, answer) in answers.iter_mut().enumerate() {
            *answer = self.locks.contains(keys.get(i));
        }
    }
}
