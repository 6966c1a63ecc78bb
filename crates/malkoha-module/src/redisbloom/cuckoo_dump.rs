//! RedisBloom's cuckoo filters as bytes: the header and chunks of a dump, and what a file has.

use super::cuckoo::{Cuckoo, MOST_TABLES, Shape};
use super::fields::Fields;
use super::{Place, chunk_at, chunk_before};
use crate::server::memory;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 38;

/// Bytes of a header that was written between November 2019 and February 2022: an address of that server follows.
const OLD_HEADER_BYTES: usize = 46;

/// The most buckets that a filter can begin with.
const MOST_BUCKETS: u64 = 1 << 30;

/// The numbers of a filter, before its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Keys stored and not removed.
    pub items: u64,
    /// Buckets of the first table.
    pub buckets: u64,
    /// Removals since the last compaction.
    pub deletes: u64,
    /// How many tables follow.
    pub tables: u64,
    /// What the filter was made with.
    pub shape: Shape,
}

impl Header {
    /// Reads a header; `None` if it is not one.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if ![HEADER_BYTES, OLD_HEADER_BYTES].contains(&bytes.len()) {
            return None;
        }
        let mut fields = Fields(bytes);
        Some(Self {
            items: fields.u64()?,
            buckets: fields.u64()?,
            deletes: fields.u64()?,
            tables: fields.u64()?,
            shape: Shape {
                bucket_size: fields.u16()?,
                max_iterations: fields.u16()?,
                expansion: fields.u16()?,
            },
        })
    }

    /// Writes the header.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        for number in [self.items, self.buckets, self.deletes, self.tables] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.shape.bucket_size, self.shape.max_iterations, self.shape.expansion] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// The bytes of each table, if the numbers can be those of a filter; otherwise what is wrong with them.
    pub fn lengths(&self) -> Result<Vec<usize>, &'static str> {
        let Shape { bucket_size, max_iterations, expansion } = self.shape;
        if !(1..=255).contains(&bucket_size) {
            return Err("the bucket size is not between 1 and 255");
        }
        if max_iterations == 0 {
            return Err("the number of iterations is 0");
        }
        if expansion != 0 && !expansion.is_power_of_two() {
            return Err("the expansion is not a power of two");
        }
        if !self.buckets.is_power_of_two() || self.buckets > MOST_BUCKETS {
            return Err("the number of buckets is not a power of two up to 2^30");
        }
        let tables = usize::try_from(self.tables).ok().filter(|tables| (1..=MOST_TABLES).contains(tables));
        let Some(tables) = tables else { return Err("the number of tables is not between 1 and 65535") };
        if expansion == 0 && tables > 1 {
            return Err("a filter that does not grow has one table");
        }
        let lengths: Option<Vec<usize>> =
            (0..tables).map(|index| Cuckoo::table_bytes(self.buckets, self.shape, index)).collect();
        let lengths = lengths.ok_or("the tables are larger than any memory")?;
        let slots = lengths.iter().try_fold(0u64, |sum, len| sum.checked_add(*len as u64));
        match slots {
            Some(slots) if self.items <= slots && i64::try_from(self.deletes).is_ok() => Ok(lengths),
            Some(_) => Err("there are more items than slots"),
            None => Err("the tables are larger than any memory"),
        }
    }
}

impl Cuckoo {
    /// The numbers of this filter.
    #[must_use]
    pub fn header(&self) -> Header {
        Header {
            items: self.items,
            buckets: self.buckets,
            deletes: self.deletes,
            tables: self.tables.len() as u64,
            shape: self.shape,
        }
    }

    /// The filter with these numbers, whose [lengths](Header::lengths) were asked, and tables of zeros that chunks will
    /// fill; `None` if there is no memory for it.
    #[must_use]
    pub fn with_header(header: &Header, lengths: &[usize]) -> Option<Self> {
        let tables = lengths.iter().map(|len| memory::zeroed(*len)).collect::<Option<_>>()?;
        Some(Self::with_tables(header, tables))
    }

