//! Which of its candidate blocks a key goes to: the one where it costs least.
//!
//! A cost looks at two numbers of a candidate block: `set`, the bits set after the key would be in (the
//! paper's j), and `new`, the bits that it would have to set (the paper's a). All three costs of appendix A
//! are a function of the first plus a multiple of the second, so that a table of 513 prices and one weight
//! compute each of them:
//!
//! ```text
//!   cost(set, new) = prices[set] + weight x new
//! ```
//!
//! The prices are made with additions, multiplications, divisions and square roots only, whose results are
//! the same on every machine: two replicas choose the same blocks.

use crate::bits::BLOCK_BITS;
use crate::error::Error;
use crate::kind::Kind;

/// What it costs to put a key into a block: appendix A of the paper, with k for the bits of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cost {
    /// The block's own rate against new bits: `sigma k (set/256)^k + new`, equation 5.
    Mixed {
        /// The weight of the rate.
        sigma: f64,
    },
    /// The rate that the block would have after `mu` further keys: `k ((set + mu k)/256)^k + new`, equation
    /// 6.
    LookAhead {
        /// The further keys.
        mu: f64,
    },
    /// A price that grows by the factor `beta` with every quarter of the block:
    /// `beta^(set/128) + new/k`, equation 7.
    Exponential {
        /// The base.
        beta: f64,
    },
}

impl Cost {
    /// The base that serves every k and every number of choices: the golden ratio, by coincidence.
    pub const GOLDEN: f64 = 1.618_033_988_749_895;

    /// Refuses a parameter that makes no cost.
    pub(crate) fn check(self, kind: Kind) -> Result<(), Error> {
        let sound = match self {
            Self::Mixed { sigma } => sigma.is_finite() && sigma >= 0.0,
            Self::LookAhead { mu } => mu.is_finite() && mu >= 0.0,
            Self::Exponential { beta } => beta.is_finite() && beta > 0.0,
        };
        let what = "the parameter of a cost is a positive number";
        if sound { Ok(()) } else { Err(Error::Option { kind, what }) }
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::Exponential { beta: Self::GOLDEN }
    }
}

/// A cost as a table.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    of_set: Box<[f64]>,
    weight: f64,
}

impl Prices {
    pub(crate) fn new(cost: Cost, key_bits: u32) -> Self {
        let k = f64::from(key_bits);
        let sets = (0..=BLOCK_BITS).map(f64::from);
        match cost {
            Cost::Mixed { sigma } => Self {
                of_set: sets.map(|set| sigma * k * power(set / 256.0, key_bits)).collect(),
                weight: 1.0,
            },
            Cost::LookAhead { mu } => {
                let of_set = sets.map(|set| k * power((set + mu * k) / 256.0, key_bits)).collect();
                Self { of_set, weight: 1.0 }
            }
            Cost::Exponential { beta } => {
                // beta^(1/128) is seven square roots away from beta.
                let step = (0..7).fold(beta, |root, _| root.sqrt());
                Self { of_set: (0..=BLOCK_BITS).map(|set| power(step, set)).collect(), weight: 1.0 / k }
            }
        }
    }

    /// The cost of a block that has `set` bits set after `new` of them were added.
    #[inline(always)]
    pub(crate) fn cost(&self, set: u32, new: u32) -> f64 {
        self.of_set[set as usize] + self.weight * f64::from(new)
    }

    /// The same as a number by which blocks are compared; the least of all for a block that has all bits already.
    ///
    /// Costs are not negative, and those have the order of their bits. Which of two numbers is less a CPU decides without
    /// a branch, which would be wrong for every second key.
    #[inline(always)]
    pub(crate) fn rank(&self, set: u32, new: u32) -> u64 {
        let cost = self.cost(set, new).to_bits();
        if new == 0 { 0 } else { cost }
    }
}

/// A power by squaring, in an order of operations that does not depend on the machine.
fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_the_equations_of_appendix_a() {
        let k = 14;
        for set in [0u32, 1, 100, 256, 300, 512] {
            for new in [0u32, 1, 7, 14] {
                let (j, a, kf) = (f64::from(set), f64::from(new), f64::from(k));
                let close = |cost, expected: f64| {
                    let price = Prices::new(cost, k).cost(set, new);
                    assert!((price - expected).abs() <= 1e-9 * expected, "{cost:?}");
                };
                close(Cost::Mixed { sigma: 50.0 }, 50.0 * kf * (j / 256.0).powf(kf) + a);
                close(Cost::LookAhead { mu: 3.5 }, kf * ((j + 3.5 * kf) / 256.0).powf(kf) + a);
                close(Cost::default(), Cost::GOLDEN.powf(j / 128.0) + a / kf);
            }
        }
    }

    #[test]
    fn ranks_have_the_order_of_costs() {
        let all = [
            Cost::Mixed { sigma: 0.0 },
            Cost::LookAhead { mu: 1e300 },
            Cost::Exponential { beta: 1e-300 },
            Cost::Exponential { beta: 1e300 },
            Cost::default(),
        ];
        for prices in all.map(|cost| Prices::new(cost, 9)) {
            let pairs = || (0..=512).step_by(37).flat_map(|set| (1..=9).map(move |new| (set, new)));
            for (set, new) in pairs() {
                assert!(prices.rank(set, new) > prices.rank(set, 0), "whoever has all bits is cheapest");
                for (other_set, other_new) in pairs() {
                    assert_eq!(
                        prices.cost(set, new) < prices.cost(other_set, other_new),
                        prices.rank(set, new) < prices.rank(other_set, other_new)
                    );
                }
            }
        }
    }
}
