//! `SharedDirectory`: leads readers without locks to the tables of a filter that grows.
//!
//! ```text
//!   hash     directory bits | ..
//!                 |
//!            00 01 10 11            leads, one word each (shared_arena.rs)
//! ```
//!
//! The address of the directory and its number of bits are one word too. A directory that became longer leaves the
//! shorter one behind, in case a reader is still in it; when it becomes shorter again, that one is written anew. So
//! there is at most one for each number of bits.
#![expect(unsafe_code, reason = "leads of a directory that is kept, and windows inside tables that are")]

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m128i;
use core::fmt;
use core::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::key::KeyHash;
use crate::key::draw::draw;

use super::placed::Placed;
use super::prefix_table::{OFFSET_BITS, PrefixTable};
#[cfg(target_arch = "x86_64")]
use super::prefixes::HALF_WINDOW;
use super::prefixes::NARROW_BITS;
use super::shared::{self, AtomicWords};
use super::shared_arena::{Lead, SharedArena, SharedForm};
use super::source::Source;
use super::words::{Words, prefetch_line};

/// The bits of an address that are free for the distance to shift a hash down.
const SHIFT: usize = 63;

/// The shortest directory, of which nothing is known.
#[repr(align(64))]
struct Blank([AtomicU64; 2]);

static BLANK: Blank = Blank([const { AtomicU64::new(Lead::NOWHERE.to_raw()) }; 2]);

/// The address of `BLANK`, as a directory has it.
fn blank() -> *mut AtomicU64 {
    (&raw const BLANK.0).cast::<AtomicU64>().cast_mut().map_addr(|address| address | SHIFT)
}

/// A table that a reader may be led to: which one, the bits of a hash before what is drawn, and whether entries may
/// also be elsewhere.
pub(crate) type Shown<'a> = (&'a PrefixTable, u32, bool);

/// Leads from hashes to tables.
///
/// The invariant: `current` is the address of as many leads of `arena` as a shifted hash can number, with the shift in
/// its lowest bits. They live as long as the directory.
pub(crate) struct SharedDirectory {
    current: AtomicPtr<AtomicU64>,
    arena: Arc<SharedArena>,
    /// The leads for each number of bits.
    kept: Mutex<Vec<(u32, AtomicWords)>>,
}

impl SharedDirectory {
    /// A directory that leads nowhere yet.
    pub(crate) fn new(arena: &Arc<SharedArena>) -> Self {
        arena.open();
        Self { current: AtomicPtr::new(blank()), arena: Arc::clone(arena), kept: Mutex::new(Vec::new()) }
    }

    pub(crate) fn arena(&self) -> &Arc<SharedArena> {
        &self.arena
    }

    /// Writes the leads from `range` on, in a directory of so many bits: for each of these numbers, to the table that
    /// `table` returns. Without memory for the directory, it leads nowhere. Only one thread at a time does this.
    pub(crate) fn lead<'a>(
        &self,
        bits: u32,
        range: core::ops::Range<usize>,
        table: impl Fn(usize) -> (Shown<'a>, usize),
    ) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current.load(Ordering::Relaxed);
        let is_current = !core::ptr::eq(blank(), current) && 64 - (current.addr() & SHIFT) == bits as usize;
        let range = if is_current { range } else { 0..1 << bits };
        let known = kept.iter().position(|(known, _)| *known == bits);
        let Some(at) = known.or_else(|| {
            let words = Words::zeroed(64 << bits).ok()?;
            kept.push((bits, AtomicWords::new(words)));
            Some(kept.len() - 1)
        }) else {
            return self.current.store(blank(), Ordering::Release);
        };
        let leads = &kept[at].1.get()[..1 << bits];
        let mut next = range.start;
        while next < range.end {
            let ((table, depth, is_elsewhere), end) = table(next);
            let lead = self.arena.lead_to(table, depth, is_elsewhere).to_raw();
            for entry in &leads[next..end.min(range.end)] {
                entry.store(lead, Ordering::Release);
            }
            next = end;
        }
        if !is_current {
            let first = leads.as_ptr().cast_mut();
            let shifted = first.map_addr(|address| address | (64 - bits as usize));
            self.current.store(shifted, Ordering::Release);
        }
    }

    /// A key at its places, in the table that the directory leads to at this moment.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of leads")]
    pub(crate) fn approach(&self, hash: KeyHash) -> SharedApproach<'_> {
        let current = self.current.load(Ordering::Acquire);
        let shift = current.addr() & SHIFT;
        let first = current.map_addr(|address| address & !SHIFT);
        // SAFETY: a hash that is shifted so far is the number of a lead, as the invariant says.
        let lead = unsafe { first.add((hash.to_raw() >> shift) as usize) };
        // SAFETY: leads live as long as the directory.
        let lead = unsafe { &*lead };
        // SAFETY: it was written by `lead`, and the arena lists for as long as this directory leads there.
        let lead = unsafe { Lead::from_raw(lead.load(Ordering::Acquire)) };
        // SAFETY: the same.
        let (form, first) = unsafe { self.arena.follow(lead) };
        let (place, rest) = draw(hash.to_raw() << form.depth, u64::from(form.places));
        let at = place as u32 * form.stride;
        let sum = at + form.distances[(rest >> (64 - OFFSET_BITS)) as usize];
        let second = if sum >= form.bits { sum - form.bits } else { sum };
        let is_elsewhere = lead.is_elsewhere();
        SharedApproach { form, first, at: [at, second], sought: rest >> 1, is_elsewhere, _lives: PhantomData }
    }
}

