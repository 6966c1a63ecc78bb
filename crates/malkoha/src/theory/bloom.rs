//! What is known about Bloom filters in closed form, or as finite sums.
//!
//! Symbols follow \[SZR2\] Schmitz, Zentgraf, Rahmann: Blocked Bloom Filters with Choices, 2025: n keys, rate
//! 2^-k, m bits, M blocks of 512 bits, c choices, overload gamma; b is the number of bits that a key sets.
//! The load of blocks with choices has no closed form;
//! [`Geometry::predicted_rate`](crate::Geometry::predicted_rate) takes it from a model with differential
//! equations.

use crate::bits::{BLOCK_BITS, WORD_BITS, WORDS};
use crate::kind::Pattern;

use super::occupancy::{distinct_share, occupancy, one_more_throw, random_share};

/// The most bits per key for which [`plain_rate`] sums its exact formula; with more, terms cancel too much.
const EXACT_BITS: u32 = 24;

/// The expected share of set bits of a plain Bloom filter: `1 - (1 - 1/m)^(nb)`, \[SZR2\] equation 1.
#[must_use]
pub fn plain_fill(n: u64, m: u64, b: u32) -> f64 {
    -(n as f64 * f64::from(b) * (-1.0 / m as f64).ln_1p()).exp_m1()
}

/// The rate of a plain Bloom filter of m bits with n keys of b bits, exact for every m.
///
/// Of the b bits of a query, d are distinct with a known probability, and d given bits are all set with
/// probability `sum over i of (-1)^i C(d, i) (1 - i/m)^(nb)`. The usual `(1 - e^(-nb/m))^b` is a little too
/// low for small m. Above 24 bits per key, where the terms of the sum would cancel, the mean and the variance
/// of the number of set bits stand in for its distribution.
///
/// ```
/// use malkoha::theory::bloom;
/// let large = bloom::plain_rate(1_000_000, 14_426_950, 10);
/// assert!((large * 1024.0 - 1.0).abs() < 1e-3);
/// assert_eq!(bloom::plain_rate(1, 1, 3), 1.0, "one bit, and it is set");
/// assert!((bloom::plain_rate(1, 2, 1) - 0.5).abs() < 1e-12);
/// ```
#[must_use]
pub fn plain_rate(n: u64, m: u64, b: u32) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let unset = |i: u32| (n as f64 * f64::from(b) * (-f64::from(i) / m as f64).ln_1p()).exp();
    let fill = plain_fill(n, m, b);
    // If few bits are set, the sum cancels for any b.
    if b > EXACT_BITS || f64::from(b) * fill.log2() < -30.0 {
        let cells = m as f64;
        let variance =
            (fill * (1.0 - fill) + (cells - 1.0) * (unset(2) - unset(1) * unset(1))).max(0.0) / cells;
        let b = f64::from(b);
        return (fill.powf(b) * (1.0 + b * (b - 1.0) / 2.0 * variance / (fill * fill))).min(1.0);
    }
    let cells = u32::try_from(m).unwrap_or(u32::MAX);
    let all_set = |d: u32| {
        let mut choose = 1.0;
        (0..=d.min(cells)).fold(0.0, |sum, i| {
            let term = choose * unset(i);
            choose *= -f64::from(d - i) / f64::from(i + 1);
            sum + term
        })
    };
    let rate: f64 = occupancy(cells, b).iter().zip(0..).map(|(p, d)| p * all_set(d)).sum();
    rate.clamp(0.0, 1.0)
}

/// The rate of an ordinary blocked filter, c = 1, of M blocks with n keys of b bits: exact for every M.
///
/// A block holds x keys with binomial probability. For each x the distribution of its set bits follows by
/// adding the keys one at a time, and from it the share of queries that the block answers with yes.
///
/// ```
/// use malkoha::{Pattern, theory::bloom};
/// // [SZR2] section 4.1: at k = 17 and the size of a plain filter the blocked one is 3 worse in log2.
/// let blocks = (1e6 * 17.0 / 2f64.ln() / 512.0) as u64;
/// let rate = bloom::blocked_rate(1_000_000, blocks, 17, Pattern::Random);
/// assert!((-14.4..-13.8).contains(&rate.log2()), "{}", rate.log2());
/// ```
#[must_use]
pub fn blocked_rate(n: u64, blocks: u64, b: u32, pattern: Pattern) -> f64 {
    let mut local = LocalRate::new(b, pattern);
    if blocks == 1 {
        (0..n.min(10 * u64::from(BLOCK_BITS))).for_each(|_| local.add_key());
        return local.rate();
    }
    let mut load = Binomial::new(n, blocks);
    let mut rate = 0.0;
    loop {
        rate += load.probability() * local.rate();
        if load.is_over() {
            return rate.min(1.0);
        }
        load.next();
        local.add_key();
    }
}

