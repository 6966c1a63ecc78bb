//! Chooses the candidate block for a key: the one where it costs least.
//!
//! A cost depends on two numbers of a candidate block: `set`, the bits set once the key is stored (the paper's
//! j), and `new`, the bits that the key would add (the paper's a). All three costs of appendix A are a function
//! of the first plus a multiple of the second, so each of them is a table of 513 prices and one weight:
//!
//! ```text
//!   cost(set, new) = prices[set] + weight x new
//! ```
//!
//! Prices are computed with additions, multiplications, divisions and square roots only, whose results are the
//! same on every machine: two replicas choose the same blocks.

use crate::bits::BLOCK_BITS;
use crate::error::Error;
use crate::kind::Kind;

/// The cost of storing a key in a block: appendix A of the paper, where k is the number of bits of a key.
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
    /// A price that grows by a factor of `beta` with every quarter of the block:
    /// `beta^(set/128) + new/k`, equation 7.
    Exponential {
        /// The base.
        beta: f64,
    },
}

impl Cost {
    /// A base that suits every k and every number of choices: the golden ratio, by coincidence.
    pub const GOLDEN: f64 = 1.618_033_988_749_895;

    /// Refuses an invalid parameter.
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

/// The table of a cost.
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

    /// The cost of a block with `set` bits set, `new` of which the key added.
    #[inline(always)]
    pub(crate) fn cost(&self, set: u32, new: u32) -> f64 {
        self.of_set[set as usize] + self.weight * f64::from(new)
    }

    /// The same as an integer for comparing blocks; 0 for a block that already has all bits.
    ///
    /// Costs are not negative, and such numbers have the order of their bits. CPUs select the smaller of two integers
    /// without a branch, which would be mispredicted for half of the keys.
    #[inline(always)]
    pub(crate) fn rank(&self, set: u32, new: u32) -> u64 {
        let cost = self.cost(set, new).to_bits();
        if new == 0 { 0 } else { cost }
    }
}

/// A power by squaring, with an order of operations that does not depend on the machine.
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
                assert!(prices.rank(set, new) > prices.rank(set, 0), "a block that has all bits is cheapest");
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
