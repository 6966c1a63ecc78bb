//! Bloom filters: `fastbloom` and `bloomfilter` (plain), `sbbf-rs` (split blocks of 32 bytes).

use crate::mixer::{BuildMixer, mix};
use crate::{Peer, Refused, whole};

type Fast = fastbloom::BloomFilter<BuildMixer>;
type Plain = bloomfilter::Bloom<u64>;
type SplitBlock = sbbf_rs_safe::Filter;

/// Bits per key of the split-block filter where no rate is given.
const SPLIT_BLOCK_BITS: usize = 16;

/// The most bits per key that are tried.
const MOST_SPLIT_BLOCK_BITS: usize = 80;

/// Returns the keys for which an optimal plain Bloom filter takes this many bytes.
pub(crate) fn plain_keys(bytes: u64, rate: f64) -> u64 {
    whole(bytes as f64 * 8.0 * std::f64::consts::LN_2 / -rate.log2())
}

pub(crate) fn fastbloom(keys: usize, rate: f64) -> Box<dyn Peer> {
    Box::new(fastbloom::BloomFilter::with_false_pos(rate).hasher(BuildMixer::default()).expected_items(keys))
}

pub(crate) fn bloomfilter(keys: usize, rate: f64) -> Box<dyn Peer> {
    // The two halves are the keys of the two hashes and must differ: if they are equal, the rate is 85 times
    // too high.
    let seed = std::array::from_fn(|at| if at < 16 { 3 } else { 7 });
    Box::new(
        Plain::new_for_fp_rate_with_seed(keys, rate, &seed)
            .expect("a Bloom filter exists for every size and rate that is measured"),
    )
}

pub(crate) fn sbbf_16(keys: usize, _rate: f64) -> Box<dyn Peer> {
    Box::new(SplitBlock::new(SPLIT_BLOCK_BITS, keys))
}

pub(crate) fn sbbf_16_keys(bytes: u64, _rate: f64) -> u64 {
    bytes * 8 / SPLIT_BLOCK_BITS as u64
}

pub(crate) fn sbbf(keys: usize, rate: f64) -> Box<dyn Peer> {
    Box::new(SplitBlock::new(split_block_bits(rate), keys))
}

pub(crate) fn sbbf_keys(bytes: u64, rate: f64) -> u64 {
    bytes * 8 / split_block_bits(rate) as u64
}

/// Returns the fewest bits per key whose rate is at most this one; the crate takes whole bits.
fn split_block_bits(rate: f64) -> usize {
    (1..MOST_SPLIT_BLOCK_BITS).find(|bits| split_block_rate(*bits) <= rate).unwrap_or(MOST_SPLIT_BLOCK_BITS)
}

/// Returns the rate of blocks of eight 32-bit words, in each of which a key sets one bit. The keys per block
/// are Poisson distributed.
fn split_block_rate(bits_per_key: usize) -> f64 {
    let mean = 256.0 / bits_per_key as f64;
    let (mut share, mut unset, mut rate) = ((-mean).exp(), 1.0, 0.0);
    for keys in 1..1000 {
        share *= mean / f64::from(keys);
        unset *= 31.0 / 32.0;
        rate += share * (1.0f64 - unset).powi(8);
    }
    rate
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
