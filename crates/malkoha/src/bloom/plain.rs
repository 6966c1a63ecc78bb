//! The plain Bloom filter: the bits of a key lie anywhere in the table.

use core::ops::Range;

use crate::bits::Words;
use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::drawn::{BitTable, Bits, NarrowBits};
use crate::bits::words::stays_in_cache;
use crate::engine::atomic_bits::AtomicBits;
use crate::engine::threads::for_shares;
use crate::engine::{
    Again, BloomEngine, Content, Engine, Fill, Flaw, Inserted, MOST_COPIES, Many, Stashed, insert_in_order,
};
use crate::error::{Error, Full, FullAt};
use crate::key::{KeyHash, KeyHasher};
use crate::kind::Kind;

use super::atomic::PlainBits;
use super::estimate;
use super::layout::{BloomLayout, with_equal_hashes};
use super::pattern::{Draws, Eights};
use super::staged::{InsertPlain, LookUpPlain};
use crate::engine::rows::Keys;

/// A plain Bloom filter, after Bloom 1970: a key sets bits anywhere in the table, and is found if all are set.
///
/// ```
/// use malkoha::bloom::Bloom;
/// use malkoha::{Key, KeyHasher, Kind, Spec};
///
/// let geometry = Spec::new(1000, 0.001).kind(Kind::Bloom).plan()?;
/// let mut filter = Bloom::new(geometry.bloom().unwrap())?;
/// let hasher = KeyHasher::new(1);
/// filter.insert("malkoha".key_hash(&hasher));
/// assert!(filter.contains("malkoha".key_hash(&hasher)));
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bloom {
    layout: BloomLayout,
    pub(super) cpu: Cpu,
    table: BitTable,
    len: u64,
}

/// The parts of a filter that lookups need, by value, as for [`Blocked`](super::Blocked).
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainView<'a> {
    pub(super) bits: Bits<'a>,
    pub(super) key_bits: u32,
    pub(super) stays_in_cache: bool,
}

impl PlainView<'_> {
    /// Whether all bits of a key are set.
    ///
    /// If the table fits in the cache, bits are tested without a branch: it would be mispredicted for half of the
    /// absent keys, which costs as much as testing eight bits. There is one only where more than eight bits are left.
    /// If the table does not fit, every further bit may be another miss: CPUs that draw bits one by one stop at the
    /// first unset one; those that draw eight together have fetched eight lines by then.
    #[inline(always)]
    pub(super) fn holds<V: Vectors>(&self, hash: KeyHash, vectors: V) -> bool {
        let free = V::DRAWS_TOGETHER || self.stays_in_cache;
        let Some(bits) = self.bits.narrow().filter(|_| free) else {
            let mut draws = Draws::new(hash);
            return (0..self.key_bits).all(|_| self.bits.draw(draws.next()) & 1 == 1);
        };
        let (mut draws, mut left, mut missing) = (Eights::new(hash), self.key_bits, 0);
        loop {
            missing |= vectors.missing_drawn(bits, draws.next(), left);
            if left <= 8 {
                return missing == 0;
            }
            left -= 8;
            if left > 8 && missing != 0 {
                return false;
            }
        }
    }

    /// 0 if the first eight bits of a key are set.
    #[inline(always)]
    pub(super) fn first_missing(&self, hash: KeyHash, bits: NarrowBits<'_>, vectors: impl Vectors) -> u64 {
        vectors.missing_drawn(bits, Eights::new(hash).next(), self.key_bits)
    }

    /// 0 if its other bits are set.
    #[inline(always)]
    pub(super) fn others_missing(&self, hash: KeyHash, bits: NarrowBits<'_>, vectors: impl Vectors) -> u64 {
        let (mut draws, mut left, mut missing) = (Eights::after(hash, 8), self.key_bits.saturating_sub(8), 0);
        while left > 0 {
            missing |= vectors.missing_drawn(bits, draws.next(), left);
            left = left.saturating_sub(8);
        }
        missing
    }
}

impl Bloom {
    /// An empty filter with this layout.
    pub fn new(layout: &BloomLayout) -> Result<Self, Error> {
        if layout.bits == 0 || layout.key_bits == 0 {
            return Err(Error::Option {
                kind: Kind::Bloom,
                what: "a layout and a key have at least one bit",
            });
        }
        Ok(Self::in_words(layout, Words::zeroed(layout.bits)?))
    }

    /// A filter with this layout in `words`, which have the size it needs and are still all zero.
    pub(crate) fn in_words(layout: &BloomLayout, words: Words) -> Self {
        Self { layout: *layout, cpu: Cpu::detect(), table: BitTable::new(words, layout.bits), len: 0 }
    }

