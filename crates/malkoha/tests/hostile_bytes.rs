//! Bytes that were damaged, truncated, or forged by an attacker.

use crate::common;
use crate::golden_files as golden;

use std::sync::atomic::{AtomicU64, Ordering};

use malkoha::testing::{Stream, damage, provoke, seal};
use malkoha::{Error, Filter, KeyFormat};

/// Whether an error says what is wrong and where.
fn says_where(error: &Error) -> bool {
    let named = matches!(error, Error::Corrupt { .. } | Error::Newer { .. });
    // A flipped bit may turn one form into another, which does not fit the rest.
    (named && error.to_string().contains("at byte")) || matches!(error, Error::Form { .. })
}

#[test]
fn every_flipped_bit_of_every_golden_file_is_refused() {
    common::in_parallel(golden::files(), |(name, bytes)| {
        let mut damaged = bytes.clone();
        for bit in 0..bytes.len() * 8 {
            damaged[bit / 8] ^= 1 << (bit % 8);
            let refused = golden::read(&name, &damaged).map(|_| ());
            let error = refused.expect_err(&format!("{name}: bit {bit}"));
            assert!(says_where(&error), "{name}: bit {bit}: {error}");
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(damaged == bytes);
    });
}

#[test]
fn every_cut_and_every_longer_golden_file_is_refused() {
    for (name, bytes) in golden::files() {
        for end in 0..bytes.len() {
            let error = golden::read(&name, &bytes[..end]).map(|_| ()).unwrap_err();
            let Error::Corrupt { offset, .. } = error else { panic!("{name}: {end}: {error}") };
            assert!(offset <= end as u64, "{name}: {end}: {error}");
        }
        for more in [1, 7, 64, 512] {
            let longer = [&bytes[..], &vec![0; more]].concat();
            let error = golden::read(&name, &longer).map(|_| ()).unwrap_err();
            let expected = bytes.len() as u64;
            assert!(
                matches!(error, Error::Corrupt { part: "end", offset, .. } if offset == expected),
                "{name}: {error}"
            );
        }
    }
}

/// A stream does not say how long it is, and a file that is checked in pieces is not kept: both refuse what reading
/// refuses.
#[test]
fn streams_and_checks_in_pieces_notice_every_flip_cut_and_surplus() {
    let path = std::env::temp_dir().join(format!("malkoha-pieces-{}", std::process::id()));
    let check = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Filter::check_file(&path)
    };
    for (name, bytes) in golden::files() {
        check(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let is_filter = Filter::from_bytes(&bytes).is_ok();
        assert_eq!(Filter::read_from(&bytes[..]).ok(), Filter::from_bytes(&bytes).ok(), "{name}");
        let longer = [&bytes[..], b"x"].concat();
        let damaged = (0..bytes.len()).step_by(29).map(|at| {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            flipped
        });
        let cut = (0..bytes.len()).step_by(37).map(|end| bytes[..end].to_vec());
        for bad in damaged.chain(cut).chain([longer]) {
            let error = check(&bad).expect_err(&name);
            assert!(says_where(&error), "{name}: {error}");
            if is_filter {
                let error = Filter::read_from(&bad[..]).expect_err(&name);
                assert!(says_where(&error), "{name}: {error}");
            }
        }
    }
    std::fs::remove_file(&path).unwrap();
}

/// The number of keys in a Bloom filter is whatever its file says; it must not run over.
#[test]
fn a_bloom_filter_with_an_absurd_number_of_keys_can_still_be_saved() {
    for name in ["bloom", "blocked-1", "blocked-2"] {
        let mut filter = with_number(name, 64, 1 << 62).unwrap();
        for key in 0..100u64 {
            filter.insert(&key).unwrap();
        }
        assert_eq!(filter.len(), 1 << 62, "{name}");
        let again = Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
        assert!(again == filter && (0..100u64).all(|key| again.contains(&key)), "{name}");
    }
}

/// Golden files, damaged and then sealed, so that everything but the damage is valid. Files that are accepted
/// are put to every use.
#[test]
fn forged_files_are_refused_or_harmless() {
    let rounds = common::scale(100, 20_000);
    let [singles, compounds] = [(); 2].map(|()| AtomicU64::new(0));
    common::in_parallel(golden::files().into_iter().enumerate(), |(number, (_, bytes))| {
        let accepted = if is_compound(&bytes) { &compounds } else { &singles };
        let mut stream = Stream::new(number as u64);
        for _ in 0..rounds {
            let mut forged = bytes.clone();
            for _ in 0..=stream.below(3) {
                damage(&mut forged, &mut stream);
            }
            seal(&mut forged);
            match provoke(&forged) {
                Ok(()) => _ = accepted.fetch_add(1, Ordering::Relaxed),
                Err(error) => assert!(says_where(&error), "{error}"),
            }
        }
    });
    // Otherwise sealing would be broken, and nothing behind the checksums was tested.
    for accepted in [singles, compounds] {
        assert!(accepted.into_inner() >= rounds, "some forged files are sound");
    }
}

/// Whether a file holds a compound of several filters.
fn is_compound(bytes: &[u8]) -> bool {
    (1..=3).contains(&bytes[12])
}

/// The outline of a file and its complete records.
fn parts(bytes: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let is_record = |at: &usize| bytes[*at..].starts_with(&bytes[..8]) && [0, 4].contains(&bytes[at + 12]);
    let begins: Vec<usize> = (64..bytes.len()).step_by(64).filter(is_record).collect();
    let ends = begins.iter().skip(1).copied().chain([bytes.len()]);
    (&bytes[..begins[0]], begins.iter().zip(ends).map(|(begin, end)| &bytes[*begin..end]).collect())
}

/// A file with this outline, except for the number of parts, and these records, with valid checksums.
fn assembled(outline: &[u8], records: &[&[u8]]) -> Vec<u8> {
    let mut bytes = outline.to_vec();
    bytes[16..24].copy_from_slice(&(records.len() as u64).to_le_bytes());
    bytes.extend(records.concat());
    seal(&mut bytes);
    bytes
}

/// Parts that are swapped, missing, doubled or from another file: refused, or a filter with other keys that works
/// like any other.
#[test]
fn files_assembled_from_parts_of_others_are_refused_or_harmless() {
    let files: Vec<_> = golden::files().into_iter().filter(|(_, bytes)| is_compound(bytes)).collect();
    let (accepted, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    common::in_parallel(&files, |(name, bytes)| {
        let (outline, own) = parts(bytes);
        assert!(assembled(outline, &own) == *bytes, "{name}: the records are where they are expected");
        let mut forged: Vec<Vec<&[u8]>> = Vec::new();
        for at in 0..own.len() {
            for other in at + 1..own.len() {
                let mut exchanged = own.clone();
                exchanged.swap(at, other);
                forged.push(exchanged);
            }
            forged.push([&own[..at], &own[at + 1..]].concat());
            forged.push([&own[..at], &own[at..=at], &own[at..]].concat());
            for (_, other) in &files {
                let strange = parts(other).1;
                forged
                    .push([&own[..at], &strange[at.min(strange.len() - 1)..][..1], &own[at + 1..]].concat());
            }
        }
        for records in forged {
            match provoke(&assembled(outline, &records)) {
                Ok(()) => accepted.fetch_add(1, Ordering::Relaxed),
                Err(error) => {
                    assert!(says_where(&error), "{name}: {error}");
                    refused.fetch_add(1, Ordering::Relaxed)
                }
            };
        }
    });
    assert!(accepted.into_inner() > 0 && refused.into_inner() > 0, "both happen");
}

/// Errors that only the form of a compound can reveal name the number or part that is wrong.
#[test]
fn outlines_are_refused_where_they_are_wrong() {
    let file = |name: &str| std::fs::read(golden::path(name)).unwrap();
    let refused = |bytes: &[u8]| match provoke(bytes).unwrap_err() {
        Error::Corrupt { part, offset, .. } => (part, offset),
        error => panic!("{error}"),
    };
    let (sharded, window) = (file("sharded-3-sorted"), file("generations-keys-sorted"));
    let (outline, own) = parts(&sharded);
    let strange = file("sharded-2-classic-4");
    let mixed = assembled(outline, &[own[0], own[1], parts(&strange).1[0]]);
    let third = (outline.len() + own[0].len() + own[1].len()) as u64;
    assert_eq!(refused(&mixed), ("shard", third));
    assert_eq!(refused(&assembled(outline, &[])), ("parts", 16));
    let with = |bytes: &[u8], offset: usize, number: u64| {
        let mut bytes = bytes.to_vec();
        bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
        seal(&mut bytes);
        bytes
    };
    assert_eq!(refused(&with(&sharded, 24, 2)), ("numbers", 24));
    assert_eq!(refused(&with(&sharded, 64, 0)), ("number", 64));
    // The sixth number is the number of links of the newest generation.
    for links in [0, u64::MAX] {
        assert_eq!(refused(&with(&window, 64 + 8 * 5, links)), ("number", 64 + 8 * 5));
    }
    // A ninth number, which fits into the outline, is a fourth generation, and it has no links.
    assert_eq!(refused(&with(&window, 24, 9)), ("number", 64 + 8 * 8));
    let (outline, own) = parts(&window);
    assert_eq!(refused(&assembled(outline, &[&own[..], &own[..1]].concat())), ("parts", 16));
}

/// Changes one number of a golden file and seals it.
fn with_number(name: &str, offset: usize, number: u64) -> Result<Filter, Error> {
    let mut bytes = std::fs::read(golden::path(name)).unwrap();
    bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    seal(&mut bytes);
    Filter::from_bytes(&bytes)
}

#[test]
fn absurd_numbers_are_refused_by_name() {
    let cases = [
        ("sorted", 16, 2, "hash"),
        ("sorted", 32, 10, "kind"),
        ("sorted", 32, 0, "kind"),
        ("flexible-4", 40, 9, "slots per place or choices"),
        ("windowed-2", 40, 1, "slots per place or choices"),
        ("blocked-2", 40, 5, "slots per place or choices"),
        ("sorted", 48, 0, "planned keys"),
        ("sorted", 48, u64::MAX, "planned keys"),
        ("sorted", 56, f64::NAN.to_bits(), "planned rate"),
        ("sorted", 56, (-0.1f64).to_bits(), "planned rate"),
        ("sorted", 64, 0, "copies"),
        ("sorted", 64, u64::MAX, "copies"),
        ("bloom", 48, (1 << 56) + 1, "planned keys"),
        ("blocked-2", 48, u64::MAX, "planned keys"),
        ("bloom", 64, 0, "copies"),
        ("bloom", 64, 3, "copies"),
        ("bloom", 64, u64::MAX, "copies"),
        ("sorted", 72, 17, "stash entries"),
        ("bloom", 72, 1, "stash entries"),
        ("sorted", 88, 3, "word length"),
        ("sorted", 88, 4, "word length"),
        ("sorted", 88, 5, "key format"),
        ("sorted-minimizers-31-15", 96, 0, "word length"),
        ("sorted-minimizers-31-15", 96, 32, "word length"),
        ("sorted-minimizers-31-15", 104, 0, "window"),
        ("sorted-minimizers-31-15", 104, 4097, "window"),
        ("sorted-labels-2", 112, 4097, "label bytes"),
        ("bloom-u64", 88, u64::MAX, "key format"),
        ("flexible-4-kmers-31", 96, 0, "word length"),
        ("flexible-4-kmers-31", 96, 4097, "word length"),
        ("blocked-2-kmers-4096", 96, 1 << 32 | 31, "word length"),
        ("sorted", 128, 0, "places"),
        ("sorted", 128, 1 << 60, "places"),
        ("sorted", 128, 1 << 50, "table"),
        ("classic-4", 128, 65, "places"),
        ("simplified-4", 128, 1, "places"),
        ("windowed-4", 128, 7, "places"),
        ("sorted", 144, 3, "tag bits"),
        ("sorted", 144, 61, "tag bits"),
        ("windowed-3", 144, u64::MAX, "tag bits"),
        ("flexible-4-values-5", 144, 6, "tag bits"),
        ("windowed-3-values-8", 144, 65, "tag bits"),
        ("simplified-4", 160, 0, "subtable bits"),
        ("simplified-4", 160, 41, "subtable bits"),
        ("flexible-4", 176, 0, "most offset"),
        ("flexible-4", 176, u64::MAX, "most offset"),
        ("flexible-near", 184, 193, "near share"),
        ("flexible-near", 192, 3, "near group"),
        ("windowed-near", 192, 2, "near group"),
        ("sorted", 200, 65_537, "stash room"),
        ("sorted", 200, 0, "stash entries"),
        ("sorted", 208, 0, "most steps"),
        ("sorted", 208, 1_000_001, "most steps"),
        ("sorted", 216, 17, "value bits"),
        ("sorted-values-16", 216, u64::MAX, "value bits"),
        ("bloom", 256, 0, "bits or blocks"),
        ("bloom", 256, u64::MAX, "table bytes"),
        ("blocked-2", 256, u64::MAX, "table bytes"),
        ("blocked-2", 256, 1 << 50, "table"),
        ("bloom", 264, 0, "key bits"),
        ("bloom", 264, 49, "key bits"),
        ("blocked-2", 264, 33, "key bits"),
        ("blocked-1-spread", 264, 9, "key bits"),
        ("blocked-2", 272, 0, "pattern"),
        ("blocked-2", 272, 4, "pattern"),
        ("blocked-2", 280, 4, "cost"),
        ("blocked-2", 288, f64::NAN.to_bits(), "cost parameter"),
        ("blocked-2", 288, (-1.0f64).to_bits(), "cost parameter"),
    ];
    for (name, offset, number, expected) in cases {
        let error = with_number(name, offset, number).map(|_| ()).expect_err(expected);
        let (Error::Corrupt { part, .. } | Error::Newer { part, .. }) = error else { panic!("{error}") };
        assert_eq!(part, expected, "{name}: {number} at {offset}: {error}");
    }
}

/// Wrong numbers that follow from others or that no version knows yet are refused, although the checksum fits.
#[test]
fn derived_and_reserved_numbers_must_have_their_values() {
    use xxhash_rust::xxh3::xxh3_64;
    for (name, bytes) in golden::files() {
        if bytes[12] != 0 {
            continue;
        }
        let known: Vec<usize> = (16..120)
            .step_by(8)
            .chain((128..240).step_by(8))
            .chain((256..296).step_by(8))
            .chain([320, 328, 336])
            .collect();
        for offset in (16..504).step_by(8) {
            let mut forged = bytes.clone();
            forged[offset] ^= 1;
            let checksum = xxh3_64(&forged[..504]);
            forged[504..512].copy_from_slice(&checksum.to_le_bytes());
            let error = Filter::from_bytes(&forged).map(|_| ()).expect_err(&format!("{name}: {offset}"));
            if !known.contains(&offset) {
                assert!(
                    matches!(error, Error::Newer { part: "reserved number", offset: at, .. } if at == offset as u64),
                    "{name}: {error}"
                );
            }
            // Table bytes, slots, least offset, and fingerprints without signed offsets follow from other
            // numbers.
            let (cuckoo, unsigned) = (bytes[32] <= 6, bytes[32] <= 3);
            let follows = offset == 80 || cuckoo && matches!(offset, 136 | 168) || unsigned && offset == 152;
            let named = matches!(error, Error::Corrupt { offset: at, .. } if at == offset as u64);
            assert!(named || !follows, "{name}: {error}");
            assert!(says_where(&error), "{name}: {error}");
        }
    }
}

/// A golden file with other numbers in its header, or in its outline if it has one, and a valid checksum.
fn with_numbers(name: &str, numbers: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = std::fs::read(golden::path(name)).unwrap();
    let end = if is_compound(&bytes) { parts(&bytes).0.len() } else { 512 };
    for (offset, number) in numbers {
        bytes[*offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    }
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..end - 8]);
    bytes[end - 8..end].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The version of a header follows from its key format.
#[test]
fn versions_and_key_formats_that_contradict_each_other_are_refused() {
    /// The file, the numbers that are changed, the part that the error names, and its offset.
    type Case<'a> = (&'a str, &'a [(usize, u64)], &'a str, u64);
    let form = |bytes: u64| bytes << 32;
    let cases: &[Case] = &[
        ("sorted", &[(88, 1)], "key format", 88),
        ("sorted", &[(96, 31)], "word length", 96),
        ("sorted", &[(8, 2)], "key format", 88),
        ("sorted", &[(8, 2), (88, 1), (96, 31)], "word length", 96),
        ("sorted-bytes", &[(88, 0)], "key format", 88),
        ("sorted-bytes", &[(96, 1)], "word length", 96),
        ("sorted-bytes", &[(8, 1)], "key format", 88),
        ("sorted-bytes", &[(8, 0)], "version", 8),
        ("flexible-4-kmers-31", &[(88, 2)], "word length", 96),
        ("flexible-4-kmers-31", &[(88, 0)], "key format", 88),
        ("sharded-3-sorted", &[(8, form(3) | 2)], "version", 8),
        ("sharded-3-sorted-bytes", &[(8, form(3) | 1)], "version", 8),
        ("growing-sorted-kmers-31", &[(8, form(1) | 1)], "version", 8),
        ("generations-keys-sorted-u64", &[(8, form(2) | 1)], "version", 8),
        ("sorted", &[(8, 4)], "version", 8),
        ("sorted-bytes", &[(8, 4)], "version", 8),
        ("sorted-bytes", &[(8, 3)], "version", 8),
        ("sorted-bytes", &[(104, 1)], "window", 104),
        ("sorted-bytes", &[(112, 1)], "label bytes", 112),
        ("sorted-bytes", &[(8, 4), (112, 1)], "label bytes", 112),
        ("sorted-minimizers-31-15", &[(8, 2)], "version", 8),
        ("sorted-minimizers-31-15", &[(88, 3)], "version", 8),
        ("sorted-labels-2", &[(8, 2)], "label bytes", 112),
        ("sorted-labels-2", &[(112, 0)], "version", 8),
        ("elastic-labels-2", &[(8, form(4) | 3)], "label bytes", 112),
        ("sharded-3-sorted-bytes", &[(8, form(3) | 4)], "version", 8),
        ("elastic", &[(320, 40)], "fingerprint lengths", 336),
        ("elastic", &[(328, 3)], "regions", 328),
        ("elastic", &[(336, 0)], "fingerprint lengths", 336),
        ("elastic", &[(48, 0)], "planned keys", 48),
        ("elastic", &[(216, 17)], "value bits", 216),
    ];
    for (name, numbers, part, offset) in cases {
        let error = provoke(&with_numbers(name, numbers)).unwrap_err();
        let refused =
            matches!(&error, Error::Corrupt { part: at, offset: byte, .. } if (at, byte) == (part, offset));
        assert!(refused, "{name} {numbers:?}: {error}");
    }
    for (name, numbers, part, offset) in [
        ("sorted-bytes", (8, 5), "version", 8),
        ("sharded-3-sorted-bytes", (8, form(3) | 5), "version", 8),
        ("sorted-bytes", (88, 5), "key format", 88),
        ("sorted-bytes", (120, 1), "reserved number", 120),
    ] {
        let error = provoke(&with_numbers(name, &[numbers])).unwrap_err();
        let newer =
            matches!(&error, Error::Newer { part: at, offset: byte, .. } if (*at, *byte) == (part, offset));
        assert!(newer, "{name} {numbers:?}: {error}");
    }
}

/// Numbers of an elastic filter that promise more than its tables hold, in a file that is otherwise sound.
#[test]
fn elastic_filters_do_not_promise_more_than_their_tables_hold() {
    for (offset, number, part) in [(48, 1 << 30, "planned keys"), (64, 1 << 40, "copies")] {
        let mut bytes = with_numbers("elastic", &[(offset, number)]);
        seal(&mut bytes);
        let error = provoke(&bytes).unwrap_err();
        assert!(matches!(&error, Error::Corrupt { part: at, .. } if *at == part), "{error}");
    }
}

/// All parts of a compound have the same key format.
#[test]
fn parts_with_different_key_formats_are_refused() {
    let file = |name: &str| std::fs::read(golden::path(name)).unwrap();
    for (plain, said) in [
        ("sharded-3-sorted", "sharded-3-sorted-bytes"),
        ("growing-sorted", "growing-sorted-kmers-31"),
        ("growing-bloom", "growing-bloom-bytes"),
        ("joined-2-sorted", "joined-2-sorted-bytes"),
        ("generations-keys-sorted", "generations-keys-sorted-u64"),
    ] {
        let (plain, said) = (file(plain), file(said));
        for (bytes, other) in [(&plain, &said), (&said, &plain)] {
            let ((outline, own), strange) = (parts(bytes), parts(other).1);
            assert_eq!(own.len(), strange.len());
            let mixed = assembled(outline, &[&own[..1], &strange[1..2], &own[2..]].concat());
            let error = provoke(&mixed).unwrap_err();
            let second = (outline.len() + own[0].len() + 88) as u64;
            assert!(
                matches!(&error, Error::Corrupt { part: "key format", offset, .. } if *offset == second),
                "{error}"
            );
            // Under either outline, their own key formats count.
            assert!(assembled(outline, &strange) == *other);
        }
    }
}

/// The key format is up to the user: once sealed, any format is sound for any filter, and is written again.
#[test]
fn every_known_key_format_is_sound_for_every_filter() {
    for (name, bytes) in golden::files().into_iter().filter(|(_, bytes)| !is_compound(bytes)) {
        let formats = [KeyFormat::Any, KeyFormat::Bytes, KeyFormat::U64, KeyFormat::Kmers { k: 7 }];
        for (number, format) in (0u64..).zip(formats) {
            let mut forged = bytes.clone();
            forged[88..96].copy_from_slice(&number.to_le_bytes());
            forged[96..104].copy_from_slice(&7u64.to_le_bytes());
            seal(&mut forged);
            provoke(&forged).unwrap_or_else(|error| panic!("{name} {format}: {error}"));
            let filter = Filter::from_bytes(&forged).unwrap();
            assert_eq!(filter.geometry().key_format(), format, "{name}");
        }
    }
}

/// Slots that no key can have, with valid checksums.
#[test]
fn impossible_content_is_refused() {
    let refuse = |name: &str, change: &dyn Fn(&mut [u8]), expected: &str| {
        let mut bytes = std::fs::read(golden::path(name)).unwrap();
        let stash = u64::from_le_bytes(bytes[72..80].try_into().unwrap()) as usize * 24;
        let table = 512 + if stash > 0 { (stash + 8).next_multiple_of(64) } else { 0 };
        // Only the table is changed; the slots involved are emptied first.
        bytes[table..table + 16].fill(0);
        let end = bytes.len() - 64;
        change(&mut bytes[table..end]);
        seal(&mut bytes);
        let error = Filter::from_bytes(&bytes).map(|_| ()).expect_err(name).to_string();
        assert!(error.contains("table at byte") && error.contains(expected), "{name}: {error}");
    };
    let fingerprint = "a fingerprint that no key has";
    let window = "a window outside the table";
    // Tags of q bits with a stamp and no fingerprint: the highest bit of the first slot.
    let stamped = |q: usize| move |table: &mut [u8]| table[(q - 1) / 8] |= 1 << ((q - 1) % 8);
    let width = |name: &str| {
        let bytes = std::fs::read(golden::path(name)).unwrap();
        u64::from_le_bytes(bytes[144..152].try_into().unwrap()) as usize
    };
    refuse("flexible-4", &stamped(width("flexible-4")), fingerprint);
    refuse("windowed-2", &stamped(width("windowed-2")), fingerprint);
    // The highest bit of a tag with a value belongs to the value.
    for name in ["classic-2-values-3", "flexible-4-values-5", "windowed-3-values-8"] {
        refuse(name, &stamped(width(name)), "a value and no fingerprint");
    }
    // The number of the upper parts 0, 0, 0 and 8 is 330.
    refuse(
        "sorted-values-16",
        &|table| table[..2].copy_from_slice(&[0x4A, 0x01]),
        "a value and no fingerprint",
    );
    // Simplified: upper bits of a fingerprint whose lowest bits are all zero.
    refuse("simplified-4", &stamped(width("simplified-4")), fingerprint);
    // Windows of three: the highest tags are beyond the last fingerprint.
    let q = width("windowed-3");
    refuse("windowed-3", &|table| (0..q).for_each(|bit| table[bit / 8] |= 1 << (bit % 8)), fingerprint);
    // Rank 1 in the very first slot: its window would begin before the table.
    let q = width("windowed-2");
    let rank = q - 2;
    refuse(
        "windowed-2",
        &|table| {
            table[0] |= 1;
            table[rank / 8] |= 1 << (rank % 8);
        },
        window,
    );
    // A sorted bucket with the highest number, and one out of order.
    refuse("sorted", &|table| table[..2].copy_from_slice(&[0xFF, 0x0F]), "beyond the last");
    refuse("sorted", &|table| table[1] |= 0x10, "not in order");
    refuse("semisorted", &|table| table[..2].copy_from_slice(&[0xFF, 0x0F]), "beyond the last");
    for name in ["sorted", "windowed-4", "classic-1", "bloom", "blocked-2"] {
        refuse(name, &|table| *table.last_mut().unwrap() = 1, "beyond the end");
    }
}

/// The last window begins l slots before the end: a tag of rank 0 in the last slot belongs to none.
#[test]
fn windows_beyond_the_end_are_refused() {
    for (name, l) in [("windowed-2", 2), ("windowed-3", 3), ("windowed-4", 4)] {
        let mut bytes = std::fs::read(golden::path(name)).unwrap();
        let number =
            |offset: usize| u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap()) as usize;
        let (q, slots, stash) = (number(144), number(136), number(72) * 24);
        let table = 512 + if stash > 0 { (stash + 8).next_multiple_of(64) } else { 0 };
        for slot in slots - l + 1..slots {
            for bit in 0..q {
                let at = slot * q + bit;
                bytes[table + at / 8] &= !(1 << (at % 8));
            }
            // Fingerprint 1, side first, rank 0.
            let at = slot * q;
            bytes[table + at / 8] |= 1 << (at % 8);
        }
        seal(&mut bytes);
        let error = Filter::from_bytes(&bytes).map(|_| ()).expect_err(name).to_string();
        assert!(error.contains("a window outside the table"), "{name}: {error}");
    }
}

