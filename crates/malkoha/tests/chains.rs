//! Chains of tables: no key is lost, whatever is removed, and the rate stays below the promise.

use crate::common::{in_parallel, scale};
use malkoha::testing::{Model, Stream, build_chain, exercise, plan_chain};
use malkoha::{Error, Filter, Full, Inserted, Kind, LinkStats, Offsets, Spec};

/// One kind of each sort that can grow and remove.
const REMOVING: [Kind; 6] = [
    Kind::Sorted,
    Kind::Flexible(4),
    Kind::Flexible(2),
    Kind::Windowed(2),
    Kind::Windowed(3),
    Kind::Windowed(4),
];

/// One kind of each sort that can grow but not remove.
const BLOOMS: [Kind; 4] = [Kind::Bloom, Kind::Blocked(1), Kind::Blocked(2), Kind::Blocked(3)];

/// The number of keys found that were never stored.
fn strangers_found(filter: &Filter, strangers: u64) -> u64 {
    let mut found = 0;
    for first in (0..strangers).step_by(1 << 16) {
        let keys: Vec<u64> = (first..strangers.min(first + (1 << 16))).map(|key| key | 1 << 63).collect();
        found += filter.contains_slice(&keys).into_iter().filter(|found| *found).count() as u64;
    }
    found
}

/// Inserts keys until `to` are stored, removing a stored key after every third insert. Returns the stored keys.
fn grow(filter: &mut Filter, to: u64, stream: &mut Stream) -> Vec<u64> {
    let mut live = Vec::new();
    let mut next = 0u64;
    while (live.len() as u64) < to {
        for _ in 0..3 {
            filter.insert(&next).unwrap();
            live.push(next);
            next += 1;
        }
        let key = live.swap_remove(stream.below(live.len() as u64) as usize);
        assert_eq!(filter.remove(&key), Ok(true), "{filter:?} lost {key}");
    }
    live
}

#[test]
fn a_chain_grown_ten_thousandfold_with_removals_keeps_every_key_and_its_promise() {
    let (to, strangers) = (scale(200_000, 10_000_000), scale(1_000_000, 20_000_000));
    in_parallel(
        [(Kind::Sorted, 0.001), (Kind::Windowed(2), 0.01), (Kind::Flexible(4), 0.1)],
        |(kind, rate)| {
            let mut filter = build_chain(&Spec::new(1000, rate).kind(kind)).unwrap();
            let live = grow(&mut filter, to, &mut Stream::new(7));
            assert_eq!(filter.len(), live.len() as u64);
            let lost = filter.contains_slice(&live).into_iter().filter(|found| !found).count();
            assert_eq!(lost, 0, "{kind}");
            let found = strangers_found(&filter, strangers);
            let stats = filter.stats();
            println!(
                "{kind} at {rate}: {} keys in {} links, {lost} lost, measured rate {:.3e}, predicted {:.3e}, {:.2} bits a key",
                stats.items,
                stats.links.len(),
                found as f64 / strangers as f64,
                stats.predicted_rate,
                stats.memory_bytes as f64 * 8.0 / stats.items as f64,
            );
            assert!(
                found as f64 <= rate * strangers as f64,
                "{kind}: {found} of {strangers} strangers found"
            );
            assert!(stats.predicted_rate <= rate);
            let expected = stats.predicted_rate * strangers as f64;
            // Both the lookups and the number of keys of a link that look alike are random: n keys at rate r have
            // n r / 2 such pairs, give or take the square root, which matters for the small first links.
            let alike = |link: &LinkStats| link.predicted_rate.powi(3) / (2.0 * link.items.max(1) as f64);
            let alike = stats.links.iter().map(alike).sum::<f64>() * (strangers as f64).powi(2);
            let sigma = (expected + alike).sqrt();
            assert!((found as f64 - expected).abs() <= 4.0 * sigma, "{kind}: {found}, not {expected}");
            // Every key can be removed again, in any order.
            for key in live.iter().rev() {
                assert_eq!(filter.remove(key), Ok(true), "{kind} lost {key}");
            }
            assert!(filter.is_empty());
        },
    );
}

