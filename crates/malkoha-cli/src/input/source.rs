//! The inputs, one after the other, as blocks of whole keys.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use super::block::Keying;
use super::column::{Column, Header, Layout};
use super::decode::decoded;
use super::fastx::{Fasta, Fastq, Fastx, looks_like_sequences};
use super::idle::{Idle, Stop};
use super::kmers::Rule;
use super::records::Style;
use crate::adjustable::Adjustable;
use crate::cli::Format;
use crate::message::note;

/// Bytes that are read at a time: with the hashes of its keys, a block fits in the L2 cache of common CPUs.
const BLOCK: Adjustable = Adjustable { size: 128 << 10, name: "MALKOHA_BLOCK_BYTES" };

/// The same for whole records, whose words are looked up a part at a time, so that only the text is as long.
const RECORDS_BLOCK: usize = 512 << 10;

/// The longest key. Longer ones mean that the input has another format than stated.
const MOST_KEY: usize = 256 << 20;

/// The bytes from which the end of a record is looked for only now and then: each time, all of it is read.
const LONG_RECORD: usize = 1 << 20;

/// Where a block comes from, and how its keys lie in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The number of the input, from 0 on.
    pub(crate) input: usize,
    pub(crate) keying: Keying,
    /// Whether it begins inside a sequence, with letters that the block before it ended with.
    pub(crate) continued: bool,
    /// Where the records of the second input begin, and how they lie, if there are two inputs side by side.
    pub(crate) mates: Option<(usize, Keying)>,
}

impl Default for Origin {
    fn default() -> Self {
        Self { input: 0, keying: Keying::Strings(b'\n'), continued: false, mates: None }
    }
}

/// Reads inputs and splits them into blocks.
pub(crate) struct Source {
    inputs: Arc<[PathBuf]>,
    /// The number of the next input that is opened.
    next: usize,
    format: Option<Format>,
    keying: Keying,
    column: Option<Column>,
    /// Whether a header was read.
    had_header: bool,
    open: Option<Open>,
    /// The part of the last block that is kept for the next one.
    kept: Vec<u8>,
    /// Whether that part was in the last block too.
    continued: bool,
    /// Buffer for what was read last, if it does not go directly into the block.
    piece: Vec<u8>,
    bar: ProgressBar,
    stop: Stop,
    /// Set if an input could not be read and was left out; `None` if that ends the program.
    left_out: Option<Arc<AtomicBool>>,
    /// Whether there are no messages about inputs.
    silent: bool,
}

/// An input that is being read.
struct Open {
    path: PathBuf,
    content: Box<dyn Read + Send>,
    /// The parser of sequences, for formats that have them; chosen by the first piece.
    fastx: Option<Fastx>,
    fresh: bool,
    /// Whether the next block is its first, which tells what it is.
    first: bool,
    /// Whether all of it was read.
    ended: bool,
    keying: Keying,
    /// Bytes that are read at a time.
    block_bytes: usize,
}

impl Source {
    /// Returns a source that reads the inputs in this way. Bytes read are shown on the bar.
    pub(crate) fn new(
        inputs: &[PathBuf],
        format: Option<Format>,
        words: Option<Rule>,
        column: Option<Column>,
        bar: ProgressBar,
    ) -> Self {
        let keying = match (format, words) {
            (_, Some(rule)) => Keying::Words(rule),
            (Some(Format::Nul), None) => Keying::Strings(0),
            (Some(Format::U64), None) => Keying::Numbers,
            _ => Keying::Strings(b'\n'),
        };
        Self { column, ..Self::of(inputs, format, keying, bar) }
    }

    /// Returns a source of whole records of FASTA and FASTQ, or of pairs of them, one after the other.
    pub(crate) fn of_records(inputs: &[PathBuf], paired: bool, bar: ProgressBar) -> Self {
        let keying = if paired { Keying::PairedRecords(None) } else { Keying::Records(None) };
        Self::of(inputs, None, keying, bar)
    }

