//! Errors. Each message says what is wrong and what to do about it.

use core::fmt;
use core::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::kind::{Kind, KindError};

/// A key found no room. An insert that returns this has changed nothing; an operation on many keys says in its own
/// documentation what it leaves behind.
///
/// A filter that holds all the keys it was planned for returns this in normal operation, so it has a small
/// type of its own. What to do: remove keys, build a larger filter, or plan with a lower
/// [`load`](crate::Spec::load).
///
/// ```
/// let mut filter = malkoha::Spec::new(10, 0.01).build()?;
/// let refused = (0..1000u64).find(|key| filter.insert(key).is_err());
/// assert!(refused.is_some(), "a filter for 10 keys does not take 1000");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the filter is full; remove keys or build a larger filter")
    }
}

impl core::error::Error for Full {}

/// Some keys of a slice were not stored because there was no room; all others were.
///
/// A [`Filter`](crate::Filter) stops at the first key without room, so all keys from there on are refused. A
/// [`Sharded`](crate::Sharded) filter continues with the keys of other shards.
///
/// ```
/// let mut filter = malkoha::Spec::new(10, 0.01).build()?;
/// let keys: Vec<u64> = (0..1000).collect();
/// let refused = filter.insert_slice(&keys).unwrap_err();
/// assert!(keys[..refused.first()].iter().all(|key| filter.contains(key)));
/// assert_eq!(filter.len() + refused.len() as u64, 1000);
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(Indices);

/// Indices into a slice, ascending; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Indices {
    All(Range<usize>),
    Some(Vec<usize>),
}

impl Refused {
    /// The keys in this range of a slice, which must not be empty.
    pub(crate) fn all(indices: Range<usize>) -> Self {
        debug_assert!(!indices.is_empty());
        Self(Indices::All(indices))
    }

    /// The keys at these indices, at least one, in any order.
    pub(crate) fn some(mut indices: Vec<usize>) -> Self {
        debug_assert!(!indices.is_empty());
        indices.sort_unstable();
        Self(Indices::Some(indices))
    }

    /// The index of the first refused key.
    #[must_use]
    pub fn first(&self) -> usize {
        match &self.0 {
            Indices::All(range) => range.start,
            Indices::Some(indices) => indices[0],
        }
    }

    /// The number of refused keys; at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        match &self.0 {
            Indices::All(range) => range.len(),
            Indices::Some(indices) => indices.len(),
        }
    }

    /// The indices of the refused keys, ascending.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        let (range, indices) = match &self.0 {
            Indices::All(range) => (range.clone(), &[][..]),
            Indices::Some(indices) => (0..0, &indices[..]),
        };
        range.chain(indices.iter().copied())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the filter is full: {} keys of the slice were not stored, the first at index {}; all others were; \
             remove keys or build a larger filter",
            self.len(),
            self.first()
        )
    }
}

impl core::error::Error for Refused {}

/// Keys were stored in order, `done` of them until one found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FullAt {
    pub(crate) done: usize,
}

