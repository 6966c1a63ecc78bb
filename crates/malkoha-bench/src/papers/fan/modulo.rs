//! A simulator of what must not be done: the filter of Fan et al. with a number of buckets that is not a
//! power of two. The other bucket is `(bucket XOR hash(fingerprint)) mod m`.
//!
//! The engine cannot do this, so it is implemented here: buckets of four slots, fingerprints of 12 bits,
//! random victims, up to 500 kicks.

use malkoha::KeyHasher;

use crate::access::reduce;

const SLOTS: usize = 4;
const FINGERPRINTS: usize = 4095;
const MOST_KICKS: u32 = 500;

/// What the number of the bucket is combined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// The whole hash of the fingerprint, as in the formula.
    Whole,
    /// As many bits of it as a bucket number has.
    Bits,
}

pub(super) struct Modulo {
    distance: Distance,
    buckets: Vec<[u16; SLOTS]>,
    stored: usize,
    victims: u64,
}

impl Modulo {
    pub(super) fn new(buckets: usize, distance: Distance) -> Self {
        Self { distance, buckets: vec![[0; SLOTS]; buckets], stored: 0, victims: 0 }
    }

    pub(super) fn load(&self) -> f64 {
        self.stored as f64 / (self.buckets.len() * SLOTS) as f64
    }

    fn other(&self, bucket: usize, fingerprint: u16) -> usize {
        let hash = KeyHasher::new(7).number(u64::from(fingerprint)).to_raw();
        let hash = match self.distance {
            Distance::Whole => hash,
            Distance::Bits => reduce(hash, self.buckets.len().next_power_of_two()) as u64,
        };
        other(bucket as u64, hash, self.buckets.len() as u64)
    }

    fn homes(&self, key: u64) -> (u16, [usize; 2]) {
        let bucket = reduce(KeyHasher::new(5).number(key).to_raw(), self.buckets.len());
        let fingerprint = 1 + reduce(KeyHasher::new(6).number(key).to_raw(), FINGERPRINTS);
        let fingerprint = u16::try_from(fingerprint).expect("12 bits");
        (fingerprint, [bucket, self.other(bucket, fingerprint)])
    }

    fn put(&mut self, bucket: usize, fingerprint: u16) -> bool {
        let slot = self.buckets[bucket].iter_mut().find(|slot| **slot == 0);
        slot.map(|slot| *slot = fingerprint).is_some()
    }

    /// Returns a number below `choices`.
    fn pick(&mut self, choices: usize) -> usize {
        self.victims += 1;
        reduce(KeyHasher::new(8).number(self.victims).to_raw(), choices)
    }

    /// Stores a key. Returns `false` if the kicks did not suffice; then nothing has changed, so keys are lost
    /// by the placement and not by a full table.
    pub(super) fn insert(&mut self, key: u64) -> bool {
        let (fingerprint, homes) = self.homes(key);
        let stored = homes.into_iter().any(|home| self.put(home, fingerprint)) || {
            let bucket = homes[self.pick(2)];
            self.kick(bucket, fingerprint)
        };
        self.stored += usize::from(stored);
        stored
    }

    fn kick(&mut self, mut bucket: usize, mut fingerprint: u16) -> bool {
        let mut kicks = Vec::new();
        for _ in 0..MOST_KICKS {
            let victim = self.pick(SLOTS);
            kicks.push((bucket, victim));
            std::mem::swap(&mut self.buckets[bucket][victim], &mut fingerprint);
            bucket = self.other(bucket, fingerprint);
            if self.put(bucket, fingerprint) {
                return true;
            }
        }
        for (bucket, victim) in kicks.into_iter().rev() {
            std::mem::swap(&mut self.buckets[bucket][victim], &mut fingerprint);
        }
        false
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        let (fingerprint, homes) = self.homes(key);
        homes.into_iter().any(|home| self.buckets[home].contains(&fingerprint))
    }
}

/// Returns the other bucket in a table of this many.
pub(super) fn other(bucket: u64, hash: u64, buckets: u64) -> usize {
    usize::try_from((bucket ^ hash) % buckets).expect("a bucket")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_lead_back_and_others_do_not() {
        // The two worked examples: 6 -> 15 -> 6 among 16 buckets, 6 -> 3 -> 10 among 12.
        assert_eq!((other(6, 9, 16), other(15, 9, 16)), (15, 6));
        assert_eq!((other(6, 9, 12), other(3, 9, 12)), (3, 10));
    }

    #[test]
    fn a_power_of_two_loses_nothing() {
        for distance in [Distance::Whole, Distance::Bits] {
            let mut filter = Modulo::new(1 << 10, distance);
            let keys = 3800;
            assert!((0..keys).all(|key| filter.insert(key)));
            assert!((0..keys).all(|key| filter.contains(key)));
            assert!((filter.load() - 3800.0 / 4096.0).abs() < 1e-9);
        }
    }
}
