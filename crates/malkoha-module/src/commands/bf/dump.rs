//! Filters in chunks.

use super::{KEY, NOT_FOUND, held};
use crate::commands::parse::integer;
use crate::redisbloom::bloom::Bloom;
use crate::redisbloom::bloom_dump::{BadChunk, Header};
use crate::server::{Arguments, Call, KeyMut, Refusal, Reply};
use crate::values::bloom::BloomValue;

/// The position of the header, and of the first chunk.
const HEADER: i64 = 1;

const BAD_DATA: Refusal = Refusal::of("ERR received bad data");

/// `BF.SCANDUMP key position`
pub(super) fn scandump(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    let position = integer(arguments.get(2)).ok_or(Refusal::of("Second argument must be numeric"))?;
    let key = call.read(&arguments, KEY);
    let filter = held(&key)?;
    let next = match u64::try_from(position) {
        Ok(0) => Some((HEADER.unsigned_abs(), filter.header().write())),
        Ok(position) => filter.chunk(position).map(|(next, bytes)| (next, bytes.to_vec())),
        Err(_) => None,
    };
    Ok(match next {
        Some((next, bytes)) => Reply::Array(vec![next.into(), Reply::Bytes(bytes)]),
        None => Reply::Array(vec![Reply::Integer(0), Reply::Bytes(Vec::new())]),
    })
}

/// `BF.LOADCHUNK key position bytes`
pub(super) fn loadchunk(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(4)?;
    let position = integer(arguments.get(2)).ok_or(Refusal::of("ERR Second argument must be numeric"))?;
    let bytes = arguments.get(3);
    let mut key = call.write(&arguments, KEY)?;
    if key.is_missing() {
        if position != HEADER {
            return Err(NOT_FOUND);
        }
        load_header(&mut key, bytes)?;
    } else {
        let filter = key.value_mut::<BloomValue>().ok_or(Refusal::WRONG_TYPE)?;
        if position == HEADER {
            return Err(Refusal::of("ERR item exists"));
        }
        filter.put_chunk(u64::try_from(position).unwrap_or(0), bytes).map_err(|bad| match bad {
            BadChunk::NoLink => Refusal::of("ERR invalid offset - no link found"),
            BadChunk::TooBig => Refusal::of("ERR invalid chunk - Too big for current filter"),
        })?;
    }
    drop(key);
    call.replicate();
    call.notify(c"bloom.loadchunk", &arguments, KEY);
    Ok(Reply::Ok)
}

/// Makes the filter of a header, with tables of zeros.
fn load_header(key: &mut KeyMut<'_>, bytes: &[u8]) -> Result<(), Refusal> {
    let header = Header::read(bytes).ok_or(BAD_DATA)?;
    let lengths = header.lengths().map_err(|_| BAD_DATA)?;
    let total = lengths.iter().fold(0u64, |sum, len| sum.saturating_add(*len as u64));
    if key.call().can_never_hold(total) {
        return Err(Refusal::of("ERR Insufficient memory to create filter"));
    }
    let filter = Bloom::with_header(&header, &lengths);
    key.put(BloomValue::from(filter.ok_or(Refusal::of("ERR Insufficient memory to create filter"))?));
    Ok(())
}
