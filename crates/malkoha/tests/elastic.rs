//! Elastic filters: no key is lost, whatever is stored, removed, merged or saved; the rate is as predicted, and below
//! the promise.

use std::collections::HashMap;

use crate::common::{in_parallel, scale};
use malkoha::testing::{Model, Stream, exercise};
use malkoha::{Error, Filter, Full, Inserted, KeyHash, Kind, Offsets, Spec};

/// The number of keys found that were never stored. (They are random: hashes of consecutive numbers are not
/// independent, so that the number found would vary more than that of independent lookups.)
fn strangers_found(filter: &Filter, strangers: u64) -> u64 {
    let mut stream = Stream::new(strangers);
    let mut found = 0;
    for first in (0..strangers).step_by(1 << 16) {
        let keys = (first..strangers.min(first + (1 << 16))).map(|_| stream.draw() | 1 << 63);
        let answers = filter.contains_slice(&keys.collect::<Vec<_>>());
        found += answers.into_iter().filter(|found| *found).count() as u64;
    }
    found
}

/// Whether so many are found, or more, as often as four standard deviations are exceeded where many are expected. (Few
/// that are found are as lookups in random order, and a bell is no picture of them: 5 where 0.86 are expected is beyond
/// four deviations, and happens once in 500 times.)
fn is_likely(found: u64, expected: f64) -> bool {
    const FOUR_DEVIATIONS: f64 = 3.2e-5;
    if expected > 30.0 || (found as f64) < expected {
        return false;
    }
    let (mut chance, mut fewer) = ((-expected).exp(), 0.0);
    for i in 0..found {
        fewer += chance;
        chance *= expected / (i + 1) as f64;
    }
    1.0 - fewer >= FOUR_DEVIATIONS
}

#[test]
fn few_strangers_are_judged_by_their_own_distribution() {
    assert!(is_likely(5, 0.8552) && is_likely(1, 0.001) && is_likely(40, 20.0));
    assert!(!is_likely(8, 0.8552) && !is_likely(2, 0.001) && !is_likely(60, 20.0));
    assert!(!is_likely(1, 5.0), "too few are judged by the deviation alone");
}

/// Checks the rate of a filter against its prediction and its promise.
fn check_rate(filter: &Filter, strangers: u64) {
    let (stats, found) = (filter.stats(), strangers_found(filter, strangers));
    let expected = stats.predicted_rate * strangers as f64;
    // Lookups are random, and so is how many of the stored keys look alike: n keys at rate r have n r / 2 such pairs,
    // give or take the square root.
    let alike = stats.predicted_rate.powi(3) / (2.0 * stats.items.max(1) as f64) * (strangers as f64).powi(2);
    let sigma = (expected + alike).sqrt().max(1.0);
    let is_near = (found as f64 - expected).abs() <= 4.0 * sigma || is_likely(found, expected);
    assert!(is_near, "{found} found, {expected} expected, of {stats}");
    assert!(stats.predicted_rate <= stats.promised_rate, "{stats}");
}

