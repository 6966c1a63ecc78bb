//! `cuckoofilter`: buckets of four 8-bit fingerprints, a power of two of them.

use cuckoofilter::CuckooFilter;

use crate::mixer::Mixer;
use crate::{Peer, Refused, whole};

/// The load that it reaches, except with bad luck.
const LOAD: f64 = 0.95;

/// Returns the keys that fill the largest table of at most this many bytes.
pub(crate) fn keys(bytes: u64, _rate: f64) -> u64 {
    whole(f64::from(bytes.max(1).ilog2()).exp2() * LOAD)
}

/// Returns an empty filter. The rate is that of 8 bits, about 0.03.
pub(crate) fn cuckoofilter(keys: usize, _rate: f64) -> Box<dyn Peer> {
    Box::new(CuckooFilter::<Mixer>::with_capacity(keys))
}

impl Peer for CuckooFilter<Mixer> {
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused> {
        for (done, key) in keys.iter().enumerate() {
            self.add(key).map_err(|_| Refused { done })?;
        }
        Ok(())
    }

    fn contains(&self, keys: &[u64], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = CuckooFilter::contains(self, key);
        }
    }

    fn remove(&mut self, keys: &[u64]) -> Option<usize> {
        Some(keys.iter().filter(|key| self.delete(*key)).count())
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }
}
