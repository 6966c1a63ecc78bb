//! How full tables get: with signed offsets of every reach, and with only a few keys.

use crate::common::{in_parallel, scale};
use malkoha::testing::Stream;
use malkoha::{Filter, Kind, Offsets, Spec, theory};

/// The kinds with signed offsets and a sharp threshold. With one slot per place it is not sharp: however large
/// the table, some key is left over long before it.
fn signed_kinds() -> impl Iterator<Item = Kind> {
    Kind::cuckoos().filter(|kind| kind.is_signed() && kind.slots_per_place() > 1)
}

/// Inserts until a key finds no place; returns the load then, as a fraction of the threshold.
fn first_failure(mut filter: Filter, stream: &mut Stream) -> f64 {
    while filter.insert(&stream.draw()).is_ok() {}
    filter.stats().load / filter.geometry().threshold()
}

#[test]
fn a_million_slots_fill_to_098_of_the_threshold_and_fail_no_earlier_than_0985() {
    let seeds = scale(4, 20);
    let cases = signed_kinds().flat_map(|kind| {
        let near = [48, 96, 128, 192].map(|share| (Offsets::Near(share), 13));
        let far = [(Offsets::Local, 8), (Offsets::Whole, 8), (Offsets::Local, 13)];
        far.into_iter().chain(near).map(move |(offsets, k)| (kind, offsets, k))
    });
    in_parallel(cases, |(kind, offsets, k)| {
        let keys = (1e6 * 0.98 * theory::threshold(kind)) as u64;
        let mut sum = 0.0;
        for seed in 0..seeds {
            // No stash: every key must find a place.
            let spec = Spec::new(keys, 2f64.powi(-k)).kind(kind).offsets(offsets).stash(0).seed(seed);
            let filter = spec.build().unwrap();
            assert!(filter.geometry().cuckoo().unwrap().slots() < 1_006_000);
            let failed = first_failure(filter, &mut Stream::new(seed));
            assert!(failed > 0.98, "{kind} {offsets:?} at 2^-{k}: seed {seed} failed at {failed:.4} T");
            sum += failed;
        }
        let mean = sum / seeds as f64;
        println!("{kind:12} {offsets:?} 2^-{k}: first failure at {mean:.4} T on average");
        assert!(mean >= 0.985, "{kind} {offsets:?} 2^-{k}: {mean:.4}");
    });
}

#[test]
fn near_offsets_fill_as_planned() {
    let kinds = [Kind::Flexible(2), Kind::Flexible(4), Kind::Windowed(2), Kind::Windowed(4), Kind::Sorted];
    let cases = kinds.into_iter().flat_map(|kind| [48, 96, 128, 192].map(|share| (kind, share)));
    in_parallel(cases, |(kind, share)| {
        for seed in 0..scale(2, 20) {
            let keys = 1_000_000;
            let spec = Spec::new(keys, 2f64.powi(-13)).kind(kind).offsets(Offsets::Near(share)).seed(seed);
            let mut filter = spec.build().unwrap();
            let mut stream = Stream::new(seed);
            for _ in 0..keys {
                filter.insert(&stream.draw()).expect("a filter for a million keys holds a million");
            }
            let stats = filter.stats();
            let group = filter.geometry().cuckoo().unwrap().ring().group;
            let name = format!("{kind} near {share} in {group}");
            println!("{name}: stash {} steps {:.1}", stats.stash_size, stats.steps_mean);
            // Groups are chosen so that a quarter of the stash holds what does not fit. In measurements it is
            // empty, and walks have up to 11 steps with two slots per place and 4.2 with four.
            assert!(stats.stash_size <= 4, "{name}: {stats:?}");
            let most_steps = if kind.slots_per_place() == 2 { 13.0 } else { 5.0 };
            assert!(stats.steps_mean < most_steps, "{name}: {stats:?}");
        }
    });
}

#[test]
fn dense_filters_hold_the_planned_keys() {
    let cases = signed_kinds().flat_map(|kind| [8, 14].map(|k| (kind, k)));
    in_parallel(cases, |(kind, k)| {
        for (keys, seeds) in [(100, 200), (10_000, 20), (scale(1_000_000, 100_000_000), 1)] {
            for seed in 0..seeds {
                let spec = Spec::new(keys, 2f64.powi(-k)).kind(kind).dense().seed(seed);
                let mut filter = spec.build().unwrap();
                let mut stream = Stream::new(seed);
                let keys: Vec<u64> = (0..keys).map(|_| stream.draw()).collect();
                filter.extend(&keys, 1).unwrap_or_else(|_| panic!("{filter:?} with seed {seed} is full"));
                let stats = filter.stats();
                if keys.len() >= 1_000_000 {
                    assert!(stats.load >= 0.997 * theory::dense_load(kind).unwrap(), "{filter:?} {stats:?}");
                    println!("{kind} 2^-{k} {} keys: stash {}", keys.len(), stats.stash_size);
                }
                assert!(stats.stash_size <= 8, "{filter:?}: half of the stash stays free, {stats:?}");
            }
        }
    });
}