#[test]
fn impossible_stashes_are_refused() {
    let bytes = std::fs::read(golden::path("sorted")).unwrap();
    let entries = u64::from_le_bytes(bytes[72..80].try_into().unwrap()) as usize;
    assert!(entries >= 2, "there are entries to swap");
    let refuse = |change: &dyn Fn(&mut [u8]), expected: &str| {
        let mut forged = bytes.clone();
        change(&mut forged[512..]);
        seal(&mut forged);
        let error = Filter::from_bytes(&forged).map(|_| ()).expect_err(expected).to_string();
        assert!(error.contains("stash at byte") && error.contains(expected), "{error}");
    };
    refuse(&|stash| stash[..8].copy_from_slice(&u64::MAX.to_le_bytes()), "a place that no key");
    refuse(&|stash| stash[8..16].copy_from_slice(&0u64.to_le_bytes()), "a fingerprint that no key has");
    refuse(&|stash| stash[8..16].copy_from_slice(&u64::MAX.to_le_bytes()), "a fingerprint that no key has");
    refuse(&|stash| stash[24..32].copy_from_slice(&0u64.to_le_bytes()), "out of order");
    refuse(&|stash| stash[16] = 1, "a value that is too wide");
    refuse(&|stash| stash[18] = 1, "a value of more than 16 bits");
}

