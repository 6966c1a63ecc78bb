//! Many lookups at once.
//!
//! In tables beyond the cache the memory of later keys is asked for while earlier ones are looked at, and keys are
//! hashed in the same loop, so that this too is done while memory is on its way:
//!
//! ```text
//!   key i + AHEAD          hash, homes
//!   key i + AHEAD - LAG    ask for its memory
//!   key i                  compare
//! ```
//!
//! Where the table stays in the cache there is no memory to wait for, and multiplications are what takes time: the
//! homes of a row of keys are found together, for which a CPU has vectors. Where homes do not suit them (fingerprints
//! of more than 32 bits, doubled tables) at least hashes are computed together, by `in_cache.rs`.

use crate::bits::cpu::{Vectors, Work};
use crate::in_cache::{answer_each, stays_in_cache};
use crate::key::{Key, KeyHasher};

use super::place::{Place, Placement};
use super::table::Table;
use super::tag::{Fingerprint, Side};
use super::{Cuckoo, Homes};

/// How many keys ahead of the one that is looked at its homes are computed.
const AHEAD: usize = 64;

/// How many keys after its homes are computed the memory of a key is asked for. A request that waits for the
/// multiplications which lead to its place takes up room in the CPU's window meanwhile.
const LAG: usize = 2;

/// How many keys' homes are found together.
const ROW: usize = 64;

/// The homes of a row of keys, part by part: what vectors hold is stored as it is.
struct Row {
    first: [u64; ROW],
    second: [u64; ROW],
    fingerprint: [u64; ROW],
}

impl Row {
    #[inline(always)]
    fn get(&self, i: usize) -> Homes {
        Homes {
            first: Place(self.first[i]),
            second: Place(self.second[i]),
            fingerprint: Fingerprint(self.fingerprint[i]),
        }
    }
}

/// Finds the homes of at most a row of keys, of a placement that suits vectors.
struct FindHomes<'a, P, K> {
    placement: &'a P,
    keys: &'a [K],
    hasher: &'a KeyHasher,
}

impl<P: Placement, K: Key> FindHomes<'_, P, K> {
    #[inline(always)]
    fn by<V: Vectors>(self, _: V) -> Row {
        // A row of its own, to which nothing that is read in the loop can point: else there would be no vectors.
        let mut row = Row { first: [0; ROW], second: [0; ROW], fingerprint: [0; ROW] };
        for (i, key) in self.keys.iter().enumerate().take(ROW) {
            let hash = key.hash(self.hasher);
            let (first, fingerprint) = self.placement.locate_by::<V::Multiply>(hash);
            row.first[i] = first.0;
            row.second[i] = self.placement.other_by::<V::Multiply>(first, fingerprint, Side::First).0;
            row.fingerprint[i] = fingerprint.0;
        }
        row
    }
}

impl<P: Placement, K: Key> Work for FindHomes<'_, P, K> {
    const WIDE: bool = true;
    type Output = Row;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Row {
        self.by(vectors)
    }
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Answers for every key.
    #[inline(always)]
    pub(super) fn look_up<K: Key>(&self, keys: &[K], hasher: &KeyHasher, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        self.cpu.run(LookUp { filter: self, keys, hasher, answers });
        if !self.stash.is_empty() {
            for (answer, key) in answers.iter_mut().zip(keys).filter(|(answer, _)| !**answer) {
                *answer = self.stash_count(self.homes(key.hash(hasher))) > 0;
            }
        }
    }
}

/// Lookups in the table; as many answers as keys.
struct LookUp<'a, P, T, K> {
    filter: &'a Cuckoo<P, T>,
    keys: &'a [K],
    hasher: &'a KeyHasher,
    answers: &'a mut [bool],
}

impl<P: Placement, T: Table, K: Key> Work for LookUp<'_, P, T, K> {
    const WIDE: bool = false;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        if !stays_in_cache(self.filter.table.words().bytes()) {
            return self.in_memory();
        }
        if self.filter.placement.suits_vectors() {
            return self.in_rows();
        }
        let Self { filter, keys, hasher, answers } = self;
        let holds = |hash| filter.in_table(filter.homes(hash));
        answer_each(keys, &|key: &K| key.hash(hasher), answers, filter.cpu, holds);
    }
}

