//! The stash: the few keys that found no place.
//!
//! An entry is a place and a fingerprint under their canonical name. So a key in the stash is distinguished from
//! others exactly as well as a key in the table, and the rate does not change (Eppstein, Theorem 5.1, which holds for
//! the other placements too if the name is the same from both sides). The value of the key is stored with it.
//!
//! Entries are sorted: the content depends on what was stored, not on when.

use crate::engine::Flaw;

use super::place::Place;
use super::tag::Fingerprint;

/// A key in the stash. The order of the fields determines the order of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kept {
    /// The place under its canonical name.
    pub(crate) name: Place,
    pub(crate) fingerprint: Fingerprint,
    /// 0 in filters without values.
    pub(crate) value: u16,
}

/// A few entries, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stash {
    entries: Vec<Kept>,
    /// The most entries of each group of places.
    capacity: usize,
    /// Places whose numbers shifted down by this are equal form a group.
    group_bits: u32,
}

impl Stash {
    /// Makes a stash with room for `capacity` entries in every group of 2^`group_bits` places.
    pub(crate) fn new(capacity: u32, group_bits: u32) -> Self {
        Self { entries: Vec::new(), capacity: capacity as usize, group_bits }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Kept>()
    }

    /// Returns the entries, sorted.
    pub(crate) fn entries(&self) -> &[Kept] {
        &self.entries
    }

    /// Returns the range of the entries of the group of a place.
    pub(crate) fn group(&self, place: Place) -> core::ops::Range<usize> {
        let number = |place: Place| place.0.checked_shr(self.group_bits).unwrap_or(0);
        let group = number(place);
        let begin = self.entries.partition_point(|entry| number(entry.name) < group);
        let end = self.entries.partition_point(|entry| number(entry.name) <= group);
        begin..end
    }

    /// Returns the values of all copies of a key.
    pub(crate) fn values(&self, name: Place, fingerprint: Fingerprint) -> impl Iterator<Item = u16> {
        let key = (name, fingerprint);
        let begin = self.entries.partition_point(|other| (other.name, other.fingerprint) < key);
        let copies = self.entries[begin..].iter();
        copies.take_while(move |other| (other.name, other.fingerprint) == key).map(|other| other.value)
    }

    /// Counts the copies of a key, with any values.
    pub(crate) fn count(&self, name: Place, fingerprint: Fingerprint) -> u32 {
        self.values(name, fingerprint).map(|_| 1).sum()
    }

    /// Adds an entry; returns `false` if there is no room.
    pub(crate) fn put(&mut self, entry: Kept) -> bool {
        if self.group(entry.name).len() >= self.capacity {
            return false;
        }
        let at = self.entries.partition_point(|other| *other < entry);
        self.entries.insert(at, entry);
        true
    }

    /// Removes one copy of an entry; returns `false` if there is none.
    pub(crate) fn take(&mut self, entry: Kept) -> bool {
        match self.entries.binary_search(&entry) {
            Ok(at) => {
                self.entries.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// Takes entries as they are, perhaps from a file.
    pub(crate) fn restore(&mut self, entries: Vec<Kept>) {
        self.entries = entries;
    }

    /// Checks that entries are in order and not too many for their group.
    pub(crate) fn audit(&self) -> Result<(), Flaw> {
        if let Some(before) = self.entries.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Flaw::Stash { index: before + 1, what: "an entry is out of order" });
        }
        let mut begin = 0;
        while let Some(entry) = self.entries.get(begin) {
            let group = self.group(entry.name);
            if group.len() > self.capacity {
                return Err(Flaw::Stash { index: group.start + self.capacity, what: "an entry too many" });
            }
            begin = group.end;
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: u64, fingerprint: u64, value: u16) -> Kept {
        Kept { name: Place(name), fingerprint: Fingerprint(fingerprint), value }
    }

    #[test]
    fn each_group_has_its_own_room() {
        let mut stash = Stash::new(2, 4);
        assert!(stash.put(kept(3, 7, 0)) && stash.put(kept(15, 7, 0)));
        assert!(!stash.put(kept(0, 1, 0)), "the first group is full");
        assert!(stash.put(kept(16, 1, 0)), "the second is not");
        assert!(stash.take(kept(15, 7, 0)));
        assert!(!stash.take(kept(15, 7, 0)));
        assert!(stash.put(kept(0, 1, 0)));
        assert_eq!(stash.len(), 3);
        assert_eq!(stash.group(Place(9)), 0..2);
    }

    #[test]
    fn copies_are_counted_and_order_does_not_matter() {
        let entries = [kept(5, 2, 1), kept(1, 9, 0), kept(5, 2, 4), kept(3, 3, 0), kept(5, 2, 1)];
        let fill = |order: &[usize]| {
            let mut stash = Stash::new(8, 64);
            assert!(order.iter().all(|&i| stash.put(entries[i])));
            stash
        };
        let mut stash = fill(&[0, 1, 2, 3, 4]);
        assert_eq!(stash, fill(&[3, 4, 2, 0, 1]));
        assert_eq!(stash.count(Place(5), Fingerprint(2)), 3);
        assert_eq!(stash.count(Place(5), Fingerprint(3)), 0);
        let values = |stash: &Stash| stash.values(Place(5), Fingerprint(2)).collect::<Vec<_>>();
        assert_eq!(values(&stash), [1, 1, 4]);
        assert!(!stash.take(kept(5, 2, 2)), "only with its value");
        assert!(stash.take(kept(5, 2, 1)));
        assert_eq!(values(&stash), [1, 4]);
    }
}
