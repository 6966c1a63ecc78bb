//! Shards that grow: they lose no key while several threads let them grow and shrink, and readers without locks miss
//! none.

use std::collections::HashMap;
use std::thread;

use crate::common::readers::{STAYING, among_readers};
use crate::common::scale;
use crate::sharded::{THREADS, check, keys, use_filter};
use malkoha::testing::Stream;
use malkoha::{Inserted, KeyHash, Kind, Level, Sharded, Spec};

/// Specs that differ in how they store: narrow slots, slots with values, wide slots, and a known number of keys.
fn specs() -> [Spec; 4] {
    [
        Spec::rate(1e-3),
        Spec::rate(1e-3).values(5),
        Spec::rate(1e-9),
        Spec::new(3_000, 1e-3).growing().most_keys(100_000),
    ]
}

#[test]
fn concurrent_threads_lose_no_key() {
    let steps = scale(2_500, 200_000);
    for spec in specs() {
        for shards in [1, 3, 16] {
            let filter = spec.sharded(shards).build().unwrap();
            let (kept, refused) = thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|thread| {
                        let filter = &filter;
                        scope.spawn(move || use_filter(filter, thread, 3_000, steps))
                    })
                    .collect();
                let parts = threads.into_iter().map(|thread| thread.join().unwrap());
                parts.fold((Vec::new(), 0), |(mut all, sum), (mine, refused)| {
                    all.extend(mine);
                    (all, sum + refused)
                })
            });
            assert_eq!(refused, 0, "{filter:?}");
            check(&filter, &kept);
            assert_eq!(filter.remove_slice(&kept), Ok(kept.len()));
            assert!(filter.is_empty());
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let keys = keys(50_000, 3);
    for spec in specs() {
        for shards in [1, 3, 64] {
            let spec = |threads| spec.threads(threads).sharded(shards);
            let bulk = spec(1).build_from(&keys).unwrap();
            let streamed = spec(1).build_from_stream(&keys).unwrap();
            check(&bulk, &keys);
            check(&streamed, &keys);
            for threads in [3, 1000] {
                assert!(bulk == spec(threads).build_from(&keys).unwrap(), "{shards} {threads}");
                assert!(streamed == spec(threads).build_from_stream(&keys).unwrap(), "{shards} {threads}");
            }
            let stats = bulk.stats();
            assert!(stats.grows && stats.level == Level::Room && stats.growth.unwrap().regions >= 4);
        }
    }
}

#[test]
fn slices_answer_like_single_calls_in_the_order_of_keys() {
    for spec in specs() {
        for shards in [1, 5, 300] {
            let filter = spec.sharded(shards).build().unwrap();
            let stored = keys(40_000, 5);
            filter.insert_slice(&stored).unwrap();
            check(&filter, &stored);
            let mut asked = keys(60_000, 6);
            asked.extend(&stored[..10_000]);
            for asked in [&asked[..], &asked[..100], &asked[59_990..]] {
                let answers = filter.contains_slice(asked);
                assert!(answers.iter().any(|found| !found));
                assert!(asked.iter().zip(&answers).all(|(key, found)| filter.contains(key) == *found));
                let counts = filter.count_slice(asked).unwrap();
                assert!(asked.iter().zip(&counts).all(|(key, count)| filter.count(key) == Ok(*count)));
                assert!(answers.iter().zip(&counts).all(|(found, count)| *found == (*count > 0)));
            }
            let stranger = asked.iter().find(|key| !filter.contains(*key)).unwrap();
            let again = filter.insert_unique_slice(&[*stranger, stored[0], *stranger]);
            assert_eq!(again, [Ok(Inserted::Stored), Ok(Inserted::Seen), Ok(Inserted::Seen)]);
            assert_eq!(filter.remove(stranger), Ok(true));
            assert_eq!(filter.remove_slice(&stored), Ok(stored.len()));
            assert!(filter.is_empty());
        }
    }
}

/// Every copy of every key with its value, while shards grow and shrink.
#[test]
fn values_and_copies_are_those_of_a_model() {
    let filter = Spec::rate(1e-6).values(6).sharded(3).build().unwrap();
    let (mut model, mut stream): (HashMap<u64, Vec<u16>>, _) = (HashMap::new(), Stream::new(11));
    for step in 0..scale(60_000, 5_000_000) {
        // Up to 20,000 keys and down again; one key in a hundred is the same, and has more copies than slots.
        let growing = step % 20_000 < 14_000;
        let key = if stream.below(100) == 0 { 7 } else { stream.below(30_000) };
        let value = stream.below(64) as u16;
        let values = model.entry(key).or_default();
        if values.is_empty() || (growing && stream.below(4) > 0) {
            filter.insert_value(&key, value).unwrap();
            values.push(value);
        } else if stream.below(3) == 0 {
            let old = values[0];
            assert_eq!(filter.update_value(&key, old, value), Ok(true));
            values[0] = value;
        } else {
            let old = values.swap_remove(stream.below(values.len() as u64) as usize);
            assert_eq!(filter.remove_value(&key, old), Ok(true), "step {step}");
        }
        values.sort_unstable();
        if step % 50 == 0 {
            let found = filter.get(&key).unwrap().to_vec();
            assert!(values.iter().all(|value| found.contains(value)), "step {step}: {values:?} {found:?}");
            assert_eq!(filter.contains(&key), !found.is_empty());
        }
    }
    assert_eq!(filter.len(), model.values().map(|values| values.len() as u64).sum());
    assert!(filter.stats().growth.unwrap().overflow > 0, "some copies have no slot");
    for (key, values) in &model {
        assert!(filter.count(key).unwrap() >= values.len() as u32);
        for value in values {
            assert_eq!(filter.remove_value(key, *value), Ok(true));
        }
    }
    assert!(filter.is_empty());
    assert!(model.keys().all(|key| !filter.contains(key)));
}

