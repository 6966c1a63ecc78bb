//! The header of a record: converts a geometry and two counts to a list of numbers and back.
//!
//! Reading takes the numbers from which the others follow, refuses those that no plan gives, and computes the
//! header of a filter with these numbers. Any difference from it is refused: in numbers that follow from
//! others, in numbers that the kind does not use, and in numbers that only a later version knows.

use core::ops::RangeInclusive;
use std::io::{self, Write};

use crate::bloom::{BlockedLayout, BloomLayout, Cost, MOST_BLOOM_KEYS};
use crate::cuckoo::{CuckooLayout, MOST_SUBTABLE_BITS, Offsets, Ring};
use crate::elastic::{ElasticLayout, GROUPS, LEVEL_END, LEVELS};
use crate::engine::MOST_COPIES;
use crate::error::Error;
use crate::key::{KeyFormat, KeyHasher};
use crate::kind::{Kind, Pattern};
use crate::plan::{Geometry, Layout, Spec};

use super::format::{Field, Form, HEADER_NUMBERS, MAGIC, field, version_of};
use super::labels::MOST_LABEL_BYTES;
use super::section::{Input, SectionWriter};

/// Everything before the stash and the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) geometry: Geometry,
    /// Stored copies of keys.
    pub(super) copies: u64,
    /// How many of these are in the stash; for elastic filters, entries in the overflow.
    pub(super) stashed: u64,
    /// The regions of an elastic filter; 0 for others.
    pub(super) regions: u64,
    /// Bytes of the labels; 0 if there are none.
    pub(super) label_bytes: u64,
}

impl Header {
    /// Writes the header and returns its checksum.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<u64> {
        let mut section = SectionWriter::new(out, 0);
        section.put_numbers(&self.numbers())?;
        section.end()
    }

    /// Reads and verifies a header. Also returns its checksum.
    pub(super) fn read(input: &mut Input<'_>) -> Result<(Self, u64), Error> {
        let base = input.offset();
        let mut bytes = Vec::new();
        let content = 8 * HEADER_NUMBERS as u64;
        let checksum = input.section("header", (content, 0), |chunk| bytes.extend_from_slice(chunk))?;
        let mut numbers = [0; HEADER_NUMBERS];
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
            *number = u64::from_le_bytes(*bytes);
        }
        let numbers = Numbers { numbers, base };
        let header = numbers.meaning()?;
        numbers.must_be(&header.numbers())?;
        Ok((header, checksum))
    }

    /// The numbers of this header.
    pub(super) fn numbers(&self) -> [u64; HEADER_NUMBERS] {
        let mut numbers = [0; HEADER_NUMBERS];
        let mut set = |field: Field, number: u64| numbers[field.index()] = number;
        let geometry = &self.geometry;
        let (kind, variant) = number_of(geometry.kind());
        set(field::HASH, KeyHasher::ID as u64);
        set(field::SEED, geometry.seed());
        set(field::KIND, kind);
        set(field::VARIANT, u64::from(variant));
        set(field::KEYS, geometry.keys());
        set(field::RATE, geometry.rate().to_bits());
        set(field::COPIES, self.copies);
        set(field::STASHED, self.stashed);
        let (format, word_length, window) = format_number(geometry.key_format());
        set(field::KEY_FORMAT, format);
        set(field::WORD_LENGTH, u64::from(word_length));
        set(field::WINDOW, u64::from(window));
        set(field::LABEL_BYTES, self.label_bytes);
        if !matches!(geometry.layout(), Layout::Elastic(_)) {
            set(field::TABLE_BYTES, geometry.bytes());
        }
        let mut form = Form::Single;
        match *geometry.layout() {
            Layout::Elastic(layout) => {
                form = Form::Elastic;
                set(field::VALUE_BITS, u64::from(layout.value_bits));
                set(field::LAST_LEVEL, u64::from(layout.last_level));
                set(field::REGIONS, self.regions);
                for (i, eight) in layout.bits.as_chunks().0.iter().enumerate() {
                    numbers[field::LENGTHS.index() + i] = u64::from_le_bytes(*eight);
                }
            }
            Layout::Cuckoo(layout) => {
                set(field::PLACES, layout.places);
                set(field::SLOTS, layout.slots);
                set(field::TAG_BITS, u64::from(layout.tag_bits()));
                set(field::FINGERPRINTS, layout.fingerprints);
                set(field::DOUBLINGS, u64::from(layout.doublings));
                set(field::EARLIER_FINGERPRINTS, layout.earlier_fingerprints);
                set(field::SUBTABLE_BITS, u64::from(layout.subtable_bits));
                set(field::LEAST_OFFSET, layout.ring.least);
                set(field::MOST_OFFSET, layout.ring.most);
                set(field::NEAR_SHARE, u64::from(layout.ring.near_share));
                set(field::NEAR_GROUP, layout.ring.group);
                set(field::STASH_ROOM, u64::from(layout.stash));
                set(field::MOST_STEPS, u64::from(layout.max_steps));
                set(field::VALUE_BITS, u64::from(layout.value_bits()));
            }
            Layout::Bloom(layout) => {
                set(field::BITS, layout.bits);
                set(field::KEY_BITS, u64::from(layout.key_bits));
            }
            Layout::Blocked(layout) => {
                let (cost, parameter) = cost_number(layout.cost);
                set(field::BITS, layout.blocks);
                set(field::KEY_BITS, u64::from(layout.key_bits));
                set(field::PATTERN, pattern_number(layout.pattern));
                set(field::COST, cost);
                set(field::COST_PARAMETER, parameter.to_bits());
            }
        }
        numbers[0] = u64::from_le_bytes(MAGIC);
        numbers[1] = u64::from(version_of(geometry, self.label_bytes > 0)) | (form as u64) << 32;
        numbers
    }
}

