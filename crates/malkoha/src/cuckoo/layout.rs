//! The numbers that describe a cuckoo table.

use crate::bits::Words;
use crate::bits::words::mask;
use crate::kind::Kind;
use crate::theory;

use super::sizing::LOCAL_RANGE;
use super::sorted::SortedBuckets;
use super::tag::{Anatomy, Fingerprint};

/// The widest tag. A wider one leaves no bits of the hash for a place.
const MOST_TAG_BITS: u32 = 60;

/// The largest subtables have 2 to this power places.
pub(crate) const MOST_SUBTABLE_BITS: u32 = 40;

/// How far apart the two places of a key are, for kinds with signed offsets.
///
/// Measured: loads are the same for all three down to about one part in a hundred of the threshold
/// (`docs/NOTEBOOK.md`, "How far offsets reach").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Offsets {
    /// Within 2^14 places, more in very large [dense](crate::Spec::dense) tables: both places lie on one or two large
    /// pages (2 MiB).
    #[default]
    Local,
    /// Anywhere, as in the paper.
    Whole,
    /// This many of 256 fingerprints have their other place in the same cache line, the others within the local
    /// range: fewer cache lines per lookup, longer walks per insert. With more than about 96 the neighbourhood is two
    /// lines or more, so that no line gets more keys than it has slots; more than 192 are refused.
    Near(u8),
}

impl Offsets {
    /// The largest share of near offsets, out of 256.
    pub const MOST_NEAR: u8 = 192;
}

/// How far a signed offset reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The smallest offset: as many places as overlap one another.
    pub least: u64,
    /// The largest offset.
    pub most: u64,
    /// The number of fingerprints, out of 256, that have their other place in the same group of places.
    pub near_share: u8,
    /// Places of a group, a power of two; 1 if no fingerprint is near.
    pub group: u64,
}

/// The exact numbers of a cuckoo table, from which it can be rebuilt. Only a plan makes one.
///
/// ```
/// use malkoha::{Kind, Spec};
/// let geometry = Spec::new(1_000_000, 2f64.powi(-14)).kind(Kind::Windowed(2)).plan()?;
/// let layout = geometry.cuckoo().unwrap();
/// assert_eq!(layout.slot_bits(), 16.0);
/// assert_eq!(layout.places(), layout.slots() - 1, "a window of two begins at every slot but the last");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooLayout {
    /// The kind of filter.
    pub(crate) kind: Kind,
    /// Buckets or windows.
    pub(crate) places: u64,
    /// Slots.
    pub(crate) slots: u64,
    /// Slots of a place.
    pub(crate) slots_per_place: u32,
    /// How tags are made.
    pub(crate) tag: Anatomy,
    /// Fingerprints that keys can have.
    pub(crate) fingerprints: u64,
    /// The number of doublings of the table, and its fingerprints before them; both 0 if it was never doubled.
    pub(crate) doublings: u32,
    pub(crate) earlier_fingerprints: u64,
    /// Simplified only: a subtable has 2 to this power places.
    pub(crate) subtable_bits: u32,
    /// Signed offsets only: how far they reach.
    pub(crate) ring: Ring,
    /// Keys that the stash has room for; for Simplified, from each subtable.
    pub(crate) stash: u32,
    /// Steps that one insert may take.
    pub(crate) max_steps: u32,
}

impl CuckooLayout {
    /// Returns the layout of a kind with tags of `tag_bits` bits, and no places yet.
    pub(crate) fn with_tags(kind: Kind, tag_bits: u32) -> Self {
        let l = u64::from(kind.slots_per_place());
        let sides = if kind.is_signed() { 2 } else { 1 };
        let tag = Anatomy::new(tag_bits, sides, if kind.is_windowed() { l } else { 1 });
        Self {
            kind,
            places: 0,
            slots: 0,
            slots_per_place: u32::from(kind.slots_per_place()),
            tag,
            fingerprints: tag.fingerprints(),
            doublings: 0,
            earlier_fingerprints: 0,
            subtable_bits: 0,
            ring: Ring { least: 1, most: 1, near_share: 0, group: 1 },
            stash: 0,
            max_steps: 1,
        }
    }

    /// Returns the widths of tags that a kind can have.
    pub(crate) fn tag_widths(kind: Kind) -> core::ops::RangeInclusive<u32> {
        let least = match kind {
            Kind::Windowed(_) | Kind::Sorted | Kind::SemiSorted => 4,
            Kind::Flexible(_) => 2,
            _ => 1,
        };
        least..=MOST_TAG_BITS
    }

    /// Returns the widths of tags that a kind can have below a value of `value_bits` bits: both are compared as one
    /// lane of a word.
    pub(crate) fn tag_widths_below(kind: Kind, value_bits: u32) -> core::ops::RangeInclusive<u32> {
        let widths = Self::tag_widths(kind);
        *widths.start()..=*widths.end().min(&(u64::BITS - value_bits))
    }

