//! `Version`: tells readers that hold no lock whether what they read is whole.
//!
//! ```text
//!   writer   version + 1 (odd)   |release|   stores ...                  version + 1 (even), released
//!   reader                       version, acquired   loads ...   |acquire|   version again: the same, and even?
//! ```
//!
//! If a load of the reader sees a store of a writer, then the fences make the reader's second look at the version see
//! the odd number that the writer stored before, or a later one. If the first look saw the number after a change, the
//! loads see all its stores. So with the same even number twice, the loads are from one state between two changes.
//! What is read must be atomic in itself: relaxed loads and stores are enough.
//!
//! `tests/version.rs` compiles this file with the atomics of loom, which tries all orders of what several threads do.

use super::atomic::{AtomicU64, Ordering, fence};

/// A number that is odd while a writer makes a change, and different after it.
#[derive(Debug)]
pub(crate) struct Version(AtomicU64);

/// What a reader saw of a version before it read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen(u64);

impl Version {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Begins a change. Only one thread at a time may be between `begin` and `end`: the holder of the writers' lock.
    pub(crate) fn begin(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Ends a change.
    pub(crate) fn end(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Looks at the version before something is read.
    #[inline(always)]
    pub(crate) fn look(&self) -> Seen {
        Seen(self.0.load(Ordering::Acquire))
    }

    /// Comes between what is read and [`is_still`](Self::is_still).
    #[inline(always)]
    pub(crate) fn look_back() {
        fence(Ordering::Acquire);
    }

    /// Whether nothing changed since `seen`, so that what was read in between is whole.
    #[inline(always)]
    pub(crate) fn is_still(&self, seen: Seen) -> bool {
        // One comparison for both: an odd number is never equal to one without its lowest bit.
        self.0.load(Ordering::Relaxed) == seen.0 & !1
    }
}
