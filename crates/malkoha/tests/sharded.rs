//! Shards: concurrent threads lose no key, and the number of threads changes no answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::scale;
use malkoha::testing::Stream;
use malkoha::{Error, Full, Inserted, Kind, Level, Sharded, Spec};

pub(crate) const THREADS: u64 = 4;

/// Kinds that differ in how they store.
const KINDS: [Kind; 9] = [
    Kind::Classic(4),
    Kind::SemiSorted,
    Kind::Simplified(4),
    Kind::Flexible(2),
    Kind::Windowed(2),
    Kind::Sorted,
    Kind::Bloom,
    Kind::Blocked(1),
    Kind::Blocked(2),
];

pub(crate) fn keys(count: u64, stream: u64) -> Vec<u64> {
    let mut stream = Stream::new(stream);
    (0..count).map(|_| stream.draw()).collect()
}

pub(crate) fn check(filter: &Sharded, keys: &[u64]) {
    assert_eq!(filter.len(), keys.len() as u64);
    let lost = filter.contains_slice(keys).into_iter().filter(|found| !found).count();
    assert_eq!(lost, 0, "{filter:?} lost {lost} keys");
}

/// One of several threads that use a filter at the same time: it inserts, looks up and removes its own keys,
/// whatever the others do, and keeps at most `most` of them. Returns the stored keys and the number of refused
/// inserts.
pub(crate) fn use_filter(filter: &Sharded, thread: u64, most: usize, steps: u64) -> (Vec<u64>, usize) {
    let removes = !filter.geometry().kind().is_bloom();
    let mut stream = Stream::new(thread);
    // No two threads use the same number.
    let mut fresh = {
        let mut count = 0;
        move || {
            count += 1;
            count * THREADS + thread
        }
    };
    let (mut mine, mut refused) = (Vec::new(), 0);
    for step in 0..steps {
        let pick = |stream: &mut Stream, mine: &[u64]| stream.below(mine.len() as u64) as usize;
        match stream.below(20) {
            0..=6 if mine.len() < most => {
                let key = fresh();
                match filter.insert(&key) {
                    Ok(()) => mine.push(key),
                    Err(Full) => refused += 1,
                }
            }
            7..=8 if mine.len() < most => {
                let key = fresh();
                match filter.insert_unique(&key) {
                    // Seen keys look like a stored key and are not stored themselves.
                    Ok(Inserted::Stored) => mine.push(key),
                    Ok(Inserted::Seen) => {}
                    Err(Full) => refused += 1,
                }
            }
            9 if mine.len() + 100 < most => {
                let slice: Vec<u64> = (0..100).map(|_| fresh()).collect();
                let full =
                    filter.insert_slice(&slice).map_or_else(|full| full.indices().collect(), |()| Vec::new());
                refused += full.len();
                mine.extend(
                    slice.iter().enumerate().filter(|(at, _)| !full.contains(at)).map(|(_, key)| key),
                );
            }
            10..=13 if removes && !mine.is_empty() => {
                let key = mine.swap_remove(pick(&mut stream, &mine));
                assert_eq!(filter.remove(&key), Ok(true), "{filter:?} lost {key} at step {step}");
            }
            14 if removes && mine.len() > 100 => {
                let gone = mine.split_off(mine.len() - 50);
                assert_eq!(filter.remove_slice(&gone), Ok(50), "{filter:?} lost keys at step {step}");
            }
            15 => {
                let found = filter.contains_slice(&mine);
                assert!(found.into_iter().all(|found| found), "{filter:?} lost a key at step {step}");
            }
            _ if !mine.is_empty() => {
                let key = mine[pick(&mut stream, &mine)];
                assert!(filter.contains(&key), "{filter:?} lost {key} at step {step}");
                assert!(filter.count(&key).unwrap_or(1) >= 1);
            }
            _ => {}
        }
    }
    (mine, refused)
}

