//! The kinds of filter, by name, and the patterns that some of them have.

use core::fmt;
use core::str::FromStr;

/// The maximum number of candidate blocks per key.
pub(crate) const MOST_CHOICES: u8 = 4;

/// The kind of a filter. The number in brackets is l, the slots per place; for `Blocked` it is c, the
/// choices.
///
/// | kind | other place | places | size | source |
/// | --- | --- | --- | --- | --- |
/// | `Classic(l)` | XOR with a hash of the fingerprint | buckets | powers of two | Fan et al. 2014 |
/// | `SemiSorted` | the same | sorted buckets of 4 | powers of two | Fan et al. 2014 |
/// | `Simplified(l)` | XOR with the fingerprint's own bits | buckets | whole subtables | Eppstein 2016 |
/// | `Flexible(l)` | signed offset | buckets | any | Schmitz, Zentgraf, Rahmann 2025 |
/// | `Windowed(l)` | signed offset | overlapping windows | any | Schmitz, Zentgraf, Rahmann 2025 |
/// | `Sorted` | signed offset | sorted buckets of 4 | any | the two ideas combined |
/// | `Elastic` | signed offset | buckets of 4 to 7, in regions | grows | ours |
/// | `Bloom` | bits anywhere | none | any | Bloom 1970 |
/// | `Blocked(c)` | bits in one of c blocks of 512 | none | any | Putze et al. 2007; Schmitz, Zentgraf, Rahmann 2025 |
///
/// A kind can be written and parsed as text, with the number after a colon:
///
/// ```
/// use malkoha::Kind;
/// assert_eq!("windowed:2".parse(), Ok(Kind::Windowed(2)));
/// assert_eq!("flexible".parse(), Ok(Kind::Flexible(4)));
/// assert_eq!(Kind::Sorted.to_string(), "sorted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The filter of Fan et al.: buckets of l slots, a power of two of them.
    Classic(u8),
    /// The filter of Fan et al. with sorted buckets of 4, which saves one bit per slot.
    SemiSorted,
    /// Eppstein's filter: the fingerprint itself is the distance, in subtables that each have a stash.
    Simplified(u8),
    /// Buckets of l slots, any number of them.
    Flexible(u8),
    /// Overlapping windows of l slots (2, 3 or 4), any number of them.
    Windowed(u8),
    /// Sorted buckets of 4, any number of them: the smallest of all.
    Sorted,
    /// Buckets of 4 to 7 slots in regions that grow one by one: never full, and needs no number of keys. The kind of
    /// all growing filters that can remove.
    Elastic,
    /// The plain Bloom filter: never full, no removal.
    Bloom,
    /// The blocked Bloom filter with c candidate blocks (1 to 4) for a key: never full, no removal.
    Blocked(u8),
}

impl Kind {
    /// All kinds with their most common slots and choices: those that tables show and that
    /// [`Spec::recommend`](crate::Spec::recommend) chooses from.
    pub const USUAL: &'static [Self] = &[
        Self::Classic(4),
        Self::SemiSorted,
        Self::Simplified(4),
        Self::Flexible(4),
        Self::Windowed(2),
        Self::Windowed(3),
        Self::Windowed(4),
        Self::Sorted,
        Self::Bloom,
        Self::Blocked(1),
        Self::Blocked(2),
        Self::Blocked(3),
    ];

    /// Every kind of a fixed size with every l and c, for tests and tables that cover all of them.
    ///
    /// ```
    /// assert_eq!(malkoha::Kind::all().count(), 34);
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        Self::cuckoos().chain(Self::blooms())
    }

    /// Every cuckoo kind of a fixed size with every l: those that can remove and count.
    pub fn cuckoos() -> impl Iterator<Item = Self> {
        let buckets = |make: fn(u8) -> Self| (1..=8).map(make);
        buckets(Self::Classic)
            .chain([Self::SemiSorted])
            .chain(buckets(Self::Simplified))
            .chain(buckets(Self::Flexible))
            .chain((2..=4).map(Self::Windowed))
            .chain([Self::Sorted])
    }

    /// Every Bloom kind with every c: those that are never full.
    pub fn blooms() -> impl Iterator<Item = Self> {
        core::iter::once(Self::Bloom).chain((1..=MOST_CHOICES).map(Self::Blocked))
    }

    /// The name of this kind, without the number.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic(_) => "classic",
            Self::SemiSorted => "semisorted",
            Self::Simplified(_) => "simplified",
            Self::Flexible(_) => "flexible",
            Self::Windowed(_) => "windowed",
            Self::Sorted => "sorted",
            Self::Elastic => "elastic",
            Self::Bloom => "bloom",
            Self::Blocked(_) => "blocked",
        }
    }

    /// The slots per place, at most; 0 for Bloom kinds, which have none.
    #[must_use]
    pub const fn slots_per_place(self) -> u8 {
        match self {
            Self::Classic(l) | Self::Simplified(l) | Self::Flexible(l) | Self::Windowed(l) => l,
            Self::SemiSorted | Self::Sorted => 4,
            Self::Elastic => 7,
            Self::Bloom | Self::Blocked(_) => 0,
        }
    }

    /// Whether this is one of the Bloom family, which is never full and cannot remove.
    #[must_use]
    pub const fn is_bloom(self) -> bool {
        matches!(self, Self::Bloom | Self::Blocked(_))
    }

    /// Whether the other place is a signed offset away, so that a slot stores the side of its key.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::Flexible(_) | Self::Windowed(_) | Self::Sorted)
    }

    /// Whether places are overlapping windows, so that a slot stores its rank in its window.
    #[must_use]
    pub const fn is_windowed(self) -> bool {
        matches!(self, Self::Windowed(_))
    }

    /// Whether buckets are stored sorted, which saves one bit per slot.
    #[must_use]
    pub const fn is_sorted(self) -> bool {
        matches!(self, Self::SemiSorted | Self::Sorted)
    }

    /// Refuses numbers of slots or choices that this kind cannot have.
    pub(crate) const fn check(self) -> Result<(), KindError> {
        if let Self::Blocked(c) = self
            && (c < 1 || c > MOST_CHOICES)
        {
            return Err(KindError::Choices { kind: self, most: MOST_CHOICES });
        }
        if self.is_bloom() {
            return Ok(());
        }
        let (least, most) = if self.is_windowed() { (2, 4) } else { (1, 8) };
        let l = self.slots_per_place();
        if l < least || l > most { Err(KindError::SlotsPerPlace { kind: self, least, most }) } else { Ok(()) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SemiSorted | Self::Sorted | Self::Elastic | Self::Bloom => f.pad(self.name()),
            Self::Blocked(c) => f.pad(&format!("{}:{c}", self.name())),
            _ => f.pad(&format!("{}:{}", self.name(), self.slots_per_place())),
        }
    }
}

