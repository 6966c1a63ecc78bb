//! The files that records are written to.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::block::Piece;
use crate::output::Output;
use crate::target::{self, is_same_file};
use crate::written::{Packing, Unfinished, sync_folder};

/// Text that is collected before it is compressed, if it comes in small pieces.
const ENOUGH: usize = 128 << 10;

/// One file, or standard output.
struct Written {
    path: PathBuf,
    to: To,
    packing: Packing,
    /// Small pieces that wait to be compressed together.
    waiting: Vec<u8>,
}

enum To {
    Standard(Output),
    /// A file that gets its name when it is complete.
    File(Unfinished),
    /// A device or a pipe.
    Device(std::fs::File),
}

/// All files.
pub(crate) struct Outputs(Vec<Written>);

impl Outputs {
    /// Opens these files; `-` is standard output. Refuses, before any work is done, to overwrite an input or a
    /// filter, and one file for two purposes.
    pub(crate) fn new(paths: &[PathBuf], inputs: &[PathBuf]) -> Result<Self> {
        for (i, path) in paths.iter().enumerate() {
            if paths[..i].contains(path) {
                bail!("{} would be written twice; give different files", path.display());
            }
            if inputs.iter().any(|input| is_same_file(path, input)) {
                bail!("{} is also read, and would be lost; give another file", path.display());
            }
        }
        paths.iter().map(|path| Written::new(path)).collect::<Result<_>>().map(Self)
    }

    /// Returns how each file is compressed.
    pub(crate) fn packings(&self) -> Vec<Packing> {
        self.0.iter().map(|written| written.packing).collect()
    }

    /// Returns whether records go to standard output.
    pub(crate) fn has_standard(&self) -> bool {
        self.0.iter().any(|written| matches!(written.to, To::Standard(_)))
    }

    /// Writes one piece for each file.
    pub(crate) fn write(&mut self, pieces: &[Piece]) -> Result<()> {
        self.0.iter_mut().zip(pieces).try_for_each(|(written, piece)| written.write(piece))
    }

    /// Completes all files. None gets its name before all of them are written.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(Written::end)?;
        let files: Vec<_> = self.0.iter().filter_map(Written::real).collect();
        self.0.into_iter().try_for_each(Written::name)?;
        for file in files {
            let folder = file.parent().unwrap_or(Path::new(""));
            sync_folder(folder).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }
}

impl Written {
    fn new(path: &Path) -> Result<Self> {
        let (path, waiting) = (path.to_owned(), Vec::new());
        if path.as_os_str() == "-" {
            return Ok(Self { path, to: To::Standard(Output::new()), packing: Packing::Plain, waiting });
        }
        let packing = Packing::of(&path);
        let failed = || format!("cannot write {}", path.display());
        let to = if path.exists() && !path.is_file() {
            To::Device(OpenOptions::new().write(true).open(&path).with_context(failed)?)
        } else {
            let real = target::behind_links(&path)?;
            To::File(Unfinished::new(real).with_context(failed)?)
        };
        Ok(Self { path, to, packing, waiting })
    }

    fn write(&mut self, piece: &Piece) -> Result<()> {
        if self.packing == Packing::Plain {
            return self.put(&piece.bytes);
        }
        if !piece.is_packed {
            self.waiting.extend_from_slice(&piece.bytes);
            return if self.waiting.len() < ENOUGH { Ok(()) } else { self.pack() };
        }
        self.pack()?;
        self.put(&piece.bytes)
    }

    /// Compresses what waits.
    fn pack(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let packed = self.packing.pack(std::mem::take(&mut self.waiting));
        self.put(&packed)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.to {
            // Somebody may wait for what was found.
            To::Standard(output) if !bytes.is_empty() => {
                return output.write(bytes).and_then(|()| output.flush());
            }
            To::Standard(_) => Ok(()),
            To::File(file) => file.write(bytes),
            To::Device(file) => file.write_all(bytes),
        };
        written.with_context(|| self.failed())
    }

    /// Ends the content.
    fn end(&mut self) -> Result<()> {
        self.pack()?;
        match &mut self.to {
            To::File(file) => file.end(self.packing).with_context(|| self.failed()),
            To::Standard(_) | To::Device(_) => Ok(()),
        }
    }

    /// Returns the file itself, if it is one.
    fn real(&self) -> Option<PathBuf> {
        match &self.to {
            To::File(file) => Some(file.path().to_owned()),
            To::Standard(_) | To::Device(_) => None,
        }
    }

    /// Gives a file its name.
    fn name(self) -> Result<()> {
        let failed = self.failed();
        match self.to {
            To::Standard(output) => output.finish(),
            To::File(file) => file.name().with_context(|| failed),
            To::Device(_) => Ok(()),
        }
    }

    fn failed(&self) -> String {
        format!("cannot write {}", self.path.display())
    }
}
