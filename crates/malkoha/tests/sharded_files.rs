//! Sharded filters, saved and merged: they are read as they were written, forged outlines are refused, and merges
//! are all or nothing.

use malkoha::{Error, Filter, Kind, Sharded, Spec};
use xxhash_rust::xxh3::xxh3_64;

const OUTLINE: usize = 128;

fn filter(shards: u32) -> Sharded {
    let filter = Spec::new(2_000, 0.01).sharded(shards).build().unwrap();
    filter.insert_slice(&(0..2_000u64).collect::<Vec<_>>()).unwrap();
    filter
}

/// The bytes with a changed outline and a valid checksum.
fn forged(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    change(&mut bytes[..OUTLINE - 8]);
    let checksum = xxh3_64(&bytes[..OUTLINE - 8]);
    bytes[OUTLINE - 8..OUTLINE].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn put(bytes: &mut [u8], offset: usize, number: u64) {
    bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
}

#[test]
fn every_kind_is_read_as_it_was_written() {
    for kind in Kind::all() {
        for shards in [1, 2, 9] {
            let spec = Spec::new(500, 0.004).kind(kind).seed(3).sharded(shards);
            let filter = spec.build_from(&(0..500u64).collect::<Vec<_>>()).unwrap();
            let bytes = filter.to_bytes().unwrap();
            let again = Sharded::from_bytes(&bytes).unwrap();
            assert!(again == filter && again.geometry() == filter.geometry(), "{kind} {shards}");
            let mut written = Vec::new();
            filter.write_to(&mut written).unwrap();
            assert!(written == bytes);
        }
    }
}

#[test]
fn a_file_holds_the_filter_at_one_moment() {
    // A writer inserts one key at a time and removes it again, each in another shard. A file with shards from
    // different moments could hold several of these keys.
    let filter = filter(8);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for key in 10_000..60_000u64 {
                filter.insert(&key).unwrap();
                assert_eq!(filter.remove(&key), Ok(true));
            }
        });
        while !writer.is_finished() {
            let saved = Sharded::from_bytes(&filter.to_bytes().unwrap()).unwrap();
            assert!((0..2_000u64).all(|key| saved.contains(&key)));
            assert!(saved.len() - 2_000 <= 1, "the writer has at most one key stored");
        }
    });
}

#[test]
fn forged_outlines_are_refused_with_the_offset_and_the_reason() {
    let bytes = filter(3).to_bytes().unwrap();
    assert!(Sharded::from_bytes(&forged(&bytes, |_| ())).is_ok(), "forged bytes have valid checksums");
    let refused = |change: &dyn Fn(&mut [u8])| Sharded::from_bytes(&forged(&bytes, change)).unwrap_err();
    for keys in [0, 3_000, u64::MAX] {
        let error = refused(&|outline| put(outline, 64, keys));
        assert!(matches!(error, Error::Corrupt { part: "number", offset: 64, .. }), "{keys}: {error}");
    }
    // Fewer planned keys are harmless: the filter has more head-room.
    let fewer = Sharded::from_bytes(&forged(&bytes, |outline| put(outline, 64, 1_000))).unwrap();
    assert_eq!(fewer.geometry().keys(), 1_000);
    for parts in [0, 2, 4, 4097, 1 << 16, u64::MAX] {
        let error = refused(&|outline| put(outline, 16, parts));
        assert!(matches!(error, Error::Corrupt { .. }), "{parts}: {error}");
    }
    for numbers in [0, 2, 7, u64::MAX] {
        let error = refused(&|outline| put(outline, 24, numbers));
        assert!(matches!(error, Error::Corrupt { .. }), "{numbers}: {error}");
    }
}

#[test]
fn shards_of_different_geometry_are_refused() {
    let small = filter(2).to_bytes().unwrap();
    let part = (small.len() - OUTLINE) / 2;
    let other = Spec::new(10, 0.01).sharded(1).build().unwrap().to_bytes().unwrap();
    let mut mixed = small[..OUTLINE + part].to_vec();
    mixed.extend(&other[OUTLINE..]);
    let error = Sharded::from_bytes(&mixed).unwrap_err();
    let Error::Corrupt { part: "shard", offset, what } = error else { panic!("{error}") };
    assert_eq!((offset, &what[..]), ((OUTLINE + part) as u64, "shard 1 has another geometry than shard 0"));
}

#[test]
fn single_and_sharded_files_are_distinguished() {
    let single = Spec::new(100, 0.01).build().unwrap().to_bytes().unwrap();
    let sharded = Spec::new(100, 0.01).sharded(1).build().unwrap().to_bytes().unwrap();
    assert!(matches!(Sharded::from_bytes(&single), Err(Error::Form { .. })));
    assert!(matches!(Filter::from_bytes(&sharded), Err(Error::Form { .. })));
}

