//! FASTA and FASTQ: from records to their sequences, each followed by a line end.
//!
//! Both are state machines that take the file in pieces of any size.

use anyhow::{Result, bail};
use memchr::memchr;

/// What is wrong with records.
pub(super) const NOT_FASTA: &str = "not FASTA: it does not begin with >";
pub(super) const NO_AT: &str = "a record begins with @";
pub(super) const NO_PLUS: &str = "+ is expected after one line of sequence";

pub(super) fn lengths_differ(quality: usize, sequence: usize) -> String {
    format!("{quality} letters of quality for {sequence} of sequence")
}

/// A parser that is fed a file in pieces.
#[derive(Clone, Debug)]
pub(super) enum Fastx {
    Fasta(Fasta),
    Fastq(Fastq),
}

impl Fastx {
    /// Appends the sequences in the next piece of the file.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Fasta(fasta) => fasta.push(piece, out),
            Self::Fastq(fastq) => fastq.push(piece, out),
        }
    }

    /// Ends the file.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Fasta(fasta) => fasta.end_record(out),
            Self::Fastq(fastq) => fastq.finish(out)?,
        }
        Ok(())
    }
}

/// Sequences over several lines, each after a line that begins with `>`.
#[derive(Clone, Debug, Default)]
pub(super) struct Fasta {
    /// Whether a record has begun, so that a sequence must end.
    in_record: bool,
    in_header: bool,
    inside_line: bool,
}

impl Fasta {
    fn push(&mut self, mut piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        while let Some(&first) = piece.first() {
            if !self.inside_line && first == b'>' {
                self.end_record(out);
                (self.in_record, self.in_header) = (true, true);
            }
            if !self.in_record && !first.is_ascii_whitespace() {
                bail!("this is {NOT_FASTA}; give the format with --format");
            }
            let end = memchr(b'\n', piece);
            let line = &piece[..end.unwrap_or(piece.len())];
            if !self.in_header {
                out.extend_from_slice(without_return(line));
            }
            self.inside_line = end.is_none();
            self.in_header &= self.inside_line;
            piece = end.map_or(&[], |end| &piece[end + 1..]);
        }
        Ok(())
    }

    fn end_record(&mut self, out: &mut Vec<u8>) {
        if self.in_record {
            out.push(b'\n');
        }
        self.in_record = false;
    }
}

/// Records of four lines: `@` and a name, the sequence, `+`, and as many letters of quality.
#[derive(Clone, Debug, Default)]
pub(super) struct Fastq {
    /// Lines read.
    lines: u64,
    /// The part of the current line that was in earlier pieces.
    line: Vec<u8>,
    sequence: usize,
}

/// The longest line; this format is not meant for longer ones.
const MOST_LINE: usize = 256 << 20;

