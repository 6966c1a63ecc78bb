//! Blocks of whole keys in one buffer, and the hashes of their keys.

use malkoha::{KeyHash, KeyHasher};
use memchr::{memchr_iter, memrchr};

use super::fastx::without_return;
use super::kmers;

/// How keys lie in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keying {
    /// Strings of bytes with this byte behind each; behind the last it may be missing. A carriage return before a
    /// line end is not part of the key.
    Strings(u8),
    /// Integers of 8 bytes, least significant byte first.
    Numbers,
    /// DNA words of this length in sequences that each end with a line end.
    Words(u32),
}

/// The bytes of an integer.
const NUMBER: usize = 8;

impl Keying {
    /// Where a block that is not the last may end so that no key is cut in two, and where the next one begins;
    /// `None` if there is no whole key yet. No string ends before `fresh`, so that long ones are not searched again
    /// and again.
    pub(super) fn cut(self, data: &[u8], fresh: usize) -> Option<(usize, usize)> {
        match self {
            Self::Strings(end) => memrchr(end, &data[fresh..]).map(|at| (fresh + at + 1, fresh + at + 1)),
            Self::Numbers => Some(data.len() / NUMBER * NUMBER).filter(|end| *end > 0).map(|end| (end, end)),
            Self::Words(k) => {
                // The next block begins with the letters of which words may still be made.
                let letters = data.len() - memrchr(b'\n', data).map_or(0, |at| at + 1);
                let kept = letters.min(k as usize - 1);
                Some((data.len(), data.len() - kept)).filter(|_| data.len() > kept)
            }
        }
    }

    /// The text of a key whose end is given, and that of the key before it (or 0), with what separates it.
    pub(crate) fn text(self, data: &[u8], before: usize, end: usize) -> &[u8] {
        match self {
            Self::Strings(_) | Self::Numbers => &data[before..end],
            Self::Words(k) => &data[end - k as usize..end],
        }
    }
}

/// The keys of a block: their hashes, and where each of them ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    pub(crate) hashes: Vec<KeyHash>,
    /// The place behind each key and its separator.
    pub(crate) ends: Vec<u32>,
    /// DNA words that were left out because of letters other than ACGT.
    pub(crate) skipped: u64,
}

impl Keys {
    /// Hashes all keys of a block.
    ///
    /// # Panics
    ///
    /// If the block is longer than 4 GiB; the source makes none.
    pub(crate) fn of(data: &[u8], keying: Keying, hasher: &KeyHasher) -> Self {
        let mut keys = Self::default();
        keys.hashes.reserve(data.len() / 16);
        keys.ends.reserve(data.len() / 16);
        let mut push = |hash: KeyHash, end: usize| {
            keys.hashes.push(hash);
            keys.ends.push(u32::try_from(end).expect("blocks are shorter than 4 GiB"));
        };
        match keying {
            Keying::Strings(separator) => {
                let hash =
                    |key: &[u8]| hasher.bytes(if separator == b'\n' { without_return(key) } else { key });
                let mut begin = 0;
                for end in memchr_iter(separator, data) {
                    push(hash(&data[begin..end]), end + 1);
                    begin = end + 1;
                }
                if begin < data.len() {
                    push(hash(&data[begin..]), data.len());
                }
            }
            Keying::Numbers => {
                for (at, number) in data.as_chunks::<NUMBER>().0.iter().enumerate() {
                    push(hasher.number(u64::from_le_bytes(*number)), (at + 1) * NUMBER);
                }
            }
            Keying::Words(k) => keys.skipped = kmers::each(data, k, hasher, push),
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(data: &[u8], keying: Keying) -> Vec<String> {
        let keys = Keys::of(data, keying, &KeyHasher::new(0));
        let mut before = 0;
        let text = |&end: &u32| {
            let text = keying.text(data, before, end as usize);
            before = end as usize;
            String::from_utf8_lossy(text).into_owned()
        };
        keys.ends.iter().map(text).collect()
    }

    #[test]
    fn keys_of_every_kind_are_told_apart() {
        assert_eq!(texts(b"a\nbb\n\nc", Keying::Strings(b'\n')), ["a\n", "bb\n", "\n", "c"]);
        assert_eq!(texts(b"a\0b\n\0", Keying::Strings(0)), ["a\0", "b\n\0"]);
        assert_eq!(texts(b"12345678abcdefgh", Keying::Numbers), ["12345678", "abcdefgh"]);
        assert_eq!(texts(b"ACGTN\nAC\nGGG\n", Keying::Words(3)), ["ACG", "CGT", "GGG"]);
        assert!(texts(b"", Keying::Strings(b'\n')).is_empty());
    }

    #[test]
    fn a_carriage_return_is_no_part_of_a_line() {
        let hashes =
            |data: &[u8], separator| Keys::of(data, Keying::Strings(separator), &KeyHasher::new(0)).hashes;
        assert_eq!(hashes(b"owl\r\neagle\r\n", b'\n'), hashes(b"owl\neagle", b'\n'));
        assert_ne!(hashes(b"owl\r\0", 0), hashes(b"owl\0", 0));
    }

    #[test]
    fn blocks_are_cut_between_keys() {
        assert_eq!(Keying::Strings(b'\n').cut(b"ab\nc", 0), Some((3, 3)));
        assert_eq!(Keying::Strings(b'\n').cut(b"abc", 0), None);
        assert_eq!(Keying::Numbers.cut(&[0; 20], 0), Some((16, 16)));
        assert_eq!(Keying::Numbers.cut(&[0; 7], 0), None);
        assert_eq!(Keying::Words(3).cut(b"A\nACGT", 0), Some((6, 4)), "two letters are kept");
        assert_eq!(Keying::Words(3).cut(b"ACGT\n", 0), Some((5, 5)));
        assert_eq!(Keying::Words(3).cut(b"AC", 0), None);
    }
}
