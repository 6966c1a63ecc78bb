//! Bloom filters: `fastbloom` and `bloomfilter` (plain), `sbbf-rs` (split blocks of 32 bytes).

use crate::mixer::{BuildMixer, mix};
use crate::{Peer, Refused};

type Fast = fastbloom::BloomFilter<BuildMixer>;
type Plain = bloomfilter::Bloom<u64>;
type SplitBlock = sbbf_rs_safe::Filter;

/// Bits per key of the split-block filter, which takes no rate.
const SPLIT_BLOCK_BITS: usize = 16;

pub(crate) fn fastbloom(keys: usize, rate: f64) -> Box<dyn Peer> {
    Box::new(fastbloom::BloomFilter::with_false_pos(rate).hasher(BuildMixer::default()).expected_items(keys))
}

pub(crate) fn bloomfilter(keys: usize, rate: f64) -> Box<dyn Peer> {
    // The two halves key the two hashes and must differ: with equal ones the rate is 85 times too high.
    let seed = std::array::from_fn(|at| if at < 16 { 3 } else { 7 });
    Box::new(
        Plain::new_for_fp_rate_with_seed(keys, rate, &seed)
            .expect("a Bloom filter exists for every size and rate that is measured"),
    )
}

pub(crate) fn sbbf(keys: usize, _rate: f64) -> Box<dyn Peer> {
    Box::new(SplitBlock::new(SPLIT_BLOCK_BITS, keys))
}

impl Peer for Fast {
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused> {
        self.insert_all(keys);
        Ok(())
    }

    fn contains(&self, keys: &[u64], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = Fast::contains(self, key);
        }
    }

    fn bytes(&self) -> usize {
        self.num_bits() / 8
    }
}

impl Peer for Plain {
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused> {
        for key in keys {
            self.set(key);
        }
        Ok(())
    }

    fn contains(&self, keys: &[u64], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.check(key);
        }
    }

    fn bytes(&self) -> usize {
        self.as_slice().len()
    }
}

impl Peer for SplitBlock {
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused> {
        for key in keys {
            self.insert_hash(mix(*key));
        }
        Ok(())
    }

    fn contains(&self, keys: &[u64], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.contains_hash(mix(*key));
        }
    }

    fn bytes(&self) -> usize {
        self.as_bytes().len()
    }
}
