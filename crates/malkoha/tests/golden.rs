//! The golden files: once written, they stay readable forever, and are written the same way again.

use crate::golden_files as golden;

use malkoha::{Filter, Generations, Sharded, Spec};

#[test]
fn every_golden_file_opens_and_holds_its_keys() {
    for (name, spec) in golden::specs() {
        let filter = Filter::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        golden::check(&name, &filter);
        assert_eq!(*filter.geometry(), spec.plan().unwrap(), "{name}");
        if !filter.geometry().kind().is_bloom() {
            assert!(filter.stats().stash_size > 0, "{name} has a stash");
        }
    }
}

#[test]
fn golden_files_of_chains_open_and_keep_growing() {
    for (name, spec) in golden::growing() {
        let mut filter = Filter::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        golden::check(&name, &filter);
        assert_eq!(*filter.geometry(), malkoha::testing::plan_chain(&spec).unwrap(), "{name}");
        let links = filter.stats().links.len();
        assert!(links > 2, "{name} has grown");
        let mut fresh = golden::build_chain(&spec);
        for key in 1000..3000u64 {
            filter.insert(&key).unwrap();
            fresh.insert(&key).unwrap();
        }
        assert!(filter == fresh && filter.stats().links.len() > links, "{name} grows as it would have");
        golden::check_keys(&name, &filter);
    }
}

#[test]
fn elastic_filters_open_keep_growing_and_are_written_the_same_way() {
    for (name, spec) in golden::elastic() {
        let mut filter = Filter::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        golden::check(&name, &filter);
        assert_eq!(*filter.geometry(), spec.plan().unwrap(), "{name}");
        assert!(filter.stats().growth.is_some_and(|growth| growth.overflow > 0), "{name} has an overflow");
        let written = std::fs::read(golden::path(&name)).unwrap();
        let mut fresh = golden::build(&spec);
        assert!(fresh.to_bytes().unwrap() == written, "{name} is written differently");
        assert!(filter.to_bytes().unwrap() == written, "{name} is not written as it was read");
        for key in 1000..9000u64 {
            filter.insert(&key).unwrap();
            fresh.insert(&key).unwrap();
        }
        assert!(filter == fresh, "{name} grows as it would have");
        golden::check_keys(&name, &filter);
    }
}

