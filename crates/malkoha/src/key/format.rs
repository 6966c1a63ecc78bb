//! `KeyFormat`: the declared format of a filter's keys.

use core::fmt;

/// The declared format of a filter's keys.
///
/// A filter takes any [`Key`](crate::Key), whatever its key format, and hashes it as always. The format is for programs
/// that read the filter from a file and have keys as text or bytes: it tells them how to turn these into the keys that
/// were stored.
///
/// ```
/// use malkoha::{Filter, KeyFormat, Spec};
/// let mut filter = Spec::new(1000, 0.001).key_format(KeyFormat::U64).build()?;
/// filter.insert(&17u64)?;
/// let again = Filter::from_bytes(&filter.to_bytes()?)?;
/// assert_eq!(again.geometry().key_format(), KeyFormat::U64);
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyFormat {
    /// Nothing is declared.
    #[default]
    Any,
    /// Strings of bytes, hashed as such: lines, names, whole sequences.
    Bytes,
    /// Integers of 8 bytes, hashed by value.
    U64,
    /// DNA words of k letters, each as the smaller of itself and its reverse complement. Up to 31 letters are hashed as
    /// the number they form, two bits each: A 0, C 1, G 2, T 3, the first letter highest. Longer words are hashed as
    /// their letters in upper case.
    Kmers {
        /// The number of letters in a word, 1 to [`MOST_K`](KeyFormat::MOST_K).
        k: u32,
    },
    /// The minimizers of sequences: of every w consecutive DNA words the one that comes first in an order as good as
    /// random, which `docs/FORMAT.md` specifies. Words are hashed as for [`Kmers`](Self::Kmers).
    Minimizers {
        /// The number of letters in a word, 1 to [`MOST_MINIMIZER_K`](KeyFormat::MOST_MINIMIZER_K).
        k: u32,
        /// The number of words in a window, 1 to [`MOST_WINDOW`](KeyFormat::MOST_WINDOW).
        w: u32,
    },
}

impl KeyFormat {
    /// The most letters in a DNA word.
    pub const MOST_K: u32 = 4096;

    /// The most letters in a minimizer: words that are numbers.
    pub const MOST_MINIMIZER_K: u32 = 31;

    /// The most words in a window of which one is the minimizer.
    pub const MOST_WINDOW: u32 = 4096;

    /// The name of this format, without numbers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Bytes => "bytes",
            Self::U64 => "u64",
            Self::Kmers { .. } => "kmers",
            Self::Minimizers { .. } => "minimizers",
        }
    }

    /// The key format of two filters combined; `None` if they differ. If one declares nothing, the other's
    /// format is taken.
    pub(crate) fn united(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, said) | (said, Self::Any) => Some(said),
            _ => (self == other).then_some(self),
        }
    }
}

/// The name, with k and w after colons: `kmers:31`, `minimizers:31:15`.
impl fmt::Display for KeyFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kmers { k } => f.pad(&format!("{}:{k}", self.name())),
            Self::Minimizers { k, w } => f.pad(&format!("{}:{k}:{w}", self.name())),
            _ => f.pad(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_counts_and_contradictions_are_noticed() {
        use KeyFormat::{Any, Bytes, Kmers, Minimizers, U64};
        let minimizers = [(5, 6), (5, 7), (6, 6)].map(|(k, w)| Minimizers { k, w });
        let all = [Any, Bytes, U64, Kmers { k: 5 }, Kmers { k: 6 }].into_iter().chain(minimizers);
        let all: Vec<KeyFormat> = all.collect();
        for &one in &all {
            assert_eq!(
                (one.united(one), one.united(Any), Any.united(one)),
                (Some(one), Some(one), Some(one))
            );
            for other in all.iter().filter(|other| **other != one && one != Any && **other != Any) {
                assert_eq!(one.united(*other), None, "{one} and {other}");
            }
        }
    }

    #[test]
    fn formats_have_names() {
        let formats = [KeyFormat::Any, KeyFormat::Bytes, KeyFormat::U64, KeyFormat::Kmers { k: 31 }];
        assert_eq!(formats.map(|format| format.to_string()), ["any", "bytes", "u64", "kmers:31"]);
        assert_eq!(KeyFormat::Minimizers { k: 31, w: 15 }.to_string(), "minimizers:31:15");
    }
}
