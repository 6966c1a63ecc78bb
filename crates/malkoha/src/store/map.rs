//! Filters that stay in their files, mapped instead of read.
//!
//! The only place outside `bits/` with unsafe code, because mapping a file is unsafe: a change to the file changes
//! the memory, so [`Filter::map`] is unsafe too. As a further precaution, numbers from the table are only compared with
//! others and never decide where to read.
#![expect(unsafe_code, reason = "mapping a file")]

use core::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use crate::bits::Words;
use crate::elastic::Elastic;
use crate::engine::Values;
use crate::engine::threads::both;
use crate::error::Error;
use crate::filter::Filter;
use crate::filter::Stats;
use crate::key::{Key, KeyHasher};
use crate::plan::Geometry;

use super::elastic::Outline;
use super::format::Form;
use super::record::Opening;
use super::section::{Input, MANY_BYTES, verify_section};

/// A read-only filter that stays in its file: only what lookups touch is loaded into memory, and all processes
/// that map the file share it.
///
/// [`Filter::map`] verifies the header, the stash and the length of the file, but not the table;
/// [`verify`](Self::verify) does that. A damaged table that was not verified gives wrong answers, but nothing
/// worse: no lookup panics or reads outside the file.
///
/// # Files that change
///
/// [`Filter::save`] never changes a mapped file: it writes a new file and renames it, and existing maps keep the old
/// one, even when it is removed. A program that truncates the file takes the memory away: the operating system kills
/// a process that reads beyond the new end (`SIGBUS`), which no library can prevent.
///
/// ```
/// use malkoha::{Filter, Spec};
/// let folder = std::env::temp_dir().join(format!("malkoha-doc-map-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let path = folder.join("birds.filter");
/// let mut filter = Spec::new(1000, 0.001).build()?;
/// filter.insert("malkoha")?;
/// filter.save(&path)?;
///
/// # if cfg!(target_endian = "little") {
/// // SAFETY: no one else changes this file.
/// let mapped = unsafe { Filter::map(&path)? };
/// assert!(mapped.contains("malkoha"));
/// mapped.verify()?;
/// assert!(mapped.load()? == filter, "a copy that can be changed");
/// # }
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), malkoha::Error>(())
/// ```
pub struct Mapped {
    /// Never handed out: its table is not verified and cannot be written to.
    filter: Filter,
    parts: Parts,
    map: Arc<Mmap>,
    path: PathBuf,
}

/// Where the tables of a mapped file are.
enum Parts {
    One(Box<Opening>),
    Regions(Box<Outline>),
}

impl Filter {
    /// Maps a file written by [`save`](Self::save), for lookups without loading it. [`Mapped`] describes what is
    /// verified and what must not happen to the file.
    ///
    /// This works only on little-endian machines, and only for files of one filter: chains, sharded filters and
    /// windows are refused with [`Error::Form`], and must be opened instead. Of a growing filter, all pages of the
    /// directory and of the overflow are read, but not its tables.
    ///
    /// # Safety
    ///
    /// The file must not be changed, by this process or another, for as long as it is mapped. It may be replaced by
    /// another file of the same name, as [`save`](Self::save) does, or removed. If others can change your files,
    /// [`open`](Self::open) them instead.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Mapped, Error> {
        // SAFETY: the caller promises what `Mapped::new` requires.
        unsafe { Mapped::new(path.as_ref()) }
    }
}

impl Mapped {
    /// # Safety
    ///
    /// As for [`Filter::map`].
    unsafe fn new(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::io("map", path, error);
        let file = File::open(path).map_err(failed)?;
        // SAFETY: the caller promises that the file does not change while it is mapped.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        let map = Arc::new(map);
        let mut bytes = &map[..];
        let mut input = Input::new(&mut bytes, map.len() as u64, path);
        let (filter, parts) = if input.form()? == Form::Elastic {
            let outline = Outline::read(&mut input)?;
            let mut regions = Vec::new();
            for region in &outline.regions {
                input.skip_section(region.table_bytes())?;
                regions
                    .push(region.region(words(&map, region.table, region.table_bytes()).map_err(failed)?)?);
            }
            (outline.filter(regions)?, Parts::Regions(Box::new(outline)))
        } else {
            input.expect(Form::Single)?;
            let opening = Opening::read(&mut input)?;
            input.skip_section(opening.table_bytes())?;
            let filter =
                opening.filter(words(&map, opening.table, opening.table_bytes()).map_err(failed)?)?;
            opening.audit_stash(&filter)?;
            (filter, Parts::One(Box::new(opening)))
        };
        input.end()?;
        Ok(Self { filter, parts, map, path: path.to_owned() })
    }

