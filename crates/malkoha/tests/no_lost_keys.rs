//! No stored key is ever lost, and a refused insert changes nothing: for every kind, many shapes and random
//! histories.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{in_parallel, scale};
use malkoha::testing::{Stream, exercise};
use malkoha::{Filter, Full, Inserted, Kind, Offsets, Spec};

/// Rates that give tags of many widths, including 5, 7 and 9 bits and more than 32.
const RATES: [f64; 7] = [0.25, 0.1, 0.02, 0.003, 1e-4, 1e-6, 1e-11];

fn offsets(kind: Kind) -> &'static [Offsets] {
    if kind.is_signed() {
        &[Offsets::Local, Offsets::Whole, Offsets::Near(64), Offsets::Near(192)]
    } else {
        &[Offsets::Local]
    }
}

/// Every kind in every shape worth testing, for `keys` keys.
fn specs(keys: u64) -> Vec<Spec> {
    let mut specs = Vec::new();
    for kind in Kind::cuckoos() {
        for rate in RATES {
            for &offsets in offsets(kind) {
                for stash in [0, 8] {
                    specs.push(Spec::new(keys, rate).kind(kind).offsets(offsets).stash(stash).max_steps(500));
                }
            }
        }
    }
    specs
}

/// Exercises a filter with few and with many duplicates.
fn drive(mut filter: Filter, steps: u64) -> u64 {
    let mut stream = Stream::new(filter.geometry().bytes());
    let few = exercise(&mut filter, u64::MAX, steps / 2, &mut stream);
    filter.clear();
    let universe = 1 + filter.geometry().keys() / 3;
    few + exercise(&mut filter, universe, steps / 2, &mut stream)
}

#[test]
fn small_filters_keep_every_key() {
    let steps = scale(4_000, 60_000);
    for keys in [1, 2, 5, 30, 200] {
        in_parallel(specs(keys), |spec| {
            // Nearly all time is spent in walks that end in a refusal. Even short ones visit every slot of such a
            // table, and revisit slots that they have changed.
            let filter =
                spec.max_steps(if keys < 200 { scale(150, 500) as u32 } else { 500 }).build().unwrap();
            let kind = filter.geometry().kind();
            let refused = drive(filter, steps);
            assert!(refused > 0, "{kind} for {keys} keys was never full: the test does not reach far enough");
        });
    }
}

#[test]
fn larger_filters_keep_every_key() {
    for (keys, steps) in [(3_000, scale(40_000, 400_000)), (10_000, scale(200_000, 800_000))] {
        let specs: Vec<_> = specs(keys).into_iter().step_by(scale(5, 1) as usize).collect();
        let (all, full) = (specs.len(), AtomicUsize::new(0));
        in_parallel(specs, |spec| {
            let refused = drive(spec.build().unwrap(), steps);
            full.fetch_add(usize::from(refused > 0), Ordering::Relaxed);
        });
        // Some happen to be cleared whenever they are nearly full.
        let full = full.into_inner();
        assert!(full > all / 4 * 3, "{full} of {all} filters for {keys} keys were full at some time");
    }
}

#[test]
fn a_refused_insert_changes_no_bit() {
    for kind in Kind::cuckoos() {
        for stash in [0, 8] {
            let mut filter = Spec::new(2_000, 1e-3).kind(kind).stash(stash).build().unwrap();
            let mut stream = Stream::new(1);
            let mut refused = 0;
            while refused < 100 {
                let key = stream.draw();
                let before = filter.clone();
                if filter.insert(&key).is_err() {
                    refused += 1;
                    assert!(filter == before, "{kind}: a refused insert changed the filter");
                    assert_eq!(filter.stats().insert_failures, refused);
                }
            }
            assert!(filter.stats().load > 0.9 * filter.geometry().load());
        }
    }
}

#[test]
fn a_slice_that_does_not_fit_reports_how_far_it_got() {
    for kind in Kind::cuckoos() {
        let mut filter = Spec::new(500, 1e-3).kind(kind).build().unwrap();
        let keys: Vec<u64> = (0..5_000).collect();
        let stop = filter.insert_slice(&keys).unwrap_err();
        let done = stop.first();
        assert_eq!(filter.len(), done as u64);
        assert!(done >= 500);
        assert!(stop.indices().eq(done..keys.len()) && stop.len() == keys.len() - done);
        assert!(filter.contains_slice(&keys[..done]).into_iter().all(|found| found));
        let answers = filter.insert_unique_slice(&keys);
        let done = answers.iter().take_while(|answer| answer.is_ok()).count();
        assert!(done < keys.len() && answers[done] == Err(Full));
        for (key, answer) in keys.iter().zip(&answers).skip(done) {
            let expected = if filter.contains(key) { Ok(Inserted::Seen) } else { Err(Full) };
            assert_eq!(*answer, expected, "{kind}: after a refusal keys are only looked up");
        }
        assert!(filter.contains_slice(&keys[..done]).into_iter().all(|found| found));
    }
}

