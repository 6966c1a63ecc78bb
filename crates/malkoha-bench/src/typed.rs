//! Our filters through their own types: for callers who know the kind at compile time and already have
//! hashes.
//!
//! One virtual call handles a slice of keys, as for peers. Inside it, one loop that the compiler sees as a
//! whole hashes the keys and queries the filter.

use std::error::Error;

use malkoha::bloom::{Blocked, Distinct, Random, Spread};
use malkoha::cuckoo::{SignedCuckoo, SortedCuckoo};
use malkoha::{Full, Geometry, Key, KeyHash, KeyHasher, Kind, Layout, Pattern};

use crate::contestants::{Contestant, Way};

/// The kinds that have a typed contestant.
pub(crate) fn has(kind: Kind) -> bool {
    matches!(kind, Kind::Flexible(_) | Kind::Windowed(_) | Kind::Sorted | Kind::Blocked(_))
}

/// Returns an empty filter. A type refuses the layouts of kinds and patterns that are not its own.
pub(crate) fn make(geometry: &Geometry) -> Result<Box<dyn Contestant>, Box<dyn Error>> {
    Ok(match geometry.layout() {
        Layout::Cuckoo(layout) => match layout.kind() {
            Kind::Sorted => contestant(SortedCuckoo::new(layout)?, geometry),
            // Windows have the same type.
            _ => contestant(SignedCuckoo::new(layout)?, geometry),
        },
        Layout::Blocked(layout) => match layout.pattern {
            Pattern::Distinct => contestant(Blocked::<Distinct>::new(layout)?, geometry),
            Pattern::Spread => contestant(Blocked::<Spread>::new(layout)?, geometry),
            _ => contestant(Blocked::<Random>::new(layout)?, geometry),
        },
        _ => return Err(format!("{} has no typed measurement; leave out +typed", geometry.kind()).into()),
    })
}

fn contestant<F: Typed + 'static>(filter: F, geometry: &Geometry) -> Box<dyn Contestant> {
    Box::new(Direct { filter, hasher: KeyHasher::new(geometry.seed()), bytes: geometry.bytes() })
}

/// What the typed filters of both families do.
trait Typed: Sync {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full>;
    fn contains(&self, hash: KeyHash) -> bool;
    /// Removes a key and returns whether it was there; `None` if the filter cannot remove.
    fn remove(&mut self, hash: KeyHash) -> Option<bool>;
}

/// A typed filter and the hasher of its keys.
struct Direct<F> {
    filter: F,
    hasher: KeyHasher,
    bytes: u64,
}

impl<F: Typed> Contestant for Direct<F> {
    fn insert(&mut self, _: Way, keys: &[u64], _: usize) -> Result<(), Box<dyn Error>> {
        let hasher = self.hasher;
        for key in keys {
            self.filter.insert(key.key_hash(&hasher))?;
        }
        Ok(())
    }

    fn find(&self, _: Way, keys: &[u64], answers: &mut [bool]) {
        // By value: the compiler cannot know that writing answers does not change what the reference points
        // to.
        let hasher = self.hasher;
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.filter.contains(key.key_hash(&hasher));
        }
    }

    fn remove(&mut self, keys: &[u64]) -> Option<usize> {
        let mut removed = 0;
        for key in keys {
            removed += usize::from(self.filter.remove(key.key_hash(&self.hasher))?);
        }
        Some(removed)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

macro_rules! cuckoo {
    ($($filter:ty),*) => {$(
        impl Typed for $filter {
            #[inline(always)]
            fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
                <$filter>::insert(self, hash)
            }

            #[inline(always)]
            fn contains(&self, hash: KeyHash) -> bool {
                <$filter>::contains(self, hash)
            }

            #[inline(always)]
            fn remove(&mut self, hash: KeyHash) -> Option<bool> {
                Some(<$filter>::remove(self, hash))
            }
        }
    )*};
}

macro_rules! blocked {
    ($($pattern:ty),*) => {$(
        impl Typed for Blocked<$pattern> {
            #[inline(always)]
            fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
                Blocked::insert(self, hash);
                Ok(())
            }

            #[inline(always)]
            fn contains(&self, hash: KeyHash) -> bool {
                Blocked::contains(self, hash)
            }

            #[inline(always)]
            fn remove(&mut self, _: KeyHash) -> Option<bool> {
                None
            }
        }
    )*};
}

cuckoo!(SignedCuckoo, SortedCuckoo);
blocked!(Random, Distinct, Spread);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::{Entry, Size};
    use crate::wish::Choice;

    fn entry(text: &str) -> Entry {
        let Choice::One(wish) = text.parse().unwrap() else { panic!("{text} is one kind") };
        Entry::ours(wish, Size(1 << 13)).unwrap()
    }

    #[test]
    fn a_typed_filter_answers_as_the_same_filter_does() {
        let widths = ["flexible:4@5", "flexible:4@9", "flexible:4@10", "flexible:4@13"];
        for name in widths.into_iter().chain(["windowed:2", "sorted", "blocked:1+spread", "blocked:2"]) {
            let entries = [entry(name), entry(&format!("{name}+typed"))];
            let keys: Vec<u64> = (0..entries[0].keys()).collect();
            let asked: Vec<u64> = (keys.len() as u64 / 2..keys.len() as u64 * 9).collect();
            let answers = entries.map(|entry| {
                let mut filter = entry.make().unwrap();
                filter.insert(Way::OneByOne, &keys, 1).unwrap();
                let mut answers = vec![false; asked.len()];
                filter.find(Way::OneByOne, &asked, &mut answers);
                (answers, filter.bytes(), filter.remove(&keys))
            });
            assert!(answers[0] == answers[1], "{name}");
            assert!(answers[0].0[..keys.len() / 2].iter().all(|found| *found), "{name}");
        }
    }

    #[test]
    fn slots_of_the_widths_that_are_compared_can_be_asked_for() {
        for (k, bits) in [(5, 8.0), (9, 12.0), (10, 13.0), (13, 16.0)] {
            let Entry::Ours { spec, .. } = entry(&format!("flexible:4@{k}+typed")) else { panic!() };
            let slot_bits: f64 = spec.plan().unwrap().cuckoo().unwrap().slot_bits();
            assert!((slot_bits - bits).abs() < 1e-9, "{slot_bits} bits at k = {k}");
        }
    }
}
