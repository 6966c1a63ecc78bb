//! Files of several filters: an outline, then a record for each part.

use std::io::{self, Write};

use crate::error::Error;
use crate::filter::Filter;

use super::format::{Form, LINE_BYTES, MAGIC, field, version_of};
use super::record;
use super::section::{Input, SectionWriter, section_bytes};

/// The most parts and the most numbers that an outline may have.
pub(crate) const MOST_PARTS: u64 = 1 << 16;
pub(crate) const MOST_NUMBERS: u64 = 1 << 16;

/// Where in an outline the version, the number of parts, the number of numbers and the numbers themselves are.
pub(super) const VERSION_OFFSET: u64 = 8;
pub(super) const PARTS_OFFSET: u64 = 16;
pub(super) const COUNT_OFFSET: u64 = 24;
pub(super) const NUMBERS_OFFSET: u64 = LINE_BYTES;

/// The size of a compound in bytes.
pub(crate) fn compound_bytes(numbers: &[u64], parts: &[&Filter]) -> u64 {
    let outline = NUMBERS_OFFSET + 8 * numbers.len() as u64;
    let outline = section_bytes(outline).expect("a list in memory can be counted");
    outline + parts.iter().map(|part| record::bytes(part)).sum::<u64>()
}

/// The offsets at which the parts of a compound begin, followed by the offset of its end.
pub(crate) fn part_offsets(numbers: &[u64], parts: &[Filter]) -> Vec<u64> {
    let first = compound_bytes(numbers, &[]);
    let ends = parts.iter().scan(first, |offset, part| {
        *offset += record::bytes(part);
        Some(*offset)
    });
    core::iter::once(first).chain(ends).collect()
}

/// The version of an outline: the highest of its records.
fn version<'a>(parts: impl Iterator<Item = &'a Filter>) -> u32 {
    parts.map(|part| version_of(part.geometry(), false)).max().unwrap_or(1)
}

/// Writes a compound of several filters. What the numbers mean is up to the form.
///
/// # Panics
///
/// If there are more numbers or parts than a reader accepts.
pub(crate) fn write_compound(
    out: &mut dyn Write,
    form: Form,
    numbers: &[u64],
    parts: &[&Filter],
) -> io::Result<()> {
    assert!(numbers.len() as u64 <= MOST_NUMBERS && parts.len() as u64 <= MOST_PARTS, "an outline is short");
    let mut outline = SectionWriter::new(out, 0);
    let what = u64::from(version(parts.iter().copied())) | (form as u64) << 32;
    let counts = [parts.len() as u64, numbers.len() as u64];
    outline.put_numbers(&[u64::from_le_bytes(MAGIC), what, counts[0], counts[1], 0, 0, 0, 0])?;
    outline.put_numbers(numbers)?;
    outline.end()?;
    parts.iter().try_for_each(|part| record::write(part, out))
}

/// What precedes the records of a compound.
pub(super) struct Outline {
    /// The version that it declares.
    version: u64,
    /// The number of records.
    pub(super) parts: u64,
    numbers: Vec<u64>,
}

/// Reads the outline of a compound.
pub(super) fn read_outline(input: &mut Input<'_>) -> Result<Outline, Error> {
    let begin = input.offset();
    let [_, what, parts, count] = input.prefix()?;
    for (name, number, most, offset) in
        [("parts", parts, MOST_PARTS, PARTS_OFFSET), ("numbers", count, MOST_NUMBERS, COUNT_OFFSET)]
    {
        if number > most {
            return Err(Error::corrupt(name, begin + offset, format!("{number} where the most is {most}")));
        }
    }
    let mut bytes = Vec::new();
    input.section("outline", (NUMBERS_OFFSET + 8 * count, 0), |chunk| bytes.extend_from_slice(chunk))?;
    let words: Vec<u64> = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    if let Some(index) = (4..8).find(|index| words[*index] != 0) {
        let what = format!("{} where this version has 0", words[index]);
        return Err(Error::Newer { part: "reserved number", offset: begin + 8 * index as u64, what });
    }
    Ok(Outline { version: what & u64::from(u32::MAX), parts, numbers: words[8..].to_vec() })
}

/// Reads a compound of this form and returns its numbers and its parts, all verified. What the numbers must be
/// is up to the caller, which refuses wrong ones with [`bad_parts`], [`bad_count`] and [`bad_number`].
pub(crate) fn read_compound(input: &mut Input<'_>, form: Form) -> Result<(Vec<u64>, Vec<Filter>), Error> {
    input.expect(form)?;
    let begin = input.offset();
    let outline = read_outline(input)?;
    let mut filters: Vec<Filter> = Vec::new();
    for _ in 0..outline.parts {
        let record = input.offset();
        let filter = record::read(input)?;
        if !filter.labels().is_empty() {
            let what = "a part of several filters has labels";
            return Err(Error::corrupt(field::LABEL_BYTES.name, record + field::LABEL_BYTES.offset, what));
        }
        let (format, first) = (filter.geometry().key_format(), filters.first().unwrap_or(&filter).geometry());
        if format != first.key_format() {
            let what = format!("{format} where the first part has {}", first.key_format());
            return Err(Error::corrupt(field::KEY_FORMAT.name, record + field::KEY_FORMAT.offset, what));
        }
        filters.push(filter);
    }
    let version = version(filters.iter());
    if outline.version != u64::from(version) {
        let what = format!("{} where that of the parts is {version}", outline.version);
        return Err(Error::corrupt("version", begin + VERSION_OFFSET, what));
    }
    Ok((outline.numbers, filters))
}

/// The error for a number of parts that the form of a compound does not allow.
pub(crate) fn bad_parts(what: impl Into<String>) -> Error {
    Error::corrupt("parts", PARTS_OFFSET, what)
}

/// The error for a number of numbers that the form of a compound does not have.
pub(crate) fn bad_count(count: usize, expected: &str) -> Error {
    Error::corrupt("numbers", COUNT_OFFSET, format!("{count} numbers where {expected}"))
}

/// The error for a number of a compound that its form does not allow.
pub(crate) fn bad_number(index: usize, what: impl Into<String>) -> Error {
    Error::corrupt("number", NUMBERS_OFFSET + 8 * index as u64, what)
}
