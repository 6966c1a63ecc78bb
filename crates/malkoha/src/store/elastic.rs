//! The record of an elastic filter: header, labels, regions, overflow, and a table for every region.
//!
//! ```text
//!   header | labels | regions | overflow | table | table | ..
//! ```
//!
//! Regions are in the order of their prefixes, which follow from their depths: all together they are every hash.

use std::io::{self, Write};

use crate::bits::Words;
use crate::elastic::{
    BASES, Elastic, Entry, FEWEST_SLOTS, GROUP_BITS, LARGEST, LEVEL_END, MOST_SLOTS, Region, RegionFlaw,
    Shape,
};
use crate::engine::Content;
use crate::error::Error;
use crate::filter::Filter;

use super::format::{HEADER_NUMBERS, field};
use super::header::Header;
use super::labels;
use super::section::{Input, SectionWriter, section_bytes};

/// The numbers that describe a region, and an entry of the overflow.
const REGION_NUMBERS: usize = 4;
const ENTRY_NUMBERS: usize = 4;

/// A directory is at most this many times as large as the file, and this many bytes.
const DIRECTORY_SHARE: u64 = 64;
const DIRECTORY_BYTES: u64 = 1 << 20;

fn bytes_of(count: usize, numbers: usize) -> u64 {
    (count * numbers * 8) as u64
}

/// The header of an elastic filter.
fn header(filter: &Filter, elastic: &Elastic, entries: usize) -> Header {
    Header {
        geometry: *filter.geometry(),
        copies: elastic.len(),
        stashed: entries as u64,
        regions: elastic.in_order().count() as u64,
        label_bytes: labels::bytes(filter.labels()),
    }
}

/// The size of the record of an elastic filter in bytes.
pub(super) fn bytes(filter: &Filter, elastic: &Elastic) -> u64 {
    let entries: usize = elastic.in_order().map(|region| region.overflow_entries().len()).sum();
    let regions = elastic.in_order().count();
    let tables = elastic.in_order().map(|region| size_of_val(region.words()) as u64);
    let sections = [
        8 * HEADER_NUMBERS as u64,
        labels::bytes(filter.labels()),
        bytes_of(regions, REGION_NUMBERS),
        bytes_of(entries, ENTRY_NUMBERS),
    ];
    let sections = sections.into_iter().filter(|content| *content > 0).chain(tables);
    sections.map(|content| section_bytes(content).expect("a filter in memory can be counted")).sum()
}

/// Writes the record of an elastic filter, a region at a time.
pub(super) fn write(filter: &Filter, elastic: &Elastic, out: &mut dyn Write) -> io::Result<()> {
    let overflow: Vec<_> = elastic.in_order().map(Region::overflow_entries).collect();
    let entries = overflow.iter().map(Vec::len).sum();
    let mut checksum = header(filter, elastic, entries).write(out)?;
    checksum = labels::write(filter.labels(), checksum, out)?;
    let mut section = SectionWriter::new(out, checksum);
    for (region, overflow) in elastic.in_order().zip(&overflow) {
        section.put_numbers(&region_numbers(region, overflow.len()))?;
    }
    checksum = section.end()?;
    if entries > 0 {
        let mut section = SectionWriter::new(out, checksum);
        for (entry, copies) in overflow.iter().flatten() {
            let (place, tag, value) = entry.parts();
            section.put_numbers(&[place, tag, value.into(), *copies])?;
        }
        checksum = section.end()?;
    }
    for region in elastic.in_order() {
        let mut section = SectionWriter::new(out, checksum);
        section.put_words(region.words())?;
        checksum = section.end()?;
    }
    Ok(())
}

/// The numbers of a region: its shape and the entries in its overflow, the entries in its table, and its weight.
fn region_numbers(region: &Region, overflow: usize) -> [u64; REGION_NUMBERS] {
    let shape = region.shape();
    let doublings = (shape.places / BASES[shape.group()]).ilog2();
    let packed = shape.depth | doublings << 8 | shape.slots << 16;
    let (entries, weight) = region.counts();
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let weight = [weight as u64, (weight >> 64) as u64];
    [u64::from(packed) | (overflow as u64) << 32, entries.into(), weight[0], weight[1]]
}