#[test]
fn random_histories_of_growing_filters_lose_nothing() {
    let mut specs = Vec::new();
    for kind in REMOVING {
        for rate in [0.3, 0.01] {
            for keys in [1, 100] {
                for offsets in [Offsets::Local, Offsets::Whole] {
                    specs.push(Spec::new(keys, rate).kind(kind).offsets(offsets).max_steps(500));
                }
            }
        }
    }
    let steps = scale(3_000, 100_000);
    in_parallel(specs, |spec| {
        let mut filter = build_chain(&spec).unwrap();
        let mut stream = Stream::new(filter.geometry().bytes());
        exercise(&mut filter, u64::MAX, steps, &mut stream);
        // Few distinct keys: many copies, and many keys that look alike.
        filter.clear();
        exercise(&mut filter, 300, steps, &mut stream);
    });
}

/// Random histories with compaction at any time, many copies, and keys that look alike.
#[test]
fn compaction_loses_nothing_and_gives_memory_back() {
    let cases = REMOVING.into_iter().flat_map(|kind| [(0.3, 500), (0.01, u64::MAX)].map(|case| (kind, case)));
    in_parallel(cases, |(kind, (rate, universe))| {
        let mut filter = build_chain(&Spec::new(50, rate).kind(kind)).unwrap();
        let mut model = Model::default();
        let mut stream = Stream::new(11);
        let mut moved = 0;
        for wave in 0..scale(6, 60) {
            for _ in 0..1500 {
                let key = stream.below(universe);
                if filter.insert(&key).is_ok() {
                    model.store(key);
                }
            }
            while model.len() > 50 + wave % 3 * 400 {
                let key = model.forget(stream.draw()).unwrap();
                assert_eq!(filter.remove(&key), Ok(true), "{kind} lost {key}");
                if stream.below(500) == 0 {
                    moved += filter.compact().unwrap();
                    model.check(&filter);
                    assert!(filter.stats().predicted_rate <= rate);
                }
            }
            let before = filter.stats();
            moved += filter.compact().unwrap();
            model.check(&filter);
            let after = filter.stats();
            let dropped = before.links.len() - after.links.len();
            assert!(dropped == 0 || after.memory_bytes < before.memory_bytes);
            // All links but the newest are full, or the newest is the only one.
            let (newest, older) = after.links.split_last().unwrap();
            let room: u64 = older.iter().map(|link| link.keys - link.items).sum();
            assert!(newest.items == 0 || room == 0 || universe == 500, "{kind}: {room} left, {after}");
        }
        assert!(moved > 100, "{kind}: only {moved} were moved");
    });
    let mut plain = Spec::new(50, 0.01).build().unwrap();
    assert_eq!(plain.compact(), Ok(0));
    let mut bloom = build_chain(&Spec::new(50, 0.01).kind(Kind::Bloom)).unwrap();
    assert!(matches!(bloom.compact(), Err(Error::Unsupported { .. })));
}

/// If the links of a chain had their own hashes, then with the same sizes, rates and order of removals keys would
/// be lost. The chain loses none.
#[test]
fn independent_links_lose_keys_and_a_chain_does_not() {
    let rate = 0.5;
    let mut chain = build_chain(&Spec::new(1000, rate)).unwrap();
    let keys: Vec<u64> = (0..7000).collect();
    chain.insert_slice(&keys).unwrap();
    let mut independent: Vec<Filter> = (chain.stats().links.iter().zip(1..))
        .map(|(link, seed)| Spec::new(link.keys, link.predicted_rate).seed(seed).build().unwrap())
        .collect();
    assert_eq!(independent.len(), 3);
    let mut link = 0;
    for key in &keys {
        while independent[link].insert(key).is_err() {
            link += 1;
        }
    }
    let (removed, kept) = keys.split_at(3500);
    for key in removed {
        assert_eq!(chain.remove(key), Ok(true));
        let taken = independent.iter_mut().rev().any(|link| link.remove(key).unwrap());
        assert!(taken || !independent.iter().any(|link| link.contains(key)));
    }
    let lost = |found: &dyn Fn(&u64) -> bool| kept.iter().filter(|key| !found(key)).count();
    assert_eq!(lost(&|key| chain.contains(key)), 0);
    let lost = lost(&|key| independent.iter().any(|link| link.contains(key)));
    assert!(lost > 10, "independent links lost {lost} of {} keys", kept.len());
}