/// The rate of a filter planned for 2^-k at fill 1/2 and filled to gamma times its keys:
/// `(1 - 2^-gamma)^k`, \[SZR2\] equation 2.
///
/// Filling to gamma times the keys is the same as a size of 1/gamma times the planned one. (Section 4.1 of
/// the paper has 1/(1 + gamma), a slip.)
///
/// ```
/// let rate = malkoha::theory::bloom::overloaded_rate(1.1, 10.0);
/// assert!((rate * 1024.0 - 1.912).abs() < 1e-3);
/// ```
#[must_use]
pub fn overloaded_rate(gamma: f64, k: f64) -> f64 {
    (1.0 - (-gamma).exp2()).powf(k)
}

/// The set bits that every block may have if c choices of k bits are to have rate 2^-k: `256 c^(-1/k)`,
/// \[SZR2\] Figure 3A.
///
/// ```
/// use malkoha::theory::bloom::allowed_bits;
/// let close = |k, c, bits: f64| assert!((allowed_bits(k, c) - bits).abs() < 0.5);
/// close(7, 2, 232.0);
/// close(7, 3, 219.0);
/// close(14, 2, 244.0);
/// close(14, 3, 237.0);
/// ```
#[must_use]
pub fn allowed_bits(k: u32, c: u8) -> f64 {
    f64::from(BLOCK_BITS) / 2.0 * f64::from(c).powf(-1.0 / f64::from(k))
}

/// The number of keys in one block, from 0 upwards: binomial, n keys in more than one block.
struct Binomial {
    n: f64,
    odds: f64,
    x: f64,
    probability_ln: f64,
}

impl Binomial {
    fn new(n: u64, blocks: u64) -> Self {
        let (n, p) = (n as f64, 1.0 / blocks as f64);
        Self { n, odds: p / (1.0 - p), x: 0.0, probability_ln: n * (-p).ln_1p() }
    }

    fn probability(&self) -> f64 {
        self.probability_ln.exp()
    }

    fn next(&mut self) {
        self.probability_ln += ((self.n - self.x) / (self.x + 1.0) * self.odds).ln();
        self.x += 1.0;
    }

    /// Whether what follows is too improbable to matter for any rate.
    fn is_over(&self) -> bool {
        self.x >= self.n || (self.x > self.n * self.odds && self.probability_ln < -60.0)
    }
}

/// The share of queries that a block with x keys answers with yes, from x = 0 upwards.
struct LocalRate {
    b: u32,
    pattern: Pattern,
    /// The distribution of the set bits of the block; for spread patterns, of one word.
    set: Vec<f64>,
}

impl LocalRate {
    fn new(b: u32, pattern: Pattern) -> Self {
        Self { b, pattern, set: vec![1.0] }
    }

    fn rate(&self) -> f64 {
        let mean = |share: &dyn Fn(u32) -> f64| -> f64 {
            self.set.iter().zip(0..).map(|(p, set)| p * share(set)).sum()
        };
        match self.pattern {
            Pattern::Random => mean(&|set| random_share(set, self.b)),
            Pattern::Distinct => mean(&|set| distinct_share(set, self.b)),
            // Given the keys of a block, its words are independent.
            Pattern::Spread => {
                let word = |set| (f64::from(set) / f64::from(WORD_BITS)).powi((self.b / WORDS).cast_signed());
                mean(&word).powi(WORDS.cast_signed())
            }
        }
    }

    fn add_key(&mut self) {
        match self.pattern {
            Pattern::Random => (0..self.b).for_each(|_| self.set = one_more_throw(BLOCK_BITS, &self.set)),
            Pattern::Distinct => self.set = one_more_subset(self.b, &self.set),
            Pattern::Spread => {
                let bits = self.b / WORDS;
                (0..bits).for_each(|_| self.set = one_more_throw(WORD_BITS, &self.set));
            }
        }
    }
}

/// The distribution of the set bits after one more key of b distinct bits: b throws, each among the bits that
/// the key has not taken yet.
fn one_more_subset(b: u32, set: &[f64]) -> Vec<f64> {
    // State: (bits newly set by this key, bits set before). Bit i of the key is one of 512 - i bits, of which
    // 512 - before - new are unset.
    let mut states = vec![set.to_vec()];
    for i in 0..b {
        let mut next = vec![vec![0.0; set.len()]; i as usize + 2];
        for (new, states) in states.iter().enumerate() {
            for (before, p) in states.iter().enumerate() {
                let unset = f64::from(BLOCK_BITS) - before as f64 - new as f64;
                let hit = (unset / f64::from(BLOCK_BITS - i)).clamp(0.0, 1.0);
                next[new + 1][before] += p * hit;
                next[new][before] += p * (1.0 - hit);
            }
        }
        states = next;
    }
    let mut after = vec![0.0; (set.len() + b as usize).min(BLOCK_BITS as usize + 1)];
    for (new, states) in states.iter().enumerate() {
        for (before, p) in states.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            after[before + new] += p;
        }
    }
    after
}
