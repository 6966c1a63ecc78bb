//! Compares filters with lists of bits, on every CPU.

use std::collections::{BTreeMap, BTreeSet};

use crate::bits::cpu::Cpu;
use crate::engine::{Content, Engine};
use crate::key::draw::last_draw;
use crate::key::{KeyHash, KeyHasher, mix};

use super::choice::{Cost, Prices};
use super::pattern::{Draws, Scatter};
use super::{Blocked, BlockedLayout, Bloom, BloomLayout, Distinct, Random, Spread};
use crate::kind::Pattern;

/// The number of keys stored.
const STORED: u64 = 300;

/// The number of keys looked up, including those stored.
const ASKED: u64 = 700;

/// Lengths of slices around that of a row.
const LENGTHS: [usize; 7] = [0, 1, 63, 64, 65, 129, ASKED as usize];

fn hasher() -> KeyHasher {
    KeyHasher::new(5)
}

fn hashes(keys: u64) -> Vec<KeyHash> {
    (0..keys).map(|key| hasher().number(key)).collect()
}

/// The bits of a key, one by one as the patterns describe them.
fn pattern(layout: &BlockedLayout, draws: &mut Draws) -> BTreeSet<u64> {
    let mut bits = BTreeSet::new();
    let mut left = layout.key_bits;
    while left > 0 {
        let word = draws.next();
        if layout.pattern == Pattern::Spread {
            bits.extend((0..8).map(|i| 64 * i + (word >> (6 * i) & 63)));
            left -= 8;
            continue;
        }
        let count = left.min(7);
        bits.extend((0..count).map(|i| word >> (9 * i) & 511));
        left -= count;
        if layout.pattern == Pattern::Distinct && left == 0 {
            left = layout.key_bits - bits.len() as u32;
        }
    }
    bits
}

/// A blocked filter that keeps only blocks with set bits.
struct Naive {
    layout: BlockedLayout,
    blocks: BTreeMap<u64, BTreeSet<u64>>,
}

impl Naive {
    fn homes(&self, hash: KeyHash) -> (Vec<u64>, BTreeSet<u64>) {
        let mut draws = Draws::new(hash);
        let mut fractions = vec![hash.to_raw()];
        fractions.extend((1..self.layout.choices).map(|_| draws.next()));
        let homes = fractions.iter().map(|fraction| last_draw(*fraction, self.layout.blocks)).collect();
        (homes, pattern(&self.layout, &mut draws))
    }

    fn holds(&self, hash: KeyHash) -> bool {
        let (homes, bits) = self.homes(hash);
        homes.iter().any(|home| self.blocks.get(home).is_some_and(|set| bits.is_subset(set)))
    }

    fn insert(&mut self, hash: KeyHash) {
        let (homes, bits) = self.homes(hash);
        let prices = Prices::new(self.layout.cost, self.layout.key_bits);
        let cost = |home: &u64| {
            let set = self.blocks.get(home).cloned().unwrap_or_default();
            let new = bits.difference(&set).count() as u32;
            if new == 0 { f64::NEG_INFINITY } else { prices.cost(set.len() as u32 + new, new) }
        };
        // The first of the cheapest.
        let best = homes.iter().copied().reduce(|a, b| if cost(&b) < cost(&a) { b } else { a });
        self.blocks.entry(best.unwrap()).or_default().extend(bits);
    }

    fn words(&self, len: usize) -> Vec<u64> {
        let mut words = vec![0; len];
        for (block, bits) in &self.blocks {
            for at in bits {
                words[(block * 8 + at / 64) as usize] |= 1 << (at % 64);
            }
        }
        words
    }
}

/// Checks the answers of a filter, one by one and in slices.
fn check_answers(filter: &dyn Engine, expected: &[bool], what: &str) {
    let (numbers, hashes) = ((0..ASKED).collect::<Vec<_>>(), hashes(ASKED));
    for (hash, expected) in hashes.iter().zip(expected) {
        assert_eq!(filter.contains(*hash), *expected, "{what}");
    }
    for length in LENGTHS {
        let mut answers = vec![true; length];
        filter.contains_batch(&hashes[..length], &mut answers);
        assert_eq!(answers, expected[..length], "{length} hashes in {what}");
        answers.fill(true);
        assert!(filter.contains_numbers(&numbers[..length], &hasher(), &mut answers));
        assert_eq!(answers, expected[..length], "{length} numbers in {what}");
    }
}

