//! The record of one filter: header, labels, stash, table.

use std::io::{self, Write};

use crate::bits::Words;
use crate::engine::{Flaw, Stashed};
use crate::error::Error;
use crate::filter::Filter;

use super::format::{Form, HEADER_NUMBERS, STASH_ENTRY_BYTES, field};
use super::header::Header;
use super::section::{Input, SectionWriter, section_bytes};
use super::{elastic, labels};

/// The size of the record of a filter in bytes.
pub(super) fn bytes(filter: &Filter) -> u64 {
    if let Some(elastic) = filter.elastic() {
        return elastic::bytes(filter, elastic);
    }
    let stash = filter.engine().stash_len() as u64 * STASH_ENTRY_BYTES;
    let labels = labels::bytes(filter.labels());
    let sections = [8 * HEADER_NUMBERS as u64, labels, stash, filter.geometry().bytes()];
    let sections = sections.into_iter().filter(|content| *content > 0);
    sections.map(|content| section_bytes(content).expect("a filter in memory can be counted")).sum()
}

/// Writes the record of a filter.
pub(super) fn write(filter: &Filter, out: &mut dyn Write) -> io::Result<()> {
    if let Some(elastic) = filter.elastic() {
        return elastic::write(filter, elastic, out);
    }
    let engine = filter.engine();
    let stash = engine.stash_entries();
    let header = Header {
        geometry: *filter.geometry(),
        copies: engine.len(),
        stashed: stash.len() as u64,
        regions: 0,
        label_bytes: labels::bytes(filter.labels()),
    };
    let mut checksum = labels::write(filter.labels(), header.write(out)?, out)?;
    if !stash.is_empty() {
        let mut section = SectionWriter::new(out, checksum);
        for (place, fingerprint, value) in stash {
            section.put_numbers(&[place, fingerprint, u64::from(value)])?;
        }
        checksum = section.end()?;
    }
    let mut section = SectionWriter::new(out, checksum);
    section.put_words(engine.words())?;
    section.end()?;
    Ok(())
}

/// Where the sections of a record begin, and its verified header and stash.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    pub(super) header: Header,
    labels: Vec<String>,
    pub(super) stash: Vec<Stashed>,
    /// Where the record begins.
    pub(super) begin: u64,
    /// Where the stash begins, if there is one.
    stash_begin: u64,
    /// Where the table begins.
    pub(super) table: u64,
    /// The checksum of the section before the table.
    pub(super) checksum: u64,
}

impl Opening {
    /// Reads and verifies everything before the table, and checks that there are enough bytes for the table.
    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, Error> {
        let begin = input.offset();
        let (header, checksum) = Header::read(input)?;
        let (labels, mut checksum) = labels::read(input, &header, checksum)?;
        let (stash_begin, mut stash) = (input.offset(), Vec::new());
        if header.stashed > 0 {
            let content = header.stashed.saturating_mul(STASH_ENTRY_BYTES);
            (stash, checksum) = read_stash(input, (content, checksum))?;
        }
        let opening = Self { header, labels, stash, begin, stash_begin, table: input.offset(), checksum };
        let table = section_bytes(opening.table_bytes()).unwrap_or(u64::MAX);
        input.need("table", table)?;
        Ok(opening)
    }

    /// Bytes of the table.
    pub(super) fn table_bytes(&self) -> u64 {
        self.header.geometry.bytes()
    }

    /// The filter around words that hold, or will hold, the table.
    pub(super) fn filter(&self, words: Words) -> Result<Filter, Error> {
        let mut filter = Filter::in_words(self.header.geometry, words)?;
        filter.engine_mut().restore(self.header.copies, self.stash.clone());
        Ok(filter.with_labels(self.labels.clone()))
    }

    /// Refuses a stash that no history of inserts and removals could leave.
    pub(super) fn audit_stash(&self, filter: &Filter) -> Result<(), Error> {
        filter.engine().audit_stash().map_err(|flaw| self.error(flaw))
    }

    /// Refuses content that no history of inserts and removals could leave.
    pub(super) fn audit(&self, filter: &Filter) -> Result<(), Error> {
        let bits = self.header.geometry.table_bits().expect("checked when the header was read");
        let last = bits / 64;
        for (&word, begin) in filter.engine().words()[index(last)..].iter().zip((64 * last..).step_by(64)) {
            let outside = if begin >= bits { word } else { word >> (bits - begin) };
            if outside != 0 {
                let what = "a bit beyond the end of the table is set";
                return Err(self.error(Flaw::Table { bit: begin, what }));
            }
        }
        filter.engine().audit().map_err(|flaw| self.error(flaw))
    }

    /// The error for a flaw, with its offset in the input.
    fn error(&self, flaw: Flaw) -> Error {
        match flaw {
            Flaw::Table { bit, what } => Error::corrupt("table", self.table + bit / 8, what),
            Flaw::Stash { index, what } => {
                Error::corrupt("stash", self.stash_begin + index as u64 * STASH_ENTRY_BYTES, what)
            }
            Flaw::Count { there } => {
                let what = format!("{} where the table indicates {there}", self.header.copies);
                Error::corrupt(field::COPIES.name, self.begin + field::COPIES.offset, what)
            }
        }
    }
}

/// An index into the words of a table in memory.
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: the table is in memory")]
fn index(number: u64) -> usize {
    number as usize
}

/// Reads a record and verifies all of it.
pub(super) fn read(input: &mut Input<'_>) -> Result<Filter, Error> {
    if input.form()? == Form::Elastic {
        return elastic::read(input);
    }
    input.expect(Form::Single)?;
    let opening = Opening::read(input)?;
    let bits = opening.header.geometry.table_bits().expect("checked when the header was read");
    let (words, _) = input.table(opening.checksum, bits, Words::zeroed)?;
    let filter = opening.filter(words)?;
    opening.audit(&filter)?;
    Ok(filter)
}

/// Reads the entries of a stash, which are checked later.
fn read_stash(input: &mut Input<'_>, section: (u64, u64)) -> Result<(Vec<Stashed>, u64), Error> {
    let begin = input.offset();
    let mut bytes = Vec::new();
    let checksum = input.section("stash", section, |chunk| bytes.extend_from_slice(chunk))?;
    let mut stash = Vec::new();
    for (entry, [place, fingerprint, value]) in bytes.as_chunks::<8>().0.as_chunks::<3>().0.iter().enumerate()
    {
        let Ok(value) = u16::try_from(u64::from_le_bytes(*value)) else {
            let offset = begin + entry as u64 * STASH_ENTRY_BYTES + 16;
            return Err(Error::corrupt("stash", offset, "an entry has a value of more than 16 bits"));
        };
        stash.push((u64::from_le_bytes(*place), u64::from_le_bytes(*fingerprint), value));
    }
    Ok((stash, checksum))
}
