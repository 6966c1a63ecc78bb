//! Values as sets of bits: every bit that was given for a key is found, whatever happens to the filter, and others
//! appear as often as predicted.

use std::collections::HashMap;

use crate::common::{in_parallel, scale};
use malkoha::testing::Stream;
use malkoha::{Error, Filter, Inserted, Kind, Spec};

/// Every key with the bits that were given for it.
type Model = HashMap<u64, u16>;

/// Specs of all cuckoo kinds, and of growing filters.
fn specs(keys: u64, rate: f64, bits: u32) -> impl Iterator<Item = Spec> {
    let planned =
        Kind::cuckoos().map(move |kind| Spec::new(keys, rate).kind(kind).values(bits).max_steps(200));
    planned.chain([Spec::rate(rate).values(bits)])
}

/// Checks that no bit is lost, one key at a time and in slices; returns the number of keys with more bits than given.
#[track_caller]
fn check(model: &Model, filter: &Filter) -> usize {
    let keys: Vec<u64> = model.keys().copied().collect();
    let mut unions = vec![u16::MAX; keys.len()];
    filter.union_slice_into(&keys, &mut unions).unwrap();
    let mut more = 0;
    for (key, union) in keys.iter().zip(unions) {
        assert_eq!(filter.union(key), Ok(union));
        assert_eq!(union, filter.get(key).unwrap().iter().fold(0, |all, value| all | value), "{filter:?}");
        assert_eq!(
            union & model[key],
            model[key],
            "{filter:?} has {union:b} for {key}, not {:b}",
            model[key]
        );
        assert!(filter.contains(key), "{filter:?} lost {key}");
        more += usize::from(union != model[key]);
    }
    more
}

#[test]
fn no_bit_is_lost_until_the_filter_is_full() {
    let cases = [(2, 0.2, 1), (30, 1e-3, 3), (500, 1e-8, 16), (500, 0.02, 5)];
    in_parallel(cases.into_iter().flat_map(|(keys, rate, bits)| specs(keys, rate, bits)), |spec| {
        let mut filter = spec.build().unwrap();
        let grows = filter.geometry().is_growing();
        let (keys, bits) = (filter.geometry().keys().max(30), filter.geometry().value_bits());
        let (mut model, mut stream, mut refused) = (Model::new(), Stream::new(keys), 0);
        for step in 0..scale(20 * keys + 500, 200 * keys) {
            let key = if stream.below(2) == 0 { stream.below(keys) } else { stream.draw() };
            let value = stream.below(1 << bits) as u16 & stream.below(1 << bits) as u16;
            let before = filter.clone();
            match filter.or_value(&key, value) {
                Ok(Inserted::Stored) => {
                    assert_eq!(filter.len(), before.len() + 1);
                    assert!(!before.contains(&key), "{filter:?}: a copy was there");
                }
                Ok(Inserted::Seen) => {
                    assert_eq!(filter.len(), before.len());
                    assert!(before.contains(&key));
                    let had_bits = before.get(&key).unwrap().iter().any(|old| old & value == value);
                    assert!(!had_bits || filter == before, "{filter:?}: nothing had to change");
                }
                Err(Error::Full) => {
                    refused += 1;
                    assert!(filter == before, "{filter:?}: a refused insert changes no bit");
                    continue;
                }
                Err(other) => panic!("{other}"),
            }
            *model.entry(key).or_default() |= value;
            if step % keys == 0 {
                check(&model, &filter);
            }
        }
        // At high rates, a few copies soon look like every key.
        let rate = filter.geometry().rate();
        assert!(rate > 0.01 || grows || refused > 0, "{filter:?} was never full");
        assert!(!grows || refused == 0);
        check(&model, &filter);
        let again = Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
        assert!(again == filter && check(&model, &again) == check(&model, &filter));
    });
}