impl FromStr for Kind {
    type Err = KindError;

    /// Parses `classic`, `semisorted`, `simplified`, `flexible`, `windowed`, `sorted`, `elastic`, `bloom` or `blocked`.
    /// The number after a colon is optional: the default is 4 slots, 2 for windows, and 1 choice for blocks.
    fn from_str(text: &str) -> Result<Self, KindError> {
        let unknown = || KindError::Unknown { got: text.to_owned() };
        let (name, slots) = match text.split_once(':') {
            Some((name, slots)) => (name, Some(slots.parse::<u8>().map_err(|_| unknown())?)),
            None => (text, None),
        };
        let kind = match (name, slots) {
            ("classic", l) => Self::Classic(l.unwrap_or(4)),
            ("simplified", l) => Self::Simplified(l.unwrap_or(4)),
            ("flexible", l) => Self::Flexible(l.unwrap_or(4)),
            ("windowed", l) => Self::Windowed(l.unwrap_or(2)),
            ("semisorted", None) => Self::SemiSorted,
            ("sorted", None) => Self::Sorted,
            ("elastic", None) => Self::Elastic,
            ("bloom", None) => Self::Bloom,
            ("blocked", c) => Self::Blocked(c.unwrap_or(1)),
            _ => return Err(unknown()),
        };
        kind.check().map(|()| kind)
    }
}

/// How the bits of a key are distributed in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// Independent bits, some of which may coincide: section 3.3 of the paper.
    Random,
    /// Distinct bits, any set of them: section 3.3 and appendix B of the paper.
    Distinct,
    /// The same number of independent bits in each of the eight words of a block: 8, 16, 24 or 32 in all.
    /// Only for one choice, and wasteful below k = 6.
    Spread,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Random => "random",
            Self::Distinct => "distinct",
            Self::Spread => "spread",
        })
    }
}

/// Why a kind of filter does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KindError {
    /// The kind cannot have this number of slots per place.
    SlotsPerPlace {
        /// The kind requested.
        kind: Kind,
        /// The smallest number allowed.
        least: u8,
        /// The largest number allowed.
        most: u8,
    },
    /// The kind cannot have this number of candidate blocks.
    Choices {
        /// The kind requested.
        kind: Kind,
        /// The largest number allowed; the smallest is 1.
        most: u8,
    },
    /// The text is not the name of a kind.
    Unknown {
        /// The text.
        got: String,
    },
}

impl fmt::Display for KindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SlotsPerPlace { kind, least, most } => {
                write!(f, "{kind} does not exist; give it {least} to {most} slots per place")
            }
            Self::Choices { kind, most } => write!(f, "{kind} does not exist; give it 1 to {most} choices"),
            Self::Unknown { got } => write!(
                f,
                "unknown kind of filter {got:?}; write classic, semisorted, simplified, flexible, windowed, sorted, \
                 elastic, bloom or blocked, with slots per place or choices after a colon where they vary, as in windowed:2 \
                 or blocked:3"
            ),
        }
    }
}

impl core::error::Error for KindError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_what_it_writes() {
        for kind in Kind::all().chain([Kind::Elastic]) {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        for text in ["", "cuckoo", "sorted:4", "windowed:", "windowed:two", "flexible:256"] {
            assert!(matches!(text.parse::<Kind>(), Err(KindError::Unknown { .. })), "{text:?}");
        }
        let refused = "windowed:5".parse::<Kind>().unwrap_err();
        assert_eq!(refused.to_string(), "windowed:5 does not exist; give it 2 to 4 slots per place");
        assert!("flexible:0".parse::<Kind>().is_err());
        let refused = "blocked:5".parse::<Kind>().unwrap_err();
        assert_eq!(refused.to_string(), "blocked:5 does not exist; give it 1 to 4 choices");
    }
}
