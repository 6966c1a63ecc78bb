//! Doubled tables and merging into larger ones: no key is lost, and the rate is as predicted.

use crate::common;

use std::collections::HashMap;

use malkoha::testing::{Stream, build_chain, exercise};
use malkoha::{Error, Filter, Kind, Offsets, Spec};

fn signed() -> impl Iterator<Item = Kind> {
    Kind::cuckoos().filter(|kind| kind.is_signed())
}

/// A filter with random keys, some stored several times, and the count of each.
fn random(spec: &Spec, copies: u64, stream: &mut Stream) -> (Filter, HashMap<u64, u32>) {
    random_in(spec.build().unwrap(), copies, stream)
}

/// The same in an empty filter.
fn random_in(mut filter: Filter, copies: u64, stream: &mut Stream) -> (Filter, HashMap<u64, u32>) {
    let (mut model, mut last) = (HashMap::new(), 0);
    for copy in 0..copies {
        // Occasionally the same key twice, which is the most that fits with one slot per place.
        let key = if copy % 16 == 1 { last } else { stream.below(1000 * copies) };
        last = key;
        filter.insert(&key).unwrap();
        *model.entry(key).or_default() += 1;
    }
    (filter, model)
}

/// Checks that every copy is found, and then that every copy can be removed.
fn check(name: &str, mut filter: Filter, model: &HashMap<u64, u32>) {
    assert_eq!(filter.len(), model.values().map(|count| u64::from(*count)).sum::<u64>(), "{name}");
    assert!(Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap() == filter, "{name}");
    for (key, count) in model {
        assert!(filter.count(key).unwrap() >= *count, "{name} lost {key}");
    }
    for (key, count) in model {
        (0..*count).for_each(|_| assert_eq!(filter.remove(key), Ok(true), "{name} lost {key}"));
    }
    assert!(filter.is_empty(), "{name}");
}

#[test]
fn repeated_doubling_loses_nothing() {
    let mut stream = Stream::new(21);
    for kind in signed() {
        for offsets in [Offsets::Local, Offsets::Whole, Offsets::Near(128)] {
            let spec = Spec::new(150, 1e-4).kind(kind).offsets(offsets);
            let (mut filter, model) = random(&spec, 140, &mut stream);
            let mut doublings = 0;
            loop {
                let before = filter.clone();
                match filter.double() {
                    Ok(()) => doublings += 1,
                    Err(Error::Option { .. }) => {
                        assert!(filter == before, "{kind}: a refused doubling changes nothing");
                        break;
                    }
                    Err(error) => panic!("{kind}: {error}"),
                }
                let (old, new) = (before.geometry(), filter.geometry());
                assert_eq!(new.cuckoo().unwrap().doublings(), doublings);
                assert_eq!(new.cuckoo().unwrap().places(), 2 * old.cuckoo().unwrap().places());
                assert!(new.predicted_rate(new.keys()) <= new.rate(), "{kind}");
                // With few fingerprints left, it matters that pairs of them merge.
                let few = new.cuckoo().unwrap().fingerprints() < 16;
                assert!(few || new.rate() < 2.1 * old.rate(), "{kind}");
                check(&format!("{kind} {offsets:?} doubled {doublings} times"), filter.clone(), &model);
            }
            assert!(doublings >= 6, "{kind} {doublings}");
        }
    }
}

#[test]
fn doubled_filters_work_like_any_other() {
    let mut stream = Stream::new(22);
    for kind in signed() {
        for doublings in 1..=2 {
            let mut filter = Spec::new(60, 1e-3).kind(kind).build().unwrap();
            (0..doublings).for_each(|_| filter.double().unwrap());
            exercise(&mut filter, 1000, 2000, &mut stream);
            // A bulk insert, which sorts keys by their first place.
            filter.clear();
            let keys: Vec<u64> = (0..filter.geometry().keys()).map(|_| stream.draw()).collect();
            filter.extend(&keys, 2).unwrap();
            assert!(filter.contains_slice(&keys).into_iter().all(|found| found), "{kind}");
        }
    }
    let mut large = Spec::new(400_000, 1e-4).build_from(&(0..400_000u64).collect::<Vec<_>>()).unwrap();
    large.double().unwrap();
    large.extend(&(400_000..800_000u64).collect::<Vec<_>>(), 2).unwrap();
    assert!(large.contains_slice(&(0..800_000u64).collect::<Vec<_>>()).into_iter().all(|found| found));
}

#[test]
fn several_filters_become_one_larger_one() {
    let mut stream = Stream::new(23);
    for kind in signed() {
        for parts in [1, 2, 3, 5, 9] {
            let spec = Spec::new(400, 1e-4).kind(kind);
            let mut all = HashMap::new();
            let filters: Vec<Filter> = (0..parts)
                .map(|_| {
                    let (filter, model) = random(&spec, 400, &mut stream);
                    for (key, count) in model {
                        *all.entry(key).or_default() += count;
                    }
                    filter
                })
                .collect();
            let others: Vec<&Filter> = filters[1..].iter().collect();
            let larger = filters[0].merge_into_larger(&others).unwrap();
            let times = f64::from(1u32 << larger.geometry().cuckoo().unwrap().doublings());
            assert!(times >= 0.7 * f64::from(parts) && times < 2.1 * f64::from(parts), "{kind}: {times}");
            assert!((larger.geometry().rate() / (times * 1e-4) - 1.0).abs() < 0.05, "{kind}");
            check(&format!("{kind} of {parts}"), larger, &all);
        }
    }
}

