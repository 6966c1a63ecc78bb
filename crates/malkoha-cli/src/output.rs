//! Standard output. If its reader stops reading, the program ends silently and with success.

use std::io::{self, BufWriter, StdoutLock, Write};

use anyhow::{Context, Result};
use malkoha::{Error, Filter};

/// Standard output with a buffer.
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        check(self.0.write_all(bytes))
    }

    pub(crate) fn line(&mut self, text: impl std::fmt::Display) -> Result<()> {
        check(writeln!(self.0, "{text}"))
    }

    /// Writes the bytes of a filter.
    pub(crate) fn filter(&mut self, filter: &Filter) -> Result<()> {
        match filter.write_to(&mut self.0) {
            Err(Error::Io { source, .. }) => check(Err(io::Error::new(source.kind(), source.to_string()))),
            written => Ok(written?),
        }
    }

    /// Writes a line at once, and returns whether anybody still reads.
    pub(crate) fn line_if_read(&mut self, text: impl std::fmt::Display) -> Result<bool> {
        match writeln!(self.0, "{text}").and_then(|()| self.0.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => check(written).map(|()| true),
        }
    }

    /// Flushes the buffer, so that a reader need not wait until it is full.
    pub(crate) fn flush(&mut self) -> Result<()> {
        check(self.0.flush())
    }

    /// Flushes the output at the end. Must be called: output that could not be written is an error.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()
    }
}

fn check(written: io::Result<()>) -> Result<()> {
    match written {
        // Other threads may still wait for more input, but nobody needs their results.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.context("cannot write to standard output; is the disk full?"),
    }
}
