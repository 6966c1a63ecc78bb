//! Whole records of FASTA and FASTQ in blocks, with their text as it is: where blocks are cut, and what is in them.
//!
//! `fastx.rs` reads the same formats where only sequences matter, which may be longer than any block.

use memchr::{memchr, memchr_iter, memrchr};

use super::fastx::{self, without_return};

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Fasta,
    Fastq,
}

impl Style {
    /// Returns the format of a text that begins like this; `None` if it is neither. An empty text is either.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None | Some(b'>') => Some(Self::Fasta),
            Some(b'@') => Some(Self::Fastq),
            Some(_) => None,
        }
    }
}

/// Where a record lies in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// Where its sequence begins and ends.
    sequence: (usize, usize),
    /// Whether its sequence may have several lines.
    has_lines: bool,
}

/// Where a sequence lies in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the block, from here to there.
    Block(usize, usize),
    /// In the buffer for sequences of several lines.
    Joined(usize, usize),
}

impl Place {
    /// Returns the sequence.
    #[inline]
    pub(crate) fn get<'a>(&self, block: &'a [u8], joined: &'a [u8]) -> &'a [u8] {
        match *self {
            Self::Block(begin, end) => &block[begin..end],
            Self::Joined(begin, end) => &joined[begin..end],
        }
    }

    pub(crate) fn len(&self) -> usize {
        let (Self::Block(begin, end) | Self::Joined(begin, end)) = *self;
        end - begin
    }
}

impl Record {
    /// Returns the same record in a block in which it begins so much later.
    pub(crate) fn moved(self, by: usize) -> Self {
        let sequence = (self.sequence.0 + by, self.sequence.1 + by);
        Self { begin: self.begin + by, end: self.end + by, sequence, ..self }
    }

    /// Returns where its sequence is. If it has several lines, they are appended to `joined` as one.
    #[inline]
    pub(crate) fn place(&self, block: &[u8], joined: &mut Vec<u8>) -> Place {
        let (begin, end) = self.sequence;
        if !self.has_lines {
            return Place::Block(begin, begin + without_return(&block[begin..end]).len());
        }
        let at = joined.len();
        for line in block[begin..end].split(|byte| *byte == b'\n') {
            joined.extend_from_slice(without_return(line));
        }
        Place::Joined(at, joined.len())
    }
}

/// What a text begins with.
enum Next {
    Record(Record),
    /// Nothing but empty lines.
    Nothing,
    /// A record that goes on where the text ends.
    Unfinished,
    Flaw(String),
}

/// Finds the record that begins at `at`, or behind empty lines there.
#[inline]
fn next(style: Style, text: &[u8], mut at: usize) -> Next {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    if at == text.len() {
        return Next::Nothing;
    }
    match style {
        Style::Fasta => next_fasta(text, at),
        Style::Fastq => next_fastq(text, at),
    }
}

fn next_fasta(text: &[u8], begin: usize) -> Next {
    if text[begin] != b'>' {
        return Next::Flaw(fastx::NOT_FASTA.to_owned());
    }
    let Some(name) = memchr(b'\n', &text[begin..]) else { return Next::Unfinished };
    let sequence = begin + name + 1;
    // A name may have a > too, but not at the beginning of a line.
    let (mut from, mut lines) = (sequence - 1, 0);
    let end = loop {
        let Some(line) = memchr(b'\n', &text[from..]) else { return Next::Unfinished };
        from += line + 1;
        lines += 1;
        if text.get(from).is_none_or(|byte| *byte == b'>') {
            break from;
        }
    };
    // Without the last line end, which the name has if there is no sequence.
    let inside = (sequence, (end - 1).max(sequence));
    Next::Record(Record { begin, end, sequence: inside, has_lines: lines > 2 })
}