    /// Verifies the table, which reads all of it: the checksum, and that its content is one that some history of
    /// inserts and removals leaves.
    pub fn verify(&self) -> Result<(), Error> {
        let outline = match &self.parts {
            Parts::One(opening) => return self.verify_table(opening),
            Parts::Regions(outline) => outline,
        };
        let mut checksum = outline.checksum;
        let regions = self.filter.elastic().into_iter().flat_map(Elastic::in_order);
        for (described, region) in outline.regions.iter().zip(regions) {
            let content = (described.table_bytes(), checksum);
            checksum = verify_section(("table", described.table), content, &self.map)?;
            described.audit(region)?;
        }
        Ok(())
    }

    fn verify_table(&self, opening: &Opening) -> Result<(), Error> {
        let content = (opening.table_bytes(), opening.checksum);
        let hashed = || verify_section(("table", opening.table), content, &self.map).map(drop);
        let looked = || opening.audit(&self.filter);
        if self.map.len() < MANY_BYTES {
            return hashed().and_then(|()| looked());
        }
        let (hashed, looked) = both(hashed, looked);
        hashed.and(looked)
    }

    /// Returns a verified copy of the filter in memory, which can be changed.
    pub fn load(&self) -> Result<Filter, Error> {
        Filter::from_bytes(&self.map)
    }

    /// The exact numbers of the filter.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        self.filter.geometry()
    }

    /// The names of the bits of values, the lowest first; empty if they have none.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        self.filter.labels()
    }

    /// The hasher that turns keys into hashes for the filter.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        self.filter.hasher()
    }

    /// Whether the filter may hold a key: `false` is certain, `true` is wrong with the filter's rate.
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// Looks up every key of a slice and returns the answers in order.
    #[must_use]
    pub fn contains_slice<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.filter.contains_slice(keys)
    }

    /// Looks up every key of a slice and writes the answers into a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice_into<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        self.filter.contains_slice_into(keys, answers);
    }

    /// The number of stored copies that look like this key: at least the number of times it is stored.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Result<u32, Error> {
        self.filter.count(key)
    }

    /// The values of all stored copies that look like this key, ascending, in filters with values.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Values, Error> {
        self.filter.get(key)
    }

    /// As [`Filter::union`].
    pub fn union<K: Key + ?Sized>(&self, key: &K) -> Result<u16, Error> {
        self.filter.union(key)
    }

    /// Returns how many stored copies look like each key of a slice.
    pub fn count_slice<K: Key>(&self, keys: &[K]) -> Result<Vec<u32>, Error> {
        self.filter.count_slice(keys)
    }

    /// The candidate values of every key of a slice, in order, in filters with values.
    pub fn get_slice<K: Key>(&self, keys: &[K]) -> Result<Vec<Values>, Error> {
        self.filter.get_slice(keys)
    }

    /// The number of stored copies, according to the header.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.filter.len()
    }

    /// Whether the filter is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// Facts about the filter. For Bloom kinds this reads the whole table.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.filter.stats()
    }
}

/// The words of a table that begins at a byte of a file.
fn words(map: &Arc<Mmap>, begin: u64, bytes: u64) -> io::Result<Words> {
    let unsupported = || io::Error::new(io::ErrorKind::Unsupported, "open it instead");
    let (Ok(begin), Ok(bytes)) = (usize::try_from(begin), usize::try_from(bytes)) else {
        return Err(unsupported());
    };
    #[cfg(target_endian = "little")]
    return Words::in_file(Arc::clone(map), begin, bytes).ok_or_else(unsupported);
    #[cfg(not(target_endian = "little"))]
    {
        let _ = (map, begin, bytes);
        Err(unsupported())
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped")
            .field("path", &self.path)
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}