/// A region as it is described before its table.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) shape: Shape,
    entries: u32,
    weight: u128,
    /// How many entries of the overflow belong to it, and which.
    overflow_count: u64,
    overflow: Vec<(Entry, u64)>,
    /// The offset of its description, of its entries in the overflow, and of its table.
    at: u64,
    overflow_at: u64,
    pub(super) table: u64,
}

impl Described {
    /// Bytes of the table.
    pub(super) fn table_bytes(&self) -> u64 {
        Words::bytes_for(self.shape.buffer_bits())
    }

    /// The region in words that hold its table, with counts that are not verified.
    pub(super) fn region(&self, words: Words) -> Result<Region, Error> {
        let mut region = Region::in_words(self.shape, words);
        region.audit_overflow(&self.overflow).map_err(|flaw| self.error(flaw))?;
        let no_memory = |_| Error::Allocation { bytes: self.overflow.len() as u64 };
        region.restore((self.entries, self.weight), &self.overflow).map_err(no_memory)?;
        Ok(region)
    }

    /// Refuses a table that no history leads to, or that its description does not fit.
    pub(super) fn audit(&self, region: &Region) -> Result<(), Error> {
        region.audit_table().map_err(|flaw| self.error(flaw))?;
        let counted = region.counted_entries();
        if counted != (self.entries, self.weight) {
            let what = format!(
                "{:?} entries and weight where the table has {counted:?}",
                (self.entries, self.weight)
            );
            return Err(Error::corrupt("region", self.at + 8, what));
        }
        Ok(())
    }

    fn error(&self, flaw: RegionFlaw) -> Error {
        match flaw {
            RegionFlaw::Table { bit, what } => Error::corrupt("table", self.table + bit / 8, what),
            RegionFlaw::Overflow { index, what } => {
                Error::corrupt("overflow", self.overflow_at + bytes_of(index, ENTRY_NUMBERS), what)
            }
        }
    }
}

/// Everything before the tables.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) header: Header,
    labels: Vec<String>,
    begin: u64,
    pub(super) regions: Vec<Described>,
    /// The checksum of the section before the first table.
    pub(super) checksum: u64,
}

impl Outline {
    /// Reads and verifies everything before the tables, and checks that there are enough bytes for them.
    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, Error> {
        let begin = input.offset();
        let (header, checksum) = Header::read(input)?;
        let (labels, checksum) = labels::read(input, &header, checksum)?;
        let at = input.offset();
        let count = header.regions.saturating_mul(8 * REGION_NUMBERS as u64);
        let (numbers, mut checksum) = read_numbers(input, "regions", (count, checksum))?;
        let mut regions = Vec::new();
        let mut prefix = Some(0u64);
        for (i, numbers) in numbers.as_chunks::<REGION_NUMBERS>().0.iter().enumerate() {
            let at = at + bytes_of(i, REGION_NUMBERS);
            regions.push(describe(&header, &mut prefix, numbers, at)?);
        }
        if prefix.is_some() {
            return Err(Error::corrupt("regions", at, "they do not cover all hashes"));
        }
        let (begin_overflow, mut entries) = (input.offset(), Vec::new());
        if header.stashed > 0 {
            let count = header.stashed.saturating_mul(8 * ENTRY_NUMBERS as u64);
            (entries, checksum) = read_numbers(input, "overflow", (count, checksum))?;
        }
        share_out(&mut regions, entries.as_chunks().0, begin_overflow)?;
        let mut table = input.offset();
        for region in &mut regions {
            region.table = table;
            table = section_bytes(region.table_bytes())
                .and_then(|bytes| table.checked_add(bytes))
                .unwrap_or(u64::MAX);
        }
        let outline = Self { header, labels, begin, regions, checksum };
        input.need("table", table - input.offset())?;
        outline.check_memory(table - begin)?;
        Ok(outline)
    }

