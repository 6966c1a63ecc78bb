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
//! This is also why a merge loses nothing: the block that one filter chose for a key has all its bits in the
//! merged filter, whatever the other filter would have chosen. It may only have more bits set than a filter
//! that took all keys one by one, since each half chose without knowing the other.

use crate::bits::cpu::{Cpu, Portable, Vectors};
use crate::bits::{BLOCK_BITS, BLOCK_WORDS, Block, Words, prefetch_block};
use crate::engine::{Engine, Flaw, Inserted, Stashed};
use crate::error::{Error, Full, FullAt};
use crate::in_cache::stays_in_cache;
use crate::key::{KeyHash, KeyHasher};
use crate::kind::Kind;
use crate::reduce::last_draw;

use super::batch::{Insert, LookUp};
use super::choice::Prices;
use super::estimate;
use super::fill::Fill;
use super::layout::{BlockedLayout, with_equal_hashes};
use super::pattern::{Draws, Scatter};
use super::plain::{audit_count, count_set, set_bits};

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
    cpu: Cpu,
    words: Words,
    len: u64,
}

/// Where a key may be: its candidate blocks, and the draws from which its pattern is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homes<const C: usize> {
    blocks: [u64; C],
    draws: Draws,
}

impl<const C: usize> Homes<C> {
    /// Of no key at all.
    pub(super) const NOWHERE: Self = Self { blocks: [0; C], draws: Draws::NONE };
}

/// What lookups need of a filter, by value: where answers are written the compiler cannot know that the
/// filter behind a reference stays as it is, and would read all of this again for every key.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a, P> {
    scatter: P,
    blocks: u64,
    words: &'a [[u64; BLOCK_WORDS]],
}

impl<P: Scatter> View<'_, P> {
    /// Whether the table is so small that it stays in the cache.
    #[inline(always)]
    pub(super) fn stays_in_cache(&self) -> bool {
        stays_in_cache(size_of_val(self.words))
    }

    #[inline(always)]
    pub(super) fn homes<const C: usize>(&self, hash: KeyHash) -> Homes<C> {
        let mut draws = Draws::new(hash);
        let mut blocks = [last_draw(hash.to_raw(), self.blocks); C];
        for block in &mut blocks[1..] {
            *block = last_draw(draws.next(), self.blocks);
        }
        Homes { blocks, draws }
    }

    /// The homes of a key, whose memory is asked for.
    #[inline(always)]
    pub(super) fn approach<const C: usize>(&self, hash: KeyHash) -> Homes<C> {
        let homes = self.homes(hash);
        for block in homes.blocks {
            prefetch_block(self.words, block);
        }
        homes
    }

    /// Whether a candidate block has all bits of a key. All are looked at: which of them holds the key cannot
    /// be foreseen.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "geometry checks that the table fits the address space"
    )]
    pub(super) fn holds<const C: usize>(&self, homes: Homes<C>, vectors: impl Vectors) -> bool {
        let blocks = homes.blocks.map(|number| &self.words[number as usize]);
        self.scatter.lies_in(homes.draws, blocks, vectors)
    }
}

/// Evaluates an expression with the number of choices as a constant.
macro_rules! with_choices {
    ($choices:expr, $c:ident => $act:expr) => {
        match $choices {
            1 => {
                const $c: usize = 1;
                $act
            }
            2 => {
                const $c: usize = 2;
                $act
            }
            3 => {
                const $c: usize = 3;
                $act
            }
            // The most there are: `BlockedLayout::check`.
            _ => {
                const $c: usize = MOST_CHOICES as usize;
                $act
            }
        }
    };
}

impl<P: Scatter> Blocked<P> {
    /// An empty filter with this layout, which must have this pattern.
    pub fn new(layout: &BlockedLayout) -> Result<Self, Error> {
        Self::in_words(layout, Words::zeroed(layout.table_bits().unwrap_or(u64::MAX / 2))?)
    }

    /// The filter with this layout in words that are as many as it needs, and as yet all zero.
    pub(crate) fn in_words(layout: &BlockedLayout, words: Words) -> Result<Self, Error> {
        layout.check()?;
        if layout.pattern != P::PATTERN {
            let kind = Kind::Blocked(layout.choices);
            return Err(Error::Option { kind, what: "the layout is for another pattern" });
        }
        Ok(Self {
            layout: *layout,
            scatter: P::new(layout.key_bits),
            prices: (layout.choices > 1).then(|| Prices::new(layout.cost, layout.key_bits)),
            cpu: Cpu::detect(),
            words,
            len: 0,
        })
    }

