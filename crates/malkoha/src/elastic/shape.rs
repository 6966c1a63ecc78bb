//! The shape of a region: which hashes it has, and how large its table is.

use crate::bits::prefixes::Form;

use super::layout::GROUP_BITS;

/// The shape of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The first bits of all hashes of the region, from the highest bit down.
    pub(crate) prefix: u64,
    /// The number of these bits.
    pub(crate) depth: u32,
    pub(crate) places: u32,
    pub(crate) slots: u32,
    /// Bits of a slot below the value.
    pub(crate) tag_bits: u32,
    pub(crate) value_bits: u32,
}

impl Shape {
    /// The group of hashes that the region is of.
    pub(crate) fn group(&self) -> usize {
        #[allow(clippy::cast_possible_truncation, reason = "32-bit targets: two bits")]
        let group = (self.prefix >> (64 - GROUP_BITS)) as usize;
        group
    }

    pub(super) fn form(&self) -> Form {
        Form::new(self.value_bits, self.tag_bits, self.slots)
    }

    /// Bits of the table.
    pub(crate) fn table_bits(&self) -> u64 {
        self.form().bit(self.places)
    }

    /// Bits of the buffer that holds the table.
    pub(crate) fn buffer_bits(&self) -> u64 {
        self.table_bits() + self.form().spare_bits()
    }
}