/// Slices go other ways than single keys: rows of lanes, of tags from a few bits to 64.
#[test]
fn slices_are_united_like_single_keys_for_tags_of_every_width() {
    let cases = [0.2, 0.01, 1e-4, 1e-6, 1e-9, 1e-13]
        .into_iter()
        .flat_map(|rate| [1, 2, 5, 11, 16].into_iter().flat_map(move |bits| specs(400, rate, bits)));
    let cases: Vec<_> = cases.filter(|spec| spec.plan().is_ok()).collect();
    assert!(cases.len() > 400, "{} filters", cases.len());
    in_parallel(cases, |spec| {
        let mut filter = spec.build().unwrap();
        let mut stream = Stream::new(11);
        let most = 1 << filter.geometry().value_bits();
        // Every key with several values, so that places have copies in all slots.
        let mut stored = 0;
        for key in 0..120u64 {
            for _ in 0..=stream.below(4) {
                // Kinds with few slots soon have no room for copies.
                stored += u64::from(filter.insert_value(&key, stream.below(most) as u16).is_ok());
            }
        }
        assert!(stored > 60, "{filter:?}");
        let keys: Vec<u64> = (0..400).map(|_| stream.below(200)).collect();
        let names: Vec<String> = keys.iter().map(u64::to_string).collect();
        let single = |key: &u64| filter.get(key).unwrap().iter().fold(0, |all, value| all | value);
        for length in [0, 1, 11, 12, 63, 64, 65, 200, 400] {
            let mut unions = vec![u16::MAX; length];
            filter.union_slice_into(&keys[..length], &mut unions).unwrap();
            assert_eq!(unions, keys[..length].iter().map(single).collect::<Vec<_>>(), "{filter:?}");
            let named = names[..length].iter().map(|name| filter.union(name).unwrap()).collect::<Vec<_>>();
            filter.union_slice_into(&names[..length], &mut unions).unwrap();
            assert_eq!(unions, named, "{filter:?}");
        }
    });
}

/// Copies that other methods stored: one of them gets the bits, unless one has them; in the stash too.
#[test]
fn one_of_several_copies_gets_the_bits() {
    for spec in specs(1_000, 1e-6, 6) {
        let mut filter = spec.build().unwrap();
        filter.insert_value("egg", 1).unwrap();
        filter.insert_value("egg", 6).unwrap();
        let before = filter.clone();
        assert_eq!(filter.or_value("egg", 4), Ok(Inserted::Seen));
        assert!(filter == before, "{filter:?}: one has it");
        assert_eq!(filter.or_value("egg", 8), Ok(Inserted::Seen));
        let values = filter.get("egg").unwrap();
        assert!(*values == [6, 9] || *values == [1, 14], "{filter:?}: {values:?}");
        assert_eq!(filter.union("egg"), Ok(15));
        // Copies fill both places of a key, so that another key with the same places is in the stash or overflow.
        let copies = 2 * u32::from(filter.geometry().kind().slots_per_place().max(8));
        let fits = (0..copies).take_while(|_| filter.insert_value("stone", 0).is_ok()).count();
        assert!(fits > 0);
        assert_eq!(filter.or_value("stone", 32), Ok(Inserted::Seen));
        assert_eq!((filter.union("stone"), filter.len()), (Ok(32), 2 + fits as u64));
    }
}

#[test]
fn keys_in_the_stash_get_their_bits() {
    // The only copies of some keys are in the stash: a filter that is too full, with a large one.
    for kind in Kind::cuckoos() {
        let mut filter = Spec::new(300, 1e-6).kind(kind).values(4).stash(60).max_steps(5).build().unwrap();
        let stored: Vec<u64> = (0..1000).take_while(|key| filter.or_value(key, 1).is_ok()).collect();
        assert!(filter.stats().stash_size > 20, "{filter:?}");
        for (key, bit) in stored.iter().zip([2u16, 4, 8].into_iter().cycle()) {
            assert_eq!(filter.or_value(key, bit), Ok(Inserted::Seen));
        }
        let model = stored.iter().copied().zip([3u16, 5, 9].into_iter().cycle()).collect();
        assert_eq!(check(&model, &filter), 0, "{filter:?}");
        // In bulk, too.
        let (keys, values): (Vec<u64>, Vec<u16>) = stored.iter().map(|key| (*key, 15)).unzip();
        assert_eq!(filter.or_values(&keys, &values, 2), Ok(0));
        assert_eq!(check(&keys.into_iter().zip(values).collect(), &filter), 0, "{filter:?}");
    }
}

