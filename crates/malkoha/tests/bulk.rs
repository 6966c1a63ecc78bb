//! Bulk builds: the same promises as for single inserts, and the same filter for any number of threads.

use crate::common::scale;
use malkoha::testing::Stream;
use malkoha::{Error, Filter, Full, Kind, Offsets, Spec};

/// Kinds whose large tables are cut into parts, and some whose tables are not.
const KINDS: [Kind; 8] = [
    Kind::Flexible(4),
    Kind::Flexible(1),
    Kind::Windowed(2),
    Kind::Windowed(3),
    Kind::Windowed(4),
    Kind::Sorted,
    Kind::Simplified(4),
    Kind::Classic(4),
];

fn keys(count: u64, stream: u64) -> Vec<u64> {
    let mut stream = Stream::new(stream);
    (0..count).map(|_| stream.draw()).collect()
}

fn check(filter: &Filter, keys: &[u64]) {
    assert_eq!(filter.len(), keys.len() as u64);
    let lost = filter.contains_slice(keys).into_iter().filter(|found| !found).count();
    assert_eq!(lost, 0, "{filter:?} lost {lost} keys");
}

#[test]
fn every_kind_holds_and_removes_keys_stored_in_bulk() {
    for kind in Kind::all() {
        for count in [0, 1, 10, 1_000, 30_000] {
            let keys = keys(count, 1);
            let mut filter = Spec::new(count.max(1), 0.01).kind(kind).threads(2).build_from(&keys).unwrap();
            check(&filter, &keys);
            if kind.is_bloom() {
                continue;
            }
            assert_eq!(filter.remove_slice(&keys), Ok(keys.len()));
            assert!(filter.is_empty());
        }
    }
}

#[test]
fn large_tables_do_not_depend_on_the_number_of_threads() {
    // Large enough for several parts: offsets reach 2^14 places, a part has 64 times as many.
    let count = scale(9_000_000, 40_000_000);
    let keys = keys(count, 2);
    for kind in KINDS {
        for rate in [0.02, 1e-5] {
            let spec = Spec::new(count, rate).kind(kind);
            let one = spec.threads(1).build_from(&keys).unwrap();
            let three = spec.threads(3).build_from(&keys).unwrap();
            assert!(one == three, "{kind} {rate}");
            check(&three, &keys);
        }
    }
}

#[test]
fn near_and_whole_offsets_work_in_bulk_too() {
    let keys = keys(3_000_000, 3);
    for offsets in [Offsets::Near(96), Offsets::Near(192), Offsets::Whole] {
        for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted] {
            let spec = Spec::new(keys.len() as u64, 1e-3).kind(kind).offsets(offsets);
            check(&spec.threads(2).build_from(&keys).unwrap(), &keys);
        }
    }
}

#[test]
fn a_filter_that_is_not_empty_can_be_extended() {
    let keys = keys(6_000_000, 4);
    for kind in KINDS {
        let mut filter = Spec::new(keys.len() as u64, 1e-3).kind(kind).build().unwrap();
        for keys in keys.chunks(2_500_000) {
            filter.extend(keys, 2).unwrap();
        }
        check(&filter, &keys);
        let (gone, kept) = keys.split_at(keys.len() / 2);
        assert_eq!(filter.remove_slice(gone), Ok(gone.len()));
        check(&filter, kept);
    }
}

#[test]
fn all_or_nothing() {
    // More keys than fit: into an empty filter, and into one that holds some.
    let keys = keys(7_000_000, 5);
    for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted, Kind::Classic(4)] {
        let planned = 3_000_000;
        let spec = Spec::new(planned, 1e-3).kind(kind).max_steps(20);
        assert_eq!(spec.build_from(&keys).unwrap_err(), Error::TooManyKeys { keys: 7_000_000 });
        let mut filter = spec.build().unwrap();
        assert_eq!(filter.extend(&keys, 2), Err(Full));
        assert!(filter == spec.build().unwrap(), "{kind}: nothing was stored");
        filter.extend(&keys[..1_000_000], 2).unwrap();
        let before = filter.clone();
        assert_eq!(filter.extend(&keys[1_000_000..], 2), Err(Full));
        assert!(filter == before, "{kind}: a refused extension changes no bit");
        assert!(filter.stats().insert_failures > 0);
        filter.extend(&keys[1_000_000..2_000_000], 1).unwrap();
        check(&filter, &keys[..2_000_000]);
    }
}