impl Drop for SharedDirectory {
    fn drop(&mut self) {
        self.arena.close();
    }
}

impl fmt::Debug for SharedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDirectory").field("arena", &self.arena).finish_non_exhaustive()
    }
}

/// A key at its two places in a table that another thread may be writing.
///
/// The invariant: both bits are inside the table of this form that begins at `first`, whose memory is there as long as
/// the directory lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedApproach<'a> {
    form: &'a SharedForm,
    first: *const u8,
    /// The bits at which the places begin.
    at: [u32; 2],
    /// The fingerprint, from bit 62 down.
    sought: u64,
    is_elsewhere: bool,
    _lives: PhantomData<&'a SharedDirectory>,
}

impl SharedApproach<'_> {
    /// Whether entries may also be elsewhere than in the table.
    #[inline(always)]
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// Whether slots are narrow.
    #[inline(always)]
    pub(crate) fn is_narrow(&self) -> bool {
        self.form.form.width() <= NARROW_BITS && cfg!(target_endian = "little")
    }

    /// The first byte of the window of a place.
    #[inline(always)]
    fn window(&self, side: usize) -> *const u8 {
        // SAFETY: the bit is inside the table.
        unsafe { self.first.add(self.at[side] as usize / 8) }
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        for side in 0..2 {
            prefetch_line(self.window(side).cast());
            // A window may end in the next cache line.
            prefetch_line(self.window(side).wrapping_add(usize::from(self.form.window) - 1).cast());
        }
    }
}

impl Placed for SharedApproach<'_> {
    #[inline(always)]
    fn width(&self) -> u32 {
        self.form.form.width()
    }

    #[inline(always)]
    fn shift(&self) -> u32 {
        self.form.shift
    }

    #[inline(always)]
    fn lanes(&self) -> u16 {
        self.form.lanes
    }

    #[inline(always)]
    fn sought(&self) -> u64 {
        self.sought
    }

    #[inline(always)]
    fn phase(&self, side: usize) -> usize {
        self.at[side] as usize % 8
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn halves(&self, side: usize) -> [__m128i; 2] {
        // SAFETY: the first half of a window has 16 bytes inside the table or the spare words after it, which are
        // written by `shared::write` alone; the CPU has AVX, as the caller guarantees.
        let first = unsafe { shared::read_vector(self.window(side)) };
        let begin = usize::from(self.form.window) - HALF_WINDOW;
        // SAFETY: this is inside the window, which is at least as long as one half.
        let second = unsafe { self.window(side).add(begin) };
        // SAFETY: so has the second half.
        let second = unsafe { shared::read_vector(second) };
        [first, second]
    }

    #[inline(always)]
    fn tag_in(&self, side: usize, slot: u32) -> u64 {
        let form = self.form.form;
        let content = self.read(form.slot(self.at[side].into(), slot), form.width());
        content << (64 - form.tag_bits())
    }
}

impl Source for SharedApproach<'_> {
    /// The bytes of the table, and eight of those after it.
    #[inline(always)]
    fn loads(&self) -> usize {
        self.form.bits as usize / 8 + 8
    }

    #[inline(always)]
    unsafe fn bytes_at(&self, byte: usize) -> u64 {
        // SAFETY: below `loads` is inside the words of the table, of which at least 32 bytes are spare.
        let from = unsafe { self.first.add(byte) };
        // SAFETY: from there on, 8 bytes are readable, and they are written by `shared::write` alone.
        unsafe { shared::read(from) }
    }

    #[inline(always)]
    fn prefetch(&self, at: u64) {
        let _ = at;
        Self::prefetch(self);
    }
}

// SAFETY: what can be done with it from several threads is atomic.
unsafe impl Send for SharedApproach<'_> {}
// SAFETY: the same.
unsafe impl Sync for SharedApproach<'_> {}