impl Fastq {
    fn push(&mut self, mut piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        while let Some(end) = memchr(b'\n', piece) {
            if self.line.is_empty() {
                self.take_line(&piece[..end], out)?;
            } else {
                self.line.extend_from_slice(&piece[..end]);
                let line = std::mem::take(&mut self.line);
                self.take_line(&line, out)?;
            }
            piece = &piece[end + 1..];
        }
        self.line.extend_from_slice(piece);
        if self.line.len() > MOST_LINE {
            bail!("line {} is longer than 256 MiB: this is not FASTQ", self.lines + 1);
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let line = without_return(line);
        let number = self.lines + 1;
        let begins = |mark: u8| line.first() == Some(&mark);
        match self.lines % 4 {
            // Empty lines between records and at the end are harmless.
            0 if line.is_empty() => return Ok(()),
            0 if !begins(b'@') => {
                bail!("line {number} is not FASTQ: {NO_AT}; give the format with --format")
            }
            1 => {
                out.extend_from_slice(line);
                out.push(b'\n');
                self.sequence = line.len();
            }
            2 if !begins(b'+') => {
                bail!("line {number} is not FASTQ: {NO_PLUS}")
            }
            3 if line.len() != self.sequence => {
                bail!("line {number} is not FASTQ: {}", lengths_differ(line.len(), self.sequence))
            }
            _ => {}
        }
        self.lines += 1;
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let last = std::mem::take(&mut self.line);
        if !last.is_empty() {
            self.take_line(&last, out)?;
        }
        if !self.lines.is_multiple_of(4) {
            bail!("the file ends inside a FASTQ record, after line {}; is it complete?", self.lines);
        }
        Ok(())
    }
}

/// Returns whether a text begins like FASTA or FASTQ: a line with a name, then one with the letters of a sequence, and
/// in FASTQ a line that begins with `+`.
pub(super) fn looks_like_sequences(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').map(without_return);
    let (name, sequence, after) = (lines.next(), lines.next(), lines.next());
    let is_letter = |byte: &u8| b"ACGTUN".contains(&byte.to_ascii_uppercase());
    let letters = sequence.is_some_and(|line| !line.is_empty() && line.iter().all(is_letter));
    match name.and_then(<[u8]>::first) {
        Some(b'>') => letters,
        Some(b'@') => letters && after.is_some_and(|line| line.starts_with(b"+")),
        _ => false,
    }
}

/// Returns a line without the carriage return of other systems.
#[inline]
pub(super) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sequences of a text, after checking that pieces of every size give the same.
    fn sequences(start: &Fastx, text: &str) -> Result<String> {
        let in_pieces = |size: usize| {
            let (mut fastx, mut out) = (start.clone(), Vec::new());
            text.as_bytes().chunks(size).try_for_each(|piece| fastx.push(piece, &mut out))?;
            fastx.finish(&mut out)?;
            Ok(String::from_utf8(out).unwrap())
        };
        let whole: Result<String> = in_pieces(text.len().max(1));
        for size in 1..text.len() {
            let pieces: Result<String> = in_pieces(size);
            match (&pieces, &whole) {
                (Ok(pieces), Ok(whole)) => assert_eq!(pieces, whole, "pieces of {size}"),
                (Err(pieces), Err(whole)) => assert_eq!(pieces.to_string(), whole.to_string()),
                _ => panic!("pieces of {size}: {pieces:?} instead of {whole:?}"),
            }
        }
        whole
    }

    #[test]
    fn sequences_are_told_from_text() {
        for text in [">a\nACGT\n", ">a b\r\nnnacgu\r\n>", "@a\nACGT\n+\nIIII\n"] {
            assert!(looks_like_sequences(text.as_bytes()), "{text}");
        }
        for text in ["", ">", ">quoted\n>twice\n", ">a\nhello\n", "@a\nACT\n@b\n", "ACGT\nACGT\n", "@\n\n+\n"]
        {
            assert!(!looks_like_sequences(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn fasta_joins_lines_and_ends_records() {
        let fasta = Fastx::Fasta(Fasta::default());
        assert_eq!(sequences(&fasta, ">a b\nACG\nT\n\n>c\r\nGG\r\nC").unwrap(), "ACGT\nGGC\n");
        assert_eq!(sequences(&fasta, "").unwrap(), "");
        assert_eq!(sequences(&fasta, "\n>only a name").unwrap(), "\n");
        assert!(sequences(&fasta, "ACGT\n").unwrap_err().to_string().contains("not FASTA"));
    }

    #[test]
    fn fastq_takes_the_second_of_four_lines() {
        let fastq = Fastx::Fastq(Fastq::default());
        assert_eq!(sequences(&fastq, "@a\nACG\n+\n@II\n@b\r\nG\r\n+b\r\nI").unwrap(), "ACG\nG\n");
        assert_eq!(sequences(&fastq, "@empty\n\n+\n\n").unwrap(), "\n");
        assert_eq!(sequences(&fastq, "").unwrap(), "");
        let refused = |text| sequences(&fastq, text).unwrap_err().to_string();
        assert!(refused("@a\nACG\n+\nII\n").contains("line 4 is not FASTQ: 2 letters of quality for 3"));
        assert!(refused("@a\nACG\nACG\n+\n").contains("line 3"));
        assert!(refused("ACG\n").contains("line 1"));
        assert!(refused("@a\nACG\n").contains("ends inside a FASTQ record, after line 2"));
    }
}
