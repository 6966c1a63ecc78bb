//! The blocked Bloom filters: the bits of a key inside one of its candidate blocks.
//!
//! ```text
//!   hash -> block 0, block 1 .. c-1    draws below the number of blocks
//!        -> pattern                    the same for all of them
//!   query   any block that covers the pattern
//!   insert  c = 1: the block          c > 1: nothing if a block covers it, else the block where it costs least
//! ```
//!
//! The invariant: bits are only ever set, so a block that covered the pattern of a key covers it for ever.
//! This is also why a union loses nothing: the block that one filter chose for a key has all its bits in the
//! union, whatever the other filter would have chosen. It may only have more bits set than a filter that took
//! all keys one by one, since each half chose without knowing the other.

use crate::bits::{BLOCK_BITS, Block, Words};
use crate::engine::{Engine, Inserted};
use crate::error::{Error, Full};
use crate::key::KeyHash;
use crate::kind::Kind;
use crate::reduce::last_draw;

use super::choice::Prices;
use super::estimate;
use super::fill::Fill;
use super::layout::{BlockedLayout, with_equal_hashes};
use super::pattern::{Draws, Scatter};
use super::plain::unite;

/// The most candidate blocks of a key.
pub(crate) const MOST_CHOICES: u8 = 4;

/// A blocked Bloom filter: section 3 of the paper; with one choice Putze, Sanders, Singler 2007.
///
/// ```
/// use malkoha::bloom::{Blocked, Random};
/// use malkoha::{Key, KeyHasher, Kind, Pattern, Spec};
///
/// let spec = Spec::new(1000, 0.001).kind(Kind::Blocked(2)).pattern(Pattern::Random);
/// let mut filter = Blocked::<Random>::new(spec.plan()?.blocked().unwrap())?;
/// let hasher = KeyHasher::new(1);
/// filter.insert("malkoha".hash(&hasher));
/// assert!(filter.contains("malkoha".hash(&hasher)));
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocked<P> {
    layout: BlockedLayout,
    scatter: P,
    /// Empty unless there is a choice.
    prices: Option<Prices>,
    words: Words,
    len: u64,
}

/// What a key asks for: its pattern, and the first `choices` of these blocks.
#[derive(Clone, Copy, Debug)]
struct Candidates {
    pattern: Block,
    blocks: [u64; MOST_CHOICES as usize],
}

impl<P: Scatter> Blocked<P> {
    /// An empty filter with this layout, which must have this pattern.
    pub fn new(layout: &BlockedLayout) -> Result<Self, Error> {
        layout.check()?;
        if layout.pattern != P::PATTERN {
            let kind = Kind::Blocked(layout.choices);
            return Err(Error::Option { kind, what: "the layout is for another pattern" });
        }
        let bits = layout.blocks.saturating_mul(u64::from(BLOCK_BITS)).min(u64::MAX / 2);
        Ok(Self {
            layout: *layout,
            scatter: P::new(layout.key_bits),
            prices: (layout.choices > 1).then(|| Prices::new(layout.cost, layout.key_bits)),
            words: Words::zeroed(bits)?,
            len: 0,
        })
    }

    /// The candidate blocks of a key, and the draws that are left for its pattern.
    #[inline(always)]
    fn blocks(&self, hash: KeyHash) -> ([u64; MOST_CHOICES as usize], Draws) {
        let mut draws = Draws::new(hash);
        let mut blocks = [last_draw(hash.to_raw(), self.layout.blocks); MOST_CHOICES as usize];
        for block in &mut blocks[1..usize::from(self.layout.choices)] {
            *block = last_draw(draws.next(), self.layout.blocks);
        }
        (blocks, draws)
    }

    #[inline(always)]
    fn candidates(&self, hash: KeyHash) -> Candidates {
        let (blocks, draws) = self.blocks(hash);
        Candidates { pattern: self.scatter.pattern(draws), blocks }
    }

    #[inline(always)]
    fn holds(&self, sought: &Candidates) -> bool {
        let blocks = &sought.blocks[..usize::from(self.layout.choices)];
        blocks.iter().any(|block| self.words.block(*block).covers(&sought.pattern))
    }

    /// The candidate block where a key costs least, the first of several; `None` if one holds it already.
    #[inline(always)]
    fn cheapest(&self, prices: &Prices, sought: &Candidates) -> Option<u64> {
        let mut best = (f64::INFINITY, sought.blocks[0]);
        for &number in &sought.blocks[..usize::from(self.layout.choices)] {
            let block = self.words.block(number);
            let new = block.missing(&sought.pattern);
            if new == 0 {
                return None;
            }
            let cost = prices.cost(block.count() + new, new);
            if cost < best.0 {
                best = (cost, number);
            }
        }
        Some(best.1)
    }

