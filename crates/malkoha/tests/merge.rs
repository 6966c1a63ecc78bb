//! Merging: nothing is lost or counted twice, and a merge that does not fit changes nothing.

use crate::common;

use std::collections::HashMap;

use malkoha::testing::Stream;
use malkoha::{Error, Filter, Kind, Spec};

/// A filter with random keys from a small universe, some stored several times, and the count of each.
fn random(spec: &Spec, copies: u64, stream: &mut Stream) -> (Filter, HashMap<u64, u32>) {
    let mut filter = spec.build().unwrap();
    let mut model = HashMap::new();
    for _ in 0..copies {
        let key = stream.below(100_000);
        filter.insert(&key).unwrap();
        *model.entry(key).or_default() += 1;
    }
    (filter, model)
}

#[test]
fn the_keys_of_both_are_found_and_every_copy_can_be_removed() {
    let mut stream = Stream::new(3);
    for kind in Kind::all() {
        for (keys, rate) in [(40, 0.1), (2000, 1e-3)] {
            let spec = Spec::new(keys, rate).kind(kind);
            let (mut left, mut copies) = random(&spec, keys / 2, &mut stream);
            let (right, more) = random(&spec, keys / 2, &mut stream);
            let untouched = right.clone();
            left.merge(&right).unwrap();
            assert!(right == untouched);
            for (key, count) in more {
                *copies.entry(key).or_default() += count;
            }
            assert_eq!(left.len(), keys / 2 * 2, "{kind}");
            for (key, count) in &copies {
                assert!(left.contains(key), "{kind} lost {key}");
                assert!(left.count(key).is_ok_and(|found| found >= *count) || kind.is_bloom(), "{kind}");
            }
            // The merged filter is sound, which only reading it from bytes verifies.
            assert!(Filter::from_bytes(&left.to_bytes().unwrap()).unwrap() == left, "{kind}");
            if kind.is_bloom() {
                continue;
            }
            for (key, count) in copies {
                for _ in 0..count {
                    assert_eq!(left.remove(&key), Ok(true), "{kind} lost {key}");
                }
            }
            assert!(left.is_empty(), "{kind}");
        }
    }
}

#[test]
fn merging_is_deterministic_and_an_empty_filter_changes_nothing() {
    let mut stream = Stream::new(4);
    for kind in Kind::all() {
        let spec = Spec::new(1000, 0.01).kind(kind);
        let ((left, _), (right, _)) = (random(&spec, 500, &mut stream), random(&spec, 480, &mut stream));
        let merged = || {
            let mut merged = left.clone();
            merged.merge(&right).unwrap();
            merged
        };
        assert!(merged() == merged(), "{kind}");
        let mut same = left.clone();
        same.merge(&spec.build().unwrap()).unwrap();
        assert!(same == left, "{kind}");
    }
}

#[test]
fn a_unique_merge_skips_keys_that_are_found() {
    let mut stream = Stream::new(5);
    for kind in Kind::cuckoos() {
        let spec = Spec::new(3000, 1e-4).kind(kind);
        let (mut left, mut right) = (spec.build().unwrap(), spec.build().unwrap());
        let (only_left, both, only_right) = (0..1000u64, 1000..2000, 2000..3000);
        let base = stream.draw() >> 1;
        only_left.chain(both.clone()).for_each(|key| left.insert(&(base + key)).unwrap());
        both.chain(only_right).for_each(|key| right.insert(&(base + key)).unwrap());
        left.merge_unique(&right).unwrap();
        assert!((0..3000).all(|key| left.contains(&(base + key))), "{kind}");
        // A few of the thousand new keys look like others: 0.1 are expected at a rate of 1e-4.
        assert!((2995..=3000).contains(&left.len()), "{kind}: {}", left.len());
        let twice = left.clone();
        left.merge_unique(&right).unwrap();
        assert!(left == twice, "{kind}: everything is there already");
    }
}

#[test]
fn a_merge_that_does_not_fit_changes_nothing_and_reports_by_how_much() {
    common::in_parallel(Kind::cuckoos(), |kind| {
        let mut stream = Stream::new(6);
        // Too large for a table to be ever filled to the last slot.
        let spec = Spec::new(20_000, 0.01).kind(kind).max_steps(200);
        let mut full = || {
            let (mut filter, mut keys) = (spec.build().unwrap(), Vec::new());
            loop {
                let key = stream.draw();
                match filter.insert(&key) {
                    Ok(()) => keys.push(key),
                    Err(_) => break (filter, keys),
                }
            }
        };
        let ((left, _), (right, keys)) = (full(), full());
        let (bytes, held, room) = (left.to_bytes().unwrap(), left.len(), left.geometry().capacity());
        let layout = *left.geometry().cuckoo().unwrap();
        // As few as would fit if every slot and the stash could be filled.
        let most = layout.slots() + left.stats().stash_size;
        let few = &keys[..usize::try_from(most - held).unwrap()];
        for (other, keys) in [(right.clone(), &keys[..]), (spec.build_from(few).unwrap(), few)] {
            let copies = held + other.len();
            let known = left.contains_slice(keys).into_iter().filter(|found| *found).count() as u64;
            for unique in [false, true] {
                let mut target = left.clone();
                let refused = if unique { target.merge_unique(&other) } else { target.merge(&other) };
                // Keys that are already found need not be stored.
                let wanted = if unique { other.len() - known } else { other.len() };
                let left_over = held + wanted - room;
                assert_eq!(refused, Err(Error::MergeFull { copies, room, left_over }), "{kind}");
                assert!(
                    target.to_bytes().unwrap() == bytes && target == left,
                    "{kind}: a refused merge changes nothing"
                );
            }
        }
    });
}

