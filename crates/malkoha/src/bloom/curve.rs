//! How the rate of a blocked filter grows with its keys: one curve for each kind of block and number of key bits.
//!
//! A curve is `-log2 rate` at fourteen nodes of the density u, the bits that keys throw at a block per bit of
//! it: u = keys per block x bits per key / 512. An optimal plain filter has u = ln 2.
//!
//! ```text
//!   node   0      1      2      3     ...   13
//!   u      0.100  0.126  0.159  0.200 ...   2.016      a factor 2^(1/3) apart
//! ```
//!
//! Between the nodes, a cubic through the four nearest ones is exact to a few thousandths. Beyond them the
//! curve continues as a straight line in log u, and a rate never exceeds 1. For the default cost the nodes are
//! in a table ([`super::table`]), so planning takes microseconds; for other costs the model computes them.

use crate::bits::{BLOCK_BITS, WORD_BITS, WORDS};
use crate::kind::Pattern;
use crate::theory::occupancy::one_more_throw;

use super::choice::Cost;
use super::model::Model;
use super::table;

/// The number of nodes of a curve.
pub(crate) const NODES: usize = 14;

/// The density at the first node.
const FIRST: f64 = 0.1;

/// The most bits of a key for which there are curves.
pub(crate) const MOST_KEY_BITS: u32 = 32;

/// `-log2 rate` against keys per block.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    key_bits: u32,
    nodes: [f64; NODES],
}

impl Curve {
    /// The curve of blocks with these properties, from the table if it is there, otherwise from the model.
    pub(crate) fn new(choices: u8, pattern: Pattern, cost: Cost, key_bits: u32) -> Self {
        let tabled = choices == 1 || cost == Cost::default();
        match table::nodes(choices, pattern, key_bits).filter(|_| tabled) {
            Some(nodes) => Self { key_bits, nodes: nodes.map(|thousandths| f64::from(thousandths) / 1000.0) },
            None => Self::from_model(choices, pattern, cost, key_bits),
        }
    }

    /// The curve as the model computes it. Takes about a tenth of a second.
    #[must_use]
    pub fn from_model(choices: u8, pattern: Pattern, cost: Cost, key_bits: u32) -> Self {
        let nodes = if pattern == Pattern::Spread {
            spread_nodes(key_bits)
        } else {
            let mut model = Model::new(choices, pattern, cost, key_bits);
            core::array::from_fn(|i| {
                model.advance(keys_per_block(node_density(i), key_bits));
                -model.rate().log2()
            })
        };
        Self { key_bits, nodes }
    }

    /// `-log2 rate` at the nodes.
    #[must_use]
    pub fn nodes(&self) -> &[f64] {
        &self.nodes
    }

    /// The bits of a key.
    #[must_use]
    pub fn key_bits(&self) -> u32 {
        self.key_bits
    }

    /// The rate at `keys_per_block` keys per block.
    #[must_use]
    pub fn rate(&self, keys_per_block: f64) -> f64 {
        if keys_per_block <= 0.0 {
            return 0.0;
        }
        let density = keys_per_block * f64::from(self.key_bits) / f64::from(BLOCK_BITS);
        (-self.at(3.0 * (density / FIRST).log2())).exp2().min(1.0)
    }

    /// The most keys per block at which the rate is at most `rate`.
    #[must_use]
    pub fn keys_per_block(&self, rate: f64) -> f64 {
        let k = -rate.log2();
        // The last node bounds the search from above: denser filters are of no use.
        let (mut low, mut high) = (-60.0, (NODES - 1) as f64);
        if self.at(high) >= k {
            low = high;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.at(middle) >= k { low = middle } else { high = middle }
        }
        keys_per_block(FIRST * (low / 3.0).exp2(), self.key_bits)
    }

    /// The curve at a position between nodes.
    fn at(&self, position: f64) -> f64 {
        let last = (NODES - 1) as f64;
        let slope = |a: f64, b: f64| self.cubic(b) - self.cubic(a);
        if position < 0.0 {
            self.nodes[0] + position * 8.0 * slope(0.0, 0.125)
        } else if position > last {
            self.nodes[NODES - 1] + (position - last) * 8.0 * slope(last - 0.125, last)
        } else {
            self.cubic(position)
        }
    }

    /// The cubic through the four nodes around a position.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position inside the curve"
    )]
    fn cubic(&self, position: f64) -> f64 {
        let first = (position.floor() as usize).clamp(1, NODES - 3) - 1;
        let x = position - first as f64;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| self.nodes[first + i]);
        -a * (x - 1.0) * (x - 2.0) * (x - 3.0) / 6.0 + b * x * (x - 2.0) * (x - 3.0) / 2.0
            - c * x * (x - 1.0) * (x - 3.0) / 2.0
            + d * x * (x - 1.0) * (x - 2.0) / 6.0
    }
}

/// The density at a node.
fn node_density(node: usize) -> f64 {
    FIRST * (node as f64 / 3.0).exp2()
}

fn keys_per_block(density: f64, key_bits: u32) -> f64 {
    density * f64::from(BLOCK_BITS) / f64::from(key_bits)
}

/// The nodes for spread patterns: the words of a block with x keys are independent, and x is Poisson.
fn spread_nodes(key_bits: u32) -> [f64; NODES] {
    let bits_per_word = key_bits / WORDS;
    let most = keys_per_block(node_density(NODES - 1), key_bits);
    let share = |set: u32| (f64::from(set) / f64::from(WORD_BITS)).powi(bits_per_word.cast_signed());
    let mut set = vec![1.0];
    let mut rates = vec![0.0];
    while (rates.len() as f64) < 2.0 * most + 60.0 {
        (0..bits_per_word).for_each(|_| set = one_more_throw(WORD_BITS, &set));
        let word: f64 = set.iter().zip(0..).map(|(p, set)| p * share(set)).sum();
        rates.push(word.powi(WORDS.cast_signed()));
    }
    core::array::from_fn(|node| {
        let mean = keys_per_block(node_density(node), key_bits);
        let mut ln_probability = -mean;
        let mut rate = 0.0;
        for (x, local) in (1u32..).zip(&rates[1..]) {
            ln_probability += (mean / f64::from(x)).ln();
            rate += ln_probability.exp() * local;
        }
        -rate.log2()
    })
}
