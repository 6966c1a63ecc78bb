//! Tests of compounds, whose interface is for the other modules of this crate.

use super::*;
use crate::{Kind, Spec};

fn parts() -> Vec<Filter> {
    [Kind::Sorted, Kind::Blocked(2), Kind::Windowed(3)]
        .into_iter()
        .map(|kind| {
            let mut filter = Spec::new(100, 0.01).kind(kind).build().unwrap();
            filter.insert_slice(&(0..100u64).collect::<Vec<_>>()).unwrap();
            filter
        })
        .collect()
}

fn compound(form: Form, numbers: &[u64]) -> Vec<u8> {
    let filters = parts();
    let parts: Vec<&Filter> = filters.iter().collect();
    to_bytes(compound_bytes(numbers, &parts), |out| write_compound(out, form, numbers, &parts)).unwrap()
}

fn read(bytes: &[u8], form: Form) -> Result<(Vec<u64>, Vec<Filter>), Error> {
    from_bytes(bytes, |input| read_compound(input, form))
}

#[test]
fn compounds_read_back_what_they_write() {
    for count in [0, 1, 6, 7, 8, 1000] {
        let numbers: Vec<u64> = (0..count).map(|i| i * i + u64::MAX / 2).collect();
        let bytes = compound(Form::Generations, &numbers);
        assert_eq!(bytes.len() % 64, 0);
        let (numbers_again, parts_again) = read(&bytes, Form::Generations).unwrap();
        assert_eq!(numbers_again, numbers);
        assert!(parts_again == parts());
    }
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_compound_is_refused() {
    let bytes = compound(Form::Sharded, &[3, 4]);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let error = read(&damaged, Form::Sharded).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("at byte") || matches!(error, Error::Form { .. }), "{bit}: {said}");
    }
    for end in 0..bytes.len() {
        assert!(matches!(read(&bytes[..end], Form::Sharded), Err(Error::Corrupt { .. })), "{end}");
    }
    let longer = [&bytes[..], &[0; 64]].concat();
    assert!(matches!(read(&longer, Form::Sharded), Err(Error::Corrupt { part: "end", .. })));
}

#[test]
fn another_form_is_refused_by_name() {
    let bytes = compound(Form::Generations, &[]);
    let error = read(&bytes, Form::Chain).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this is the generations of a sliding window and not a chain of filters; open it as what it is"
    );
    assert!(matches!(Filter::from_bytes(&bytes), Err(Error::Form { .. })));
    let single = parts()[0].to_bytes().unwrap();
    assert!(matches!(read(&single, Form::Chain), Err(Error::Form { .. })));
}

#[test]
fn absurd_counts_are_refused_before_anything_is_read() {
    let bytes = compound(Form::Chain, &[]);
    for (offset, name) in [(16, "parts"), (24, "numbers")] {
        let mut absurd = bytes.clone();
        absurd[offset..offset + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let error = read(&absurd, Form::Chain).unwrap_err();
        assert!(
            matches!(&error, Error::Corrupt { part, offset: at, .. } if *part == name && *at == offset as u64),
            "{error}"
        );
    }
}

/// A filter whose table is large enough for a second thread when it is read, written and verified.
fn large(kind: Kind) -> Filter {
    let mut filter = Spec::new(15_000_000, 0.01).kind(kind).build().unwrap();
    assert!(filter.geometry().bytes() > 1 << 24);
    filter.insert_slice(&(0..1000u64).collect::<Vec<_>>()).unwrap();
    filter
}

#[test]
fn large_tables_are_read_verified_and_written_like_small_ones() {
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Flexible(4), Kind::Bloom, Kind::Blocked(1)] {
        let filter = large(kind);
        let mut bytes = filter.to_bytes().unwrap();
        let sealed = {
            let mut again = bytes.clone();
            let begin = bytes.len() - section_of(&filter);
            let before = u64::from_le_bytes(bytes[begin - 8..begin].try_into().unwrap());
            let end = again.len() - 8;
            let checksum = xxhash_rust::xxh3::xxh3_64_with_seed(&again[begin..end], before);
            again[end..].copy_from_slice(&checksum.to_le_bytes());
            again
        };
        assert!(sealed == bytes, "{kind}: the checksum of the whole is that of its chunks");
        assert!(Filter::from_bytes(&bytes).unwrap() == filter, "{kind}");
        let table = bytes.len() - section_of(&filter);
        let front = (bytes.len() - table) / 8 * 3;
        for at in
            [0, (1 << 16) - 1, 1 << 16, front - 64, front + 64, bytes.len() - table - 1].map(|at| table + at)
        {
            bytes[at] ^= 1;
            let error = Filter::from_bytes(&bytes).unwrap_err();
            assert!(matches!(error, Error::Corrupt { part: "table", .. }), "{kind} {at}: {error}");
            bytes[at] ^= 1;
        }
    }
}

/// The size of the section of the table in bytes.
fn section_of(filter: &Filter) -> usize {
    usize::try_from(filter.geometry().bytes() + 64).unwrap()
}

#[test]
#[cfg(target_endian = "little")]
fn large_files_are_mapped_and_verified() {
    let folder = std::env::temp_dir().join(format!("malkoha-large-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("large.malkoha");
    for kind in [Kind::Sorted, Kind::Bloom] {
        let filter = large(kind);
        filter.save(&path).unwrap();
        assert!(Filter::open(&path).unwrap() == filter);
        map(&path).unwrap().verify().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        assert!(bytes == filter.to_bytes().unwrap());
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let error = map(&path).unwrap().verify().unwrap_err();
        assert!(matches!(error, Error::Corrupt { part: "table", .. }), "{kind}: {error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// An input that ends too early while another thread touches the pages of the rest.
#[test]
fn a_large_table_that_ends_while_it_is_read_is_an_error() {
    let bytes = large(Kind::Sorted).to_bytes().unwrap();
    for end in [bytes.len() - 1, bytes.len() / 2, 1000] {
        let mut shorter = &bytes[..end];
        let mut input = Input::new(&mut shorter, bytes.len() as u64, Path::new("shorter"));
        assert!(matches!(record::read(&mut input), Err(Error::Io { .. })), "{end}");
    }
}

#[expect(unsafe_code, reason = "files that only a test knows of")]
fn map(path: &std::path::Path) -> Result<crate::Mapped, Error> {
    // SAFETY: the tests that map a file change it only before and after.
    unsafe { Filter::map(path) }
}
