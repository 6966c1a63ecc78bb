//! Why the longest match is removed, and regions at their limits.

use super::entry::length;
use super::growth::{self, Grown};
use super::*;
use crate::engine::{Content, CuckooEngine, Engine};
use crate::key::{KeyHash, mix};

/// Two keys with the same first bits, one stored before a doubling and one after it. A rule that removes the shorter
/// match loses a key; removing the longest keeps it.
#[test]
fn removing_any_but_the_longest_match_loses_a_key() {
    let layout = ElasticLayout::new(0.01, 0, None, 0).unwrap();
    let mut old = Region::new(Elastic::first_shapes(&layout).next().unwrap()).unwrap();
    let bits = old.bits();
    // x was stored at level 0; y, which differs from it only after the bits of x's entry, at level 4.
    let x = KeyHash::from_raw(mix(3) >> 2);
    assert!(old.put(old.entry(x, 0)).is_some());
    let mut now = old;
    for _ in 0..4 {
        let Ok(Grown::One(larger)) = growth::doubled(&now, &layout) else { panic!("small regions double") };
        now = larger;
    }
    let full = now.entry(x, 0);
    let y = (0..64).rev().map(|bit| KeyHash::from_raw(x.to_raw() ^ 1 << bit)).find(|y| {
        // The same short entry, another long one.
        let other = now.entry(*y, 0);
        other.place == full.place && other.tag != full.tag && now.holds(*y, crate::bits::cpu::Portable)
    });
    let y = y.expect("a key that only longer entries tell from x");
    assert!(now.put(now.entry(y, 0)).is_some());
    let holds = |region: &Region, key| region.holds(key, crate::bits::cpu::Portable);
    // y matches both entries. The rule takes its own, the longer one; x is still found.
    let mut right = now.clone();
    assert!(right.remove(y, 0) && holds(&right, x));
    // If the shorter one is taken instead, what is left is the entry of y, and x is lost.
    let mut wrong = now.clone();
    assert!(wrong.remove(x, 0), "the only match of x is the shorter entry");
    assert!(!holds(&wrong, x) && holds(&wrong, y));
    let lengths = {
        let mut lengths = Vec::new();
        now.each_length(|length, _| lengths.push(length));
        lengths.sort_unstable();
        lengths
    };
    assert_eq!(lengths.len(), 2);
    assert!(lengths[0] < lengths[1] && lengths[0] == length(1, bits) - 4, "{lengths:?}");
}

/// Growing in one region or in two, and back, changes no answer.
#[test]
fn regions_that_grow_and_shrink_hold_the_same_keys() {
    for value_bits in [0, 7] {
        let layout = ElasticLayout::new(0.001, 0, None, value_bits).unwrap();
        let mut elastic = Elastic::new(&layout).unwrap();
        let hashes: Vec<KeyHash> = (0..150_000).map(|key| KeyHash::from_raw(mix(key))).collect();
        for (i, hash) in hashes.iter().enumerate() {
            elastic.insert_value(*hash, (i % (1 << value_bits)) as u16).unwrap();
        }
        assert!(elastic.steps().grown > 100, "regions have grown");
        for (i, hash) in hashes.iter().enumerate().rev() {
            assert!(elastic.values(*hash).contains(&((i % (1 << value_bits)) as u16)), "{i} is lost");
            assert!(elastic.remove_value(*hash, (i % (1 << value_bits)) as u16), "{i} is lost");
            let sum: usize = elastic.in_order().map(Region::bytes).sum();
            if i % 10_000 == 0 {
                assert!(elastic.memory() >= sum, "the memory is counted");
            }
        }
        assert!(elastic == Elastic::new(&layout).unwrap());
    }
}

#[test]
fn what_is_stored_leads_back_to_itself() {
    let layout = ElasticLayout::new(0.001, 0, None, 0).unwrap();
    let mut elastic = Elastic::new(&layout).unwrap();
    let hashes: Vec<KeyHash> = (0..100_000).map(|key| KeyHash::from_raw(mix(key))).collect();
    for hash in &hashes {
        elastic.insert(*hash).unwrap();
    }
    let copies: Vec<_> = elastic.copies().collect();
    assert!(copies.len() >= hashes.len());
    // A filter of the copies finds every key that is as precise there as here.
    assert!(copies.iter().all(|(hash, _)| elastic.contains(*hash)));
    let mut other = elastic.clone();
    for (hash, _) in &copies {
        assert!(other.remove(*hash), "each copy removes an entry");
    }
}

