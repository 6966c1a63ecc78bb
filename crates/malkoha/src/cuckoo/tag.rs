//! The content of a slot: the tag of a key, or zero if the slot is empty.
//!
//! ```text
//!            value   side     rank          fingerprint
//!          +-------+------+----------+----------------------+
//!   tag =  | 0..16 | 0..1 | 0..log l |  what remains, not 0  |      all zero = empty
//!          +-------+------+----------+----------------------+
//! ```
//!
//! The *value* is what the caller stores with the key, in filters that were planned for values. Every move takes it
//! along; a search for a key ignores it. It occupies the highest bits, so that the rest of the tag is the same number
//! with and without it.
//!
//! The *side* tells in which of its two places the key is; it is stored if the other place is a signed offset away.
//! The *rank* tells which slot of its window this is; it is stored if windows overlap and a slot belongs to several.
//! Variants that need neither have fields of width zero.
//!
//! Side and rank together are the *stamp*. Below the value a tag is always `base(fingerprint) + stamp(side, rank)`: a
//! place is searched by comparing its slots with one base plus a constant, whatever the variant. With three ranks the
//! stamp does not fill whole bits, so the fingerprints are numbered in steps of six instead.

/// The part of a key's hash that is stored. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint(pub(crate) u64);

/// Which of its two places a key is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The place that its hash names.
    First = 0,
    /// The other place.
    Second = 1,
}

impl Side {
    /// Returns the other side.
    #[must_use]
    #[inline(always)]
    pub const fn flip(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// The content of a slot; zero if the slot is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Tag(pub(crate) u64);

impl Tag {
    /// The content of an empty slot.
    pub(crate) const EMPTY: Self = Self(0);
}

/// How tags of one variant are made: the widths of their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anatomy {
    /// Width of a tag in bits, the value included.
    pub(crate) bits: u32,
    /// Width of the value, 0 if there is none.
    pub(crate) value_bits: u32,
    /// 2 if the side is stored, else 1.
    sides: u64,
    /// l if the rank is stored, else 1.
    ranks: u64,
    /// Distance between the bases of neighbouring fingerprints.
    step: u64,
    /// Distance between neighbouring stamps.
    unit: u64,
    /// The logarithm of `unit` to base 2, if fingerprints have their own bits.
    unit_bits: u32,
}

impl Anatomy {
    /// Describes tags of `bits` bits with 1 or 2 sides and `ranks` ranks.
    pub(crate) const fn new(bits: u32, sides: u64, ranks: u64) -> Self {
        let stamps = sides * ranks;
        if stamps.is_power_of_two() {
            let unit_bits = bits - stamps.trailing_zeros();
            Self { bits, value_bits: 0, sides, ranks, step: 1, unit: 1 << unit_bits, unit_bits }
        } else {
            Self { bits, value_bits: 0, sides, ranks, step: stamps, unit: 1, unit_bits: 0 }
        }
    }

    /// Returns the same tags with a value of `value_bits` bits above them.
    pub(crate) const fn with_value_bits(self, value_bits: u32) -> Self {
        Self { bits: self.bits + value_bits, value_bits, ..self }
    }

    /// Returns the distance between the bases of neighbouring fingerprints.
    pub(crate) const fn step(&self) -> u64 {
        self.step
    }

    /// Returns the mask of the bits that belong to the key: all below the value.
    #[inline(always)]
    pub(crate) const fn key_mask(&self) -> u64 {
        crate::bits::words::mask(self.bits - self.value_bits)
    }

    /// Returns the number of fingerprints: they are numbered from 1 to this.
    pub(crate) const fn fingerprints(&self) -> u64 {
        self.key_mask() / (self.sides * self.ranks)
    }

    /// Returns the bits of a tag that are all zero only if the slot is empty, if there are such bits; any tag with
    /// one of them set has a fingerprint.
    pub(crate) const fn essential_bits(&self) -> Option<u64> {
        if self.step == 1 { Some(self.unit.wrapping_sub(1)) } else { None }
    }

    /// Returns the tag of a fingerprint with the stamp of the first side and rank 0.
    #[inline(always)]
    pub(crate) const fn base(&self, fingerprint: Fingerprint) -> u64 {
        // With a step of one this is the fingerprint itself.
        (fingerprint.0 - 1) * self.step + 1
    }

    /// Returns what side and rank add to the base.
    #[inline(always)]
    pub(crate) const fn stamp(&self, side: Side, rank: u64) -> u64 {
        let side = if self.sides == 2 { side as u64 } else { 0 };
        let rank = if self.ranks == 1 { 0 } else { rank };
        (side * self.ranks + rank) * self.unit
    }

    /// Returns what a value adds to the rest of the tag: 0 in tags without values.
    #[inline(always)]
    pub(crate) const fn raised(&self, value: u16) -> u64 {
        if self.value_bits == 0 { 0 } else { (value as u64) << (self.bits - self.value_bits) }
    }

