//! Cuckoo filters in RedisBloom's layout, under RedisBloom's type name: its files and payloads are read as they are.

use core::ffi::CStr;

use super::{Kept, rewrite_dump};
use crate::metrics;
use crate::redisbloom::cuckoo::{Cuckoo, Shape};
use crate::redisbloom::cuckoo_dump::Header;
use crate::server::Value;
use crate::server::memory;
use crate::server::stream::{Digest, Reader, Rewriter, Unreadable, Writer};

/// A cuckoo filter of RedisBloom's layout that a key holds.
pub type CuckooValue = Kept<Cuckoo>;

impl From<Cuckoo> for CuckooValue {
    fn from(filter: Cuckoo) -> Self {
        Self::new(filter, &metrics::CUCKOO)
    }
}

fn small(number: u64) -> Result<u16, Unreadable> {
    u16::try_from(number).map_err(|_| Unreadable::from("a number has more than 16 bits"))
}

impl Value for CuckooValue {
    const NAME: &'static CStr = c"MBbloomCF";
    const VERSION: i32 = 4;
    crate::registered!();

    fn save(&self, to: &mut Writer) {
        let header = self.header();
        let shape = header.shape;
        for number in [header.tables, header.buckets, header.items, header.deletes] {
            to.number(number);
        }
        for number in [shape.bucket_size, shape.max_iterations, shape.expansion] {
            to.number(number.into());
        }
        for table in self.tables() {
            to.number(table.len() as u64 / u64::from(shape.bucket_size));
            to.bytes(table);
        }
    }

    fn load(from: &mut Reader, version: i32) -> Result<Self, Unreadable> {
        if version != Self::VERSION {
            return Err(format!("version {version} of MBbloomCF is not read, only {}", Self::VERSION).into());
        }
        let (tables, buckets) = (from.number()?, from.number()?);
        let (items, deletes) = (from.number()?, from.number()?);
        let shape = Shape {
            bucket_size: small(from.number()?)?,
            max_iterations: small(from.number()?)?,
            expansion: small(from.number()?)?,
        };
        let header = Header { items, buckets, deletes, tables, shape };
        let mut loaded = Vec::new();
        for length in header.lengths()? {
            let buckets = from.number()?;
            let table = from.bytes()?;
            if table.len() != length || buckets.checked_mul(shape.bucket_size.into()) != Some(length as u64) {
                return Err("a table is not as long as the numbers of the filter say".into());
            }
            loaded.push(table);
        }
        Ok(Cuckoo::with_tables(&header, loaded).into())
    }

    fn rewrite(&self, to: &mut Rewriter) {
        rewrite_dump(to, c"CF.LOADCHUNK", &self.header().write(), |position| self.chunk(position));
    }

    fn memory(&self) -> usize {
        self.tables().iter().map(memory::allocated).sum::<usize>() + self.list_memory()
    }

    fn copy(&self) -> Option<Self> {
        self.filter.copy().map(Self::from)
    }

    fn digest(&self, to: &mut Digest) {
        to.add(&self.header().write());
        self.tables().iter().for_each(|table| to.add(table));
    }
}