#[test]
fn a_chain_of_bloom_filters_keeps_every_key_and_its_promise() {
    in_parallel(BLOOMS, |kind| {
        let rate = 0.01;
        let mut filter = build_chain(&Spec::new(1000, rate).kind(kind)).unwrap();
        let keys: Vec<u64> = (0..scale(60_000, 2_000_000)).collect();
        for key in &keys {
            filter.insert(key).unwrap();
        }
        assert!(filter.contains_slice(&keys).into_iter().all(|found| found), "{kind}");
        assert!(keys.iter().all(|key| filter.contains(key)), "{kind}");
        let links = filter.stats().links.len();
        filter.insert_slice(&keys).unwrap();
        assert_eq!(filter.stats().links.len(), links, "{kind}: keys that are found are not stored again");
        let strangers = 400_000;
        let found = strangers_found(&filter, strangers);
        assert!(found as f64 <= rate * strangers as f64, "{kind}: {found} of {strangers}");
        assert!(filter.stats().predicted_rate <= rate);
        assert!((filter.estimate_keys().unwrap() / keys.len() as f64 - 1.0).abs() < 0.03, "{kind}");
        assert!(matches!(filter.remove(&1u64), Err(Error::Unsupported { .. })));
        assert!(matches!(filter.count(&1u64), Err(Error::Unsupported { .. })));
    });
}

#[test]
fn room_that_removals_leave_is_used_before_the_filter_grows() {
    let mut filter = build_chain(&Spec::new(1000, 0.01)).unwrap();
    filter.insert_slice(&(0..15_000u64).collect::<Vec<_>>()).unwrap();
    let links = filter.stats().links.len();
    for key in 15_000..200_000u64 {
        assert_eq!(filter.remove(&(key - 15_000)), Ok(true));
        filter.insert(&key).unwrap();
    }
    assert_eq!(filter.stats().links.len(), links, "there are as many keys as before");
    assert!((185_000..200_000u64).all(|key| filter.contains(&key)));
}

#[test]
fn bulk_inserts_need_few_links() {
    let keys: Vec<u64> = (0..300_000).collect();
    for kind in REMOVING {
        let spec = Spec::new(1000, 0.01).kind(kind);
        let mut filter = build_chain(&spec).unwrap();
        filter.insert_slice(&keys[..100]).unwrap();
        filter.extend(&keys[100..], 2).unwrap();
        let stats = filter.stats();
        assert_eq!((stats.items, stats.links.len()), (300_000, 2), "{kind}");
        assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
        assert!(stats.predicted_rate <= 0.01);
        let mut single = build_chain(&spec).unwrap();
        single.insert_slice(&keys[..100]).unwrap();
        single.extend(&keys[100..], 1).unwrap();
        assert!(single == filter, "{kind}: the number of threads does not matter");
        assert_eq!(filter.remove_slice(&keys), Ok(keys.len()));
    }
    let blocked = Spec::new(1000, 0.01).kind(Kind::Blocked(1)).growing().build_from(&keys).unwrap();
    assert!(blocked.contains_slice(&keys).into_iter().all(|found| found));
}

/// Links large enough for keys to be sorted by place, filled in several rounds; the first round begins in a link that
/// is not empty.
#[test]
fn large_links_are_filled_in_rounds() {
    let keys: Vec<u64> = (0..6_000_000).collect();
    for kind in [Kind::Windowed(2), Kind::Sorted] {
        let build = |threads| {
            let mut filter = build_chain(&Spec::new(2_500_000, 0.01).kind(kind)).unwrap();
            filter.insert_slice(&keys[..1000]).unwrap();
            filter.extend(&keys[1000..], threads).unwrap();
            filter
        };
        let mut filter = build(2);
        assert_eq!((filter.len(), filter.stats().links.len()), (6_000_000, 2), "{kind}");
        assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
        assert!(build(1) == filter, "{kind}: the number of threads does not matter");
        let before = filter.clone();
        let copies: Vec<u64> = (0..200_000).map(|i| i % 1000).collect();
        assert_eq!(filter.extend(&copies, 2), Err(Full), "too many copies of a key");
        assert!(filter == before);
    }
}

