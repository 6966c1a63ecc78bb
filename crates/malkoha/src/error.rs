//! What can go wrong, said so that the reader knows what to do next.

use core::fmt;
use std::path::{Path, PathBuf};

use crate::kind::Kind;

/// An insert found no room. The filter is exactly as it was before the call.
///
/// This is a normal answer of a filter that holds as many keys as it was planned for, which is why it is its
/// own small type. What to do: remove keys, build a larger filter, or plan with a lower
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
        f.write_str("the filter is full and has not changed; remove keys or build a larger filter")
    }
}

impl core::error::Error for Full {}

/// A slice insert stopped at a key for which there was no room.
///
/// ```
/// let mut filter = malkoha::Spec::new(10, 0.01).build()?;
/// let keys: Vec<u64> = (0..1000).collect();
/// let stop = filter.insert_slice(&keys).unwrap_err();
/// assert!(keys[..stop.done].iter().all(|key| filter.contains(key)));
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullAt {
    /// Keys of the slice that were dealt with; the key at this index was refused, later ones were not tried.
    pub done: usize,
}

impl fmt::Display for FullAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the filter is full: the first {} keys of the slice are in, the rest was not tried",
            self.done
        )
    }
}

impl core::error::Error for FullAt {}

/// Some keys of a slice found no room in their shards; all others are in.
///
/// ```
/// let filter = malkoha::Spec::new(10, 0.01).sharded(2).build()?;
/// let keys: Vec<u64> = (0..1000).collect();
/// let refused = filter.insert_slice(&keys).unwrap_err();
/// for (at, key) in keys.iter().enumerate().filter(|(at, _)| !refused.indices.contains(at)) {
///     assert!(filter.contains(key), "{at}");
/// }
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where in the slice the refused keys are, ascending.
    pub indices: Vec<usize>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} keys of the slice found no room, all others are in; remove keys or build a larger filter",
            self.indices.len()
        )
    }
}

impl core::error::Error for Refused {}

