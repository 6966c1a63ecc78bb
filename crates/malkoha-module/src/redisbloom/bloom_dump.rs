//! RedisBloom's Bloom filters as bytes: the header and chunks of a dump, and what a file has.

use super::bloom::{Bloom, Link, MOST_HASHES, MOST_LINKS, options};
use super::fields::Fields;
use super::{Place, chunk_at, chunk_before};
use crate::server::memory;

/// The numbers of a filter, before its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Keys that were stored.
    pub items: u64,
    /// Bits of [`options`].
    pub options: u32,
    /// How many times as many keys each link is planned for as the one before it.
    pub growth: u32,
    /// The links, oldest first.
    pub links: Vec<Link>,
}

/// Bytes before the links.
const FIXED_BYTES: usize = 20;
/// Bytes of a link.
const LINK_BYTES: usize = 53;

impl Header {
    /// Reads a header; `None` if it is not one.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let items = fields.u64()?;
        let count = usize::try_from(fields.u32()?).ok()?;
        let (options, growth) = (fields.u32()?, fields.u32()?);
        if bytes.len() != count.checked_mul(LINK_BYTES)?.checked_add(FIXED_BYTES)? {
            return None;
        }
        let mut links = Vec::with_capacity(count);
        for _ in 0..count {
            let length = fields.u64()?;
            let bits = fields.u64()?;
            let items = fields.u64()?;
            let (error, bits_per_entry) = (fields.f64()?, fields.f64()?);
            let hashes = fields.u32()?;
            let entries = fields.u64()?;
            let n2 = fields.u8()?;
            links.push(Link { bits, items, error, bits_per_entry, hashes, entries, n2 });
            if length.checked_mul(8) != Some(bits) {
                return None;
            }
        }
        Some(Self { items, options, growth, links })
    }

    /// Writes the header.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED_BYTES + LINK_BYTES * self.links.len());
        bytes.extend(self.items.to_le_bytes());
        let count = u32::try_from(self.links.len()).expect("at most `MOST_LINKS`");
        for number in [count, self.options, self.growth] {
            bytes.extend(number.to_le_bytes());
        }
        for link in &self.links {
            for number in [link.bits / 8, link.bits, link.items] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(link.error.to_le_bytes());
            bytes.extend(link.bits_per_entry.to_le_bytes());
            bytes.extend(link.hashes.to_le_bytes());
            bytes.extend(link.entries.to_le_bytes());
            bytes.push(link.n2);
        }
        bytes
    }

    /// The bytes of each table, if the numbers can be those of a filter; otherwise what is wrong with them.
    pub fn lengths(&self) -> Result<Vec<usize>, &'static str> {
        let known = options::NO_ROUND | options::FORCE_64 | options::NO_SCALING;
        if self.options & !known != 0 || self.options & options::FORCE_64 == 0 {
            return Err("the options are not those of a filter with 64-bit hashes");
        }
        if self.growth > 32768 || (self.growth == 0 && self.options & options::NO_SCALING == 0) {
            return Err("the expansion is not between 1 and 32768");
        }
        if !(1..=MOST_LINKS).contains(&self.links.len()) {
            return Err("the number of links is not between 1 and 65535");
        }
        if self.options & options::NO_SCALING != 0 && self.links.len() > 1 {
            return Err("a filter that does not grow has one link");
        }
        let items = self.links.iter().try_fold(0u64, |sum, link| sum.checked_add(link.items));
        if items != Some(self.items) || i64::try_from(self.items).is_err() {
            return Err("the numbers of items do not add up");
        }
        let lengths: Vec<usize> = self.links.iter().map(check_link).collect::<Result<_, _>>()?;
        match lengths.iter().try_fold(0usize, |sum, len| sum.checked_add(*len)) {
            Some(_) => Ok(lengths),
            None => Err("the tables are larger than any memory"),
        }
    }
}

/// The bytes of a link's table, if its numbers are possible.
fn check_link(link: &Link) -> Result<usize, &'static str> {
    if !(link.error > 0.0 && link.error < 1.0) {
        return Err("a rate is not above 0 and below 1");
    }
    if !(link.bits_per_entry > 0.0 && link.bits_per_entry.is_finite()) {
        return Err("the bits per entry are not a positive number");
    }
    if !(1..=MOST_HASHES).contains(&link.hashes) {
        return Err("the number of hashes is impossible");
    }
    if link.entries == 0 || i64::try_from(link.entries).is_err() {
        return Err("the capacity of a link is impossible");
    }
    if link.bits == 0 || !link.bits.is_multiple_of(64) {
        return Err("the bits of a link are not whole words");
    }
    if link.n2 != 0 && 1u64.checked_shl(link.n2.into()) != Some(link.bits) {
        return Err("the bits of a link are not the power of two that it says");
    }
    link.bytes().ok_or("the tables are larger than any memory")
}

impl Bloom {
    /// The numbers of this filter.
    #[must_use]
    pub fn header(&self) -> Header {
        Header {
            items: self.items,
            options: self.options,
            growth: self.growth,
            links: self.links.iter().map(|(link, _)| *link).collect(),
        }
    }

