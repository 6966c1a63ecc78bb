//! Impossible specs are refused with a remedy, without panicking or allocating.

use malkoha::{Error, Kind, KindError, Offsets, Spec};

#[test]
fn impossible_rates_are_refused() {
    for rate in [0.0, 1.0, 1.5, -0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
        for kind in Kind::all() {
            let error = Spec::new(1000, rate).kind(kind).build().unwrap_err();
            assert!(matches!(error, Error::Rate { .. }), "{rate}: {error}");
            assert!(Spec::rate_in_memory(rate, 1000).kind(kind).build().is_err());
        }
    }
    assert_eq!(
        Spec::new(1000, 1.5).build().unwrap_err().to_string(),
        "a false-positive rate of 1.5 is not possible; ask for one above 0 and below 1"
    );
}

#[test]
fn no_keys_are_refused() {
    for kind in Kind::all() {
        assert_eq!(Spec::new(0, 0.01).kind(kind).build().unwrap_err(), Error::NoKeys);
        assert_eq!(Spec::keys_in_memory(0, 1000).kind(kind).build().unwrap_err(), Error::NoKeys);
    }
}

#[test]
fn absurd_sizes_are_refused() {
    for kind in Kind::all() {
        for keys in [u64::MAX, u64::MAX / 2, 1 << 60, 1 << 50] {
            let error = Spec::new(keys, 0.01).kind(kind).build().unwrap_err();
            assert!(
                matches!(error, Error::TooLarge { .. } | Error::HashBits { .. } | Error::Allocation { .. }),
                "{kind} {keys}: {error}"
            );
        }
        assert!(Spec::keys_in_memory(u64::MAX, u64::MAX).kind(kind).build().is_err());
        assert!(Spec::rate_in_memory(0.01, u64::MAX).kind(kind).build().is_err());
    }
}

#[test]
fn rates_that_need_more_than_64_hash_bits_are_refused() {
    for kind in Kind::cuckoos() {
        assert!(Spec::new(1 << 20, 2f64.powi(-32)).kind(kind).plan().is_ok(), "{kind}");
        let error = Spec::new(1 << 33, 2f64.powi(-33)).kind(kind).plan().unwrap_err();
        assert!(matches!(error, Error::HashBits { needed: 65.. }), "{kind}: {error}");
        let error = Spec::new(1000, 1e-300).kind(kind).plan().unwrap_err();
        assert!(matches!(error, Error::HashBits { .. }), "{kind}: {error}");
    }
}

#[test]
fn too_little_memory_is_refused_with_the_least_that_suffices() {
    for kind in Kind::cuckoos() {
        for bytes in [0, 1, 1000] {
            let Error::Memory { least, .. } =
                Spec::keys_in_memory(1_000_000, bytes).kind(kind).plan().unwrap_err()
            else {
                panic!("{kind} {bytes}")
            };
            assert!(Spec::keys_in_memory(1_000_000, least).kind(kind).plan().is_ok(), "{kind} {least}");
        }
        let Error::Memory { least, .. } = Spec::rate_in_memory(0.01, 5).kind(kind).plan().unwrap_err() else {
            panic!("{kind}")
        };
        assert!(Spec::rate_in_memory(0.01, least).kind(kind).plan().is_ok(), "{kind} {least}");
    }
}

#[test]
fn slots_that_a_kind_does_not_have_are_refused() {
    let kinds = [
        Kind::Classic(0),
        Kind::Classic(9),
        Kind::Simplified(0),
        Kind::Flexible(255),
        Kind::Windowed(0),
        Kind::Windowed(1),
        Kind::Windowed(5),
    ];
    for kind in kinds {
        let error = Spec::new(1000, 0.01).kind(kind).build().unwrap_err();
        assert!(matches!(error, Error::Kind(KindError::SlotsPerPlace { .. })), "{kind}: {error}");
    }
}

#[test]
fn loads_out_of_reach_are_refused() {
    for kind in Kind::cuckoos() {
        for load in [0.0, -1.0, 0.999, 1.0, 2.0, f64::NAN] {
            let error = Spec::new(1000, 0.01).kind(kind).load(load).build().unwrap_err();
            assert!(matches!(error, Error::Load { .. }), "{kind} {load}: {error}");
        }
    }
}

