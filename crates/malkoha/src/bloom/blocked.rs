//! The blocked Bloom filters: all bits of a key lie in one of its candidate blocks.
//!
//! ```text
//!   hash -> block 0, block 1 .. c-1    draws below the number of blocks
//!        -> pattern                    the same for all of them
//!   lookup  any block that covers the pattern
//!   insert  c = 1: the block          c > 1: nothing if a block covers it, else the block where it costs least
//! ```
//!
//! The invariant: bits are set and never cleared, so a block that covers the pattern of a key always will.
//! This is also why a merge loses nothing: the block that one filter chose for a key has all its bits in the
//! merged filter, whatever the other filter would have chosen. The merged filter may only have more bits set
//! than one that stored all keys one by one, since each half chose without knowing the other.

use crate::bits::cpu::{Cpu, Inlined};
use crate::bits::drawn::BlockTable;
use crate::bits::{BLOCK_BITS, Words};
use crate::engine::atomic_bits::AtomicBits;
use crate::engine::{
    Again, BloomEngine, Content, Engine, Fill, Flaw, Inserted, MOST_COPIES, Many, Stashed, insert_in_order,
};
use crate::error::{Error, Full, FullAt};
use crate::key::{KeyHash, KeyHasher};
use crate::kind::Kind;

use super::atomic::BlockedBits;
use super::choice::Prices;
use super::estimate;
use super::layout::{BlockedLayout, with_equal_hashes};
use super::pattern::Scatter;
use super::plain::{audit_count, count_set, set_bits};
use super::work::InsertBlocked;
use crate::engine::rows::Keys;

/// A blocked Bloom filter: section 3 of the paper; with one choice Putze, Sanders, Singler 2007.
///
/// ```
/// use malkoha::bloom::{Blocked, Random};
/// use malkoha::{Key, KeyHasher, Kind, Pattern, Spec};
///
/// let spec = Spec::new(1000, 0.001).kind(Kind::Blocked(2)).pattern(Pattern::Random);
/// let mut filter = Blocked::<Random>::new(spec.plan()?.blocked().unwrap())?;
/// let hasher = KeyHasher::new(1);
/// filter.insert("malkoha".key_hash(&hasher));
/// assert!(filter.contains("malkoha".key_hash(&hasher)));
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocked<P> {
    pub(super) layout: BlockedLayout,
    pub(super) scatter: P,
    /// `None` unless there is a choice.
    pub(super) prices: Option<Prices>,
    pub(super) cpu: Cpu,
    /// The CPU, if code for single keys is inlined into the caller: one test instead of two, for pattern and CPU.
    pub(super) inlined: Option<Inlined>,
    pub(super) table: BlockTable,
    pub(super) len: u64,
}

impl<P: Scatter> Blocked<P> {
    /// An empty filter with this layout, which must have this pattern.
    pub fn new(layout: &BlockedLayout) -> Result<Self, Error> {
        Self::in_words(layout, Words::zeroed(layout.table_bits().unwrap_or(u64::MAX / 2))?)
    }

    /// A filter with this layout in `words`, which have the size it needs and are still all zero.
    pub(crate) fn in_words(layout: &BlockedLayout, words: Words) -> Result<Self, Error> {
        layout.check()?;
        if layout.pattern != P::PATTERN {
            let kind = Kind::Blocked(layout.choices);
            return Err(Error::Option { kind, what: "the layout is for another pattern" });
        }
        let cpu = Cpu::detect();
        Ok(Self {
            layout: *layout,
            scatter: P::new(layout.key_bits),
            prices: (layout.choices > 1).then(|| Prices::new(layout.cost, layout.key_bits)),
            cpu,
            inlined: Self::inlined(layout, cpu),
            table: BlockTable::new(words, layout.blocks),
            len: 0,
        })
    }

