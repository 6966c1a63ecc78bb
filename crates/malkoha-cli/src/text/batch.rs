//! The inputs as batches of whole lines.
//!
//! A batch ends with the first line that ends at or after a fixed number of bytes, wherever that falls, and
//! may have lines of many files. So batches depend on the content of the inputs alone, not on how much a
//! read returned or on threads, and what is decided from batches is the same every time.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use memchr::{memchr, memchr_iter};

use crate::adjustable::Adjustable;
use crate::input::{self, Stop};

/// Bytes of a batch: the n-grams of one are enough for many in every cache-sized part of a large table.
const BATCH: Adjustable = Adjustable { size: 8 << 20, name: "MALKOHA_TEXT_BATCH" };

/// Bytes of a piece, which one thread works on: a share of a batch that many threads can have.
const PIECE: Adjustable = Adjustable { size: 256 << 10, name: "MALKOHA_TEXT_PIECE" };

/// Bytes that are read at a time.
const READ: usize = 256 << 10;

/// The longest line. Longer ones mean that the input does not consist of JSON lines.
const MOST_LINE: usize = 256 << 20;

/// Some lines, and where they come from.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
}

/// Lines of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The number of the file.
    pub(super) file: usize,
    /// The number of the first line, counted from 1.
    pub(super) line: u64,
    /// Where the lines are in the batch. Every line ends with a line end.
    pub(super) range: Range<usize>,
    /// Whether the file ends here.
    pub(super) last: bool,
}

/// Reads files one after the other.
pub(super) struct Reader {
    paths: Vec<PathBuf>,
    /// The number of the file that is read next or now.
    file: usize,
    open: Option<Box<dyn Read + Send>>,
    /// Lines of that file in earlier batches.
    lines: u64,
    /// What was read behind the last batch.
    kept: Vec<u8>,
    bar: ProgressBar,
    stop: Stop,
    batch_bytes: usize,
    piece_bytes: usize,
}

impl Reader {
    pub(super) fn new(paths: Vec<PathBuf>, bar: ProgressBar, stop: Stop) -> Self {
        let (batch_bytes, piece_bytes) = (BATCH.get(), PIECE.get());
        Self { paths, file: 0, open: None, lines: 0, kept: Vec::new(), bar, stop, batch_bytes, piece_bytes }
    }

    /// Returns the next batch; `None` if there are no more lines.
    pub(super) fn next(&mut self) -> Result<Option<Batch>> {
        let mut batch = Batch { bytes: std::mem::take(&mut self.kept), pieces: Vec::new() };
        batch.bytes.reserve(self.batch_bytes + READ);
        // Where the lines of the current file begin, and from where on no line end was looked for.
        let (mut begin, mut fresh) = (0, 0);
        while self.file < self.paths.len() {
            // The batch may be complete with what was read before.
            let from = fresh.max(self.batch_bytes.saturating_sub(1));
            if let Some(end) =
                batch.bytes.get(from..).and_then(|rest| memchr(b'\n', rest)).map(|at| from + at + 1)
            {
                self.kept.extend_from_slice(&batch.bytes[end..]);
                batch.bytes.truncate(end);
                self.cut(&mut batch, begin, false);
                return Ok(Some(batch));
            }
            fresh = batch.bytes.len();
            if fresh > self.batch_bytes + MOST_LINE {
                bail!("{}: a line is longer than 256 MiB; are these JSON lines?", self.name());
            }
            if self.read(&mut batch.bytes)? == 0 {
                if batch.bytes.len() > begin && batch.bytes.last() != Some(&b'\n') {
                    batch.bytes.push(b'\n');
                }
                self.cut(&mut batch, begin, true);
                begin = batch.bytes.len();
                (self.open, self.lines) = (None, 0);
                self.file += 1;
                if begin >= self.batch_bytes {
                    break;
                }
            }
        }
        Ok(Some(batch).filter(|batch| !batch.pieces.is_empty()))
    }

