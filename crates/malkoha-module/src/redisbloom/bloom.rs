//! RedisBloom's scalable Bloom filter: a list of Bloom filters, each with a lower rate than the one before it.

use super::Refused;
use super::murmur;
use crate::server::memory;

/// The numbers of bits of a table are whole words.
const WORD_BITS: u64 = 64;

/// Each link has this part of the rate of the one before it.
const TIGHTENING: f64 = 0.5;

/// The square of the natural logarithm of 2, with the digits that RedisBloom has.
const LN2_SQUARED: f64 = 0.480_453_013_918_201;

/// The most bits that a key sets: rates down to the smallest positive number need 1075.
pub const MOST_HASHES: u32 = 1100;

/// The most links: more would take a lookup seconds.
pub const MOST_LINKS: usize = u16::MAX as usize;

/// Bits of the options of a filter.
pub mod options {
    /// Tables have any number of bits, not only powers of two.
    pub const NO_ROUND: u32 = 1;
    /// Keys have hashes of 64 bits. Old filters without this are refused.
    pub const FORCE_64: u32 = 4;
    /// The filter does not grow.
    pub const NO_SCALING: u32 = 8;
}

/// One Bloom filter of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bits of the table: a multiple of 64.
    pub bits: u64,
    /// Keys that were stored here.
    pub items: u64,
    /// The rate it is planned for, above 0 and below 1.
    pub error: f64,
    /// Bits of the table for each planned key.
    pub bits_per_entry: f64,
    /// Bits that a key sets.
    pub hashes: u32,
    /// Planned keys.
    pub entries: u64,
    /// If not 0, the table has 2 to this power bits.
    pub n2: u8,
}

impl Link {
    /// The link for so many keys at this rate; `None` if its bits cannot be counted.
    #[must_use]
    pub fn plan(entries: u64, error: f64) -> Option<Self> {
        let bits_per_entry = (error.ln() / LN2_SQUARED).abs();
        let bits = entries as f64 * bits_per_entry;
        // Above 2^62 the bytes could not be counted; a rate of 0 needs infinitely many.
        if !bits.is_finite() || bits >= 4.0e18 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below 2^62 and not negative"
        )]
        let bits = (bits as u64).max(1).next_multiple_of(WORD_BITS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a thousand")]
        let hashes = (core::f64::consts::LN_2 * bits_per_entry).ceil() as u32;
        Some(Self { bits, items: 0, error, bits_per_entry, hashes, entries, n2: 0 })
    }

    /// Bytes of the table; `None` if they cannot be counted.
    #[must_use]
    pub fn bytes(&self) -> Option<usize> {
        usize::try_from(self.bits / 8).ok().filter(|bytes| isize::try_from(*bytes).is_ok())
    }
}

/// Remainders by a number of bits, without a division for each: it takes longer than all the rest of a lookup.
#[derive(Clone, Copy)]
pub(super) struct Divisor {
    bits: u64,
    /// 2^64 divided by `bits`, at most 1 less.
    reciprocal: u64,
}

impl Divisor {
    pub(super) fn new(bits: u64) -> Self {
        Self { bits, reciprocal: u64::MAX / bits }
    }

    fn remainder(self, number: u64) -> u64 {
        // The reciprocal is at most 1 too small, and `number` is below 2^64: before it is rounded down, the quotient is
        // less than 1 too small, so afterwards it is right or 1 too small.
        let quotient = (u128::from(number) * u128::from(self.reciprocal)) >> 64;
        let rest = number - quotient as u64 * self.bits;
        if rest < self.bits { rest } else { rest - self.bits }
    }
}

pub(super) fn is_set(table: &[u8], bit: u64) -> bool {
    table[byte_of(bit)] & mask_of(bit) != 0
}

pub(super) fn byte_of(bit: u64) -> usize {
    (bit / 8) as usize
}

pub(super) fn mask_of(bit: u64) -> u8 {
    1 << (bit % 8)
}

/// A key as the filter sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed {
    start: u64,
    step: u64,
}