    fn of(inputs: &[PathBuf], format: Option<Format>, keying: Keying, bar: ProgressBar) -> Self {
        Self {
            inputs: inputs.into(),
            next: 0,
            format,
            keying,
            column: None,
            had_header: false,
            open: None,
            kept: Vec::new(),
            continued: false,
            piece: Vec::new(),
            bar,
            stop: Stop::default(),
            left_out: None,
            silent: false,
        }
    }

    /// Returns the inputs, by whose numbers blocks say where they come from.
    pub(crate) fn inputs(&self) -> Arc<[PathBuf]> {
        self.inputs.clone()
    }

    /// Returns the handle that ends the wait for an idle input.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Makes the wait for an idle input end when that of another source ends.
    pub(super) fn stop_with(&mut self, other: &Self) {
        self.stop = other.stop.clone();
    }

    /// Makes inputs that cannot be read be left out. Returns what tells whether there were any.
    pub(crate) fn leave_out_unreadable(&mut self) -> Arc<AtomicBool> {
        self.left_out.get_or_insert_default().clone()
    }

    /// Makes no messages about inputs, if that is wanted.
    pub(crate) fn silent(&mut self, silent: bool) {
        self.silent = silent;
    }

    /// Replaces the content of `block` with the next block; `None` if there is none.
    pub(crate) fn next(&mut self, block: &mut Vec<u8>) -> Result<Option<Origin>> {
        loop {
            // Behind what was kept, the block keeps what it had: no reading needs it cleared.
            let begun = self.kept.len();
            block.resize(block.len().max(begun), 0);
            block[..begun].copy_from_slice(&self.kept);
            self.kept.clear();
            let continued = std::mem::take(&mut self.continued);
            let whole = match self.read_block(block, begun) {
                Ok(more) => more,
                Err(error) => {
                    self.leave_out(error)?;
                    self.ends_early(block)
                }
            };
            if !whole && self.open.is_none() && self.next == self.inputs.len() {
                return Ok(None);
            }
            if whole {
                match self.origin(block) {
                    Ok(origin) => return Ok(Some(Origin { continued, ..origin })),
                    Err(error) => self.leave_out(error)?,
                }
            }
            // Nothing of this input can be used.
            self.open = None;
            self.kept.clear();
            self.continued = false;
        }
    }

    /// Reports an input that cannot be read, or returns the error if that ends the program.
    fn leave_out(&self, error: anyhow::Error) -> Result<()> {
        let Some(left_out) = &self.left_out else { return Err(error) };
        left_out.store(true, Ordering::Relaxed);
        if !self.silent {
            note(format_args!("{error:#}"));
        }
        Ok(())
    }

    /// Ends an input that cannot be read further, and returns whether whole keys were read before that.
    fn ends_early(&mut self, block: &mut Vec<u8>) -> bool {
        let Some(open) = &mut self.open else { return false };
        let whole = open.keying.cut(block, 0);
        open.ended = true;
        block.truncate(whole.map_or(0, |(end, _)| end));
        whole.is_some()
    }

