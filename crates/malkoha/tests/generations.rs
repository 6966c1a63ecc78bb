//! Sliding windows: keys inside the window are found, keys far outside are forgotten.

use std::collections::{HashMap, VecDeque};

use crate::common::{in_parallel, scale};
use malkoha::testing::Stream;
use malkoha::{Error, Generations, Inserted, Kind, Spec};

const KINDS: [Kind; 5] = [Kind::Sorted, Kind::Windowed(2), Kind::Flexible(4), Kind::Bloom, Kind::Blocked(2)];

/// Compares windows that count keys with the order in which keys were stored.
#[test]
fn the_last_keys_are_found_and_older_ones_vanish() {
    let cases = KINDS.into_iter().flat_map(|kind| [2u32, 3, 8].map(|generations| (kind, generations)));
    in_parallel(cases, |(kind, generations)| {
        let (keys, rate) = (1000, 0.01);
        let mut window = Generations::of_keys(&Spec::new(keys, rate).kind(kind), generations).unwrap();
        assert!(window.keys() >= keys && (window.rate() - rate).abs() < 1e-9);
        let planned = window.stats().memory_bytes;
        let reach = (window.keys() / u64::from(generations - 1) * u64::from(generations)) as usize;
        let mut stored = VecDeque::new();
        let mut stream = Stream::new(u64::from(generations));
        let (mut falsely_seen, mut new) = (0, 0);
        for step in 0..scale(12_000, 200_000) {
            // Half of the keys are new, half come again later.
            let key = stream.below(step / 2 + 2);
            let within = stored.iter().take(keys as usize).any(|old| *old == key);
            let known = stored.iter().take(reach).any(|old| *old == key);
            match window.insert_unique(&key).unwrap() {
                Inserted::Stored => {
                    assert!(!within, "{kind}: {key} was let through twice within the window");
                    stored.push_front(key);
                    stored.truncate(reach);
                }
                Inserted::Seen if !known => falsely_seen += 1,
                Inserted::Seen => {}
            }
            new += u64::from(!known);
            assert!(window.len() <= reach as u64, "{kind}: there are no more keys than at the peak");
            if step % 1000 == 0 {
                let live: Vec<u64> = stored.iter().take(keys as usize).copied().collect();
                assert!(window.contains_slice(&live).into_iter().all(|found| found), "{kind}");
                assert!(live.iter().all(|key| window.contains(key)), "{kind}");
            }
        }
        let expected = rate * new as f64;
        assert!(
            f64::from(falsely_seen) <= expected + 4.0 * expected.sqrt(),
            "{kind}: {falsely_seen} of {new}"
        );
        let memory = window.stats().memory_bytes;
        assert!(memory <= planned + planned / 10, "{kind}: planned for the peak: {memory}, {planned}");
    });
}

/// Compares windows of time with the times of keys, with bursts of a hundred times the planned keys.
#[test]
fn keys_of_the_last_ticks_are_found_even_in_bursts() {
    in_parallel(KINDS, |kind| {
        let (generations, ticks, rate) = (5, 1000, 0.01);
        let mut window = Generations::of_ticks(&Spec::new(400, rate).kind(kind), generations, ticks).unwrap();
        let mut times: HashMap<u64, u64> = HashMap::new();
        let mut stream = Stream::new(3);
        let (mut now, mut falsely_seen, mut new) = (1_000_000, 0, 0);
        for burst in 0..scale(40, 400) {
            let keys = if burst % 10 == 3 { 10_000 } else { 100 };
            for _ in 0..keys {
                now += if keys == 100 { stream.below(6) } else { 0 };
                let key = stream.below(1 << 20);
                // A clock that goes back a little changes nothing.
                window.advance(now - stream.below(100));
                let age = times.get(&key).map(|time| now - time);
                match window.insert_unique_at(&key, now).unwrap() {
                    Inserted::Stored => {
                        assert!(
                            age.is_none_or(|age| age > ticks),
                            "{kind}: {key} came twice in {age:?} ticks"
                        );
                        times.insert(key, now);
                    }
                    Inserted::Seen => {
                        falsely_seen += u64::from(age.is_none_or(|age| age > ticks / 4 * 5));
                    }
                }
                new += u64::from(age.is_none_or(|age| age > ticks / 4 * 5));
            }
            assert!(window.stats().predicted_rate <= rate, "{kind}: the promise holds in a burst");
            for (key, time) in &times {
                assert!(now - time > ticks || window.contains(key), "{kind} lost {key} after {}", now - time);
            }
        }
        let expected = rate * new as f64;
        assert!(falsely_seen as f64 <= expected + 4.0 * expected.sqrt(), "{kind}: {falsely_seen} of {new}");
        window.advance(now + 2 * ticks);
        assert!(window.is_empty(), "everything is forgotten");
    });
}

