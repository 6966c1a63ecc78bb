//! Bugs that users of other filters reported, as tests that these filters do not have them.
//!
//! Each test names the public thread. Random histories in `no_lost_keys.rs` cover all of them at once; here each
//! appears as its users met it.

use malkoha::{Inserted, Kind, Spec};

fn all_found<K: malkoha::Key>(filter: &malkoha::Filter, keys: &[K]) -> bool {
    filter.contains_slice(keys).into_iter().all(|found| found)
}

/// seiflotfy/cuckoofilter#42, axiomhq/rust-cuckoofilter#26: an insert into a full filter was refused, kept
/// the new key and dropped an old one.
#[test]
fn a_full_filter_drops_no_key() {
    for kind in Kind::cuckoos() {
        let mut filter = Spec::new(1_000, 0.001).kind(kind).build().unwrap();
        let mut stored = Vec::new();
        for key in 0u64.. {
            match filter.insert(&key) {
                Ok(()) => stored.push(key),
                Err(_) if filter.stats().insert_failures == 200 => break,
                Err(_) => {}
            }
        }
        assert!(all_found(&filter, &stored), "{kind}");
        assert_eq!(filter.len(), stored.len() as u64);
    }
}

/// Callidon/bloom-filters#68: 2 of 17 keys were lost.
#[test]
fn none_of_seventeen_keys_is_lost() {
    for kind in Kind::cuckoos() {
        for seed in 0..200 {
            let mut filter = Spec::new(17, 0.01).kind(kind).seed(seed).build().unwrap();
            let keys: Vec<String> = (0..17).map(|i| format!("item-{i}")).collect();
            filter.insert_slice(&keys).unwrap();
            assert!(all_found(&filter, &keys));
        }
    }
}

/// irfansharif/cfilter#13, jonahharris/libcuckoofilter#3 and #5: beyond a few hundred thousand URLs, lookups of
/// stored keys failed; a fingerprint of zero counted as empty.
#[test]
fn half_a_million_urls_are_all_found() {
    let urls: Vec<String> = (0..500_000).map(|i| format!("https://example.org/{}/{i}", i % 977)).collect();
    for kind in [Kind::Classic(4), Kind::Simplified(4), Kind::Windowed(2), Kind::Sorted] {
        let mut filter = Spec::new(urls.len() as u64, 0.02).kind(kind).build().unwrap();
        filter.insert_slice(&urls).unwrap();
        assert!(all_found(&filter, &urls), "{kind}");
    }
}

/// `sile/scalable_cuckoo_filter#4` and `#13`: equal fingerprints were stored once, so removing one key removed
/// another. RedisBloom/RedisBloom#260, seiflotfy/cuckoofilter#50: deletes removed other live keys.
#[test]
fn removing_half_of_the_keys_leaves_the_other_half() {
    for kind in Kind::cuckoos() {
        let mut filter = Spec::new(20_000, 0.1).kind(kind).build().unwrap();
        let keys: Vec<u64> = (0..20_000).collect();
        filter.insert_slice(&keys).unwrap();
        let (leave, keep) = keys.split_at(10_000);
        assert_eq!(filter.remove_slice(leave), Ok(10_000));
        assert!(all_found(&filter, keep), "{kind}");
        assert_eq!(filter.remove_slice(keep), Ok(10_000));
        assert!(filter.is_empty());
        assert!(!filter.contains_slice(&keys).contains(&true), "{kind}: an empty filter holds nothing");
    }
}

/// MGunlogson/CuckooFilter4J#5: tags of more than 32 bits lost keys. efficient/cuckoofilter#34: sorted tables
/// with tags of 5, 7 or 9 bits did not find stored keys.
#[test]
fn tags_of_every_width_work() {
    for kind in Kind::cuckoos() {
        for k in 1..=36 {
            let mut filter = Spec::new(3_000, 2f64.powi(-k)).kind(kind).build().unwrap();
            let keys: Vec<u64> = (0..3_000).collect();
            filter.insert_slice(&keys).unwrap();
            assert!(all_found(&filter, &keys), "{kind} 2^-{k}");
            assert_eq!(filter.remove_slice(&keys), Ok(3_000));
        }
    }
}

