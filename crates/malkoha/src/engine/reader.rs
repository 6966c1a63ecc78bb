//! Lookups in shards without their locks.
//!
//! A shard has a lock, under which its filter is changed, and a `Front`: what readers see of it without the lock. A
//! [`Reader`] looks keys up in the fronts of all shards, which have equal layouts. It writes to no memory that others
//! read. A reader that meets a writer says so, and the caller asks again, or under the lock.

use core::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rows::Keys;
use super::version::{Seen, Version};
use crate::bits::shared::Shared;
use crate::bits::shared_directory::SharedDirectory;
use crate::key::KeyHash;

/// What a reader found out without a lock: 1 if a key is present, 0 if it is absent, more if that is not certain. A
/// number, not an enumeration: whether a key is present cannot be predicted, so no branch may depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight(u8);

impl Sight {
    /// The key has to be asked for again, or under the lock.
    pub(crate) const UNCLEAR: Self = Self(2);

    /// Whether the key is present, if that is certain.
    #[inline(always)]
    pub(crate) fn answer(self) -> Option<bool> {
        (self.0 < Self::UNCLEAR.0).then_some(self.0 == 1)
    }
}

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

    /// What a reader knows that looked at the front, then found a key in the table or not, and then looked back
    /// ([`Version::look_back`]). If something is kept outside the table, this is not clear.
    #[inline(always)]
    pub(crate) fn judge(&self, seen: Seen, held: bool) -> Sight {
        let found = u8::from(held);
        if self.version.changes(seen) == 0 { Sight(found) } else { Sight::UNCLEAR }
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

    /// Returns 0 if [`judge`](Self::judge) would trust the table.
    #[inline(always)]
    pub(crate) fn changes(&self, seen: Seen) -> u64 {
        self.version.changes(seen)
    }
}

/// Looks keys up in the fronts of shards. Hashes are those of whole keys, which first draw a shard.
pub(crate) trait Reader: Send + Sync + fmt::Debug {
    fn fronts(&self) -> &[Front];
    fn into_fronts(self: Box<Self>) -> Box<[Front]>;

    fn contains(&self, hash: KeyHash) -> Sight;

    /// Looks up a key that was not clear to see.
    fn look_closely(&self, hash: KeyHash) -> Closer;

    /// Looks up all keys; the slices have equal lengths. Calls `unclear` with the index of every key that has to be
    /// asked again.
    fn contains_keys(&self, keys: Keys, answers: &mut [bool], unclear: &mut dyn FnMut(usize));
}

/// A reader that leaves all lookups to the locks.
#[derive(Debug)]
pub(crate) struct Blind(pub(crate) Box<[Front]>);

impl Reader for Blind {
    fn fronts(&self) -> &[Front] {
        &self.0
    }

    fn into_fronts(self: Box<Self>) -> Box<[Front]> {
        self.0
    }

    fn contains(&self, _: KeyHash) -> Sight {
        Sight::UNCLEAR
    }

    fn look_closely(&self, _: KeyHash) -> Closer {
        Closer::Aside
    }

    fn contains_keys(&self, keys: Keys, _: &mut [bool], unclear: &mut dyn FnMut(usize)) {
        (0..keys.len()).for_each(unclear);
    }
}
