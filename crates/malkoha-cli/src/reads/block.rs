//! The records of a block, what the filter says of them, and the text of those that are written.

use malkoha::Filter;

use super::Pairing;
use super::asking::{Answer, Asking, Question};
use super::labelling::Labelling;
use crate::input::kmers::Rule;
use crate::input::records::{self, Place, Record};
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
    /// Records without a word: of pairs, those that have none in both.
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

/// A record of a block, and its sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    record: Record,
    sequence: Place,
}

/// The sequences of the records of a block.
pub(super) struct Sequences<'a> {
    block: &'a [u8],
    joined: &'a [u8],
    reads: &'a [Read],
}

impl<'a> Sequences<'a> {
    #[inline]
    pub(super) fn get(&self, read: usize) -> &'a [u8] {
        self.reads[read].sequence.get(self.block, self.joined)
    }
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
    /// Sequences of several lines, each in one.
    joined: Vec<u8>,
    /// The reads or pairs.
    pub(crate) units: Vec<Unit>,
    asking: Asking,
    /// What the filter says of each unit, if it is asked for matches.
    pub(crate) answers: Vec<Answer>,
    labelling: Labelling,
    /// One for each file that is written.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) tally: Tally,
    /// How many reads or pairs were put into each class.
    pub(crate) classes: Vec<u64>,
    /// What is wrong with the record after the last.
    pub(crate) flaw: Option<String>,
}

impl ReadBlock {
    /// Finds the records of a block, and the reads or pairs.
    pub(crate) fn read(&mut self, block: &[u8], origin: &Origin) {
        self.reads.clear();
        self.joined.clear();
        self.units.clear();
        self.tally = Tally::default();
        self.flaw = None;
        let (middle, mates) =
            origin.mates.map_or((block.len(), None), |(middle, keying)| (middle, Some(keying)));
        self.add(block, 0, middle, origin.keying);
        let first = self.reads.len();
        if let Some(keying) = mates {
            self.add(block, middle, block.len(), keying);
        }
        self.tally.records = self.reads.len() as u64;
        self.tally.letters = self.reads.iter().map(|read| read.sequence.len() as u64).sum();
        if mates.is_some() {
            let pairs = first.min(self.reads.len() - first);
            self.units.extend((0..pairs).map(|read| (read, Some(first + read))));
        } else if let Keying::PairedRecords(_) = origin.keying {
            if first % 2 == 1 && self.flaw.is_none() {
                self.flaw = Some("it has no mate; are these pairs?".to_owned());
            }
            self.units.extend((0..first / 2).map(|pair| (2 * pair, Some(2 * pair + 1))));
        } else {
            self.units.extend((0..first).map(|read| (read, None)));
        }
    }

    /// Adds the records of a part of the block.
    fn add(&mut self, block: &[u8], begin: usize, end: usize, keying: Keying) {
        let (Keying::Records(Some(style)) | Keying::PairedRecords(Some(style))) = keying else { return };
        let Self { reads, joined, .. } = self;
        let flaw = records::each(style, &block[begin..end], |record| {
            let record = record.moved(begin);
            reads.push(Read { record, sequence: record.place(block, joined) });
        });
        self.flaw = self.flaw.take().or(flaw);
    }

    /// Asks which units match.
    pub(crate) fn ask(&mut self, block: &[u8], question: &Question<'_>) {
        let Self { reads, joined, units, asking, answers, .. } = self;
        asking.ask(question, units, &Sequences { block, joined, reads }, answers);
        self.tally.words = answers.iter().map(|answer| answer.words).sum();
    }

    /// Calls `act` with the labels of the words of each unit.
    pub(crate) fn each_labels(&mut self, block: &[u8], filter: &Filter, rule: Rule, act: impl FnMut(&[u16])) {
        let Self { reads, joined, units, labelling, .. } = self;
        self.tally.words = labelling.each(units, &Sequences { block, joined, reads }, filter, rule, act);
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
            self.tally.letters_kept += self.reads[read].sequence.len() as u64;
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