/// The part of the promised rate that the first `links` links have: 1/2, 5/8, 3/4, and so on.
fn shares(links: u32) -> f64 {
    (1..=links).map(|link| 0.5 / f64::from(1u32 << link.ilog2()).powi(2)).sum()
}

#[test]
fn several_filters_become_one_chain_at_the_sum_of_their_rates() {
    let mut stream = Stream::new(25);
    let kinds = Kind::all().filter(|kind| kind.is_signed() || kind.is_bloom());
    common::in_parallel(kinds.map(|kind| (kind, stream.draw())), |(kind, seed)| {
        let mut stream = Stream::new(seed);
        for parts in [1u32, 2, 3, 5, 9] {
            let name = format!("{kind} of {parts}");
            let spec = Spec::new(400, 1e-4).kind(kind).seed(5);
            let (mut filters, mut all) = (Vec::new(), HashMap::<u64, u32>::new());
            for _ in 0..parts {
                let (filter, model) = random(&spec, 400, &mut stream);
                for (key, count) in model {
                    *all.entry(key).or_default() += count;
                }
                filters.push(filter);
            }
            let sum: f64 = filters.iter().map(|filter| filter.stats().predicted_rate).sum();
            let others: Vec<&Filter> = filters[1..].iter().collect();
            let mut chain = filters[0].merge_into_chain(&others).unwrap();
            let (stats, promise) = (chain.stats(), chain.geometry().rate());
            assert!((stats.predicted_rate / sum - 1.0).abs() < 1e-3, "{name}: {stats}");
            let rate = spec.plan().unwrap().rate() * f64::from(parts);
            assert!((promise * shares(parts) / rate - 1.0).abs() < 1e-9, "{name}: {promise}");
            assert_eq!(stats.links.len(), parts as usize, "{name}");
            assert!(all.keys().all(|key| chain.contains(key)), "{name}");
            assert!(Filter::from_bytes(&chain.to_bytes().unwrap()).unwrap() == chain, "{name}");
            if kind.is_signed() {
                check(&name, chain.clone(), &all);
            }
            // It keeps growing within its promise, and can still be written after it is emptied and compacted.
            for key in 0..20_000u64 {
                chain.insert(&(key << 32)).unwrap();
                all.entry(key << 32).or_default();
            }
            assert!(chain.stats().links.len() > parts as usize, "{name}");
            assert!(chain.stats().predicted_rate <= promise, "{name}: {}", chain.stats());
            assert!(all.keys().all(|key| chain.contains(key)), "{name}");
            if kind.is_signed() {
                (0..20_000u64).for_each(|key| assert_eq!(chain.remove(&(key << 32)), Ok(true), "{name}"));
                chain.compact().unwrap();
                assert!(chain.stats().links.len() <= parts as usize, "{name}: {}", chain.stats());
                all.retain(|_, count| *count > 0);
                check(&format!("{name}, compacted"), chain.clone(), &all);
            }
            chain.clear();
            assert!(Filter::from_bytes(&chain.to_bytes().unwrap()).unwrap() == chain, "{name}, emptied");
        }
    });
}

#[test]
fn chains_become_one_chain() {
    let mut stream = Stream::new(26);
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Flexible(4)] {
        let spec = Spec::new(100, 0.01).kind(kind);
        let (first, mut all) = random_in(build_chain(&spec).unwrap(), 3000, &mut stream);
        let (second, more) = random_in(build_chain(&spec).unwrap(), 700, &mut stream);
        for (key, count) in more {
            *all.entry(key).or_default() += count;
        }
        let chain = first.merge_into_chain(&[&second]).unwrap();
        assert_eq!(chain.stats().links.len(), first.stats().links.len() + second.stats().links.len());
        let sum = first.stats().predicted_rate + second.stats().predicted_rate;
        assert!((chain.stats().predicted_rate / sum - 1.0).abs() < 0.01, "{kind}");
        assert!(chain.stats().predicted_rate <= chain.geometry().rate(), "{kind}");
        check(&format!("{kind}, two chains"), chain, &all);
        let alone = first.merge_into_chain(&[]).unwrap();
        assert!((alone.geometry().rate() - 0.01).abs() < 1e-12, "{kind}: a chain alone keeps its promise");
    }
}

