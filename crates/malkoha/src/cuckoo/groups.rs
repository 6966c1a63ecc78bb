//! The lanes of a place that one load reaches: what they are compared with, and where one is empty.

use crate::bits::lanes::{self, Lanes};

use super::tag::Side;

/// The most slots of a place, and so the most groups.
pub(super) const MOST_SLOTS: usize = 8;

/// Lanes that are compared together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    pub(super) lanes: Lanes,
    /// The distance between fingerprints, in every lane.
    pub(super) steps: u64,
    /// The tag of the first fingerprint in every lane, by side.
    pub(super) stamps: [u64; 2],
}

impl Group {
    /// Returns what the lanes hold if they hold a key on this side, with value 0.
    #[inline(always)]
    pub(super) const fn sought(&self, fingerprint: u64, side: Side) -> u64 {
        self.base(fingerprint).wrapping_add(self.stamps[side as usize])
    }

    /// Returns the part of `sought` that is the same for both sides.
    #[inline(always)]
    pub(super) const fn base(&self, fingerprint: u64) -> u64 {
        fingerprint.wrapping_sub(1).wrapping_mul(self.steps)
    }

    /// Marks lanes that are zero; only the first mark is certain.
    #[inline(always)]
    pub(super) const fn marks(&self, lanes: u64) -> u64 {
        lanes::zero_marks(lanes, self.lanes.ones, self.lanes.highs)
    }
}

/// The first empty lane of a group that begins at a bit; there is none if there are no marks.
#[derive(Clone, Copy)]
pub(super) struct Empty {
    pub(super) marks: u64,
    pub(super) at: u64,
    pub(super) group: usize,
}

impl Empty {
    /// Returns a number that is greater the farther the lane is from the beginning of its place, and greatest if
    /// there is none.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "at most eight groups")]
    pub(super) const fn distance(&self) -> u32 {
        let groups = if self.marks == 0 { MOST_SLOTS } else { self.group };
        groups as u32 * u64::BITS + self.marks.trailing_zeros()
    }
}
