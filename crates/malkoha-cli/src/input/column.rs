//! Tables: records of fields, one of which is the key.
//!
//! A record ends at a line end. With any delimiter but the tab, a field may be in quotes, as RFC 4180 has it: then it
//! may contain delimiters and line ends, and two quotes in it are one. Quotes inside other fields are ordinary letters.

use std::borrow::Cow;

use anyhow::{Result, bail};
use memchr::{memchr, memchr_iter, memchr2, memrchr};

use super::fastx::without_return;

const QUOTE: u8 = b'"';

/// Which column of a table has the keys, as the options say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) which: Which,
    /// What separates fields; by default the tab in files named so, and otherwise the comma.
    pub(crate) delimiter: Option<u8>,
    /// Whether tables begin with the names of their columns.
    pub(crate) header: bool,
}

/// A column by its name or its number, which begins at 0 here and at 1 in the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Named(String),
    Numbered(usize),
}

/// How the records of a block are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(super) delimiter: u8,
    pub(super) index: usize,
    /// Whether tables begin with the names of their columns.
    pub(super) has_names: bool,
    /// What the block begins with, before its first key.
    pub(super) header: Header,
}

/// What a table begins with, before its first key: the mark of UTF-8, which some programs write, and a record with the
/// names of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// The table began before the block.
    Absent,
    /// It belongs to the output.
    Wanted,
    /// It repeats that of an earlier input.
    Repeated,
}

/// Parses a delimiter.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [b'\n' | b'\r' | QUOTE] => Err("line ends and quotes cannot separate fields".to_owned()),
        [one] => Ok(*one),
        _ => Err("a delimiter is one letter of ASCII, or: tab".to_owned()),
    }
}

/// The columns that are named where one is not found.
const MOST_NAMES: usize = 20;

/// Parses a column: a number from 1 on, or a name.
pub(crate) fn which(text: &str) -> Result<Which, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("columns are counted from 1".to_owned()),
        Ok(number) => Ok(Which::Numbered(number - 1)),
        Err(_) if text.is_empty() => Err("give the name or the number of a column".to_owned()),
        Err(_) => Ok(Which::Named(text.to_owned())),
    }
}

impl Column {
    /// Returns how a file is read of which the name is known, before its header is.
    pub(super) fn layout(&self, name: &str) -> Layout {
        let mut parts = name.rsplit('.').map(str::to_ascii_lowercase);
        let mut last = parts.next().unwrap_or_default();
        if matches!(last.as_str(), "gz" | "zst" | "xz" | "bz2") {
            last = parts.next().unwrap_or_default();
        }
        let tabs = parts.next().is_some() && matches!(last.as_str(), "tsv" | "tab");
        let delimiter = self.delimiter.unwrap_or(if tabs { b'\t' } else { b',' });
        let index = if let Which::Numbered(index) = self.which { index } else { 0 };
        let has_names = self.header || matches!(self.which, Which::Named(_));
        Layout { delimiter, index, has_names, header: Header::Wanted }
    }

    /// Finds the column in the header of a table, which is its first record; `false` if the block has no record.
    pub(super) fn find(&self, layout: &mut Layout, block: &[u8]) -> Result<bool> {
        let header = &block[layout.before_header(block)..];
        if header.is_empty() {
            return Ok(false);
        }
        let Which::Named(wanted) = &self.which else { return Ok(true) };
        let (mut names, mut count, mut found) = (Vec::new(), 0, Vec::new());
        layout.record(header, |at, field| {
            let name = value(field, layout.quotes());
            if *name == *wanted.as_bytes() {
                found.push(at);
            }
            if at < MOST_NAMES {
                names.push(String::from_utf8_lossy(&name).into_owned());
            }
            count = at + 1;
        });
        let names = names.join(", ");
        match found[..] {
            [index] => layout.index = index,
            [] if count > MOST_NAMES => {
                bail!("there is no column {wanted}; its {count} columns begin with: {names}")
            }
            [] => bail!("there is no column {wanted}; its columns are: {names}"),
            [one, other, ..] => {
                let (one, other) = (one + 1, other + 1);
                bail!(
                    "columns {one} and {other} are both named {wanted}; give the number of one, and --header"
                )
            }
        }
        Ok(true)
    }
}

