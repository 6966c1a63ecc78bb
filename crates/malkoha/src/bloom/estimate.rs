//! Estimates the number of different keys from the number of set bits.

use crate::bits::{BLOCK_BITS, WORD_BITS, WORDS};
use crate::kind::Pattern;

use super::layout::{BlockedLayout, BloomLayout};
use super::model::Model;

/// The number of keys for which `set` set bits of a plain filter are expected.
pub(super) fn plain_keys(layout: &BloomLayout, set: u64) -> f64 {
    let bits = layout.bits as f64;
    let per_key = f64::from(layout.key_bits) * (-1.0 / bits).ln_1p();
    (1.0 - most_telling(set, bits)).ln() / per_key
}

/// The share of set bits, at most half a bit short of full: a full table does not reveal how many keys it
/// stores.
fn most_telling(set: u64, bits: f64) -> f64 {
    (set as f64).min(bits - 0.5) / bits
}

/// The number of keys for which `set` set bits of a blocked filter are expected.
///
/// With one choice a bit stays unset with probability `exp(-x s)`, where x is the keys per block and s the
/// chance that a key sets the bit; this is solved for x. With choices the model of the block load runs until it
/// reaches this fill, which takes tens of milliseconds.
pub(super) fn keys(layout: &BlockedLayout, set: u64) -> f64 {
    let bits = layout.blocks as f64 * f64::from(BLOCK_BITS);
    let share = most_telling(set, bits);
    let per_block = match layout.choices {
        1 => -(1.0 - share).ln() / chance(layout.pattern, layout.key_bits),
        _ => keys_per_block_with_choices(layout, share),
    };
    per_block * layout.blocks as f64
}

/// The expected share of set bits at `keys_per_block` keys per block.
pub(super) fn fill(layout: &BlockedLayout, keys_per_block: f64) -> f64 {
    if layout.choices == 1 {
        return -(-keys_per_block * chance(layout.pattern, layout.key_bits)).exp_m1();
    }
    let mut model = Model::new(layout.choices, layout.pattern, layout.cost, layout.key_bits);
    // Far beyond the plan every block is full.
    model.advance(keys_per_block.min(f64::from(10 * BLOCK_BITS)));
    model.fill()
}

/// The chance that a key sets a given bit of its block.
fn chance(pattern: Pattern, key_bits: u32) -> f64 {
    let missed = |cells: u32, throws: u32| (1.0 - 1.0 / f64::from(cells)).powi(throws.cast_signed());
    match pattern {
        Pattern::Random => 1.0 - missed(BLOCK_BITS, key_bits),
        Pattern::Distinct => f64::from(key_bits) / f64::from(BLOCK_BITS),
        Pattern::Spread => 1.0 - missed(WORD_BITS, key_bits / WORDS),
    }
}

/// Runs the model until the share of set bits is `share`. The search stops at nearly full blocks, which reveal
/// little, and where a step sets hardly any bits: with several choices nearly every key finds a block that has
/// all its bits, and the fill creeps.
fn keys_per_block_with_choices(layout: &BlockedLayout, share: f64) -> f64 {
    const STEP: f64 = 2.0;
    const MOST_SHARE: f64 = 0.999;
    const LEAST_GAIN: f64 = 0.01 / BLOCK_BITS as f64;
    let mut model = Model::new(layout.choices, layout.pattern, layout.cost, layout.key_bits);
    let (mut time, mut fill) = (0.0, 0.0);
    loop {
        model.advance(time + STEP);
        let next = model.fill();
        if next >= share || next > MOST_SHARE {
            return time + STEP * ((share - fill) / (next - fill)).clamp(0.0, 1.0);
        }
        time += STEP;
        if next - fill < LEAST_GAIN {
            return time;
        }
        fill = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Layout, Spec};

    /// A full table reveals no number, but there is an estimate. The search for it stops where a step sets hardly
    /// any bits; otherwise it would continue to millions of keys and take accordingly longer.
    #[test]
    fn full_tables_have_an_estimate() {
        for choices in 2..=4 {
            for rate in [0.1, 0.01, 1e-4] {
                let geometry = Spec::new(10_000, rate).kind(Kind::Blocked(choices)).plan().unwrap();
                let Layout::Blocked(layout) = geometry.layout() else { panic!("a blocked filter") };
                let estimate = keys(layout, layout.blocks * u64::from(BLOCK_BITS));
                assert!((20_000.0..1e6).contains(&estimate), "{choices} {rate}: {estimate}");
            }
        }
    }
}