    /// Refuses a first size that the tables are below, and regions so deep that the directory would be much larger than
    /// the file.
    fn check_memory(&self, file: u64) -> Result<(), Error> {
        // No filter shrinks below its first size, which it returns to when it is cleared.
        let first = self.header.geometry.bytes();
        if first > DIRECTORY_BYTES.saturating_add(file.saturating_mul(4)) {
            let what = format!("{} keys where the tables are for fewer", self.header.geometry.keys());
            return Err(Error::corrupt(field::KEYS.name, self.begin + field::KEYS.offset, what));
        }
        let deepest = self.regions.iter().max_by_key(|region| region.shape.depth).expect("there are regions");
        let most = DIRECTORY_BYTES.saturating_add(file.saturating_mul(DIRECTORY_SHARE));
        if 4u64.checked_shl(deepest.shape.depth).is_none_or(|bytes| bytes > most) {
            let what =
                format!("it shares {} bits of the hash; that is too many for this file", deepest.shape.depth);
            return Err(Error::corrupt("region", deepest.at, what));
        }
        Ok(())
    }

    /// The filter with these regions.
    pub(super) fn filter(&self, regions: Vec<Region>) -> Result<Filter, Error> {
        let layout = *self.header.geometry.elastic().expect("the header of an elastic filter");
        let elastic = Elastic::of_regions(&layout, regions, self.header.copies);
        let there = elastic.entries().saturating_add(elastic.overflow_len());
        if self.header.copies > there {
            let what = format!("{} where the tables have {there} entries", self.header.copies);
            return Err(Error::corrupt(field::COPIES.name, self.begin + field::COPIES.offset, what));
        }
        Ok(Filter::around_elastic(self.header.geometry, elastic).with_labels(self.labels.clone()))
    }
}

/// Reads a section of numbers.
fn read_numbers(
    input: &mut Input<'_>,
    name: &'static str,
    section: (u64, u64),
) -> Result<(Vec<u64>, u64), Error> {
    let mut bytes = Vec::new();
    let checksum = input.section(name, section, |chunk| bytes.extend_from_slice(chunk))?;
    Ok((bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect(), checksum))
}

/// The region that these numbers describe, whose hashes begin where those of the regions before it end.
fn describe(
    header: &Header,
    prefix: &mut Option<u64>,
    numbers: &[u64; REGION_NUMBERS],
    at: u64,
) -> Result<Described, Error> {
    let corrupt = |what: &str| Err(Error::corrupt("region", at, what));
    let [packed, entries, low, high] = *numbers;
    #[expect(clippy::cast_possible_truncation, reason = "fields of eight bits")]
    let [depth, doublings, slots, zero] = [0, 8, 16, 24].map(|shift| (packed >> shift) as u32 & 255);
    let layout = header.geometry.elastic().expect("the header of an elastic filter");
    let Some(first) = *prefix else { return corrupt("the regions before it cover all hashes") };
    let levels = GROUP_BITS..GROUP_BITS + LEVEL_END;
    if zero != 0
        || !levels.contains(&depth)
        || doublings > LARGEST
        || (depth > GROUP_BITS && doublings < LARGEST)
    {
        return corrupt("its size is impossible");
    }
    let level = depth - GROUP_BITS + doublings;
    let fewest = if level == 0 { 1 } else { FEWEST_SLOTS };
    if level >= LEVEL_END || !(fewest..=MOST_SLOTS).contains(&slots) {
        return corrupt("its size is impossible");
    }
    if first.trailing_zeros() < 64 - depth {
        return corrupt("its hashes do not begin with its prefix");
    }
    *prefix = first.checked_add(1 << (64 - depth));
    let mut shape = Shape {
        prefix: first,
        depth,
        places: 0,
        slots,
        tag_bits: layout.tag_bits(level),
        value_bits: layout.value_bits,
    };
    shape.places = BASES[shape.group()] << doublings;
    let Some(entries) = u32::try_from(entries).ok().filter(|entries| *entries <= shape.places * slots) else {
        return corrupt("it has more entries than slots");
    };
    let weight = u128::from(high) << 64 | u128::from(low);
    if weight > u128::from(shape.places * slots) << shape.tag_bits {
        return corrupt("its weight is more than that of all slots");
    }
    let described = Described {
        shape,
        entries,
        weight,
        overflow_count: packed >> 32,
        overflow: Vec::new(),
        at,
        overflow_at: 0,
        table: 0,
    };
    Ok(described)
}