/// A table that is mapped without being verified may hold anything.
#[test]
fn damaged_maps_still_answer() {
    let folder = std::env::temp_dir().join(format!("malkoha-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut stream = Stream::new(11);
    for (name, spec) in golden::specs() {
        let bytes = std::fs::read(golden::path(&name)).unwrap();
        let table = bytes.len() - 64 - spec.plan().unwrap().bytes() as usize;
        for round in 0..6 {
            let mut damaged = bytes.clone();
            let end = damaged.len();
            match round {
                0 => damaged[table..end].fill(0xFF),
                1 => damaged[table..end].fill(0),
                _ => damaged[table..end].iter_mut().for_each(|byte| *byte = stream.draw() as u8),
            }
            let path = folder.join(&name);
            std::fs::write(&path, &damaged).unwrap();
            let Some(mapped) = crate::common::map(&path) else { continue };
            for key in 0..300u64 {
                let found = mapped.contains(&key);
                assert_eq!(mapped.contains_slice(&[key]), [found]);
                let _ = mapped.count(&key);
                let values = mapped.get(&key);
                assert_eq!(values.is_ok(), mapped.geometry().value_bits() > 0);
                assert!(values.is_ok_and(|values| values.is_empty() != found) || !name.contains("values"));
            }
            let _ = format!("{} {mapped:?} {}", mapped.len(), mapped.stats());
            assert!(
                mapped.verify().is_err() && mapped.load().is_err(),
                "{name}: verification finds the damage"
            );
        }
        // The header, stash and length of a map are verified.
        for at in (0..table).step_by(41).chain([bytes.len()]) {
            let mut damaged = bytes.clone();
            if at == bytes.len() {
                damaged.push(0);
            } else {
                damaged[at] ^= 0x10;
            }
            let path = folder.join("header");
            std::fs::write(&path, &damaged).unwrap();
            let error = crate::common::try_map(&path).map(|_| ()).expect_err(&format!("{name}: {at}"));
            assert!(says_where(&error), "{name}: {at}: {error}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