    /// Stores a key.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash) {
        let stored = self.insert_one(hash);
        debug_assert_eq!(stored, Ok(()), "there is always room");
    }

    /// Stores a key unless a lookup already finds it.
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
        self.look_up_one(hash)
    }

    /// Looks up every key of a slice and writes the answers into a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.look_up(Keys::Hashes(hashes), answers);
    }

    /// Adds the keys of another filter, which must have the same layout and hash seed.
    ///
    /// # Panics
    ///
    /// If the layouts differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.layout, other.layout, "only equal layouts can be merged");
        self.merge_bits(other);
    }

    /// The number of inserts, which is not counted beyond 2^62.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len.min(MOST_COPIES)
    }

    /// Whether the filter is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many blocks have 0, 1, 2 and so on up to 512 set bits: Figure 7 of the paper. Reads the whole table.
    #[must_use]
    pub fn histogram(&self) -> Vec<u64> {
        let mut histogram = vec![0; BLOCK_BITS as usize + 1];
        self.table.blocks().iter().for_each(|block| histogram[block.count() as usize] += 1);
        histogram
    }

    /// The rate of false positives that follows from the set bits: a measured rate converges to it, and rates
    /// too small to measure cannot be known otherwise. Reads the whole table.
    #[must_use]
    pub fn rate_from_fill(&self) -> f64 {
        let one = self.table.blocks().iter().map(|block| self.scatter.share(&block)).sum::<f64>();
        let one = (one / self.layout.blocks as f64).min(1.0);
        let any = -(f64::from(self.layout.choices) * (-one).ln_1p()).exp_m1();
        with_equal_hashes(any, self.len)
    }

    /// The number of set bits and the [rate from the fill](Self::rate_from_fill). Reads the whole table.
    #[must_use]
    pub fn fill(&self) -> Fill {
        let bits = self.table.blocks().bits();
        Fill { set: self.count_set(), bits, rate: self.rate_from_fill() }
    }

    fn count_set(&self) -> u64 {
        count_set(self.table.blocks().words())
    }

    /// Estimates the number of different keys: the number for which this many set bits are expected. Reads the
    /// whole table, and with choices runs the model of the block load, which takes tens of milliseconds.
    ///
    /// After a merge of filters with choices it is too high, because together they have set more bits than a
    /// single filter would have.
    #[must_use]
    pub fn estimate_keys(&self) -> f64 {
        estimate::keys(&self.layout, self.count_set())
    }
}

impl<P: Scatter> Engine for Blocked<P> {
    fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.insert_one(hash)
    }

    fn insert_unique(&mut self, hash: KeyHash) -> Result<Inserted, Full> {
        Ok(self.insert_unique(hash))
    }

    fn contains(&self, hash: KeyHash) -> bool {
        self.look_up_one(hash)
    }

    fn contains_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.contains_slice(hashes, answers);
    }

    fn contains_numbers(&self, numbers: &[u64], hasher: &KeyHasher, answers: &mut [bool]) -> bool {
        self.look_up(Keys::Numbers(numbers, hasher), answers);
        true
    }

    fn prefetch(&self, hash: KeyHash) {
        self.approach(hash);
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        self.cpu.run(InsertBlocked { filter: self, hashes });
        Ok(())
    }

    fn insert_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        insert_in_order(self, keys, again, threads)
    }
}

impl<P: Scatter> BloomEngine for Blocked<P> {
    fn fill(&self) -> Fill {
        self.fill()
    }

    fn estimate_keys(&self) -> f64 {
        self.estimate_keys()
    }

    fn merge_bits(&mut self, other: &dyn BloomEngine) {
        set_bits(self.table.words_mut(), other.words());
        self.len = (self.len + other.len()).min(MOST_COPIES);
    }

    fn atomic_bits(&self) -> Option<Box<dyn AtomicBits>> {
        let (scatter, prices) = (self.scatter, self.prices.clone());
        Some(Box::new(BlockedBits { layout: self.layout, scatter, prices, cpu: self.cpu }))
    }

    fn into_words(self: Box<Self>) -> Words {
        self.table.into_words()
    }

    fn clone_box(&self) -> Box<dyn BloomEngine> {
        Box::new(self.clone())
    }
}

impl<P: Scatter> Content for Blocked<P> {
    fn len(&self) -> u64 {
        self.len.min(MOST_COPIES)
    }

    fn bytes(&self) -> usize {
        self.table.bytes()
    }

    fn words(&self) -> &[u64] {
        self.table.words()
    }

    fn clear(&mut self) {
        self.table.words_mut().fill(0);
        self.len = 0;
    }

    fn restore(&mut self, len: u64, _: Vec<Stashed>) {
        self.len = len;
    }

    fn audit(&self) -> Result<(), Flaw> {
        audit_count(self.len, self.table.words(), self.layout.key_bits)
    }
}