/// Gives every region its entries of the overflow.
fn share_out(regions: &mut [Described], entries: &[[u64; ENTRY_NUMBERS]], begin: u64) -> Result<(), Error> {
    let mut rest = entries.iter();
    let mut done = 0;
    for region in regions {
        region.overflow_at = begin + bytes_of(done, ENTRY_NUMBERS);
        for _ in 0..region.overflow_count {
            let at = begin + bytes_of(done, ENTRY_NUMBERS);
            let Some(&[place, tag, value, copies]) = rest.next() else {
                return Err(Error::corrupt("overflow", at, "regions have more entries"));
            };
            let Ok(value) = u16::try_from(value) else {
                return Err(Error::corrupt("overflow", at + 16, "an entry has a value of more than 16 bits"));
            };
            region.overflow.push((Entry::new(place, tag, value), copies));
            done += 1;
        }
    }
    match rest.next() {
        None => Ok(()),
        Some(_) => {
            Err(Error::corrupt("overflow", begin + bytes_of(done, ENTRY_NUMBERS), "an entry has no region"))
        }
    }
}

/// Reads a record and verifies all of it.
pub(super) fn read(input: &mut Input<'_>) -> Result<Filter, Error> {
    let outline = Outline::read(input)?;
    let mut regions = Vec::new();
    let mut checksum = outline.checksum;
    for described in &outline.regions {
        let words;
        (words, checksum) = input.table(checksum, described.shape.buffer_bits(), Words::pooled)?;
        let region = described.region(words)?;
        described.audit(&region)?;
        regions.push(region);
    }
    outline.filter(regions)
}