#[test]
fn shards_that_leave_too_few_bits_of_the_hash_are_refused() {
    // A single filter whose places and fingerprints use all 64 bits, presented as one of two shards.
    let widest = Spec::keys_in_memory(100, 100_000).sharded(1).build().unwrap();
    let layout = *widest.geometry().shard().cuckoo().unwrap();
    assert!(layout.hash_bits() == 64, "{}", layout.hash_bits());
    let bytes = widest.to_bytes().unwrap();
    let mut twice = forged(&bytes, |outline| {
        put(outline, 16, 2);
        put(outline, 64, 20);
    });
    twice.extend(&bytes[OUTLINE..]);
    let error = Sharded::from_bytes(&twice).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { what, .. } if what.contains("too few bits")), "{error}");
}

#[test]
fn merged_filters_find_the_keys_of_both_and_each_copy_is_removed_once() {
    for kind in Kind::all() {
        let spec = Spec::new(2_000, 0.004).kind(kind).threads(2).sharded(5);
        let mut one = spec.build_from(&(0..1_000u64).collect::<Vec<_>>()).unwrap();
        let two = spec.build_from(&(990..1_990u64).collect::<Vec<_>>()).unwrap();
        let mut unique = one.clone();
        one.merge(&two).unwrap();
        assert_eq!(one.len(), 2_000, "{kind}");
        assert!((0..1_990u64).all(|key| one.contains(&key)), "{kind}");
        unique.merge_unique(&two).unwrap();
        assert!((0..1_990u64).all(|key| unique.contains(&key)), "{kind}");
        if !kind.is_bloom() {
            assert!(unique.len() <= 1_990, "{kind}");
            for keys in [0..1_000u64, 990..1_990] {
                assert_eq!(one.remove_slice(&keys.collect::<Vec<_>>()), Ok(1_000), "{kind}");
            }
            assert!(one.is_empty());
        }
    }
}

#[test]
fn a_merge_that_is_refused_changes_no_bit() {
    for kind in Kind::cuckoos() {
        let spec = Spec::new(600, 0.004).kind(kind).max_steps(50).sharded(3);
        let fill = |first: u64| {
            let filter = spec.build().unwrap();
            let _ = filter.insert_slice(&(first..first + 2_000).collect::<Vec<_>>());
            filter
        };
        let (mut full, other) = (fill(0), fill(10_000));
        let before = full.to_bytes().unwrap();
        let copies = full.len() + other.len();
        let refused = full.merge(&other).unwrap_err();
        let Error::MergeFull { copies: all, room, left_over } = refused else { panic!("{kind}: {refused}") };
        assert_eq!((all, room), (copies, full.geometry().capacity()), "{kind}");
        let each = full.geometry().shard().capacity();
        let items = |filter: &Sharded| filter.shard_stats().into_iter().map(|stats| stats.items);
        let excess: u64 = items(&full).zip(items(&other)).map(|(held, more)| held + more - each).sum();
        assert_eq!(left_over, excess, "{kind}");
        assert!(full.to_bytes().unwrap() == before, "{kind}");
        for stranger in
            [Spec::new(600, 0.004).kind(kind).sharded(4), Spec::new(600, 0.004).kind(kind).seed(1).sharded(3)]
        {
            let refused = full.merge(&stranger.build().unwrap()).unwrap_err();
            assert!(matches!(refused, Error::Geometries { .. }), "{kind}: {refused}");
        }
        assert!(full.to_bytes().unwrap() == before, "{kind}");
    }
}

#[test]
fn a_merge_that_fails_in_a_late_shard_restores_the_early_ones() {
    // Only the last shard gets too many keys; the first shards could have been merged.
    let spec = Spec::new(3_000, 0.004).max_steps(50).sharded(3);
    let (mut target, other) = (spec.build().unwrap(), spec.build().unwrap());
    for key in 0..3_000u64 {
        let filter = if key < 1_500 { &target } else { &other };
        filter.insert(&key).unwrap();
    }
    for key in 10_000..90_000u64 {
        let before = other.shard_stats()[2].items;
        if other.insert(&key).is_ok() && other.shard_stats()[2].items == before {
            assert_eq!(other.remove(&key), Ok(true));
        }
    }
    let before = target.clone();
    let Err(Error::MergeFull { left_over, .. }) = target.merge(&other) else { panic!("it does not fit") };
    let [held, more] = [&target, &other].map(|filter| filter.shard_stats()[2].items);
    let capacity = spec.plan().unwrap().shard().capacity();
    assert_eq!(left_over, held + more - capacity, "those of the last shard");
    assert!(target == before);
}
