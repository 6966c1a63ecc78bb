//! `Version`: tells readers that hold no lock whether what they read is whole.
//!
//! ```text
//!   writer   version, made odd   |release|   stores ...                  the next even version, released
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

/// The bit of a version that is set while a writer makes a change.
const CHANGING: u64 = 1;
/// The bit that is set while readers have to look elsewhere too.
const MARKED: u64 = 2;
/// What a change adds.
const STEP: u64 = 4;

/// A number that is odd while a writer makes a change, and different after it. It also has a mark, so that readers
/// learn with the same look whether there is more to read.
#[derive(Debug)]
pub(crate) struct Version(AtomicU64);

/// What a reader saw of a version before it read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen(u64);

impl Version {
    pub(crate) fn new(marked: bool) -> Self {
        Self(AtomicU64::new(if marked { MARKED } else { 0 }))
    }

    /// Begins a change. Only one thread at a time may be between `begin` and `end`: the holder of the writers' lock, which
    /// makes all stores of the change itself.
    pub(crate) fn begin(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) | CHANGING, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Ends a change, and sets or clears the mark.
    pub(crate) fn end(&self, marked: bool) {
        let next = (self.0.load(Ordering::Relaxed) & !(CHANGING | MARKED)).wrapping_add(STEP);
        self.0.store(if marked { next | MARKED } else { next }, Ordering::Release);
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
        // One comparison for both: no number is equal to an odd one without its lowest bit.
        self.0.load(Ordering::Relaxed) == seen.0 & !CHANGING
    }

    /// Returns 0 if, in addition, there is no mark.
    #[inline(always)]
    pub(crate) fn changes(&self, seen: Seen) -> u64 {
        self.0.load(Ordering::Relaxed) ^ seen.0 & !(CHANGING | MARKED)
    }
}