    /// The filter with these numbers and tables, which have the header's lengths.
    #[must_use]
    pub(crate) fn with_tables(header: &Header, tables: Vec<Box<[u8]>>) -> Self {
        let Header { items, buckets, deletes, shape, .. } = *header;
        Self { shape, buckets, items, deletes, tables }
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        self.tables.iter().map(|table| table.len())
    }

    /// The chunk of a dump at this position, 1 or what was returned before, and the next position.
    #[must_use]
    pub fn chunk(&self, position: u64) -> Option<(u64, &[u8])> {
        let (table, range) = chunk_at(self.lengths(), position.checked_sub(1)?)?;
        Some((position + range.len() as u64, &self.tables[table][range]))
    }

    /// Puts a chunk where it was dumped from; `false`, and nothing has changed, if it does not fit there.
    pub fn put_chunk(&mut self, position: u64, bytes: &[u8]) -> bool {
        let place: Option<Place> = chunk_before(self.lengths(), position, bytes.len());
        let Some((table, range)) = place else { return false };
        self.tables[table][range].copy_from_slice(bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redisbloom::cuckoo::Hashed;

    const SHAPE: Shape = Shape { bucket_size: 2, max_iterations: 20, expansion: 1 };

    #[test]
    fn a_header_byte_by_byte() {
        let header = Header { items: 3, buckets: 512, deletes: 1, tables: 2, shape: SHAPE };
        let bytes = header.write();
        let expected = [
            [3, 0, 0, 0, 0, 0, 0, 0],
            [0, 2, 0, 0, 0, 0, 0, 0],
            [1, 0, 0, 0, 0, 0, 0, 0],
            [2, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(bytes[..32], expected.concat());
        assert_eq!(bytes[32..], [2, 0, 20, 0, 1, 0]);
        assert_eq!(Header::read(&bytes), Some(header));
        assert_eq!(
            Header::read(&[&bytes[..], &[0xaa; 8]].concat()),
            Some(header),
            "the form of 2019 to 2022"
        );
        for len in (0..60).filter(|len| ![38, 46].contains(len)) {
            assert_eq!(Header::read(&vec![1; len]), None);
        }
        assert_eq!(header.lengths(), Ok(vec![1024, 1024]));
    }

    #[test]
    fn impossible_headers_are_refused() {
        let good = Header { items: 3, buckets: 512, deletes: 1, tables: 1, shape: SHAPE };
        let bad = [
            Header { buckets: 0, ..good },
            Header { buckets: 513, ..good },
            Header { buckets: 1 << 31, ..good },
            Header { tables: 0, ..good },
            Header { tables: 65536, ..good },
            Header { tables: u64::MAX, ..good },
            Header { items: 1025, ..good },
            Header { items: u64::MAX, ..good },
            Header { deletes: u64::MAX, ..good },
            Header { tables: 2, shape: Shape { expansion: 0, ..SHAPE }, ..good },
            Header { tables: 6, shape: Shape { expansion: 32768, ..SHAPE }, ..good },
            Header { shape: Shape { expansion: 3, ..SHAPE }, ..good },
            Header { shape: Shape { bucket_size: 0, ..SHAPE }, ..good },
            Header { shape: Shape { bucket_size: 256, ..SHAPE }, ..good },
            Header { shape: Shape { max_iterations: 0, ..SHAPE }, ..good },
        ];
        assert!(good.lengths().is_ok());
        for header in bad {
            assert!(header.lengths().is_err(), "{header:?}");
        }
    }

    #[test]
    fn a_dump_makes_the_same_filter() {
        let mut filter = Cuckoo::new(64, Shape { expansion: 2, ..SHAPE }).unwrap();
        (0..1000u32).for_each(|key| filter.insert(Hashed::of(&key.to_le_bytes())).unwrap());
        let header = Header::read(&filter.header().write()).unwrap();
        let mut again = Cuckoo::with_header(&header, &header.lengths().unwrap()).unwrap();
        let mut position = 1;
        while let Some((next, bytes)) = filter.chunk(position) {
            assert!(again.put_chunk(next, bytes));
            position = next;
        }
        assert_eq!(again, filter);
        assert!(!again.put_chunk(position + 1, &[1]), "beyond the end");
    }
}