/// Seals the sections of the regions that begin at `at`, and moves `at` past them: entries and weights are counted, and
/// tables have their lengths.
#[cfg(any(test, feature = "testing"))]
pub(super) fn seal_regions(
    bytes: &mut Vec<u8>,
    at: &mut usize,
    header: &Header,
    checksum: u64,
) -> Option<()> {
    use super::seal::{resize, seal_section};
    let content = |count: u64, numbers: usize| count.checked_mul(8 * numbers as u64);
    let (begin, regions) = (*at, content(header.regions, REGION_NUMBERS)?);
    let overflow = content(header.stashed, ENTRY_NUMBERS)?;
    resize(bytes, begin, regions)?;
    let sections =
        [regions, overflow].map(|content| if content > 0 { section_bytes(content) } else { Some(0) });
    let mut table = begin + usize::try_from(sections[0]? + sections[1]?).ok()?;
    let (mut prefix, mut tables) = (Some(0), Vec::new());
    for i in 0..usize::try_from(header.regions).ok()? {
        let description = begin + i * 8 * REGION_NUMBERS;
        let mut numbers = [0; REGION_NUMBERS];
        for (number, bytes) in numbers.iter_mut().zip(bytes[description..].as_chunks().0) {
            *number = u64::from_le_bytes(*bytes);
        }
        // Counts are corrected below, so they must not stand in the way here.
        numbers[1..].fill(0);
        let described = describe(header, &mut prefix, &numbers, 0).ok()?;
        let length = described.table_bytes();
        resize(bytes, table, length)?;
        let mut words = Words::zeroed(described.shape.buffer_bits()).ok()?;
        for (word, bytes) in words.iter_mut().zip(bytes[table..].as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let (entries, weight) = Region::in_words(described.shape, words).counted_entries();
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let counts = [u64::from(entries), weight as u64, (weight >> 64) as u64];
        for (i, count) in counts.into_iter().enumerate() {
            bytes[description + 8 * (i + 1)..][..8].copy_from_slice(&count.to_le_bytes());
        }
        tables.push(length);
        table += usize::try_from(section_bytes(length)?).ok()?;
    }
    let mut checksum = seal_section(bytes, at, regions, checksum)?;
    if overflow > 0 {
        checksum = seal_section(bytes, at, overflow, checksum)?;
    }
    for length in tables {
        checksum = seal_section(bytes, at, length, checksum)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use crate::store::seal::seal_section;

    /// A filter whose overflow has copies of one key with several values, as bytes that can be changed and sealed
    /// again.
    struct Forged {
        bytes: Vec<u8>,
        /// Bytes of every section.
        sections: Vec<u64>,
    }

    impl Forged {
        fn new() -> Self {
            let mut filter = Spec::rate(0.001).values(8).build().unwrap();
            for value in 0..8 {
                (0..40).for_each(|_| filter.insert_value("owl", value).unwrap());
            }
            let elastic = filter.elastic().unwrap();
            let over: usize = elastic.in_order().map(|region| region.overflow_entries().len()).sum();
            assert!(over >= 5, "{over}");
            let mut sections = vec![
                8 * HEADER_NUMBERS as u64,
                bytes_of(elastic.in_order().count(), REGION_NUMBERS),
                bytes_of(over, ENTRY_NUMBERS),
            ];
            sections.extend(elastic.in_order().map(|region| size_of_val(region.words()) as u64));
            let bytes = filter.to_bytes().unwrap();
            let mut forged = Self { bytes: bytes.clone(), sections };
            forged.seal();
            assert!(forged.bytes == bytes, "sealing changes nothing else");
            forged
        }

        /// The numbers of a section.
        fn numbers(&mut self, section: usize) -> impl Iterator<Item = &mut [u8; 8]> {
            let begin: u64 =
                self.sections[..section].iter().map(|bytes| section_bytes(*bytes).unwrap()).sum();
            let bytes = &mut self.bytes[begin as usize..][..self.sections[section] as usize];
            bytes.as_chunks_mut().0.iter_mut()
        }

        fn seal(&mut self) {
            let (mut at, mut checksum) = (0, 0);
            for section in &self.sections {
                checksum = seal_section(&mut self.bytes, &mut at, *section, checksum).unwrap();
            }
        }
    }

    #[test]
    fn a_weight_beyond_that_of_all_slots_is_refused() {
        let mut forged = Forged::new();
        forged.numbers(1).skip(2).step_by(REGION_NUMBERS).for_each(|low| low.fill(255));
        forged.numbers(1).skip(3).step_by(REGION_NUMBERS).for_each(|high| high.fill(255));
        forged.seal();
        let error = Filter::from_bytes(&forged.bytes).unwrap_err().to_string();
        assert!(error.contains("weight"), "{error}");
    }

    #[test]
    fn numbers_of_copies_that_overflow_together_harm_nothing() {
        let mut forged = Forged::new();
        let copies = forged.numbers(2).skip(3).step_by(ENTRY_NUMBERS);
        copies.for_each(|copies| *copies = (1u64 << 62).to_le_bytes());
        forged.seal();
        let mut filter = Filter::from_bytes(&forged.bytes).unwrap();
        assert_eq!(filter.count("owl").unwrap(), u32::MAX);
        assert!(filter.stats().items > 0);
        for key in 0..50_000u64 {
            filter.insert_value(&key, 1).unwrap();
        }
        assert!(filter.contains("owl") && (0..50_000u64).all(|key| filter.contains(&key)));
        let other = filter.clone();
        filter.merge(&other).unwrap();
        assert!(Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap() == filter, "it can be read again");
    }
}
