//! Blocks of whole keys in one buffer, and the hashes of their keys.

use anyhow::Result;
use malkoha::{KeyHash, KeyHasher};
use memchr::{memchr_iter, memrchr};

use super::column::{Header, Layout};
use super::fastx::without_return;
use super::{ends, kmers};

/// How keys are laid out in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keying {
    /// Strings of bytes, each followed by this byte, which may be missing after the last. A carriage return
    /// before a line end is not part of the key.
    Strings(u8),
    /// Integers of 8 bytes, least significant byte first.
    Numbers,
    /// DNA words of this length, in sequences that each end with a line end.
    Words(u32),
    /// One field of every record of a table.
    Column(Layout),
}

/// The bytes of an integer.
const NUMBER: usize = 8;

impl Keying {
    /// Returns where a block that is not the last may end so that no key is split, and where the next one
    /// begins; `None` if there is no whole key yet. No string ends before `fresh`, so long ones are not
    /// searched again and again.
    pub(super) fn cut(self, data: &[u8], fresh: usize) -> Option<(usize, usize)> {
        match self {
            Self::Strings(end) => memrchr(end, &data[fresh..]).map(|at| (fresh + at + 1, fresh + at + 1)),
            Self::Numbers => Some(data.len() / NUMBER * NUMBER).filter(|end| *end > 0).map(|end| (end, end)),
            Self::Words(k) => {
                // The next block begins with the letters that may still become part of words.
                let letters = data.len() - memrchr(b'\n', data).map_or(0, |at| at + 1);
                let kept = letters.min(k as usize - 1);
                Some((data.len(), data.len() - kept)).filter(|_| data.len() > kept)
            }
            Self::Column(layout) => layout.last_end(data).map(|end| (end, end)),
        }
    }
}

/// The keys of a block: their hashes, and where each of them ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    pub(crate) hashes: Vec<KeyHash>,
    /// The position after each key and its separator.
    pub(crate) ends: Vec<u32>,
    /// DNA words that were left out because of letters other than ACGT.
    pub(crate) skipped: u64,
    /// Where the header of a table ends, which is no key.
    begin: usize,
    /// Lines of a table.
    pub(crate) lines: usize,
    /// The line of the first record of a table that lacks the column, counted from 0. Keys end there.
    pub(crate) flaw: Option<usize>,
}

impl Keys {
    /// Replaces the content with the keys of a block, all hashed.
    ///
    /// # Panics
    ///
    /// If the block is longer than 4 GiB; the source never makes such blocks.
    pub(crate) fn read(&mut self, data: &[u8], keying: Keying, hasher: &KeyHasher) {
        let Self { hashes, ends, skipped, begin, lines, flaw } = self;
        hashes.clear();
        ends.clear();
        (*skipped, *begin, *lines, *flaw) = (0, 0, 0, None);
        match keying {
            Keying::Strings(separator) => {
                ends::each(separator, data, |end| ends.push(offset(end)));
                if data.last().is_some_and(|last| *last != separator) {
                    ends.push(offset(data.len()));
                }
                let mut begin = 0;
                hashes.extend(ends.iter().map(|&end| {
                    let text = &data[begin..end as usize];
                    begin = end as usize;
                    let key = text.strip_suffix(&[separator]).unwrap_or(text);
                    hasher.bytes(if separator == b'\n' { without_return(key) } else { key })
                }));
            }
            Keying::Numbers => {
                for (at, number) in data.as_chunks::<NUMBER>().0.iter().enumerate() {
                    hashes.push(hasher.number(u64::from_le_bytes(*number)));
                    ends.push(offset((at + 1) * NUMBER));
                }
            }
            Keying::Words(k) => {
                *skipped = kmers::each(data, k, hasher, |hash, end| {
                    hashes.push(hash);
                    ends.push(offset(end));
                });
            }
            Keying::Column(layout) => {
                (*begin, *flaw) = layout.each(data, |end, key| {
                    hashes.push(hasher.bytes(key));
                    ends.push(offset(end));
                });
                *lines = memchr_iter(b'\n', data).count();
            }
        }
    }

