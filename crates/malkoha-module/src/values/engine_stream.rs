//! Filters of the engine in the server's files.

use core::ffi::CStr;
use std::io::{self, Write};

use super::engine::{Body, EngineValue, Partial};
use super::pieces::Pieces;
use super::transfer;
use crate::server::Value;
use crate::server::stream::{Digest, Reader, Rewriter, Unreadable, Writer};

/// Numbers in files: which body follows.
mod kind {
    pub(super) const WHOLE: u64 = 1;
    pub(super) const PARTIAL: u64 = 2;
}

/// Writes bytes as strings of at most [`transfer::CHUNK_BYTES`].
struct Chunks<'a>(&'a mut Writer);

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bytes.chunks(transfer::CHUNK_BYTES).for_each(|chunk| self.0.bytes(chunk));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts bytes.
struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Value for EngineValue {
    const NAME: &'static CStr = c"mk-filter";
    const VERSION: i32 = 1;
    crate::registered!();

    fn save(&self, to: &mut Writer) {
        let (kind, total) = match self.body() {
            Body::Partial(partial) => (kind::PARTIAL, partial.total),
            _ => (kind::WHOLE, 0),
        };
        to.number(kind);
        to.number(total);
        self.write(&mut Chunks(to));
        // An empty string ends the chunks.
        to.bytes(&[]);
    }

    fn load(from: &mut Reader, version: i32) -> Result<Self, Unreadable> {
        if version != Self::VERSION {
            return Err(format!("version {version} of mk-filter is newer than this module").into());
        }
        let (kind, total) = (from.number()?, from.number()?);
        let mut bytes = Pieces::default();
        loop {
            let chunk = from.bytes()?;
            if chunk.is_empty() {
                break;
            }
            bytes.append(&chunk).ok_or(Unreadable::from("there is no memory for the filter"))?;
        }
        match kind {
            kind::WHOLE => Self::from_all(bytes).map_err(|error| error.to_string().into()),
            kind::PARTIAL => Ok(Self::partial(bytes, total)),
            _ => Err("a value of a type that a newer module has written".into()),
        }
    }

    fn rewrite(&self, to: &mut Rewriter) {
        let total = if let Body::Partial(partial) = self.body() {
            partial.total
        } else {
            let mut counted = Counting(0);
            self.write(&mut counted);
            counted.0
        };
        let mut chunks = transfer::Emitter::new(to, total);
        self.write(&mut chunks);
        chunks.end();
    }

    fn memory(&self) -> usize {
        self.bytes()
    }

    fn copy(&self) -> Option<Self> {
        let copy: Result<Self, ()> = Self::made(|| match self.body() {
            Body::Filter(filter) => Ok(Body::Filter(filter.clone())),
            Body::Window(window) => Ok(Body::Window(window.clone())),
            Body::Partial(Partial { bytes, total }) => {
                Ok(Body::Partial(Partial { bytes: bytes.copy().ok_or(())?, total: *total }))
            }
        });
        copy.ok().map(|copy| copy.told_like(self))
    }

    fn digest(&self, to: &mut Digest) {
        match self.body() {
            Body::Partial(partial) => partial.bytes.iter().for_each(|piece| to.add(piece)),
            _ => {
                if let Ok(bytes) = self.to_bytes() {
                    to.add(&bytes);
                }
            }
        }
    }
}