/// The numbers of a header as they were read, and where in the file it begins.
pub(super) struct Numbers {
    pub(super) numbers: [u64; HEADER_NUMBERS],
    pub(super) base: u64,
}

impl Numbers {
    /// The header that the numbers describe, if they are valid. Numbers that follow from others are ignored.
    pub(super) fn meaning(&self) -> Result<Header, Error> {
        if self.get(field::HASH) != KeyHasher::ID as u64 {
            return Err(self.newer(field::HASH, "is unknown"));
        }
        let kind = self.kind()?;
        let layout = match kind {
            Kind::Elastic => Layout::Elastic(self.elastic()?),
            Kind::Bloom => Layout::Bloom(self.bloom()?),
            Kind::Blocked(choices) => Layout::Blocked(self.blocked(choices)?),
            _ => Layout::Cuckoo(self.cuckoo(kind)?),
        };
        let most_keys = if let Layout::Cuckoo(layout) = layout { layout.slots } else { MOST_BLOOM_KEYS };
        let keys = self.within(field::KEYS, 1..=most_keys)?;
        let rate = f64::from_bits(self.get(field::RATE));
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(self.corrupt(field::RATE, format!("{rate} is not a rate")));
        }
        let geometry = Geometry::new(keys, rate, self.get(field::SEED), layout);
        let geometry = geometry.with_key_format(self.key_format()?);
        if geometry.table_bits().is_none() && kind != Kind::Elastic {
            return Err(self.corrupt(field::TABLE_BYTES, "the table is too large to count"));
        }
        let (copies, stashed) = self.counts(&layout)?;
        let regions = match layout {
            Layout::Elastic(_) => self.within(field::REGIONS, GROUPS as u64..=u64::from(u32::MAX))?,
            _ => 0,
        };
        let label_bytes = match self.version() {
            ..4 => 0,
            _ if geometry.value_bits() == 0 => self.within(field::LABEL_BYTES, 0..=0)?,
            _ => self.within(field::LABEL_BYTES, 0..=MOST_LABEL_BYTES)?,
        };
        Ok(Header { geometry, copies, stashed, regions, label_bytes })
    }

    fn get(&self, field: Field) -> u64 {
        self.numbers[field.index()]
    }

    fn corrupt(&self, field: Field, what: impl Into<String>) -> Error {
        Error::corrupt(field.name, self.base + field.offset, what)
    }

    fn newer(&self, field: Field, what: &str) -> Error {
        let what = format!("{} {what}", self.get(field));
        Error::Newer { part: field.name, offset: self.base + field.offset, what }
    }

    /// A number that must be in a range.
    fn within(&self, field: Field, range: RangeInclusive<u64>) -> Result<u64, Error> {
        let number = self.get(field);
        if range.contains(&number) {
            return Ok(number);
        }
        let what = format!("{number} is not within {} to {}", range.start(), range.end());
        Err(self.corrupt(field, what))
    }

    /// The same for numbers of at most 2^32 - 1.
    fn small(&self, field: Field, range: RangeInclusive<u32>) -> Result<u32, Error> {
        let number = self.within(field, u64::from(*range.start())..=u64::from(*range.end()))?;
        Ok(u32::try_from(number).expect("inside a range of small numbers"))
    }

    fn version(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half; the upper one is the form")]
        let version = self.numbers[1] as u32;
        version
    }

    /// The format of the keys, which version 1 does not have.
    fn key_format(&self) -> Result<KeyFormat, Error> {
        let version = self.version();
        if version == 1 {
            return Ok(KeyFormat::Any);
        }
        Ok(match self.get(field::KEY_FORMAT) {
            0 if version > 2 => KeyFormat::Any,
            0 => return Err(self.corrupt(field::KEY_FORMAT, "there is no version 2 without one")),
            1 => KeyFormat::Bytes,
            2 => KeyFormat::U64,
            3 => KeyFormat::Kmers { k: self.small(field::WORD_LENGTH, 1..=KeyFormat::MOST_K)? },
            4 => KeyFormat::Minimizers {
                k: self.small(field::WORD_LENGTH, 1..=KeyFormat::MOST_MINIMIZER_K)?,
                w: self.small(field::WINDOW, 1..=KeyFormat::MOST_WINDOW)?,
            },
            _ => return Err(self.newer(field::KEY_FORMAT, "is unknown")),
        })
    }

    fn kind(&self) -> Result<Kind, Error> {
        let variant = u8::try_from(self.get(field::VARIANT)).unwrap_or(u8::MAX);
        let kind = match self.get(field::KIND) {
            0 => return Err(self.corrupt(field::KIND, "there is no kind 0")),
            1 => Kind::Classic(variant),
            2 => Kind::SemiSorted,
            3 => Kind::Simplified(variant),
            4 => Kind::Flexible(variant),
            5 => Kind::Windowed(variant),
            6 => Kind::Sorted,
            7 => Kind::Bloom,
            8 => Kind::Blocked(variant),
            9 => Kind::Elastic,
            _ => return Err(self.newer(field::KIND, "is unknown")),
        };
        kind.check().map_err(|error| self.corrupt(field::VARIANT, error.to_string()))?;
        Ok(kind)
    }

    fn cuckoo(&self, kind: Kind) -> Result<CuckooLayout, Error> {
        let value_bits = self.small(field::VALUE_BITS, 0..=Spec::MOST_VALUE_BITS)?;
        let below = CuckooLayout::tag_widths_below(kind, value_bits);
        let widths = below.start() + value_bits..=below.end() + value_bits;
        let tag_bits = self.small(field::TAG_BITS, widths)? - value_bits;
        let mut layout = CuckooLayout::with_tags(kind, tag_bits).with_values(value_bits);
        if matches!(kind, Kind::Simplified(_)) {
            layout.set_subtables(self.small(field::SUBTABLE_BITS, 1..=tag_bits.min(MOST_SUBTABLE_BITS))?);
        }
        if kind.is_signed() {
            self.fingerprints(&mut layout)?;
        }
        let least = CuckooLayout::least_offset(kind);
        let places = self.within(field::PLACES, 2 * least..=1 << 56)?;
        if matches!(kind, Kind::Classic(_) | Kind::SemiSorted) && !places.is_power_of_two() {
            return Err(self.corrupt(field::PLACES, format!("{places} is not a power of two")));
        }
        if !places.is_multiple_of(1 << layout.subtable_bits) {
            return Err(self.corrupt(field::PLACES, format!("{places} places do not make whole subtables")));
        }
        if !places.is_multiple_of(1 << layout.doublings) {
            return Err(self.corrupt(
                field::PLACES,
                format!("{places} cannot come from {} doublings", layout.doublings),
            ));
        }
        layout
            .set_places(places)
            .ok_or_else(|| self.corrupt(field::PLACES, "there are too many to count"))?;
        if layout.hash_bits() > u64::BITS {
            return Err(self.corrupt(field::PLACES, "places and fingerprints need more bits than a hash has"));
        }
        if kind.is_signed() {
            layout.ring = self.ring(places, least)?;
        }
        layout.stash = self.small(field::STASH_ROOM, 0..=Spec::MOST_STASH)?;
        layout.max_steps = self.small(field::MOST_STEPS, 1..=Spec::MOST_STEPS)?;
        Ok(layout)
    }

    /// Sets the fingerprints of kinds with signed offsets.
    fn fingerprints(&self, layout: &mut CuckooLayout) -> Result<(), Error> {
        let most = layout.tag.fingerprints();
        layout.doublings = self.small(field::DOUBLINGS, 0..=56)?;
        if layout.doublings == 0 {
            // Links of a growing filter may use fewer than fit in their tags.
            layout.fingerprints = self.within(field::FINGERPRINTS, 1..=most)?;
            return Ok(());
        }
        layout.earlier_fingerprints =
            self.within(field::EARLIER_FINGERPRINTS, 1 << layout.doublings..=u64::MAX)?;
        layout.fingerprints = layout.earlier_fingerprints >> layout.doublings;
        if layout.fingerprints > most {
            let what = format!("{} are left, and tags have room for {most}", layout.fingerprints);
            return Err(self.corrupt(field::EARLIER_FINGERPRINTS, what));
        }
        Ok(())
    }

    fn ring(&self, places: u64, least: u64) -> Result<Ring, Error> {
        let most = self.within(field::MOST_OFFSET, least..=places - least)?;
        let near_share = self.small(field::NEAR_SHARE, 0..=u32::from(Offsets::MOST_NEAR))?;
        let group = self.within(field::NEAR_GROUP, if near_share == 0 { 1 } else { 2 * least }..=places)?;
        if !group.is_power_of_two() || !places.is_multiple_of(group) {
            let what = format!("{group} is not a power of two that divides the places");
            return Err(self.corrupt(field::NEAR_GROUP, what));
        }
        let near_share = u8::try_from(near_share).expect("at most 192");
        Ok(Ring { least, most, near_share, group })
    }

    fn elastic(&self) -> Result<ElasticLayout, Error> {
        let mut bits = [0; LEVELS];
        for (eight, number) in bits.as_chunks_mut().0.iter_mut().zip(&self.numbers[field::LENGTHS.index()..])
        {
            *eight = number.to_le_bytes();
        }
        let layout = ElasticLayout {
            first_keys: self.within(field::KEYS, 1..=MOST_COPIES)?,
            last_level: self.small(field::LAST_LEVEL, 0..=LEVEL_END)?,
            value_bits: self.small(field::VALUE_BITS, 0..=Spec::MOST_VALUE_BITS)?,
            bits,
        };
        if !layout.is_possible() {
            return Err(self.corrupt(field::LENGTHS, "no filter grows with these lengths"));
        }
        Ok(layout)
    }

    fn bloom(&self) -> Result<BloomLayout, Error> {
        let layout = BloomLayout {
            bits: self.within(field::BITS, 1..=u64::MAX)?,
            key_bits: self.small(field::KEY_BITS, 1..=BloomLayout::MOST_KEY_BITS)?,
        };
        Ok(layout)
    }

    fn blocked(&self, choices: u8) -> Result<BlockedLayout, Error> {
        let parameter = f64::from_bits(self.get(field::COST_PARAMETER));
        let layout = BlockedLayout {
            blocks: self.within(field::BITS, 1..=u64::MAX)?,
            choices,
            key_bits: self.small(field::KEY_BITS, 1..=u32::MAX)?,
            pattern: match self.get(field::PATTERN) {
                0 => return Err(self.corrupt(field::PATTERN, "there is no pattern 0")),
                1 => Pattern::Random,
                2 => Pattern::Distinct,
                3 => Pattern::Spread,
                _ => return Err(self.newer(field::PATTERN, "is unknown")),
            },
            cost: match self.get(field::COST) {
                0 => return Err(self.corrupt(field::COST, "there is no cost 0")),
                1 => Cost::Mixed { sigma: parameter },
                2 => Cost::LookAhead { mu: parameter },
                3 => Cost::Exponential { beta: parameter },
                _ => return Err(self.newer(field::COST, "is unknown")),
            },
        };
        let cost = layout.cost.check(Kind::Blocked(choices));
        cost.map_err(|error| self.corrupt(field::COST_PARAMETER, error.to_string()))?;
        layout.check().map_err(|error| self.corrupt(field::KEY_BITS, error.to_string()))?;
        Ok(layout)
    }

    /// The numbers of copies and of stash entries, checked as far as possible without the table.
    fn counts(&self, layout: &Layout) -> Result<(u64, u64), Error> {
        if let Layout::Elastic(_) = layout {
            let entries = self.within(field::STASHED, 0..=MOST_COPIES)?;
            return Ok((self.within(field::COPIES, 0..=MOST_COPIES)?, entries));
        }
        let Layout::Cuckoo(layout) = layout else {
            return Ok((self.within(field::COPIES, 0..=MOST_COPIES)?, self.within(field::STASHED, 0..=0)?));
        };
        let stashed = self.within(field::STASHED, 0..=layout.stash_room())?;
        let copies = self.within(field::COPIES, stashed..=layout.slots.saturating_add(stashed))?;
        Ok((copies, stashed))
    }

    /// Refuses numbers that differ from the header they describe.
    fn must_be(&self, expected: &[u64; HEADER_NUMBERS]) -> Result<(), Error> {
        let differs = |index: &usize| self.numbers[*index] != expected[*index];
        let Some(index) = (0..HEADER_NUMBERS).find(differs) else { return Ok(()) };
        if index == 1 && self.numbers[1] >> 32 == expected[1] >> 32 {
            let what =
                format!("{} where the other numbers need {}", self.version(), expected[1] & 0xFFFF_FFFF);
            return Err(Error::corrupt("version", self.base + 8, what));
        }
        let field = field::ALL.iter().find(|field| field.index() == index);
        let Some(field) = field else {
            let field = Field { name: "reserved number", offset: 8 * index as u64 };
            return Err(self.newer(field, "where this version has 0"));
        };
        let (got, expected) = (self.numbers[index], expected[index]);
        Err(self.corrupt(*field, format!("{got} where the other numbers give {expected}")))
    }
}