    /// Returns the tag of a key at a side and a rank, with a value.
    #[inline(always)]
    pub(crate) const fn tag(&self, fingerprint: Fingerprint, side: Side, rank: u64, value: u16) -> Tag {
        Tag(self.raised(value) + self.base(fingerprint) + self.stamp(side, rank))
    }

    /// Returns whether two tags have the same fingerprint, side and rank, whatever their values.
    #[inline(always)]
    pub(crate) const fn same_key(&self, one: Tag, other: Tag) -> bool {
        (one.0 ^ other.0) & self.key_mask() == 0
    }

    /// Returns the value of a tag; 0 in tags without values.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "at most 16 bits")]
    pub(crate) const fn value(&self, tag: Tag) -> u16 {
        if self.value_bits == 0 { 0 } else { (tag.0 >> (self.bits - self.value_bits)) as u16 }
    }

    /// Returns whether side, rank and fingerprint are fields of whole bits, as they are unless there are three ranks.
    pub(crate) const fn has_fields(&self) -> bool {
        self.step == 1
    }

    /// Returns the [`parts`](Self::parts) of a tag that has fields and no value.
    #[inline(always)]
    pub(crate) const fn fields(&self, tag: Tag) -> (Fingerprint, Side, u64) {
        debug_assert!(tag.0 != 0 && self.value_bits == 0 && self.has_fields(), "not for all tags");
        let stamp = tag.0 >> self.unit_bits;
        let side = if stamp >= self.ranks { Side::Second } else { Side::First };
        (Fingerprint(tag.0 & (self.unit - 1)), side, stamp & (self.ranks - 1))
    }

    /// Splits a tag into fingerprint, side and rank; not for empty slots. Side and rank are the first side and 0 if
    /// they are not stored.
    #[inline(always)]
    pub(crate) const fn parts(&self, tag: Tag) -> (Fingerprint, Side, u64) {
        let key = if self.value_bits == 0 { tag.0 } else { tag.0 & self.key_mask() };
        debug_assert!(key != 0, "an empty slot has no parts");
        let (fingerprint, stamp) = if self.step == 1 {
            (key & (self.unit - 1), key >> self.unit_bits)
        } else {
            // The only step that is not one is six: two sides of three ranks.
            ((key - 1) / 6 + 1, (key - 1) % 6)
        };
        // Without sides the stamp is below the ranks.
        let side = if stamp >= self.ranks { Side::Second } else { Side::First };
        (Fingerprint(fingerprint), side, stamp - side as u64 * self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tags_are_distinct_nonzero_and_come_apart_again() {
        for (sides, ranks) in [(1, 1), (2, 1), (2, 2), (2, 3), (2, 4)] {
            for (bits, value_bits) in (4..=12).map(|bits| (bits, 0)).chain([(4, 1), (5, 3), (6, 4), (4, 6)]) {
                let anatomy = Anatomy::new(bits, sides, ranks).with_value_bits(value_bits);
                let mut seen = HashSet::new();
                for fingerprint in (1..=anatomy.fingerprints()).map(Fingerprint) {
                    for side in [Side::First, Side::Second].into_iter().take(sides as usize) {
                        for (rank, value) in
                            (0..ranks).flat_map(|rank| (0..1 << value_bits).map(move |v| (rank, v)))
                        {
                            let tag = anatomy.tag(fingerprint, side, rank, value);
                            assert!(tag.0 != 0 && tag.0 < 1 << anatomy.bits);
                            assert!(seen.insert(tag.0));
                            assert_eq!(anatomy.parts(tag), (fingerprint, side, rank));
                            assert_eq!(anatomy.value(tag), value);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn values_take_no_fingerprints() {
        let plain = Anatomy::new(10, 2, 3);
        let valued = plain.with_value_bits(16);
        assert_eq!((valued.bits, valued.fingerprints()), (26, plain.fingerprints()));
        let tag = |value| valued.tag(Fingerprint(9), Side::Second, 1, value);
        assert!(valued.same_key(tag(0), tag(u16::MAX)));
        assert!(!valued.same_key(tag(7), valued.tag(Fingerprint(9), Side::Second, 2, 7)));
        assert_eq!(tag(0), plain.tag(Fingerprint(9), Side::Second, 1, 0), "a value of 0 adds nothing");
    }

    #[test]
    fn no_fingerprint_is_wasted() {
        assert_eq!(Anatomy::new(10, 1, 1).fingerprints(), 1023);
        assert_eq!(Anatomy::new(10, 2, 1).fingerprints(), 511);
        assert_eq!(Anatomy::new(10, 2, 2).fingerprints(), 255);
        assert_eq!(Anatomy::new(10, 2, 3).fingerprints(), 1023 / 6);
        assert_eq!(Anatomy::new(10, 2, 4).fingerprints(), 127);
        assert_eq!(Anatomy::new(60, 1, 1).fingerprints(), (1 << 60) - 1);
    }
}