    /// Reads until `block`, which begins with so many bytes, has whole keys; `false` if there are no more.
    fn read_block(&mut self, block: &mut Vec<u8>, begun: usize) -> Result<bool> {
        // The size from which it is worth to look for the end of a record again, and where that was not yet done.
        let (mut enough, mut unsearched) = (0, begun);
        let mut fresh = begun;
        loop {
            if self.open.is_none() {
                block.truncate(fresh);
                if !self.open_next()? {
                    return Ok(false);
                }
            }
            let open = self.open.as_mut().expect("one was opened");
            let more = open.read(&mut self.piece, self.format, block, fresh);
            let keying = open.keying;
            let path = || name(&open.path);
            if !more.with_context(|| format!("cannot read {}", path()))? {
                if block.is_empty() {
                    self.open = None;
                    (fresh, unsearched) = (0, 0);
                    continue;
                }
                if keying == Keying::Numbers && !block.len().is_multiple_of(8) {
                    bail!("{}: not a whole number of integers of 8 bytes; is it complete?", path());
                }
                // Keys are written with their separators: the last key of a file must not run into the first of the
                // next.
                match keying {
                    Keying::Strings(end) if block.last() != Some(&end) => block.push(end),
                    Keying::Column(_) | Keying::Records(_) | Keying::PairedRecords(_)
                        if block.last() != Some(&b'\n') =>
                    {
                        block.push(b'\n');
                    }
                    _ => {}
                }
                if matches!(keying, Keying::Column(table) if table.last_end(block) != Some(block.len())) {
                    bail!("{} ends inside a field in quotes; is it complete?", path());
                }
                open.ended = true;
                return Ok(true);
            }
            if block.len() >= enough {
                if let Some((end, next)) = keying.cut(block, unsearched) {
                    self.kept.extend_from_slice(&block[next..]);
                    self.continued = next < end;
                    block.truncate(end);
                    return Ok(true);
                }
                unsearched = block.len();
            }
            if block.len() > MOST_KEY {
                let remedy = match keying {
                    Keying::Column(_) => "does a field in quotes have no end?",
                    Keying::Records(_) | Keying::PairedRecords(_) => "is it one of reads?",
                    _ => "do they end as the options say?",
                };
                let what = if keying.is_records() { "record" } else { "key" };
                bail!("{}: a {what} is longer than 256 MiB; {remedy}", path());
            }
            if (matches!(keying, Keying::Column(_)) || keying.is_records()) && block.len() > LONG_RECORD {
                enough = (2 * block.len()).min(MOST_KEY);
            }
            fresh = block.len();
        }
    }

    /// Opens the next input; `false` if there is none.
    fn open_next(&mut self) -> Result<bool> {
        let Some(path) = self.inputs.get(self.next).cloned() else { return Ok(false) };
        self.next += 1;
        let keying = match &self.column {
            Some(column) => Keying::Column(column.layout(&path.to_string_lossy())),
            None => self.keying,
        };
        self.open = Some(Open::new(path, keying, &self.bar, &self.stop)?);
        Ok(true)
    }

    /// Returns where a block that was just read comes from. The header of a table tells which column is which.
    fn origin(&mut self, block: &[u8]) -> Result<Origin> {
        let open = self.open.as_mut().expect("the block was read from it");
        let mut origin = Origin { input: self.next - 1, keying: open.keying, ..Origin::default() };
        let first = std::mem::take(&mut open.first);
        if let (Keying::Column(table), Some(column)) = (&mut open.keying, &self.column)
            && table.header != Header::Absent
        {
            let found = column.find(table, block).with_context(|| name(&open.path))?;
            let header = if self.had_header { Header::Repeated } else { Header::Wanted };
            origin.keying = Keying::Column(Layout { header, ..*table });
            if found {
                self.had_header = true;
                table.header = Header::Absent;
            }
        }
        if first
            && !self.silent
            && let Some(doubt) = doubt(self.format, open.keying, block)
        {
            note(format_args!("{} {doubt}", name(&open.path)));
        }
        if open.ended {
            self.open = None;
        }
        Ok(origin)
    }
}

impl Open {
    fn new(path: PathBuf, keying: Keying, bar: &ProgressBar, stop: &Stop) -> Result<Self> {
        let content = open(&path, bar, stop)?;
        let usual = if keying.is_records() { RECORDS_BLOCK } else { BLOCK.size };
        let block_bytes = BLOCK.told().unwrap_or(usual);
        Ok(Self { path, content, fastx: None, fresh: true, first: true, ended: false, keying, block_bytes })
    }

    /// Replaces what comes after the first `begun` bytes of a block by what is read next; `false` at the end. `piece`
    /// is a buffer for bytes that are not yet keys.
    fn read(
        &mut self,
        piece: &mut Vec<u8>,
        format: Option<Format>,
        block: &mut Vec<u8>,
        begun: usize,
    ) -> Result<bool> {
        if !self.fresh && self.fastx.is_none() {
            return Ok(self.append(block, begun)? > 0);
        }
        block.truncate(begun);
        self.append(piece, 0)?;
        if self.fresh {
            let is_told =
                self.keying.is_records() || matches!((format, self.keying), (None, Keying::Words(_)));
            // The format is told by the first letter. Empty lines before it are no part of a record.
            while is_told && !piece.is_empty() && piece.iter().all(u8::is_ascii_whitespace) {
                self.append(piece, 0)?;
            }
            self.fastx = fastx(format, self.keying, piece)?;
            self.keying = self.keying.of_style(Style::of(piece))?;
            self.fresh = false;
        }
        match &mut self.fastx {
            Some(fastx) if piece.is_empty() => fastx.finish(block)?,
            Some(fastx) => fastx.push(piece, block)?,
            None => block.extend_from_slice(piece),
        }
        Ok(!piece.is_empty())
    }