    /// Returns the same layout with values of `value_bits` bits above the tags.
    pub(crate) fn with_values(self, value_bits: u32) -> Self {
        Self { tag: self.tag.with_value_bits(value_bits), ..self }
    }

    /// Divides the table into subtables of 2^`bits` places, which leaves fewer fingerprints.
    pub(crate) fn set_subtables(&mut self, bits: u32) {
        self.subtable_bits = bits;
        self.fingerprints = mask(bits) << (self.tag.bits - self.tag.value_bits - bits);
    }

    /// Sets the number of places, and thereby of slots; returns `None` if the number overflows.
    pub(crate) fn set_places(&mut self, places: u64) -> Option<()> {
        let l = u64::from(self.slots_per_place);
        self.places = places;
        self.slots =
            if self.kind.is_windowed() { places.checked_add(l - 1)? } else { places.checked_mul(l)? };
        Some(())
    }

    /// Returns the smallest signed offset: with it, two places do not overlap.
    pub(crate) fn least_offset(kind: Kind) -> u64 {
        if kind.is_windowed() { u64::from(kind.slots_per_place()) } else { 1 }
    }

    /// Returns the kind of filter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the number of buckets or windows.
    #[must_use]
    pub fn places(&self) -> u64 {
        self.places
    }

    /// Returns the number of slots.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Returns the number of fingerprints that keys can have.
    #[must_use]
    pub fn fingerprints(&self) -> u64 {
        self.fingerprints
    }

    /// Returns how many times the table was doubled.
    #[must_use]
    pub fn doublings(&self) -> u32 {
        self.doublings
    }

    /// Returns the base-2 logarithm of the places of a subtable; Simplified only.
    #[must_use]
    pub fn subtable_bits(&self) -> u32 {
        self.subtable_bits
    }

    /// Returns how far signed offsets reach.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Returns whether some key has this fingerprint.
    pub(crate) fn has_fingerprint(&self, fingerprint: Fingerprint) -> bool {
        if self.subtable_bits > 0 {
            // The lowest bits are never all zero; those above may be anything.
            fingerprint.0 & mask(self.subtable_bits) != 0 && fingerprint.0 <= self.tag.key_mask()
        } else {
            (1..=self.fingerprints).contains(&fingerprint.0)
        }
    }

    /// Returns the number of bits of a tag, the value included.
    #[must_use]
    pub fn tag_bits(&self) -> u32 {
        self.tag.bits
    }

    /// Returns the number of bits of the value in a tag; 0 if there is none.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.tag.value_bits
    }

    /// Returns the room of the stash, for all subtables together.
    pub(crate) fn stash_room(&self) -> u64 {
        let groups = if self.subtable_bits == 0 { 1 } else { self.places >> self.subtable_bits };
        groups.saturating_mul(u64::from(self.stash))
    }

    /// Returns the number of bits of memory per slot.
    #[must_use]
    pub fn slot_bits(&self) -> f64 {
        if self.kind.is_sorted() {
            f64::from(SortedBuckets::bucket_bits(self.tag.bits)) / 4.0
        } else {
            f64::from(self.tag.bits)
        }
    }

    /// Returns the bits of the 64 of a hash that place and fingerprint take.
    #[must_use]
    pub fn hash_bits(&self) -> u32 {
        let drawn = if self.doublings == 0 { self.fingerprints } else { self.earlier_fingerprints };
        crate::key::draw::bits_needed(&[self.places >> self.doublings, drawn])
    }

    /// Returns the number of pairs of first place and fingerprint. A table distinguishes keys by nothing else.
    pub(crate) fn pairs(&self) -> u128 {
        u128::from(self.places) * u128::from(self.fingerprints)
    }

    /// Returns whether offsets were planned to reach the whole table. If it is so small that local offsets do, they
    /// stay local when the table grows.
    pub(crate) fn reaches_everywhere(&self) -> bool {
        let most = self.ring.most;
        self.kind.is_signed() && most == self.places - self.ring.least && most > LOCAL_RANGE
    }

    /// Returns the number of bits of the table, or `None` if the number overflows.
    #[must_use]
    pub fn table_bits(&self) -> Option<u64> {
        let (items, bits) = if self.kind.is_sorted() {
            (self.places, SortedBuckets::bucket_bits(self.tag.bits))
        } else {
            (self.slots, self.tag.bits)
        };
        items.checked_mul(u64::from(bits)).filter(|bits| *bits < u64::MAX / 2)
    }

    /// Returns the bytes of memory of the table.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        Words::bytes_for(self.table_bits().unwrap_or(u64::MAX / 2))
    }

    /// Returns the rate with n stored keys.
    #[must_use]
    pub fn rate(&self, n: u64) -> f64 {
        let rate = theory::rate(self.kind, n, self.places, self.fingerprints);
        (rate * self.unevenness()).min(1.0)
    }

    /// Returns the number of groups of keys that the filter cannot tell apart.
    #[must_use]
    pub fn groups(&self) -> f64 {
        let pairs = self.pairs() as f64;
        if self.kind.is_signed() { pairs } else { pairs / 2.0 }
    }
}