#[test]
fn concurrent_threads_lose_no_key() {
    let steps = scale(2_500, 200_000);
    for kind in KINDS {
        for (shards, planned) in [(1, 2_000), (3, 2_000), (16, 2_000), (64, 300)] {
            let spec = Spec::new(planned, 1e-3).kind(kind);
            // Refusals take as long as the longest walk.
            let spec = if kind.is_bloom() { spec } else { spec.max_steps(200) };
            let filter = spec.sharded(shards).build().unwrap();
            // The smaller filter gets more keys than fit, and refuses.
            let most = if planned == 300 { 1_000 } else { planned as usize / THREADS as usize };
            let (kept, refused) = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|thread| {
                        scope.spawn({
                            let filter = &filter;
                            move || use_filter(filter, thread, most, steps)
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).fold(
                    (Vec::new(), 0),
                    |(mut all, sum), (mine, refused)| {
                        all.extend(mine);
                        (all, sum + refused)
                    },
                )
            });
            check(&filter, &kept);
            if planned == 300 && !kind.is_bloom() {
                assert!(refused > 0, "{kind}: the test does not reach far enough");
                assert_eq!(filter.stats().insert_failures, refused as u64);
            } else {
                assert_eq!(refused, 0, "{kind} {shards}");
            }
            if !kind.is_bloom() {
                assert_eq!(filter.remove_slice(&kept), Ok(kept.len()));
                assert!(filter.is_empty());
            }
        }
    }
}