#[test]
fn grown_through_twelve_doublings_it_keeps_every_key_and_its_promise() {
    let (to, strangers) = (scale(300_000, 20_000_000), scale(300_000, 20_000_000));
    let rates = [0.1, 0.01, 0.001, 1e-5, 2f64.powi(-24)];
    in_parallel(rates, |rate| {
        let mut filter = Spec::rate(rate).build().unwrap();
        let (mut live, mut next, mut stream) = (Vec::new(), 0u64, Stream::new(7));
        let mut check_at = 64;
        while (live.len() as u64) < to {
            for _ in 0..3 {
                filter.insert(&next).unwrap();
                live.push(next);
                next += 1;
            }
            let key = live.swap_remove(stream.below(live.len() as u64) as usize);
            assert_eq!(filter.remove(&key), Ok(true), "{filter:?} lost {key}");
            if live.len() > check_at {
                check_at *= 2;
                assert_eq!(filter.len(), live.len() as u64);
                assert!(filter.contains_slice(&live).into_iter().all(|found| found), "{filter:?}");
                check_rate(&filter, strangers);
            }
        }
        let grown = filter.stats();
        assert!(grown.growth.unwrap().steps > 100, "{grown}");
        let empty = Spec::rate(rate).build().unwrap();
        // Every key can be removed again, in any order, and the memory is given back on the way, unless many entries ran
        // out of bits: short fingerprints that became several entries leave some behind.
        let gives_back = rate < 0.01 || to < 1_000_000;
        for (i, key) in live.iter().enumerate().rev() {
            assert_eq!(filter.remove(key), Ok(true), "{rate}: lost {key}");
            if i == live.len() / 64 {
                assert!(filter.contains_slice(&live[..i]).into_iter().all(|found| found));
                let part = if gives_back { 16 } else { 4 };
                assert!(filter.stats().memory_bytes < grown.memory_bytes / part, "{}", filter.stats());
                check_rate(&filter, strangers);
            }
        }
        assert!(filter == empty, "{rate}: {}", filter.stats());
    });
}

#[test]
fn random_histories_lose_nothing() {
    let steps = scale(20_000, 20_000_000);
    let specs =
        [0.3, 0.01, 1e-6].into_iter().flat_map(|rate| [Spec::rate(rate), Spec::new(3000, rate).growing()]);
    in_parallel(specs, |spec| {
        let mut filter = spec.build().unwrap();
        let mut stream = Stream::new(filter.geometry().bytes());
        assert_eq!(exercise(&mut filter, u64::MAX, steps, &mut stream), 0, "nothing is refused");
        // Few distinct keys: many copies, and many keys that look alike.
        filter.clear();
        assert_eq!(exercise(&mut filter, 300, steps, &mut stream), 0);
    });
}

#[test]
fn a_key_can_be_stored_a_thousand_times() {
    let mut filter = Spec::rate(0.001).build().unwrap();
    let mut model = Model::default();
    for round in 0..1000u64 {
        filter.insert("egg").unwrap();
        for key in 20 * round..20 * (round + 1) {
            filter.insert(&key).unwrap();
            model.store(key);
        }
    }
    assert!(filter.count("egg").unwrap() >= 1000);
    let again = Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
    assert!(again == filter);
    for _ in 0..1000 {
        assert_eq!(filter.remove("egg"), Ok(true));
    }
    assert_eq!(filter.remove("egg"), Ok(false));
    model.check(&filter);
    assert!(filter.stats().growth.unwrap().overflow < 5, "no copies are left behind");
}

/// An enemy who knows the hashes gives all keys the same first bits: they share a region, and a place in it.
#[test]
fn chosen_hashes_cost_memory_but_no_key() {
    for shared in [2, 8, 20, 40] {
        let mut filter = Spec::rate(0.001).build().unwrap();
        let mut stream = Stream::new(shared);
        let hashes: Vec<KeyHash> =
            (0..scale(20_000, 500_000)).map(|_| KeyHash::from_raw(stream.draw() >> shared)).collect();
        for hash in &hashes {
            filter.insert(hash).unwrap();
        }
        let honest: Vec<u64> = (0..20_000).collect();
        filter.insert_slice(&honest).unwrap();
        assert!(filter.contains_slice(&hashes).into_iter().all(|found| found), "{shared} bits shared");
        let bytes = filter.to_bytes().unwrap();
        assert!(Filter::from_bytes(&bytes).unwrap() == filter);
        let bits = filter.stats().memory_bytes * 8 / filter.len();
        assert!(bits < 800, "{bits} bits a key with {shared} bits shared");
        assert_eq!(filter.remove_slice(&hashes), Ok(hashes.len()));
        assert!(filter.contains_slice(&honest).into_iter().all(|found| found));
        assert_eq!(filter.remove_slice(&honest), Ok(honest.len()));
    }
}

