//! Key formats: kept in every file and through growth, and never contradicted.

use crate::common;

use malkoha::testing::build_chain;
use malkoha::{Error, Filter, Generations, KeyFormat, Kind, Sharded, Spec};

const SAID: [KeyFormat; 4] =
    [KeyFormat::Bytes, KeyFormat::U64, KeyFormat::Kmers { k: 31 }, KeyFormat::Kmers { k: 4096 }];

/// Every kind with every format, to bytes and back. Nothing but the header depends on the format.
#[test]
fn formats_are_kept_and_change_nothing_else() {
    common::in_parallel(Kind::all(), |kind| {
        let spec = Spec::new(500, 0.01).kind(kind);
        let keys: Vec<u64> = (0..500).collect();
        let plain = spec.build_from(&keys).unwrap();
        assert_eq!(plain.geometry().key_format(), KeyFormat::Any);
        let bytes = plain.to_bytes().unwrap();
        assert_eq!(bytes[8..12], [1, 0, 0, 0], "{kind}: without a key format the version is 1");
        assert!(spec.key_format(KeyFormat::Any).build_from(&keys).unwrap() == plain);
        for format in SAID {
            let filter = spec.key_format(format).build_from(&keys).unwrap();
            assert_eq!(filter.geometry().key_format(), format);
            assert!(filter != plain, "{kind}: the key format counts");
            let said = filter.to_bytes().unwrap();
            assert_eq!(said[8..12], [2, 0, 0, 0], "{kind} {format}");
            assert_eq!(said.len(), bytes.len());
            let differs = |at: &usize| said[*at] != bytes[*at];
            let header: Vec<usize> = (0..504).filter(differs).map(|at| at / 8 * 8).collect();
            assert!(header.iter().all(|at| [8, 88, 96].contains(at)), "{kind} {format}: {header:?}");
            let end = bytes.len() - 8;
            let table = bytes.len() - 64 - usize::try_from(filter.geometry().bytes()).unwrap();
            assert!(said[table..end] == bytes[table..end], "{kind} {format}: the table is the same");
            let again = Filter::from_bytes(&said).unwrap();
            assert!(again == filter && again.geometry().key_format() == format, "{kind} {format}");
            assert!(format!("{again:?}").contains(&format!("key_format: {format}")), "{again:?}");
            assert!(again.contains(&17u64) && again.contains_slice(&keys).into_iter().all(|found| found));
        }
    });
}

#[test]
fn words_of_zero_or_excessive_length_are_refused() {
    for k in [0, 4097, u32::MAX] {
        let spec = Spec::new(100, 0.01).key_format(KeyFormat::Kmers { k });
        let expected = Error::WordLength { got: k, most: 4096 };
        assert_eq!(spec.plan(), Err(expected.clone()));
        assert_eq!(spec.growing().plan(), Err(expected.clone()));
        assert_eq!(spec.kind(Kind::Bloom).plan(), Err(expected.clone()));
        assert_eq!(spec.sharded(2).plan(), Err(expected.clone()));
        assert_eq!(Generations::of_keys(&spec, 3), Err(expected));
    }
}

#[test]
fn formats_stay_while_filters_grow_and_are_rebuilt() {
    for format in SAID {
        let keys: Vec<u64> = (0..3000).collect();
        for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Bloom, Kind::Blocked(2)] {
            let spec = Spec::new(100, 1e-4).kind(kind).key_format(format);
            let mut grown = build_chain(&spec).unwrap();
            grown.insert_slice(&keys).unwrap();
            assert!(grown.stats().links.len() > 3);
            let bytes = grown.to_bytes().unwrap();
            assert_eq!(bytes[8..12], [2, 0, 0, 0], "{kind} {format}");
            let mut again = Filter::from_bytes(&bytes).unwrap();
            assert!(again == grown && again.geometry().key_format() == format, "{kind} {format}");
            for key in 3000..9000u64 {
                grown.insert(&key).unwrap();
                again.insert(&key).unwrap();
            }
            assert!(again == grown && again.to_bytes().unwrap() == grown.to_bytes().unwrap());
            let rebuilt = again.rebuild_from(&keys, 4000).unwrap();
            assert_eq!(rebuilt.geometry().key_format(), format, "{kind} {format}");
            again.clear();
            assert_eq!(again.geometry().key_format(), format, "{kind} {format}");
        }
        let mut doubled = Spec::new(3000, 1e-4).key_format(format).build_from(&keys).unwrap();
        doubled.double().unwrap();
        assert_eq!(doubled.geometry().key_format(), format);
        assert!(Filter::from_bytes(&doubled.to_bytes().unwrap()).unwrap() == doubled);
    }
}

#[test]
fn windows_and_sharded_filters_keep_their_formats() {
    for format in SAID {
        let spec = Spec::new(300, 0.01).key_format(format);
        let mut window = Generations::of_keys(&spec, 4).unwrap();
        (0..1000u64).for_each(|key| window.insert(&key).unwrap());
        let bytes = window.to_bytes().unwrap();
        let again = Generations::from_bytes(&bytes).unwrap();
        assert_eq!((bytes[8], window.key_format(), again.key_format()), (2, format, format));
        assert!(again == window);
        assert!(again.generations().all(|filter| filter.geometry().key_format() == format));

        let sharded = spec.sharded(3).build().unwrap();
        (0..300u64).for_each(|key| sharded.insert(&key).unwrap());
        let bytes = sharded.to_bytes().unwrap();
        let again = Sharded::from_bytes(&bytes).unwrap();
        assert_eq!((bytes[8], again.geometry().key_format()), (2, format));
        assert!(again == sharded);
    }
}

