//! Where output goes: standard output, or files like the inputs.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::tree::Leaf;
use crate::output::Output;
use crate::written::{Packing, Unfinished, sync_names};

/// Takes the output of files, in their order.
pub(super) enum Sink {
    Standard(Output),
    Folder { folder: PathBuf, leaves: Vec<Leaf>, open: Option<Unfinished> },
}

impl Sink {
    /// Returns how the output of a file is to be compressed.
    pub(super) fn packing(&self, file: usize) -> Packing {
        match self {
            Self::Standard(_) => Packing::Plain,
            Self::Folder { leaves, .. } => Packing::of(&leaves[file].output),
        }
    }

    /// Writes output of a file, already compressed. If it is the last of that file, the file gets its name.
    pub(super) fn write(&mut self, file: usize, packed: &[u8], last: bool) -> Result<()> {
        let packing = self.packing(file);
        match self {
            Self::Standard(output) => output.write(packed),
            Self::Folder { folder, leaves, open } => {
                let path = folder.join(&leaves[file].output);
                let mut written = || -> io::Result<()> {
                    let unfinished = match open {
                        Some(unfinished) => unfinished,
                        None => open.insert(Unfinished::new(path.clone())?),
                    };
                    unfinished.write(packed)?;
                    if last && let Some(mut unfinished) = open.take() {
                        unfinished.end(packing)?;
                        unfinished.name()?;
                    }
                    Ok(())
                };
                written().with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }

    /// Ends standard output, or makes the names of the files last.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Standard(output) => output.finish(),
            Self::Folder { folder, leaves, .. } => {
                let files: Vec<_> = leaves.iter().map(|leaf| folder.join(&leaf.output)).collect();
                sync_names(files.iter().map(PathBuf::as_path), &folder)
                    .with_context(|| format!("cannot write {}", folder.display()))
            }
        }
    }
}
