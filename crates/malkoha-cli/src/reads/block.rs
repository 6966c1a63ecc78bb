//! The records of a block: their words, what the filter says of them, and the text of those that are written.

use malkoha::{Filter, KeyHash};

use super::Pairing;
use crate::input::kmers::{self, MOST_PACKED, Rule};
use crate::input::records::{self, Record};
use crate::input::words::Words;
use crate::input::{Keying, Origin};
use crate::written::Packing;

/// Text from which a piece is compressed by the thread that has it. Less is collected first.
const WORTH_PACKING: usize = 16 << 10;

/// Counts of records, of their letters and of their words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) records: u64,
    pub(crate) letters: u64,
    pub(crate) records_kept: u64,
    pub(crate) letters_kept: u64,
    pub(crate) words: u64,
    pub(crate) words_found: u64,
    /// Records without a word.
    pub(crate) wordless: u64,
    /// How many records would match if the filter held none of their words.
    pub(crate) by_chance: f64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.letters += other.letters;
        self.records_kept += other.records_kept;
        self.letters_kept += other.letters_kept;
        self.words += other.words;
        self.words_found += other.words_found;
        self.wordless += other.wordless;
        self.by_chance += other.by_chance;
    }
}

/// A record of a block, and where its words end.
#[derive(Clone, Copy, Debug)]
struct Read {
    record: Record,
    letters: usize,
    words_end: usize,
}

/// Output for one file, compressed or not yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_packed: bool,
}

/// A read, or a pair of them: their numbers in the block.
pub(crate) type Unit = (usize, Option<usize>);

/// The records of a block. Buffers are used again for the next one.
#[derive(Default)]
pub(crate) struct ReadBlock {
    reads: Vec<Read>,
    /// Words of up to 31 letters are numbers, longer ones only hashes.
    words: Words,
    hashes: Vec<KeyHash>,
    /// Whether each word was found.
    found: Vec<bool>,
    /// The labels of each word.
    labels: Vec<u16>,
    joined: Vec<u8>,
    /// One for each file that is written.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) tally: Tally,
    /// How many reads or pairs were put into each class.
    pub(crate) classes: Vec<u64>,
    /// What is wrong with the record after the last.
    pub(crate) flaw: Option<String>,
}

impl ReadBlock {
    /// Finds the records of a block and their words. Returns the reads or pairs.
    pub(crate) fn read(&mut self, block: &[u8], origin: &Origin, filter: &Filter, rule: Rule) -> Vec<Unit> {
        self.reads.clear();
        self.words.clear();
        self.hashes.clear();
        self.tally = Tally::default();
        self.flaw = None;
        let (middle, mates) =
            origin.mates.map_or((block.len(), None), |(middle, keying)| (middle, Some(keying)));
        self.add(&block[..middle], 0, origin.keying, filter, rule);
        let first = self.reads.len();
        if let Some(keying) = mates {
            self.add(&block[middle..], middle, keying, filter, rule);
        }
        self.tally.records = self.reads.len() as u64;
        self.tally.letters = self.reads.iter().map(|read| read.letters as u64).sum();
        self.tally.words = self.asked() as u64;
        if mates.is_some() {
            return (0..first.min(self.reads.len() - first)).map(|read| (read, Some(first + read))).collect();
        }
        if let Keying::PairedRecords(_) = origin.keying {
            if first % 2 == 1 && self.flaw.is_none() {
                self.flaw = Some("it has no mate; are these pairs?".to_owned());
            }
            return (0..first / 2).map(|pair| (2 * pair, Some(2 * pair + 1))).collect();
        }
        (0..first).map(|read| (read, None)).collect()
    }

