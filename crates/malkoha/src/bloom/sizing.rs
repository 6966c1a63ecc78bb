//! Turns a wish into a layout: the number of bits or blocks, and the number of bits that a key sets.
//!
//! For every number of bits that a key may set there is a largest number of keys per block (or per bit) at
//! which the rate holds. The best of these is chosen; it does not depend on the number of keys. Blocked kinds
//! aim a little below the promised rate, because the rate of a single filter deviates from the model.

use crate::bits::{BLOCK_BITS, Words};
use crate::error::Error;
use crate::kind::{Kind, Pattern};

use super::choice::Cost;
use super::curve::{Curve, MOST_KEY_BITS};
use super::layout::{BlockedLayout, BloomLayout};

/// Allows for the rates of single filters deviating from the model: the fraction of the promised rate to aim
/// at, and how much memory may be spent on setting fewer bits per key, which deviates less and takes less time.
/// The model is for many blocks; where candidate blocks may coincide, a spare block makes up for it.
#[derive(Clone, Copy, Debug)]
struct Margin {
    aim: f64,
    slack: f64,
    spare_blocks: u64,
}

impl Margin {
    /// With one choice the few fullest blocks dominate the rate: at 10^6 keys it deviates by 1 % for k = 16,
    /// 2 % for k = 20 and 4 % for k = 24. With choices it deviates by less than 1 %.
    const fn new(choices: u8) -> Self {
        if choices == 1 {
            Self { aim: 0.95, slack: 1.01, spare_blocks: 0 }
        } else {
            Self { aim: 0.98, slack: 1.001, spare_blocks: 1 }
        }
    }
}

/// The most bits of a planned table: more than any machine has.
const MOST_BITS: f64 = 9e15;

/// The most keys of a planned filter, whatever its rate, so that the keys of many filters can be added up.
pub(crate) const MOST_BLOOM_KEYS: u64 = 1 << 56;

/// The wish for a plain filter, which has no options: only keys, and a rate or memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainWish;

impl PlainWish {
    /// The smallest layout for `keys` keys whose rate is at most `rate`.
    pub(crate) fn at_rate(keys: u64, rate: f64) -> Result<BloomLayout, Error> {
        check(keys, rate)?;
        let best = (1..=BloomLayout::MOST_KEY_BITS).map(|key_bits| (plain_density(key_bits, rate), key_bits));
        let (density, key_bits) = best.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are candidates");
        let bits = keys as f64 / density;
        let mut layout = BloomLayout { bits: count(bits, keys)?, key_bits };
        // In small tables the rate is higher than the formula for large ones gives.
        while layout.rate(keys) > rate {
            layout.bits += layout.bits / 10_000 + 1;
        }
        Ok(layout)
    }

    /// The layout with the lowest rate for `keys` keys in `bytes` bytes.
    pub(crate) fn in_memory(keys: u64, bytes: u64) -> Result<BloomLayout, Error> {
        if keys == 0 {
            return Err(Error::NoKeys);
        }
        let bits = bits_in(bytes);
        if bits == 0 {
            return Err(Error::Memory { bytes, least: Words::bytes_for(1) });
        }
        let layouts = (1..=BloomLayout::MOST_KEY_BITS).map(|key_bits| BloomLayout { bits, key_bits });
        let best = layouts.min_by(|a, b| a.rate(keys).total_cmp(&b.rate(keys)));
        Ok(best.expect("there are candidates"))
    }
}

/// The keys per bit at which a large table with `key_bits` bits per key has this rate.
fn plain_density(key_bits: u32, rate: f64) -> f64 {
    -(-rate.powf(1.0 / f64::from(key_bits))).ln_1p() / f64::from(key_bits)
}

/// The wish for a blocked Bloom filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockedWish {
    pub(crate) choices: u8,
    pub(crate) pattern: Pattern,
    pub(crate) cost: Cost,
}

impl BlockedWish {
    /// The smallest layout for `keys` keys whose rate is at most `rate`.
    pub(crate) fn at_rate(&self, keys: u64, rate: f64) -> Result<BlockedLayout, Error> {
        check(keys, rate)?;
        let (key_bits, keys_per_block) = self.densest(rate);
        let blocks = count(keys as f64 / keys_per_block, keys)? + Margin::new(self.choices).spare_blocks;
        if blocks as f64 * f64::from(BLOCK_BITS) > MOST_BITS {
            return Err(Error::TooLarge { keys });
        }
        Ok(self.layout(blocks, key_bits))
    }

    /// The layout with the lowest rate for `keys` keys in `bytes` bytes.
    pub(crate) fn in_memory(&self, keys: u64, bytes: u64) -> Result<BlockedLayout, Error> {
        if keys == 0 {
            return Err(Error::NoKeys);
        }
        let blocks = self.blocks_in(bytes)?;
        let used = blocks - Margin::new(self.choices).spare_blocks;
        let rate = |curve: &Curve| curve.rate(keys as f64 / used as f64);
        let best = self.curves().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        Ok(self.layout(blocks, best.expect("there are candidates").key_bits()))
    }

