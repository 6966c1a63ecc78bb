//! Values: the stored one is always among the candidates, others appear as often as predicted, and values take
//! exactly their bits.

use std::collections::BTreeMap;

use crate::common::{in_parallel, scale};
use malkoha::testing::{Stream, exercise};
use malkoha::{Error, Filter, Kind, Offsets, Spec};

/// Widths of values.
const WIDTHS: [u32; 5] = [1, 3, 4, 8, 16];

/// The stored copies: keys, each with its values in ascending order.
#[derive(Default)]
struct Model {
    values: BTreeMap<u64, Vec<u16>>,
    /// Every copy once, for picking one at random.
    copies: Vec<(u64, u16)>,
}

impl Model {
    fn store(&mut self, key: u64, value: u16) {
        let values = self.values.entry(key).or_default();
        values.push(value);
        values.sort_unstable();
        self.copies.push((key, value));
    }

    fn forget(&mut self, pick: u64) -> Option<(u64, u16)> {
        let at = pick as usize % self.copies.len().max(1);
        let (key, value) = *self.copies.get(at)?;
        self.copies.swap_remove(at);
        let values = self.values.get_mut(&key).unwrap();
        values.remove(values.binary_search(&value).unwrap());
        if values.is_empty() {
            self.values.remove(&key);
        }
        Some((key, value))
    }

    /// Checks that every stored value is among the candidates of its key as often as it was stored, in single
    /// calls and in slices.
    fn check(&self, filter: &Filter) {
        assert_eq!(filter.len(), self.copies.len() as u64);
        let keys: Vec<u64> = self.values.keys().copied().collect();
        let candidates = filter.get_slice(&keys).unwrap();
        let found = filter.contains_slice(&keys);
        for ((key, candidates), found) in keys.iter().zip(&candidates).zip(found) {
            assert!(found && filter.contains(key), "{filter:?} lost {key}");
            assert_eq!(filter.get(key).as_ref(), Ok(candidates));
            assert_eq!(filter.count(key), Ok(candidates.len() as u32));
            assert!(candidates.is_sorted());
            let mut rest = candidates.iter();
            let all_there = self.values[key].iter().all(|value| rest.any(|candidate| candidate == value));
            assert!(all_there, "{filter:?} has {candidates:?} for {key}, stored {:?}", self.values[key]);
        }
    }
}

/// Drives a filter and its model through inserts, copies, updates and removals, until it has been full several
/// times; returns the number of refused inserts.
fn drive(filter: &mut Filter, steps: u64, stream: &mut Stream) -> u64 {
    let mut model = Model::default();
    let values = 1u64 << filter.geometry().value_bits();
    let universe = 1 + filter.geometry().keys() / 2;
    let (mut filling, mut refused) = (true, 0);
    for step in 0..steps {
        let (dice, value) = (stream.below(100), stream.below(values) as u16);
        if dice < if filling { 70 } else { 30 } {
            let key = if stream.below(4) == 0 { stream.below(universe) } else { stream.draw() };
            let before = step.is_multiple_of(4).then(|| filter.clone());
            match filter.insert_value(&key, value) {
                Ok(()) => model.store(key, value),
                Err(Error::Full) => {
                    refused += 1;
                    filling = stream.below(20) > 0;
                    assert!(
                        before.is_none_or(|before| before == *filter),
                        "a refused insert changed the filter"
                    );
                }
                Err(other) => panic!("{other}"),
            }
        } else if dice < 85 {
            if let Some((key, old)) = model.forget(stream.draw()) {
                assert_eq!(filter.update_value(&key, old, value), Ok(true), "{filter:?} lost {old} of {key}");
                model.store(key, value);
            }
        } else if let Some((key, value)) = model.forget(stream.draw()) {
            assert_eq!(filter.remove_value(&key, value), Ok(true), "{filter:?} lost {value} of {key}");
        } else {
            filling = true;
        }
        if step % (64 + 4 * filter.geometry().keys()) == 0 {
            model.check(filter);
        }
    }
    model.check(filter);
    // Every stored copy can be removed, and then nothing is left.
    let (keys, values): (Vec<u64>, Vec<u16>) = model.copies.into_iter().unzip();
    assert_eq!(filter.remove_values(&keys, &values), Ok(keys.len()));
    assert!(filter.is_empty() && filter.stats().stash_size == 0);
    refused
}