#[test]
fn windows_across_the_border_of_parts_are_found_again() {
    // Between two extensions, single keys are stored across the borders of the parts.
    for kind in [Kind::Windowed(2), Kind::Windowed(4)] {
        let keys = keys(5_000_000, 7);
        let mut filter = Spec::new(5_000_000, 0.02).kind(kind).build().unwrap();
        filter.extend(&keys[..4_900_000], 2).unwrap();
        filter.extend(&keys[4_900_000..], 2).unwrap();
        check(&filter, &keys);
    }
}

#[test]
fn far_too_many_keys_are_refused_without_trying_all_of_them() {
    let keys = keys(2_000_000, 8);
    for kind in [Kind::Windowed(2), Kind::Sorted] {
        for planned in [1_000_000, 1_900_000] {
            let spec = Spec::new(planned, 0.01).kind(kind).threads(usize::MAX);
            assert!(matches!(spec.build_from(&keys), Err(Error::TooManyKeys { .. })), "{kind}");
        }
    }
}

#[test]
fn copies_of_one_key_do_not_hold_up_the_rest() {
    let mut many = keys(3_000_000, 9);
    for i in 0..12 {
        many[i * 1000] = 7;
    }
    for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted] {
        let filter = Spec::new(3_000_000, 1e-3).kind(kind).threads(2).build_from(&many).unwrap();
        assert!(filter.count(&7u64).unwrap() >= 12);
        check(&filter, &many);
    }
}

#[test]
fn hashes_that_are_not_uniform_lose_nothing() {
    // All first places in one corner, as with a caller's own poor hash: a sixteenth of the table, which has room
    // for them, or one place, which does not.
    use malkoha::KeyHash;
    for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted, Kind::Simplified(4)] {
        for (shift, fits) in [(4, true), (40, false)] {
            let mut filter = Spec::new(5_000_000, 1e-3).kind(kind).max_steps(100).build().unwrap();
            let hashes: Vec<KeyHash> =
                keys(20_000, 6).into_iter().map(|key| KeyHash::from_raw(key >> shift)).collect();
            assert_eq!(filter.extend(&hashes, 2).is_ok(), fits, "{kind} {shift}");
            if fits {
                assert!(filter.contains_slice(&hashes).into_iter().all(|found| found), "{kind}");
                assert_eq!(filter.len(), 20_000, "{kind}");
            } else {
                assert!(filter.is_empty(), "{kind}");
            }
        }
    }
}

#[test]
fn keys_that_come_several_times_are_stored_once() {
    // Enough windows for two parts, with keys across the border; the other tables are small.
    let kinds = [Kind::Flexible(4), Kind::Sorted, Kind::Simplified(4), Kind::Classic(4), Kind::Blocked(1)];
    let sizes = kinds.map(|kind| (kind, 150_000)).into_iter().chain([(Kind::Windowed(2), 2_300_000)]);
    for (kind, count) in sizes {
        let once = keys(count, 7);
        // Every key twice, far apart, and one key many times.
        let all = [&once[..], &vec![once[0]; 50_000], &once].concat();
        let spec = Spec::new(count, 1e-9).kind(kind);
        let mut filter = spec.build().unwrap();
        assert_eq!(filter.extend_unique(&all, 2), Ok(count), "{kind}");
        check(&filter, &once);
        assert_eq!(filter.extend_unique(&once, 2), Ok(0), "{kind}: all of them are stored already");
        let mut alone = spec.build().unwrap();
        assert_eq!(alone.extend_unique(&all, 1), Ok(count), "{kind}");
        assert!(alone == filter, "{kind}: the number of threads does not matter");
        if !kind.is_bloom() {
            assert_eq!(filter.remove_slice(&once), Ok(once.len()), "{kind}");
            assert!(filter.is_empty(), "{kind}: no key was stored twice");
        }
    }
}

#[test]
fn keys_that_look_alike_are_stored_once_too() {
    let keys = keys(300_000, 8);
    for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted, Kind::Simplified(4)] {
        let spec = Spec::new(300_000, 0.01).kind(kind);
        let mut bulk = spec.build().unwrap();
        let stored = bulk.extend_unique(&keys, 2).unwrap();
        let mut single = spec.build().unwrap();
        assert!(single.insert_unique_slice(&keys).iter().all(Result::is_ok));
        assert_eq!(stored, single.len(), "{kind}: which of two that look alike is stored does not matter");
        assert!(stored < 300_000, "{kind}: some look alike");
        assert!(bulk.contains_slice(&keys).into_iter().all(|found| found), "{kind}");
    }
}