#[test]
fn only_one_of_several_threads_stores_the_same_key() {
    let filter = Spec::new(20_000, 1e-9).sharded(8).build().unwrap();
    let keys = keys(20_000, 1);
    let stored = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (filter, keys, stored) = (&filter, &keys, &stored);
            scope.spawn(move || {
                let mine = if thread % 2 == 0 {
                    filter.insert_unique_slice(keys)
                } else {
                    keys.iter().map(|key| filter.insert_unique(key)).collect()
                };
                let mine = mine.into_iter().filter(|answer| *answer == Ok(Inserted::Stored)).count();
                stored.fetch_add(mine, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(stored.into_inner(), keys.len());
    check(&filter, &keys);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let keys = keys(50_000, 3);
    for kind in KINDS {
        for shards in [1, 3, 64] {
            let spec = |threads| Spec::new(50_000, 1e-3).kind(kind).threads(threads).sharded(shards);
            let bulk = spec(1).build_from(&keys).unwrap();
            let streamed = spec(1).build_from_stream(&keys).unwrap();
            check(&bulk, &keys);
            check(&streamed, &keys);
            for threads in [3, 1000] {
                assert!(bulk == spec(threads).build_from(&keys).unwrap(), "{kind} {shards} {threads}");
                assert!(
                    streamed == spec(threads).build_from_stream(&keys).unwrap(),
                    "{kind} {shards} {threads}"
                );
            }
            let single = spec(1).build().unwrap();
            for key in &keys {
                single.insert(key).unwrap();
            }
            assert!(streamed == single, "{kind} {shards}: a stream is the same as single inserts");
        }
    }
}

#[test]
fn bulk_and_streams_are_all_or_nothing() {
    let keys = keys(30_000, 4);
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Simplified(4), Kind::Classic(4)] {
        for shards in [1, 8] {
            let spec = Spec::new(5_000, 1e-3).kind(kind).max_steps(20).threads(2).sharded(shards);
            assert_eq!(spec.build_from(&keys).unwrap_err(), Error::TooManyKeys { keys: 30_000 });
            let streamed = spec.build_from_stream(&keys).unwrap_err();
            assert!(matches!(streamed, Error::TooManyKeys { keys: 5_000..=30_000 }), "{streamed}");
            let mut filter = spec.build().unwrap();
            assert_eq!(filter.extend(&keys, 3), Err(Full));
            assert!(filter.is_empty() && filter.stats().insert_failures > 0, "{kind}");
            filter.extend(&keys[..2_000], 3).unwrap();
            let before = filter.clone();
            assert_eq!(filter.extend(&keys[2_000..], 3), Err(Full));
            assert!(filter == before, "{kind}: a refused extension changes no bit");
            assert_eq!(filter.extend_from_stream(&keys[2_000..], 3), Err(Full));
            assert!(filter == before, "{kind}: a refused stream changes no bit");
            filter.extend_from_stream(&keys[2_000..4_000], 2).unwrap();
            check(&filter, &keys[..4_000]);
        }
    }
}

#[test]
fn slices_answer_like_single_calls_in_the_order_of_keys() {
    for kind in KINDS {
        for shards in [1, 5, 300] {
            let spec = Spec::new(40_000, 0.01).kind(kind).sharded(shards);
            let (sliced, single) = (spec.build().unwrap(), spec.build().unwrap());
            let stored = keys(40_000, 5);
            sliced.insert_slice(&stored).unwrap();
            for key in &stored {
                single.insert(key).unwrap();
            }
            assert!(sliced == single, "{kind} {shards}");
            let mut asked = keys(60_000, 6);
            asked.extend(&stored[..10_000]);
            let answers = sliced.contains_slice(&asked);
            assert!(answers.iter().any(|found| !found));
            assert!(asked.iter().zip(&answers).all(|(key, found)| single.contains(key) == *found));
            let again = sliced.insert_unique_slice(&asked[55_000..56_000]);
            let one_by_one: Vec<_> =
                asked[55_000..56_000].iter().map(|key| single.insert_unique(key)).collect();
            assert_eq!(again, one_by_one);
            if kind.is_bloom() {
                assert!(sliced.count_slice(&asked).is_err() && sliced.remove_slice(&asked).is_err());
                continue;
            }
            let counts = sliced.count_slice(&asked).unwrap();
            assert!(asked.iter().zip(counts).all(|(key, count)| single.count(key) == Ok(count)));
            assert_eq!(sliced.remove_slice(&stored), Ok(stored.len()));
            for key in &stored {
                assert_eq!(single.remove(key), Ok(true));
            }
            assert!(sliced == single, "{kind} {shards}");
        }
    }
}

#[test]
fn refused_keys_of_a_slice_are_reported_and_the_others_are_stored() {
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Classic(4)] {
        let spec = Spec::new(2_000, 1e-6).kind(kind).stash(0).max_steps(50).sharded(6);
        let (sliced, single) = (spec.build().unwrap(), spec.build().unwrap());
        let keys = keys(6_000, 7);
        let refused = sliced.insert_slice(&keys).unwrap_err().indices().collect::<Vec<_>>();
        let one_by_one: Vec<usize> =
            (0..keys.len()).filter(|at| single.insert(&keys[*at]).is_err()).collect();
        assert_eq!(refused, one_by_one);
        assert!(sliced == single && sliced.stats().level == Level::Full);
        let stored: Vec<u64> =
            keys.iter().enumerate().filter(|(at, _)| !refused.contains(at)).map(|(_, key)| *key).collect();
        check(&sliced, &stored);
    }
}

#[test]
fn statistics_are_those_of_all_shards() {
    let filter = Spec::new(10_000, 1e-3).sharded(8).build().unwrap();
    assert_eq!((filter.stats().items, filter.stats().level), (0, Level::Room));
    filter.insert_slice(&keys(10_000, 8)).unwrap();
    let (stats, parts) = (filter.stats(), filter.shard_stats());
    assert_eq!(parts.len(), 8);
    assert_eq!(stats.items, 10_000);
    assert_eq!(stats.slots, parts.iter().map(|part| part.slots).sum());
    assert_eq!(stats.steps_max, parts.iter().map(|part| part.steps_max).max().unwrap());
    assert!((stats.load - 10_000.0 / stats.slots as f64).abs() < 1e-9, "all shards have equally many slots");
    assert!((stats.predicted_rate / filter.geometry().predicted_rate(10_000) - 1.0).abs() < 1e-3);
    assert_eq!(stats.head_room, filter.geometry().capacity() - 10_000);
    filter.clear();
    assert!(filter.is_empty());
}
