//! Filters with values as bytes, files and maps, and merged: every value is kept.

use malkoha::testing::Stream;
use malkoha::{Error, Filter, Kind, Sharded, Spec};

/// A filter with `copies` copies, several of them of one key, so that some are in the stash; and the copies.
fn random(spec: &Spec, copies: u64, stream: &mut Stream) -> (Filter, Vec<(u64, u16)>) {
    let mut filter = spec.build().unwrap();
    let values = 1 << filter.geometry().value_bits();
    let mut stored = Vec::new();
    for i in 0..copies {
        let copy = (if i < 20 { 7 } else { stream.draw() }, stream.below(values) as u16);
        filter.insert_value(&copy.0, copy.1).unwrap();
        stored.push(copy);
    }
    (filter, stored)
}

#[test]
fn files_and_maps_keep_values() {
    let mut stream = Stream::new(1);
    let path = std::env::temp_dir().join(format!("malkoha-values-{}", std::process::id()));
    for kind in Kind::cuckoos() {
        for (width, rate) in [(1, 0.1), (7, 1e-3), (16, 1e-9)] {
            let spec = Spec::new(300, rate).kind(kind).values(width).stash(30);
            let (filter, copies) = random(&spec, 280, &mut stream);
            assert!(filter.stats().stash_size > 0, "{kind}");
            let bytes = filter.to_bytes().unwrap();
            let mut again = Filter::from_bytes(&bytes).unwrap();
            assert!(again == filter && again.to_bytes().unwrap() == bytes, "{kind}");
            filter.save(&path).unwrap();
            if let Some(mapped) = crate::common::map(&path) {
                mapped.verify().unwrap();
                let keys: Vec<u64> = copies.iter().map(|copy| copy.0).chain(0..1000).collect();
                assert_eq!(mapped.get_slice(&keys), filter.get_slice(&keys), "{kind}");
                assert_eq!(mapped.get(&7u64), filter.get(&7u64), "{kind}");
            }
            // A filter with another width of values is different.
            let other = Spec::new(300, rate).kind(kind).values(width % 16 + 1).stash(30).build().unwrap();
            assert_ne!(other.to_bytes().unwrap()[..512], bytes[..512]);
            for (key, value) in copies {
                assert_eq!(again.remove_value(&key, value), Ok(true), "{kind}");
            }
            assert!(again.is_empty(), "{kind}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_merge_keeps_values() {
    let mut stream = Stream::new(2);
    for kind in Kind::cuckoos() {
        for width in [2, 11] {
            let spec = Spec::new(1000, 1e-3).kind(kind).values(width).stash(60);
            let (mut left, mut copies) = random(&spec, 500, &mut stream);
            let (right, more) = random(&spec, 480, &mut stream);
            left.merge(&right).unwrap();
            copies.extend(more);
            assert_eq!(left.len(), copies.len() as u64, "{kind}");
            assert!(Filter::from_bytes(&left.to_bytes().unwrap()).unwrap() == left, "{kind}");
            for (key, value) in copies {
                assert_eq!(left.remove_value(&key, value), Ok(true), "{kind} lost {value} of {key}");
            }
            assert!(left.is_empty(), "{kind}");
        }
    }
}

#[test]
fn a_unique_merge_skips_only_keys_with_the_same_value() {
    for kind in Kind::cuckoos() {
        let spec = Spec::new(100, 1e-6).kind(kind).values(4);
        let (mut left, mut right) = (spec.build().unwrap(), spec.build().unwrap());
        left.insert_value("both", 3).unwrap();
        right.insert_value("both", 3).unwrap();
        left.insert_value("each", 4).unwrap();
        right.insert_value("each", 5).unwrap();
        left.merge_unique(&right).unwrap();
        assert_eq!(&*left.get("both").unwrap(), [3], "{kind}");
        assert_eq!(&*left.get("each").unwrap(), [4, 5], "{kind}");
    }
}

#[test]
fn filters_whose_values_differ_in_width_are_not_merged() {
    for kind in Kind::cuckoos() {
        let spec = Spec::new(100, 0.01).kind(kind).stash(16);
        let mut plain = spec.build().unwrap();
        let (two, three) = (spec.values(2).build().unwrap(), spec.values(3).build().unwrap());
        for other in [&two, &three] {
            let before = plain.clone();
            assert!(matches!(plain.merge(other), Err(Error::Geometries { .. })), "{kind}");
            assert!(plain == before);
        }
        let refused = two.clone().merge(&three).unwrap_err().to_string();
        assert!(refused.contains("value bits (2 and 3)") || refused.contains("places"), "{kind}: {refused}");
    }
}

#[test]
fn sharded_filters_keep_values_from_several_threads_and_in_bytes() {
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Classic(4)] {
        let filter = Spec::new(20_000, 1e-3).kind(kind).values(9).sharded(4).build().unwrap();
        let value = |key: u64| (key * 7 % 512) as u16;
        std::thread::scope(|scope| {
            for keys in [0..10_000u64, 10_000..20_000] {
                let filter = &filter;
                scope.spawn(move || {
                    for key in keys {
                        filter.insert_value(&key, 0).unwrap();
                        assert_eq!(filter.update_value(&key, 0, value(key)), Ok(true));
                    }
                });
            }
        });
        let again = Sharded::from_bytes(&filter.to_bytes().unwrap()).unwrap();
        for key in 0..20_000u64 {
            assert!(again.get(&key).unwrap().contains(&value(key)), "{kind} lost the value of {key}");
            assert_eq!(filter.remove_value(&key, value(key)), Ok(true), "{kind}");
        }
        assert!(filter.is_empty());
        assert_eq!(filter.insert_value(&1u64, 512), Err(Error::Value { got: 512, bits: 9 }));
    }
}
