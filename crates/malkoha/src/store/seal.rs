//! Makes changed bytes consistent again, for tests and fuzzers: an attacker can do the same, and the checks
//! behind the checksums guard against that.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::compound::{COUNT_OFFSET, NUMBERS_OFFSET, PARTS_OFFSET, VERSION_OFFSET};
use super::elastic;
use super::format::{Form, HEADER_NUMBERS, PREFIX_BYTES, STASH_ENTRY_BYTES, field};
use super::header::Numbers;
use super::section::section_bytes;

/// The most bytes of a sealed section.
const MOST_BYTES: u64 = 1 << 20;

/// The most bytes that are sealed.
const MOST_SEALED: usize = 1 << 26;

/// Makes bytes as consistent as possible: numbers that follow from others, the length of every section, and all
/// checksums. Other numbers and the content stay as they are.
pub(crate) fn seal(bytes: &mut Vec<u8>) {
    let mut at = 0;
    if bytes.len() < PREFIX_BYTES {
        return;
    }
    let form = number(bytes, VERSION_OFFSET) >> 32;
    if form == Form::Single as u64 || form == Form::Elastic as u64 {
        if seal_record(bytes, &mut at).is_some() {
            bytes.truncate(at);
        }
        return;
    }
    let content = number(bytes, COUNT_OFFSET).saturating_mul(8).saturating_add(NUMBERS_OFFSET);
    if seal_section(bytes, &mut at, content, 0).is_none() {
        return;
    }
    let mut version = 1;
    for _ in 0..number(bytes, PARTS_OFFSET).min(16) {
        let Some(own) = seal_record(bytes, &mut at) else { return };
        version = version.max(own);
    }
    bytes.truncate(at);
    // The version is that of the records, whose checksums do not depend on the outline.
    set_version(bytes, 0, version);
    let _ = seal_section(bytes, &mut 0, content, 0);
}

/// Sets the version of the record or outline that begins at `begin`.
fn set_version(bytes: &mut [u8], begin: usize, version: u32) {
    bytes[begin + 8..begin + 12].copy_from_slice(&version.to_le_bytes());
}

/// Seals the record that begins at `at`, and moves `at` past it. Returns its version; `None` if it is absurdly
/// large.
fn seal_record(bytes: &mut Vec<u8>, at: &mut usize) -> Option<u32> {
    let begin = *at;
    let header = 8 * HEADER_NUMBERS as u64;
    resize(bytes, begin, header)?;
    // The version follows from the form, the key format and the labels.
    let get = |offset: u64| self::number(bytes, begin as u64 + offset);
    let format = get(field::KEY_FORMAT.offset);
    let elastic = get(VERSION_OFFSET) >> 32 == Form::Elastic as u64;
    let version = match format {
        _ if format == 4 || get(field::LABEL_BYTES.offset) > 0 => 4,
        _ if elastic => 3,
        0 => 1,
        _ => 2,
    };
    set_version(bytes, begin, version);
    let mut numbers = [0; HEADER_NUMBERS];
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = self::number(bytes, (begin + 8 * i) as u64);
    }
    let meaning = (Numbers { numbers, base: 0 }).meaning().ok();
    if let Some(meaning) = &meaning {
        numbers = meaning.numbers();
    }
    for (i, number) in numbers.iter().enumerate() {
        bytes[begin + 8 * i..begin + 8 * i + 8].copy_from_slice(&number.to_le_bytes());
    }
    let mut checksum = seal_section(bytes, at, header, 0)?;
    let labels = numbers[field::LABEL_BYTES.index()];
    if labels > 0 {
        checksum = seal_section(bytes, at, labels, checksum)?;
    }
    if let Some(meaning) = meaning.filter(|meaning| meaning.geometry.elastic().is_some()) {
        return elastic::seal_regions(bytes, at, &meaning, checksum).map(|()| version);
    }
    let stash = numbers[field::STASHED.index()].saturating_mul(STASH_ENTRY_BYTES);
    if stash > 0 {
        checksum = seal_section(bytes, at, stash, checksum)?;
    }
    seal_section(bytes, at, numbers[field::TABLE_BYTES.index()], checksum).map(|_| version)
}

/// Gives the section at `at` this much content, padding and a checksum, and returns the checksum.
pub(super) fn seal_section(bytes: &mut Vec<u8>, at: &mut usize, content: u64, before: u64) -> Option<u64> {
    let begin = *at;
    resize(bytes, begin, content)?;
    let end = begin + usize::try_from(section_bytes(content)?).ok()?;
    let content = begin + usize::try_from(content).ok()?;
    bytes[content..end].fill(0);
    let checksum = xxh3_64_with_seed(&bytes[begin..end - 8], before);
    bytes[end - 8..end].copy_from_slice(&checksum.to_le_bytes());
    *at = end;
    Some(checksum)
}

/// Extends the bytes, if necessary, to hold a section with this much content.
pub(super) fn resize(bytes: &mut Vec<u8>, begin: usize, content: u64) -> Option<()> {
    let length = section_bytes(content).filter(|length| *length <= MOST_BYTES)?;
    // What lies before it may have been promised too much, too.
    let end = begin.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= MOST_SEALED)?;
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    Some(())
}

fn number(bytes: &[u8], offset: u64) -> u64 {
    let offset = usize::try_from(offset).expect("inside the bytes");
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