/// lrleon/Aleph-w#46: a load of 100 % was promised. vercel/next.js#77691: occasional "capacity exceeded".
#[test]
fn a_filter_for_n_keys_holds_n_keys() {
    for kind in Kind::cuckoos() {
        for keys in 1..=300u64 {
            let mut filter = Spec::new(keys, 0.01).kind(kind).seed(keys).build().unwrap();
            for key in 0..keys {
                filter.insert(&key).unwrap();
            }
        }
    }
}

/// axiomhq/rust-cuckoofilter#19: the fingerprint came from the bits of the place, which made the rate 256
/// times too high. RedisBloom/RedisBloom#9 and #28: 32-bit hashes.
#[test]
fn places_and_fingerprints_come_from_different_bits() {
    let keys: Vec<u64> = (0..300_000).collect();
    let strangers: Vec<u64> = (1 << 40..(1 << 40) + 1_000_000).collect();
    for kind in Kind::cuckoos() {
        let mut filter = Spec::new(300_000, 1e-4).kind(kind).build().unwrap();
        filter.insert_slice(&keys).unwrap();
        let hits = filter.contains_slice(&strangers).into_iter().filter(|found| *found).count();
        assert!(hits <= 100 + 40, "{kind}: {hits} false positives where 100 are promised");
    }
}

/// axiomhq/rust-cuckoofilter#31: rounding up to a power of two "blows up the filter size quite a lot";
/// #32: half a billion password hashes in a gigabyte had a rate of 2 %.
#[test]
fn half_a_billion_keys_fit_a_gigabyte_at_one_in_a_thousand() {
    let geometry = Spec::new(551_509_767, 0.001).plan().unwrap();
    assert!(geometry.bytes() < 900_000_000, "{}", geometry.bytes());
    let geometry = Spec::keys_in_memory(551_509_767, 1 << 30).plan().unwrap();
    assert!(geometry.rate() < 2f64.powi(-12), "{}", geometry.rate());
}

/// valkey-io/valkey-bloom#87: random evictions made primary and replica diverge.
#[test]
fn replicas_fed_the_same_commands_are_equal() {
    for kind in Kind::cuckoos() {
        let replica = || {
            let mut filter = Spec::new(1_000, 0.01).kind(kind).build().unwrap();
            for key in 0..1_100u64 {
                let _ = filter.insert(&key);
                if key % 3 == 0 {
                    filter.remove(&(key / 3)).unwrap();
                }
            }
            filter
        };
        assert!(replica() == replica(), "{kind}");
    }
}

/// RedisBloom/redisbloom-py#54: "CF.DEL not work": a key stored twice stays until it is removed twice.
#[test]
fn each_copy_is_removed_on_its_own() {
    let mut filter = Spec::new(100, 0.001).build().unwrap();
    filter.insert("twice").unwrap();
    filter.insert("twice").unwrap();
    assert_eq!(filter.insert_unique("twice"), Ok(Inserted::Seen));
    assert_eq!(filter.remove("twice"), Ok(true));
    assert!(filter.contains("twice"));
    assert_eq!(filter.remove("twice"), Ok(true));
    assert!(!filter.contains("twice"));
    assert_eq!(filter.remove("twice"), Ok(false));
}

/// RedisBloom/RedisBloom#140: a filter should estimate its current rate.
#[test]
fn the_current_rate_is_reported() {
    let mut filter = Spec::new(10_000, 0.01).build().unwrap();
    assert_eq!(filter.stats().predicted_rate, 0.0);
    filter.insert_slice(&(0..5_000u64).collect::<Vec<_>>()).unwrap();
    let half = filter.stats().predicted_rate;
    assert!(half > 0.002 && half < 0.006, "{half}");
}