fn check_blocked<P: Scatter>(layout: &BlockedLayout) {
    let mut naive = Naive { layout: *layout, blocks: BTreeMap::new() };
    let stored = hashes(STORED);
    for hash in &stored {
        naive.insert(*hash);
    }
    // Again: with choices they are found where they were stored.
    stored[..20].iter().for_each(|hash| naive.insert(*hash));
    let expected: Vec<bool> = hashes(ASKED).iter().map(|hash| naive.holds(*hash)).collect();
    for cpu in Cpu::all() {
        let what = format!("{layout:?} by {cpu:?}");
        let mut filter = Blocked::<P>::new(layout).unwrap();
        (filter.cpu, filter.inlined) = (cpu, Blocked::<P>::inlined(layout, cpu));
        let (single, rest) = stored.split_at(70);
        for hash in single {
            filter.insert(*hash);
        }
        filter.insert_batch(rest).unwrap();
        stored[..20].iter().for_each(|hash| Engine::insert(&mut filter, *hash).unwrap());
        assert_eq!(filter.len(), STORED + 20);
        assert!(filter.words() == naive.words(filter.words().len()), "wrong bits in {what}");
        check_answers(&filter, &expected, &what);
        assert!(
            hashes(ASKED).iter().zip(&expected).all(|(hash, yes)| filter.contains(*hash) == *yes),
            "{what}"
        );
    }
}

/// Few and many keys per block, in tables that stay in the cache and in one that does not.
const BLOCKS: [u64; 4] = [1, 3, 40, 20_000];

#[test]
fn blocked_filters_match_lists_of_bits() {
    for blocks in BLOCKS {
        for key_bits in [1, 6, 7, 8, 14, 15, 21, 30, 32] {
            for choices in 1..=4 {
                let layout =
                    |pattern| BlockedLayout { blocks, choices, key_bits, pattern, cost: Cost::default() };
                check_blocked::<Random>(&layout(Pattern::Random));
                check_blocked::<Distinct>(&layout(Pattern::Distinct));
            }
        }
        for key_bits in [8, 16, 24, 32] {
            let (pattern, cost) = (Pattern::Spread, Cost::default());
            check_blocked::<Spread>(&BlockedLayout { blocks, choices: 1, key_bits, pattern, cost });
        }
    }
}

#[test]
fn all_costs_choose_the_cheapest_block() {
    let costs = [
        Cost::Mixed { sigma: 0.0 },
        Cost::Mixed { sigma: 50.0 },
        Cost::LookAhead { mu: 3.5 },
        Cost::LookAhead { mu: 1e300 },
        Cost::Exponential { beta: 1e-300 },
        Cost::Exponential { beta: 1e300 },
    ];
    for cost in costs {
        for choices in 2..=4 {
            let pattern = Pattern::Random;
            check_blocked::<Random>(&BlockedLayout { blocks: 20, choices, key_bits: 9, pattern, cost });
        }
    }
}

fn check_plain(layout: &BloomLayout) {
    let bits = |hash: &KeyHash| {
        let mut draws = Draws::new(*hash);
        (0..layout.key_bits).map(move |_| last_draw(draws.next(), layout.bits)).collect::<BTreeSet<_>>()
    };
    let stored = hashes(STORED);
    let set: BTreeSet<u64> = stored.iter().flat_map(bits).collect();
    let expected: Vec<bool> = hashes(ASKED).iter().map(|hash| bits(hash).is_subset(&set)).collect();
    for cpu in Cpu::all() {
        let what = format!("{layout:?} by {cpu:?}");
        let mut filter = Bloom::new(layout).unwrap();
        filter.cpu = cpu;
        let (single, rest) = stored.split_at(70);
        for hash in single {
            filter.insert(*hash);
        }
        filter.insert_batch(rest).unwrap();
        let mut words = vec![0; filter.words().len()];
        for at in &set {
            words[(at / 64) as usize] |= 1 << (at % 64);
        }
        assert!(filter.words() == words, "wrong bits in {what}");
        check_answers(&filter, &expected, &what);
        assert!(
            hashes(ASKED).iter().zip(&expected).all(|(hash, yes)| filter.contains(*hash) == *yes),
            "{what}"
        );
    }
}

#[test]
fn plain_filters_match_lists_of_bits() {
    for key_bits in [1, 2, 3, 4, 7, 8, 9, 16, 17, 24, 25, 33, 48] {
        for bits in [1, 63, 2001, 300 * u64::from(key_bits), 9_000_000] {
            check_plain(&BloomLayout { bits, key_bits });
        }
    }
}

/// More bits than vectors can index. Only two keys: the system provides memory only for pages that are touched.
#[test]
#[cfg(target_pointer_width = "64")]
fn plain_filters_beyond_32_bit_positions_have_the_same_bits() {
    let layout = BloomLayout { bits: (1 << 32) + 12_345, key_bits: 8 };
    for cpu in Cpu::all() {
        let mut filter = Bloom::new(&layout).unwrap();
        filter.cpu = cpu;
        for hash in [mix(1), mix(2)].map(KeyHash::from_raw) {
            assert!(!filter.contains(hash), "{cpu:?}");
            filter.insert(hash);
            assert!(filter.contains(hash), "{cpu:?}");
            let mut draws = Draws::new(hash);
            for _ in 0..layout.key_bits {
                let at = last_draw(draws.next(), layout.bits);
                assert_eq!(filter.words()[(at / 64) as usize] >> (at % 64) & 1, 1, "{cpu:?}");
            }
        }
        let mut answers = [false; 3];
        filter.contains_slice(&[mix(1), mix(2), mix(3)].map(KeyHash::from_raw), &mut answers);
        assert_eq!(answers, [true, true, false], "{cpu:?}");
    }
}