    /// What lookups need.
    #[inline(always)]
    pub(super) fn view(&self) -> View<'_, P> {
        View { scatter: self.scatter, blocks: self.layout.blocks, words: self.words.blocks() }
    }

    /// Stores a key: in its only block, or in the one where it costs least, the first of several; if one
    /// holds it already, nothing changes.
    #[inline(always)]
    pub(super) fn add<const C: usize>(&mut self, homes: Homes<C>, vectors: impl Vectors) {
        let pattern = self.scatter.pattern(homes.draws, vectors);
        self.len += 1;
        let mut best = homes.blocks[0];
        if let Some(prices) = &self.prices {
            let mut least = f64::INFINITY;
            for number in homes.blocks {
                let block = self.words.block(number);
                let new = block.missing(&pattern);
                // A block that holds the key is the best there is.
                let cost = if new == 0 { f64::NEG_INFINITY } else { prices.cost(block.count() + new, new) };
                (least, best) = if cost < least { (cost, number) } else { (least, best) };
            }
        }
        self.words.add_to_block(best, &pattern);
    }

    /// Stores a key.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash) {
        with_choices!(self.layout.choices, C => self.add(self.view().homes::<C>(hash), Portable));
    }

    /// Stores a key unless the filter already answers that it is there.
    pub fn insert_unique(&mut self, hash: KeyHash) -> Inserted {
        if self.contains(hash) {
            return Inserted::Seen;
        }
        self.insert(hash);
        Inserted::Stored
    }

    /// Whether the filter may hold a key. Never `false` for a key that is stored.
    #[must_use]
    #[inline]
    pub fn contains(&self, hash: KeyHash) -> bool {
        with_choices!(self.layout.choices, C => self.view().holds(self.view().homes::<C>(hash), Portable))
    }

    /// Answers for every key of a slice into a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.look_up(hashes, |hash| *hash, answers);
    }

    fn look_up<K>(&self, keys: &[K], hash: impl Fn(&K) -> KeyHash, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        with_choices!(self.layout.choices, C => {
            self.cpu.run(LookUp::<_, _, _, C> { view: self.view(), cpu: self.cpu, keys, hash, answers });
        });
    }

    /// Adds the keys of another filter, which must have the same layout and the same seed of its hashes.
    ///
    /// # Panics
    ///
    /// If the layouts differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.layout, other.layout, "only equal layouts can be merged");
        self.merge_bits(other);
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
        Fill { set: self.count_set(), bits, rate: self.rate_from_fill() }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "geometry checks that the table fits the address space"
    )]
    fn count_set(&self) -> u64 {
        count_set(self.words.blocks()[..self.layout.blocks as usize].as_flattened())
    }

    /// An estimate of the number of different keys: the number for which these set bits are expected. Reads
    /// the whole table, and with choices runs the model of the block load, which takes tens of milliseconds.
    ///
    /// After a merge of filters with choices it is too high, for they have set more bits than one filter
    /// would have.
    #[must_use]
    pub fn estimate_keys(&self) -> f64 {
        estimate::keys(&self.layout, self.count_set())
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

    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.contains_slice(hashes, answers);
    }

    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        let hasher = *hasher;
        self.look_up(numbers, move |number| hasher.number(*number), answers);
        true
    }

    fn prefetch(&self, hash: KeyHash) {
        with_choices!(self.layout.choices, C => {
            self.view().approach::<C>(hash);
        });
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        let cpu = self.cpu;
        with_choices!(self.layout.choices, C => cpu.run(Insert::<_, C> { filter: self, hashes }));
        Ok(())
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

    fn restore(&mut self, len: u64, _: Vec<Stashed>) {
        self.len = len;
    }

    fn audit(&self) -> Result<(), Flaw> {
        audit_count(self.len, &self.words, self.layout.key_bits)
    }

    fn merge_bits(&mut self, other: &dyn Engine) -> bool {
        set_bits(&mut self.words, other.words());
        self.len = self.len.saturating_add(other.len());
        true
    }

    fn fill(&self) -> Option<Fill> {
        Some(self.fill())
    }

    fn estimate_keys(&self) -> Option<f64> {
        Some(self.estimate_keys())
    }
}