/// Why a filter could not be planned, built or used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A filter for 0 keys was requested.
    NoKeys,
    /// The rate of false positives is not a number between 0 and 1.
    Rate {
        /// The number requested.
        got: f64,
    },
    /// The load is outside what this kind can reach.
    Load {
        /// The number requested.
        got: f64,
        /// The largest load that inserts reach reliably for this kind.
        most: f64,
    },
    /// The kind of filter does not exist.
    Kind(KindError),
    /// A window cannot have this number of generations.
    Generations {
        /// The number requested.
        got: u32,
        /// The largest number allowed; the smallest is 2.
        most: u32,
    },
    /// A window of 0 ticks was requested.
    NoTicks,
    /// A sharded filter cannot have this number of shards.
    Shards {
        /// The number requested.
        got: u32,
        /// The largest number allowed; the smallest is 1.
        most: u32,
    },
    /// An option makes no sense for this kind of filter.
    Option {
        /// The kind of the filter.
        kind: Kind,
        /// Why the option is refused.
        what: &'static str,
    },
    /// The memory is too small for even the weakest filter of this spec.
    Memory {
        /// Bytes offered.
        bytes: u64,
        /// Bytes that would be enough.
        least: u64,
    },
    /// Places and fingerprints together need more than the 64 bits of a hash.
    HashBits {
        /// Bits needed.
        needed: u32,
    },
    /// The filter would need more slots than can be counted.
    TooLarge {
        /// Keys requested.
        keys: u64,
    },
    /// A filter was to be built from more keys than it has room for.
    TooManyKeys {
        /// Keys given.
        keys: u64,
    },
    /// A key found no room, and nothing has changed: [`Full`], converted by `?`.
    Full,
    /// Some keys of a slice found no room: [`Refused`], converted by `?`.
    Refused(Refused),
    /// DNA words cannot have this length: [`KeyFormat::Kmers`](crate::KeyFormat::Kmers).
    WordLength {
        /// Letters requested.
        got: u32,
        /// The largest number allowed; the smallest is 1.
        most: u32,
    },
    /// Minimizers cannot be chosen from windows of so many words:
    /// [`KeyFormat::Minimizers`](crate::KeyFormat::Minimizers).
    Window {
        /// Words requested.
        got: u32,
        /// The largest number allowed; the smallest is 1.
        most: u32,
    },
    /// Bits of values cannot have these names.
    Labels {
        /// Why not.
        what: &'static str,
    },
    /// Values cannot have this width.
    ValueBits {
        /// Bits requested.
        got: u32,
    },
    /// A tag for this rate and a value of this width do not fit into one slot.
    SlotBits {
        /// Bits of the value.
        value_bits: u32,
    },
    /// A value is too wide for the filter.
    Value {
        /// The value.
        got: u16,
        /// Bits that this filter has for a value.
        bits: u32,
    },
    /// The filter has no values.
    NoValues,
    /// The operating system could not provide the memory.
    Allocation {
        /// Bytes requested.
        bytes: u64,
    },
    /// This kind of filter does not offer the operation.
    Unsupported {
        /// The kind of the filter.
        kind: Kind,
        /// What it cannot do.
        operation: &'static str,
    },
    /// A growing filter does not offer the operation.
    Growing {
        /// What it cannot do.
        operation: &'static str,
    },
    /// Two filters cannot be merged because their geometries differ.
    Geometries {
        /// What differs, and how.
        what: String,
    },
    /// Two filters cannot be merged because the target has no room for both. It has not changed.
    MergeFull {
        /// Copies in both filters together.
        copies: u64,
        /// Copies that the target holds reliably.
        room: u64,
        /// The surplus: copies beyond what the target holds reliably or, if there are none, those that found
        /// no place.
        left_over: u64,
    },
    /// The bytes are damaged, or are not a filter.
    Corrupt {
        /// The section or the number that is wrong.
        part: &'static str,
        /// Its offset in bytes from the start.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The bytes were written by a later version of this crate.
    Newer {
        /// The number that is unknown.
        part: &'static str,
        /// Its offset in bytes from the start.
        offset: u64,
        /// What it is.
        what: String,
    },
    /// The bytes hold something other than expected.
    Form {
        /// What was expected.
        expected: &'static str,
        /// What is there.
        got: &'static str,
    },
    /// An operation on a file failed.
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// The file; empty if there is none.
        path: PathBuf,
        /// What the system says.
        source: SystemError,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeys => f.write_str("a filter for 0 keys is not possible; ask for at least 1"),
            Self::Rate { got } => {
                write!(f, "a false-positive rate of {got} is not possible; ask for one above 0 and below 1")
            }
            Self::Load { got, most } => {
                write!(f, "a load of {got} is not possible here; ask for one above 0 and at most {most:.4}")
            }
            Self::Kind(error) => fmt::Display::fmt(error, f),
            Self::Generations { got, most } => {
                write!(f, "a window of {got} generations is not possible; ask for 2 to {most}")
            }
            Self::NoTicks => f.write_str("a window of 0 ticks is not possible; ask for at least 1"),
            Self::Shards { got, most } => write!(f, "{got} shards are not possible; ask for 1 to {most}"),
            Self::Option { kind, what } => write!(f, "{kind}: {what}"),
            Self::Memory { bytes, least } => {
                let bytes = if *bytes == 1 { "1 byte is".to_owned() } else { format!("{bytes} bytes are") };
                write!(f, "{bytes} not enough; give at least {least}, or ask for fewer keys or a higher rate")
            }
            Self::HashBits { needed } => write!(
                f,
                "places and fingerprints need {needed} bits but a hash has 64; ask for fewer keys or a \
                 higher rate"
            ),
            Self::TooLarge { keys } => {
                write!(f, "a filter for {keys} keys has more slots than can be counted; ask for fewer keys")
            }
            Self::TooManyKeys { keys } => {
                write!(f, "the filter has no room for all of the {keys} keys given; plan it for that many")
            }
            Self::Full => fmt::Display::fmt(&Full, f),
            Self::Refused(refused) => fmt::Display::fmt(refused, f),
            Self::WordLength { got, most } => {
                write!(f, "DNA words of {got} letters are not possible; ask for 1 to {most}")
            }
            Self::Window { got, most } => {
                write!(f, "windows of {got} words are not possible; ask for 1 to {most}")
            }
            Self::Labels { what } => write!(f, "these labels are not possible: {what}"),
            Self::ValueBits { got } => {
                write!(f, "values of {got} bits are not possible; ask for 1 to 16 bits, or for no values")
            }
            Self::SlotBits { value_bits } => write!(
                f,
                "a tag for this rate and a value of {value_bits} bits do not fit into the 64 bits of a slot; ask \
                 for a higher rate or narrower values"
            ),
            Self::Value { got, bits } => write!(
                f,
                "the value {got} does not fit into the {bits} bits that this filter has for values; plan more bits, \
                 or store a smaller value"
            ),
            Self::NoValues => {
                f.write_str("this filter has no values; plan one of a cuckoo kind with Spec::values")
            }
            Self::Allocation { bytes } => write!(
                f,
                "the system could not provide {bytes} bytes of memory; ask for fewer keys or a higher rate"
            ),
            Self::Unsupported { kind, operation } => {
                let other = if kind.is_bloom() { "cuckoo kind, such as sorted" } else { "Bloom kind" };
                let article = if kind.name().starts_with('e') { "an" } else { "a" };
                write!(f, "{article} {kind} filter cannot {operation}; build one of a {other}")
            }
            Self::Growing { operation } => {
                write!(f, "a growing filter cannot {operation}; build a non-growing filter from all keys")
            }
            Self::Geometries { what } => write!(
                f,
                "the filters differ in {what}; only filters of equal layout, seed, key format and labels can be \
                 merged: plan once, and build all of them from that geometry and with the same labels"
            ),
            Self::MergeFull { copies, room, left_over } => write_merge_full(f, *copies, *room, *left_over),
            Self::Corrupt { part, offset, what } => write!(
                f,
                "damaged, or not a filter: {part} at byte {offset}: {what}; take another copy or build the \
                 filter again"
            ),
            Self::Newer { part, offset, what } => {
                write!(
                    f,
                    "written by a newer malkoha: {part} at byte {offset}: {what}; read it with that version"
                )
            }
            Self::Form { expected, got } => {
                write!(f, "this is {got} and not {expected}; open it as what it is")
            }
            Self::Io { operation, path, source } if path.as_os_str().is_empty() => {
                write!(f, "could not {operation} it: {}", **source)
            }
            Self::Io { operation, path, source } => {
                write!(f, "could not {operation} {}: {}", path.display(), **source)
            }
        }
    }
}

