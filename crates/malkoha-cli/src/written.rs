//! Files that are written: compressed as their names say, and complete or not there at all.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// How a file is compressed. Everything is a sequence of streams that each decompressor reads as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl Packing {
    /// Returns how a file with this name is compressed.
    pub(crate) fn of(name: &Path) -> Self {
        let end = name.extension().map(OsStr::to_ascii_lowercase);
        match end.as_ref().and_then(|end| end.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            Some("bz2") => Self::Bzip2,
            Some("xz") => Self::Xz,
            _ => Self::Plain,
        }
    }

    /// Compresses some bytes.
    pub(crate) fn pack(self, bytes: Vec<u8>) -> Vec<u8> {
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

/// A file that is being written, under another name.
pub(crate) struct Unfinished {
    file: Option<File>,
    temporary: PathBuf,
    path: PathBuf,
    empty: bool,
}

impl Unfinished {
    pub(crate) fn new(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut temporary = path.clone().into_os_string();
        temporary.push(".partial");
        let temporary = PathBuf::from(temporary);
        let file = File::create_new(&temporary).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::other(format!(
                "{} exists: another program writes it, or was interrupted; then remove it",
                temporary.display()
            )),
            _ => error,
        })?;
        Ok(Self { file: Some(file), temporary, path, empty: true })
    }

    pub(crate) fn write(&mut self, packed: &[u8]) -> io::Result<()> {
        self.empty &= packed.is_empty();
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(packed))
    }

    pub(crate) fn finish(mut self, packing: Packing) -> io::Result<()> {
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
        assert_eq!(["x.fq.GZ", "x.Zst"].map(packing), [Packing::Gzip, Packing::Zstd]);
    }
}