#[inline]
fn next_fastq(text: &[u8], begin: usize) -> Next {
    if text[begin] != b'@' {
        return Next::Flaw(fastx::NO_AT.to_owned());
    }
    let line_end = |from: usize| memchr(b'\n', &text[from..]).map(|length| from + length);
    let Some(name) = line_end(begin) else { return Next::Unfinished };
    let Some(end) = line_end(name + 1) else { return Next::Unfinished };
    let sequence = (name + 1, end);
    match text.get(end + 1) {
        Some(b'+') => {}
        Some(_) => return Next::Flaw(fastx::NO_PLUS.to_owned()),
        None => return Next::Unfinished,
    }
    let Some(plus) = line_end(end + 1) else { return Next::Unfinished };
    // Quality is as long as the sequence, so its end need not be looked for.
    let quality = plus + 1;
    let expected = quality + (sequence.1 - sequence.0);
    let last = |from: usize, to: usize| text[from..to].last() == Some(&b'\r');
    let is_as_long = text.get(expected) == Some(&b'\n')
        && memchr(b'\n', &text[quality..expected]).is_none()
        && last(quality, expected) == last(sequence.0, sequence.1);
    let end = if is_as_long {
        expected
    } else {
        let Some(end) = line_end(quality) else { return Next::Unfinished };
        let letters = |from, to| without_return(&text[from..to]).len();
        let (letters, quality) = (letters(sequence.0, sequence.1), letters(quality, end));
        if letters != quality {
            return Next::Flaw(fastx::lengths_differ(quality, letters));
        }
        end
    };
    Next::Record(Record { begin, end: end + 1, sequence, has_lines: false })
}

/// Calls `act` with every record of a block. Returns what is wrong with the one after the last of them, if anything is.
pub(crate) fn each(style: Style, text: &[u8], mut act: impl FnMut(Record)) -> Option<String> {
    let mut at = 0;
    loop {
        match next(style, text, at) {
            Next::Record(record) => {
                at = record.end;
                act(record);
            }
            Next::Nothing => return None,
            Next::Unfinished => return Some("the file ends inside it; is the file complete?".to_owned()),
            Next::Flaw(what) => return Some(what),
        }
    }
}

/// Returns the ends of all records of a text, as far as they are sound, and whether there is a flaw after them.
pub(super) fn ends(style: Style, text: &[u8]) -> (Vec<usize>, bool) {
    let (mut ends, mut at) = (Vec::new(), 0);
    loop {
        match next(style, text, at) {
            // Whether a record of FASTA has ended, the next one tells.
            Next::Record(record) if style == Style::Fasta && record.end == text.len() => {
                return (ends, false);
            }
            Next::Record(record) => {
                at = record.end;
                ends.push(at);
            }
            Next::Nothing | Next::Unfinished => return (ends, false),
            Next::Flaw(_) => return (ends, true),
        }
    }
}

/// Returns where a block that is not the last may end so that no record is split; `None` if no record has ended. No
/// record of FASTA ends before `fresh`. Whatever comes after a flaw does not matter: it will be found when the block
/// is read.
pub(super) fn last_end(style: Style, text: &[u8], fresh: usize) -> Option<usize> {
    match style {
        Style::Fasta => {
            let mut to = text.len();
            let from = fresh.saturating_sub(1);
            while let Some(at) = memrchr(b'>', &text[from..to]).map(|at| from + at) {
                if at > 0 && text[at - 1] == b'\n' {
                    return Some(at);
                }
                to = at;
            }
            None
        }
        Style::Fastq => last_four_lines(text).or_else(|| {
            let (ends, flaw) = ends(style, text);
            if flaw { memrchr(b'\n', text).map(|at| at + 1) } else { ends.last().copied() }
        }),
    }
}