/// Writes why a merge found no room: there are too many copies in all, or of one key.
fn write_merge_full(f: &mut fmt::Formatter<'_>, copies: u64, room: u64, left_over: u64) -> fmt::Result {
    write!(f, "together the filters hold {copies} copies, ")?;
    if copies <= room {
        return write!(
            f,
            "of which {left_over} found no place, and nothing has changed: a key may have too many copies; \
             merge into a chain, or store each key once"
        );
    }
    write!(
        f,
        "but this one reliably takes {room}: {left_over} are too many, and nothing has changed; merge into a \
         larger filter or a chain"
    )
}

impl core::error::Error for Error {
    /// What the system's error was caused by, for [`Io`](Error::Io), whose text contains the system's error itself.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => source.source(),
            _ => None,
        }
    }
}

impl From<Full> for Error {
    fn from(Full: Full) -> Self {
        Self::Full
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<KindError> for Error {
    fn from(error: KindError) -> Self {
        Self::Kind(error)
    }
}

/// An error of the operating system that can be cloned and compared. Two are equal if their kinds and
/// messages are.
#[derive(Clone, Debug)]
pub struct SystemError(Arc<std::io::Error>);

impl Deref for SystemError {
    type Target = std::io::Error;

    fn deref(&self) -> &std::io::Error {
        &self.0
    }
}

impl PartialEq for SystemError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

impl Error {
    pub(crate) fn corrupt(part: &'static str, offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { part, offset, what: what.into() }
    }

    pub(crate) fn io(operation: &'static str, path: &Path, error: std::io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source: SystemError(Arc::new(error)) }
    }
}
