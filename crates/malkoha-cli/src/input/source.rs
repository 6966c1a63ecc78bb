//! The inputs, one after the other, as blocks of whole keys.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use super::block::Keying;
use super::decode::decoded;
use super::fastx::{Fasta, Fastq, Fastx};
use super::idle::{Idle, Stop};
use crate::adjustable::Adjustable;
use crate::cli::Format;

/// Bytes that are read at a time: with the hashes of its keys, a block fits in the L2 cache of common CPUs.
const BLOCK: Adjustable = Adjustable { size: 128 << 10, name: "MALKOHA_BLOCK_BYTES" };

/// The longest key. Longer ones mean that the input has another format than stated.
const MOST_KEY: usize = 256 << 20;

/// Reads inputs and splits them into blocks.
pub(crate) struct Source {
    /// Inputs that are not opened yet, the next one last.
    waiting: Vec<PathBuf>,
    format: Option<Format>,
    keying: Keying,
    open: Option<Open>,
    /// The part of the last block that is kept for the next one.
    kept: Vec<u8>,
    /// Buffer for what was read last, if it does not go directly into the block.
    piece: Vec<u8>,
    bar: ProgressBar,
    stop: Stop,
}

/// An input that is being read.
struct Open {
    path: PathBuf,
    content: Box<dyn Read + Send>,
    /// The parser of sequences, for formats that have them; chosen by the first piece.
    fastx: Option<Fastx>,
    fresh: bool,
    /// Bytes that are read at a time.
    block_bytes: usize,
}

impl Source {
    /// Returns a source that reads the inputs in this way. Bytes read are shown on the bar.
    pub(crate) fn new(
        inputs: &[PathBuf],
        format: Option<Format>,
        kmer: Option<u32>,
        bar: ProgressBar,
    ) -> Self {
        let keying = match (format, kmer) {
            (_, Some(k)) => Keying::Words(k),
            (Some(Format::Nul), None) => Keying::Strings(0),
            (Some(Format::U64), None) => Keying::Numbers,
            _ => Keying::Strings(b'\n'),
        };
        let waiting = inputs.iter().rev().cloned().collect();
        Self {
            waiting,
            format,
            keying,
            open: None,
            kept: Vec::new(),
            piece: Vec::new(),
            bar,
            stop: Stop::default(),
        }
    }

    /// Returns how keys are laid out in the blocks.
    pub(crate) fn keying(&self) -> Keying {
        self.keying
    }

    /// Returns the handle that ends the wait for an idle input.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Replaces the content of `block` with the next block; `false` if there is none.
    pub(crate) fn next(&mut self, block: &mut Vec<u8>) -> Result<bool> {
        block.clear();
        block.append(&mut self.kept);
        loop {
            let open = match &mut self.open {
                Some(open) => open,
                None => match self.waiting.pop() {
                    Some(path) => self.open.insert(Open::new(path, &self.bar, &self.stop)?),
                    None => return Ok(false),
                },
            };
            let fresh = block.len();
            let more = open.read(&mut self.piece, self.format, self.keying, block);
            if !more.with_context(|| format!("cannot read {}", name(&open.path)))? {
                let path = self.open.take().map(|open| open.path);
                if self.keying == Keying::Numbers && !block.len().is_multiple_of(8) {
                    let path = path.unwrap_or_default();
                    bail!("{}: not a whole number of integers of 8 bytes; is it complete?", name(&path));
                }
                match (self.keying, block.last()) {
                    (_, None) => continue,
                    // Keys are written with their separators: the last key of a file must not run into the
                    // first of the next.
                    (Keying::Strings(separator), Some(last)) if *last != separator => block.push(separator),
                    _ => {}
                }
                return Ok(true);
            }
            if let Some((end, next)) = self.keying.cut(block, fresh) {
                self.kept.extend_from_slice(&block[next..]);
                block.truncate(end);
                return Ok(true);
            }
            if block.len() > MOST_KEY {
                let path = name(&open.path);
                bail!("{path}: a key is longer than 256 MiB; give what separates keys with --format");
            }
        }
    }
}

impl Open {
    fn new(path: PathBuf, bar: &ProgressBar, stop: &Stop) -> Result<Self> {
        let content = open(&path, bar, stop)?;
        Ok(Self { path, content, fastx: None, fresh: true, block_bytes: BLOCK.get() })
    }

    /// Appends what is read next to a block; `false` at the end. `piece` is a buffer for bytes that are not
    /// yet keys.
    fn read(
        &mut self,
        piece: &mut Vec<u8>,
        format: Option<Format>,
        keying: Keying,
        block: &mut Vec<u8>,
    ) -> Result<bool> {
        if !self.fresh && self.fastx.is_none() {
            return Ok(self.append(block)? > 0);
        }
        piece.clear();
        self.append(piece)?;
        if self.fresh {
            self.fastx = fastx(format, keying, piece)?;
            self.fresh = false;
        }
        match &mut self.fastx {
            Some(fastx) if piece.is_empty() => fastx.finish(block)?,
            Some(fastx) => fastx.push(piece, block)?,
            None => block.extend_from_slice(piece),
        }
        Ok(!piece.is_empty())
    }

    /// Appends what is read next, and returns the number of bytes; 0 at the end.
    fn append(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let before = buffer.len();
        buffer.resize(before + self.block_bytes, 0);
        let read = loop {
            match self.content.read(&mut buffer[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        read
    }
}

/// Opens an input, and returns its decompressed content. Bytes read are shown on the bar.
pub(crate) fn open(path: &Path, bar: &ProgressBar, stop: &Stop) -> Result<Box<dyn Read + Send>> {
    let idle = |input| -> Box<dyn Read + Send> { Box::new(Idle::new(input, stop.clone())) };
    let input = if is_standard_input(path) {
        Ok(idle(Box::new(io::stdin())))
    } else {
        File::open(path).and_then(|file| {
            let waits = !file.metadata()?.is_file();
            Ok(if waits { idle(Box::new(file)) } else { Box::new(file) })
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

/// Returns whether an input is standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the name of an input in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}