/// The format of two filters joined together.
fn united(one: KeyFormat, other: KeyFormat) -> Option<KeyFormat> {
    if one == KeyFormat::Any || one == other { Some(other) } else { (other == KeyFormat::Any).then_some(one) }
}

/// Checks that the error names both formats.
fn check_refusal(error: &Error, one: KeyFormat, other: KeyFormat) {
    assert!(matches!(error, Error::Geometries { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains(&format!("key formats ({one} and {other})")), "{said}");
}

#[test]
fn filters_of_different_formats_are_not_merged() {
    let formats = || SAID.into_iter().chain([KeyFormat::Any]);
    for kind in [Kind::Sorted, Kind::Classic(4), Kind::Bloom, Kind::Blocked(2)] {
        let spec = Spec::new(500, 1e-4).kind(kind);
        for (one, other) in formats().flat_map(|one| formats().map(move |other| (one, other))) {
            let left = spec.key_format(one).build_from(&(0..200u64).collect::<Vec<_>>()).unwrap();
            let right = spec.key_format(other).build_from(&(200..400u64).collect::<Vec<_>>()).unwrap();
            let (mut all, mut unique) = (left.clone(), left.clone());
            let (merged, merged_unique) = (all.merge(&right), unique.merge_unique(&right));
            let Some(format) = united(one, other) else {
                check_refusal(&merged.unwrap_err(), one, other);
                check_refusal(&merged_unique.unwrap_err(), one, other);
                assert!(all == left && unique == left);
                check_refusal(&left.merge_into_chain(&[&right]).unwrap_err(), one, other);
                check_refusal(&left.merge_into_larger(&[&right]).unwrap_err(), one, other);
                continue;
            };
            merged.and(merged_unique).unwrap();
            let mut results = vec![all, unique];
            if kind.is_signed() {
                results.push(left.merge_into_larger(&[&right]).unwrap());
            }
            if kind.is_signed() || kind.is_bloom() {
                let chain = left.merge_into_chain(&[&right]).unwrap();
                // A chain without a format, and one with it.
                let third = spec.key_format(format).build().unwrap();
                results.extend([chain.merge_into_chain(&[&third]).unwrap(), chain]);
            }
            for result in results {
                assert_eq!(result.geometry().key_format(), format, "{kind}: {one} and {other}");
                assert!((0..400u64).all(|key| result.contains(&key)), "{kind}: {one} and {other}");
                let bytes = result.to_bytes().unwrap();
                assert!(Filter::from_bytes(&bytes).unwrap() == result, "{kind}: {one} and {other}");
            }
        }
    }
}

/// A filter without a format cannot join two filters whose formats contradict each other.
#[test]
fn a_filter_without_a_format_does_not_reconcile_two_others() {
    let spec = Spec::new(500, 1e-4);
    let [silent, bytes, numbers] = [KeyFormat::Any, KeyFormat::Bytes, KeyFormat::U64]
        .map(|format| spec.key_format(format).build_from(&[1u64, 2, 3]).unwrap());
    for refused in
        [silent.merge_into_larger(&[&bytes, &numbers]), silent.merge_into_chain(&[&bytes, &numbers])]
    {
        check_refusal(&refused.unwrap_err(), KeyFormat::Bytes, KeyFormat::U64);
    }
}

#[test]
fn a_merge_without_room_does_not_change_the_format() {
    let spec = Spec::new(200, 0.01);
    let mut left = spec.build_from(&(0..200u64).collect::<Vec<_>>()).unwrap();
    let right = spec.key_format(KeyFormat::U64).build_from(&(200..400u64).collect::<Vec<_>>()).unwrap();
    assert!(matches!(left.merge(&right), Err(Error::MergeFull { .. })));
    assert_eq!(left.geometry().key_format(), KeyFormat::Any);
}

#[test]
fn sharded_filters_of_different_formats_are_not_merged() {
    let with = |format: KeyFormat, keys: core::ops::Range<u64>| {
        let filter = Spec::new(600, 1e-4).key_format(format).sharded(3).build().unwrap();
        keys.for_each(|key| filter.insert(&key).unwrap());
        filter
    };
    let mut filter = with(KeyFormat::Any, 0..200);
    filter.merge(&with(KeyFormat::Bytes, 200..400)).unwrap();
    assert_eq!(filter.geometry().key_format(), KeyFormat::Bytes);
    filter.merge_unique(&with(KeyFormat::Any, 400..500)).unwrap();
    let bytes = filter.to_bytes().unwrap();
    assert!(bytes[8] == 2 && Sharded::from_bytes(&bytes).unwrap() == filter);
    let refused = filter.merge(&with(KeyFormat::U64, 500..600)).unwrap_err();
    check_refusal(&refused, KeyFormat::Bytes, KeyFormat::U64);
    assert!(filter.to_bytes().unwrap() == bytes);
    assert!((0..500u64).all(|key| filter.contains(&key)));
}

#[cfg(target_endian = "little")]
#[test]
fn maps_know_the_format() {
    let path = std::env::temp_dir().join(format!("malkoha-key-format-{}", std::process::id()));
    let spec = Spec::new(100, 0.01).key_format(KeyFormat::Kmers { k: 40 });
    spec.build_from(&["ACGT"]).unwrap().save(&path).unwrap();
    let Some(mapped) = common::map(&path) else { return };
    assert_eq!(mapped.geometry().key_format(), KeyFormat::Kmers { k: 40 });
    mapped.verify().unwrap();
    std::fs::remove_file(&path).unwrap();
}