#[test]
fn the_stored_value_is_always_among_the_candidates() {
    let mut cases = Vec::new();
    for (i, kind) in Kind::cuckoos().enumerate() {
        for (j, width) in WIDTHS.into_iter().enumerate() {
            // Tags of many widths, from 5 bits up, and every size with every width of values.
            let rate = [0.2, 0.02, 1e-3, 1e-5, 1e-8][(i + j) % 5];
            let (keys, stash) = [(2, 8), (30, 0), (200, 8)][(i + j) % 3];
            cases.push(Spec::new(keys, rate).kind(kind).values(width).stash(stash).max_steps(200));
        }
    }
    in_parallel(cases, |spec| {
        let mut filter = spec.build().unwrap();
        let keys = filter.geometry().keys();
        let refused = drive(&mut filter, scale(10 * keys + 1_000, 4_000 * keys), &mut Stream::new(keys));
        assert!(refused > 0, "{filter:?} was never full: the test does not reach far enough");
    });
}

#[test]
fn near_and_whole_offsets_keep_values_too() {
    let kinds = [Kind::Flexible(4), Kind::Windowed(2), Kind::Windowed(3), Kind::Sorted];
    let offsets = [Offsets::Whole, Offsets::Near(96), Offsets::Near(192)];
    in_parallel(
        kinds.into_iter().flat_map(|kind| offsets.map(|offsets| (kind, offsets))),
        |(kind, offsets)| {
            let spec = Spec::new(2_000, 1e-3).kind(kind).offsets(offsets).values(7).max_steps(200);
            drive(&mut spec.build().unwrap(), scale(10_000, 400_000), &mut Stream::new(1));
        },
    );
}

#[test]
fn operations_without_values_work_as_in_any_filter() {
    // insert and remove work on copies with value 0: the model of filters without values holds.
    in_parallel(Kind::cuckoos(), |kind| {
        let mut filter = Spec::new(200, 1e-3).kind(kind).values(5).max_steps(200).build().unwrap();
        assert!(exercise(&mut filter, 1_000, scale(4_000, 60_000), &mut Stream::new(2)) > 0);
    });
}

#[test]
fn plain_operations_use_value_zero() {
    for kind in Kind::cuckoos() {
        let mut filter = Spec::new(1_000, 1e-6).kind(kind).values(9).build().unwrap();
        filter.insert_value("egg", 300).unwrap();
        assert!(filter.contains("egg"));
        assert_eq!(filter.insert_unique("egg"), Ok(malkoha::Inserted::Seen), "whatever its value");
        assert_eq!(filter.remove("egg"), Ok(false), "it has no copy with value 0");
        filter.insert("egg").unwrap();
        assert_eq!((filter.count("egg"), &*filter.get("egg").unwrap()), (Ok(2), &[0, 300][..]));
        assert_eq!(filter.remove("egg"), Ok(true));
        assert_eq!(&*filter.get("egg").unwrap(), [300]);
        assert_eq!(filter.update_value("egg", 299, 1), Ok(false));
        assert_eq!(filter.remove_value("egg", 299), Ok(false));
        assert_eq!(filter.update_value("egg", 300, 0), Ok(true));
        assert_eq!(filter.remove("egg"), Ok(true));
        assert!(filter.is_empty() && filter.get("egg").unwrap().is_empty());
    }
}

#[test]
fn the_stash_keeps_values_and_gives_them_back() {
    for kind in Kind::cuckoos() {
        let copies = 2 * u16::from(kind.slots_per_place()) + 3;
        let mut filter = Spec::new(1_000, 1e-4).kind(kind).values(6).stash(3).build().unwrap();
        (0..copies).for_each(|value| filter.insert_value("egg", value).unwrap());
        assert_eq!(filter.stats().stash_size, 3);
        let full = filter.clone();
        assert_eq!(filter.insert_value("egg", 63), Err(Error::Full));
        assert!(filter == full, "{kind}: a refused insert changes no bit");
        let all: Vec<u16> = (0..copies).collect();
        assert_eq!(*filter.get("egg").unwrap(), *all, "{kind}");
        // The last ones are in the stash. There, too, values change in place and distinguish copies.
        assert_eq!(filter.update_value("egg", copies - 1, 60), Ok(true));
        assert!(filter != full);
        assert_eq!(filter.update_value("egg", 60, copies - 1), Ok(true));
        assert!(filter == full, "{kind}: the original values are back");
        for value in (0..copies).rev() {
            assert_eq!(filter.remove_value("egg", value), Ok(true), "{kind} {value}");
            assert_eq!(*filter.get("egg").unwrap(), all[..usize::from(value)]);
        }
        assert!(filter.is_empty());
    }
}

/// Kinds whose large tables are cut into parts, and one whose tables are not.
const BULK_KINDS: [Kind; 5] =
    [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted, Kind::Simplified(4), Kind::Classic(4)];