    /// Replaces what comes after the first `begun` bytes by what is read next, and returns the number of bytes; 0 at
    /// the end.
    fn append(&mut self, buffer: &mut Vec<u8>, begun: usize) -> io::Result<usize> {
        buffer.resize(begun + self.block_bytes, 0);
        let read = loop {
            match self.content.read(&mut buffer[begun..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        buffer.truncate(begun + *read.as_ref().unwrap_or(&0));
        read
    }
}

/// Opens an input, and returns its decompressed content. Bytes read are shown on the bar.
pub(crate) fn open(path: &Path, bar: &ProgressBar, stop: &Stop) -> Result<Box<dyn Read + Send>> {
    let idle = |input| -> io::Result<Box<dyn Read + Send>> { Ok(Box::new(Idle::new(input, stop.clone())?)) };
    let input = if is_standard_input(path) {
        idle(Box::new(io::stdin()))
    } else {
        File::open(path).and_then(|file| {
            let waits = !file.metadata()?.is_file();
            if waits { idle(Box::new(file)) } else { Ok(Box::new(file)) }
        })
    };
    let content = input.and_then(|input| decoded(Box::new(bar.wrap_read(input))));
    content.with_context(|| format!("cannot open {}", name(path)))
}

/// Returns the parser of sequences for a file that begins with this piece; `None` if its keys are not
/// sequences.
fn fastx(format: Option<Format>, keying: Keying, piece: &[u8]) -> Result<Option<Fastx>> {
    let fasta = || Some(Fastx::Fasta(Fasta::default()));
    let fastq = || Some(Fastx::Fastq(Fastq::default()));
    Ok(match (format, keying) {
        (Some(Format::Fasta), _) => fasta(),
        (Some(Format::Fastq), _) => fastq(),
        (None, Keying::Words(_)) => match piece.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None | Some(b'>') => fasta(),
            Some(b'@') => fastq(),
            Some(_) => bail!(
                "neither FASTA, which begins with >, nor FASTQ, which begins with @; --kmer takes only these"
            ),
        },
        (Some(_), Keying::Words(_)) => {
            bail!("--kmer takes sequences; give --format fasta or fastq, or leave out --kmer")
        }
        _ => None,
    })
}

/// Says why an input that begins with this block is probably not what it is read as; `None` if it may well be. Such
/// keys would never be found, and nobody would know why.
fn doubt(format: Option<Format>, keying: Keying, block: &[u8]) -> Option<&'static str> {
    let is_text = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' '..=b'~');
    match (format, keying) {
        (_, Keying::Strings(b'\n')) if block.starts_with(b"\xEF\xBB\xBF") => {
            Some("begins with a byte order mark, which is part of its first key; save it without one")
        }
        (_, Keying::Strings(b'\n') | Keying::Column(_))
            if block.starts_with(b"\xFF\xFE") || block.starts_with(b"\xFE\xFF") =>
        {
            Some("looks like UTF-16, whose keys are not found in UTF-8; convert it, as with iconv")
        }
        (None, Keying::Strings(b'\n')) if looks_like_sequences(block) => Some(
            "looks like FASTA or FASTQ, but its lines are the keys; for sequences give --format, for their words \
             build with --kmer",
        ),
        (_, Keying::Numbers) if block.contains(&b'\n') && block.iter().all(is_text) => {
            Some("looks like text, but every 8 bytes of it are read as an integer")
        }
        _ => None,
    }
}

/// Returns whether an input is standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the name of an input in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}