#[test]
fn merged_filters_find_the_keys_of_both_and_their_rates_add_up() {
    for shards in [1, 4] {
        let spec = |rate| Spec::rate(rate).threads(2).sharded(shards);
        let (left, right) = (keys(30_000, 20), keys(2_000, 21));
        let mut one = spec(1e-3).build_from(&left).unwrap();
        let two = spec(1e-4).build_from(&right).unwrap();
        let mut unique = one.clone();
        one.merge(&two).unwrap();
        assert!((one.geometry().rate() - 1.1e-3).abs() < 1e-9);
        let mut other = two.clone();
        other.merge(&spec(1e-3).build_from(&left).unwrap()).unwrap();
        for merged in [&one, &other] {
            check(merged, &[&left[..], &right].concat());
            assert!(merged.stats().predicted_rate <= merged.geometry().rate());
            let again = Sharded::from_bytes(&merged.to_bytes().unwrap()).unwrap();
            assert!(again == *merged && again.geometry() == merged.geometry());
        }
        unique.merge_unique(&two).unwrap();
        assert!(unique.contains_slice(&right).into_iter().all(|found| found));
        assert_eq!(one.remove_slice(&right), Ok(2_000));
        check(&one, &left);
        one.insert_slice(&keys(30_000, 22)).unwrap();
        assert!(one.contains_slice(&left).into_iter().all(|found| found));
        assert!(one.merge(&Spec::rate(1e-3).sharded(shards + 1).build().unwrap()).is_err());
        assert!(one.merge(&Spec::rate(1e-3).seed(1).sharded(shards).build().unwrap()).is_err());
    }
}

#[test]
fn what_was_read_grows_as_it_would_have() {
    for spec in specs() {
        for shards in [1, 7] {
            let filter = spec.seed(3).sharded(shards).build().unwrap();
            filter.insert_slice(&keys(20_000, 30)).unwrap();
            (0..100).for_each(|_| filter.insert("owl").unwrap());
            let bytes = filter.to_bytes().unwrap();
            let again = Sharded::from_bytes(&bytes).unwrap();
            assert!(again == filter && again.geometry() == filter.geometry());
            for filter in [&filter, &again] {
                for key in keys(20_000, 31) {
                    filter.insert(&key).unwrap();
                }
            }
            assert!(again == filter, "they have grown alike");
            (0..100).for_each(|_| assert_eq!(again.remove("owl"), Ok(true)));
            check(&again, &[&keys(20_000, 30)[..], &keys(20_000, 31)].concat());
        }
    }
}

#[test]
fn the_promised_rate_holds_in_shards_that_grow() {
    let strangers = keys(scale(400_000, 10_000_000), 99);
    for (shards, count) in [(1, 20_000), (8, 60_000), (64, 60_000), (100, 1_000)] {
        let rate = 1.0 / 256.0;
        let filter = Spec::rate(rate).sharded(shards).build().unwrap();
        filter.insert_slice(&keys(count, 41)).unwrap();
        let found = filter.contains_slice(&strangers).into_iter().filter(|found| *found).count();
        let most = strangers.len() as f64 * rate;
        assert!((found as f64) < most, "{shards} {count}: {found} of at most {most}");
        let predicted = filter.stats().predicted_rate * strangers.len() as f64;
        // Five standard deviations.
        assert!((found as f64 - predicted).abs() < 5.0 * predicted.sqrt(), "{found} where {predicted}");
    }
}

/// Memory of tables that are no more is used again, and goes back when nobody can look at it.
#[test]
fn memory_is_used_again_and_given_back() {
    let mut filter = Spec::rate(1e-3).sharded(4).build().unwrap();
    let empty = filter.stats().memory_bytes;
    assert!(empty < 128 << 10, "{empty} bytes for an empty filter");
    let keys = keys(200_000, 50);
    let mut peaks = Vec::new();
    for _ in 0..6 {
        filter.insert_slice(&keys).unwrap();
        check(&filter, &keys);
        peaks.push(filter.stats().memory_bytes);
        for keys in keys.chunks(10_000) {
            assert_eq!(filter.remove_slice(keys), Ok(keys.len()));
        }
        assert!(filter.is_empty());
    }
    assert!(peaks[5] <= peaks[0] + peaks[0] / 4, "it does not grow for ever: {peaks:?}");
    // 200,000 keys take about 500 kB.
    assert!(peaks[5] < 1_500_000, "{peaks:?}");
    assert!(filter.stats().memory_bytes > peaks[0] / 2, "readers may still look at it");
    filter.release_memory();
    assert!(filter.stats().memory_bytes < 2 * empty + (64 << 10), "{:?}", filter.stats());
    filter.insert_slice(&keys).unwrap();
    check(&filter, &keys);
}