/// At a high rate, the first keys run out of bits after eight doublings. They become two entries.
#[test]
fn entries_without_bits_are_still_found_and_removed() {
    let mut filter = Spec::rate(0.3).build().unwrap();
    let keys: Vec<u64> = (0..scale(400_000, 10_000_000)).collect();
    for key in &keys {
        filter.insert(key).unwrap();
    }
    let entries: u64 = filter.fingerprint_lengths().iter().map(|(_, entries)| entries).sum();
    assert!(entries > filter.len(), "some keys have two entries");
    assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    check_rate(&filter, scale(300_000, 10_000_000));
    // The oldest keys first, one by one.
    let (old, young) = keys.split_at(20_000);
    assert_eq!(filter.remove_slice(old), Ok(old.len()));
    assert!(filter.contains_slice(young).into_iter().all(|found| found));
    check_rate(&filter, scale(300_000, 10_000_000));
    assert_eq!(filter.remove_slice(young), Ok(young.len()));
    assert!(filter.is_empty() && filter.fingerprint_lengths().is_empty());
}

#[test]
fn bulk_inserts_store_what_single_inserts_store_on_any_number_of_threads() {
    for (keys, rate) in [(5_000, 0.01), (300_000, 0.001), (scale(1_200_000, 30_000_000), 1e-5)] {
        let keys: Vec<u64> = (0..keys).collect();
        let (some, more) = keys.split_at(keys.len() / 3);
        let build = |threads| {
            let mut filter = Spec::rate(rate).build().unwrap();
            filter.insert_slice(&some[..some.len() / 2]).unwrap();
            filter.extend(&some[some.len() / 2..], threads).unwrap();
            assert_eq!(
                filter.extend_unique(&keys, threads).unwrap() as usize + some.len(),
                filter.len() as usize
            );
            filter
        };
        let mut filter = build(2);
        assert!(build(1) == filter, "the number of threads does not matter");
        assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
        let seen = more.len() as u64 + some.len() as u64 - filter.len();
        assert!(
            seen as f64 <= 2.0 * rate * keys.len() as f64 + 10.0,
            "{seen} of {} keys were left out",
            keys.len()
        );
        check_rate(&filter, scale(300_000, 10_000_000));
        let mut single = Spec::rate(rate).build().unwrap();
        for key in &keys {
            single.insert(key).unwrap();
        }
        let bits = |filter: &Filter| filter.stats().memory_bytes as f64 * 8.0 / filter.len() as f64;
        assert!(bits(&filter) < 1.2 * bits(&single), "{} and {} bits a key", bits(&filter), bits(&single));
        assert_eq!(filter.remove_slice(some), Ok(some.len()));
        let built = Spec::rate(rate).build_from(&keys).unwrap();
        assert!(
            built.len() == keys.len() as u64 && built.contains_slice(&keys).into_iter().all(|found| found)
        );
    }
}

#[test]
fn filters_of_any_two_sizes_and_ages_are_merged() {
    let steps = scale(1, 10);
    in_parallel([(0, 1000), (500, 60_000), (60_000, 500), (40_000, 50_000), (200_000, 3)], |(one, two)| {
        for rate in [0.2, 0.001] {
            let build = |keys: core::ops::Range<u64>| {
                let mut filter = Spec::rate(rate / 2.0).build().unwrap();
                keys.for_each(|key| filter.insert(&key).unwrap());
                filter
            };
            let (mut first, second) = (build(0..one * steps), build(1 << 40..(1 << 40) + two * steps));
            let rates = first.stats().predicted_rate + second.stats().predicted_rate;
            first.merge(&second).unwrap();
            assert_eq!(first.len(), (one + two) * steps);
            assert!((0..one * steps).all(|key| first.contains(&key)));
            assert!((1 << 40..(1 << 40) + two * steps).all(|key| first.contains(&key)));
            assert!((first.geometry().rate() - rate).abs() < 1e-12, "the promises add up");
            let merged = first.stats().predicted_rate;
            assert!(merged <= rates * 1.001 && merged >= rates * 0.85, "{merged} and {rates}");
            check_rate(&first, scale(300_000, 10_000_000));
            let again = Filter::from_bytes(&first.to_bytes().unwrap()).unwrap();
            assert!(again == first);
            for key in (1 << 40)..(1 << 40) + two * steps {
                assert_eq!(first.remove(&key), Ok(true), "{one} and {two} keys: lost {key}");
            }
            assert!((0..one * steps).all(|key| first.contains(&key)));
        }
    });
}

