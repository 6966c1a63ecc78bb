//! A model of what a filter promises, and random histories that test a filter against it.
//!
//! The model is a multiset of the keys that were stored. It knows nothing about places and fingerprints, only
//! which keys must be found. [`exercise`] drives a filter and the model through the same history and panics,
//! naming the step, as soon as the filter breaks its promise.

mod compounds;
mod hostile;

use std::collections::HashMap;

use crate::error::{Error, Full};
use crate::{Filter, Geometry, Inserted, Spec};

pub use hostile::{damage, look_at, provoke, seal};

/// The geometry of a chain of tables. Windows have chains, and so have files of earlier versions; a growing filter of a
/// cuckoo kind is no longer one.
pub fn plan_chain(spec: &Spec) -> Result<Geometry, Error> {
    spec.plan_chain()
}

/// Builds an empty chain of tables.
pub fn build_chain(spec: &Spec) -> Result<Filter, Error> {
    Filter::new(plan_chain(spec)?)
}

/// A cheap stream of pseudo-random numbers, the same on every machine.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// Creates the stream with this number.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(crate::key::mix(number ^ 0x5EED_5EED_5EED_5EED))
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        crate::key::mix(self.0)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        crate::key::draw::last_draw(self.draw(), bound)
    }
}

/// The stored keys, each with its number of copies.
#[derive(Clone, Debug, Default)]
pub struct Model {
    copies: HashMap<u64, u32>,
    /// Every stored copy once, so that one can be picked at random.
    keys: Vec<u64>,
}

impl Model {
    /// Remembers one stored copy.
    pub fn store(&mut self, key: u64) {
        *self.copies.entry(key).or_default() += 1;
        self.keys.push(key);
    }

    /// Forgets one stored copy, picked by `pick`.
    pub fn forget(&mut self, pick: u64) -> Option<u64> {
        if self.keys.is_empty() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
        let at = pick as usize % self.keys.len();
        let key = self.keys.swap_remove(at);
        match self.copies.get_mut(&key) {
            Some(copies) if *copies > 1 => *copies -= 1,
            _ => drop(self.copies.remove(&key)),
        }
        Some(key)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.copies.clear();
        self.keys.clear();
    }

    /// The number of stored copies.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Checks that the filter holds everything that was stored, by single lookups and as a slice.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn check(&self, filter: &Filter) {
        assert_eq!(filter.len(), self.len(), "the filter counts what it stores");
        let keys: Vec<u64> = self.copies.keys().copied().collect();
        for (key, found) in keys.iter().zip(filter.contains_slice(&keys)) {
            assert!(found && filter.contains(key), "{filter:?} lost {key}");
            if let Ok(count) = filter.count(key) {
                assert!(count >= self.copies[key], "{filter:?} lost a copy of {key}");
            }
        }
    }
}

/// Drives a filter and its model through `steps` random operations: inserts, unique inserts, copies of stored
/// keys, removals of stored keys, rarely a clear, and inserts into a full filter. Keys come from a universe
/// of `universe` numbers, so a small one makes many duplicates.
///
/// Returns how many inserts were refused.
///
/// # Panics
///
/// If the filter breaks its promise: a stored key is not found, or a refused insert changed something.
pub fn exercise(filter: &mut Filter, universe: u64, steps: u64, stream: &mut Stream) -> u64 {
    let mut model = Model::default();
    let mut refused = 0;
    let planned = filter.geometry().keys();
    // Comparing all bytes after a refusal needs a copy from before it, so it is done only now and then.
    let compare_every = 4 + planned / 4096;
    // Inserts prevail until the filter refuses one, then removals, so that it keeps filling and emptying.
    let mut filling = true;
    for step in 0..steps {
        let dice = stream.below(1000);
        let inserts = if filling { 700 } else { 300 };
        if dice == 0 && stream.below(50) == 0 {
            filter.clear();
            model.clear();
            filling = true;
        } else if dice < inserts {
            let key = match (dice % 16, model.keys.last()) {
                (0, Some(key)) => *key,
                _ => stream.below(universe),
            };
            let before = step.is_multiple_of(compare_every).then(|| filter.clone());
            let known = filter.contains(&key);
            let stored = if dice % 4 == 1 {
                let inserted = filter.insert_unique(&key);
                assert!(
                    inserted.is_err() || (inserted == Ok(Inserted::Seen)) == known,
                    "seen is what is found"
                );
                inserted.map(|inserted| inserted == Inserted::Stored)
            } else {
                filter.insert(&key).map(|()| true)
            };
            match stored {
                Ok(true) => model.store(key),
                Ok(false) => assert!(filter.contains(&key), "a seen key is found"),
                Err(Full) => {
                    refused += 1;
                    filling = stream.below(20) > 0;
                    if let Some(before) = before {
                        assert!(before == *filter, "{filter:?} changed though it refused {key} at {step}");
                    }
                }
            }
        } else if let Some(key) = model.forget(stream.draw()) {
            if let Ok(removed) = filter.remove(&key) {
                assert!(removed, "{filter:?} lost {key} at step {step}");
            } else {
                model.store(key);
            }
        } else {
            filling = true;
        }
        if step % (64 + 4 * planned) == 0 {
            model.check(filter);
        }
    }
    model.check(filter);
    refused
}
