//! Filters as bytes, in files and elsewhere.
//!
//! ```text
//!   record      header | labels | stash | table         one filter: record.rs, header.rs, labels.rs
//!   compound    outline | record | record | ..          several filters: compound.rs
//!   section     content | zeros | checksum              what both are made of: section.rs
//!   file        temporary, sync, rename, sync           save.rs
//!   map         the table stays in the file             map.rs
//!   skim        checksums alone, in pieces              skim.rs
//! ```
//!
//! `docs/FORMAT.md` is the specification; `format.rs` has its numbers. Reading trusts nothing: a header is
//! verified before any of its numbers is used, the length of the input before anything is allocated, and the
//! content before the filter is returned. So no input, even a malicious one, can cause a panic or give a filter
//! that panics later.
//!
//! # Compounds of several filters
//!
//! They are written with [`write_compound`] and read with [`read_compound`], inside [`save`], [`to_bytes`],
//! [`open`] and [`from_bytes`], which all take the function that writes or reads.

mod chain;
mod compound;
#[cfg(test)]
mod crash;
mod elastic;
mod format;
mod generations;
mod header;
mod labels;
mod map;
mod record;
mod save;
#[cfg(any(test, feature = "testing"))]
mod seal;
mod section;
mod sharded;
mod skim;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::error::Error;
use crate::filter::Filter;

pub(crate) use compound::{
    bad_count, bad_number, bad_parts, compound_bytes, part_offsets, read_compound, write_compound,
};
pub(crate) use format::Form;
#[cfg(any(test, feature = "testing"))]
pub(crate) use format::HEADER_NUMBERS;
pub use map::Mapped;
pub(crate) use save::save;
#[cfg(any(test, feature = "testing"))]
pub(crate) use seal::seal;
pub(crate) use section::Input;

/// Returns what `write` writes, which must be `size` bytes.
pub(crate) fn to_bytes(
    size: u64,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let reserved = usize::try_from(size).is_ok_and(|size| bytes.try_reserve_exact(size).is_ok());
    if !reserved {
        return Err(Error::Allocation { bytes: size });
    }
    write(&mut bytes).map_err(|error| Error::io("write", Path::new(""), error))?;
    debug_assert_eq!(bytes.len() as u64, size, "sizes are known beforehand");
    Ok(bytes)
}

