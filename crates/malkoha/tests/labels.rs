//! Labels: kept in every file and through everything that makes one filter from another; forged ones are refused.

use malkoha::testing::{provoke, seal};
use malkoha::{Error, Filter, KeyFormat, Kind, Sharded, Spec};

const TWO: [&str; 2] = ["host", "graft"];

/// The offsets of the number of label bytes, and of the labels.
const LABEL_BYTES: usize = 112;
const LABELS: usize = 512;

fn labelled(spec: &Spec) -> Filter {
    let mut filter = spec.values(3).build().unwrap();
    filter.set_labels(&TWO).unwrap();
    for key in 0..50u64 {
        filter.or_value(&key, 1 << (key % 2)).unwrap();
    }
    filter
}

fn specs() -> impl Iterator<Item = Spec> {
    Kind::cuckoos().map(|kind| Spec::new(60, 1e-4).kind(kind)).chain([Spec::rate(1e-4)])
}

#[test]
fn labels_are_kept() {
    for spec in specs() {
        let filter = labelled(&spec);
        let bytes = filter.to_bytes().unwrap();
        assert_eq!(bytes[8..12], [4, 0, 0, 0], "{filter:?}");
        let again = Filter::from_bytes(&bytes).unwrap();
        assert!(again == filter && again.labels() == TWO && again.to_bytes().unwrap() == bytes, "{filter:?}");
        assert!(Filter::read_from(&bytes[..]).unwrap() == filter);
        assert_eq!(filter.clone().labels(), TWO);
        let mut cleared = filter.clone();
        cleared.clear();
        assert_eq!(cleared.labels(), TWO);
        let mut merged = filter.clone();
        if merged.merge(&filter).is_ok() {
            assert_eq!(merged.labels(), TWO, "{filter:?}");
        }
        let mut doubled = filter.clone();
        if doubled.double().is_ok() {
            assert_eq!(doubled.labels(), TWO, "{filter:?}");
            assert_eq!(filter.merge_into_larger(&[&filter]).unwrap().labels(), TWO);
        }
        // Without labels it is the file of a version that is older.
        let mut plain = filter.clone();
        plain.set_labels(&[""; 0]).unwrap();
        assert!(plain != filter && plain.labels().is_empty());
        assert!(plain.to_bytes().unwrap()[8] < 4 && plain.merge(&filter).is_err());
    }
}

#[test]
fn labels_of_maps_are_those_of_the_file() {
    for (i, spec) in specs().enumerate() {
        let path = std::env::temp_dir().join(format!("malkoha-labels-{}-{i}", std::process::id()));
        let filter = labelled(&spec);
        filter.save(&path).unwrap();
        Filter::check_file(&path).unwrap();
        // SAFETY: nobody changes the file.
        #[expect(unsafe_code, reason = "a map of a file that nobody changes")]
        let map = unsafe { Filter::map(&path).unwrap() };
        assert_eq!((map.labels(), map.union(&7u64)), (filter.labels(), Ok(2)));
        map.verify().unwrap();
        assert!(map.load().unwrap() == filter);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn impossible_labels_are_refused() {
    let mut filter = labelled(&Spec::new(60, 1e-4));
    let long = "x".repeat(256);
    let cases: [(&[&str], &str); 5] = [
        (&["a", "b", "c", "d"], "more labels than values have bits"),
        (&["a", ""], "1 to 255 bytes"),
        (&[&long], "1 to 255 bytes"),
        (&["a", "b\0"], "control"),
        (&["a", "b", "a"], "equal"),
    ];
    for (labels, why) in cases {
        let refused = filter.set_labels(labels).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
    assert_eq!(filter.labels(), TWO, "nothing has changed");
    let mut plain = Spec::new(60, 1e-4).build().unwrap();
    assert!(plain.set_labels(&["a"]).is_err() && plain.set_labels(&[""; 0]).is_ok());
    assert_eq!(
        Spec::new(9, 0.1).key_format(KeyFormat::Minimizers { k: 32, w: 3 }).plan().unwrap_err(),
        Error::WordLength { got: 32, most: 31 }
    );
    assert_eq!(
        Spec::new(9, 0.1).key_format(KeyFormat::Minimizers { k: 31, w: 0 }).plan().unwrap_err(),
        Error::Window { got: 0, most: 4096 }
    );
}

/// Labels and numbers that nobody writes, in files that are otherwise sound.
#[test]
fn forged_labels_are_refused() {
    for spec in [Spec::new(60, 1e-4), Spec::rate(1e-4)] {
        let good = labelled(&spec).to_bytes().unwrap();
        let forged = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            seal(&mut bytes);
            provoke(&bytes)
        };
        forged(&|_| ()).unwrap();
        forged(&|bytes| bytes[LABELS] = b'H').unwrap();
        let refused = |why: &str, change: &dyn Fn(&mut Vec<u8>)| {
            let error = forged(change).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused("not UTF-8", &|bytes| bytes[LABELS] = 0xFF);
        refused("control", &|bytes| bytes[LABELS] = b'\n');
        refused("1 to 255 bytes", &|bytes| bytes[LABELS] = 0);
        refused("no end", &|bytes| bytes[LABELS + 10] = b'!');
        refused("equal", &|bytes| bytes[LABELS..LABELS + 11].copy_from_slice(b"abc\0de\0abc\0"));
        refused("more labels than", &|bytes| bytes[LABELS..LABELS + 11].copy_from_slice(b"a\0b\0c\0d\0ef\0"));
        refused("label bytes", &|bytes| bytes[LABEL_BYTES..LABEL_BYTES + 8].fill(0xFF));
        // A version that does not need to be that high.
        let mut bytes = labelled(&spec).to_bytes().unwrap();
        bytes[8] = 2;
        assert!(Filter::from_bytes(&bytes).is_err());
        for end in (0..LABELS + 64).step_by(8) {
            assert!(Filter::from_bytes(&good[..end]).is_err());
        }
    }
}

#[test]
fn parts_of_several_filters_have_no_labels() {
    let sharded = Spec::new(60, 1e-4).values(3).sharded(1).build().unwrap();
    let outline = 128;
    let mut bytes = sharded.to_bytes().unwrap();
    let shard = Filter::from_bytes(&bytes[outline..]).unwrap();
    let mut named = shard.clone();
    named.set_labels(&TWO).unwrap();
    bytes.truncate(outline);
    bytes.extend(named.to_bytes().unwrap());
    seal(&mut bytes);
    let refused = Sharded::from_bytes(&bytes).unwrap_err();
    assert!(refused.to_string().contains("has labels"), "{refused}");
}