/// Builds filters for `keys` keys and counts the builds that end with each size of the stash.
fn stash_sizes(spec: Spec, keys: u64, builds: u64) -> [u64; 17] {
    let mut sizes = [0; 17];
    let mut filter = spec.build().unwrap();
    let mut stream = Stream::new(keys);
    for _ in 0..builds {
        // Fresh random keys are as good as a fresh seed.
        for _ in 0..keys {
            filter.insert(&stream.draw()).unwrap_or_else(|_| panic!("{filter:?} did not take {keys} keys"));
        }
        sizes[filter.stats().stash_size as usize] += 1;
        filter.clear();
    }
    sizes
}

/// The number of builds that ended with at least `least` keys in the stash.
fn at_least(sizes: &[u64; 17], least: usize) -> f64 {
    sizes[least..].iter().sum::<u64>() as f64
}

/// The factor by which builds with one more key in the stash are rarer, estimated from those with one to three.
fn decline(sizes: &[u64; 17]) -> f64 {
    // More than were seen: what did not happen in these builds may still happen.
    let factor = |least, more| (at_least(sizes, least + 1) + 1.0) / (at_least(sizes, least) + more);
    f64::max(factor(1, 2.0), factor(2, 3.0))
}

/// The chance of a stash of more than 16, if every further key is rarer by [`decline`] or more. This is an
/// extrapolation: no test makes enough builds to see it.
fn failure_chance(sizes: &[u64; 17]) -> f64 {
    (at_least(sizes, 1) + 1.0) / at_least(sizes, 0) * decline(sizes).powi(16)
}

/// The share of builds that leave a key in the stash, averaged over the numbers of keys of the next test, as
/// measured with the current seeds and rounded up: for one, two, and more slots per place.
fn share_in_use(kind: Kind, rate: f64) -> f64 {
    let shares = if rate == 0.25 { [1.6e-2, 7e-4, 5e-5] } else { [6e-3, 5e-5, 1e-5] };
    shares[(kind.slots_per_place() as usize).min(3) - 1]
}

#[test]
fn filters_for_any_number_of_keys_hold_that_many() {
    let sizes = [1, 2, 3, 4, 5, 6, 8, 10, 13, 20, 30, 50, 80, 130, 200, 300, 500, 1_000, 3_000, 10_000];
    let cases = Kind::cuckoos().flat_map(|kind| [0.25, 2f64.powi(-8)].map(|rate| (kind, rate)));
    in_parallel(cases, |(kind, rate)| {
        let (mut builds, mut in_use) = (0, 0);
        for keys in sizes {
            let of_size = (scale(200_000, 2_000_000) / keys).min(scale(2_000, 20_000));
            let sizes = stash_sizes(Spec::new(keys, rate).kind(kind), keys, of_size);
            // Nothing is refused, and half of the stash stays free.
            assert!(sizes[9..].iter().all(|count| *count == 0), "{kind} {rate} {keys}: {sizes:?}");
            builds += of_size;
            in_use += of_size - sizes[0];
        }
        let expected = share_in_use(kind, rate) * builds as f64;
        println!(
            "{kind} {rate}: the stash is in use after {in_use} of {builds} builds, {expected:.1} expected"
        );
        assert!(in_use as f64 <= expected + 4.0 * expected.sqrt(), "{kind} {rate}: {in_use} of {builds}");
    });
}

#[test]
fn the_extrapolated_chance_of_failure_is_below_one_in_a_million() {
    // The kinds and sizes with the fullest stashes, with enough builds to see how fast the tail falls.
    let kinds =
        [Kind::Flexible(1), Kind::Flexible(2), Kind::Windowed(2), Kind::Classic(1), Kind::Simplified(1)];
    in_parallel(kinds, |kind| {
        for rate in [0.25, 2f64.powi(-8)] {
            for keys in [10, 30, 100, 300, 1_000] {
                let builds = scale(2_000_000, 40_000_000) / keys;
                let sizes = stash_sizes(Spec::new(keys, rate).kind(kind), keys, builds);
                let chance = failure_chance(&sizes);
                println!("{kind} {rate:.4} {keys}: {sizes:?} extrapolated chance of failure {chance:.1e}");
                assert!(chance < 1e-6, "{kind} {rate} {keys}: {sizes:?} {chance:.1e}");
                // The assumption of the extrapolation, as far as it can be seen.
                for least in 3..16 {
                    let (seen, most) =
                        (at_least(&sizes, least + 1), decline(&sizes) * at_least(&sizes, least));
                    assert!(
                        seen <= most + 4.0 * most.sqrt(),
                        "{kind} {rate} {keys}: {sizes:?} from {least} on"
                    );
                }
            }
        }
    });
}