/// Removed entries leave holes before slots that are not empty, and walks find them.
#[test]
fn walks_find_the_holes_of_removed_entries() {
    let layout = ElasticLayout::new(0.001, 0, None, 0).unwrap();
    let mut region = Region::new(Elastic::first_shapes(&layout).next().unwrap()).unwrap();
    for _ in 0..5 {
        let Ok(Grown::One(larger)) = growth::doubled(&region, &layout) else {
            panic!("small regions double")
        };
        region = larger;
    }
    let mut hashes = (0..).map(|key| KeyHash::from_raw(mix(key) >> 2));
    let mut stored: Vec<KeyHash> = hashes.by_ref().take(region.most as usize).collect();
    for hash in &stored {
        assert!(region.put(region.entry(*hash, 0)).is_some());
    }
    for _ in 0..3 {
        for i in (0..stored.len()).step_by(10) {
            assert!(region.remove(stored[i], 0));
            stored[i] = hashes.next().unwrap();
        }
        for i in (0..stored.len()).step_by(10) {
            assert!(
                region.put(region.entry(stored[i], 0)).is_some(),
                "key {i} finds the room of a removed one"
            );
        }
        assert!(stored.iter().all(|hash| region.holds(*hash, crate::bits::cpu::Portable)));
    }
}

/// Lookups in plain regions do not ask for an overflow or wide slots, so a filter must know at once when it has any.
#[test]
fn what_a_plain_lookup_would_miss_makes_a_filter_not_plain() {
    let hash = |i| KeyHash::from_raw(mix(i));
    let finds = |elastic: &Elastic, keys: core::ops::Range<u64>| {
        let hashes: Vec<KeyHash> = keys.map(hash).collect();
        let mut answers = vec![false; hashes.len()];
        elastic.contains_batch(&hashes, &mut answers);
        assert!(hashes.iter().zip(&answers).all(|(hash, answer)| elastic.contains(*hash) == *answer));
        answers.into_iter().filter(|found| *found).count()
    };
    let layout = ElasticLayout::new(0.001, 0, None, 0).unwrap();
    let mut elastic = Elastic::new(&layout).unwrap();
    (0..20_000).for_each(|i| elastic.insert(hash(i)).unwrap());
    assert!(elastic.is_plain() && finds(&elastic, 0..20_000) == 20_000);
    // More copies of one key than its places have slots; then keys with the same places can only be in the overflow.
    let crowd = elastic.clone();
    (0..=MOST_SLOTS * 2).for_each(|_| elastic.insert(hash(7)).unwrap());
    assert!(!elastic.is_plain() && elastic.overflow_len() > 0);
    let near = KeyHash::from_raw(hash(7).to_raw() ^ 1 << 40);
    assert!(!elastic.contains(near));
    elastic.insert(near).unwrap();
    assert!(elastic.contains(near) && finds(&elastic, 0..20_000) == 20_000);
    // What it is merged into, and a copy of it, know that too.
    let mut merged = crowd;
    merged.take_over(&elastic, false).unwrap();
    assert!(!merged.is_plain() && !elastic.clone().is_plain() && merged.contains(near));
    elastic.clear();
    assert!(elastic.is_plain() && !elastic.contains(near));
    // Wide slots.
    let layout = ElasticLayout::new(1e-9, 0, None, 0).unwrap();
    let mut elastic = Elastic::new(&layout).unwrap();
    (0..20_000).for_each(|i| elastic.insert(hash(i)).unwrap());
    assert!(!elastic.is_plain() && finds(&elastic, 0..20_000) == 20_000);
}

/// A key that is stored again and again costs no walk for every copy once one of them is in the overflow.
#[test]
fn nothing_moves_for_further_copies_of_what_is_in_the_overflow() {
    let layout = ElasticLayout::new(0.001, 0, None, 3).unwrap();
    let mut elastic = Elastic::new(&layout).unwrap();
    (0..20_000).for_each(|key| elastic.insert_value(KeyHash::from_raw(mix(key)), 1).unwrap());
    let mut walks = 0;
    for hash in (20_000..25_000).map(|key| KeyHash::from_raw(mix(key))) {
        let region = elastic.regions[elastic.region_of(hash)].clone();
        let entry = region.entry(hash, 1);
        if region.clone().put(entry).is_none_or(|steps| steps == 0) {
            continue;
        }
        walks += 1;
        let mut overflowing = region.clone();
        overflowing.put_over(entry, 1).unwrap();
        let before = overflowing.clone();
        assert_eq!(overflowing.put(entry), None);
        assert!(overflowing == before, "nothing has changed");
        assert!(overflowing.put(region.entry(hash, 2)).is_some(), "another value is another entry");
    }
    assert!(walks > 100, "{walks} keys had to walk");
}
