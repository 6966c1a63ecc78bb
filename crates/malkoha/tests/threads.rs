//! Readers without locks: lookups between changes see the filter as it was at some moment.

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::common::readers::{Stop, among_readers};
use crate::common::scale;
use malkoha::testing::Stream;
use malkoha::{Kind, Sharded, Spec};

/// What was asked of a filter about one key, and what it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Insert,
    Remove,
    Found(bool),
}

/// An operation on one key: it took effect at some moment from `begin` to `end`.
#[derive(Clone, Copy, Debug)]
struct Operation {
    begin: u64,
    end: u64,
    act: Act,
}

/// Whether there is an order of operations on one key, which is absent at first, in which every answer is right and
/// nothing comes before what had ended when it began. Searches all orders, after Wing and Gong 1993; the number of
/// copies follows from the set of operations that came before, so no such set is tried twice.
fn is_linearizable(history: &[Operation]) -> bool {
    assert!(history.len() <= 128, "a set of operations is a number");
    let all = u128::MAX >> (128 - history.len());
    let (mut stack, mut tried) = (vec![(0u128, 0u32)], HashSet::new());
    while let Some((done, copies)) = stack.pop() {
        if done == all {
            return true;
        }
        if !tried.insert(done) {
            continue;
        }
        let left = || history.iter().enumerate().filter(move |(i, _)| done >> i & 1 == 0);
        let earliest_end = left().map(|(_, operation)| operation.end).min().unwrap();
        for (i, operation) in left().filter(|(_, operation)| operation.begin <= earliest_end) {
            let copies = match operation.act {
                Act::Insert => Some(copies + 1),
                Act::Remove => copies.checked_sub(1),
                Act::Found(found) => (found == (copies > 0)).then_some(copies),
            };
            stack.extend(copies.map(|copies| (done | 1 << i, copies)));
        }
    }
    false
}

#[test]
fn impossible_histories_are_recognised() {
    let at = |begin, end, act| Operation { begin, end, act };
    let insert = at(0, 10, Act::Insert);
    assert!(is_linearizable(&[insert, at(1, 2, Act::Found(false)), at(3, 4, Act::Found(true))]));
    assert!(
        !is_linearizable(&[insert, at(1, 2, Act::Found(true)), at(3, 4, Act::Found(false))]),
        "back again"
    );
    assert!(!is_linearizable(&[insert, at(11, 12, Act::Found(false))]), "a key that was stored is missed");
    assert!(!is_linearizable(&[at(1, 2, Act::Found(true))]), "a key that nobody stored is found");
    let remove = at(11, 20, Act::Remove);
    assert!(is_linearizable(&[insert, remove, at(12, 13, Act::Found(false)), at(14, 15, Act::Found(false))]));
    assert!(!is_linearizable(&[insert, remove, at(21, 22, Act::Found(true))]), "a removed key is found");
    assert!(!is_linearizable(&[at(0, 1, Act::Remove)]), "what is not there is removed");
}

/// Fills a filter with other keys up to `load` of what it takes.
fn crowd(filter: &Sharded, load: f64) -> Vec<u64> {
    let count = (filter.geometry().capacity() as f64 * load) as u64;
    (0..count).map(|i| u64::MAX - i).take_while(|key| filter.insert(key).is_ok()).collect()
}

/// What one thread did, with the index of the key, and how many copies of each key it left.
type Recorded = (Vec<(usize, Operation)>, Vec<u32>);