/// Many keys at once, most of them several times and one very often, in filters large enough for parts and rounds.
#[test]
fn bulk_unions_lose_no_bit_and_do_not_depend_on_threads() {
    let count = scale(1_500_000, 6_000_000);
    let mut stream = Stream::new(4);
    let (keys, values): (Vec<u64>, Vec<u16>) = (0..2 * count)
        .map(|at| {
            let key = if stream.below(10) == 0 { 7 } else { stream.below(count) };
            (key, 1 << (at * 5 / (2 * count)))
        })
        .unzip();
    let mut model = Model::new();
    keys.iter().zip(&values).for_each(|(key, value)| *model.entry(*key).or_default() |= value);
    for spec in specs(count, 0.001, 5) {
        let kind = spec.plan().unwrap().kind();
        if matches!(kind, Kind::Classic(1 | 2) | Kind::Windowed(3)) {
            continue;
        }
        let build = |threads| {
            let mut filter = spec.build().unwrap();
            let mut stored = 0;
            for (keys, values) in keys.chunks(900_000).zip(values.chunks(900_000)) {
                stored += filter.or_values(keys, values, threads).unwrap();
            }
            assert_eq!(stored, filter.len(), "{kind}");
            filter
        };
        let filter = build(3);
        assert!(filter == build(1), "{kind}: the same for any number of threads");
        assert!(filter.len() <= model.len() as u64, "{kind}: every key once");
        let more = check(&model, &filter) as f64;
        // A key has more bits if it looks like another with other bits.
        let predicted = filter.stats().predicted_rate * model.len() as f64;
        assert!(
            more < predicted + 4.0 * (2.0 * predicted).sqrt(),
            "{kind}: {more}, at most {predicted} expected"
        );
    }
}

#[test]
fn strangers_have_bits_as_often_as_predicted() {
    let keys = 100_000;
    in_parallel(specs(keys, 0.003, 4), |spec| {
        let mut filter = spec.seed(7).build().unwrap();
        let stored: Vec<u64> = (0..keys).collect();
        filter.or_values(&stored, &vec![8; stored.len()], 1).unwrap();
        let strangers: Vec<u64> = (keys..2 * keys).collect();
        let mut unions = vec![0; strangers.len()];
        filter.union_slice_into(&strangers, &mut unions).unwrap();
        let hits = unions.iter().filter(|union| **union != 0).count() as f64;
        let expected = filter.stats().predicted_rate * keys as f64;
        let sigma = expected.sqrt();
        assert!((hits - expected).abs() <= 4.0 * sigma, "{filter:?}: {hits}, {expected:.0} expected");
        assert!(unions.iter().all(|union| [0, 8].contains(union)));
    });
}

#[test]
fn bits_that_do_not_fit_are_refused() {
    let wide = Error::Value { got: 4, bits: 2 };
    for spec in specs(100, 0.01, 2) {
        let mut filter = spec.build().unwrap();
        filter.or_value("egg", 3).unwrap();
        let before = filter.clone();
        assert_eq!(filter.or_value("egg", 4), Err(wide.clone()));
        assert_eq!(filter.or_values(&["egg", "stone"], &[1, 4], 1), Err(wide.clone()));
        assert!(filter == before);
    }
    let mut plain = Spec::new(100, 0.01).build().unwrap();
    assert_eq!(plain.or_value("egg", 0), Err(Error::NoValues));
    assert_eq!(plain.union("egg"), Err(Error::NoValues));
    assert_eq!(plain.union_slice_into(&["egg"], &mut [0]), Err(Error::NoValues));
}

#[test]
fn shards_unite_values_too() {
    let filter = Spec::new(10_000, 1e-9).values(3).sharded(4).build().unwrap();
    std::thread::scope(|scope| {
        for bit in [1, 2, 4] {
            let filter = &filter;
            scope.spawn(move || {
                for key in 0..5_000u64 {
                    filter.or_value(&key, bit).unwrap();
                }
            });
        }
    });
    assert!((0..5_000u64).all(|key| filter.union(&key) == Ok(7)));
    assert_eq!(filter.len(), 5_000);
}
