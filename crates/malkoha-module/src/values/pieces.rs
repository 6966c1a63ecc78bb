//! Bytes that come in chunks, and are never copied as a whole.

use std::io::{self, Cursor, Read};

use super::transfer::CHUNK_BYTES;
use crate::server::memory;

/// Bytes in pieces, none of them larger than [`CHUNK_BYTES`].
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: Vec<Vec<u8>>,
    len: u64,
}

impl Pieces {
    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(Vec::as_slice)
    }

    /// Adds bytes at the end. `None` if there is no memory for them; then nothing has changed.
    pub fn append(&mut self, mut bytes: &[u8]) -> Option<()> {
        let (pieces, last) = (self.pieces.len(), self.pieces.last().map_or(0, Vec::len));
        let len = self.len + bytes.len() as u64;
        while !bytes.is_empty() {
            let taken = self.append_to_last(bytes);
            if taken == 0 {
                self.pieces.truncate(pieces);
                if let Some(piece) = self.pieces.last_mut() {
                    piece.truncate(last);
                }
                return None;
            }
            bytes = &bytes[taken..];
        }
        self.len = len;
        Some(())
    }

    /// Adds as many bytes as the last piece takes, or a new one. Returns their number, 0 if there is no memory.
    fn append_to_last(&mut self, bytes: &[u8]) -> usize {
        if self.pieces.last().is_none_or(|piece| piece.len() == CHUNK_BYTES) {
            if self.pieces.try_reserve(1).is_err() {
                return 0;
            }
            self.pieces.push(Vec::new());
        }
        let Some(piece) = self.pieces.last_mut() else { return 0 };
        let taken = bytes.len().min(CHUNK_BYTES - piece.len());
        if piece.try_reserve(taken).is_err() {
            return 0;
        }
        piece.extend_from_slice(&bytes[..taken]);
        taken
    }

    /// A copy, if there is memory for it.
    #[must_use]
    pub fn copy(&self) -> Option<Self> {
        let mut copy = Self::default();
        self.iter().try_for_each(|piece| copy.append(piece))?;
        Some(copy)
    }

    /// The memory of all pieces.
    #[must_use]
    pub fn memory(&self) -> usize {
        memory::allocated_vec(&self.pieces) + self.pieces.iter().map(memory::allocated_vec).sum::<usize>()
    }

    /// Reads all bytes, and frees every piece once it has been read.
    pub fn into_read(self) -> impl Read {
        Consuming { rest: self.pieces.into_iter(), piece: Cursor::new(Vec::new()) }
    }

    /// Reads all bytes, followed by others.
    pub fn followed_by<'a>(&'a self, last: &'a [u8]) -> impl Read {
        Reading(self.iter().chain([last]).collect::<Vec<_>>().into_iter(), &[])
    }
}

/// Reads pieces and frees them.
struct Consuming {
    rest: std::vec::IntoIter<Vec<u8>>,
    piece: Cursor<Vec<u8>>,
}

impl Read for Consuming {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            let Some(next) = self.rest.next() else { return Ok(0) };
            self.piece = Cursor::new(next);
        }
    }
}

/// Reads pieces: those that are left, and what is left of the first of them.
struct Reading<'a>(std::vec::IntoIter<&'a [u8]>, &'a [u8]);

impl Read for Reading<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.1.is_empty() {
            match self.0.next() {
                Some(next) => self.1 = next,
                None => return Ok(0),
            }
        }
        self.1.read(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_bytes_in_order() {
        let bytes: Vec<u8> = (0..=250).cycle().take(2 * CHUNK_BYTES + 1000).collect();
        let mut pieces = Pieces::default();
        assert!(pieces.is_empty());
        for chunk in bytes.chunks(CHUNK_BYTES / 3 + 17) {
            pieces.append(chunk).unwrap();
        }
        assert_eq!(pieces.len(), bytes.len() as u64);
        assert!(pieces.iter().all(|piece| piece.len() <= CHUNK_BYTES));
        assert!(pieces.copy().unwrap().iter().flatten().eq(&bytes));
        let mut read = Vec::new();
        pieces.followed_by(b"the end").read_to_end(&mut read).unwrap();
        assert!(read.strip_suffix(b"the end") == Some(&bytes[..]));
        read.clear();
        pieces.into_read().read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }
}