    /// Stores a key.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash) {
        let sought = self.candidates(hash);
        self.add(&sought);
    }

    #[inline(always)]
    fn add(&mut self, sought: &Candidates) {
        let block = match &self.prices {
            None => Some(sought.blocks[0]),
            Some(prices) => self.cheapest(prices, sought),
        };
        if let Some(block) = block {
            self.words.add_to_block(block, &sought.pattern);
        }
        self.len += 1;
    }

    /// Stores a key unless the filter already answers that it is there.
    pub fn insert_unique(&mut self, hash: KeyHash) -> Inserted {
        let sought = self.candidates(hash);
        if self.holds(&sought) {
            return Inserted::Seen;
        }
        self.add(&sought);
        Inserted::Stored
    }

    /// Whether the filter may hold a key. Never `false` for a key that is stored.
    #[must_use]
    #[inline]
    pub fn contains(&self, hash: KeyHash) -> bool {
        let (blocks, draws) = self.blocks(hash);
        // All candidates are looked at: which of them holds the key cannot be foreseen.
        let look = |found, number: &u64| found | self.scatter.lies_in(draws, self.words.block_words(*number));
        blocks[..usize::from(self.layout.choices)].iter().fold(false, look)
    }

    /// Adds the keys of another filter, which must have the same layout and the same seed of its hashes.
    ///
    /// # Panics
    ///
    /// If the layouts differ.
    pub fn union(&mut self, other: &Self) {
        assert_eq!(self.layout, other.layout, "only equal layouts can be united");
        Engine::union(self, other);
    }

    /// The number of inserts.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn all_blocks(&self) -> impl Iterator<Item = Block> {
        (0..self.layout.blocks).map(|number| self.words.block(number))
    }

    /// How many blocks have 0, 1, 2 to 512 set bits: Figure 7 of the paper. Reads the whole table.
    #[must_use]
    pub fn histogram(&self) -> Vec<u64> {
        let mut histogram = vec![0; BLOCK_BITS as usize + 1];
        self.all_blocks().for_each(|block| histogram[block.count() as usize] += 1);
        histogram
    }

    /// The rate of false positives that the set bits have: what a count of many false positives tends to, and
    /// the only way to know rates that are too small to count. Reads the whole table.
    #[must_use]
    pub fn rate_from_fill(&self) -> f64 {
        let one = self.all_blocks().map(|block| self.scatter.share(&block)).sum::<f64>();
        let one = (one / self.layout.blocks as f64).min(1.0);
        let any = -(f64::from(self.layout.choices) * (-one).ln_1p()).exp_m1();
        with_equal_hashes(any, self.len)
    }

    /// The set bits, and the rate that they have. Reads the whole table.
    #[must_use]
    pub fn fill(&self) -> Fill {
        let bits = self.layout.blocks * u64::from(BLOCK_BITS);
        Fill { set: self.set_bits(), bits, rate: self.rate_from_fill() }
    }

    fn set_bits(&self) -> u64 {
        self.all_blocks().map(|block| u64::from(block.count())).sum()
    }

    /// An estimate of the number of different keys: the number for which these set bits are expected. Reads the
    /// whole table, and with choices runs the model of the block load, which takes tens of milliseconds.
    ///
    /// After a union of filters with choices it is too high, for they have set more bits than one filter
    /// would have.
    #[must_use]
    pub fn estimate_keys(&self) -> f64 {
        estimate::keys(&self.layout, self.set_bits())
    }
}

impl<P: Scatter> Engine for Blocked<P> {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.insert(hash);
        Ok(())
    }

    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full> {
        Ok(self.insert_unique(hash))
    }

    fn contains(&self, hash: KeyHash) -> bool {
        self.contains(hash)
    }

    fn prefetch(&self, hash: KeyHash) {
        let (blocks, _) = self.blocks(hash);
        for block in &blocks[..usize::from(self.layout.choices)] {
            self.words.prefetch(block * u64::from(BLOCK_BITS));
        }
    }

    fn clear(&mut self) {
        self.words.fill(0);
        self.len = 0;
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn bytes(&self) -> usize {
        self.words.bytes()
    }

    fn clone_box(&self) -> Box<dyn Engine> {
        Box::new(self.clone())
    }

    fn union(&mut self, other: &dyn Engine) -> bool {
        unite(&mut self.words, other.words());
        self.len += other.len();
        true
    }

    fn fill(&self) -> Option<Fill> {
        Some(self.fill())
    }

    fn estimate_keys(&self) -> Option<f64> {
        Some(self.estimate_keys())
    }
}
