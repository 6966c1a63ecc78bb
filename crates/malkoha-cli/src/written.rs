//! Files that are written: compressed as their names say, and complete or not there at all.
//!
//! As when a filter is saved, the content is on the disk before the file gets its name. An error that comes so late, as
//! from a quota or a file system in the network, is an error of the program. And a filter that remembers what was written
//! is never on the disk before that.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
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
        let replaced = fs::metadata(&path).ok();
        let file = create(&temporary, replaced.is_some()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::other(format!(
                "{} exists: another program writes it, or was interrupted; then remove it",
                temporary.display()
            )),
            _ => error,
        })?;
        let unfinished = Self { file: Some(file), temporary, path, empty: true };
        if let (Some(file), Some(replaced)) = (&unfinished.file, &replaced) {
            keep_permissions(file, replaced)?;
        }
        Ok(unfinished)
    }

    /// Returns the name that the file will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&mut self, packed: &[u8]) -> io::Result<()> {
        self.empty &= packed.is_empty();
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(packed))
    }

    /// Ends the content: all of it is on the disk.
    pub(crate) fn end(&mut self, packing: Packing) -> io::Result<()> {
        if self.empty {
            // No bytes at all are not a compressed file.
            self.write(&packing.pack(Vec::new()))?;
        }
        self.file.as_ref().map_or(Ok(()), File::sync_all)
    }

    /// Gives the file, whose content has ended, its name. For that to last, the folder must be synced.
    pub(crate) fn name(mut self) -> io::Result<()> {
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

/// Creates a file, which must not exist yet. Only its owner may read a private one, until it gets the permissions of the
/// file that it replaces.
#[cfg(unix)]
fn create(path: &Path, private: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(if private { 0o600 } else { 0o666 }).open(path)
}

/// Outside Unix there are no such permissions.
#[cfg(not(unix))]
fn create(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Gives a file the owner, the group and the permissions of the one that it will replace, as far as the system allows.
#[cfg(unix)]
fn keep_permissions(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let new = file.metadata()?;
    let grouped = new.gid() == replaced.gid() || fchown(file, None, Some(replaced.gid())).is_ok();
    let mode = replaced.permissions().mode();
    // What the old group was allowed is no business of another group, which may do what everybody may.
    let mode = if grouped { mode } else { mode & !0o070 | (mode & 0o007) << 3 };
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    if new.uid() != replaced.uid() {
        let _ = fchown(file, Some(replaced.uid()), None);
    }
    Ok(())
}

/// Outside Unix the only permission is read-only, which would be in the way.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
fn keep_permissions(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Makes the names of files last: all folders that they are in, up to the one above `top`, are on the disk.
pub(crate) fn sync_names<'a>(files: impl IntoIterator<Item = &'a Path>, top: &Path) -> io::Result<()> {
    let above = |path: &'a Path| path.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    let mut folders: BTreeSet<&Path> = files.into_iter().flat_map(above).collect();
    folders.extend(top.parent());
    folders.into_iter().try_for_each(sync_folder)
}

/// Makes the names of the files in a folder last.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // Outside Unix folders cannot be opened as files, and some folders may be written to and not read.
    match File::open(folder).map(|folder| folder.sync_all()) {
        // There are file systems that have no such operation.
        Ok(Err(error)) if error.kind() != io::ErrorKind::InvalidInput => Err(error),
        _ => Ok(()),
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
