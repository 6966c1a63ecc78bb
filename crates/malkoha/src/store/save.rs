//! Replacing a file so that at any moment its path holds the old one or the new one, complete.
//!
//! ```text
//!   create a temporary file beside it, under a name that nobody has
//!   write it          what dies here leaves the old file, and a temporary one
//!   sync it           what is renamed must be on the disk, or a power cut could leave an empty file
//!   rename            the moment: before it the old file, after it the new one
//!   sync the folder   from here on the new one survives a power cut
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::key::KeyHasher;

/// What saving needs of a file system. There is one for use and one, in the tests, that dies at every step.
pub(super) trait Disk {
    /// An open file.
    type File: Write;

    /// Creates a file under a name that must be new.
    fn create(&self, path: &Path) -> io::Result<Self::File>;
    /// Gives a new file the permissions of the one whose place it will take, if there is one.
    fn keep_permissions(&self, file: &Self::File, of: &Path) -> io::Result<()>;
    /// Brings the content of a file to the disk.
    fn sync(&self, file: &Self::File) -> io::Result<()>;
    /// Gives a file another name, in the stead of whoever has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Brings the names in a folder to the disk.
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
            Ok(found) if cfg!(unix) && found.is_file() => file.set_permissions(found.permissions()),
            // Nothing is there, or a link, whose permissions mean nothing; elsewhere there is nothing to keep
            // but that nobody may write, which would be in the way.
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
        // Elsewhere folders cannot be opened as files, and renaming is as durable as it gets.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Writes a file anew, atomically: whatever happens, `path` holds what it held before or all that `write` has
/// written. If something fails the temporary file is removed.
///
/// Where `path` is something else than a file, a device for instance, nothing is done: it would be replaced.
pub(crate) fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "something else than a file is there");
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
    // Before there is anything to read in it: what was private stays so.
    let kept = disk.keep_permissions(&file, path);
    let written =
        kept.and_then(|()| fill(disk, file, write)).map_err(|error| Error::io("write", path, error));
    let renamed = written
        .and_then(|()| disk.rename(&temporary, path).map_err(|error| Error::io("replace", path, error)));
    if renamed.is_err() {
        // The error that led here says more than one from cleaning up.
        let _ = disk.remove(&temporary);
        return renamed;
    }
    disk.sync_folder(folder).map_err(|error| Error::io("sync the folder of", path, error))
}

/// Creates a file in a folder under a name that nobody has.
fn create_beside<D: Disk>(disk: &D, folder: &Path) -> io::Result<(PathBuf, D::File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        // The process, a number within it and chance: should all three be taken, the next number is not.
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

/// Writes a file and brings it to the disk.
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
