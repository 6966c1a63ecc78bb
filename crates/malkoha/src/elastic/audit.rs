//! Content that was read, verified: no operation on a filter that passed can panic.

use crate::bits::prefix_table::OFFSET_BITS;
use crate::engine::MOST_COPIES;

use super::entry::{Entry, length};
use super::region::Region;

/// Content that no history of operations leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionFlaw {
    /// In the table, at a bit.
    Table { bit: u64, what: &'static str },
    /// In an entry of the overflow.
    Overflow { index: usize, what: &'static str },
}

impl Region {
    /// Refuses a table that no history leads to.
    pub(crate) fn audit_table(&self) -> Result<(), RegionFlaw> {
        let bits = self.shape().table_bits();
        for (&word, begin) in
            self.words().iter().zip((0..).step_by(64)).skip(usize::try_from(bits / 64).unwrap_or(0))
        {
            let outside = if begin >= bits { word } else { word >> (bits - begin) };
            if outside != 0 {
                return Err(RegionFlaw::Table {
                    bit: begin,
                    what: "a bit beyond the end of the table is set",
                });
            }
        }
        let mut flaw = None;
        self.each_content(|_, bit, content| {
            if flaw.is_none() && !self.is_tag(content & ((1 << self.bits()) - 1)) {
                flaw = Some(RegionFlaw::Table { bit, what: "a slot has no fingerprint, or too short a one" });
            }
        });
        flaw.map_or(Ok(()), Err)
    }

    /// Whether a tag has a mark, and enough bits above it.
    fn is_tag(&self, tag: u64) -> bool {
        tag != 0 && tag >> self.bits() == 0 && length(tag, self.bits()) >= OFFSET_BITS
    }

    /// Refuses an overflow that no history leads to: its entries must ascend.
    pub(crate) fn audit_overflow(&self, entries: &[(Entry, u64)]) -> Result<(), RegionFlaw> {
        let shape = self.shape();
        for (index, (entry, copies)) in entries.iter().enumerate() {
            let what = if index > 0 && entries[index - 1].0 >= *entry {
                "entries do not ascend"
            } else if entry.place >= u64::from(shape.places) {
                "an entry has a place beyond the end of the table"
            } else if !self.is_tag(entry.tag) {
                "an entry has no fingerprint, or too short or long a one"
            } else if u32::from(entry.value) >> shape.value_bits != 0 {
                "an entry has a value that is too wide"
            } else if !(1..=MOST_COPIES).contains(copies) {
                "an entry has no copies, or too many"
            } else {
                continue;
            };
            return Err(RegionFlaw::Overflow { index, what });
        }
        Ok(())
    }
}
