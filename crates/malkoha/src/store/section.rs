//! Sections: bytes that end in their own checksum.
//!
//! ```text
//!   +-----------------------+---------------+----------+
//!   | content               | zeros         | checksum |     whole lines of 64 bytes
//!   +-----------------------+---------------+----------+
//! ```
//!
//! The checksum is XXH3-64 of everything before it in the section, seeded with the checksum of the previous
//! section, so a section is valid only after the one it was written after.

use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;

use xxhash_rust::xxh3::Xxh3;

use crate::bits::Words;
use crate::bits::slices::{bytes_of, bytes_of_mut, touch_pages};
use crate::engine::threads::{both, spawn};
use crate::error::Error;

use super::format::{CHECKSUM_BYTES, Form, LINE_BYTES, MAGIC, NEWEST_VERSION, PREFIX_BYTES};

/// Bytes read or written at a time: few enough to be still in the cache when they are hashed.
pub(super) const CHUNK_BYTES: usize = 1 << 16;

/// The size in bytes from which a table is worth a second thread (`malkoha-bench store`).
pub(super) const MANY_BYTES: usize = 1 << 22;

/// The most bytes of padding and checksum.
const MOST_TAIL_BYTES: usize = 72;

/// The size of a section with `content` bytes of content; `None` if it overflows.
pub(super) fn section_bytes(content: u64) -> Option<u64> {
    content.checked_add(CHECKSUM_BYTES)?.checked_next_multiple_of(LINE_BYTES)
}

/// Writes a section.
pub(super) struct SectionWriter<'a> {
    out: &'a mut dyn Write,
    hash: Xxh3,
    content: u64,
}

impl<'a> SectionWriter<'a> {
    /// Begins a section after one with the checksum `before`, 0 for the first.
    pub(super) fn new(out: &'a mut dyn Write, before: u64) -> Self {
        Self { out, hash: Xxh3::with_seed(before), content: 0 }
    }

    /// Writes content.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.content += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes numbers, eight bytes each.
    pub(super) fn put_numbers(&mut self, numbers: &[u64]) -> io::Result<()> {
        let mut buffer = [0; 4096];
        for numbers in numbers.chunks(buffer.len() / 8) {
            let bytes = &mut buffer[..numbers.len() * 8];
            for (bytes, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
                *bytes = number.to_le_bytes();
            }
            self.put(bytes)?;
        }
        Ok(())
    }

    /// Writes a table. A large one is hashed while it is written.
    pub(super) fn put_words(&mut self, words: &[u64]) -> io::Result<()> {
        if cfg!(target_endian = "big") {
            return self.put_numbers(words);
        }
        let bytes = bytes_of(words);
        if bytes.len() < MANY_BYTES {
            return bytes.chunks(CHUNK_BYTES).try_for_each(|chunk| self.put(chunk));
        }
        let (hash, out) = (&self.hash, &mut *self.out);
        let (hash, written) = both(|| updated(hash.clone(), bytes), || out.write_all(bytes));
        self.hash = hash;
        self.content += bytes.len() as u64;
        written
    }

    /// Writes the padding and the checksum, and returns the checksum.
    pub(super) fn end(mut self) -> io::Result<u64> {
        let padding = (2 * LINE_BYTES - CHECKSUM_BYTES - self.content % LINE_BYTES) % LINE_BYTES;
        #[expect(clippy::cast_possible_truncation, reason = "less than a line")]
        self.put(&[0; LINE_BYTES as usize][..padding as usize])?;
        let checksum = self.hash.digest();
        self.out.write_all(&checksum.to_le_bytes())?;
        Ok(checksum)
    }
}

/// Bytes that are being read.
pub(crate) struct Input<'a> {
    from: &'a mut dyn Read,
    path: &'a Path,
    /// Bytes read so far.
    offset: u64,
    /// Bytes that are left; in a stream, as many as can be counted.
    left: u64,
    /// Whether only the end will tell how many bytes there are.
    stream: bool,
    /// The prefix, after it was examined and before it counts as read.
    prefix: Option<[u8; PREFIX_BYTES]>,
}

impl<'a> Input<'a> {
    /// An input of `bytes` bytes; errors name `path`.
    pub(super) fn new(from: &'a mut dyn Read, bytes: u64, path: &'a Path) -> Self {
        Self { from, path, offset: 0, left: bytes, stream: false, prefix: None }
    }

    /// An input of an unknown number of bytes.
    pub(super) fn stream(from: &'a mut dyn Read) -> Self {
        Self { from, path: Path::new(""), offset: 0, left: u64::MAX, stream: true, prefix: None }
    }