/// Equal content is written in the same way, but the rules have changed since that decide which place an entry takes and
/// how long its fingerprint is. A file has the lengths, so it grows as it would have.
#[test]
fn elastic_filters_of_older_rules_open_and_keep_growing() {
    for name in golden::elastic_by_older_rules() {
        let mut filter = Filter::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        if name.contains("labels") {
            golden::check_keys(&name, &filter);
        } else {
            golden::check(&name, &filter);
        }
        let written = std::fs::read(golden::path(&name)).unwrap();
        assert!(filter.to_bytes().unwrap() == written, "{name} is not written as it was read");
        for key in 1000..9000u64 {
            filter.insert(&key).unwrap();
        }
        golden::check_keys(&name, &filter);
        assert!((1000..9000u64).all(|key| filter.contains(&key)), "{name}");
        let stats = filter.stats();
        assert!(stats.predicted_rate <= stats.promised_rate, "{name}: {stats}");
    }
    for name in golden::SHARDED_BY_OLDER_RULES {
        let filter = Sharded::open(golden::path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let written = std::fs::read(golden::path(name)).unwrap();
        assert!(filter.to_bytes().unwrap() == written, "{name} is not written as it was read");
        filter.insert_slice(&(1000..9000u64).collect::<Vec<_>>()).unwrap();
        assert!((5..150u64).chain(1000..9000).all(|key| filter.contains(&key)), "{name}");
    }
}

/// When this file was written, 3170 keys fitted into tables of its last level. Tables are filled less since.
#[test]
fn an_elastic_filter_opens_that_would_begin_beyond_its_last_level() {
    let name = "elastic-equal-last-level";
    let mut filter = Filter::open(golden::path(name)).unwrap();
    golden::check(name, &filter);
    let written = std::fs::read(golden::path(name)).unwrap();
    assert!(filter.to_bytes().unwrap() == written, "it is not written as it was read");
    let spec = Spec::new(3170, 0.01).growing().most_keys(3170).seed(42);
    assert_ne!(*filter.geometry(), spec.plan().unwrap(), "it would begin with larger tables");
    for key in 1000..3900u64 {
        filter.insert(&key).unwrap();
    }
    assert!((5..150u64).chain(1000..3900).all(|key| filter.contains(&key)));
    let stats = filter.stats();
    assert!(stats.predicted_rate <= stats.promised_rate, "{stats}");
}

#[test]
fn doubled_filters_open_hold_their_keys_and_are_written_the_same_way() {
    for (name, filter) in golden::doubled() {
        let read = Filter::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        golden::check(&name, &read);
        assert!(read == filter && read.geometry().cuckoo().unwrap().doublings() > 0, "{name}");
        let written = std::fs::read(golden::path(&name)).unwrap();
        assert!(filter.to_bytes().unwrap() == written, "{name} is written differently");
        assert!(read.to_bytes().unwrap() == written, "{name} is not written as it was read");
    }
}

#[test]
fn filters_with_labels_open_hold_their_keys_and_are_written_the_same_way() {
    for (name, filter) in golden::labelled() {
        let read = Filter::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        golden::check_keys(&name, &read);
        assert!(read == filter && read.labels() == filter.labels() && !read.labels().is_empty(), "{name}");
        let written = std::fs::read(golden::path(&name)).unwrap();
        assert!(filter.to_bytes().unwrap() == written, "{name} is written differently");
        assert!(read.to_bytes().unwrap() == written, "{name} is not written as it was read");
    }
}

#[test]
fn chains_of_filters_open_hold_all_keys_and_are_written_the_same_way() {
    for (name, chain) in golden::joined() {
        let read = Filter::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        golden::check_keys(&name, &read);
        assert!((1000..1050u64).all(|key| read.contains(&key)), "{name}");
        assert!(read.stats().links.len() > 1 && read.geometry() == chain.geometry(), "{name}");
        let written = std::fs::read(golden::path(&name)).unwrap();
        assert!(read == chain && chain.to_bytes().unwrap() == written, "{name} is written differently");
        assert!(read.to_bytes().unwrap() == written, "{name} is not written as it was read");
    }
}

#[test]
fn todays_writer_gives_the_same_bytes() {
    let filters = golden::specs().into_iter().map(|(name, spec)| (name, golden::build(&spec)));
    let chains = golden::growing().into_iter().map(|(name, spec)| (name, golden::build_chain(&spec)));
    for (name, filter) in filters.chain(chains) {
        let written = std::fs::read(golden::path(&name)).unwrap();
        assert!(filter.to_bytes().unwrap() == written, "{name} is written differently");
        let again = Filter::from_bytes(&written).unwrap();
        assert!(again.to_bytes().unwrap() == written, "{name} is not written as it was read");
    }
}

#[test]
fn sharded_filters_open_hold_their_keys_and_are_written_the_same_way() {
    for (name, spec) in golden::sharded_specs() {
        let filter = Sharded::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!((5..150u64).all(|key| filter.contains(&key)), "{name}");
        assert!((0..20).all(|i| filter.contains(&format!("key {i}"))), "{name}");
        assert_eq!(*filter.geometry(), spec.plan().unwrap(), "{name}");
        let (built, written) = (golden::build_sharded(&spec), std::fs::read(golden::path(&name)).unwrap());
        assert!(built == filter && built.to_bytes().unwrap() == written, "{name} is written differently");
        assert!(filter.to_bytes().unwrap() == written, "{name} is not written as it was read");
        let refused = Filter::from_bytes(&written).unwrap_err();
        assert!(refused.to_string().contains("sharded"), "{refused}");
    }
}

#[test]
fn windows_open_hold_their_keys_and_are_written_the_same_way() {
    for (name, window) in golden::windows() {
        let read = Generations::open(golden::path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!((95..150u64).all(|key| read.contains(&key)), "{name}");
        assert!(read.len() < 100, "{name} has forgotten the first keys");
        let written = std::fs::read(golden::path(&name)).unwrap();
        assert!(read == window && window.to_bytes().unwrap() == written, "{name} is written differently");
        assert!(read.to_bytes().unwrap() == written, "{name} is not written as it was read");
    }
}

#[test]
fn every_golden_file_can_be_read() {
    for (name, bytes) in golden::files() {
        assert!(golden::read(&name, &bytes).is_ok(), "{name}");
        assert!(bytes.len() < 16 << 10, "{name} is small");
    }
}

/// Files have the lowest version that can hold their content.
#[test]
fn files_have_the_version_of_their_folder() {
    for version in golden::VERSIONS {
        for entry in std::fs::read_dir(golden::folder(version)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes[8..12], [version, 0, 0, 0], "{}", path.display());
        }
    }
}

#[test]
#[ignore = "writes the golden files that do not exist yet"]
fn write_golden_files() {
    let filters = golden::specs().into_iter().chain(golden::elastic());
    let filters = filters.map(|(name, spec)| (name, golden::build(&spec)));
    let chains = golden::growing().into_iter().map(|(name, spec)| (name, golden::build_chain(&spec)));
    for (name, filter) in filters.chain(chains) {
        golden::check(&name, &filter);
        golden::write_missing(&name, &filter.to_bytes().unwrap());
    }
    for (name, filter) in golden::doubled().into_iter().chain(golden::joined()).chain(golden::labelled()) {
        golden::write_missing(&name, &filter.to_bytes().unwrap());
    }
    for (name, window) in golden::windows() {
        golden::write_missing(&name, &window.to_bytes().unwrap());
    }
    for (name, spec) in golden::sharded_specs() {
        golden::write_missing(&name, &golden::build_sharded(&spec).to_bytes().unwrap());
    }
}