/// One thread of a recorded run: it stores, removes and looks up keys that all threads share.
fn record(filter: &Sharded, keys: &[u64], clock: &AtomicU64, seed: u64) -> Recorded {
    let (mut stream, mut mine, mut history) = (Stream::new(seed), vec![0; keys.len()], Vec::new());
    for _ in 0..12 * keys.len() {
        let at = stream.below(keys.len() as u64) as usize;
        let begin = clock.fetch_add(1, Ordering::SeqCst);
        let act = match stream.below(6) {
            // A thread removes only copies that it stored.
            0 if mine[at] > 0 => {
                mine[at] -= 1;
                assert_eq!(filter.remove(&keys[at]), Ok(true), "a stored copy is lost");
                Act::Remove
            }
            0 | 1 if mine[at] < 2 => {
                mine[at] += 1;
                filter.insert(&keys[at]).unwrap();
                Act::Insert
            }
            2 => Act::Found(filter.contains_slice(&[keys[at]; 16])[15]),
            _ => Act::Found(filter.contains(&keys[at])),
        };
        let end = clock.fetch_add(1, Ordering::SeqCst);
        history.push((at, Operation { begin, end, act }));
    }
    (history, mine)
}

#[test]
fn recorded_histories_are_linearizable() {
    for kind in [Kind::Windowed(2), Kind::Sorted, Kind::Simplified(4), Kind::Classic(4)] {
        // So few false positives that none of these keys looks like another.
        let spec = Spec::new(2000, 1e-9).kind(kind).sharded(2);
        let filter = spec.build().unwrap();
        let others = crowd(&filter, 0.97);
        // Walks all the time: every other key comes and goes.
        check_histories(&filter, &others, scale(60, 20_000), |stream| {
            let key = &others[stream.below(others.len() as u64) as usize];
            assert_eq!(filter.remove(key), Ok(true), "{kind} lost a key");
            filter.insert(key).unwrap();
        });
    }
}

#[test]
fn recorded_histories_of_shards_that_grow_are_linearizable() {
    // Wide slots, and as few false positives as narrow slots allow: these few keys look like no other.
    for (spec, rounds) in [
        (Spec::rate(1e-9), 20_000),
        (Spec::rate(2e-5).most_keys(10_000), 1_000),
        (Spec::rate(1e-9).values(4), 20_000),
    ] {
        let filter = spec.sharded(2).build().unwrap();
        let others: Vec<u64> = (0..6000).map(|i| u64::MAX - i).collect();
        filter.insert_slice(&others).unwrap();
        // Regions grow and shrink all the time: most of the other keys go and come back.
        check_histories(&filter, &others, scale(60, rounds), |stream| {
            let gone = &others[..others.len() - 1 - stream.below(1000) as usize];
            let (slice, single) = gone.split_at(stream.below(gone.len() as u64) as usize);
            assert_eq!(filter.remove_slice(slice), Ok(slice.len()), "keys are lost");
            assert!(single.iter().all(|key| filter.remove(key) == Ok(true)), "keys are lost");
            filter.insert_slice(single).unwrap();
            assert!(slice.iter().all(|key| filter.insert(key).is_ok()));
        });
        let growth = filter.stats().growth.unwrap();
        assert!(growth.steps > 100 && growth.shrinks > 100, "{growth:?}");
    }
}

/// Records rounds of several threads at work on three keys, while another thread does `churn` with the other keys that
/// are stored, and leaves them as they were.
fn check_histories(filter: &Sharded, others: &[u64], rounds: u64, churn: impl Fn(&mut Stream) + Sync) {
    const THREADS: u64 = 3;
    let stop = AtomicBool::new(false);
    let mut sights = [0; 2];
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = Stream::new(77);
            while !stop.load(Ordering::Relaxed) {
                churn(&mut stream);
            }
        });
        let _stop = Stop(&stop);
        for round in 0..rounds {
            let keys: Vec<u64> = (0..3).map(|i| 3 * round + i).collect();
            let (clock, start) = (AtomicU64::new(0), Barrier::new(THREADS as usize));
            let recorded: Vec<Recorded> = thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|thread| {
                        let (keys, clock, start) = (&keys, &clock, &start);
                        scope.spawn(move || {
                            start.wait();
                            record(filter, keys, clock, round * THREADS + thread)
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for (key, copies) in recorded.iter().flat_map(|(_, left)| keys.iter().zip(left)) {
                (0..*copies).for_each(|_| assert_eq!(filter.remove(key), Ok(true), "a copy is lost"));
            }
            for at in 0..keys.len() {
                let all = recorded.iter().flat_map(|(history, _)| history);
                let own: Vec<Operation> =
                    all.filter(|(key, _)| *key == at).map(|(_, operation)| *operation).collect();
                let found = |found| own.iter().filter(|own| own.act == Act::Found(found)).count();
                sights = [sights[0] + found(false), sights[1] + found(true)];
                assert!(is_linearizable(&own), "{filter:?}: {own:?}");
            }
        }
    });
    assert!(sights.iter().all(|&count| count > 100), "{filter:?}: {sights:?} of both answers");
    assert_eq!(filter.len(), others.len() as u64);
}

