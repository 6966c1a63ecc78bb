//! The numbers of a cuckoo table.

use crate::bits::Words;
use crate::kind::Kind;
use crate::theory;

use super::sorted::SortedBuckets;
use super::tag::Anatomy;

/// How far a signed offset reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The smallest offset: as many places as overlap one another.
    pub least: u64,
    /// The largest offset.
    pub most: u64,
    /// Of 256 fingerprints, so many have their other place in the same group of places.
    pub near_share: u8,
    /// Places of a group, a power of two; 1 where no fingerprint is near.
    pub group: u64,
}

/// The exact numbers of a cuckoo table, from which it can be built again. Only a plan makes one.
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
    /// Simplified only: 2 to this power are the places of a subtable.
    pub(crate) subtable_bits: u32,
    /// Signed offsets only: how far they reach.
    pub(crate) ring: Ring,
    /// Keys that may be kept outside the table; for Simplified, from each subtable.
    pub(crate) stash: u32,
    /// Steps that one insert may take.
    pub(crate) max_steps: u32,
}

impl CuckooLayout {
    /// The kind of filter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Buckets or windows.
    #[must_use]
    pub fn places(&self) -> u64 {
        self.places
    }

    /// Slots.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Fingerprints that keys can have.
    #[must_use]
    pub fn fingerprints(&self) -> u64 {
        self.fingerprints
    }

    /// Simplified only: 2 to this power are the places of a subtable.
    #[must_use]
    pub fn subtable_bits(&self) -> u32 {
        self.subtable_bits
    }

    /// Signed offsets only: how far they reach.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Bits of a tag, the value included.
    #[must_use]
    pub fn tag_bits(&self) -> u32 {
        self.tag.bits
    }

    /// Bits of the value in a tag; 0 if there is none.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.tag.value_bits
    }

    /// Bits of memory per slot.
    #[must_use]
    pub fn slot_bits(&self) -> f64 {
        if self.kind.is_sorted() {
            f64::from(SortedBuckets::bucket_bits(self.tag.bits)) / 4.0
        } else {
            f64::from(self.tag.bits)
        }
    }

    /// Bits that places and fingerprints take from the 64 of a hash.
    #[must_use]
    pub fn hash_bits(&self) -> u32 {
        crate::reduce::bits_needed(&[self.places, self.fingerprints])
    }

    /// Bits of the table, or `None` if there are too many to count.
    #[must_use]
    pub fn table_bits(&self) -> Option<u64> {
        let (items, bits) = if self.kind.is_sorted() {
            (self.places, SortedBuckets::bucket_bits(self.tag.bits))
        } else {
            (self.slots, self.tag.bits)
        };
        items.checked_mul(u64::from(bits)).filter(|bits| *bits < u64::MAX / 2)
    }

    /// Bytes of memory of the table.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        Words::bytes_for(self.table_bits().unwrap_or(u64::MAX / 2))
    }

    /// The rate when n keys are stored.
    #[must_use]
    pub fn rate(&self, n: u64) -> f64 {
        theory::rate(self.kind, n, self.places, self.fingerprints)
    }

    /// The groups of keys that the filter cannot tell apart.
    #[must_use]
    pub fn groups(&self) -> f64 {
        let pairs = self.places as f64 * self.fingerprints as f64;
        if self.kind.is_signed() { pairs } else { pairs / 2.0 }
    }
}
