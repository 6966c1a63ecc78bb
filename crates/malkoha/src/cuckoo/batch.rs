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
//! homes of a row of keys are found together, for which a CPU has vectors.

use crate::bits::cpu::{Vectors, Work};
use crate::in_cache::stays_in_cache;
use crate::key::{KeyHash, KeyHasher};
use crate::reduce::Halves;

use super::place::{Place, Placement};
use super::table::Table;
use super::tag::{Fingerprint, Side};
use super::{Cuckoo, Homes};

/// How keys are hashed. A trait and not a closure, which cannot be told to be inlined.
pub(super) trait Hash<K> {
    fn hash(&self, key: &K) -> KeyHash;
}

impl Hash<u64> for KeyHasher {
    #[inline(always)]
    fn hash(&self, number: &u64) -> KeyHash {
        self.number(*number)
    }
}

/// Not at all: the keys are hashes.
pub(super) struct Hashed;

impl Hash<KeyHash> for Hashed {
    #[inline(always)]
    fn hash(&self, hash: &KeyHash) -> KeyHash {
        *hash
    }
}

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
    fn get(&self, key: usize) -> Homes {
        Homes {
            first: Place(self.first[key]),
            second: Place(self.second[key]),
            fingerprint: Fingerprint(self.fingerprint[key]),
        }
    }
}

/// Finds the homes of a row of keys, of a narrow placement.
struct FindHomes<'a, P, K, H> {
    placement: &'a P,
    hasher: &'a H,
    keys: &'a [K; ROW],
}

impl<P: Placement, K, H: Hash<K>> Work for FindHomes<'_, P, K, H> {
    const WIDE: bool = true;
    type Output = Row;

    #[inline(always)]
    fn run(self, _: impl Vectors) -> Row {
        let mut row = Row { first: [0; ROW], second: [0; ROW], fingerprint: [0; ROW] };
        for (key, number) in self.keys.iter().zip(0..ROW) {
            let (first, fingerprint) = self.placement.locate_by::<Halves>(self.hasher.hash(key));
            row.first[number] = first.0;
            row.second[number] = self.placement.other_by::<Halves>(first, fingerprint, Side::First).0;
            row.fingerprint[number] = fingerprint.0;
        }
        row
    }
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Answers for every key.
    #[inline(always)]
    pub(super) fn look_up<K>(&self, hasher: &impl Hash<K>, keys: &[K], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        self.cpu.run(LookUp { filter: self, hasher, keys, answers });
        if !self.stash.is_empty() {
            for (answer, key) in answers.iter_mut().zip(keys).filter(|(answer, _)| !**answer) {
                *answer = self.stash_count(self.homes(hasher.hash(key))) > 0;
            }
        }
    }
}

/// Lookups in the table; as many answers as keys.
struct LookUp<'a, P, T, K, H> {
    filter: &'a Cuckoo<P, T>,
    hasher: &'a H,
    keys: &'a [K],
    answers: &'a mut [bool],
}

impl<P: Placement, T: Table, K, H: Hash<K>> Work for LookUp<'_, P, T, K, H> {
    const WIDE: bool = false;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        if !stays_in_cache(self.filter.table.words().bytes()) {
            self.in_memory();
        } else if self.filter.placement.is_narrow() {
            self.in_cache();
        } else {
            self.one_by_one();
        }
    }
}

impl<P: Placement, T: Table, K, H: Hash<K>> LookUp<'_, P, T, K, H> {
    #[inline(always)]
    fn in_memory(self) {
        let Self { filter, hasher, keys, answers } = self;
        let mut ring = [Homes::NOWHERE; AHEAD];
        for (homes, key) in ring.iter_mut().zip(keys) {
            *homes = filter.approach(hasher.hash(key));
        }
        for (i, answer) in answers.iter_mut().enumerate() {
            let homes = &mut ring[i % AHEAD];
            *answer = filter.in_table(*homes);
            if let Some(key) = keys.get(i + AHEAD) {
                *homes = filter.homes(hasher.hash(key));
            }
            let soon = i + AHEAD - LAG;
            if soon < keys.len() {
                filter.ask_for(ring[soon % AHEAD]);
            }
        }
    }

    /// For narrow placements.
    #[inline(always)]
    fn in_cache(self) {
        let Self { filter, hasher, keys, answers } = self;
        let (rows, rest) = keys.as_chunks();
        let (row_answers, rest_answers) = answers.as_chunks_mut::<ROW>();
        for (keys, answers) in rows.iter().zip(row_answers) {
            let row = filter.cpu.run(FindHomes { placement: &filter.placement, hasher, keys });
            for (key, answer) in answers.iter_mut().enumerate() {
                *answer = filter.in_table(row.get(key));
            }
        }
        LookUp { filter, hasher, keys: rest, answers: rest_answers }.one_by_one();
    }

    #[inline(always)]
    fn one_by_one(self) {
        for (answer, key) in self.answers.iter_mut().zip(self.keys) {
            *answer = self.filter.in_table(self.filter.homes(self.hasher.hash(key)));
        }
    }
}