impl<P: Placement, T: Table, K: Key> LookUp<'_, P, T, K> {
    /// One key at a time, with the memory of later ones on its way.
    #[inline(always)]
    fn in_memory(self) {
        let Self { filter, keys, hasher, answers } = self;
        let mut ring = [Homes::NOWHERE; AHEAD];
        for (homes, key) in ring.iter_mut().zip(keys) {
            *homes = filter.approach(key.hash(hasher));
        }
        for (i, answer) in answers.iter_mut().enumerate() {
            let homes = &mut ring[i % AHEAD];
            *answer = filter.in_table(*homes);
            if let Some(key) = keys.get(i + AHEAD) {
                *homes = filter.homes(key.hash(hasher));
            }
            let soon = i + AHEAD - LAG;
            if soon < keys.len() {
                filter.ask_for(ring[soon % AHEAD]);
            }
        }
    }

    /// A row of keys at a time, in a table that is in the cache, of a placement that suits vectors.
    #[inline(always)]
    fn in_rows(self) {
        let Self { filter, keys, hasher, answers } = self;
        for (keys, answers) in keys.chunks(ROW).zip(answers.chunks_mut(ROW)) {
            let row = filter.cpu.run(FindHomes { placement: &filter.placement, keys, hasher });
            for (i, answer) in answers.iter_mut().enumerate() {
                *answer = filter.in_table(row.get(i));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::Cpu;
    use crate::cuckoo::{CuckooLayout, Signed, Subtables, Xor};
    use crate::key::{KeyHash, mix};
    use crate::kind::Kind;
    use crate::spec::{Offsets, Spec};

    #[test]
    fn slices_of_all_lengths_are_answered_like_single_keys() {
        let lengths = [0, 1, LAG, ROW - 1, ROW, ROW + 1, ROW + AHEAD - LAG, 2 * ROW, 1000];
        let (mut answers, mut stashes) = ([0; 2], 0);
        // Tables in the cache, with homes that suit vectors and with others, and one that is not.
        for (keys, rate) in [(50, 0.2), (5000, 0.01), (5000, 1e-11), (300_000, 1e-9)] {
            for kind in Kind::cuckoos() {
                for (offsets, values) in [(Offsets::Local, 0), (Offsets::Local, 4), (Offsets::Near(96), 0)] {
                    if offsets != Offsets::Local && !kind.is_signed() {
                        continue;
                    }
                    let spec = Spec::new(keys, rate).kind(kind).offsets(offsets);
                    let spec = if values > 0 { spec.values(values) } else { spec };
                    let mut filter = spec.build().unwrap();
                    // Small ones as full as they get, so that there are keys in the stash.
                    let most = if keys < 10_000 { 2 * keys } else { keys };
                    let stored = (0..most).find(|key| filter.insert(key).is_err()).unwrap_or(most);
                    stashes += u32::from(filter.engine().stash_len() > 0);
                    let asked: Vec<u64> = (0..1000).map(|i| mix(i) % (2 * stored)).collect();
                    let single: Vec<bool> = asked.iter().map(|key| filter.contains(key)).collect();
                    let hashes: Vec<KeyHash> = asked.iter().map(|key| key.hash(filter.hasher())).collect();
                    for length in lengths {
                        let what = || format!("{length} of {keys} keys in {:?}", filter.geometry());
                        assert_eq!(filter.contains_slice(&asked[..length]), single[..length], "{}", what());
                        assert_eq!(filter.contains_slice(&hashes[..length]), single[..length], "{}", what());
                    }
                    for (&key, found) in asked.iter().zip(single) {
                        assert!(found || key >= stored, "{key} is lost");
                        answers[usize::from(found)] += 1;
                    }
                }
            }
        }
        assert!(answers.iter().all(|&count| count > 10_000), "{answers:?} of both answers");
        assert!(stashes > 10, "{stashes} filters have keys in the stash");
    }

    /// The homes of rows of all lengths, as every CPU finds them.
    fn check<P: Placement>(layout: &CuckooLayout) {
        let placement = &P::new(layout);
        assert!(placement.suits_vectors());
        let hasher = &KeyHasher::new(7);
        let keys: [u64; ROW] = core::array::from_fn(|i| mix(i as u64));
        for cpu in Cpu::all() {
            for length in 0..=ROW {
                let row = cpu.run(FindHomes { placement, keys: &keys[..length], hasher });
                for (i, key) in keys[..length].iter().enumerate() {
                    let Homes { first, second, fingerprint } = row.get(i);
                    assert_eq!(
                        (first, fingerprint),
                        placement.locate(key.hash(hasher)),
                        "{cpu:?}, {layout:?}"
                    );
                    assert_eq!(
                        second,
                        placement.other(first, fingerprint, Side::First),
                        "{cpu:?}, {layout:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn all_cpus_find_the_homes_of_single_keys() {
        let layout = |kind, offsets| {
            *Spec::new(9000, 0.01).kind(kind).offsets(offsets).plan().unwrap().cuckoo().unwrap()
        };
        check::<Xor>(&layout(Kind::Classic(4), Offsets::Local));
        check::<Subtables>(&layout(Kind::Simplified(4), Offsets::Local));
        check::<Signed<false>>(&layout(Kind::Windowed(2), Offsets::Local));
        check::<Signed<false>>(&layout(Kind::Flexible(4), Offsets::Whole));
        check::<Signed<true>>(&layout(Kind::Sorted, Offsets::Near(96)));
    }
}