    #[inline(always)]
    fn view(&self) -> PlainView<'_> {
        let stays_in_cache = stays_in_cache(self.table.bytes());
        PlainView { bits: self.table.bits(), key_bits: self.layout.key_bits, stays_in_cache }
    }

    /// Sets the bits of a key.
    #[inline(always)]
    pub(super) fn add(&mut self, hash: KeyHash) {
        let mut draws = Draws::new(hash);
        for _ in 0..self.layout.key_bits {
            self.table.set(draws.next());
        }
        self.len += 1;
    }

    /// Prefetches the memory of a key.
    #[inline(always)]
    pub(super) fn approach(&self, hash: KeyHash) {
        let (bits, mut draws) = (self.table.bits(), Draws::new(hash));
        (0..self.layout.key_bits).for_each(|_| bits.prefetch(draws.next()));
    }

    /// Whether the table is small enough to stay in the cache.
    pub(super) fn stays_in_cache(&self) -> bool {
        stays_in_cache(self.table.bytes())
    }

    /// Stores a key.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash) {
        self.cpu.run(InsertOnePlain { filter: self, hash });
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
        self.cpu.run(LookUpOnePlain { filter: self, hash })
    }

    /// Looks up every key of a slice and writes the answers into a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.look_up(Keys::Hashes(hashes), answers);
    }

    fn look_up(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        self.cpu.run(LookUpPlain { view: self.view(), cpu: self.cpu, keys, answers });
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

    /// The number of set bits and the rate that follows from it. Reads the whole table.
    #[must_use]
    pub fn fill(&self) -> Fill {
        let BloomLayout { bits, key_bits } = self.layout;
        let set = count_set(self.table.words());
        let rate = (set as f64 / bits as f64).powi(key_bits.cast_signed());
        Fill { set, bits, rate: with_equal_hashes(rate, self.len) }
    }

    /// Estimates the number of different keys: the number for which this many set bits are expected, after
    /// Swamidass and Baldi 2007. Reads the whole table.
    #[must_use]
    pub fn estimate_keys(&self) -> f64 {
        estimate::plain_keys(&self.layout, self.fill().set)
    }
}

/// One lookup.
struct LookUpOnePlain<'a> {
    filter: &'a Bloom,
    hash: KeyHash,
}

impl Work for LookUpOnePlain<'_> {
    const WIDE: bool = true;
    type Output = bool;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> bool {
        self.filter.view().holds(self.hash, vectors)
    }
}

/// One insert.
struct InsertOnePlain<'a> {
    filter: &'a mut Bloom,
    hash: KeyHash,
}

impl Work for InsertOnePlain<'_> {
    const WIDE: bool = false;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        self.filter.add(self.hash);
    }
}

impl Engine for Bloom {
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
        self.look_up(Keys::Numbers(numbers, hasher), answers);
        true
    }

    fn prefetch(&self, hash: KeyHash) {
        self.approach(hash);
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        self.cpu.run(InsertPlain { filter: self, hashes });
        Ok(())
    }

    fn insert_many(&mut self, keys: &Many, again: Again, threads: usize) -> Result<(), Full> {
        insert_in_order(self, keys, again, threads)
    }
}

impl BloomEngine for Bloom {
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
        Some(Box::new(PlainBits(self.layout)))
    }

    fn into_words(self: Box<Self>) -> Words {
        self.table.into_words()
    }

    fn clone_box(&self) -> Box<dyn BloomEngine> {
        Box::new(self.clone())
    }
}

impl Content for Bloom {
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

/// Counts the set bits.
pub(super) fn count_set(words: &[u64]) -> u64 {
    struct CountSet<'a>(&'a [u64]);
    impl Work for CountSet<'_> {
        const WIDE: bool = true;
        type Output = u64;

        #[inline(always)]
        fn run(self, _: impl Vectors) -> u64 {
            self.0.iter().map(|word| u64::from(word.count_ones())).sum()
        }
    }
    Cpu::detect().run(CountSet(words))
}

/// Refuses a number of keys that cannot have set the bits of these words.
pub(super) fn audit_count(len: u64, words: &[u64], key_bits: u32) -> Result<(), Flaw> {
    #[allow(clippy::cast_possible_truncation, reason = "32-bit targets: shares of a slice")]
    let share = |range: Range<u64>| count_set(&words[range.start as usize..range.end as usize]);
    let set: u64 = for_shares(words.len() as u64, 1, share).into_iter().sum();
    let most = len.saturating_mul(u64::from(key_bits));
    if set <= most && (len == 0) == (set == 0) {
        return Ok(());
    }
    Err(Flaw::Count { there: set.div_ceil(u64::from(key_bits)) })
}

/// Sets the bits that are set in `other`.
pub(super) fn set_bits(words: &mut [u64], other: &[u64]) {
    for (word, more) in words.iter_mut().zip(other) {
        *word |= more;
    }
}