    /// Appends what is read next of the current file, and returns the number of bytes; 0 at its end.
    fn read(&mut self, bytes: &mut Vec<u8>) -> Result<usize> {
        let path = &self.paths[self.file];
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(input::open(path, &self.bar, &self.stop)?),
        };
        let read = open.by_ref().take(READ as u64).read_to_end(bytes);
        read.with_context(|| format!("cannot read {}", self.name()))
    }

    fn name(&self) -> String {
        input::name(&self.paths[self.file])
    }

    /// Cuts the lines from `begin` on into pieces.
    fn cut(&mut self, batch: &mut Batch, mut begin: usize, last: bool) {
        let end = batch.bytes.len();
        loop {
            let enough = (begin + self.piece_bytes - 1).min(end);
            let line_end = memchr(b'\n', &batch.bytes[enough..]).map(|at| enough + at + 1);
            let range = begin..line_end.unwrap_or(end);
            let line = self.lines + 1;
            self.lines += memchr_iter(b'\n', &batch.bytes[range.clone()]).count() as u64;
            begin = range.end;
            batch.pieces.push(Piece { file: self.file, line, range, last: last && begin == end });
            if begin == end {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Files with these contents, removed at the end.
    struct Files(PathBuf, Vec<PathBuf>);

    impl Files {
        fn new(name: &str, contents: &[&str]) -> Self {
            let folder = std::env::temp_dir().join(format!("malkoha-batch-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let write = |(at, content): (usize, &&str)| {
                let path = folder.join(at.to_string());
                std::fs::write(&path, content).unwrap();
                path
            };
            let paths = contents.iter().enumerate().map(write).collect();
            Self(folder, paths)
        }

        /// Returns the batches, each as the texts of its pieces with their files, lines and ends.
        fn batches(&self, batch_bytes: usize, piece_bytes: usize) -> Vec<Vec<(usize, u64, String, bool)>> {
            let mut reader = Reader::new(self.1.clone(), ProgressBar::hidden(), Stop::default());
            (reader.batch_bytes, reader.piece_bytes) = (batch_bytes, piece_bytes);
            let mut batches = Vec::new();
            while let Some(batch) = reader.next().unwrap() {
                let text = |range: Range<usize>| String::from_utf8(batch.bytes[range].to_vec()).unwrap();
                let pieces = batch.pieces.iter();
                batches.push(pieces.map(|p| (p.file, p.line, text(p.range.clone()), p.last)).collect());
            }
            batches
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn batches_end_with_the_line_that_fills_them() {
        let files = Files::new("ends", &["aa\nbb\ncc\ndd\n", "", "ee", "\nff\n"]);
        let piece = |file, line, text: &str, last| (file, line, text.to_owned(), last);
        assert_eq!(
            files.batches(6, 100),
            [
                vec![piece(0, 1, "aa\nbb\n", false)],
                vec![piece(0, 3, "cc\ndd\n", false)],
                vec![
                    piece(0, 5, "", true),
                    piece(1, 1, "", true),
                    piece(2, 1, "ee\n", true),
                    piece(3, 1, "\nff\n", false)
                ],
                vec![piece(3, 3, "", true)],
            ]
        );
        assert_eq!(
            files.batches(100, 5)[0][..2],
            [piece(0, 1, "aa\nbb\n", false), piece(0, 3, "cc\ndd\n", true)]
        );
    }

    #[test]
    fn nothing_is_lost_at_any_size() {
        let contents = ["one\n\nthree is longer\n4\n", "no end", "", "\n"];
        let files = Files::new("sizes", &contents);
        for (batch, piece) in (1..30).flat_map(|batch| (1..30).map(move |piece| (batch, piece))) {
            let mut got = vec![String::new(); contents.len()];
            let mut ends = 0;
            for (file, line, text, last) in files.batches(batch, piece).into_iter().flatten() {
                assert_eq!(line, 1 + got[file].matches('\n').count() as u64);
                got[file] += &text;
                ends += usize::from(last);
            }
            assert_eq!(got, ["one\n\nthree is longer\n4\n", "no end\n", "", "\n"], "{batch}, {piece}");
            assert_eq!(ends, contents.len());
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let mut reader =
            Reader::new(vec![Path::new("no such file").into()], ProgressBar::hidden(), Stop::default());
        assert!(format!("{:#}", reader.next().unwrap_err()).contains("no such file"));
    }
}