impl Hashed {
    /// Hashes a key.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        let start = murmur::hash(key, 0xc6a4_a793_5bd1_e995);
        Self { start, step: murmur::hash(key, start) }
    }

    /// Bit number `index` of this key in a table with so many.
    pub(super) fn bit(self, index: u32, of: Divisor) -> u64 {
        of.remainder(self.start.wrapping_add(u64::from(index).wrapping_mul(self.step)))
    }

    /// The bits of this key in a table.
    fn bits(self, link: &Link) -> impl Iterator<Item = u64> {
        let of = Divisor::new(link.bits);
        (0..link.hashes).map(move |index| self.bit(index, of))
    }

    fn is_in(self, (link, table): &(Link, Box<[u8]>)) -> bool {
        self.bits(link).all(|bit| is_set(table, bit))
    }
}

/// A Bloom filter in RedisBloom's layout.
#[derive(Debug, PartialEq)]
pub struct Bloom {
    /// Keys that were stored.
    pub(super) items: u64,
    pub(super) options: u32,
    /// How many times as many keys each link is planned for as the one before it.
    pub(super) growth: u32,
    /// Oldest first, never empty. Each table has the bytes of its link.
    pub(super) links: Vec<(Link, Box<[u8]>)>,
}

impl Bloom {
    /// What the first link is planned for: filters that grow leave half of the rate to later links.
    #[must_use]
    pub fn first_link(entries: u64, error: f64, growth: u32) -> Option<Link> {
        Link::plan(entries, if growth == 0 { error } else { error * TIGHTENING })
    }

    /// An empty filter. With a growth of 0 it does not grow.
    pub fn new(entries: u64, error: f64, growth: u32) -> Result<Self, Refused> {
        let scaling = if growth == 0 { options::NO_SCALING } else { 0 };
        let options = options::NO_ROUND | options::FORCE_64 | scaling;
        let mut filter = Self { items: 0, options, growth, links: Vec::new() };
        filter.add_link(Self::first_link(entries, error, growth).ok_or(Refused::TooLarge)?)?;
        Ok(filter)
    }

    fn add_link(&mut self, link: Link) -> Result<(), Refused> {
        let bytes = link.bytes().ok_or(Refused::TooLarge)?;
        let table = memory::zeroed(bytes).ok_or(Refused::Memory)?;
        self.links.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.links.push((link, table));
        Ok(())
    }

    /// Stores a key unless the filter already reports it as present. Returns whether it was stored. If it is refused,
    /// nothing has changed.
    pub fn insert(&mut self, key: Hashed) -> Result<bool, Refused> {
        if self.contains(key) {
            return Ok(false);
        }
        let (newest, _) = self.newest();
        if newest.items >= newest.entries {
            if !self.grows() {
                return Err(Refused::Full);
            }
            if self.links.len() == MOST_LINKS {
                return Err(Refused::TooLarge);
            }
            let entries = newest.entries.checked_mul(u64::from(self.growth)).ok_or(Refused::TooLarge)?;
            let next = Link::plan(entries, newest.error * TIGHTENING).ok_or(Refused::TooLarge)?;
            self.add_link(next)?;
        }
        let (link, table) = self.links.last_mut().expect("there is always a link");
        key.bits(link).for_each(|bit| table[byte_of(bit)] |= mask_of(bit));
        link.items += 1;
        self.items = self.items.saturating_add(1);
        Ok(true)
    }

    fn newest(&self) -> &(Link, Box<[u8]>) {
        self.links.last().expect("there is always a link")
    }

    /// Whether the filter may hold a key.
    #[must_use]
    pub fn contains(&self, key: Hashed) -> bool {
        self.links.iter().rev().any(|link| key.is_in(link))
    }

    /// Whether the filter grows when it is full.
    #[must_use]
    pub fn grows(&self) -> bool {
        self.options & options::NO_SCALING == 0
    }

    /// How many times as many keys each link is planned for as the one before it.
    #[must_use]
    pub fn growth(&self) -> u32 {
        self.growth
    }