impl Layout {
    fn quotes(self) -> bool {
        self.delimiter != b'\t'
    }

    /// Returns the number of bytes before the first record of a block, if a table begins there; otherwise 0.
    fn before_header(self, block: &[u8]) -> usize {
        if self.header == Header::Absent {
            return 0;
        }
        let mark = if block.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        if self.has_names { mark + empty_lines(&block[mark..]) } else { mark }
    }

    /// Passes on the number and the text of every field of the first record, and returns where the record ends, after
    /// its line end; `None` if it has none.
    pub(super) fn record<'a>(self, data: &'a [u8], mut found: impl FnMut(usize, &'a [u8])) -> Option<usize> {
        let (mut at, mut begin) = (0, 0);
        loop {
            let mut from = begin;
            if self.quotes() && data.get(begin) == Some(&QUOTE) {
                from = begin + 1 + end_of_quotes(&data[begin + 1..])?;
            }
            let end = from + memchr2(self.delimiter, b'\n', &data[from..])?;
            let last = data[end] == b'\n';
            let field = &data[begin..end];
            found(at, if last { without_return(field) } else { field });
            if last {
                return Some(end + 1);
            }
            (at, begin) = (at + 1, end + 1);
        }
    }

    /// Returns where the last complete record of a block ends; `None` if there is none.
    pub(super) fn last_end(self, data: &[u8]) -> Option<usize> {
        if !self.quotes() || memchr(QUOTE, data).is_none() {
            return memrchr(b'\n', data).map(|at| at + 1);
        }
        let begin = self.before_header(data);
        let mut end = begin;
        while let Some(more) = self.record(&data[end..], |_, _| ()) {
            end += more;
        }
        Some(end).filter(|end| *end > begin)
    }

    /// Calls `found` with the end and the key of every record; lines that are empty are none. Returns where the header
    /// ends, and the line, counted from 0, of the first record that lacks the column: none is read from there on.
    pub(super) fn each(self, data: &[u8], mut found: impl FnMut(usize, &[u8])) -> (usize, Option<usize>) {
        let mut begin = self.before_header(data);
        if self.header != Header::Absent && self.has_names {
            begin += self.record(&data[begin..], |_, _| ()).unwrap_or(data.len() - begin);
        }
        // A mark that is alone goes with the first record.
        let header = if self.has_names || self.header == Header::Repeated { begin } else { 0 };
        loop {
            begin += empty_lines(&data[begin..]);
            let line = &data[begin..];
            if line.is_empty() {
                break;
            }
            let mut key = None;
            let end = self.record(line, |at, field| {
                if at == self.index {
                    key = Some(field);
                }
            });
            let (Some(end), Some(key)) = (end, key) else {
                return (header, Some(memchr_iter(b'\n', &data[..begin]).count()));
            };
            begin += end;
            found(begin, &value(key, self.quotes()));
        }
        (header, None)
    }
}

/// Returns the bytes of the empty lines that a text begins with.
fn empty_lines(text: &[u8]) -> usize {
    let mut at = 0;
    while let [b'\n', ..] | [b'\r', b'\n', ..] = text[at..] {
        at += 1 + usize::from(text[at] == b'\r');
    }
    at
}

/// Returns the position of the quote that ends a field, after the one that began it.
fn end_of_quotes(data: &[u8]) -> Option<usize> {
    let mut quotes = memchr_iter(QUOTE, data);
    loop {
        let at = quotes.next()?;
        if data.get(at + 1) != Some(&QUOTE) {
            return Some(at);
        }
        quotes.next();
    }
}

