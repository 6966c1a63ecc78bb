//! Filters in RedisBloom's own layout, bit for bit, so that its dumps, payloads and files can be read and its answers
//! are given. Written from a description of its behaviour; nothing here talks to the server.

pub mod bloom;
pub mod bloom_dump;
mod bloom_rows;
pub mod cuckoo;
pub mod cuckoo_dump;
mod cuckoo_rows;
mod fields;
pub mod murmur;
mod rows;

/// The most bytes of one chunk of a dump: as many as the server copies and sends in a millisecond or two. RedisBloom
/// sends up to 16 MiB, and both load chunks of any size.
pub const CHUNK_BYTES: usize = 2 << 20;

/// Why a filter in this layout cannot take a key, or cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room, and the filter must not grow.
    Full,
    /// The filter would have to grow beyond what can be counted.
    TooLarge,
    /// The system has no memory for it.
    Memory,
}

/// Which bytes of a dump: the table, and the range in it.
pub(crate) type Place = (usize, std::ops::Range<usize>);

/// The place of the chunk that begins at byte `offset` of all tables together. Chunks do not reach across tables.
pub(crate) fn chunk_at(lengths: impl Iterator<Item = usize>, offset: u64) -> Option<Place> {
    let mut offset = usize::try_from(offset).ok()?;
    for (table, len) in lengths.enumerate() {
        if offset < len {
            return Some((table, offset..len.min(offset.saturating_add(CHUNK_BYTES))));
        }
        offset -= len;
    }
    None
}

/// The place of a chunk of `len` bytes that a dump has returned together with `position`: one more than the byte after
/// the chunk. `None` if no table has it.
pub(crate) fn chunk_before(lengths: impl Iterator<Item = usize>, position: u64, len: usize) -> Option<Place> {
    let offset = position.checked_sub(1)?.checked_sub(len as u64)?;
    let mut offset = usize::try_from(offset).ok()?;
    for (table, whole) in lengths.enumerate() {
        if offset < whole {
            let end = offset.checked_add(len)?;
            return (len > 0 && end <= whole).then_some((table, offset..end));
        }
        offset -= whole;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_stay_inside_their_tables() {
        let lengths = || [10, CHUNK_BYTES + 5, 1].into_iter();
        assert_eq!(chunk_at(lengths(), 0), Some((0, 0..10)));
        assert_eq!(chunk_at(lengths(), 4), Some((0, 4..10)));
        assert_eq!(chunk_at(lengths(), 10), Some((1, 0..CHUNK_BYTES)));
        let rest = 10 + CHUNK_BYTES as u64;
        assert_eq!(chunk_at(lengths(), rest), Some((1, CHUNK_BYTES..CHUNK_BYTES + 5)));
        assert_eq!(chunk_at(lengths(), rest + 5), Some((2, 0..1)));
        assert_eq!(chunk_at(lengths(), rest + 6), None);
        assert_eq!(chunk_at(lengths(), u64::MAX), None);
    }

    #[test]
    fn chunks_come_back_to_where_they_were() {
        let lengths = || [10, 20].into_iter();
        assert_eq!(chunk_before(lengths(), 11, 10), Some((0, 0..10)));
        assert_eq!(chunk_before(lengths(), 31, 20), Some((1, 0..20)));
        assert_eq!(chunk_before(lengths(), 31, 5), Some((1, 15..20)));
        for (position, len) in [(0, 0), (1, 0), (5, 10), (12, 11), (32, 1), (11, 0), (u64::MAX, 1), (16, 10)]
        {
            assert_eq!(chunk_before(lengths(), position, len), None, "{position} {len}");
        }
    }
}
