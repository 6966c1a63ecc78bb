//! The stash: the few keys that found no place.
//!
//! An entry is a place and a fingerprint under their canonical name, so that a key in the stash is told apart
//! from others exactly as well as a key in the table, and the rate stays what it was (Eppstein, Theorem 5.1,
//! which holds for the other placements as well once the name is the same from both sides).
//!
//! Entries are kept in order: the content depends on what was stored, not on when.

use crate::engine::Flaw;

use super::place::Place;
use super::tag::Fingerprint;

/// A few entries, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stash {
    entries: Vec<(Place, Fingerprint)>,
    /// The most entries that any group of places may have here.
    capacity: usize,
    /// Places with the same number shifted by this share their part of the stash.
    group_bits: u32,
}

impl Stash {
    /// A stash with room for `capacity` entries in every group of 2^`group_bits` places.
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
        self.entries.capacity() * size_of::<(Place, Fingerprint)>()
    }

    /// The entries, in order.
    pub(crate) fn entries(&self) -> &[(Place, Fingerprint)] {
        &self.entries
    }

    /// Where the entries of the group of a place begin and end.
    pub(crate) fn group(&self, place: Place) -> core::ops::Range<usize> {
        let number = |place: Place| place.0.checked_shr(self.group_bits).unwrap_or(0);
        let group = number(place);
        let begin = self.entries.partition_point(|entry| number(entry.0) < group);
        let end = self.entries.partition_point(|entry| number(entry.0) <= group);
        begin..end
    }

    /// How many copies of an entry are here.
    pub(crate) fn count(&self, name: Place, fingerprint: Fingerprint) -> u32 {
        let entry = (name, fingerprint);
        let begin = self.entries.partition_point(|other| *other < entry);
        self.entries[begin..].iter().take_while(|other| **other == entry).map(|_| 1).sum()
    }

    /// Keeps an entry; `false` if there is no room.
    pub(crate) fn put(&mut self, name: Place, fingerprint: Fingerprint) -> bool {
        if self.group(name).len() >= self.capacity {
            return false;
        }
        let at = self.entries.partition_point(|other| *other < (name, fingerprint));
        self.entries.insert(at, (name, fingerprint));
        true
    }

    /// Gives one copy of an entry away; `false` if it is not here.
    pub(crate) fn take(&mut self, name: Place, fingerprint: Fingerprint) -> bool {
        match self.entries.binary_search(&(name, fingerprint)) {
            Ok(at) => {
                self.entries.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// Takes entries that may come from a file as they are.
    pub(crate) fn restore(&mut self, entries: Vec<(Place, Fingerprint)>) {
        self.entries = entries;
    }

    /// Refuses entries that are out of order or too many for their group.
    pub(crate) fn audit(&self) -> Result<(), Flaw> {
        if let Some(before) = self.entries.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Flaw::Stash { index: before + 1, what: "an entry is out of order" });
        }
        let mut begin = 0;
        while let Some(entry) = self.entries.get(begin) {
            let group = self.group(entry.0);
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

    #[test]
    fn each_group_has_its_own_room() {
        let mut stash = Stash::new(2, 4);
        let put = |stash: &mut Stash, place, fingerprint| stash.put(Place(place), Fingerprint(fingerprint));
        assert!(put(&mut stash, 3, 7) && put(&mut stash, 15, 7));
        assert!(!put(&mut stash, 0, 1), "the first group is full");
        assert!(put(&mut stash, 16, 1), "the second is not");
        assert!(stash.take(Place(15), Fingerprint(7)));
        assert!(!stash.take(Place(15), Fingerprint(7)));
        assert!(put(&mut stash, 0, 1));
        assert_eq!(stash.len(), 3);
        assert_eq!(stash.group(Place(9)), 0..2);
    }

    #[test]
    fn copies_are_counted_and_order_does_not_matter() {
        let entries = [(5, 2), (1, 9), (5, 2), (3, 3)];
        let fill = |order: &[usize]| {
            let mut stash = Stash::new(8, 64);
            for &i in order {
                assert!(stash.put(Place(entries[i].0), Fingerprint(entries[i].1)));
            }
            stash
        };
        let stash = fill(&[0, 1, 2, 3]);
        assert_eq!(stash, fill(&[3, 2, 0, 1]));
        assert_eq!(stash.count(Place(5), Fingerprint(2)), 2);
        assert_eq!(stash.count(Place(5), Fingerprint(3)), 0);
    }
}
