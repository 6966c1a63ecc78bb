//! The layouts of the Bloom tables.

use crate::bits::{BLOCK_BITS, Words};
use crate::error::Error;
use crate::kind::{Kind, Pattern};
use crate::theory;

use super::choice::Cost;
use super::curve::{Curve, MOST_KEY_BITS};
use super::estimate;

/// The exact numbers of a plain Bloom filter.
///
/// ```
/// use malkoha::{Kind, Spec};
/// let geometry = Spec::new(1_000_000, 2f64.powi(-10)).kind(Kind::Bloom).plan()?;
/// let layout = geometry.bloom().unwrap();
/// assert_eq!(layout.key_bits, 10);
/// assert_eq!(layout.bits.div_ceil(100_000), 145, "1.443 bits for each of ten million");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BloomLayout {
    /// Bits of the table, m.
    pub bits: u64,
    /// Bits that a key sets.
    pub key_bits: u32,
}

impl BloomLayout {
    /// The most bits that a key sets.
    pub(crate) const MOST_KEY_BITS: u32 = 48;

    /// Bytes of memory of the table.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        Words::bytes_for(self.bits.min(u64::MAX / 2))
    }

    /// The rate when n different keys are stored.
    #[must_use]
    pub fn rate(&self, n: u64) -> f64 {
        with_equal_hashes(theory::bloom::plain_rate(n, self.bits, self.key_bits), n)
    }

    /// The expected share of set bits when n different keys are stored.
    #[must_use]
    pub fn fill(&self, n: u64) -> f64 {
        theory::bloom::plain_fill(n, self.bits, self.key_bits)
    }
}

/// The exact numbers of a blocked Bloom filter.
///
/// ```
/// use malkoha::{Kind, Spec};
/// let geometry = Spec::new(1_000_000, 2f64.powi(-14)).kind(Kind::Blocked(2)).plan()?;
/// let layout = geometry.blocked().unwrap();
/// assert_eq!(layout.choices, 2);
/// assert_eq!(layout.bytes() / 64, layout.blocks + 1, "one cache line for each block, and a spare one");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedLayout {
    /// Blocks of 512 bits.
    pub blocks: u64,
    /// Candidate blocks of a key, c.
    pub choices: u8,
    /// Bits that a key sets.
    pub key_bits: u32,
    /// How these bits lie in a block.
    pub pattern: Pattern,
    /// What decides between the candidate blocks. Not used with one choice.
    pub cost: Cost,
}

impl BlockedLayout {
    /// Bytes of memory of the table.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        Words::bytes_for(self.table_bits().unwrap_or(u64::MAX / 2))
    }

    /// Bits of the table, or `None` if there are too many to count.
    pub(crate) fn table_bits(&self) -> Option<u64> {
        self.blocks.checked_mul(u64::from(BLOCK_BITS)).filter(|bits| *bits < u64::MAX / 2)
    }

    /// The rate when n different keys are stored, as predicted by the model of the block load.
    ///
    /// With the default cost this reads a table; with another it runs the model, which takes a tenth of a second.
    #[must_use]
    pub fn rate(&self, n: u64) -> f64 {
        with_equal_hashes(self.curve().rate(self.keys_per_block(n)), n)
    }

    /// The expected share of set bits when n different keys are stored. With choices this takes tens of
    /// milliseconds.
    #[must_use]
    pub fn fill(&self, n: u64) -> f64 {
        estimate::fill(self, self.keys_per_block(n))
    }

    /// The keys per block when n keys are stored.
    #[must_use]
    pub fn keys_per_block(&self, n: u64) -> f64 {
        n as f64 / self.blocks as f64
    }

    /// Refuses a layout that no filter can have.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let kind = Kind::Blocked(self.choices);
        kind.check()?;
        let refuse = |what| Err(Error::Option { kind, what });
        if self.blocks == 0 {
            return refuse("a layout has at least one block");
        }
        if !(1..=MOST_KEY_BITS).contains(&self.key_bits) {
            return refuse("a key sets 1 to 32 bits");
        }
        if self.pattern == Pattern::Spread && (self.choices > 1 || !self.key_bits.is_multiple_of(8)) {
            return refuse("spread patterns have one choice and 8, 16, 24 or 32 bits");
        }
        self.cost.check(kind)
    }

    pub(crate) fn curve(&self) -> Curve {
        Curve::new(self.choices, self.pattern, self.cost, self.key_bits)
    }
}

/// Adds the chance that a key has the same hash as a stored one: no rate falls below n 2^-64.
pub(crate) fn with_equal_hashes(rate: f64, n: u64) -> f64 {
    let equal = -(n as f64 * (-theory::HASHES_EQUAL).ln_1p()).exp_m1();
    rate + (1.0 - rate) * equal
}