/// Returns the last end of records of four lines, unless empty lines between them have upset the count.
fn last_four_lines(text: &[u8]) -> Option<usize> {
    let lines = memchr_iter(b'\n', text).count();
    let line_before = |end: usize| {
        text[..end].len().checked_sub(1).map(|end| memrchr(b'\n', &text[..end]).map_or(0, |at| at + 1))
    };
    let mut end = memrchr(b'\n', text)? + 1;
    for _ in 0..lines % 4 {
        end = line_before(end)?;
    }
    // If the count is wrong, the first of these lines is no name, or the third is a sequence, a name or a quality whose
    // record has no name here.
    let mut begins = [0; 4];
    let mut line = end;
    for begin in begins.iter_mut().rev() {
        line = line_before(line)?;
        *begin = line;
    }
    (text[begins[0]] == b'@' && text[begins[2]] == b'+').then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(style: Style, text: &str) -> (Vec<(String, String)>, Option<String>) {
        let mut all = Vec::new();
        let flaw = each(style, text.as_bytes(), |record| {
            let mut joined = b"other".to_vec();
            let place = record.place(text.as_bytes(), &mut joined);
            let sequence = place.get(text.as_bytes(), &joined).to_vec();
            all.push((text[record.begin..record.end].to_owned(), String::from_utf8(sequence).unwrap()));
        });
        (all, flaw)
    }

    fn of(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(text, sequence)| ((*text).to_owned(), (*sequence).to_owned())).collect()
    }

    #[test]
    fn records_are_told_apart_and_keep_their_text() {
        let (records, flaw) = texts(Style::Fasta, "\n>a > b\nACG\r\nT\r\n\n>c\n>d\nGG\n");
        let expected = [(">a > b\nACG\r\nT\r\n\n", "ACGT"), (">c\n", ""), (">d\nGG\n", "GG")];
        assert_eq!((records, flaw), (of(&expected), None));
        let fastq = "@a\nACG\n+a\n@II\n\n@b\r\nG\r\n+\r\nI\r\n@c\n\n+\n\n";
        let expected = [("@a\nACG\n+a\n@II\n", "ACG"), ("@b\r\nG\r\n+\r\nI\r\n", "G"), ("@c\n\n+\n\n", "")];
        assert_eq!(texts(Style::Fastq, fastq), (of(&expected), None));
        assert_eq!(
            texts(Style::Fastq, "@a\nAC\n+\nI\r\n\n").1.unwrap(),
            "1 letters of quality for 2 of sequence"
        );
        for (text, why) in [
            ("ACG\n", "begins with @"),
            ("@a\nACG\nACG\n+\n", "+ is expected"),
            ("@a\nACG\n+\nII\n", "2 letters of quality for 3"),
            ("@a\nACG\n+\nIIII\n", "4 letters of quality for 3"),
            ("@a\nACG\n+\n", "ends inside"),
            ("@a\nACG\n", "ends inside"),
        ] {
            assert!(texts(Style::Fastq, text).1.unwrap().contains(why), "{text}");
        }
        assert!(texts(Style::Fasta, "ACG\n").1.unwrap().contains("not FASTA"));
    }

    #[test]
    fn blocks_are_cut_between_records() {
        let fastq = "@a\nA\n+\nI\n@@b\nAC\n+\n@+\n\n@c\n\n+\n\n\n\n@+\nACG\n+\n+II\n\n\n\n\n@d\nT\n+\n@\n";
        let (mut ends, mut at) = (Vec::new(), 0);
        for (record, _) in texts(Style::Fastq, fastq).0 {
            at += fastq[at..].find(&record).unwrap() + record.len();
            ends.push(at);
        }
        assert_eq!(ends.len(), 5);
        for length in 0..=fastq.len() {
            let cut = last_end(Style::Fastq, &fastq.as_bytes()[..length], 0).unwrap_or(0);
            let last = ends.iter().rev().find(|end| **end <= length).copied().unwrap_or(0);
            let only_empty = fastq.as_bytes()[last..cut.max(last)].iter().all(|byte| *byte == b'\n');
            assert!(cut >= last && only_empty, "{cut} and not {last} of {length}");
        }
        let fasta = b">a\nAC\n>b >\nG\n";
        assert_eq!(last_end(Style::Fasta, fasta, 0), Some(6));
        assert_eq!(last_end(Style::Fasta, &fasta[..6], 0), None);
        assert_eq!(last_end(Style::Fasta, fasta, 7), Some(6));
        assert_eq!(last_end(Style::Fastq, b"no\nFASTQ\nat\nall\n@", 0), Some(16), "the flaw is in the block");
    }
}