    /// The filter with these numbers, whose [lengths](Header::lengths) were asked, and tables of zeros that chunks will
    /// fill; `None` if there is no memory for it.
    #[must_use]
    pub fn with_header(header: &Header, lengths: &[usize]) -> Option<Self> {
        let tables = lengths.iter().map(|len| memory::zeroed(*len)).collect::<Option<Vec<_>>>()?;
        Some(Self::with_tables(header, tables))
    }

    /// The filter with these numbers and tables, which have the header's lengths.
    #[must_use]
    pub(crate) fn with_tables(header: &Header, tables: Vec<Box<[u8]>>) -> Self {
        let links = header.links.iter().copied().zip(tables).collect();
        Self { items: header.items, options: header.options, growth: header.growth, links }
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        self.links.iter().map(|(_, table)| table.len())
    }

    /// The chunk of a dump at this position, 1 or what was returned before, and the next position.
    #[must_use]
    pub fn chunk(&self, position: u64) -> Option<(u64, &[u8])> {
        let (link, range) = chunk_at(self.lengths(), position.checked_sub(1)?)?;
        Some((position + range.len() as u64, &self.links[link].1[range]))
    }

    /// Puts a chunk where it was dumped from.
    pub fn put_chunk(&mut self, position: u64, bytes: &[u8]) -> Result<(), BadChunk> {
        let offset = position.checked_sub(1).and_then(|end| end.checked_sub(bytes.len() as u64));
        let begin = offset.and_then(|offset| chunk_at(self.lengths(), offset)).ok_or(BadChunk::NoLink)?;
        let place: Option<Place> = chunk_before(self.lengths(), position, bytes.len());
        let (link, range) = place.ok_or(BadChunk::TooBig)?;
        debug_assert_eq!((begin.0, begin.1.start), (link, range.start));
        self.links[link].1[range].copy_from_slice(bytes);
        Ok(())
    }
}

/// Why a chunk does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadChunk {
    /// It begins in no table.
    NoLink,
    /// It reaches beyond its table.
    TooBig,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redisbloom::bloom::Hashed;

    fn filter() -> Bloom {
        let mut filter = Bloom::new(10, 0.01, 2).unwrap();
        (0..100u32).for_each(|key| assert!(filter.insert(Hashed::of(&key.to_le_bytes())).is_ok()));
        filter
    }

    #[test]
    fn a_header_byte_by_byte() {
        let link =
            Link { bits: 128, items: 3, error: 0.005, bits_per_entry: 11.0, hashes: 8, entries: 10, n2: 0 };
        let header = Header { items: 3, options: 5, growth: 2, links: vec![link] };
        let bytes = header.write();
        assert_eq!(bytes.len(), 73);
        assert_eq!(bytes[..20], [3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0]);
        let numbers = [[16, 0, 0, 0, 0, 0, 0, 0], [128, 0, 0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0]];
        assert_eq!(bytes[20..44], numbers.concat());
        assert_eq!(bytes[44..52], 0.005f64.to_le_bytes());
        assert_eq!(bytes[52..60], 11f64.to_le_bytes());
        assert_eq!(bytes[60..], [8, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Header::read(&bytes), Some(header));
        assert_eq!(Header::read(&bytes[..72]), None);
    }

    #[test]
    fn a_dump_makes_the_same_filter() {
        let filter = filter();
        let header = Header::read(&filter.header().write()).unwrap();
        let mut again = Bloom::with_header(&header, &header.lengths().unwrap()).unwrap();
        let mut position = 1;
        while let Some((next, bytes)) = filter.chunk(position) {
            assert_eq!(again.put_chunk(next, bytes), Ok(()));
            position = next;
        }
        assert_eq!(again, filter);
        assert_eq!(again.put_chunk(position + 1, &[1]), Err(BadChunk::NoLink));
        let first = filter.links[0].1.len();
        assert_eq!(again.put_chunk(first as u64 + 2, &vec![0; first + 1]), Err(BadChunk::TooBig));
        assert_eq!(again.put_chunk(0, &[1]), Err(BadChunk::NoLink));
    }

    #[test]
    fn impossible_headers_are_refused() {
        let good = filter().header();
        assert!(good.lengths().is_ok());
        let changes: [fn(&mut Header); 16] = [
            |header| header.options = 0,
            |header| header.options = 5 | 16,
            |header| header.options = 5 | 8,
            |header| header.growth = 0,
            |header| header.growth = 32769,
            |header| header.items += 1,
            |header| header.links.clear(),
            |header| header.links[1].error = 0.0,
            |header| header.links[1].error = f64::NAN,
            |header| header.links[1].bits_per_entry = f64::INFINITY,
            |header| header.links[1].hashes = 0,
            |header| header.links[1].hashes = u32::MAX,
            |header| header.links[1].entries = 0,
            |header| header.links[1].bits = 0,
            |header| header.links[1].bits += 1,
            |header| header.links[1].n2 = 63,
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut header = good.clone();
            change(&mut header);
            assert!(header.lengths().is_err(), "{index}");
        }
    }
}
