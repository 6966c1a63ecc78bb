//! Replaces a file so that at any moment its path holds the complete old file or the complete new one.
//!
//! ```text
//!   create a temporary file beside it, under an unused name
//!   write it          a crash here leaves the old file, and a temporary one
//!   sync it           the content must be on the disk, or a power cut could leave an empty file
//!   rename it         before this moment the old file, after it the new one
//!   sync the folder   from here on the new file survives a power cut
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::key::KeyHasher;

/// What saving needs from a file system. There is the real one and, in tests, one that dies at every step.
pub(super) trait Disk {
    /// An open file.
    type File: Write;

    /// Creates a file, which must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Self::File>;
    /// Gives a new file the permissions, the owner and the group of the one it will replace, if there is one.
    fn keep_permissions(&self, file: &Self::File, of: &Path) -> io::Result<()>;
    /// Flushes the content of a file to the disk.
    fn sync(&self, file: &Self::File) -> io::Result<()>;
    /// Renames a file, replacing any file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Flushes the names in a folder to the disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system of this machine.
pub(super) struct System;

impl Disk for System {
    type File = File;

    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    fn keep_permissions(&self, file: &File, of: &Path) -> io::Result<()> {
        match fs::symlink_metadata(of) {
            Ok(found) if found.is_file() => keep_permissions(file, &found),
            // There is nothing, or a link, whose permissions mean nothing.
            _ => Ok(()),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Outside Unix folders cannot be opened as files, and renaming is as durable as it gets.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Gives a file the group, the permissions and the owner of another. Only the superuser may give files away, and others
/// only to their own groups: without that permission, owner and group are those of the process.
#[cfg(unix)]
fn keep_permissions(file: &File, other: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let new = file.metadata()?;
    let grouped = new.gid() == other.gid() || fchown(file, None, Some(other.gid())).is_ok();
    let mut permissions = other.permissions();
    if !grouped {
        // What the old group was allowed is no business of another group, which may do what everybody may.
        let mode = permissions.mode();
        permissions.set_mode(mode & !0o070 | (mode & 0o007) << 3);
    }
    file.set_permissions(permissions)?;
    if new.uid() != other.uid() {
        let _ = fchown(file, Some(other.uid()), None);
    }
    Ok(())
}

/// Outside Unix the only permission is read-only, which would be in the way.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
fn keep_permissions(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Replaces a file atomically: whatever happens, `path` holds what it held before or all that `write` wrote. If
/// something fails, the temporary file is removed.
///
/// If `path` is not a file but, for instance, a device, it is refused: it would be replaced.
pub(crate) fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "this is not a file");
        return Err(Error::io("replace", path, error));
    }
    replace(&System, path, write)
}

/// The steps of [`save`] on some disk.
pub(super) fn replace<D: Disk>(
    disk: &D,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (temporary, file) = create_beside(disk, folder).map_err(|error| Error::io("create", path, error))?;
    // Before there is anything to read in it: private files stay private.
    let kept = disk.keep_permissions(&file, path);
    let written =
        kept.and_then(|()| fill(disk, file, write)).map_err(|error| Error::io("write", path, error));
    let renamed = written
        .and_then(|()| disk.rename(&temporary, path).map_err(|error| Error::io("replace", path, error)));
    if renamed.is_err() {
        // The first error is more useful than one from cleaning up.
        let _ = disk.remove(&temporary);
        return renamed;
    }
    disk.sync_folder(folder).map_err(|error| Error::io("sync the folder of", path, error))
}

/// Creates a file in a folder under an unused name.
fn create_beside<D: Disk>(disk: &D, folder: &Path) -> io::Result<(PathBuf, D::File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        // Process, counter and a random number: should the name be taken, the next one will not be.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let chance = KeyHasher::random().seed();
        let name = format!(".malkoha-{}-{number}-{chance:016x}.tmp", std::process::id());
        let path = folder.join(name);
        match disk.create(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes a file and syncs it.
fn fill<D: Disk>(
    disk: &D,
    file: D::File,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    disk.sync(&file)
}
