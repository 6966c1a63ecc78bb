//! Where a filter is written: a file, which is replaced only when the new one is complete, or standard output.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use malkoha::{Error, Filter};

use crate::interrupt;
use crate::lock::Lock;
use crate::message::note;
use crate::output::Output;
use crate::units::counted;

/// The first bytes of a filter, as docs/FORMAT.md specifies them.
const MAGIC: [u8; 8] = *b"\x89malkoha";

/// The most symbolic links that lead to a file, as the system allows them.
const MOST_LINKS: usize = 40;

/// Where a new filter is written.
pub(crate) enum Target {
    Output,
    File(Place),
}

impl Target {
    /// Returns the target of this name; `-` is standard output. Refuses, before any work is done, one that cannot be
    /// written to or where something else would be lost.
    pub(crate) fn new(path: &Path, inputs: &[PathBuf]) -> Result<Self> {
        if path.as_os_str() == "-" {
            if std::io::stdout().is_terminal() {
                bail!(
                    "a filter is not text for a terminal; redirect standard output, or give a file with -o"
                );
            }
            return Ok(Self::Output);
        }
        if path.exists() && !path.is_file() {
            bail!("{} is not a file; give another with -o", path.display());
        }
        let place = Place::of(path)?;
        let folder = place.real.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("there is no folder {}; make it, or give another with -o", folder.display());
        }
        if inputs.iter().any(|input| is_same_file(path, input)) {
            bail!("{} is an input, which would be lost; give another file with -o", path.display());
        }
        if path.exists() && !may_be_replaced(path)? {
            bail!("{} exists and is not a filter; remove it, or give another file with -o", path.display());
        }
        place.check_folder()?;
        Ok(Self::File(place))
    }

    /// Returns whether standard output holds the filter, so that reports go to standard error.
    pub(crate) fn is_output(&self) -> bool {
        matches!(self, Self::Output)
    }

    /// Writes a filter. Waits if another program is changing the file.
    pub(crate) fn save(&self, filter: &Filter) -> Result<()> {
        match self {
            Self::Output => {
                let mut out = Output::new();
                out.filter(filter)?;
                out.finish()
            }
            Self::File(place) => place.save(filter, place.lock()?),
        }
    }
}

/// A file to be replaced.
pub(crate) struct Place {
    /// Its name in messages.
    named: PathBuf,
    /// The file itself: replacing a symbolic link would leave the file that it leads to as it was.
    real: PathBuf,
}

impl Place {
    pub(crate) fn of(path: &Path) -> Result<Self> {
        Ok(Self { named: path.to_owned(), real: behind_links(path)? })
    }

    /// Returns the file itself.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// Refuses a folder in which no file can be created, before any work is done for nothing.
    pub(crate) fn check_folder(&self) -> Result<()> {
        let folder = self.real.parent().unwrap_or(Path::new(""));
        let probe = folder.join(format!(".malkoha-{}.tmp", std::process::id()));
        let created = interrupt::shielded(|| {
            File::create_new(&probe)?;
            std::fs::remove_file(&probe)
        });
        match created {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                let failed = self.failed(self.real.exists(), remedy(error.kind()));
                Err(anyhow::Error::new(error).context(failed))
            }
            _ => Ok(()),
        }
    }

    /// Says that the file was not written.
    fn failed(&self, is_there: bool, remedy: &str) -> String {
        let old = if is_there { "the old file is unchanged" } else { "nothing was written" };
        format!("cannot save the filter as {}; {old}; {remedy}", self.named.display())
    }

    /// Locks the file, however long that takes; `None` if there is none yet.
    pub(crate) fn lock(&self) -> Result<Option<Lock>> {
        Lock::of(&self.real)
    }

    /// Replaces the file, which is locked if it exists.
    pub(crate) fn save(&self, filter: &Filter, lock: Option<Lock>) -> Result<()> {
        let (before, names) = (owner(&self.real), names(&self.real));
        let saved = interrupt::shielded(|| filter.save(&self.real));
        drop(lock);
        let path = self.named.display();
        saved.map_err(|error| {
            let kind = if let Error::Io { source, .. } = &error { source.kind() } else { ErrorKind::Other };
            let failed = self.failed(before.is_some(), remedy(kind));
            anyhow::Error::new(error).context(failed)
        })?;
        if names > 1 {
            let others = counted(names - 1, "other name");
            note(format_args!(
                "warning: {path} had {others} (hard links), which still lead to the old filter; use symbolic links"
            ));
        }
        if let (Some(before), Some(after)) = (before, owner(&self.real))
            && before != after
        {
            note(format_args!(
                "{path} now belongs to user {} and group {}, no longer to user {} and group {}",
                after.0, after.1, before.0, before.1
            ));
        }
        Ok(())
    }
}

/// Returns the file that a path leads to through symbolic links, whether it exists or not.
pub(crate) fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut real = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&real) {
            Ok(next) => real = real.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(real),
        }
    }
    bail!("{} is a symbolic link that leads to no file; give another", path.display())
}

/// Says what to do if a filter could not be saved.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "use a folder in which you may create files"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space or use another path",
        _ => "use another path",
    }
}

/// Returns the user and the group that a file belongs to; `None` if there is no such file.
#[cfg(unix)]
fn owner(path: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|metadata| (metadata.uid(), metadata.gid()))
}

/// Other systems do not tell owners by number.
#[cfg(not(unix))]
fn owner(path: &Path) -> Option<(u32, u32)> {
    path.exists().then_some((0, 0))
}

/// Returns the number of names that a file has, which all lead to it until one of them is replaced.
#[cfg(unix)]
fn names(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    path.metadata().map_or(0, |metadata| metadata.nlink())
}

/// Other systems do not tell.
#[cfg(not(unix))]
fn names(_: &Path) -> u64 {
    1
}

/// Returns whether a file is empty or begins like a filter.
fn may_be_replaced(path: &Path) -> Result<bool> {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut begin));
    read.with_context(|| format!("cannot read {}; give another file with -o", path.display()))?;
    Ok(begin.is_empty() || begin == MAGIC)
}

/// Returns whether a file is the same as an input, under any names.
#[cfg(unix)]
pub(crate) fn is_same_file(path: &Path, input: &Path) -> bool {
    let input = if input.as_os_str() == "-" { Path::new("/dev/stdin") } else { input };
    matches!((path.metadata(), input.metadata()), (Ok(one), Ok(other)) if crate::lock::is_one_file(&one, &other))
}

/// Returns whether a file is the same as an input, under any names.
#[cfg(not(unix))]
pub(crate) fn is_same_file(path: &Path, input: &Path) -> bool {
    matches!((path.canonicalize(), input.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
