//! Values as sets of bits: uniting that of a key with those that are stored.

use crate::error::Full;
use crate::key::KeyHash;

use super::region::Region;

impl Region {
    /// The bits of the values of all entries that match a key, together.
    pub(super) fn union(&self, hash: KeyHash) -> u16 {
        let mut union = 0;
        self.each_copy(hash, |value, _| union |= value);
        union
    }

    /// Adds the bits of a value to those of one entry that matches a key; returns `false` if there is none, or `Full`
    /// if the system has no memory. Nothing changes if some entry already has these bits. An entry that grows keeps
    /// its value, in both halves if it is divided, so the key keeps these bits.
    pub(super) fn unite(&mut self, hash: KeyHash, value: u16) -> Result<bool, Full> {
        let (mut first, mut has_bits) = (None, false);
        self.each_copy(hash, |old, _| {
            first.get_or_insert(old);
            has_bits |= old & value == value;
        });
        match first {
            Some(old) if !has_bits => self.update(hash, old, old | value),
            found => Ok(found.is_some()),
        }
    }
}
