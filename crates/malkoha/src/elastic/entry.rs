//! Entries: what a filter knows of a stored copy.
//!
//! An entry is an interval of hashes: those that begin with the prefix of its region, draw its place, and continue with
//! the bits of its fingerprint. The intervals of two entries of a filter are disjoint, or one contains the other.

use crate::bits::prefix_table::OFFSET_BITS;
use crate::bits::words::mask;
use crate::key::KeyHash;

use super::layout::{BASES, GROUP_BITS};

/// An entry of a table, without its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Entry {
    /// The first place: in a region one of its places, elsewhere one of all places of its group at some level.
    pub(super) place: u64,
    /// The fingerprint, from the highest bit down, then a 1, the mark, then zeros.
    pub(super) tag: u64,
    pub(super) value: u16,
}

/// The tag of the entry with its mark at bit `mark` that a key with this tag matches.
pub(super) const fn cut(tag: u64, mark: usize) -> u64 {
    let mark = 1 << mark;
    (tag & !(mark - 1)) | mark
}

/// The bits of a fingerprint, given its tag of `bits` bits.
pub(super) const fn length(tag: u64, bits: u32) -> u32 {
    bits - 1 - tag.trailing_zeros()
}

impl Entry {
    pub(crate) fn new(place: u64, tag: u64, value: u16) -> Self {
        Self { place, tag, value }
    }

    /// Place, tag and value.
    pub(crate) fn parts(self) -> (u64, u64, u16) {
        (self.place, self.tag, self.value)
    }

    /// Changes the tag from `from` to `to` bits. If they are too few, the last bits of the fingerprint are dropped.
    pub(super) const fn fitted(self, from: u32, to: u32) -> Self {
        let tag = if to >= from {
            self.tag << (to - from)
        } else {
            let dropped = from - to;
            let kept = self.tag >> dropped;
            // If the mark was dropped too, the last bit that is kept becomes the mark.
            if self.tag & mask(dropped) != 0 { kept | 1 } else { kept }
        };
        Self { tag, ..self }
    }

    /// The entry at the next level: the first bit of the fingerprint becomes the last bit of the place. The tag has as
    /// many bits as before. If the fingerprint is then too short for an offset, there are two entries, one for each
    /// value of the bit that is missing; together they are the same interval.
    pub(super) const fn doubled(self, bits: u32) -> (Self, Option<Self>) {
        let place = 2 * self.place + (self.tag >> (bits - 1) & 1);
        let tag = self.tag << 1 & mask(bits);
        if length(tag, bits) >= OFFSET_BITS {
            return (Self { place, tag, ..self }, None);
        }
        let mark = 1 << tag.trailing_zeros();
        let (zero, one) = (tag ^ mark | mark >> 1, tag | mark >> 1);
        (Self { place, tag: zero, ..self }, Some(Self { place, tag: one, ..self }))
    }

    /// The entry at the level before, the reverse of [`doubled`](Self::doubled); its tag has one bit more.
    pub(super) const fn halved(self, bits: u32) -> Self {
        Self { place: self.place / 2, tag: (self.place % 2) << bits | self.tag, ..self }
    }

    /// The smallest hash of the interval of an entry of a group at a level, given its tag of `bits` bits.
    #[expect(clippy::cast_possible_truncation, reason = "a fraction of 62 bits")]
    pub(super) fn first_hash(self, group: usize, level: u32, bits: u32) -> KeyHash {
        let length = length(self.tag, bits);
        let fingerprint = if length == 0 { 0 } else { self.tag >> (bits - length) };
        // The whole number of hash x places x fingerprints. Hashes have no bits beyond the 62 that follow the group.
        let number = u128::from(self.place) << length | u128::from(fingerprint);
        let shift = 64 - GROUP_BITS;
        let (level, number) = if level + length > shift {
            (shift, number >> (level + length - shift))
        } else {
            (level + length, number)
        };
        let fraction = (number << (shift - level)).div_ceil(u128::from(BASES[group])) as u64;
        KeyHash::from_raw((group as u64) << shift | fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(place: u64, tag: u64) -> Entry {
        Entry { place, tag, value: 3 }
    }

    #[test]
    fn a_fingerprint_is_cut_where_it_no_longer_fits() {
        let fitted = |tag, from, to| entry(0, tag).fitted(from, to).tag;
        assert_eq!(fitted(0b1011, 4, 6), 0b10_1100);
        assert_eq!(fitted(0b10_1100, 6, 4), 0b1011, "nothing is lost");
        assert_eq!(fitted(0b10_1101, 6, 4), 0b1011, "the fingerprint 10110 becomes 101, and a mark");
        assert_eq!(fitted(0b10_0001, 6, 3), 0b101);
    }

    #[test]
    fn halving_reverses_doubling() {
        for tag in 1..1u64 << 12 {
            if length(tag, 12) > OFFSET_BITS {
                let (there, None) = entry(77, tag).doubled(12) else { panic!("{tag:b} has bits to spare") };
                assert_eq!(there.halved(12).fitted(13, 12), entry(77, tag));
            }
        }
    }

    #[test]
    fn an_entry_without_bits_becomes_two_that_cover_it() {
        // Four bits and the mark: one bit goes to the place, three are left.
        let (zero, one) = entry(5, 0b1011_1000).doubled(8);
        assert_eq!(zero, entry(11, 0b0110_1000));
        assert_eq!(one, Some(entry(11, 0b0111_1000)));
        assert_eq!((length(zero.tag, 8), OFFSET_BITS), (4, 4));
    }
}
