//! Many keys for sorted buckets: stored in plain slots, which are sorted at the end.
//!
//! Whoever puts a tag into a sorted bucket unpacks four tags, sorts them and packs them again. In plain slots the tag
//! is written to an empty lane, and a walk reads and swaps single lanes. So before many keys are stored, the table is
//! unpacked, and packed again afterwards: each bucket once, and not once for every key and every step of a walk.

use crate::bits::Words;
use crate::bits::chosen::Chosen;
use crate::engine::Counters;

use super::Cuckoo;
use super::place::Placement;
use super::table::Table;
use super::walk::Walk;

/// Unpacking takes less time than it saves if there is at least one key for this many slots.
const SLOTS_PER_KEY: u64 = 4;

/// Larger tables are not unpacked: this takes memory for a second one.
const MOST_BYTES: u64 = 256 << 20;

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Returns this filter with its table in loose form, if that helps to store so many keys and there is memory for
    /// it.
    pub(super) fn loosened(&self, keys: u64) -> Option<Cuckoo<P, T::Loose>> {
        let helps = keys >= self.layout.slots / SLOTS_PER_KEY && self.layout.bytes() <= MOST_BYTES;
        let layout = T::loose_layout(&self.layout).filter(|_| helps)?;
        let mut table = T::new_loose(&layout, Words::zeroed(layout.table_bits()?).ok()?);
        if !self.is_empty() {
            self.table.loosen(&mut table, self.layout.places);
        }
        Some(Cuckoo {
            placement: self.placement,
            table,
            stash: self.stash.clone(),
            layout: self.layout,
            len: self.len,
            walk: Walk::default(),
            cpu: self.cpu,
            look_up: Chosen::any(Cuckoo::contains_otherwise),
            counters: Counters::default(),
        })
    }

    /// Takes over what this filter has become in loose form.
    pub(super) fn tighten(&mut self, loose: Cuckoo<P, T::Loose>) {
        self.table.tighten(&loose.table, self.layout.places);
        self.len = loose.len;
        self.stash = loose.stash;
        self.counters.add(loose.counters);
        self.stash_has_changed();
    }
}

#[cfg(test)]
mod tests {
    use crate::cuckoo::{SemiSortedCuckoo, Signed, Slots, SortedBuckets, SortedCuckoo, Xor};
    use crate::key::{Key, KeyHasher, mix};
    use crate::kind::Kind;
    use crate::plan::Spec;

    use super::*;

    /// Unpacked and packed again, a table is the same to the last bit, and in between it holds the same keys.
    fn there_and_back<P: Placement>(mut filter: Cuckoo<P, SortedBuckets>, keys: u64) {
        let hasher = KeyHasher::new(7);
        let stored =
            (0..keys).take_while(|&i| filter.insert(mix(i % (keys - 9)).key_hash(&hasher)).is_ok()).count();
        assert!(stored as u64 > keys / 2, "{:?}", filter.layout);
        let before = filter.table.words().to_vec();
        let loose: Cuckoo<P, Slots> = filter.loosened(u64::MAX).expect("a loose form");
        assert_eq!((loose.len(), loose.stash.len()), (filter.len(), filter.stash.len()));
        for i in 0..2 * keys {
            let hash = mix(i).key_hash(&hasher);
            assert_eq!(loose.count(hash), filter.count(hash), "key {i} in {:?}", filter.layout);
        }
        filter.table.clear();
        filter.tighten(loose);
        assert_eq!(filter.table.words().to_vec(), before);
    }

    /// Buckets of one load and of several, with and without values.
    #[test]
    fn tables_are_unpacked_and_packed_without_loss() {
        for rate in [0.2, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12] {
            for value_bits in [0, 5] {
                let layout = |kind| {
                    let spec = Spec::new(1000, rate).kind(kind);
                    let spec = if value_bits > 0 { spec.values(value_bits) } else { spec };
                    *spec.plan().unwrap().cuckoo().unwrap()
                };
                there_and_back::<Signed>(SortedCuckoo::new(&layout(Kind::Sorted)).unwrap(), 1000);
                there_and_back::<Xor>(SemiSortedCuckoo::new(&layout(Kind::SemiSorted)).unwrap(), 1000);
            }
        }
    }
}