/// One filter has regions that were split, where the other has one region. Copies of a key stay copies.
#[test]
fn filters_with_split_regions_are_merged() {
    in_parallel([(1_000_000, 30_000), (30_000, 1_000_000), (500_000, 700_000)], |(one, two)| {
        let keys =
            [0..one, 1 << 40..(1 << 40) + two].map(|keys: core::ops::Range<u64>| keys.collect::<Vec<_>>());
        let spec = Spec::rate(0.001);
        let [mut first, mut second] = keys.each_ref().map(|keys| spec.build_from(keys).unwrap());
        second.insert_slice(&[7u64; 30]).unwrap();
        let rates = first.stats().predicted_rate + second.stats().predicted_rate;
        first.merge(&second).unwrap();
        assert_eq!(first.len(), one + two + 30);
        assert_eq!(first.count(&7u64), Ok(31));
        let merged = first.stats().predicted_rate;
        assert!(merged <= rates * 1.001 && merged >= rates * 0.85, "{merged} and {rates}");
        assert!(Filter::from_bytes(&first.to_bytes().unwrap()).unwrap() == first);
        assert_eq!(first.remove_slice(&keys[1]), Ok(keys[1].len()), "{one} and {two} keys: a key is lost");
        assert!(first.contains_slice(&keys[0]).into_iter().all(|found| found));
        assert_eq!(first.len(), one + 30);
    });
}

#[test]
fn merges_keep_copies_and_leave_out_what_is_known_if_asked() {
    let spec = Spec::rate(1e-6);
    let (mut day, mut night) = (spec.build().unwrap(), Spec::new(10_000, 1e-6).growing().build().unwrap());
    let keys: Vec<u64> = (0..3000).collect();
    day.insert_slice(&keys[..2000]).unwrap();
    night.insert_slice(&keys[1000..]).unwrap();
    let mut unique = day.clone();
    unique.merge_unique(&night).unwrap();
    assert_eq!(unique.len(), 3000);
    day.merge(&night).unwrap();
    assert_eq!((day.len(), day.count(&1500u64)), (4000, Ok(2)));
    // Old, short entries merged into a filter with longer ones: a key is left out only if it is found without it.
    let mut old = Spec::rate(0.001).build().unwrap();
    let keys: Vec<u64> = (0..scale(200_000, 2_000_000)).collect();
    for key in &keys {
        old.insert(key).unwrap();
    }
    let others: Vec<u64> = keys.iter().map(|key| key | 1 << 40).collect();
    let mut young = Spec::new(others.len() as u64, 0.001).growing().build_from(&others).unwrap();
    young.merge_unique(&old).unwrap();
    assert!(young.contains_slice(&keys).into_iter().all(|found| found), "keys of the merged filter are lost");
    assert!(young.contains_slice(&others).into_iter().all(|found| found));
    assert!(young.len() < 2 * keys.len() as u64, "some were left out");
    let other_seed = spec.seed(1).build().unwrap();
    let before = day.clone();
    assert!(matches!(day.merge(&other_seed), Err(Error::Geometries { .. })));
    assert!(matches!(day.merge(&spec.values(3).build().unwrap()), Err(Error::Geometries { .. })));
    assert!(matches!(day.merge(&Spec::new(100, 0.01).build().unwrap()), Err(Error::Growing { .. })));
    assert!(day == before);
}