/// Slices take a different path from single keys, and yet another where the table is in the cache.
#[test]
fn slices_give_the_same_answers_as_single_keys() {
    for (kind, capacity) in Kind::all().flat_map(|kind| [(kind, 1_000), (kind, 1_200_000)]) {
        let mut filter = Spec::new(capacity, 0.01).kind(kind).build().unwrap();
        for key in 0..300u64 {
            filter.insert(&key).unwrap();
            filter.insert(&key.to_string()).unwrap();
        }
        for len in [0, 1, 63, 64, 65, 127, 128, 129, 700] {
            let numbers: Vec<u64> = (0..len).collect();
            let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let singly: Vec<bool> = numbers.iter().map(|key| filter.contains(key)).collect();
            assert_eq!(filter.contains_slice(&numbers), singly, "{kind} for {capacity}, {len} numbers");
            let singly: Vec<bool> = texts.iter().map(|key| filter.contains(key)).collect();
            assert_eq!(filter.contains_slice(&texts), singly, "{kind} for {capacity}, {len} texts");
        }
    }
}

#[test]
fn two_l_copies_of_a_key_fit_and_each_is_removed_once() {
    for kind in Kind::cuckoos() {
        let copies = 2 * u32::from(kind.slots_per_place());
        let mut filter = Spec::new(1_000, 1e-4).kind(kind).stash(0).build().unwrap();
        for copy in 1..=copies {
            filter.insert("egg").unwrap();
            assert_eq!(filter.count("egg"), Ok(copy));
        }
        let full = filter.clone();
        assert!(filter.insert("egg").is_err(), "{kind}: {copies} copies fill both places");
        assert!(filter == full);
        for copy in (0..copies).rev() {
            assert_eq!(filter.remove("egg"), Ok(true));
            assert_eq!(filter.count("egg"), Ok(copy));
        }
        assert_eq!(filter.remove("egg"), Ok(false));
        assert!(filter.is_empty());
    }
}

#[test]
fn the_stash_takes_more_copies_and_gives_them_back() {
    for kind in Kind::cuckoos() {
        let copies = 2 * u32::from(kind.slots_per_place()) + 3;
        let mut filter = Spec::new(1_000, 1e-4).kind(kind).stash(3).build().unwrap();
        for _ in 0..copies {
            filter.insert("egg").unwrap();
        }
        assert_eq!(filter.stats().stash_size, 3);
        assert!(filter.insert("egg").is_err());
        assert_eq!(filter.count("egg"), Ok(copies));
        // A removal makes room in the table, and a copy from the stash moves in.
        filter.remove("egg").unwrap();
        assert_eq!(filter.stats().stash_size, 2);
        for copy in (0..copies - 1).rev() {
            assert!(filter.contains("egg"));
            assert_eq!(filter.remove("egg"), Ok(true));
            assert_eq!(filter.count("egg"), Ok(copy));
        }
        assert_eq!(filter.stats().stash_size, 0);
    }
}

#[test]
fn every_subtable_has_a_stash_of_its_own() {
    // Copies of a key all go to one subtable; another key uses the stash of another subtable.
    let mut filter = Spec::new(1_000_000, 1e-3).kind(Kind::Simplified(4)).stash(2).build().unwrap();
    let layout = *filter.geometry().cuckoo().unwrap();
    assert!(layout.places() >> layout.subtable_bits() > 8, "several subtables");
    let mut stashed = 0;
    for key in 0..100u64 {
        while filter.insert(&key).is_ok() {}
        stashed = filter.stats().stash_size;
    }
    assert!(stashed > 8, "{stashed} keys in stashes of 2");
    for key in 0..100u64 {
        assert!(filter.contains(&key));
    }
}

#[test]
fn equal_histories_give_equal_filters_whatever_was_refused() {
    for kind in Kind::cuckoos() {
        let history = || {
            let mut filter = Spec::new(300, 1e-3).kind(kind).seed(9).build().unwrap();
            let mut stream = Stream::new(4);
            exercise(&mut filter, 1_000, 5_000, &mut stream);
            filter
        };
        assert!(history() == history());
        let other = Spec::new(300, 1e-3).kind(kind).seed(10).build().unwrap();
        assert!(history() != other);
    }
}