    /// Passes on the text of the wanted keys of a block with their separators: neighbours at once, but DNA
    /// words, which overlap, one per line. The text of a field is its record, and the header of the first table is
    /// always wanted.
    pub(crate) fn each_text(
        &self,
        data: &[u8],
        keying: Keying,
        wanted: impl Iterator<Item = bool>,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let ends = self.ends.iter().map(|end| *end as usize).zip(wanted);
        if let Keying::Words(k) = keying {
            let mut wanted = ends.filter(|(_, wanted)| *wanted);
            return wanted.try_for_each(|(end, _)| {
                take(&data[end - k as usize..end])?;
                take(b"\n")
            });
        }
        let repeated = matches!(keying, Keying::Column(Layout { header: Header::Repeated, .. }));
        let (mut from, mut to) = (if repeated { self.begin } else { 0 }, self.begin);
        for (end, wanted) in ends {
            if !wanted {
                take(&data[from..to])?;
                from = end;
            }
            to = end;
        }
        take(&data[from..to])
    }
}

/// Converts a position in a block to 32 bits.
fn offset(place: usize) -> u32 {
    u32::try_from(place).expect("blocks are shorter than 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(data: &[u8], keying: Keying) -> Keys {
        let mut keys = Keys::default();
        // The previous content must not matter.
        keys.read(b"other\nkeys", Keying::Strings(b'\n'), &KeyHasher::new(1));
        keys.read(data, keying, &KeyHasher::new(0));
        keys
    }

    /// Returns the texts of the keys, one after the other.
    fn texts(data: &[u8], keying: Keying) -> Vec<String> {
        let keys = keys(data, keying);
        (0..keys.ends.len()).map(|at| wanted(data, keying, |key| key == at)).collect()
    }

    /// Returns the text of the wanted keys.
    fn wanted(data: &[u8], keying: Keying, wanted: impl Fn(usize) -> bool) -> String {
        let (keys, mut text) = (keys(data, keying), String::new());
        let take = |part: &[u8]| {
            text += std::str::from_utf8(part).unwrap();
            Ok(())
        };
        keys.each_text(data, keying, (0..keys.ends.len()).map(wanted), take).unwrap();
        text
    }

    #[test]
    fn keys_of_every_kind_are_told_apart() {
        assert_eq!(texts(b"a\nbb\n\nc", Keying::Strings(b'\n')), ["a\n", "bb\n", "\n", "c"]);
        assert_eq!(texts(b"a\0b\n\0", Keying::Strings(0)), ["a\0", "b\n\0"]);
        assert_eq!(texts(b"12345678abcdefgh", Keying::Numbers), ["12345678", "abcdefgh"]);
        assert_eq!(texts(b"ACGTN\nAC\nGGG\n", Keying::Words(3)), ["ACG\n", "CGT\n", "GGG\n"]);
        assert!(texts(b"", Keying::Strings(b'\n')).is_empty());
    }

    #[test]
    fn neighbours_are_handed_on_as_they_lie() {
        let birds = b"owl\neagle\n\ncuckoo\nmalkoha";
        let lines = |parts: fn(usize) -> bool| wanted(birds, Keying::Strings(b'\n'), parts);
        assert_eq!(lines(|_| true).as_bytes(), birds);
        assert_eq!(lines(|_| false), "");
        assert_eq!(lines(|key| key != 1), "owl\n\ncuckoo\nmalkoha");
        assert_eq!(lines(|key| key % 2 == 1), "eagle\ncuckoo\n");
        assert_eq!(wanted(b"ACGT\nACGA\n", Keying::Words(3), |word| word > 0), "CGT\nACG\nCGA\n");
    }

    #[test]
    fn a_carriage_return_is_no_part_of_a_line() {
        let hashes = |data: &[u8], separator| keys(data, Keying::Strings(separator)).hashes;
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