/// Returns what `read` makes of bytes, all of which it must read.
pub(crate) fn from_bytes<T>(
    mut bytes: &[u8],
    read: impl FnOnce(&mut Input<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let length = bytes.len() as u64;
    from_sized(&mut bytes, length, read)
}

/// Returns what `read` makes of `length` bytes of a stream, all of which it must read.
pub(crate) fn from_sized<T>(
    from: &mut dyn Read,
    length: u64,
    read: impl FnOnce(&mut Input<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut input = Input::new(from, length, Path::new(""));
    let result = read(&mut input)?;
    input.end()?;
    Ok(result)
}

/// Returns what `read` makes of a file, all of which it must read.
pub(crate) fn open<T>(
    path: &Path,
    read: impl FnOnce(&mut Input<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |error| Error::io("open", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut input = Input::new(&mut file, length, path);
    let result = read(&mut input)?;
    input.end()?;
    Ok(result)
}

/// Saving and loading filters. `docs/FORMAT.md` has the format; every later version reads it.
impl Filter {
    /// Writes the filter to a file, atomically: whatever happens, even a power cut, `path` holds either what it
    /// held before or the whole filter. Another process that has the old file open or mapped keeps it.
    ///
    /// The file is written under a temporary name in the same folder, and removed if something fails. On Unix it gets
    /// the permissions of the file that it replaces, and its owner and group if the system allows that. A symbolic
    /// link is replaced, not followed, and anything that is not a file is refused.
    ///
    /// ```
    /// use malkoha::{Filter, Spec};
    /// let folder = std::env::temp_dir().join(format!("malkoha-doc-save-{}", std::process::id()));
    /// std::fs::create_dir_all(&folder).unwrap();
    /// let path = folder.join("birds.filter");
    ///
    /// let mut filter = Spec::new(1000, 0.001).build()?;
    /// filter.insert("malkoha")?;
    /// filter.save(&path)?;
    /// let again = Filter::open(&path)?;
    /// assert!(again.contains("malkoha") && again == filter);
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        save(path.as_ref(), |out| self.write(out))
    }

    /// Reads a filter from a file and verifies all of it. A file that [`save`](Self::save) did not write, or that
    /// was damaged since, is refused with an error that says what is wrong and where.
    ///
    /// Large filters are read, written and verified by several threads, here and elsewhere, if threads are
    /// available; they end before the call returns.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        open(path.as_ref(), Self::read)
    }

    /// Verifies the headers, the lengths and the checksums of a file in pieces of 64 KiB: a damaged file, or one whose
    /// header promises more than is there, is refused without the memory that its filter would take. The content is not
    /// examined further; [`open`](Self::open) does that.
    ///
    /// ```
    /// let path = std::env::temp_dir().join(format!("malkoha-doc-check-{}", std::process::id()));
    /// malkoha::Spec::new(1000, 0.001).build()?.save(&path)?;
    /// malkoha::Filter::check_file(&path)?;
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn check_file(path: impl AsRef<Path>) -> Result<(), Error> {
        open(path.as_ref(), skim::skim)
    }

    /// Returns the filter as bytes, the same that [`save`](Self::save) writes. Equal filters have equal bytes.
    ///
    /// ```
    /// use malkoha::{Filter, Spec};
    /// let mut filter = Spec::new(1000, 0.001).build()?;
    /// filter.insert("malkoha")?;
    /// let mut bytes = filter.to_bytes()?;
    /// assert!(Filter::from_bytes(&bytes)? == filter);
    /// bytes[600] ^= 1;
    /// assert!(Filter::from_bytes(&bytes).is_err(), "damage is noticed");
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let bytes = match self.geometry().growth() {
            Some(growth) => chain::bytes(self.geometry(), growth, self.links()),
            None => record::bytes(self),
        };
        to_bytes(bytes, |out| self.write(out))
    }

    /// Reads a filter from bytes and verifies all of them. The bytes may come from anywhere: unsound ones are
    /// refused with an error that says what is wrong and where, and no more memory is allocated than the bytes
    /// themselves account for.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        from_bytes(bytes, Self::read)
    }

    /// Reads a filter from a stream, such as a pipe, to its end, and verifies all of it. The length of a stream is
    /// not known beforehand, so its table is copied once it is complete: for a moment, the memory of two is needed. Use
    /// [`open`](Self::open) for files.
    ///
    /// ```
    /// use malkoha::{Filter, Spec};
    /// let mut filter = Spec::new(1000, 0.001).build()?;
    /// filter.insert("malkoha")?;
    /// let bytes = filter.to_bytes()?;
    /// assert!(Filter::read_from(&bytes[..])? == filter);
    /// assert!(Filter::read_from(&bytes[..600]).is_err(), "the end is missing");
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn read_from(mut from: impl Read) -> Result<Self, Error> {
        let mut input = Input::stream(&mut from);
        let filter = Self::read(&mut input)?;
        input.end()?;
        Ok(filter)
    }

    /// Reads a filter from a stream of `length` bytes, which are all there, and verifies all of it, without the second
    /// copy that [`read_from`](Self::read_from) needs. Memory for what the header promises is allocated if the length
    /// agrees with it, so do not take the length from somebody that you do not trust.
    ///
    /// ```
    /// use std::io::Read;
    /// let filter = malkoha::Spec::new(1000, 0.001).build()?;
    /// let bytes = filter.to_bytes()?;
    /// let (first, second) = bytes.split_at(700);
    /// let again = malkoha::Filter::read_sized(first.chain(second), bytes.len() as u64)?;
    /// assert!(again == filter);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn read_sized(mut from: impl Read, length: u64) -> Result<Self, Error> {
        from_sized(&mut from, length, Self::read)
    }

    /// Writes the bytes of [`to_bytes`](Self::to_bytes) without a second copy of the filter. A large table is
    /// written to `out` in one call.
    ///
    /// ```
    /// let filter = malkoha::Spec::new(1000, 0.001).build()?;
    /// let mut out = Vec::new();
    /// filter.write_to(&mut out)?;
    /// assert_eq!(out, filter.to_bytes()?);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn write_to(&self, mut out: impl Write) -> Result<(), Error> {
        self.write(&mut out).map_err(|error| Error::io("write", Path::new(""), error))
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.geometry().growth() {
            Some(growth) => chain::write(out, self.geometry(), growth, self.links()),
            None => record::write(self, out),
        }
    }

    fn read(input: &mut Input<'_>) -> Result<Self, Error> {
        if input.form()? == Form::Chain {
            return chain::read(input);
        }
        record::read(input)
    }
}