#[test]
fn a_filter_that_is_full_keeps_what_it_held() {
    let before = keys(90_000, 9);
    let more = keys(90_000, 10);
    for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted, Kind::Classic(4)] {
        let mut filter = Spec::new(100_000, 1e-6).kind(kind).build().unwrap();
        filter.extend_unique(&before, 2).unwrap();
        assert_eq!(filter.extend_unique(&more, 2), Err(Full), "{kind}");
        assert!(filter.contains_slice(&before).into_iter().all(|found| found), "{kind} lost a key");
        assert!(filter.len() > 90_000, "{kind}: stored keys stay");
    }
}

/// Slices large enough to be sorted, in tables of several MiB.
mod large_slices {
    use super::*;

    const KEYS: u64 = 4_000_000;

    fn spec(kind: Kind) -> Spec {
        Spec::new(KEYS, 2f64.powi(-10)).kind(kind)
    }

    #[test]
    fn are_stored_and_removed_in_any_order() {
        for kind in [Kind::Sorted, Kind::Flexible(4), Kind::Windowed(2), Kind::Simplified(4)] {
            let mut filter = spec(kind).build().unwrap();
            let keys: Vec<u64> = (0..KEYS).collect();
            filter.insert_slice(&keys[..1000]).unwrap();
            filter.insert_slice(&keys[1000..]).unwrap();
            assert_eq!(filter.len(), KEYS);
            assert!(filter.contains_slice(&keys).into_iter().all(|found| found), "{kind}");
            let (odd, even): (Vec<u64>, Vec<u64>) = keys.iter().partition(|key| *key % 2 == 1);
            assert_eq!(filter.remove_slice(&odd).unwrap(), odd.len(), "{kind}");
            assert_eq!(filter.len(), even.len() as u64);
            assert!(filter.contains_slice(&even).into_iter().all(|found| found), "{kind}");
            // Two of each, of which only one is stored.
            let twice: Vec<u64> = even.iter().flat_map(|key| [*key, *key]).collect();
            let removed = filter.remove_slice(&twice).unwrap();
            assert!((even.len()..even.len() + even.len() / 200).contains(&removed), "{kind}: {removed}");
        }
    }

    /// A key with more copies than slots is refused where single inserts would refuse it. All copies before it are
    /// stored; none after it are.
    #[test]
    fn stop_at_the_first_key_without_room() {
        for (kind, values) in [(Kind::Sorted, 0), (Kind::Flexible(4), 0), (Kind::Windowed(2), 3)] {
            let spec = if values > 0 { spec(kind).values(values) } else { spec(kind) };
            let mut keys: Vec<u64> = (0..500_000).collect();
            keys.splice(300_000..300_000, [7; 100]);
            let [mut filter, mut single] = [(); 2].map(|()| spec.build().unwrap());
            let at = keys.iter().position(|key| single.insert(key).is_err()).expect("a hundred are too many");
            assert!((300_000..300_100).contains(&at));
            assert_eq!(filter.insert_slice(&keys).unwrap_err().first(), at, "{kind}");
            assert_eq!(filter.len(), at as u64);
            assert_eq!(filter.count(&7u64).unwrap(), single.count(&7u64).unwrap());
            let found = filter.contains_slice(&keys[at..]).into_iter().filter(|found| *found).count();
            assert!(found < 100 + 1000, "{kind}: {found} of the keys that were not stored");
            assert!(filter.contains_slice(&keys[..at]).into_iter().all(|found| found));
            assert_eq!(filter.remove_slice(&keys[..at]).unwrap(), at);
            assert!(filter.is_empty());
            if values > 0 {
                let values: Vec<u16> = keys.iter().map(|key| (key % 8) as u16).collect();
                let refused = filter.insert_values(&keys, &values);
                let Err(malkoha::Error::Refused(refused)) = refused else { panic!("{refused:?}") };
                assert_eq!(refused.first(), at);
                assert_eq!(filter.remove_values(&keys[..at], &values[..at]).unwrap(), at);
                assert!(filter.is_empty());
            }
        }
    }
}
