//! Sizes of sharded filters: uneven shards keep every promise and cost what the documentation says.

use crate::common::scale;
use malkoha::testing::Stream;
use malkoha::{Error, Kind, Sharded, Spec};

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

fn keys(count: u64, stream: u64) -> Vec<u64> {
    let mut stream = Stream::new(stream);
    (0..count).map(|_| stream.draw()).collect()
}

fn check(filter: &Sharded, keys: &[u64]) {
    assert_eq!(filter.len(), keys.len() as u64);
    let lost = filter.contains_slice(keys).into_iter().filter(|found| !found).count();
    assert_eq!(lost, 0, "{filter:?} lost {lost} keys");
}

#[test]
fn uneven_shards_hold_the_planned_keys() {
    for kind in Kind::all() {
        for shards in [1, 2, 7, 64, 1000, 4096] {
            for count in [1, 50, 3_000, 40_000] {
                if kind.is_bloom() && shards > 64 {
                    continue;
                }
                let keys = keys(count, u64::from(shards));
                let filter = Spec::new(count, 0.01).kind(kind).sharded(shards).build_from(&keys);
                check(&filter.unwrap_or_else(|error| panic!("{kind} {shards} {count}: {error}")), &keys);
            }
        }
    }
}

#[test]
fn none_of_many_builds_fails() {
    let builds = scale(200, 20_000);
    for shards in [2, 16, 256] {
        for seed in 0..builds {
            let spec = Spec::new(5_000, 0.004).seed(seed).sharded(shards);
            let filter = spec.build_from(&keys(5_000, seed)).unwrap();
            assert_eq!(filter.stats().insert_failures, 0);
        }
    }
}

#[test]
fn the_promised_rate_holds_in_spite_of_uneven_shards() {
    let strangers: Vec<u64> = keys(scale(600_000, 10_000_000), 99);
    for kind in KINDS {
        for (shards, count) in [(1, 20_000), (8, 20_000), (64, 20_000), (64, 1_000)] {
            let rate = 1.0 / 256.0;
            let spec = Spec::new(count, rate).kind(kind).sharded(shards);
            // Several filters with few keys each, because how uneven the shards of one filter are is fixed.
            let mut found = 0;
            let filters = 4;
            for seed in 0..filters {
                let mut filter = spec.build().unwrap();
                filter.extend(&keys(count, 1000 + seed), 2).unwrap();
                let share = strangers.len() / filters as usize;
                let asked = &strangers[seed as usize * share..][..share];
                found += filter.contains_slice(asked).into_iter().filter(|found| *found).count();
            }
            let expected = strangers.len() as f64 * rate;
            let most = expected + 4.0 * expected.sqrt();
            assert!(
                (found as f64) < most,
                "{kind} {shards} {count}: {found} false positives, at most {most}"
            );
            let predicted = spec.plan().unwrap().predicted_rate(count);
            assert!(predicted <= rate, "{kind} {shards} {count}: {predicted}");
        }
    }
}

#[test]
fn the_price_of_shards_is_what_the_documentation_says() {
    let price_of = |keys, kind, shards| {
        let spec = Spec::new(keys, 2f64.powi(-10)).kind(kind).sharded(shards);
        let (bits, whole) =
            (spec.plan().unwrap().bits_per_key(), spec.whole().plan().unwrap().bits_per_key());
        println!(
            "{kind:<12} {shards:>4} shards: {bits:.3} bits per key, {:+.2} %",
            100.0 * (bits / whole - 1.0)
        );
        bits / whole
    };
    let price = |kind, shards| price_of(1_000_000, kind, shards);
    assert!(
        (1.005..1.007).contains(&price_of(100_000_000, Kind::Sorted, 64)),
        "a tenth of that at 10^8 keys"
    );
    let prices = [(1, 1.0, 1.0), (2, 1.004, 1.008), (8, 1.013, 1.022), (64, 1.050, 1.065)];
    for (shards, least, most) in prices {
        for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Flexible(4)] {
            let price = price(kind, shards);
            assert!((least..=most).contains(&price), "{kind} {shards}: {price}");
        }
        for kind in [Kind::Bloom, Kind::Blocked(1), Kind::Blocked(2)] {
            let price = price(kind, shards);
            assert!((0.999..=1.006).contains(&price), "{kind} {shards}: {price}");
        }
    }
}

#[test]
fn the_geometry_has_the_real_allocation() {
    for kind in KINDS {
        let filter = Spec::new(10_000, 1e-3).kind(kind).sharded(5).build().unwrap();
        assert_eq!(filter.stats().memory_bytes, filter.geometry().bytes(), "{kind}");
        assert!(filter.geometry().capacity() >= 10_000);
    }
}