#[test]
fn a_refused_extension_leaves_a_growing_filter_as_it_was() {
    let mut filter = build_chain(&Spec::new(100, 0.01)).unwrap();
    filter.insert_slice(&(0..1000u64).collect::<Vec<_>>()).unwrap();
    let before = filter.clone();
    assert_eq!(filter.extend(&vec![7u64; 100_000], 2), Err(Full), "too many copies of a key");
    assert!(filter == before);
    assert_eq!(filter.stats().insert_failures, 1);
}

#[test]
fn the_interface_is_that_of_every_filter() {
    for kind in REMOVING {
        let mut filter = build_chain(&Spec::new(10, 0.001).kind(kind)).unwrap();
        assert!(filter.geometry().is_growing());
        let small = filter.stats().memory_bytes;
        assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Stored));
        assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Seen));
        let keys: Vec<u64> = (0..500).collect();
        filter.insert_slice(&keys).unwrap();
        assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Seen), "found in an older link");
        filter.insert("egg").unwrap();
        assert_eq!(filter.count("egg"), Ok(2), "copies in different links are all counted");
        let clone = filter.clone();
        assert!(clone == filter);
        assert_eq!(filter.remove("egg"), Ok(true));
        assert!(clone != filter);
        assert_eq!(filter.remove("egg"), Ok(true));
        assert_eq!(filter.remove("egg"), Ok(false));
        let stats = filter.stats();
        let text = stats.to_string();
        assert!(stats.links.len() > 4 && text.contains("link 5 "), "{text}");
        assert_eq!(stats.items, stats.links.iter().map(|link| link.items).sum());
        assert_eq!(stats.memory_bytes, stats.links.iter().map(|link| link.memory_bytes).sum());
        assert!(filter.geometry().predicted_rate(500) <= 0.001);
        filter.clear();
        assert_eq!((filter.len(), filter.stats().memory_bytes), (0, small));
        assert!(keys.iter().all(|key| !filter.contains(key)));
    }
}

/// The first of two filters takes more than the first link's share of what is promised for both.
#[test]
fn a_chain_of_unequal_filters_keeps_its_promise_when_links_are_gone() {
    for kind in [Kind::Sorted, Kind::Flexible(4), Kind::Bloom, Kind::Blocked(1)] {
        let spec = |rate| Spec::new(1000, rate).kind(kind);
        let keys: Vec<u64> = (0..2000).collect();
        let coarse = spec(0.02).build_from(&keys[..1000]).unwrap();
        let fine = spec(1e-4).build_from(&keys[1000..]).unwrap();
        let joined = coarse.merge_into_chain(&[&fine]).unwrap();
        let mut shorter = vec![joined.clone()];
        shorter[0].clear();
        if !kind.is_bloom() {
            let mut compacted = joined;
            compacted.remove_slice(&keys[..1000]).unwrap();
            assert!(compacted.compact().unwrap() > 0);
            shorter.push(compacted);
        }
        for mut filter in shorter {
            assert_eq!(filter.stats().links.len(), 1);
            let again = |filter: &Filter| Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
            assert!(again(&filter) == filter, "{kind}");
            (2000..60_000u64).for_each(|key| filter.insert(&key).unwrap());
            assert!(
                filter.stats().links.len() > 3 && filter.stats().predicted_rate <= filter.geometry().rate()
            );
            // Whoever reads it compares the rates of the links with the promise.
            assert!(again(&filter) == filter, "{kind}");
        }
    }
}