/// Slices and single calls give the same answers and, byte for byte, the same window.
#[test]
fn slices_do_what_single_calls_do() {
    in_parallel(KINDS, |kind| {
        let spec = Spec::new(300, 0.01).kind(kind);
        let windows = [Generations::of_keys(&spec, 4), Generations::of_ticks(&spec, 4, 50)];
        for mut single in windows.map(Result::unwrap) {
            let mut slices = single.clone();
            let mut stream = Stream::new(8);
            let mut seen = 0;
            for now in 0..60 {
                single.advance(now);
                slices.advance(now);
                // Copies within a slice, copies from earlier slices, and slices over several generations.
                let length = [0, 1, 30, 1000][stream.below(4) as usize];
                let keys: Vec<u64> = (0..length).map(|_| now * 100 + stream.below(length)).collect();
                let one_by_one: Vec<_> = keys.iter().map(|key| single.insert_unique(key).unwrap()).collect();
                let at_once = slices.insert_unique_slice(&keys);
                assert!(at_once.into_iter().map(Result::unwrap).eq(one_by_one.iter().copied()), "{kind}");
                assert!(slices == single, "{kind}");
                seen += one_by_one.iter().filter(|one| **one == Inserted::Seen).count();
            }
            assert!(seen > 1000, "{kind}: there were {seen} copies");
        }
    });
}

#[test]
fn after_as_many_rotations_as_generations_nothing_is_left() {
    for generations in [2u32, 5] {
        let mut window = Generations::of_keys(&Spec::new(100, 0.01), generations).unwrap();
        window.insert("egg").unwrap();
        for _ in 1..generations {
            window.rotate();
            assert!(window.contains("egg"));
        }
        window.rotate();
        assert!(!window.contains("egg") && window.is_empty());
    }
}

#[test]
fn inserting_again_renews_a_key_and_checking_does_not() {
    let window = || Generations::of_ticks(&Spec::new(100, 1e-6), 3, 100).unwrap();
    let (mut renewed, mut checked) = (window(), window());
    for now in (0..=1000).step_by(50) {
        renewed.advance(now);
        assert_eq!(renewed.contains("egg"), now > 0);
        renewed.insert("egg").unwrap();
        assert_eq!(renewed.len(), renewed.generations().filter(|one| one.contains("egg")).count() as u64);
        let seen = checked.insert_unique_at("egg", now).unwrap();
        assert_eq!(seen == Inserted::Stored, now % 150 == 0, "at {now}");
    }
}

#[test]
fn windows_are_read_as_they_were_written_and_continue() {
    for kind in KINDS {
        let spec = Spec::new(100, 0.01).kind(kind).seed(9);
        let mut windows =
            [Generations::of_keys(&spec, 4).unwrap(), Generations::of_ticks(&spec, 4, 50).unwrap()];
        for window in &mut windows {
            assert!(Generations::from_bytes(&window.to_bytes().unwrap()).unwrap() == *window);
            for key in 0..500u64 {
                window.insert_unique_at(&key, 1000 + key / 10).unwrap();
            }
            let bytes = window.to_bytes().unwrap();
            let mut again = Generations::from_bytes(&bytes).unwrap();
            assert!(again == *window, "{kind}");
            for key in 500..1500u64 {
                let answer = window.insert_unique_at(&key, 1000 + key / 10);
                assert_eq!(again.insert_unique_at(&key, 1000 + key / 10), answer);
            }
            assert!(again == *window, "{kind}");
            assert!(matches!(malkoha::Filter::from_bytes(&bytes), Err(Error::Form { .. })));
        }
    }
    let filter = Spec::new(100, 0.01).growing().build().unwrap().to_bytes().unwrap();
    assert!(matches!(Generations::from_bytes(&filter), Err(Error::Form { .. })));
}
