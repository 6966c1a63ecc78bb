//! The plain Bloom filter: the bits of a key lie anywhere in the table.

use core::ops::Range;

use crate::bits::Words;
use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::engine::{Engine, Flaw, Inserted, Stashed};
use crate::error::{Error, Full};
use crate::key::KeyHash;
use crate::kind::Kind;
use crate::reduce::last_draw;
use crate::threads::for_shares;

use super::estimate;
use super::fill::Fill;
use super::layout::{BloomLayout, with_equal_hashes};
use super::pattern::Draws;

/// A plain Bloom filter, after Bloom 1970: a key sets some bits anywhere, and is there if they are all set.
///
/// ```
/// use malkoha::bloom::Bloom;
/// use malkoha::{Key, KeyHasher, Kind, Spec};
///
/// let geometry = Spec::new(1000, 0.001).kind(Kind::Bloom).plan()?;
/// let mut filter = Bloom::new(geometry.bloom().unwrap())?;
/// let hasher = KeyHasher::new(1);
/// filter.insert("malkoha".hash(&hasher));
/// assert!(filter.contains("malkoha".hash(&hasher)));
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bloom {
    layout: BloomLayout,
    words: Words,
    len: u64,
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

    /// The filter with this layout in words that are as many as it needs, and as yet all zero.
    pub(crate) fn in_words(layout: &BloomLayout, words: Words) -> Self {
        Self { layout: *layout, words, len: 0 }
    }

    /// The bits of a key.
    #[inline(always)]
    fn bits(&self, hash: KeyHash) -> impl Iterator<Item = u64> + use<> {
        let mut draws = Draws::new(hash);
        let (key_bits, bits) = (self.layout.key_bits, self.layout.bits);
        (0..key_bits).map(move |_| last_draw(draws.next(), bits))
    }

    /// Stores a key.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash) {
        for at in self.bits(hash) {
            self.words.write(at, 1, 1);
        }
        self.len += 1;
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
        // Stops at the first bit that is not set: every further one may be another cache miss.
        self.bits(hash).all(|at| self.words.read(at, 1) == 1)
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

    /// The set bits, and the rate that they have. Reads the whole table.
    #[must_use]
    pub fn fill(&self) -> Fill {
        let BloomLayout { bits, key_bits } = self.layout;
        let set = count_set(&self.words);
        let rate = (set as f64 / bits as f64).powi(key_bits.cast_signed());
        Fill { set, bits, rate: with_equal_hashes(rate, self.len) }
    }

    /// An estimate of the number of different keys: the number for which these set bits are expected, after
    /// Swamidass and Baldi 2007. Reads the whole table.
    #[must_use]
    pub fn estimate_keys(&self) -> f64 {
        estimate::plain_keys(&self.layout, self.fill().set)
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

    fn prefetch(&self, hash: KeyHash) {
        self.bits(hash).for_each(|at| self.words.prefetch(at));
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

/// How many bits are set.
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