/// Readers look for keys that stay, while others come and go in crowded shards, so that tags move and stashes fill.
#[test]
fn readers_miss_no_key_whatever_writers_do() {
    let kinds = [
        (Kind::Windowed(2), 0),
        (Kind::Flexible(4), 4),
        (Kind::Sorted, 0),
        (Kind::SemiSorted, 0),
        (Kind::Simplified(4), 0),
        (Kind::Bloom, 0),
        (Kind::Blocked(2), 0),
    ];
    for (kind, values) in kinds {
        let spec = Spec::new(6000, 1e-6).kind(kind);
        let spec = if values > 0 { spec.values(values) } else { spec };
        let spec = if kind.is_bloom() { spec } else { spec.max_steps(200) };
        let filter = spec.sharded(3).build().unwrap();
        let steps = scale(15_000, 20_000_000);
        let (wrong, asked) = among_readers(&filter, |thread| write(&filter, thread, steps));
        assert!(asked > 0 && wrong * 100 <= asked, "{kind}: {wrong} of {asked} absent keys are found");
    }
}

/// Inserts and removes own keys, more of them than there is room for.
fn write(filter: &Sharded, thread: u64, steps: u64) {
    let removes = !filter.geometry().kind().is_bloom();
    let (mut stream, mut mine) = (Stream::new(100 + thread), Vec::new());
    for step in 0..steps {
        let key = (2 * step + thread) % 50_000 + (1 << 20);
        match stream.below(8) {
            0..=3 if removes && !mine.is_empty() => {
                let key = mine.swap_remove(stream.below(mine.len() as u64) as usize);
                assert_eq!(filter.remove(&key), Ok(true), "{filter:?} lost {key}");
            }
            4 if mine.len() < 5000 => {
                let slice: Vec<u64> = (0..20).map(|i| key + (i << 30)).collect();
                let full: Vec<usize> =
                    filter.insert_slice(&slice).map_or_else(|full| full.indices().collect(), |()| Vec::new());
                mine.extend((0..20).filter(|at| !full.contains(at)).map(|at| slice[at]));
            }
            _ if mine.len() < 5000 && filter.insert(&key).is_ok() => mine.push(key),
            _ => assert!(mine.last().is_none_or(|key| filter.contains(key)), "{filter:?} lost a key"),
        }
    }
}

/// A shard that somebody changes all the time: readers have their turn, under its lock if need be.
#[test]
fn readers_have_their_turn_among_writers_of_slices() {
    const WRITERS: u64 = 3;
    let filter = Spec::new(20_000, 0.001).sharded(1).build().unwrap();
    filter.insert("owl").unwrap();
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let _end = Stop(&stop);
        for thread in 0..WRITERS {
            let (filter, stop, rounds) = (&filter, &stop, &rounds);
            scope.spawn(move || {
                let own: Vec<u64> = (0..4_000).map(|i| WRITERS * i + thread).collect();
                while !stop.load(Ordering::Relaxed) {
                    filter.insert_slice(&own).unwrap();
                    assert_eq!(filter.remove_slice(&own), Ok(own.len()));
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Lookups in all moments of some rounds.
        let last = scale(300, 20_000);
        while rounds.load(Ordering::Relaxed) < last {
            assert!(filter.contains("owl"));
        }
        // They may be slow, but none waits for the writers to end.
        for _ in 0..100 {
            thread::yield_now();
            assert!(filter.contains("owl"));
        }
    });
}
