//! Where output goes: standard output, or files like the inputs.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::tree::Leaf;
use crate::output::Output;

/// How a file is compressed. Everything is a sequence of streams that each decompressor reads as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl Packing {
    /// Returns how a file with this name is compressed.
    pub(super) fn of(name: &Path) -> Self {
        match name.extension().and_then(|end| end.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            Some("bz2") => Self::Bzip2,
            Some("xz") => Self::Xz,
            _ => Self::Plain,
        }
    }

    /// Compresses some bytes.
    pub(super) fn pack(self, bytes: Vec<u8>) -> Vec<u8> {
        let packed = match self {
            Self::Plain => Ok(bytes),
            Self::Gzip => {
                let mut packer = GzEncoder::new(Vec::new(), Compression::default());
                packer.write_all(&bytes).and_then(|()| packer.finish())
            }
            Self::Zstd => Ok(compress_to_vec(&bytes[..], CompressionLevel::Fastest)),
            Self::Bzip2 => {
                let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
                packer.write_all(&bytes).and_then(|()| packer.finish())
            }
            Self::Xz => XzWriter::new(Vec::new(), XzOptions::with_preset(6)).and_then(|mut packer| {
                packer.write_all(&bytes)?;
                packer.finish()
            }),
        };
        packed.expect("memory takes everything")
    }
}

/// Takes the output of files, in their order.
pub(super) enum Sink {
    Standard(Output),
    Folder { folder: PathBuf, leaves: Vec<Leaf>, open: Option<Unfinished> },
}

/// A file that is being written, under another name.
pub(super) struct Unfinished {
    file: Option<File>,
    temporary: PathBuf,
    path: PathBuf,
    empty: bool,
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
                    if last && let Some(unfinished) = open.take() {
                        unfinished.finish(packing)?;
                    }
                    Ok(())
                };
                written().with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }

    /// Ends standard output.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Standard(output) => output.finish(),
            Self::Folder { .. } => Ok(()),
        }
    }
}

impl Unfinished {
    fn new(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut temporary = path.clone().into_os_string();
        temporary.push(".partial");
        let temporary = PathBuf::from(temporary);
        let file = Some(File::create_new(&temporary)?);
        Ok(Self { file, temporary, path, empty: true })
    }

    fn write(&mut self, packed: &[u8]) -> io::Result<()> {
        self.empty &= packed.is_empty();
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(packed))
    }

    fn finish(mut self, packing: Packing) -> io::Result<()> {
        if self.empty {
            // No bytes at all are not a compressed file.
            self.write(&packing.pack(Vec::new()))?;
        }
        drop(self.file.take());
        fs::rename(&self.temporary, &self.path).inspect_err(|_| drop(fs::remove_file(&self.temporary)))
    }
}

/// After an error, the part of a file that was written is removed.
impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_compression() {
        let packing = |name: &str| Packing::of(Path::new(name));
        assert_eq!(packing("a/b.jsonl"), Packing::Plain);
        assert_eq!(packing("a.gz/b.jsonl.zst"), Packing::Zstd);
        let all = ["x.gz", "x.bz2", "x.xz", "gz"].map(packing);
        assert_eq!(all, [Packing::Gzip, Packing::Bzip2, Packing::Xz, Packing::Plain]);
    }
}
