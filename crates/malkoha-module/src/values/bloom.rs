//! Bloom filters in RedisBloom's layout, under RedisBloom's type name: its files and payloads are read as they are.

use core::ffi::CStr;

use super::{Kept, rewrite_dump};
use crate::metrics;
use crate::redisbloom::bloom::{Bloom, Link, MOST_LINKS};
use crate::redisbloom::bloom_dump::Header;
use crate::server::Value;
use crate::server::memory;
use crate::server::stream::{Digest, Reader, Rewriter, Unreadable, Writer};

/// A Bloom filter of RedisBloom's layout that a key holds.
pub type BloomValue = Kept<Bloom>;

impl From<Bloom> for BloomValue {
    fn from(filter: Bloom) -> Self {
        Self::new(filter, &metrics::BLOOM)
    }
}

fn number<T: TryFrom<u64>>(from: &mut Reader) -> Result<T, Unreadable> {
    T::try_from(from.number()?).map_err(|_| Unreadable::from("a number is larger than it can be"))
}

/// Reads a link and its table.
fn load_link(from: &mut Reader) -> Result<(Link, Box<[u8]>), Unreadable> {
    let entries = from.number()?;
    let error = from.double()?;
    let hashes = number(from)?;
    let bits_per_entry = from.double()?;
    let bits = from.number()?;
    let n2 = number(from)?;
    let table = from.bytes()?;
    let items = from.number()?;
    Ok((Link { bits, items, error, bits_per_entry, hashes, entries, n2 }, table))
}

impl Value for BloomValue {
    const NAME: &'static CStr = c"MBbloom--";
    const VERSION: i32 = 4;
    crate::registered!();

    fn save(&self, to: &mut Writer) {
        let header = self.header();
        to.number(header.items);
        to.number(header.links.len() as u64);
        to.number(header.options.into());
        to.number(header.growth.into());
        for (link, table) in self.links() {
            to.number(link.entries);
            to.double(link.error);
            to.number(link.hashes.into());
            to.double(link.bits_per_entry);
            to.number(link.bits);
            to.number(link.n2.into());
            to.bytes(table);
            to.number(link.items);
        }
    }

    fn load(from: &mut Reader, version: i32) -> Result<Self, Unreadable> {
        if version != Self::VERSION {
            return Err(format!("version {version} of MBbloom-- is not read, only {}", Self::VERSION).into());
        }
        let items = from.number()?;
        let count: usize = number(from)?;
        let (options, growth) = (number(from)?, number(from)?);
        if count > MOST_LINKS {
            return Err("there are too many links".into());
        }
        let (mut links, mut tables) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (link, table) = load_link(from)?;
            links.push(link);
            tables.push(table);
        }
        let header = Header { items, options, growth, links };
        if header.lengths()? != tables.iter().map(|table| table.len()).collect::<Vec<_>>() {
            return Err("a table is not as long as the numbers of the filter say".into());
        }
        Ok(Bloom::with_tables(&header, tables).into())
    }

    fn rewrite(&self, to: &mut Rewriter) {
        rewrite_dump(to, c"BF.LOADCHUNK", &self.header().write(), |position| self.chunk(position));
    }

    fn memory(&self) -> usize {
        self.links().iter().map(|(_, table)| memory::allocated(table)).sum::<usize>() + self.list_memory()
    }

    fn copy(&self) -> Option<Self> {
        self.filter.copy().map(Self::from)
    }

    fn digest(&self, to: &mut Digest) {
        to.add(&self.header().write());
        self.links().iter().for_each(|(_, table)| to.add(table));
    }
}
