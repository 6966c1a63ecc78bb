//! Where everything is in a file. `docs/FORMAT.md` alone explains what it means.

use crate::key::KeyFormat;
use crate::plan::Geometry;

/// The first eight bytes of every file. The first of them is not text in any common encoding.
pub(super) const MAGIC: [u8; 8] = *b"\x89malkoha";

/// The newest version of the format, and the newest that this crate reads. Version 2 added the key format, version 3
/// elastic filters, and version 4 minimizers and labels.
pub(super) const NEWEST_VERSION: u32 = 4;

/// The lowest version that can record a filter of this geometry, with labels or without. It is the version written, so
/// that older programs can read all files that need nothing new.
pub(super) fn version_of(geometry: &Geometry, labelled: bool) -> u32 {
    match geometry.key_format() {
        KeyFormat::Minimizers { .. } => 4,
        _ if labelled => 4,
        _ if geometry.elastic().is_some() => 3,
        KeyFormat::Any => 1,
        _ => 2,
    }
}

/// Bytes that describe what follows: magic, version, form, and two numbers, which are counts in an outline.
pub(super) const PREFIX_BYTES: usize = 32;

/// Sections are whole lines of this many bytes, so that tables begin at cache lines.
pub(super) const LINE_BYTES: u64 = 64;

/// Bytes of a checksum, the last ones of every section.
pub(super) const CHECKSUM_BYTES: u64 = 8;

/// The number of numbers in a record's header, including the prefix but not the checksum.
pub(crate) const HEADER_NUMBERS: usize = 63;

/// Bytes of one entry of the stash: place, fingerprint and value.
pub(super) const STASH_ENTRY_BYTES: u64 = 24;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One filter.
    Single = 0,
    /// A filter that grows, link by link.
    Chain = 1,
    /// A sliding window, generation by generation.
    Generations = 2,
    /// A filter for many threads, shard by shard.
    Sharded = 3,
    /// A filter that grows, region by region.
    Elastic = 4,
}

impl Form {
    const ALL: [Self; 5] = [Self::Single, Self::Chain, Self::Generations, Self::Sharded, Self::Elastic];

    /// The form with a number, if there is one.
    pub(super) fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|form| *form as u32 == number)
    }

    /// The name of such a file in error messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Single => "one filter",
            Self::Chain => "a chain of filters",
            Self::Generations => "the generations of a sliding window",
            Self::Sharded => "a sharded filter",
            Self::Elastic => "a growing filter",
        }
    }
}

/// A number of a header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Its offset from the start of the record.
    pub(super) offset: u64,
}

impl Field {
    /// Its index among the numbers of a header.
    #[allow(clippy::cast_possible_truncation, reason = "inside a header")]
    pub(super) const fn index(self) -> usize {
        (self.offset / 8) as usize
    }
}

/// The numbers of a record's header.
pub(super) mod field {
    use super::Field;

    macro_rules! fields {
        ($($id:ident = $name:literal at $offset:literal;)*) => {
            $(pub(in crate::store) const $id: Field = Field { name: $name, offset: $offset };)*
            /// All numbers of a record's header that have a name.
            pub(in crate::store) const ALL: &[Field] = &[$($id),*];
        };
    }

    fields! {
        HASH = "hash" at 16;
        SEED = "seed" at 24;
        KIND = "kind" at 32;
        VARIANT = "slots per place or choices" at 40;
        KEYS = "planned keys" at 48;
        RATE = "planned rate" at 56;
        COPIES = "copies" at 64;
        STASHED = "stash entries" at 72;
        TABLE_BYTES = "table bytes" at 80;
        KEY_FORMAT = "key format" at 88;
        WORD_LENGTH = "word length" at 96;
        WINDOW = "window" at 104;
        LABEL_BYTES = "label bytes" at 112;

        PLACES = "places" at 128;
        SLOTS = "slots" at 136;
        TAG_BITS = "tag bits" at 144;
        FINGERPRINTS = "fingerprints" at 152;
        SUBTABLE_BITS = "subtable bits" at 160;
        LEAST_OFFSET = "least offset" at 168;
        MOST_OFFSET = "most offset" at 176;
        NEAR_SHARE = "near share" at 184;
        NEAR_GROUP = "near group" at 192;
        STASH_ROOM = "stash room" at 200;
        MOST_STEPS = "most steps" at 208;
        VALUE_BITS = "value bits" at 216;
        DOUBLINGS = "doublings" at 224;
        EARLIER_FINGERPRINTS = "fingerprints before doubling" at 232;

        BITS = "bits or blocks" at 256;
        KEY_BITS = "key bits" at 264;
        PATTERN = "pattern" at 272;
        COST = "cost" at 280;
        COST_PARAMETER = "cost parameter" at 288;

        LAST_LEVEL = "last level" at 320;
        REGIONS = "regions" at 328;
        LENGTHS = "fingerprint lengths" at 336;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_ascend_inside_the_header() {
        assert!(field::ALL.windows(2).all(|pair| pair[0].offset + 8 <= pair[1].offset));
        assert!(field::ALL.iter().all(|field| field.index() < HEADER_NUMBERS && field.offset % 8 == 0));
    }

    #[test]
    fn forms_have_their_numbers() {
        for form in Form::ALL {
            assert_eq!(Form::from_number(form as u32), Some(form));
        }
        assert_eq!(Form::from_number(5), None);
    }
}