#[test]
fn two_of_keys_rate_and_memory_give_the_third() {
    for kind in KINDS {
        for shards in [1, 8, 100] {
            let bytes = 1_000_000;
            let geometry = Spec::rate_in_memory(1e-3, bytes).kind(kind).sharded(shards).plan().unwrap();
            assert!(geometry.bytes() <= bytes, "{kind} {shards}");
            let keys = geometry.keys();
            let again = Spec::new(keys, 1e-3).kind(kind).sharded(shards).plan().unwrap();
            assert!(again.bytes() <= bytes, "{kind} {shards}");
            let more = keys + keys / 50 + 8 * u64::from(shards);
            let more = Spec::new(more, 1e-3).kind(kind).sharded(shards).plan().unwrap();
            assert!(more.bytes() > bytes, "{kind} {shards}: 2 % more keys would fit too");
            let rate = Spec::keys_in_memory(keys, bytes).kind(kind).sharded(shards).plan().unwrap();
            assert!(rate.bytes() <= bytes && rate.rate() <= 1e-3, "{kind} {shards}: {}", rate.rate());
        }
    }
}

#[test]
fn impossible_specs_are_refused() {
    let spec = Spec::new(1000, 0.01);
    for got in [0, 4097, u32::MAX] {
        let refused = spec.sharded(got).plan().unwrap_err();
        assert_eq!(refused, Error::Shards { got, most: 4096 });
        assert!(refused.to_string().contains("ask for 1 to 4096"));
    }
    assert_eq!(Spec::new(0, 0.01).sharded(8).plan().unwrap_err(), Error::NoKeys);
    assert_eq!(Spec::new(9, 2.0).sharded(8).plan().unwrap_err(), Error::Rate { got: 2.0 });
    let small = Spec::keys_in_memory(1000, 100).sharded(8).plan().unwrap_err();
    assert!(matches!(small, Error::Memory { bytes: 100, least } if least >= 8 * 64), "{small}");
    let small = Spec::rate_in_memory(0.001, 100).growing().sharded(8).plan().unwrap_err();
    assert!(matches!(small, Error::Memory { bytes: 100, least } if least >= 8 * 64), "{small}");
}

#[test]
fn shards_count_against_the_bits_of_a_hash() {
    // 2^40 keys at 2^-20 need 61 or 62 bits; drawing one of 4096 shards first must not invent bits.
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Blocked(2)] {
        for shards in [1, 64, 4096] {
            let keys = 1 << 40;
            let geometry = Spec::new(keys, 2f64.powi(-17)).kind(kind).sharded(shards).plan().unwrap();
            assert!(geometry.predicted_rate(keys) <= 2f64.powi(-17), "{kind} {shards}");
            let refused = Spec::new(keys, 2f64.powi(-26)).kind(kind).sharded(shards).plan().unwrap_err();
            assert!(matches!(refused, Error::HashBits { needed: 65.. }), "{kind} {shards}: {refused}");
        }
    }
    let widest = Spec::keys_in_memory(1 << 30, 1 << 50).sharded(4096).plan().unwrap();
    let layout = *widest.shard().cuckoo().unwrap();
    let bits = 12.0 + (layout.places() as f64).log2() + (layout.fingerprints() as f64).log2();
    assert!((62.0..=64.0).contains(&bits), "{bits}");
}

#[test]
fn growing_shards_of_bloom_kinds_are_refused() {
    let refused = Spec::new(1000, 0.01).kind(Kind::Bloom).growing().sharded(4).plan().unwrap_err();
    assert!(refused.to_string().contains("do not grow; plan for the keys that will come"), "{refused}");
}

#[test]
fn shards_that_grow_begin_small_and_keep_the_whole_promise() {
    let one = Spec::rate(0.001).plan().unwrap();
    for shards in [1, 16, 100, 4096] {
        let geometry = Spec::rate(0.001).sharded(shards).plan().unwrap();
        assert_eq!(geometry.bytes(), u64::from(shards) * geometry.shard().bytes());
        assert!(geometry.is_growing() && geometry.kind() == Kind::Elastic && geometry.rate() == 0.001);
        // A shard has fewer bits of the hash, but also fewer keys.
        assert!(geometry.capacity() >= one.capacity() / 2, "{shards}: {}", geometry.capacity());
        assert!(geometry.predicted_rate(geometry.capacity()) <= 0.001);
        for keys in [1, 1000, 1_000_000] {
            let planned = Spec::new(keys, 0.001).growing().sharded(shards).plan().unwrap();
            assert_eq!(planned.keys(), keys);
            let most = Spec::rate(0.001).most_keys(keys).sharded(shards).plan().unwrap();
            assert!(most.capacity() >= keys, "{shards} {keys}: {}", most.capacity());
            let bits = |geometry: &malkoha::Geometry| geometry.elastic().unwrap().fingerprint_bits(0);
            assert!(bits(most.shard()) <= bits(geometry.shard()));
        }
    }
    let refused = Spec::keys_in_memory(1000, 1 << 20).growing().sharded(4).plan().unwrap_err();
    assert!(refused.to_string().contains("give it a rate"), "{refused}");
    // What a hash can just carry in one filter, it cannot carry after it has drawn a shard.
    let rate = 2f64.powi(-31);
    let keys = |shards| Spec::rate(rate).sharded(shards).plan().map(|geometry| geometry.shard().capacity());
    // It has twelve bits less. Three of them come back, because a promise for fewer levels needs shorter fingerprints.
    assert!(keys(4096).unwrap() <= keys(1).unwrap() / 512, "{:?} {:?}", keys(1), keys(4096));
}
