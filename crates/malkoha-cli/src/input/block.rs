//! Blocks of whole keys in one buffer, and the hashes of their keys.

use anyhow::{Result, bail};
use malkoha::{KeyHash, KeyHasher};
use memchr::{memchr_iter, memrchr};

use super::column::{Header, Layout};
use super::ends;
use super::fastx::without_return;
use super::kmers::{self, Rule};
use super::records::{self, Style};
use super::source::Origin;
use super::words::Words;

/// How keys are laid out in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keying {
    /// Strings of bytes, each followed by this byte, which may be missing after the last. A carriage return
    /// before a line end is not part of the key.
    Strings(u8),
    /// Integers of 8 bytes, least significant byte first.
    Numbers,
    /// DNA words, in sequences that each end with a line end.
    Words(Rule),
    /// Whole records of FASTA or FASTQ; which of them, the beginning of the input tells.
    Records(Option<Style>),
    /// Pairs of such records, one after the other.
    PairedRecords(Option<Style>),
    /// One field of every record of a table.
    Column(Layout),
}

/// The bytes of an integer.
const NUMBER: usize = 8;

impl Keying {
    /// Returns whether blocks consist of whole records.
    pub(super) fn is_records(self) -> bool {
        matches!(self, Self::Records(_) | Self::PairedRecords(_))
    }

    /// Returns how records of this format lie in blocks; other keys as before.
    pub(super) fn of_style(self, style: Option<Style>) -> Result<Self> {
        if self.is_records() && style.is_none() {
            bail!("neither FASTA, which begins with >, nor FASTQ, which begins with @");
        }
        Ok(match self {
            Self::Records(_) => Self::Records(style),
            Self::PairedRecords(_) => Self::PairedRecords(style),
            other => other,
        })
    }

    /// Returns where a block that is not the last may end so that no key is split, and where the next one
    /// begins; `None` if there is no whole key yet. No string ends before `fresh`, so long ones are not
    /// searched again and again.
    pub(super) fn cut(self, data: &[u8], fresh: usize) -> Option<(usize, usize)> {
        match self {
            Self::Strings(end) => memrchr(end, &data[fresh..]).map(|at| (fresh + at + 1, fresh + at + 1)),
            Self::Numbers => Some(data.len() / NUMBER * NUMBER).filter(|end| *end > 0).map(|end| (end, end)),
            Self::Words(rule) => {
                // The next block begins with the letters that may still become part of words. If these are all letters
                // of a sequence, it belongs to the next block alone.
                let begin = memrchr(b'\n', data).map_or(0, |at| at + 1);
                let (letters, overlap) = (data.len() - begin, rule.overlap());
                let (end, next) =
                    if letters > overlap { (data.len(), data.len() - overlap) } else { (begin, begin) };
                Some((end, next)).filter(|(end, _)| *end > 0)
            }
            Self::Records(style) => records::last_end(style?, data, fresh).map(|end| (end, end)),
            Self::PairedRecords(style) => {
                let (ends, flaw) = records::ends(style?, data);
                let end = if flaw { data.len() } else { *ends.get((ends.len() & !1).checked_sub(1)?)? };
                Some((end, end))
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
    /// A buffer for minimizers.
    words: Words,
}

impl Keys {
    /// Replaces the content with the keys of a block, all hashed.
    ///
    /// # Panics
    ///
    /// If the block is longer than 4 GiB; the source never makes such blocks.
    pub(crate) fn read(&mut self, data: &[u8], origin: Origin, hasher: &KeyHasher) {
        let Self { hashes, ends, skipped, begin, lines, flaw, words } = self;
        hashes.clear();
        ends.clear();
        (*skipped, *begin, *lines, *flaw) = (0, 0, 0, None);
        match origin.keying {
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
            Keying::Words(rule) if rule.window.is_some() => {
                // Minimizers are not printed, so nobody asks where they end.
                words.clear();
                for (i, line) in data.split_inclusive(|byte| *byte == b'\n').enumerate() {
                    let sequence = line.strip_suffix(b"\n");
                    let is_cut = sequence.is_none();
                    words.add(sequence.unwrap_or(line), rule, origin.continued && i == 0, is_cut);
                }
                hashes.extend(words.get().iter().map(|word| hasher.number(*word)));
            }
            Keying::Words(Rule { k, .. }) => {
                *skipped = kmers::each(data, k, hasher, |hash, end| {
                    hashes.push(hash);
                    ends.push(offset(end));
                });
            }
            // Their keys are found record by record (`reads/block.rs`).
            Keying::Records(_) | Keying::PairedRecords(_) => {}
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
        if let Keying::Words(Rule { k, .. }) = keying {
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

    const WORDS: Rule = Rule { k: 3, window: None };

    fn keys(data: &[u8], keying: Keying) -> Keys {
        let mut keys = Keys::default();
        // The previous content must not matter.
        keys.read(b"other\nkeys", Origin::default(), &KeyHasher::new(1));
        keys.read(data, Origin { keying, ..Origin::default() }, &KeyHasher::new(0));
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
        assert_eq!(texts(b"ACGTN\nAC\nGGG\n", Keying::Words(WORDS)), ["ACG\n", "CGT\n", "GGG\n"]);
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
        assert_eq!(wanted(b"ACGT\nACGA\n", Keying::Words(WORDS), |word| word > 0), "CGT\nACG\nCGA\n");
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
        assert_eq!(Keying::Words(WORDS).cut(b"A\nACGT", 0), Some((6, 4)), "two letters are kept");
        assert_eq!(Keying::Words(WORDS).cut(b"ACGT\n", 0), Some((5, 5)));
        assert_eq!(Keying::Words(WORDS).cut(b"AC", 0), None);
        assert_eq!(Keying::Words(WORDS).cut(b"ACGT\nAC", 0), Some((5, 5)), "a sequence that has just begun");
        let minimizers = Keying::Words(Rule { k: 3, window: Some(2) });
        assert_eq!(minimizers.cut(b"ACGTA", 0), Some((5, 1)), "a window is kept");
        let table = Layout { delimiter: b',', index: 0, has_names: false, header: Header::Absent };
        let table = Keying::Column(table);
        assert_eq!(table.cut(b"\n\r\n\na", 0), Some((4, 4)), "there may be more empty lines than memory");
    }
}