#[test]
fn bulk_builds_keep_values() {
    let count = scale(2_300_000, 9_000_000);
    let mut stream = Stream::new(3);
    let keys: Vec<u64> = (0..count).map(|_| stream.draw()).collect();
    let values: Vec<u16> = keys.iter().map(|key| (key >> 20 & 0x7F) as u16).collect();
    for kind in BULK_KINDS {
        let build = |threads| {
            let mut filter = Spec::new(count, 0.01).kind(kind).values(7).build().unwrap();
            let (first, rest) = keys.split_at(keys.len() / 2);
            filter.extend_values(first, &values[..first.len()], threads).unwrap();
            filter.extend_values(rest, &values[first.len()..], threads).unwrap();
            filter
        };
        let mut filter = build(3);
        assert!(filter == build(1), "{kind}: the same for any number of threads");
        let candidates = filter.get_slice(&keys).unwrap();
        assert!(
            candidates.iter().zip(&values).all(|(all, value)| all.contains(value)),
            "{kind} lost a value"
        );
        let before = filter.clone();
        let again = filter.extend_values(&keys, &values, 2);
        assert_eq!(again, Err(Error::Full));
        assert!(filter == before, "{kind}: all or nothing");
        assert_eq!(filter.remove_values(&keys, &values), Ok(keys.len()), "{kind}");
        assert!(filter.is_empty());
    }
}

#[test]
fn small_filters_can_be_built_in_bulk_too() {
    for kind in Kind::cuckoos() {
        let keys: Vec<u64> = (0..1_000).collect();
        let values: Vec<u16> = (0..1_000).map(|key| key % 32).collect();
        let mut filter = Spec::new(1_000, 1e-3).kind(kind).values(5).build().unwrap();
        filter.extend_values(&keys, &values, 2).unwrap();
        let candidates = filter.get_slice(&keys).unwrap();
        assert!(candidates.iter().zip(&values).all(|(all, value)| all.contains(value)), "{kind}");
    }
}

/// Compares the number of keys with more candidates than were stored with the prediction. `pairs` means that
/// keys that look the same come in pairs, which doubles the variance.
fn compare(kind: Kind, what: &str, hits: usize, expected: f64, pairs: bool) {
    let sigma = (expected * if pairs { 2.0 } else { 1.0 }).sqrt();
    assert!((hits as f64 - expected).abs() <= 4.0 * sigma, "{kind}, {what}: {hits}, {expected:.0} expected");
}

#[test]
fn extra_candidates_are_as_frequent_as_predicted() {
    let keys = 100_000;
    let cases = Kind::cuckoos().flat_map(|kind| [0.02, 0.003].map(|rate| (kind, rate)));
    in_parallel(cases, |(kind, rate)| {
        let mut filter = Spec::new(keys, rate).kind(kind).values(10).seed(7).build().unwrap();
        let stored: Vec<u64> = (0..keys).collect();
        let values: Vec<u16> = stored.iter().map(|key| (key * 7 % 1024) as u16).collect();
        filter.insert_values(&stored, &values).unwrap();
        let predicted = filter.stats().predicted_rate;
        let expected = predicted * keys as f64;
        let several = |candidates: &[malkoha::Values], usual: usize| {
            candidates.iter().filter(|values| values.len() > usual).count()
        };
        compare(kind, "stored keys", several(&filter.get_slice(&stored).unwrap(), 1), expected, true);
        let strangers: Vec<u64> = (keys..2 * keys).collect();
        compare(kind, "strangers", several(&filter.get_slice(&strangers).unwrap(), 0), expected, false);
        assert!(predicted <= rate);
    });
}

#[test]
fn values_take_exactly_their_bits_and_cost_no_hash_bits() {
    for kind in Kind::cuckoos() {
        for width in 1..=16 {
            for rate in [0.1, 1e-3, 1e-9] {
                let spec = Spec::new(1_000_000, rate).kind(kind);
                let (plain, valued) = (spec.plan().unwrap(), spec.values(width).plan().unwrap());
                let (plain_layout, layout) = (plain.cuckoo().unwrap(), valued.cuckoo().unwrap());
                assert_eq!(valued.value_bits(), width);
                let more = plain_layout.slots() as f64 * f64::from(width) / 8.0;
                let more_bytes = valued.bytes() as f64 - plain.bytes() as f64;
                if matches!(kind, Kind::Simplified(_)) {
                    // Where slots cost more, other subtables may be the smallest: fewer slots with wider tags.
                    assert!(more_bytes < more + 256.0, "{kind} {width} {rate}");
                    continue;
                }
                assert!((more_bytes - more).abs() < 256.0, "{kind} {width} {rate}");
                assert_eq!(layout.slots(), plain_layout.slots(), "{kind} {width} {rate}");
                assert_eq!(layout.slot_bits(), plain_layout.slot_bits() + f64::from(width));
                assert_eq!(layout.hash_bits(), plain_layout.hash_bits());
                assert_eq!(valued.predicted_rate(1_000_000), plain.predicted_rate(1_000_000));
            }
        }
    }
}

