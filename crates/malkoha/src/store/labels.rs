//! The labels of a filter: the section after the header, if there are any.
//!
//! ```text
//!   h o s t 0 g r a f t 0       every label in UTF-8, and a zero byte
//! ```

use std::io::{self, Write};

use crate::error::Error;
use crate::filter::check_labels;

use super::header::Header;
use super::section::{Input, SectionWriter};

/// The most bytes of all labels: 16 of 255 bytes, and a zero byte after each.
pub(super) const MOST_LABEL_BYTES: u64 = 16 * 256;

/// Bytes of the labels.
pub(super) fn bytes(labels: &[String]) -> u64 {
    labels.iter().map(|label| label.len() as u64 + 1).sum()
}

/// Writes the labels, if there are any, after a section with the checksum `before`. Returns the checksum for the
/// section that follows.
pub(super) fn write(labels: &[String], before: u64, out: &mut dyn Write) -> io::Result<u64> {
    if labels.is_empty() {
        return Ok(before);
    }
    let mut section = SectionWriter::new(out, before);
    for label in labels {
        section.put(label.as_bytes())?;
        section.put(&[0])?;
    }
    section.end()
}

/// Reads and verifies the labels, if the header has any. Also returns the checksum for the section that follows.
pub(super) fn read(input: &mut Input<'_>, header: &Header, before: u64) -> Result<(Vec<String>, u64), Error> {
    if header.label_bytes == 0 {
        return Ok((Vec::new(), before));
    }
    let (at, mut bytes) = (input.offset(), Vec::new());
    let section = (header.label_bytes, before);
    let checksum = input.section("labels", section, |chunk| bytes.extend_from_slice(chunk))?;
    let corrupt = |what| Error::corrupt("labels", at, what);
    let Some(names) = bytes.strip_suffix(&[0]) else { return Err(corrupt("the last one has no end")) };
    let names = core::str::from_utf8(names).map_err(|_| corrupt("they are not UTF-8"))?;
    let labels: Vec<String> = names.split('\0').map(str::to_owned).collect();
    check_labels(&labels, header.geometry.value_bits()).map_err(corrupt)?;
    Ok((labels, checksum))
}
