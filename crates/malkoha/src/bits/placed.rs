//! `Placed`: a key at its two places, in words that one thread has to itself or that another may write.
//!
//! A comparison is written once, over a `Placed`. An [`Approach`](super::prefix_table::Approach) reads by plain loads;
//! one of [`shared_directory`](super::shared_directory) by loads that may meet a store of another thread.
#![expect(unsafe_code, reason = "loads of windows, which lie inside their words")]

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__m128i, _mm_loadu_si128};

use super::prefix_table::Approach;
use super::prefix_table::SECOND_SIDE;
use super::prefixes::{MOST_SLOTS, matches};

/// A key at its two places.
pub trait Placed: Copy {
    /// Returns the bits of a slot.
    fn width(&self) -> u32;

    /// Returns the distance from a tag to the highest bits of a lane.
    fn shift(&self) -> u32;

    /// Returns the lanes that are slots: bits 0 to 7 for the first place, 8 to 15 for the second.
    fn lanes(&self) -> u16;

    /// Returns the fingerprint, from bit 62 down.
    fn sought(&self) -> u64;

    /// Returns the bit of the byte in which a place begins.
    fn phase(&self, side: usize) -> usize;

    /// Loads the two halves of the window of a place with narrow slots.
    ///
    /// # Safety
    ///
    /// The CPU has AVX.
    #[cfg(target_arch = "x86_64")]
    unsafe fn halves(&self, side: usize) -> [__m128i; 2];

    /// Returns the tag in a slot, in the highest bits of a word.
    fn tag_in(&self, side: usize, slot: u32) -> u64;

    /// Returns whether some slot matches, one slot at a time.
    #[inline(always)]
    fn holds_one_by_one(&self) -> bool {
        let slots = (self.lanes() & 0xFF).count_ones().min(MOST_SLOTS);
        let side = |side: usize, bit: u64| {
            (0..slots).fold(false, |held, slot| held | matches(self.tag_in(side, slot), self.sought() | bit))
        };
        side(0, 0) | side(1, SECOND_SIDE)
    }
}

impl Placed for Approach<'_> {
    #[inline(always)]
    fn width(&self) -> u32 {
        self.table.form().width()
    }

    #[inline(always)]
    fn shift(&self) -> u32 {
        self.table.shift
    }

    #[inline(always)]
    fn lanes(&self) -> u16 {
        self.table.lanes
    }

    #[inline(always)]
    fn sought(&self) -> u64 {
        self.sought
    }

    #[inline(always)]
    fn phase(&self, side: usize) -> usize {
        self.at()[side] as usize % 8
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn halves(&self, side: usize) -> [__m128i; 2] {
        // SAFETY: the first half of a window has 16 bytes, and this load needs no alignment.
        let first = unsafe { _mm_loadu_si128(self.window(side).cast()) };
        // SAFETY: so has the second.
        let second = unsafe { _mm_loadu_si128(self.second_half(side).cast()) };
        [first, second]
    }

    #[inline(always)]
    fn tag_in(&self, side: usize, slot: u32) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "0 or 1")]
        let number = 8 * side as u32 + slot;
        self.table.tag(self.table.read(self.bit(number)))
    }
}