    fn add(&mut self, text: &[u8], offset: usize, keying: Keying, filter: &Filter, rule: Rule) {
        let (Keying::Records(Some(style)) | Keying::PairedRecords(Some(style))) = keying else { return };
        let Self { reads, words, hashes, joined, .. } = self;
        let flaw = records::each(style, text, |record| {
            let sequence = record.sequence(text, joined);
            let letters = sequence.len();
            let words_end = if rule.k <= MOST_PACKED {
                words.add(sequence, rule, false, false);
                words.len()
            } else {
                kmers::each(sequence, rule.k, filter.hasher(), |hash, _| hashes.push(hash));
                hashes.len()
            };
            reads.push(Read { record: record.moved(offset), letters, words_end });
        });
        self.flaw = self.flaw.take().or(flaw);
    }

    /// Returns the number of words.
    fn asked(&self) -> usize {
        self.words.len() + self.hashes.len()
    }

    /// Looks all words up.
    pub(crate) fn look_up(&mut self, filter: &Filter) {
        self.found.resize(self.asked(), false);
        if self.hashes.is_empty() {
            filter.contains_slice_into(self.words.get(), &mut self.found);
        } else {
            filter.contains_slice_into(&self.hashes, &mut self.found);
        }
    }

    /// Looks the labels of all words up.
    pub(crate) fn look_up_labels(&mut self, filter: &Filter) {
        self.labels.resize(self.asked(), 0);
        let looked = if self.hashes.is_empty() {
            filter.union_slice_into(self.words.get(), &mut self.labels)
        } else {
            filter.union_slice_into(&self.hashes, &mut self.labels)
        };
        looked.expect("a filter with labels has values");
    }

    fn range(&self, read: usize) -> std::ops::Range<usize> {
        let begin = read.checked_sub(1).map_or(0, |before| self.reads[before].words_end);
        begin..self.reads[read].words_end
    }

    /// Returns how many words a read or pair has, and how many of them were found.
    pub(crate) fn matches(&self, (first, second): Unit) -> (u64, u64) {
        let count = |read| {
            let found = &self.found[self.range(read)];
            // Few enough at a time that their sum is a byte, which is summed in vectors.
            let few = |few: &[bool]| u64::from(few.iter().map(|found| u8::from(*found)).sum::<u8>());
            (found.len() as u64, found.chunks(255).map(few).sum::<u64>())
        };
        let (words, found) = count(first);
        second.map_or((words, found), |read| {
            let (more, more_found) = count(read);
            (words + more, found + more_found)
        })
    }

    /// Returns the labels of the words of a read or pair.
    pub(crate) fn labels(&self, (first, second): Unit) -> impl Iterator<Item = u16> {
        let of = |read| self.labels[self.range(read)].iter().copied();
        of(first).chain(second.into_iter().flat_map(of))
    }

    /// Prepares empty output for so many files.
    pub(crate) fn begin_pieces(&mut self, files: usize) {
        self.pieces.resize_with(files, Piece::default);
        for piece in &mut self.pieces {
            piece.bytes.clear();
            piece.is_packed = false;
        }
    }

    /// Counts a read or pair as kept.
    pub(crate) fn keep(&mut self, (first, second): Unit) {
        for read in [Some(first), second].into_iter().flatten() {
            self.tally.records_kept += 1;
            self.tally.letters_kept += self.reads[read].letters as u64;
        }
    }

    /// Writes a read or pair to a file, or the mates to the file after it.
    pub(crate) fn write(&mut self, block: &[u8], (first, second): Unit, file: usize, pairing: Pairing) {
        let mut copy = |read: usize, file: usize| {
            let record = self.reads[read].record;
            self.pieces[file].bytes.extend_from_slice(&block[record.begin..record.end]);
        };
        copy(first, file);
        if let Some(second) = second {
            copy(second, if pairing.has_two_outputs() { file + 1 } else { file });
        }
    }

    /// Compresses output that is long enough.
    pub(crate) fn pack(&mut self, packings: &[Packing]) {
        for (piece, packing) in self.pieces.iter_mut().zip(packings) {
            if *packing != Packing::Plain && piece.bytes.len() >= WORTH_PACKING {
                piece.bytes = packing.pack(std::mem::take(&mut piece.bytes));
                piece.is_packed = true;
            }
        }
    }
}
