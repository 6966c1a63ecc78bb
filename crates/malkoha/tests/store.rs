//! Filters as bytes and files: they are read as they were written, and nothing else is accepted.

use std::path::{Path, PathBuf};

use malkoha::testing::{Stream, build_chain, exercise};
use malkoha::{Error, Filter, Kind, Spec};

/// A folder for one test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("malkoha-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn filled(spec: &Spec, keys: u64) -> Filter {
    let mut filter = spec.build().unwrap();
    filter.extend(&(0..keys).collect::<Vec<_>>(), 1).unwrap();
    filter
}

#[test]
fn every_kind_is_read_as_it_was_written_from_empty_to_full() {
    let mut stream = Stream::new(1);
    for kind in Kind::all() {
        for (keys, rate) in [(1, 0.2), (50, 1e-3), (3000, 1e-6)] {
            let spec = Spec::new(keys, rate).kind(kind).seed(stream.draw());
            for stored in [0, keys / 2, keys] {
                let filter = filled(&spec, stored);
                let bytes = filter.to_bytes().unwrap();
                let mut again = Filter::from_bytes(&bytes).unwrap();
                assert!(again == filter, "{kind}");
                assert_eq!(again.hasher(), filter.hasher());
                assert_eq!(again.to_bytes().unwrap(), bytes, "{kind}");
                assert!((0..stored).all(|key| again.contains(&key)), "{kind}");
                if keys == 50 && stored == 50 {
                    // The filter that was read works like any other.
                    again.clear();
                    exercise(&mut again, 10 * keys, 300, &mut stream);
                }
            }
        }
    }
}

#[test]
fn large_tables_survive_files_and_maps() {
    let folder = Folder::new("large");
    // Beyond 4 MiB, where tables have their own mappings.
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Classic(4), Kind::Blocked(1), Kind::Bloom] {
        let filter = filled(&Spec::new(3_000_000, 2f64.powi(-12)).kind(kind), 2_000_000);
        assert!(filter.geometry().bytes() > 4 << 20);
        let path = folder.path("large");
        filter.save(&path).unwrap();
        assert!(Filter::open(&path).unwrap() == filter, "{kind}");
        let Some(mapped) = crate::common::map(&path) else { continue };
        let keys: Vec<u64> = (0..2_100_000).step_by(7).collect();
        assert!(mapped.contains_slice(&keys) == filter.contains_slice(&keys), "{kind}");
        mapped.verify().unwrap();
        assert!(mapped.load().unwrap() == filter, "{kind}");
    }
}

#[test]
fn saving_replaces_and_leaves_nothing_behind() {
    let folder = Folder::new("replace");
    let path = folder.path("filter");
    let (old, new) = (filled(&Spec::new(100, 0.01), 50), filled(&Spec::new(200, 0.01), 150));
    old.save(&path).unwrap();
    let mapped = crate::common::map(&path);
    new.save(&path).unwrap();
    assert!(Filter::open(&path).unwrap() == new);
    if let Some(mapped) = mapped {
        assert!(mapped.load().unwrap() == old, "a map of the old file keeps it");
    }
    assert_eq!(folder.names(), ["filter"]);
}

#[test]
fn system_failures_are_reported_and_change_nothing() {
    let folder = Folder::new("failures");
    let filter = filled(&Spec::new(100, 0.01), 50);
    let missing = folder.path("no/such/folder");
    let error = filter.save(&missing).unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound),
        "{error}"
    );
    assert!(error.to_string().contains("no/such/folder"), "{error}");
    assert!(matches!(Filter::open(&missing), Err(Error::Io { operation: "open", .. })));
    assert!(matches!(crate::common::try_map(&missing), Err(Error::Io { operation: "map", .. })));
    // A folder or, on Unix, a device is not a file, and must not be replaced.
    std::fs::create_dir(folder.path("folder")).unwrap();
    assert!(matches!(filter.save(folder.path("folder")), Err(Error::Io { operation: "replace", .. })));
    if Path::new("/dev/null").exists() {
        assert!(matches!(filter.save("/dev/null"), Err(Error::Io { operation: "replace", .. })));
    }
    assert_eq!(folder.names(), ["folder"]);
}

#[test]
fn a_full_disk_is_reported() {
    let full = match std::fs::OpenOptions::new().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(error) if cfg!(target_os = "linux") => panic!("Linux has a disk that is always full: {error}"),
        Err(_) => return,
    };
    let filter = filled(&Spec::new(100, 0.01), 50);
    assert!(matches!(filter.write_to(full), Err(Error::Io { operation: "write", .. })));
}