#[test]
fn impossible_values_are_refused_with_a_remedy() {
    let spec = Spec::new(1_000, 1e-3);
    for bits in [0, 17, u32::MAX] {
        assert_eq!(spec.values(bits).plan().unwrap_err(), Error::ValueBits { got: bits });
    }
    for kind in Kind::blooms() {
        let refused = spec.kind(kind).values(4).plan().unwrap_err();
        assert!(refused.to_string().contains("cuckoo kind"), "{refused}");
    }
    assert!(matches!(malkoha::testing::plan_chain(&spec.values(4)), Err(Error::Option { .. })));
    // 2^-46 needs tags of 49 bits, which leave 15 bits of a word for the value.
    let narrow = Spec::new(100, 2f64.powi(-46)).kind(Kind::Flexible(4)).max_steps(200);
    assert_eq!(narrow.values(15).plan().unwrap().cuckoo().unwrap().tag_bits(), 64);
    assert_eq!(narrow.values(16).plan().unwrap_err(), Error::SlotBits { value_bits: 16 });
    assert!(drive(&mut narrow.values(15).stash(0).build().unwrap(), 5_000, &mut Stream::new(1)) > 0);

    let mut filter = spec.values(4).build().unwrap();
    filter.insert_value("egg", 15).unwrap();
    let before = filter.clone();
    let wide = Error::Value { got: 16, bits: 4 };
    assert_eq!(filter.insert_value("stone", 16), Err(wide.clone()));
    assert_eq!(filter.update_value("egg", 15, 16), Err(wide.clone()));
    assert_eq!(filter.update_value("egg", 16, 15), Err(wide.clone()));
    assert_eq!(filter.remove_value("egg", 16), Err(wide.clone()));
    assert_eq!(filter.insert_values(&["a", "b"], &[1, 16]), Err(wide.clone()));
    assert_eq!(filter.extend_values(&["a", "b"], &[1, 16], 1), Err(wide.clone()));
    assert_eq!(filter.remove_values(&["egg", "b"], &[15, 16]), Err(wide));
    assert!(filter == before, "a refused operation changes nothing");

    for kind in Kind::all() {
        let mut plain = spec.kind(kind).build().unwrap();
        assert_eq!(plain.insert_value("egg", 0), Err(Error::NoValues), "{kind}");
        assert_eq!(plain.get("egg"), Err(Error::NoValues));
        assert_eq!(plain.get_slice(&["egg"]), Err(Error::NoValues));
        assert_eq!(plain.update_value("egg", 0, 0), Err(Error::NoValues));
        assert_eq!(plain.remove_value("egg", 0), Err(Error::NoValues));
        assert_eq!(plain.extend_values(&["egg"], &[0], 1), Err(Error::NoValues));
        assert!(plain.is_empty());
    }
}

#[test]
fn a_slice_that_does_not_fit_reports_how_far_it_got() {
    let mut filter = Spec::new(500, 1e-3).values(3).build().unwrap();
    let (keys, values): (Vec<u64>, Vec<u16>) = (0..5_000).map(|key| (key, (key % 8) as u16)).unzip();
    let Err(Error::Refused(refused)) = filter.insert_values(&keys, &values) else { panic!("too many keys") };
    let done = refused.first();
    assert!(done >= 500 && filter.len() == done as u64);
    let candidates = filter.get_slice(&keys[..done]).unwrap();
    assert!(candidates.iter().zip(&values).all(|(all, value)| all.contains(value)));
}

#[test]
fn removing_or_updating_what_was_never_stored_may_hit_another_key() {
    // The hazard of every filter, with values: a twin looks the same, and only its value differs.
    for kind in Kind::cuckoos() {
        let mut filter = Spec::new(100, 0.1).kind(kind).values(4).build().unwrap();
        filter.insert_value(&0u64, 5).unwrap();
        let twin = (1..1_000_000u64).find(|key| filter.contains(key)).expect("at this rate there is a twin");
        assert_eq!(filter.remove_value(&twin, 6), Ok(false), "a copy with another value stays");
        assert_eq!(filter.update_value(&twin, 5, 7), Ok(true));
        assert_eq!(&*filter.get(&0u64).unwrap(), [7], "{kind}: the value of the stored key has changed");
        assert_eq!(filter.remove_value(&twin, 7), Ok(true));
        assert!(!filter.contains(&0u64), "{kind}: the stored key is gone");
        // If both are stored, each has its own copy.
        filter.insert_value(&0u64, 5).unwrap();
        filter.insert_value(&twin, 6).unwrap();
        assert_eq!(&*filter.get(&0u64).unwrap(), [5, 6]);
        assert_eq!(filter.remove_value(&twin, 6), Ok(true));
        assert_eq!(&*filter.get(&0u64).unwrap(), [5]);
    }
}