/// More copies of one key than its two places and the stash have slots for: the table is not full, and yet some
/// copies find no place. They are counted one by one.
#[test]
fn copies_that_find_no_place_are_counted() {
    for kind in Kind::cuckoos() {
        let spec = Spec::new(1000, 0.01).kind(kind).stash(0).max_steps(50);
        let (mut left, mut right) = (spec.build().unwrap(), spec.build().unwrap());
        let most = (0..1000).take_while(|_| left.insert("egg").is_ok()).count() as u64;
        let more = (0..1000).take_while(|_| right.insert("egg").is_ok()).count() as u64;
        (0..100u64).for_each(|key| right.insert(&key).unwrap());
        let (copies, room) = (most + more + 100, left.geometry().capacity());
        assert!(copies < room, "{kind}");
        let refused = left.merge(&right);
        assert_eq!(refused, Err(Error::MergeFull { copies, room, left_over: more }), "{kind}: {most} fit");
    }
}

/// Runs one test of this program again, in a process limited to `kib` KiB of memory.
#[cfg(target_os = "linux")]
fn with_memory(test: &str, kib: u64) {
    let command = format!("ulimit -v {kib}; exec \"$0\" --exact {test} --nocapture");
    let program = std::env::current_exe().unwrap();
    let run =
        std::process::Command::new("sh").arg("-c").arg(command).arg(program).env("SCARCE", "1").output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(String::from_utf8_lossy(&run.stdout).contains("1 passed"), "the test is there");
}

/// Two filters of 1 GiB, reserved and hardly used, fit into 2.75 GiB; a copy of one does not.
#[test]
#[cfg(target_os = "linux")]
fn a_merge_without_memory_for_a_second_table_changes_nothing() {
    if std::env::var_os("SCARCE").is_none() {
        return with_memory("merge::a_merge_without_memory_for_a_second_table_changes_nothing", 2_883_584);
    }
    let spec = Spec::rate_in_memory(0.001, 1 << 30).kind(Kind::Flexible(4));
    let (mut left, mut right) = (spec.build().unwrap(), spec.build().unwrap());
    left.insert("day").unwrap();
    right.insert("night").unwrap();
    for unique in [false, true] {
        let refused = if unique { left.merge_unique(&right) } else { left.merge(&right) };
        assert!(matches!(refused, Err(Error::Allocation { bytes }) if bytes > 1 << 29), "{refused:?}");
        assert!(left.contains("day") && !left.contains("night") && left.len() == 1);
    }
    assert!(matches!(left.merge_into_chain(&[&right]), Err(Error::Allocation { .. })));
}

#[test]
fn differences_are_named() {
    let spec = Spec::new(1000, 0.01);
    let said = |other: Spec| {
        let mut filter = spec.build().unwrap();
        filter.merge(&other.build().unwrap()).unwrap_err().to_string()
    };
    assert!(said(spec.seed(9)).starts_with("the filters differ in their seeds (0 and 9); "));
    assert!(said(spec.kind(Kind::Windowed(2))).contains("their kinds (sorted and windowed:2)"));
    assert!(said(Spec::new(2000, 0.01)).contains("their places ("));
    assert!(said(Spec::new(1000, 0.001)).contains("their tag bits ("));
    assert!(said(spec.stash(3)).contains("the options of their layouts"));
}

/// Compares the rate of a merged filter with theory, at 4 standard deviations.
#[test]
fn the_rate_of_a_merged_filter_is_that_of_all_its_keys() {
    let probes = common::scale(400_000, 20_000_000);
    common::in_parallel(Kind::all(), |kind| {
        let spec = Spec::new(20_000, 1.0 / 128.0).kind(kind);
        let build = |keys: core::ops::Range<u64>| spec.build_from(&keys.collect::<Vec<_>>()).unwrap();
        let mut merged = build(0..10_000);
        merged.merge(&build(10_000..20_000)).unwrap();
        let absent: Vec<u64> = (1 << 40..(1 << 40) + probes).collect();
        let hits = merged.contains_slice(&absent).into_iter().filter(|found| *found).count() as f64;
        let expected = merged.stats().predicted_rate * probes as f64;
        // With one choice a few blocks dominate the rate, and the formula is for the average filter.
        let sigmas = 4.0 * expected.sqrt() + 0.01 * expected;
        assert!((hits - expected).abs() < sigmas, "{kind}: {hits} where {expected} are expected");
    });
}
