//! Locks on filter files, so that no change is lost when two happen at the same time.
//!
//! A program that changes a filter locks its file, reads it, and replaces it. The lock belongs to the file,
//! not to its name, so a program that has waited for a lock checks whether the name still refers to the same
//! file. If not, it starts again with the new file. Reading takes no lock: a name refers to a complete filter
//! at all times.

use std::fs::File;
use std::path::Path;

use anyhow::Result;

/// A locked file, until it is dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a file, however long that takes; `None` if there is no file with this name.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Result<Option<Self>> {
        use anyhow::Context;
        use std::io::ErrorKind;

        loop {
            let file = match File::open(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                file => file.with_context(|| format!("cannot open {}", path.display()))?,
            };
            wait_for(&file, path).with_context(|| {
                let path = path.display();
                format!("cannot lock {path}; without a lock, changes made at the same time would be lost")
            })?;
            if is_named(&file, path) {
                return Ok(Some(Self { _file: file }));
            }
        }
    }

    /// On other systems a locked file could not be replaced, so there is no lock.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "it can fail where there are locks")]
    pub(crate) fn of(_: &Path) -> Result<Option<Self>> {
        Ok(None)
    }
}

/// Locks a file, and prints a message if another program holds the lock.
#[cfg(unix)]
fn wait_for(file: &File, path: &Path) -> std::io::Result<()> {
    use std::fs::TryLockError;
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            crate::message::note(format_args!("waiting for another program that changes {}", path.display()));
            file.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether a name refers to this file.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    matches!((file.metadata(), path.metadata()), (Ok(one), Ok(other)) if is_one_file(&one, &other))
}

/// Returns whether both belong to the same file, under any names.
#[cfg(unix)]
pub(crate) fn is_one_file(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
