//! Memory: the allocation agrees with the formulas at every size.

use malkoha::{Kind, Spec, theory};

/// Layouts of any size, whose bits per key the formula gives.
const KINDS: [Kind; 10] = [
    Kind::Windowed(2),
    Kind::Windowed(3),
    Kind::Windowed(4),
    Kind::Flexible(2),
    Kind::Flexible(3),
    Kind::Flexible(4),
    Kind::Flexible(5),
    Kind::Flexible(6),
    Kind::Flexible(8),
    Kind::Sorted,
];

/// The load thresholds of Schmitz, Zentgraf and Rahmann, Table 2, and the known ones of larger buckets, repeated
/// here: a test must not call the function that sizing calls.
fn published_threshold(kind: Kind) -> f64 {
    match kind {
        Kind::Windowed(2) => 0.965,
        Kind::Windowed(3) => 0.9944,
        Kind::Windowed(4) => 0.999,
        Kind::Flexible(2) => 0.897,
        Kind::Flexible(3) => 0.9592,
        Kind::Flexible(4) | Kind::Sorted => 0.9804,
        Kind::Flexible(5) => 0.9896,
        Kind::Flexible(6) => 0.9941,
        Kind::Flexible(8) => 0.9979,
        other => unreachable!("{other}"),
    }
}

/// Sizes from a million up: round, odd, and around powers of two.
fn sizes() -> impl Iterator<Item = u64> {
    (0..160).map(|i| (1e6 * 1.05f64.powi(i)) as u64).chain([1 << 20, (1 << 20) + 1, (1 << 24) - 1, 1 << 30])
}

#[test]
fn bits_per_key_are_within_a_hundredth_of_the_formula_at_every_size() {
    for kind in KINDS {
        for k in 6..=32 {
            for keys in sizes() {
                // Near 2^-64 per key the 64 bits of a hash themselves contribute to the rate.
                if (keys as f64).log2() + f64::from(k) > 60.0 {
                    continue;
                }
                let geometry = Spec::new(keys, 2f64.powi(-k)).kind(kind).plan().unwrap();
                let slot_bits = geometry.cuckoo().unwrap().slot_bits();
                // The width for rate 2^-k, and no extra bit.
                let expected = f64::from(k)
                    + match kind {
                        Kind::Windowed(3 | 4) | Kind::Flexible(3 | 4) => 3.0,
                        Kind::Flexible(5 | 6 | 8) => 4.0,
                        _ => 2.0,
                    };
                assert_eq!(slot_bits, expected, "{kind} {keys} 2^-{k}");
                let formula = slot_bits / (0.98 * published_threshold(kind));
                let bits = geometry.bits_per_key();
                assert!(bits <= 1.01 * formula, "{kind} {keys} 2^-{k}: {bits:.4} over {formula:.4}");
            }
        }
    }
}

#[test]
fn three_slots_per_window_use_every_value_of_a_slot() {
    // With 10 bits there are 1023 / 6 = 170 fingerprints: enough for a rate of 1/174 at the planned load.
    let geometry = Spec::new(1_000_000, 1.0 / 174.0).kind(Kind::Windowed(3)).plan().unwrap();
    let layout = geometry.cuckoo().unwrap();
    assert_eq!((layout.slot_bits(), layout.fingerprints()), (10.0, 170));
    let formula = theory::bits_per_key(Kind::Windowed(3), 174f64.log2(), 0.98 * geometry.threshold());
    assert!(geometry.bits_per_key() <= 1.01 * formula, "{} over {formula}", geometry.bits_per_key());
}

#[test]
fn the_geometry_has_the_real_allocation() {
    for kind in Kind::cuckoos() {
        for (keys, rate) in [(1, 0.01), (1_000, 0.2), (100_000, 1e-3), (1_000_000, 1e-6)] {
            let filter = Spec::new(keys, rate).kind(kind).build().unwrap();
            assert_eq!(filter.stats().memory_bytes, filter.geometry().bytes(), "{kind} {keys} {rate}");
        }
    }
}

#[test]
fn powers_of_two_make_a_staircase() {
    for (kind, straight) in [(Kind::Classic(4), Kind::Flexible(4)), (Kind::SemiSorted, Kind::Sorted)] {
        let bits = |kind, keys| Spec::new(keys, 2f64.powi(-8)).kind(kind).plan().unwrap().bits_per_key();
        // Just below a step both cost the same. Just above it one costs nearly double, minus the bit per slot that
        // a half-empty table saves; the other does not.
        let step = (f64::from(1 << 22) * 0.98 * theory::threshold(kind)) as u64;
        let (below, above) = (step - 10_000, step + 10_000);
        assert!((bits(kind, below) / bits(straight, below) - 1.0).abs() < 0.02);
        assert!(bits(kind, above) / bits(straight, above) > 1.7);
        assert!((bits(straight, above) / bits(straight, below) - 1.0).abs() < 0.001);
    }
}

#[test]
fn subtables_come_in_any_number() {
    let places = |keys| {
        let geometry = Spec::new(keys, 2f64.powi(-8)).kind(Kind::Simplified(4)).plan().unwrap();
        let layout = *geometry.cuckoo().unwrap();
        assert_eq!(layout.places() % (1 << layout.subtable_bits()), 0);
        assert!(layout.subtable_bits() <= layout.tag_bits());
        layout.places() >> layout.subtable_bits()
    };
    assert!((1..60).map(|i| places(i * 100_000)).any(|subtables| !subtables.is_power_of_two()));
    // Never twice what any number of buckets needs.
    for keys in [100_000, 250_000, 1_000_000, 30_000_000] {
        let bits = |kind| Spec::new(keys, 2f64.powi(-10)).kind(kind).plan().unwrap().bits_per_key();
        assert!(bits(Kind::Simplified(4)) < 1.2 * bits(Kind::Flexible(4)), "{keys}");
    }
}

#[test]
fn two_of_keys_rate_and_memory_give_the_third() {
    for kind in Kind::cuckoos() {
        for bytes in [10_000, 1_234_567, 300_000_000] {
            let keys = Spec::rate_in_memory(1e-3, bytes).kind(kind).plan().unwrap();
            assert!(keys.bytes() <= bytes);
            let more = Spec::new(keys.keys() + keys.keys() / 50 + 8, 1e-3).kind(kind).plan().unwrap();
            assert!(more.bytes() > bytes, "{kind} {bytes}: 2 % more keys would fit too");
            let rate = Spec::keys_in_memory(keys.keys(), bytes).kind(kind).plan().unwrap();
            assert!(rate.bytes() <= bytes && rate.rate() <= 1e-3, "{kind} {bytes}: {}", rate.rate());
        }
    }
}

#[test]
fn more_than_two_to_the_32_slots_can_be_planned() {
    for kind in Kind::cuckoos() {
        for keys in [5_000_000_000, 1 << 36] {
            let geometry = Spec::new(keys, 2f64.powi(-10)).kind(kind).plan().unwrap();
            let layout = geometry.cuckoo().unwrap();
            assert!(layout.slots() > 1 << 32);
            assert!(layout.hash_bits() <= 64);
            assert!(geometry.bytes() > keys);
        }
    }
}
