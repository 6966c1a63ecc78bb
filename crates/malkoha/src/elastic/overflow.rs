//! Entries that have no slot: further copies of a key whose two places are full of it, and keys with chosen hashes.

use std::collections::HashMap;

use crate::engine::MOST_COPIES;
use crate::error::Full;

use super::entry::{Entry, cut};

/// A multiset of entries. Most regions have none, and then this is a null pointer.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflow(Option<Box<Intervals>>);

/// The copies of one interval: their values, ascending, and how many copies each has.
type Copies = Vec<(u16, u64)>;

#[derive(Clone, Debug)]
struct Intervals {
    /// By place and tag. (With the standard hasher, because an enemy may choose the hashes of keys.)
    copies: HashMap<(u64, u64), Copies>,
    /// The number of all copies.
    len: u64,
    /// For every position of a mark, how many intervals have theirs there.
    marks: [u32; 64],
}

impl Overflow {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The number of copies.
    pub(super) fn len(&self) -> u64 {
        self.0.as_ref().map_or(0, |all| all.len)
    }

    /// Adds copies of an entry, of which no more than [`MOST_COPIES`] are counted; returns whether its interval is new. If
    /// the system has no memory, nothing changes.
    pub(super) fn put(&mut self, entry: Entry, copies: u64) -> Result<bool, Full> {
        if let Some(all) = &mut self.0 {
            return all.put(entry, copies);
        }
        let mut all = Box::new(Intervals { copies: HashMap::new(), len: 0, marks: [0; 64] });
        let is_new = all.put(entry, copies)?;
        self.0 = Some(all);
        Ok(is_new)
    }

    /// Removes one copy of an entry, which is there; returns whether its interval is then gone.
    pub(super) fn take(&mut self, entry: Entry) -> bool {
        let all = self.0.as_mut().expect("the entry is there");
        let copies = all.copies.get_mut(&(entry.place, entry.tag)).expect("the entry is there");
        let at = copies.binary_search_by_key(&entry.value, |(value, _)| *value).expect("the value is there");
        copies[at].1 -= 1;
        if copies[at].1 == 0 {
            copies.remove(at);
        }
        let is_gone = copies.is_empty();
        if is_gone {
            all.copies.remove(&(entry.place, entry.tag));
            all.marks[entry.tag.trailing_zeros() as usize] -= 1;
        }
        all.len -= 1;
        if all.len == 0 {
            self.0 = None;
        }
        is_gone
    }

    /// All intervals that contain a key, given its place and tag, longest fingerprint first.
    fn matching(&self, key: Entry) -> impl Iterator<Item = (u64, &Copies)> {
        self.0.iter().flat_map(move |all| {
            let marks = all.marks.iter().enumerate().filter(|(_, intervals)| **intervals > 0);
            let tags = marks.map(move |(mark, _)| cut(key.tag, mark));
            tags.filter_map(move |tag| all.copies.get(&(key.place, tag)).map(|copies| (tag, copies)))
        })
    }

    /// Whether an entry matches a key.
    pub(super) fn holds(&self, key: Entry) -> bool {
        self.matching(key).next().is_some()
    }

    /// Whether copies of this very entry are here.
    pub(super) fn has(&self, entry: Entry) -> bool {
        let copies = self.0.as_ref().and_then(|all| all.copies.get(&(entry.place, entry.tag)));
        copies.is_some_and(|copies| copies.binary_search_by_key(&entry.value, |(value, _)| *value).is_ok())
    }

    /// Whether an entry with the same value covers the whole interval of an entry.
    pub(super) fn covers(&self, entry: Entry) -> bool {
        let (mark, value) = (entry.tag.trailing_zeros(), entry.value);
        let mut matching = self.matching(entry).filter(|(tag, _)| tag.trailing_zeros() >= mark);
        matching.any(|(_, copies)| copies.binary_search_by_key(&value, |(value, _)| *value).is_ok())
    }

    /// The longest entry that matches a key and has its value.
    pub(super) fn longest(&self, key: Entry) -> Option<Entry> {
        let has_value =
            |copies: &Copies| copies.binary_search_by_key(&key.value, |(value, _)| *value).is_ok();
        self.matching(key).find(|(_, copies)| has_value(copies)).map(|(tag, _)| Entry { tag, ..key })
    }

    /// Calls `act` with the value and the number of copies of all entries that match a key.
    pub(super) fn each_match(&self, key: Entry, mut act: impl FnMut(u16, u64)) {
        let copies = self.matching(key).flat_map(|(_, copies)| copies);
        copies.for_each(|(value, copies)| act(*value, *copies));
    }

    /// Every entry and the number of its copies, in ascending order.
    pub(super) fn sorted(&self) -> Vec<(Entry, u64)> {
        let mut sorted = Vec::new();
        for (&(place, tag), copies) in self.0.iter().flat_map(|all| &all.copies) {
            sorted.extend(copies.iter().map(|&(value, copies)| (Entry { place, tag, value }, copies)));
        }
        sorted.sort_unstable();
        sorted
    }

    /// Bytes of memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |all| {
            let each = size_of::<((u64, u64), Copies)>() + size_of::<(u16, u64)>() + 1;
            size_of::<Intervals>() + all.copies.capacity() * each
        })
    }
}

impl Intervals {
    fn put(&mut self, entry: Entry, copies: u64) -> Result<bool, Full> {
        self.copies.try_reserve(1).map_err(|_| Full)?;
        let stored = self.copies.entry((entry.place, entry.tag)).or_default();
        let is_new = stored.is_empty();
        match stored.binary_search_by_key(&entry.value, |(value, _)| *value) {
            // Files can claim fewer copies than there are entries, so the length does not limit them.
            Ok(at) => stored[at].1 = stored[at].1.saturating_add(copies).min(MOST_COPIES),
            Err(at) => {
                if stored.try_reserve(1).is_err() {
                    if is_new {
                        self.copies.remove(&(entry.place, entry.tag));
                    }
                    return Err(Full);
                }
                stored.insert(at, (entry.value, copies));
            }
        }
        self.len = self.len.saturating_add(copies);
        if is_new {
            self.marks[entry.tag.trailing_zeros() as usize] += 1;
        }
        Ok(is_new)
    }
}