#[test]
fn head_room_is_what_was_requested() {
    for kind in Kind::cuckoos() {
        let load = 0.9 * malkoha::theory::threshold(kind);
        let geometry = Spec::new(1_000_000, 0.01).kind(kind).load(load).plan().unwrap();
        assert!(geometry.load() <= load, "{kind}");
        // Where tables can have any size, there is no more room than was requested.
        assert!(!kind.is_signed() || geometry.load() > 0.99 * load, "{kind}: {}", geometry.load());
        let tight = Spec::new(1_000_000, 0.01).kind(kind).plan().unwrap();
        assert!(geometry.cuckoo().unwrap().slots() >= tight.cuckoo().unwrap().slots());
    }
    assert!(Spec::new(1_000_000, 0.01).load(1e-300).plan().is_err(), "more slots than can be counted");
}

#[test]
fn options_of_other_kinds_are_refused() {
    for kind in [Kind::Classic(4), Kind::SemiSorted, Kind::Simplified(4)] {
        let error = Spec::new(1000, 0.01).kind(kind).offsets(Offsets::Whole).plan().unwrap_err();
        assert!(matches!(error, Error::Option { .. }), "{kind}: {error}");
    }
    for steps in [0, Spec::MOST_STEPS + 1, u32::MAX] {
        assert!(matches!(Spec::new(1000, 0.01).max_steps(steps).plan(), Err(Error::Option { .. })));
    }
    for stash in [Spec::MOST_STASH + 1, u32::MAX] {
        assert!(matches!(Spec::new(1000, 0.01).stash(stash).plan(), Err(Error::Option { .. })));
    }
    assert!(Spec::new(1000, 0.01).stash(Spec::MOST_STASH).max_steps(Spec::MOST_STEPS).build().is_ok());
    assert!(Spec::new(1000, 0.01).offsets(Offsets::Near(193)).plan().is_err());
}

#[test]
fn a_layout_of_another_kind_is_refused() {
    use malkoha::cuckoo::{ClassicCuckoo, SignedCuckoo, SimplifiedCuckoo, SortedCuckoo};
    let layout = |kind| *Spec::new(1000, 0.01).kind(kind).plan().unwrap().cuckoo().unwrap();
    assert!(ClassicCuckoo::new(&layout(Kind::Classic(4))).is_ok());
    assert!(matches!(SignedCuckoo::new(&layout(Kind::Classic(4))), Err(Error::Option { .. })));
    assert!(ClassicCuckoo::new(&layout(Kind::Flexible(4))).is_err());
    assert!(SimplifiedCuckoo::new(&layout(Kind::Classic(4))).is_err());
    assert!(SignedCuckoo::new(&layout(Kind::Sorted)).is_err());
    assert!(SortedCuckoo::new(&layout(Kind::SemiSorted)).is_err());
}

#[test]
fn the_level_is_the_current_one() {
    use malkoha::Level;
    let mut filter = Spec::new(1000, 0.01).load(0.5).max_steps(100).build().unwrap();
    for key in 0..1000u64 {
        filter.insert(&key).unwrap();
    }
    let stats = filter.stats();
    assert!(stats.head_room > 800 && stats.level == Level::Room, "half is empty: {stats}");
    let refused = (1000..10_000u64).filter(|key| filter.insert(key).is_err()).count();
    assert!(refused > 0 && filter.stats().level == Level::Full);
    filter.clear();
    assert_eq!(filter.stats().level, Level::Room);
}

#[test]
fn debug_and_errors_are_short() {
    let filter = Spec::new(1_000_000, 0.01).build().unwrap();
    assert!(format!("{filter:?}").len() < 200);
    assert!(format!("{:?}", filter.geometry()).len() < 800);
}

#[test]
fn filters_can_be_sent_and_shared() {
    fn check<T: Send + Sync + Clone>() {}
    check::<malkoha::Filter>();
    check::<malkoha::Spec>();
    check::<malkoha::cuckoo::SortedCuckoo>();
}

#[test]
fn operations_that_a_kind_does_not_have_are_refused_in_good_english() {
    let elastic = Spec::rate(0.01).build().unwrap();
    assert_eq!(
        elastic.fill().unwrap_err().to_string(),
        "an elastic filter cannot be judged by its set bits; build one of a Bloom kind"
    );
    let mut bloom = Spec::new(100, 0.01).kind(Kind::Blocked(2)).build().unwrap();
    assert_eq!(
        bloom.remove("owl").unwrap_err().to_string(),
        "a blocked:2 filter cannot remove keys; build one of a cuckoo kind, such as sorted"
    );
}
