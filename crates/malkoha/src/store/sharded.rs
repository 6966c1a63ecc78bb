//! Sharded filters as bytes: form 3 of `docs/FORMAT.md`, one record for each shard.

use std::io::{self, Write};
use std::path::Path;

use crate::error::Error;
use crate::filter::Filter;
use crate::key::draw::bits_needed;
use crate::store::{self, Form, Input};

use crate::sharded::{MOST_SHARDS, Sharded, ShardedGeometry};

/// Saving and loading sharded filters. What is saved of a cuckoo kind is the filter at one moment: writers wait until
/// it is done, and lookups go on. If there is memory for a second filter, `filter.clone().save(path)` makes them wait
/// only for the copy in memory, not for the disk. Filters of Bloom kinds are copied before they are written; all keys
/// whose inserts have returned are in the copy, and nobody waits.
impl Sharded {
    /// Writes the filter to a file, as [`Filter::save`] does.
    ///
    /// ```
    /// use malkoha::{Sharded, Spec};
    /// let path = std::env::temp_dir().join(format!("malkoha-doc-sharded-{}", std::process::id()));
    ///
    /// let filter = Spec::new(1000, 0.001).sharded(4).build()?;
    /// filter.insert("malkoha")?;
    /// filter.save(&path)?;
    /// let again = Sharded::open(&path)?;
    /// assert!(again.contains("malkoha") && again == filter);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        store::save(path.as_ref(), |out| self.write(out))
    }

    /// Reads a filter from a file and verifies all of it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        store::open(path.as_ref(), Self::read)
    }

    /// Returns the filter as bytes, the same that [`save`](Self::save) writes. Equal filters have equal bytes.
    ///
    /// ```
    /// use malkoha::{Sharded, Spec};
    /// let filter = Spec::new(1000, 0.001).sharded(4).build()?;
    /// filter.insert("malkoha")?;
    /// assert!(Sharded::from_bytes(&filter.to_bytes()?)? == filter);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let shards = self.freeze();
        let parts: Vec<&Filter> = shards.iter().map(|shard| &**shard).collect();
        let numbers = [self.geometry.keys];
        let size = store::compound_bytes(&numbers, &parts);
        store::to_bytes(size, |out| store::write_compound(out, Form::Sharded, &numbers, &parts))
    }

    /// Reads a filter from bytes, which may come from anywhere, and verifies all of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        store::from_bytes(bytes, Self::read)
    }

    /// Writes the bytes of [`to_bytes`](Self::to_bytes), for cuckoo kinds without a second copy of the filter.
    ///
    /// No thread can insert into a cuckoo kind or remove from it while `out` is written to. If `out` itself used this
    /// filter in any way, it might wait for ever.
    pub fn write_to(&self, mut out: impl Write) -> Result<(), Error> {
        self.write(&mut out).map_err(|error| Error::io("write", Path::new(""), error))
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let shards = self.freeze();
        let parts: Vec<&Filter> = shards.iter().map(|shard| &**shard).collect();
        store::write_compound(out, Form::Sharded, &[self.geometry.keys], &parts)
    }

    fn read(input: &mut Input<'_>) -> Result<Self, Error> {
        let (numbers, parts) = store::read_compound(input, Form::Sharded)?;
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let Some(shard) = parts.first().map(Filter::geometry).copied().filter(|_| count <= MOST_SHARDS)
        else {
            return Err(store::bad_parts(format!("{count} shards where there are 1 to {MOST_SHARDS}")));
        };
        if let Some(at) = parts.iter().position(|part| *part.geometry() != shard) {
            let what = format!("shard {at} has another geometry than shard 0");
            return Err(Error::corrupt("shard", store::part_offsets(&numbers, &parts)[at], what));
        }
        let &[keys] = &numbers[..] else {
            return Err(store::bad_count(numbers.len(), "a sharded filter has 1"));
        };
        if keys == 0 || keys.div_ceil(u64::from(count)) > shard.keys() {
            return Err(store::bad_number(
                0,
                format!("{keys} planned keys do not fit shards for {}", shard.keys()),
            ));
        }
        if shard.elastic().is_some_and(|layout| !layout.fits(count)) {
            let what = format!("{count} shards leave too few bits of a hash for the fingerprints");
            return Err(store::bad_parts(what));
        }
        let (places, fingerprints) =
            shard.cuckoo().map_or((1, 1), |layout| (layout.places(), layout.fingerprints()));
        if bits_needed(&[u64::from(count), places, fingerprints]) > u64::BITS {
            let what = format!("{count} shards leave too few bits of a hash for places and fingerprints");
            return Err(store::bad_parts(what));
        }
        Ok(Self::of(ShardedGeometry { keys, rate: shard.rate(), shards: count, shard }, parts))
    }
}