/// Returns what a field says: without its quotes, if it has any.
fn value(field: &[u8], quotes: bool) -> Cow<'_, [u8]> {
    let [QUOTE, inner @ ..] = field else { return Cow::Borrowed(field) };
    if !quotes {
        return Cow::Borrowed(field);
    }
    match end_of_quotes(inner) {
        Some(end) if memchr(QUOTE, &inner[..end]).is_none() && end + 1 == inner.len() => {
            Cow::Borrowed(&inner[..end])
        }
        Some(end) => {
            // Two quotes are one; what follows the last one is kept as it is.
            let mut text = Vec::with_capacity(inner.len());
            let mut skip = false;
            for &byte in &inner[..end] {
                skip = byte == QUOTE && !skip;
                if !skip {
                    text.push(byte);
                }
            }
            text.extend_from_slice(&inner[end + 1..]);
            Cow::Owned(text)
        }
        None => Cow::Borrowed(field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(delimiter: u8, index: usize) -> Layout {
        Layout { delimiter, index, has_names: false, header: Header::Absent }
    }

    /// Returns the ends and keys of all records.
    fn records(layout: Layout, data: &str) -> (Vec<(usize, String)>, Option<usize>) {
        let mut records = Vec::new();
        let (_, flaw) = layout.each(data.as_bytes(), |end, key| {
            records.push((end, String::from_utf8(key.to_vec()).unwrap()));
        });
        (records, flaw)
    }

    #[test]
    fn fields_are_read_as_rfc_4180_writes_them() {
        let keys = |delimiter, data: &str| -> Vec<String> {
            records(layout(delimiter, 1), data).0.into_iter().map(|(_, key)| key).collect()
        };
        assert_eq!(keys(b',', "a,b\nc,d,e\n,\n"), ["b", "d", ""]);
        assert_eq!(keys(b',', "\"x,\ny\",\"b\"\r\n1,\"\"\n"), ["b", ""]);
        assert_eq!(keys(b',', "a,\"say \"\"hi\"\"\"\n"), ["say \"hi\""]);
        assert_eq!(keys(b',', "a,\"\"\"\"\n"), ["\""]);
        assert_eq!(keys(b',', "a,5\" pipe,c\n"), ["5\" pipe"], "a quote inside a field is a letter");
        assert_eq!(keys(b',', "a,\"b\"c,d\n"), ["bc"], "what follows the quotes belongs to the field");
        assert_eq!(keys(b'\t', "a\t\"b\nc\t\"d\n"), ["\"b", "\"d"]);
        assert_eq!(keys(b',', "\n\r\na,b\n\n"), ["b"], "empty lines are no records");
    }

    #[test]
    fn the_first_record_without_the_column_is_told() {
        let (records, flaw) = records(layout(b',', 1), "a,\"b\nc\"\n\nd,e\nshort\nf,g\n");
        assert_eq!(records, [(8, "b\nc".to_owned()), (13, "e".to_owned())]);
        assert_eq!(flaw, Some(4));
    }

    #[test]
    fn blocks_end_where_records_do() {
        let ends = |delimiter, data: &str| layout(delimiter, 0).last_end(data.as_bytes());
        assert_eq!(ends(b',', "a,b\nc"), Some(4));
        assert_eq!(ends(b',', "a,b"), None);
        assert_eq!(ends(b',', "a,\"b\nc\nd"), None);
        assert_eq!(ends(b',', "a\nb,\"c\nd\"\n\"e\n"), Some(10));
        assert_eq!(ends(b',', "a,5\" pipe\nb"), Some(10));
        assert_eq!(ends(b'\t', "a\t\"b\nc"), Some(5));
    }

    #[test]
    fn columns_are_found_by_name() {
        let find = |name: &str, header: &str| {
            let column = Column { which: which(name).unwrap(), delimiter: None, header: true };
            let mut layout = column.layout("table.csv");
            column.find(&mut layout, header.as_bytes()).map(|_| layout.index)
        };
        assert_eq!(find("b", "a,b,c\n").unwrap(), 1);
        assert_eq!(find("a", "\u{feff}a,b\n").unwrap(), 0, "the mark is no part of the name");
        assert_eq!(find("a", "\u{feff}\"a\",b\n").unwrap(), 0);
        assert_eq!(find("x, y", "a,\"x, y\"\n").unwrap(), 1);
        assert_eq!(find("3", "a,b,c\n").unwrap(), 2);
        assert!(find("d", "a,b\n").unwrap_err().to_string().contains("its columns are: a, b"));
    }

    #[test]
    fn names_of_files_tell_the_delimiter() {
        let column = Column { which: Which::Numbered(0), delimiter: None, header: false };
        for (name, expected) in
            [("a.csv", b','), ("a.TSV", b'\t'), ("a.tab.gz", b'\t'), ("-", b','), ("tsv", b',')]
        {
            assert_eq!(column.layout(name).delimiter, expected, "{name}");
        }
    }
}