#[test]
fn filters_that_make_no_chain_are_refused_with_the_reason() {
    for kind in [Kind::Classic(4), Kind::SemiSorted, Kind::Simplified(4)] {
        let refused = plan_chain(&Spec::new(1000, 0.01).kind(kind)).unwrap_err();
        assert!(refused.to_string().contains("only flexible, windowed, sorted and Bloom"), "{refused}");
    }
    let near = plan_chain(&Spec::new(1000, 0.01).offsets(Offsets::Near(64)));
    assert!(matches!(near, Err(Error::Option { .. })));
    assert!(matches!(plan_chain(&Spec::new(0, 0.01)), Err(Error::NoKeys)));
    assert!(matches!(plan_chain(&Spec::new(10, 1.5)), Err(Error::Rate { got: 1.5 })));
    let blocked = build_chain(&Spec::new(1000, 0.01).kind(Kind::Blocked(1))).unwrap();
    let refused = blocked.clone().merge(&blocked).unwrap_err();
    assert!(
        matches!(refused, Error::Growing { .. }) && refused.to_string().contains("merge_into_chain"),
        "{refused}"
    );
    let in_memory = plan_chain(&Spec::keys_in_memory(1000, 4096)).unwrap();
    assert!(in_memory.bytes() <= 4096 && in_memory.predicted_rate(1_000_000) <= in_memory.rate());
}

/// Prints the table of `docs/NOTEBOOK.md`, "The price of growing": the cost of a grown filter, beside one that was
/// planned for the same number of keys.
#[test]
#[ignore = "measures and prints a table"]
fn the_price_of_growth() {
    let rate = 0.001;
    let queries = 2_000_000;
    let absent: Vec<u64> = (0..queries).map(|key| key | 1 << 63).collect();
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Blocked(2)] {
        let mut chain = build_chain(&Spec::new(10_000, rate).kind(kind)).unwrap();
        for keys in [10_000, 100_000, 1_000_000, 10_000_000u64] {
            for key in chain.len()..keys {
                chain.insert(&key).unwrap();
            }
            let planned =
                Spec::new(keys, rate).kind(kind).build_from(&(0..keys).collect::<Vec<_>>()).unwrap();
            let present: Vec<u64> =
                (0..queries).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % keys).collect();
            let speed = |filter: &Filter, keys: &[u64]| {
                let mut best = 0f64;
                for _ in 0..5 {
                    let begin = std::time::Instant::now();
                    std::hint::black_box(filter.contains_slice(keys));
                    best = best.max(keys.len() as f64 / begin.elapsed().as_secs_f64() / 1e6);
                }
                best
            };
            let stats = chain.stats();
            assert!(stats.predicted_rate <= rate, "{kind} {keys}: {stats}");
            for filter in [&chain, &planned] {
                assert!(filter.contains_slice(&present).into_iter().all(|found| found), "{kind} {keys}");
            }
            let bits = |filter: &Filter| filter.stats().memory_bytes as f64 * 8.0 / keys as f64;
            println!(
                "| {kind} | {keys} | {} | {:.1} | {:.1} | {:.1e} | {:.0} | {:.0} | {:.0} | {:.0} |",
                stats.links.len(),
                bits(&chain),
                bits(&planned),
                stats.predicted_rate,
                speed(&chain, &present),
                speed(&planned, &present),
                speed(&chain, &absent),
                speed(&planned, &absent),
            );
        }
    }
}

/// Copies of one key fill the stash of the first link, so that a bulk insert cannot use the last of its room.
#[test]
fn extending_continues_after_a_link_that_cannot_use_all_its_room() {
    const EGG: u64 = 1 << 40;
    for kind in REMOVING {
        let mut filter = build_chain(&Spec::new(1000, 0.001).kind(kind)).unwrap();
        let half: Vec<u64> = (0..520).collect();
        filter.insert_slice(&half).unwrap();
        // As many copies as fit into the two places and the stash.
        let copies = 2 * u32::from(kind.slots_per_place()) + Spec::DEFAULT_STASH;
        for _ in 0..copies {
            filter.insert(&EGG).unwrap();
        }
        assert_eq!(filter.stats().links.len(), 1, "{kind}: the next copy adds a link");
        let keys: Vec<u64> = core::iter::once(EGG).chain(1000..101_000).collect();
        filter.extend(&keys, 1).unwrap_or_else(|Full| panic!("{kind}: {filter:?}"));
        assert_eq!(filter.len(), 520 + u64::from(copies) + 100_001, "{kind}");
        assert!(filter.contains_slice(&keys).into_iter().all(|found| found), "{kind}");
        assert!(filter.contains_slice(&half).into_iter().all(|found| found), "{kind}");
        assert!(filter.count(&EGG).unwrap() > copies, "{kind}");
    }
}
