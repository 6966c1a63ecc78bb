//! Filters of the engine in chunks, as commands carry them.
//!
//! `MK.EXPORT` and `MK.IMPORT` say at which byte a chunk begins and how many bytes there are in all. `CF.SCANDUMP` and
//! `CF.LOADCHUNK` have one number for this, as RedisBloom's filters do: a [`Position`].

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::server::stream::Rewriter;

/// The most bytes of a chunk: as many as the server copies and sends in a millisecond or two.
pub const CHUNK_BYTES: usize = 2 << 20;

/// What `CF.SCANDUMP` returns and `CF.LOADCHUNK` takes with a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The byte of the filter before which the chunk ends.
    pub end: u64,
    /// Which export it is of, so that nobody gets chunks of two.
    pub snapshot: u8,
    /// Whether it is the last one.
    pub last: bool,
}

impl Position {
    /// How many bits say the end, more than any memory has bytes; above them is the number of the export.
    const END_BITS: u32 = 44;
    /// Marks the last chunk. Clients to whom all numbers are floating point know those below 2^53 exactly.
    const LAST: u64 = 1 << 52;
    /// What marked it before.
    const OLD_LAST: u64 = 1 << 62;

    /// The position as one number, which is not 0.
    #[must_use]
    pub fn number(self) -> u64 {
        let last = if self.last { Self::LAST } else { 0 };
        last | (u64::from(self.snapshot) << Self::END_BITS) | (self.end + 1)
    }

    /// The position that a number says; 0 is where everything begins.
    #[must_use]
    pub fn of(number: u64) -> Self {
        const MARKS: u64 = Position::LAST | Position::OLD_LAST;
        const SNAPSHOT: u64 = 0xFF << Position::END_BITS;
        Self {
            end: (number & !MARKS & !SNAPSHOT).saturating_sub(1),
            snapshot: ((number & SNAPSHOT) >> Self::END_BITS) as u8,
            last: number & MARKS != 0,
        }
    }
}

/// Whether `MK.*` are registered, and so `MK.IMPORT` to load rewritten filters, and `MK.ADVANCE`.
pub static HAS_MK: AtomicBool = AtomicBool::new(true);
/// Whether `CF.*` are, and so `CF.LOADCHUNK`.
pub static HAS_CF: AtomicBool = AtomicBool::new(true);

/// Writes bytes as commands, a chunk each.
pub(super) struct Emitter<'a> {
    to: &'a mut Rewriter,
    total: u64,
    sent: u64,
    chunk: Vec<u8>,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(to: &'a mut Rewriter, total: u64) -> Self {
        Self { to, total, sent: 0, chunk: Vec::new() }
    }

    /// Writes what is left.
    pub(super) fn end(mut self) {
        if !self.chunk.is_empty() {
            self.emit();
        }
    }

    fn emit(&mut self) {
        let begin = self.sent;
        self.sent += self.chunk.len() as u64;
        let [imports, loads] = [&HAS_MK, &HAS_CF].map(|has| has.load(Ordering::Relaxed));
        // Of a filter that `CF.LOADCHUNK` has begun, the total is not known, and `MK.IMPORT` refuses it. Where nothing
        // else is there the filter is lost: with a command that nobody knows, the server would not start.
        if imports && (self.total > 0 || !loads) {
            self.to.part(c"MK.IMPORT", begin, self.total, &self.chunk);
        } else {
            let position = Position { end: self.sent, snapshot: 0, last: self.sent == self.total };
            self.to.chunk(c"CF.LOADCHUNK", position.number(), &self.chunk);
        }
        self.chunk.clear();
    }
}

impl Write for Emitter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        if self.chunk.len() == CHUNK_BYTES {
            self.emit();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
