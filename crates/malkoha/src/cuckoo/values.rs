//! Values beside fingerprints: the additional methods of filters with values.
//!
//! A stored copy is a key with a value. Its fingerprint and its value lie in one tag, so everything that moves tags
//! moves values too, and copies of a key with equal values are as alike as copies of a key without values.

use super::place::Placement;
use super::table::{Entry, Table};
use super::{Cuckoo, Homes, Kept};
use crate::engine::{Inserted, Values};
use crate::error::{Error, Full};
use crate::key::KeyHash;

/// Adds the bits of a value to those of one copy of a key in the table; returns `false` if there is none. Nothing
/// changes if some copy already has these bits.
pub(super) fn unite(table: &mut impl Table, homes: Homes, value: u16) -> bool {
    let (mut first, mut has_bits) = (None, false);
    for entry in homes.both(0) {
        table.values(entry, |old| {
            first.get_or_insert(Entry { value: old, ..entry });
            has_bits |= old & value == value;
        });
    }
    first.is_some_and(|entry| has_bits || table.update(entry, entry.value | value))
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Refuses values that tags have no bits for.
    #[inline(always)]
    fn check_value(&self, value: u16) -> Result<(), Error> {
        match self.layout.value_bits() {
            0 => Err(Error::NoValues),
            bits if u32::from(value) >> bits != 0 => Err(Error::Value { got: value, bits }),
            _ => Ok(()),
        }
    }

    /// Stores one copy of a key with a value. If there is no room, or the value is too wide, nothing changes.
    ///
    /// ```
    /// use malkoha::cuckoo::{Cuckoo, Signed, Slots};
    /// use malkoha::{Key, KeyHasher, Kind, Spec};
    ///
    /// let geometry = Spec::new(1000, 0.001).kind(Kind::Windowed(2)).values(4).plan()?;
    /// let mut filter = Cuckoo::<Signed, Slots>::new(geometry.cuckoo().unwrap())?;
    /// let hash = "egg".key_hash(&KeyHasher::new(1));
    /// filter.insert_value(hash, 15)?;
    /// assert_eq!(*filter.get(hash)?, [15]);
    /// assert!(filter.insert_value(hash, 16).is_err());
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert_value(&mut self, hash: KeyHash, value: u16) -> Result<(), Error> {
        self.check_value(value)?;
        let homes = self.placement.homes(hash);
        Ok(self.insert_at(hash, homes, value)?)
    }

    /// Returns the values of all stored copies that look like this key, ascending.
    pub fn get(&self, hash: KeyHash) -> Result<Values, Error> {
        self.check_value(0)?;
        Ok(self.values_at(self.placement.homes(hash)))
    }

    pub(super) fn values_at(&self, homes: Homes) -> Values {
        let mut values = Values::default();
        for entry in homes.both(0) {
            self.table.values(entry, |value| values.push(value));
        }
        if !self.stash.is_empty() {
            let kept = self.stash.values(self.name(homes), homes.fingerprint);
            kept.for_each(|value| values.push(value));
        }
        values.sort();
        values
    }

    /// Stores a key with a value or, if a copy already looks like it, adds the bits of the value to those of that copy.
    /// If there is no room, or the value is too wide, nothing changes.
    pub fn or_value(&mut self, hash: KeyHash, value: u16) -> Result<Inserted, Error> {
        self.check_value(value)?;
        Ok(self.or_at(hash, self.placement.homes(hash), value)?)
    }

    pub(super) fn or_at(&mut self, hash: KeyHash, homes: Homes, value: u16) -> Result<Inserted, Full> {
        if unite(&mut self.table, homes, value)
            || (!self.stash.is_empty() && self.unite_stashed(homes, value))
        {
            return Ok(Inserted::Seen);
        }
        self.insert_at(hash, homes, value).map(|()| Inserted::Stored)
    }

    /// Adds the bits of a value to those of one copy of a key in the stash; returns `false` if there is none.
    #[cold]
    fn unite_stashed(&mut self, homes: Homes, value: u16) -> bool {
        let stashed = || self.stash.values(self.name(homes), homes.fingerprint);
        let Some(old) = stashed().next() else { return false };
        let has_bits = stashed().any(|old| old & value == value);
        has_bits || self.update_stash(homes, old, old | value)
    }

    /// The bits of the values of all copies of a key, together.
    #[inline(always)]
    pub(super) fn union_at(&self, homes: Homes) -> u16 {
        let mut union = 0;
        for entry in homes.both(0) {
            self.table.values(entry, |value| union |= value);
        }
        if self.stash.is_empty() { union } else { union | self.union_in_stash(homes) }
    }

    /// The same for the copies in the stash.
    pub(super) fn union_in_stash(&self, homes: Homes) -> u16 {
        self.stash.values(self.name(homes), homes.fingerprint).fold(0, |union, value| union | value)
    }

    /// Changes the value of one stored copy of a key from `old` to `new`. Returns `false`, and changes nothing, if
    /// there is none.
    pub fn update_value(&mut self, hash: KeyHash, old: u16, new: u16) -> Result<bool, Error> {
        self.check_value(old)?;
        self.check_value(new)?;
        Ok(self.update_at(self.placement.homes(hash), old, new))
    }

    pub(super) fn update_at(&mut self, homes: Homes, old: u16, new: u16) -> bool {
        let in_table = homes.both(old).into_iter().any(|entry| self.table.update(entry, new));
        in_table || self.update_stash(homes, old, new)
    }

    fn update_stash(&mut self, homes: Homes, old: u16, new: u16) -> bool {
        let kept = self.kept(homes, old);
        // The removed entry leaves room for the new one.
        let updated = self.stash.take(kept) && self.stash.put(Kept { value: new, ..kept });
        self.stash_has_changed();
        updated
    }

    /// Removes one copy of a key that is stored with this value. Returns `false`, and changes nothing, if there is
    /// none.
    pub fn remove_value(&mut self, hash: KeyHash, value: u16) -> Result<bool, Error> {
        self.check_value(value)?;
        Ok(self.remove_at(self.placement.homes(hash), value))
    }
}
