//! What is measured of both the simulator and the engine: load at the first failure, rate and speed.

use malkoha::{Filter, KeyHasher, Kind, theory};

use super::rejected::{Buckets, Hashes};
use crate::measure;

/// The share of the slots filled to measure rate and speed.
const LOAD: f64 = 0.94;

/// A filter of buckets of four that takes integers.
pub(super) trait Subject {
    fn insert(&mut self, key: u64) -> bool;
    fn contains(&self, key: u64) -> bool;
    fn load(&self) -> f64;
}

impl<H: Hashes> Subject for Buckets<H> {
    fn insert(&mut self, key: u64) -> bool {
        self.insert(key)
    }

    fn contains(&self, key: u64) -> bool {
        self.contains(key)
    }

    fn load(&self) -> f64 {
        self.load()
    }
}

impl Subject for Filter {
    fn insert(&mut self, key: u64) -> bool {
        self.insert(&key).is_ok()
    }

    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }

    fn load(&self) -> f64 {
        self.stats().load
    }
}

/// Keys as people have them: a name, and a function from numbers to keys.
pub(super) type Keys = (&'static str, fn(u64) -> u64);

pub(super) const RANDOM: Keys = ("random", |number| KeyHasher::new(77).number(number).to_raw());
pub(super) const STRUCTURED: [Keys; 4] = [
    ("counting", |number| number),
    ("multiples of 2^32", |number| number << 32),
    ("bits of doubles", |number| (number as f64).to_bits()),
    ("pairs of small numbers", |number| (number >> 10) << 40 | (number & 1023)),
];

/// Results: means over the seeds, and the worst seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// Load at the first failure over the threshold.
    pub(super) share: f64,
    pub(super) least_share: f64,
    /// Load when the rate was measured.
    pub(super) load: f64,
    pub(super) rate: f64,
    pub(super) most_rate: f64,
    /// Million keys per second.
    pub(super) insert: f64,
    pub(super) find: f64,
}

/// Tries filters of about this many slots, one for each seed.
pub(super) fn trial<S: Subject>(make: impl Fn(u64) -> S, keys: Keys, slots: u64, seeds: u64) -> Trial {
    let each: Vec<Trial> = (0..seeds).map(|seed| once(|| make(seed), keys, slots)).collect();
    let mean = |number: fn(&Trial) -> f64| each.iter().map(number).sum::<f64>() / seeds as f64;
    Trial {
        share: mean(|trial| trial.share),
        least_share: each.iter().map(|trial| trial.share).fold(f64::INFINITY, f64::min),
        load: mean(|trial| trial.load),
        rate: mean(|trial| trial.rate),
        most_rate: each.iter().map(|trial| trial.rate).fold(0.0, f64::max),
        insert: mean(|trial| trial.insert),
        find: mean(|trial| trial.find),
    }
}

fn once<S: Subject>(make: impl Fn() -> S, (_, key): Keys, slots: u64) -> Trial {
    let mut filter = make();
    let _ = (0..2 * slots).map(key).find(|key| !filter.insert(*key));
    let share = filter.load() / theory::threshold(Kind::Flexible(4));
    let mut filter = make();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fewer than the slots")]
    let planned = (slots as f64 * LOAD.min(0.98 * share)) as u64;
    let stored: Vec<u64> = (0..planned).map(key).collect();
    let (inserting, count) = measure::time(|| stored.iter().take_while(|key| filter.insert(**key)).count());
    let strangers: Vec<u64> = (2 * slots..4 * slots).map(key).collect();
    let (finding, found) = measure::time(|| strangers.iter().filter(|key| filter.contains(**key)).count());
    let rate = found as f64 / strangers.len() as f64;
    Trial {
        share,
        least_share: share,
        load: filter.load(),
        rate,
        most_rate: rate,
        insert: measure::mega_per_second(count, inserting),
        find: measure::mega_per_second(strangers.len(), finding),
    }
}