/// Readers look for keys that stay, while others come and go in such numbers that regions grow and shrink all the time;
/// one key comes in many copies, so that some regions have an overflow.
#[test]
fn readers_miss_no_key_while_shards_grow_and_shrink() {
    let most_steps = scale(40, 6_000);
    for (spec, own) in specs().into_iter().zip([60_000, 30_000, 30_000, 60_000]) {
        let filter = spec.sharded(3).build().unwrap();
        let (wrong, asked) = among_readers(&filter, |thread| grow(&filter, thread, own, most_steps));
        assert!(asked > 0 && wrong * 200 <= asked, "{wrong} of {asked} absent keys are found");
        let growth = filter.stats().growth.unwrap();
        assert!(growth.steps > 200 && growth.shrinks > 50, "{growth:?}");
        check(&filter, &STAYING.collect::<Vec<_>>());
    }
}

/// All hashes begin with two zeros, so that the keys are in one group: regions split at some 60 thousand keys.
#[test]
fn readers_miss_no_key_while_regions_split_and_join() {
    const OWN: usize = 70_000;
    let filter = Spec::rate(1e-3).sharded(1).build().unwrap();
    let regions = || filter.stats().growth.unwrap().regions;
    let first = regions();
    let (wrong, asked) = among_readers(&filter, |thread| {
        let mut stream = Stream::new(300 + thread);
        for _ in 0..scale(4, 500) {
            let own: Vec<_> = (0..OWN).map(|_| KeyHash::from_raw(stream.draw() >> 2)).collect();
            let (slice, one_by_one) = own.split_at(OWN / 2);
            filter.insert_slice(slice).unwrap();
            for key in one_by_one {
                filter.insert(key).unwrap();
            }
            assert!(regions() > first, "regions have split");
            for key in one_by_one {
                assert_eq!(filter.remove(key), Ok(true));
            }
            assert_eq!(filter.remove_slice(slice), Ok(slice.len()));
        }
    });
    assert!(asked > 0 && wrong * 200 <= asked, "{wrong} of {asked} absent keys are found");
    assert_eq!(regions(), first, "and joined");
    check(&filter, &STAYING.collect::<Vec<_>>());
}

/// Stores own keys, as many as `most`, and removes them again: one by one, and in slices.
fn grow(filter: &Sharded, thread: u64, most: u64, steps: u64) {
    let (mut stream, mut mine, mut growing) = (Stream::new(200 + thread), Vec::new(), true);
    let owl = u64::MAX - thread;
    for step in 0..steps {
        let count = stream.below(most / 3) + 1;
        let slice: Vec<u64> = (0..count).map(|i| (1 << 50) + (step << 20) + 2 * i + thread).collect();
        if mine.len() as u64 + count > most {
            growing = false;
        }
        if growing && step % 2 == 0 {
            filter.insert_slice(&slice).unwrap();
            mine.extend(slice);
        } else if growing {
            for key in &slice {
                filter.insert(key).unwrap();
            }
            (0..40).for_each(|_| filter.insert(&owl).unwrap());
            assert!(filter.contains(&owl) && filter.contains_slice(&slice).into_iter().all(|found| found));
            (0..40).for_each(|_| assert_eq!(filter.remove(&owl), Ok(true)));
            mine.extend(slice);
        } else {
            let gone = mine.split_off(mine.len() / 5);
            let (first, second) = gone.split_at(gone.len() / 2);
            for key in first {
                assert_eq!(filter.remove(key), Ok(true), "{filter:?} lost {key}");
            }
            assert_eq!(filter.remove_slice(second), Ok(second.len()), "{filter:?} lost keys");
            growing = true;
        }
    }
    assert_eq!(filter.remove_slice(&mine), Ok(mine.len()), "{filter:?} lost keys");
}

#[test]
fn kinds_and_counts_of_shards_say_that_they_grow() {
    let filter = Spec::rate(0.001).sharded(2).build().unwrap();
    assert!(filter.geometry().is_growing() && filter.geometry().kind() == Kind::Elastic);
    assert!(!Spec::new(100, 0.001).sharded(2).plan().unwrap().is_growing());
    assert!(filter.stats().grows && filter.stats().head_room > 0);
    filter.insert_slice(&keys(10_000, 60)).unwrap();
    filter.clear();
    assert!(
        filter.is_empty() && filter.stats().growth.unwrap().promised_keys == filter.geometry().capacity()
    );
    filter.insert("malkoha").unwrap();
    assert!(filter.contains("malkoha") && !filter.contains("owl"));
}