#[test]
fn filters_that_make_no_chain_are_refused_with_the_reason() {
    let spec = Spec::new(100, 0.01);
    let filter = spec.build().unwrap();
    let mut doubled = filter.clone();
    doubled.double().unwrap();
    let mut overfull = spec.kind(Kind::Bloom).build().unwrap();
    (0..101u64).for_each(|key| overfull.insert(&key).unwrap());
    for (other, said) in [
        (spec.kind(Kind::Classic(4)).build().unwrap(), "only flexible, windowed, sorted and Bloom"),
        (spec.values(3).build().unwrap(), "only flexible, windowed, sorted and Bloom"),
        (spec.offsets(Offsets::Near(96)).build().unwrap(), "only flexible, windowed, sorted and Bloom"),
        (doubled, "only flexible, windowed, sorted and Bloom"),
        (spec.seed(1).build().unwrap(), "it has another seed"),
        (spec.kind(Kind::Windowed(2)).build().unwrap(), "of another kind"),
        (Spec::new(133, 0.01).build().unwrap(), "no multiple"),
    ] {
        let error = filter.merge_into_chain(&[&other]).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let error = overfull.merge_into_chain(&[]).unwrap_err().to_string();
    assert!(error.contains("more keys than it was planned for"), "{error}");
    // Regions are no links: a chain without them would lack their keys.
    let elastic = Spec::rate(0.001).build_from(&[1u64, 2]).unwrap();
    let bloom = spec.kind(Kind::Bloom).growing().build_from(&[3u64]).unwrap();
    for (one, others) in [
        (&elastic, &[][..]),
        (&elastic, &[&elastic]),
        (&elastic, &[&filter]),
        (&elastic, &[&bloom]),
        (&filter, &[&elastic]),
        (&bloom, &[&elastic]),
    ] {
        let error = one.merge_into_chain(others).unwrap_err().to_string();
        assert!(error.contains("elastic: only tables can be the links of a chain"), "{error}");
    }
    for (one, other) in [(&elastic, &filter), (&filter, &elastic), (&elastic, &bloom), (&bloom, &elastic)] {
        let error = one.clone().merge(other).unwrap_err().to_string();
        assert!(!error.contains("merge_into_chain"), "a remedy that is none: {error}");
    }
    let coarse = Spec::new(100, 0.4).build().unwrap();
    assert!(matches!(coarse.merge_into_chain(&[&coarse, &coarse]), Err(Error::Rate { .. })));
}

#[test]
fn filters_that_cannot_be_doubled_are_refused_with_the_reason() {
    for kind in Kind::all().filter(|kind| !kind.is_signed()) {
        let mut filter = Spec::new(100, 0.01).kind(kind).build().unwrap();
        let error = filter.double().unwrap_err();
        assert!(error.to_string().contains("only flexible, windowed and sorted"), "{kind}: {error}");
        assert_eq!(filter.merge_into_larger(&[&filter]).unwrap_err(), error, "{kind}");
    }
    let spec = Spec::new(100, 0.01);
    let (one, other) = (spec.build().unwrap(), spec.seed(1).build().unwrap());
    assert!(matches!(one.merge_into_larger(&[&other]), Err(Error::Geometries { .. })));
    let mut doubled = one.clone();
    doubled.double().unwrap();
    let error = doubled.merge(&one).unwrap_err();
    assert!(error.to_string().contains("their places"), "{error}");
    // Full of keys, with few fingerprints: at some size no fingerprints are left.
    let mut stream = Stream::new(24);
    let few: Vec<Filter> = (0..64).map(|_| random(&Spec::new(200, 0.2), 200, &mut stream).0).collect();
    let error = few[0].merge_into_larger(&few[1..].iter().collect::<Vec<_>>()).unwrap_err();
    let Error::MergeFull { copies: 12_800, room, left_over } = error else { panic!("{error}") };
    assert_eq!(left_over, 12_800 - room, "{error}");
    // Copies of one key have the same places in tables of all sizes.
    let copies = Spec::new(100, 0.01).build_from(&["cuckoo"; 8]).unwrap();
    let error = copies.merge_into_larger(&[&copies; 9]).unwrap_err();
    let Error::MergeFull { copies: 80, room: 80.., .. } = error else { panic!("{error}") };
    assert!(error.to_string().contains("a key may have too many copies"), "{error}");
}

/// Compares the rate of doubled filters with theory, at 4 standard deviations: it stays for the same keys, and
/// doubles for twice as many.
#[test]
fn rates_of_doubled_filters_are_as_predicted() {
    let probes = common::scale(1_000_000, 20_000_000);
    common::in_parallel(signed(), |kind| {
        let keys: Vec<u64> = (0..20_000).collect();
        let mut filter = Spec::new(5000, 1.0 / 512.0).kind(kind).build_from(&keys[..5000]).unwrap();
        let absent: Vec<u64> = (1 << 40..(1 << 40) + probes).collect();
        for doublings in 0..=2 {
            if doublings > 0 {
                filter.double().unwrap();
                filter.insert_slice(&keys[5000 << (doublings - 1)..5000 << doublings]).unwrap();
            }
            let hits = filter.contains_slice(&absent).into_iter().filter(|found| *found).count() as f64;
            let expected = filter.stats().predicted_rate * probes as f64;
            assert!(
                (hits - expected).abs() < 4.0 * expected.sqrt() + 0.002 * expected,
                "{kind} {doublings}: {hits} for {expected}"
            );
            assert!(expected <= filter.geometry().rate() * probes as f64, "{kind}");
        }
    });
}