    /// The promised rate of a layout.
    pub(crate) fn promise(layout: &BlockedLayout, keys: u64) -> f64 {
        let margin = Margin::new(layout.choices);
        let fewer = BlockedLayout { blocks: layout.blocks - margin.spare_blocks, ..*layout };
        (fewer.rate(keys) / margin.aim).min(1.0)
    }

    /// The most keys that can have this rate in `bytes` bytes, and their layout.
    pub(crate) fn most_keys(&self, rate: f64, bytes: u64) -> Result<(u64, BlockedLayout), Error> {
        let (key_bits, keys_per_block) = self.densest(rate);
        let blocks = self.blocks_in(bytes)?;
        let used = blocks - Margin::new(self.choices).spare_blocks;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
        let keys = (used as f64 * keys_per_block) as u64;
        if keys == 0 {
            return Err(Error::Memory { bytes, least: self.at_rate(1, rate)?.bytes() });
        }
        check(keys, rate)?;
        Ok((keys, self.layout(blocks, key_bits)))
    }

    /// The fewest bits of a key that allow nearly the most keys per block at this rate, and that number of keys.
    ///
    /// The bits are chosen for the default cost, so with another cost only one curve needs the model.
    fn densest(&self, rate: f64) -> (u32, f64) {
        let margin = Margin::new(self.choices);
        let keys = |curve: &Curve| curve.keys_per_block(rate * margin.aim);
        let all: Vec<_> = self.curves().map(|curve| (curve.key_bits(), keys(&curve))).collect();
        let most = all.iter().map(|(_, keys)| *keys).fold(0.0, f64::max);
        let first = all.iter().find(|(_, keys)| keys * margin.slack >= most);
        let (key_bits, _) = *first.expect("there are curves");
        (key_bits, keys(&Curve::new(self.choices, self.pattern, self.cost, key_bits)))
    }

    /// The curves for all numbers of bits that a key may have, with the default cost.
    fn curves(&self) -> impl Iterator<Item = Curve> + use<> {
        let Self { choices, pattern, .. } = *self;
        let step = if pattern == Pattern::Spread { 8 } else { 1 };
        (step..=MOST_KEY_BITS)
            .step_by(step as usize)
            .map(move |key_bits| Curve::new(choices, pattern, Cost::default(), key_bits))
    }

    /// The number of blocks that fit into `bytes` bytes.
    fn blocks_in(&self, bytes: u64) -> Result<u64, Error> {
        let least = 1 + Margin::new(self.choices).spare_blocks;
        let block_bits = u64::from(BLOCK_BITS);
        let blocks = bits_in(bytes) / block_bits;
        if blocks < least {
            return Err(Error::Memory { bytes, least: Words::bytes_for(least * block_bits) });
        }
        Ok(blocks)
    }

    fn layout(&self, blocks: u64, key_bits: u32) -> BlockedLayout {
        let Self { choices, pattern, cost } = *self;
        BlockedLayout { blocks, choices, key_bits, pattern, cost }
    }
}

/// Refuses what no filter of this family can achieve.
pub(crate) fn check(keys: u64, rate: f64) -> Result<(), Error> {
    if keys == 0 {
        return Err(Error::NoKeys);
    }
    // Equal hashes may make up a hundredth of the rate; beyond that a longer hash would be needed.
    let needed = (100.0 * keys as f64 / rate).log2();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred at most")]
    let needed = needed.ceil() as u32;
    if needed > u64::BITS { Err(Error::HashBits { needed }) } else { Ok(()) }
}

/// The number of bits that fit into `bytes` bytes, at most `MOST_BITS`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a round number")]
fn bits_in(bytes: u64) -> u64 {
    Words::bits_in(bytes).unwrap_or(u64::MAX).min(MOST_BITS as u64)
}

/// Rounds up a number of bits or blocks, if it is not too large.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn count(number: f64, keys: u64) -> Result<u64, Error> {
    if number < MOST_BITS { Ok(number.ceil().max(1.0) as u64) } else { Err(Error::TooLarge { keys }) }
}

/// The wish for a blocked kind with these options.
pub(crate) fn wish(kind: Kind, pattern: Option<Pattern>, cost: Option<Cost>) -> Result<BlockedWish, Error> {
    let refuse = |what| Err(Error::Option { kind, what });
    let Kind::Blocked(choices) = kind else { unreachable!("only blocked kinds have patterns") };
    if pattern == Some(Pattern::Spread) && choices > 1 {
        return refuse("spread patterns have one choice; ask for blocked:1, random or distinct");
    }
    if cost.is_some() && choices == 1 {
        return refuse("a cost has no effect with one choice; ask for 2 or 3 choices");
    }
    let cost = cost.unwrap_or_default();
    cost.check(kind)?;
    Ok(BlockedWish { choices, pattern: pattern.unwrap_or(Pattern::Random), cost })
}