/// The number of a kind, and its slots per place or choices.
fn number_of(kind: Kind) -> (u64, u8) {
    match kind {
        Kind::Classic(l) => (1, l),
        Kind::SemiSorted => (2, 4),
        Kind::Simplified(l) => (3, l),
        Kind::Flexible(l) => (4, l),
        Kind::Windowed(l) => (5, l),
        Kind::Sorted => (6, 4),
        Kind::Bloom => (7, 0),
        Kind::Blocked(choices) => (8, choices),
        Kind::Elastic => (9, 0),
    }
}

/// The number of a key format, the length of its words, and the words in a window.
fn format_number(format: KeyFormat) -> (u64, u32, u32) {
    match format {
        KeyFormat::Any => (0, 0, 0),
        KeyFormat::Bytes => (1, 0, 0),
        KeyFormat::U64 => (2, 0, 0),
        KeyFormat::Kmers { k } => (3, k, 0),
        KeyFormat::Minimizers { k, w } => (4, k, w),
    }
}

fn pattern_number(pattern: Pattern) -> u64 {
    match pattern {
        Pattern::Random => 1,
        Pattern::Distinct => 2,
        Pattern::Spread => 3,
    }
}

fn cost_number(cost: Cost) -> (u64, f64) {
    match cost {
        Cost::Mixed { sigma } => (1, sigma),
        Cost::LookAhead { mu } => (2, mu),
        Cost::Exponential { beta } => (3, beta),
    }
}