    /// Keys that were stored.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Keys that all links are planned for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.links.iter().fold(0, |sum, (link, _)| sum.saturating_add(link.entries))
    }

    /// The links, oldest first, with their tables.
    #[must_use]
    pub fn links(&self) -> &[(Link, Box<[u8]>)] {
        &self.links
    }

    /// The memory of the list of links, without the tables.
    #[must_use]
    pub fn list_memory(&self) -> usize {
        memory::allocated_vec(&self.links)
    }

    /// A copy, if there is memory for it.
    #[must_use]
    pub fn copy(&self) -> Option<Self> {
        let links = self
            .links
            .iter()
            .map(|(link, table)| Some((*link, memory::copy(table)?)))
            .collect::<Option<_>>()?;
        Some(Self { links, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Hashed {
        Hashed::of(format!("key {number}").as_bytes())
    }

    /// 100 keys at 1 %: the first link is planned for 0.5 %, 11.03 bits a key, 1102 bits, so 18 words.
    #[test]
    fn sizes_by_arithmetic() {
        let filter = Bloom::new(100, 0.01, 2).unwrap();
        let (link, table) = &filter.links[0];
        assert_eq!((link.bits, table.len(), link.hashes, link.entries), (1152, 144, 8, 100));
        assert!((link.bits_per_entry - 11.0277).abs() < 1e-4);
        let fixed = Bloom::new(100, 0.01, 0).unwrap();
        assert_eq!((fixed.links[0].0.bits, fixed.links[0].0.hashes), (960, 7), "958 bits: 15 words");
    }

    #[test]
    fn links_follow_from_one_another_and_no_key_is_lost() {
        let mut filter = Bloom::new(1000, 0.01, 2).unwrap();
        let mut stored = 0;
        for number in 0..20_000 {
            stored += u64::from(filter.insert(key(number)).unwrap());
        }
        assert!((0..20_000).all(|number| filter.contains(key(number))));
        assert_eq!(filter.items(), stored);
        for (index, (link, _)) in filter.links.iter().enumerate() {
            assert_eq!(link.entries, 1000 << index);
            assert!((link.error - 0.005 / f64::from(1 << index)).abs() < 1e-12);
            assert!(link.items <= link.entries);
        }
        let wrong = (20_000..120_000).filter(|number| filter.contains(key(*number))).count();
        assert!(wrong < 1000, "1 % was promised: {wrong} of 100000");
    }

    #[test]
    fn a_filter_that_does_not_grow_refuses_and_stays_as_it_was() {
        let mut filter = Bloom::new(100, 0.01, 0).unwrap();
        let mut number = 0;
        while filter.items() < 100 {
            filter.insert(key(number)).unwrap();
            number += 1;
        }
        let before = filter.copy().unwrap();
        let refused =
            (number..number + 1000).filter(|number| filter.insert(key(*number)) == Err(Refused::Full));
        assert!(refused.count() > 900, "the others are found by chance");
        assert_eq!(filter, before);
    }

    #[test]
    fn remainders_are_those_of_divisions() {
        let numbers = || {
            (0..64).flat_map(|shift| {
                [1u64 << shift, (1 << shift) - 1, u64::MAX << shift, (u64::MAX / 3) >> shift]
            })
        };
        for bits in
            (1..1000).chain((6..62).map(|shift| 1 << shift)).chain((6..62).map(|shift| (1 << shift) + 64))
        {
            for number in numbers().chain([
                bits - 1,
                bits,
                bits + 1,
                u64::MAX / bits * bits,
                u64::MAX / bits * bits - 1,
            ]) {
                assert_eq!(Divisor::new(bits).remainder(number), number % bits, "{number} {bits}");
            }
        }
    }

    #[test]
    fn absurd_plans_are_refused() {
        assert!(Link::plan(u64::MAX, 0.01).is_none());
        assert!(Link::plan(1, 0.0).is_none());
        assert!(Link::plan(1, f64::NAN).is_none());
        assert_eq!(Link::plan(1, 0.999_999).map(|link| (link.bits, link.hashes)), Some((64, 1)));
        assert!(Link::plan(1, f64::from_bits(1)).unwrap().hashes <= MOST_HASHES);
    }
}