/// Merging a filter with itself doubles its copies, so few merges lead to the most that are counted.
#[test]
fn copies_beyond_the_most_that_are_counted_are_refused() {
    let mut filter = Spec::rate(0.01).build().unwrap();
    filter.insert("egg").unwrap();
    while filter.merge(&filter.clone()).is_ok() {}
    assert_eq!(filter.len(), 1 << 62);
    let full = filter.clone();
    let keys: Vec<u64> = (0..5000).collect();
    assert_eq!(filter.insert("egg"), Err(Full));
    assert_eq!(filter.insert_unique("owl"), Err(Full));
    assert_eq!(filter.insert_slice(&keys).map_err(|refused| refused.first()), Err(0));
    assert_eq!((filter.extend(&keys, 2), filter.extend_unique(&keys, 2)), (Err(Full), Err(Full)));
    let one = Spec::rate(0.01).build_from(&keys[..1]).unwrap();
    assert!(matches!(filter.merge(&one), Err(Error::MergeFull { room: 0, left_over: 1, .. })));
    assert!(filter == full && Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap() == full);
    assert_eq!(filter.remove("egg"), Ok(true));
    assert_eq!(filter.insert("owl"), Ok(()));
    assert!(filter.contains("egg") && filter.contains("owl"));
}

/// A multimap as the model: every value of every key.
#[test]
fn values_stay_with_their_keys() {
    in_parallel([(1, 0.01), (6, 0.001), (16, 1e-6)], |(bits, rate)| {
        let mut filter = Spec::rate(rate).values(bits).build().unwrap();
        let mut model: HashMap<u64, Vec<u16>> = HashMap::new();
        let mut stream = Stream::new(u64::from(bits));
        for step in 0..scale(60_000, 3_000_000) {
            let key = stream.below(20_000);
            let value = stream.below(1 << bits) as u16;
            let values = model.entry(key).or_default();
            match stream.below(4) {
                0 if !values.is_empty() => {
                    let gone = values.swap_remove(stream.below(values.len() as u64) as usize);
                    assert_eq!(filter.remove_value(&key, gone), Ok(true), "step {step}: lost {key}");
                }
                1 if !values.is_empty() => {
                    let at = stream.below(values.len() as u64) as usize;
                    assert_eq!(filter.update_value(&key, values[at], value), Ok(true), "step {step}");
                    values[at] = value;
                }
                _ => {
                    filter.insert_value(&key, value).unwrap();
                    values.push(value);
                }
            }
        }
        let check = |filter: &Filter| {
            for (key, values) in &model {
                let mut found = filter.get(key).unwrap().to_vec();
                for value in values {
                    let at = found.iter().position(|found| found == value);
                    found.swap_remove(at.unwrap_or_else(|| panic!("{key} has lost its value {value}")));
                }
            }
        };
        check(&filter);
        assert_eq!(filter.len(), model.values().map(|values| values.len() as u64).sum());
        let mut again = Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
        assert!(again == filter);
        let mut other = Spec::rate(rate).values(bits).build().unwrap();
        other.insert_value("egg", 1).unwrap();
        again.merge(&other).unwrap();
        check(&again);
        assert!(again.get("egg").unwrap().contains(&1));
    });
}

#[test]
fn equal_histories_give_equal_bytes() {
    let build = || {
        let mut filter = Spec::rate(0.01).build().unwrap();
        (0..30_000u64).for_each(|key| filter.insert(&(key % 20_000)).unwrap());
        filter.remove_slice(&(0..9_000u64).collect::<Vec<_>>()).unwrap();
        filter.to_bytes().unwrap()
    };
    assert!(build() == build());
}