    /// The number of bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof if self.stream => {
                Error::corrupt("input", self.offset, "the bytes end inside what begins here")
            }
            _ => Error::io("read", self.path, error),
        })
    }

    /// The form that the bytes from here on declare. Does not count as reading.
    pub(crate) fn form(&mut self) -> Result<Form, Error> {
        let [magic, what, ..] = self.prefix()?;
        if magic != u64::from_le_bytes(MAGIC) {
            return Err(Error::corrupt("magic", self.offset, "these are not the bytes of a filter"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "two numbers in one")]
        let (version, form) = (what as u32, (what >> 32) as u32);
        if version > NEWEST_VERSION {
            let what = format!("{version} where {NEWEST_VERSION} is the newest that is known");
            return Err(Error::Newer { part: "version", offset: self.offset + 8, what });
        }
        if version == 0 {
            return Err(Error::corrupt("version", self.offset + 8, "there is no version 0"));
        }
        let unknown = || format!("{form} is unknown");
        let newer = || Error::Newer { part: "form", offset: self.offset + 12, what: unknown() };
        Form::from_number(form).ok_or_else(newer)
    }

    /// The first numbers from here on. Does not count as reading.
    pub(super) fn prefix(&mut self) -> Result<[u64; PREFIX_BYTES / 8], Error> {
        let mut prefix = [0; PREFIX_BYTES];
        if let Some(seen) = self.prefix {
            prefix = seen;
        } else {
            self.need("prefix", PREFIX_BYTES as u64)?;
            self.read(&mut prefix)?;
            self.prefix = Some(prefix);
        }
        Ok(core::array::from_fn(|i| u64::from_le_bytes(prefix.as_chunks().0[i])))
    }

    /// Refuses any other form.
    pub(super) fn expect(&mut self, form: Form) -> Result<(), Error> {
        match self.form()? {
            got if got == form => Ok(()),
            got => Err(Error::Form { expected: form.name(), got: got.name() }),
        }
    }

    /// Fails if fewer than `bytes` bytes are left.
    pub(super) fn need(&self, section: &'static str, bytes: u64) -> Result<(), Error> {
        if bytes <= self.left {
            return Ok(());
        }
        let what = format!("the bytes end here, {} too few", bytes - self.left);
        Err(Error::corrupt(section, self.offset + self.left, what))
    }

    /// Reads a section with `content` bytes of content, passes them to `sink`, and verifies it. Returns its checksum.
    pub(super) fn section(
        &mut self,
        name: &'static str,
        (content, before): (u64, u64),
        mut sink: impl FnMut(&[u8]),
    ) -> Result<u64, Error> {
        self.need_section(name, content)?;
        let mut hash = Xxh3::with_seed(before);
        let mut buffer = vec![0; smaller(content, CHUNK_BYTES).max(PREFIX_BYTES)];
        let mut left = content;
        while left > 0 {
            let chunk = &mut buffer[..smaller(left, CHUNK_BYTES)];
            match self.prefix.take() {
                Some(prefix) => {
                    chunk[..PREFIX_BYTES].copy_from_slice(&prefix);
                    self.read(&mut chunk[PREFIX_BYTES..])?;
                }
                None => self.read(chunk)?,
            }
            hash.update(chunk);
            sink(chunk);
            left -= chunk.len() as u64;
        }
        self.end_section(name, content, hash)
    }

    /// Reads a section whose content is a table into `words`, and verifies it. Returns its checksum.
    pub(super) fn section_of_words(
        &mut self,
        name: &'static str,
        before: u64,
        words: &mut [u64],
    ) -> Result<u64, Error> {
        debug_assert!(self.prefix.is_none(), "a table is never first");
        let bytes = size_of_val(words);
        self.need_section(name, bytes as u64)?;
        let mut hash = Xxh3::with_seed(before);
        // Clearing the pages of a new table takes longer than reading and hashing it (docs/NOTEBOOK.md, "Opening with
        // two threads"). So if it is large, another thread touches the last five eighths of its pages while this one
        // reads into the others: both finish at about the same time.
        let front = if bytes < MANY_BYTES { 0 } else { words.len() / 8 * 3 };
        let (front, back) = words.split_at_mut(front);
        thread::scope(|scope| {
            if !front.is_empty() {
                spawn(scope, || touch_pages(back));
            }
            self.read_words(front, &mut hash)
        })?;
        self.read_words(back, &mut hash)?;
        let checksum = self.end_section(name, bytes as u64, hash)?;
        if cfg!(target_endian = "big") {
            for word in words {
                *word = u64::from_le(*word);
            }
        }
        Ok(checksum)
    }

    /// Reads words as stored, and hashes them while they are in the cache.
    fn read_words(&mut self, words: &mut [u64], hash: &mut Xxh3) -> Result<(), Error> {
        for chunk in bytes_of_mut(words).chunks_mut(CHUNK_BYTES) {
            self.read(chunk)?;
            hash.update(chunk);
        }
        Ok(())
    }

    /// Reads a section whose content is a table of `bits` bits, into memory from `take`, and verifies it. Also
    /// returns its checksum.
    pub(super) fn table(
        &mut self,
        before: u64,
        bits: u64,
        take: fn(u64) -> Result<Words, Error>,
    ) -> Result<(Words, u64), Error> {
        let name = "table";
        if !self.stream {
            let mut words = take(bits)?;
            let checksum = self.section_of_words(name, before, &mut words)?;
            return Ok((words, checksum));
        }
        // A stream may be shorter than its header says: memory is taken as bytes arrive, and for the table when all of
        // them are there.
        let (mut arrived, mut exhausted) = (Vec::new(), false);
        let bytes = Words::bytes_for(bits);
        let checksum = self.section(name, (bytes, before), |chunk| {
            exhausted |= arrived.try_reserve(chunk.len()).is_err();
            if !exhausted {
                arrived.extend_from_slice(chunk);
            }
        })?;
        if exhausted {
            return Err(Error::Allocation { bytes });
        }
        let mut words = take(bits)?;
        for (word, bytes) in words.iter_mut().zip(arrived.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok((words, checksum))
    }

    /// Fails if there are too few bytes for a section with `content` bytes of content.
    fn need_section(&self, name: &'static str, content: u64) -> Result<(), Error> {
        let uncountable = || Error::corrupt(name, self.offset, "it is larger than can be counted");
        self.need(name, section_bytes(content).ok_or_else(uncountable)?)
    }

    /// Reads what follows the content of a section, and verifies the section.
    fn end_section(&mut self, name: &'static str, content: u64, hash: Xxh3) -> Result<u64, Error> {
        let bytes = section_bytes(content).expect("it is there");
        let tail = &mut [0; MOST_TAIL_BYTES][..smaller(bytes - content, usize::MAX)];
        self.read(tail)?;
        let checksum = verify_tail((name, self.offset), content, hash, tail)?;
        self.offset += bytes;
        self.left -= bytes;
        Ok(checksum)
    }

    /// Skips a section with `content` bytes of content without reading it, for inputs that are not read further.
    pub(super) fn skip_section(&mut self, content: u64) -> Result<(), Error> {
        let bytes = section_bytes(content).unwrap_or(u64::MAX);
        self.need("table", bytes)?;
        self.offset += bytes;
        self.left -= bytes;
        Ok(())
    }

    /// Fails if bytes are left.
    pub(super) fn end(self) -> Result<(), Error> {
        if self.stream {
            let more = self.from.take(1).read_to_end(&mut Vec::new());
            return match more.map_err(|error| Error::io("read", self.path, error))? {
                0 => Ok(()),
                _ => Err(Error::corrupt("end", self.offset, "there are more bytes after the last section")),
            };
        }
        if self.left == 0 {
            return Ok(());
        }
        let what = match self.left {
            1 => "there is a byte after the last section".to_owned(),
            left => format!("there are {left} bytes after the last section"),
        };
        Err(Error::corrupt("end", self.offset, what))
    }
}

/// Verifies a section of an input in memory, given its name and offset. Returns its checksum.
pub(super) fn verify_section(
    section: (&'static str, u64),
    (content, before): (u64, u64),
    input: &[u8],
) -> Result<u64, Error> {
    let begin = smaller(section.1, usize::MAX);
    let bytes = &input[begin..][..smaller(section_bytes(content).unwrap_or(u64::MAX), usize::MAX)];
    let (head, tail) = bytes.split_at(smaller(content, usize::MAX));
    verify_tail(section, content, updated(Xxh3::with_seed(before), head), tail)
}

/// Verifies what follows the content of a section, and returns the checksum.
fn verify_tail(
    (name, begin): (&'static str, u64),
    content: u64,
    hash: Xxh3,
    tail: &[u8],
) -> Result<u64, Error> {
    let (padding, checksum) = tail.split_last_chunk::<8>().expect("every section has a checksum");
    let (expected, got) = (updated(hash, padding).digest(), u64::from_le_bytes(*checksum));
    if got != expected {
        let what = format!("its checksum is {got:#018x} and not {expected:#018x}");
        return Err(Error::corrupt(name, begin, what));
    }
    if let Some(at) = padding.iter().position(|byte| *byte != 0) {
        let what = "a padding byte is not zero";
        return Err(Error::corrupt(name, begin + content + at as u64, what));
    }
    Ok(got)
}

/// The hash after more bytes.
fn updated(mut hash: Xxh3, bytes: &[u8]) -> Xxh3 {
    hash.update(bytes);
    hash
}

/// The smaller of two numbers of bytes.
fn smaller(bytes: u64, most: usize) -> usize {
    usize::try_from(bytes).map_or(most, |bytes| bytes.min(most))
}