#[test]
fn maps_answer_like_filters() {
    let folder = Folder::new("maps");
    for kind in Kind::all() {
        let path = folder.path("filter");
        let mut filter = filled(&Spec::new(300, 0.01).kind(kind).seed(5), 250);
        for _ in 0..20 {
            let _ = filter.insert(&7u64);
        }
        filter.save(&path).unwrap();
        let Some(mapped) = crate::common::map(&path) else { continue };
        mapped.verify().unwrap();
        let keys: Vec<u64> = (0..5000).collect();
        assert_eq!(mapped.contains_slice(&keys), filter.contains_slice(&keys), "{kind}");
        for key in &keys {
            assert_eq!(mapped.contains(key), filter.contains(key), "{kind}");
            assert_eq!(mapped.count(key), filter.count(key), "{kind}");
        }
        // Counters of past operations are not part of a file.
        let (stats, expected) = (mapped.stats(), filter.stats());
        assert_eq!(
            (stats.items, stats.stash_size, stats.load),
            (expected.items, expected.stash_size, expected.load)
        );
        assert_eq!((mapped.len(), mapped.is_empty()), (filter.len(), false));
        assert!(mapped.load().unwrap() == filter, "{kind}");
    }
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let filter = filled(&Spec::new(100, 0.01), 50);
    let bytes = filter.to_bytes().unwrap();
    let refused = |bytes: &[u8]| Filter::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(
        refused(b"some text, long enough to be taken for something else"),
        "damaged, or not a filter: magic at byte 0: these are not the bytes of a filter; take another copy or build the \
         filter again"
    );
    assert_eq!(
        refused(&bytes[..100]),
        "damaged, or not a filter: header at byte 100: the bytes end here, 412 too few; take another copy or build the \
         filter again"
    );
    let mut newer = bytes.clone();
    newer[8] = 5;
    assert_eq!(
        refused(&newer),
        "written by a newer malkoha: version at byte 8: 5 where 4 is the newest that is known; read it \
         with that version"
    );
    let mut flipped = bytes.clone();
    flipped[600] ^= 4;
    assert!(refused(&flipped).starts_with("damaged, or not a filter: table at byte 512: its checksum is 0x"));
}

#[test]
fn compounds_can_be_opened_but_not_mapped() {
    let folder = Folder::new("forms");
    let spec = Spec::new(100, 0.01);
    let path = folder.path("filter");
    let refused = |got: &str| match crate::common::try_map(&path).unwrap_err() {
        Error::Form { expected: "one filter", got: form } => assert_eq!(form, got),
        error => panic!("{error}"),
    };
    build_chain(&spec).unwrap().save(&path).unwrap();
    refused("a chain of filters");
    assert!(Filter::open(&path).is_ok());
    malkoha::Generations::of_keys(&spec, 3).unwrap().save(&path).unwrap();
    refused("the generations of a sliding window");
    spec.sharded(2).build().unwrap().save(&path).unwrap();
    refused("a sharded filter");
    let said = crate::common::try_map(&path).unwrap_err().to_string();
    assert_eq!(said, "this is a sharded filter and not one filter; open it as what it is");
}

/// Where the owner can be changed at all, which takes the superuser.
#[test]
#[cfg(unix)]
fn a_file_that_is_replaced_keeps_its_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = Folder::new("owner");
    let path = folder.path("filter");
    let filter = Spec::new(100, 0.01).build().unwrap();
    filter.save(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    if chown(&path, Some(54_321), Some(12_345)).is_err() {
        println!("skipped: files cannot be given away here");
        return;
    }
    filter.save(&path).unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid(), after.mode() & 0o7777), (54_321, 12_345, 0o640));
}

#[test]
#[cfg(unix)]
fn a_file_that_is_replaced_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("permissions");
    let path = folder.path("filter");
    let mut filter = Spec::new(100, 0.01).build().unwrap();
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    filter.save(&path).unwrap();
    let usual = mode();
    for wished in [0o600, 0o640, 0o444, 0o664] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(wished)).unwrap();
        filter.insert(&u64::from(wished)).unwrap();
        filter.save(&path).unwrap();
        assert_eq!(mode(), wished, "{wished:o}");
        assert!(Filter::open(&path).unwrap() == filter);
    }
    // The permissions of a link are not kept, and neither are those of its target.
    let link = folder.path("link");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    filter.save(&link).unwrap();
    assert_eq!(std::fs::symlink_metadata(&link).unwrap().permissions().mode() & 0o7777, usual);
}
