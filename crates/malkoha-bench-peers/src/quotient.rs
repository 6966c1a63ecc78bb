//! `qfilter`: the rank-and-select quotient filter, a power of two of slots at a load of at most 0.95.

use qfilter::Filter;

use crate::mixer::BuildMixer;
use crate::{Peer, Refused, whole};

/// Bits of a slot besides the remainder: 17 bytes for every 64 slots.
const SLOT_BITS: f64 = 17.0 * 8.0 / 64.0;

/// Returns the keys that fill the table whose bytes are nearest to these, more or fewer by a factor of up to
/// 1.42.
pub(crate) fn keys(bytes: u64, rate: f64) -> u64 {
    let slots = bytes as f64 * 8.0 / (-rate.log2().floor() + SLOT_BITS);
    let slots = whole(slots.log2().round().exp2());
    slots / 20 * 19
}

type Quotient = Filter<Box<[u8]>, BuildMixer>;

pub(crate) fn qfilter(keys: usize, rate: f64) -> Box<dyn Peer> {
    Box::new(
        Quotient::new_with_hasher(keys as u64, rate, BuildMixer::default())
            .expect("a quotient filter exists for every size and rate that is measured"),
    )
}

impl Peer for Quotient {
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused> {
        for (done, key) in keys.iter().enumerate() {
            // Stores every copy, as cuckoo filters do; without that, keys could not be removed safely.
            self.insert_duplicated(key).map_err(|_| Refused { done })?;
        }
        Ok(())
    }

    fn contains(&self, keys: &[u64], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = Filter::contains(self, key);
        }
    }

    fn remove(&mut self, keys: &[u64]) -> Option<usize> {
        Some(keys.iter().filter(|key| Filter::remove(self, key)).count())
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }
}
