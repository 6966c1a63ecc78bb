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
}

impl KeyFormat {
    /// The most letters in a DNA word.
    pub const MOST_K: u32 = 4096;

    /// The name of this format, without k.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Bytes => "bytes",
            Self::U64 => "u64",
            Self::Kmers { .. } => "kmers",
        }
    }

    /// Whether such keys can exist.
    pub(crate) const fn is_possible(self) -> bool {
        !matches!(self, Self::Kmers { k } if k == 0 || k > Self::MOST_K)
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

/// The name, with k after a colon: `kmers:31`.
impl fmt::Display for KeyFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kmers { k } => f.pad(&format!("{}:{k}", self.name())),
            _ => f.pad(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_counts_and_contradictions_are_noticed() {
        use KeyFormat::{Any, Bytes, Kmers, U64};
        let all = [Any, Bytes, U64, Kmers { k: 5 }, Kmers { k: 6 }];
        for one in all {
            assert_eq!(
                (one.united(one), one.united(Any), Any.united(one)),
                (Some(one), Some(one), Some(one))
            );
            for other in all.into_iter().filter(|other| *other != one && one != Any && *other != Any) {
                assert_eq!(one.united(other), None, "{one} and {other}");
            }
        }
    }

    #[test]
    fn formats_have_names() {
        let formats = [KeyFormat::Any, KeyFormat::Bytes, KeyFormat::U64, KeyFormat::Kmers { k: 31 }];
        assert_eq!(formats.map(|format| format.to_string()), ["any", "bytes", "u64", "kmers:31"]);
    }
}