#[test]
fn saved_opened_and_mapped_it_answers_the_same() {
    let folder = std::env::temp_dir().join(format!("malkoha-elastic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("filter");
    let keys: Vec<u64> = (0..300_000).collect();
    let mut filter = Spec::rate(0.001).build_from(&keys[..200_000]).unwrap();
    (0..50).for_each(|_| filter.insert(&7u64).unwrap());
    filter.save(&path).unwrap();
    assert!(Filter::open(&path).unwrap() == filter);
    let mapped = crate::common::try_map(&path).unwrap();
    assert_eq!(mapped.contains_slice(&keys), filter.contains_slice(&keys));
    assert_eq!((mapped.len(), mapped.count(&7u64)), (filter.len(), filter.count(&7u64)));
    let (there, here) = (mapped.stats(), filter.stats());
    assert_eq!((there.predicted_rate, there.slots, there.load), (here.predicted_rate, here.slots, here.load));
    mapped.verify().unwrap();
    assert!(mapped.load().unwrap() == filter);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(crate::common::try_map(&path).unwrap().verify(), Err(Error::Corrupt { .. })));
    assert!(matches!(Filter::open(&path), Err(Error::Corrupt { .. })));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn small_filters_are_small_and_large_ones_keep_the_price() {
    let mut filter = Spec::rate(0.001).build().unwrap();
    assert!(filter.stats().memory_bytes < 1500, "{}", filter.stats());
    let mut worst: f64 = 0.0;
    let (mut sum, mut count, mut next) = (0.0, 0u32, 1e5);
    for key in 0..scale(1_000_000, 100_000_000) {
        filter.insert(&key).unwrap();
        if key == 999 {
            assert!(filter.stats().memory_bytes <= 4096, "{}", filter.stats());
        }
        if key as f64 >= next {
            next *= 2f64.powf(0.1);
            let bits = filter.stats().memory_bytes as f64 * 8.0 / filter.len() as f64;
            (sum, count, worst) = (sum + bits, count + 1, worst.max(bits));
        }
    }
    assert!(sum / f64::from(count) <= 20.5, "{} bits a key on average", sum / f64::from(count));
    assert!(worst <= 22.0, "{worst} bits a key");
}

#[test]
fn the_interface_is_that_of_every_filter() {
    let mut filter = Spec::rate(0.001).build().unwrap();
    assert!(filter.geometry().is_growing() && filter.geometry().kind() == Kind::Elastic);
    assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Stored));
    assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Seen));
    assert_eq!(filter.remove("egg"), Ok(true));
    assert_eq!(filter.remove("egg"), Ok(false));
    let stats = filter.stats();
    assert!(stats.grows && stats.to_string().contains("regions          4"), "{stats}");
    for spec in
        [Spec::rate(0.001).load(0.5), Spec::rate(0.001).stash(3), Spec::rate(0.001).offsets(Offsets::Whole)]
    {
        assert!(matches!(spec.plan(), Err(Error::Option { .. })));
    }
    assert!(matches!(
        Spec::new(100, 0.01).kind(Kind::Windowed(2)).growing().plan(),
        Err(Error::Option { .. })
    ));
    assert!(
        matches!(Spec::rate(0.001).kind(Kind::Sorted).plan(), Ok(geometry) if geometry.kind() == Kind::Elastic)
    );
    assert!(matches!(Spec::rate(1.5).plan(), Err(Error::Rate { .. })));
    assert!(matches!(Spec::new(0, 0.01).growing().plan(), Err(Error::NoKeys)));
    assert!(matches!(Spec::keys_in_memory(100, 4000).growing().plan(), Err(Error::Option { .. })));
    let in_memory = Spec::rate_in_memory(0.001, 1 << 20).growing().plan().unwrap();
    assert!(in_memory.bytes() <= 1 << 20 && in_memory.keys() > 200_000, "{in_memory:?}");
    let bloom = Spec::rate(0.01).kind(Kind::Bloom).build().unwrap();
    assert!(bloom.geometry().is_growing());
}