/// Why a filter could not be planned, built or asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A filter for no keys at all was asked for.
    NoKeys,
    /// The rate of false positives is not a number between 0 and 1.
    Rate {
        /// What was asked for.
        got: f64,
    },
    /// The load is outside what this kind can reach.
    Load {
        /// What was asked for.
        got: f64,
        /// The largest load that inserts reach reliably for this kind.
        most: f64,
    },
    /// The kind does not exist with this number of slots per place.
    SlotsPerPlace {
        /// What was asked for.
        kind: Kind,
        /// The smallest number allowed.
        least: u8,
        /// The largest number allowed.
        most: u8,
    },
    /// The kind does not exist with this number of candidate blocks.
    Choices {
        /// What was asked for.
        kind: Kind,
        /// The largest number allowed; the smallest is 1.
        most: u8,
    },
    /// A window does not exist with this number of generations.
    Generations {
        /// What was asked for.
        got: u32,
        /// The largest number allowed; the smallest is 2.
        most: u32,
    },
    /// A window of no time at all was asked for.
    NoTicks,
    /// A sharded filter does not exist with this number of shards.
    Shards {
        /// What was asked for.
        got: u32,
        /// The largest number allowed; the smallest is 1.
        most: u32,
    },
    /// An option makes no sense for this kind of filter.
    Option {
        /// The kind it was asked of.
        kind: Kind,
        /// The option, and what it would need.
        what: &'static str,
    },
    /// The memory is too small for even the weakest filter that was asked for.
    Memory {
        /// Bytes offered.
        bytes: u64,
        /// Bytes that would do.
        least: u64,
    },
    /// Places and fingerprints together need more bits than the 64 of a hash.
    HashBits {
        /// Bits needed.
        needed: u32,
    },
    /// The filter would need more slots than can be counted.
    TooLarge {
        /// Keys asked for.
        keys: u64,
    },
    /// A filter was to be built from more keys than it has room for.
    TooManyKeys {
        /// Keys given.
        keys: u64,
    },
    /// A key was to be stored with a value, and found no room. The filter has not changed since the keys
    /// before it.
    Full {
        /// Keys of the same call that were stored before it.
        done: usize,
    },
    /// Values of this width do not exist.
    ValueBits {
        /// Bits asked for.
        got: u32,
    },
    /// A tag for the rate and a value of this width do not fit one slot.
    SlotBits {
        /// Bits of the value.
        value_bits: u32,
    },
    /// A value is too wide for the filter.
    Value {
        /// The value.
        got: u16,
        /// Bits that the filter has for values.
        bits: u32,
    },
    /// The filter has no values.
    NoValues,
    /// The operating system did not give the memory.
    Allocation {
        /// Bytes asked for.
        bytes: u64,
    },
    /// This kind of filter does not offer the operation.
    Unsupported {
        /// The kind of the filter.
        kind: Kind,
        /// What was asked of it.
        operation: &'static str,
    },
    /// A growing filter does not offer the operation.
    Growing {
        /// What was asked of it.
        operation: &'static str,
    },
    /// Two filters cannot be merged because their geometries differ.
    Geometries {
        /// What differs, and how.
        what: String,
    },
    /// Two filters cannot be merged because one of them has no room for both. It has not changed.
    MergeFull {
        /// Copies that the two hold together.
        copies: u64,
        /// Copies that the filter takes reliably.
        room: u64,
        /// Copies that are too many: those beyond what it takes reliably or, if it takes so many, those that
        /// found no place.
        left_over: u64,
    },
    /// Bytes that should be a filter are not, or are damaged.
    Corrupt {
        /// The section or the number that is wrong.
        part: &'static str,
        /// Where it is, in bytes from the begin.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Bytes that a later version of this crate has written.
    Newer {
        /// The number that is not known.
        part: &'static str,
        /// Where it is, in bytes from the begin.
        offset: u64,
        /// What it is.
        what: String,
    },
    /// Bytes that hold something else than was asked for.
    Form {
        /// What was asked for.
        expected: &'static str,
        /// What is there.
        got: &'static str,
    },
    /// The operating system could not do something with a file.
    Io {
        /// What it could not do.
        operation: &'static str,
        /// The file; empty if there is none.
        path: PathBuf,
        /// What kind of failure it was.
        kind: std::io::ErrorKind,
        /// What the system says.
        message: String,
    },
    /// A label cannot be written into a page of metrics.
    Label {
        /// The label.
        name: String,
        /// What is wrong with it, and what to do.
        what: &'static str,
    },
    /// A kind was written in a way that is not understood.
    UnknownKind {
        /// What was written.
        got: String,
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
            Self::SlotsPerPlace { kind, least, most } => {
                write!(f, "{kind} does not exist; give it {least} to {most} slots per place")
            }
            Self::Choices { kind, most } => write!(f, "{kind} does not exist; give it 1 to {most} choices"),
            Self::Generations { got, most } => {
                write!(f, "a window of {got} generations is not possible; ask for 2 to {most}")
            }
            Self::NoTicks => f.write_str("a window of 0 ticks is not possible; ask for at least 1"),
            Self::Shards { got, most } => write!(f, "{got} shards are not possible; ask for 1 to {most}"),
            Self::Option { kind, what } => write!(f, "{kind}: {what}"),
            Self::Memory { bytes, least } => {
                write!(
                    f,
                    "{bytes} bytes are too few; give at least {least}, or ask for fewer keys or a higher rate"
                )
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
                write!(f, "the filter has no room for all of the {keys} keys given; plan it for as many")
            }
            Self::Full { done: 0 } => fmt::Display::fmt(&Full, f),
            Self::Full { done } => fmt::Display::fmt(&FullAt { done: *done }, f),
            Self::ValueBits { got } => {
                write!(f, "values of {got} bits are not possible; ask for 1 to 16 bits, or for no values")
            }
            Self::SlotBits { value_bits } => write!(
                f,
                "a tag for this rate and a value of {value_bits} bits do not fit the 64 bits of a slot; ask \
                 for a higher rate or narrower values"
            ),
            Self::Value { got, bits } => write!(
                f,
                "the value {got} does not fit the {bits} bits that this filter has for values; plan it with more, \
                 or store a smaller value"
            ),
            Self::NoValues => {
                f.write_str("this filter has no values; plan it with Spec::values, of a cuckoo kind")
            }
            Self::Allocation { bytes } => write!(
                f,
                "the system did not give {bytes} bytes of memory; ask for fewer keys or a higher rate"
            ),
            Self::Unsupported { kind, operation } => {
                let other = if kind.is_bloom() { "cuckoo kind, such as sorted" } else { "Bloom kind" };
                write!(f, "a {kind} filter cannot {operation}; build one of a {other}")
            }
            Self::Growing { operation } => {
                write!(f, "a growing filter cannot {operation}; build one that does not grow from all keys")
            }
            Self::Geometries { what } => write!(
                f,
                "the filters differ in {what}; only filters of equal layout and seed can be merged: plan once and \
                 build all of them from that geometry"
            ),
            Self::MergeFull { copies, room, left_over } => write!(
                f,
                "the filters hold {copies} copies together, and this one takes {room} reliably: {left_over} are \
                 too many, and nothing has changed; merge into a larger filter or a chain"
            ),
            Self::Corrupt { part, offset, what } => write!(
                f,
                "damaged, or no filter: {part} at byte {offset}: {what}; take another copy or build the \
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
            Self::Io { operation, path, message, .. } => {
                write!(f, "could not {operation} {}: {message}", path.display())
            }
            Self::Label { name, what } => write!(f, "the label {name:?} {what}"),
            Self::UnknownKind { got } => write!(
                f,
                "unknown kind of filter {got:?}; write classic, semisorted, simplified, flexible, windowed, \
                 sorted, bloom or blocked, with slots per place or choices behind a colon where they vary, as \
                 in windowed:2 or blocked:3"
            ),
        }
    }
}

impl core::error::Error for Error {}

impl Error {
    pub(crate) fn corrupt(part: &'static str, offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { part, offset, what: what.into() }
    }

    pub(crate) fn io(operation: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), kind: error.kind(), message: error.to_string() }
    }
}
