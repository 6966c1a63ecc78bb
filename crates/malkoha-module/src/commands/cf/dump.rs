//! Filters in chunks.

use super::{EXISTS, Found, KEY, NOT_FOUND, found, held, must_be_missing};
use crate::commands::parse::count;
use crate::commands::transfer::{self, Chunk};
use crate::redisbloom::cuckoo::Cuckoo;
use crate::redisbloom::cuckoo_dump::Header;
use crate::server::{Arguments, Call, Key, KeyMut, Refusal, Reply};
use crate::values::cuckoo::CuckooValue;
use crate::values::engine::{Body, has_magic};
use crate::values::transfer::Position;

const INVALID_POSITION: Refusal = Refusal::of("Invalid position");
const NO_CHUNK: Refusal = Refusal::of("Couldn't load chunk!");

/// The position of the header of RedisBloom's filters, and of the first chunk.
const HEADER: u64 = 1;

/// `CF.SCANDUMP key position`
pub(super) fn scandump(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    let position = count(arguments.get(2)).ok_or(INVALID_POSITION)?;
    let key = call.read(&arguments, KEY);
    let next = match held(&key)? {
        Found::Cuckoo(filter) => match position {
            // RedisBloom does not dump empty filters.
            0 if filter.items() == 0 => None,
            0 => Some((HEADER, filter.header().write())),
            _ => filter.chunk(position).map(|(next, bytes)| (next, bytes.to_vec())),
        },
        Found::Engine(_) => {
            drop(key);
            engine_chunk(call, &arguments, Position::of(position))?
        }
    };
    Ok(match next {
        Some((next, bytes)) => Reply::Array(vec![next.into(), Reply::Bytes(bytes)]),
        None => Reply::Array(vec![Reply::Integer(0), Reply::Null]),
    })
}

/// The chunk of a filter of the engine that follows a position, and the position after it.
fn engine_chunk(
    call: &mut Call,
    arguments: &Arguments<'_>,
    before: Position,
) -> Result<Option<(u64, Vec<u8>)>, Refusal> {
    if before.last {
        return Ok(None);
    }
    let snapshot = (before.end > 0).then_some(before.snapshot);
    let chunk = transfer::export(call, arguments, before.end, snapshot)?.ok_or(INVALID_POSITION)?;
    let end = before.end + chunk.bytes.len() as u64;
    let after = Position { end, snapshot: chunk.snapshot, last: end == chunk.total };
    Ok(Some((after.number(), chunk.bytes)))
}

/// `CF.LOADCHUNK key position bytes`
pub(super) fn loadchunk(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(4)?;
    let position = count(arguments.get(2)).filter(|position| *position > 0).ok_or(INVALID_POSITION)?;
    let bytes = arguments.get(3);
    if position == HEADER {
        must_be_missing(&call.read(&arguments, KEY))?;
        load_header(&mut call.write(&arguments, KEY)?, bytes)?;
    } else if takes_engine(&call.read(&arguments, KEY), bytes)? {
        transfer::import(call, &arguments, chunk_before(position, bytes)?)?;
    } else {
        let mut key = call.write(&arguments, KEY)?;
        let filter = key.value_mut::<CuckooValue>().ok_or(NOT_FOUND)?;
        if !filter.put_chunk(position, bytes) {
            return Err(NO_CHUNK);
        }
    }
    call.replicate();
    call.notify(c"cuckoo.loadchunk", &arguments, KEY);
    Ok(Reply::Ok)
}

/// Whether a chunk belongs to a filter of the engine: one that is being loaded, or a new one.
fn takes_engine(key: &Key<'_>, bytes: &[u8]) -> Result<bool, Refusal> {
    match found(key) {
        Some(Found::Cuckoo(_)) => Ok(false),
        Some(Found::Engine(filter)) => match filter.body() {
            Body::Partial(_) => Ok(true),
            _ => Err(EXISTS),
        },
        None if !key.is_missing() => Err(Refusal::WRONG_TYPE),
        None if has_magic(bytes) => Ok(true),
        None => Err(NOT_FOUND),
    }
}

/// Makes the filter of a header, with tables of zeros.
fn load_header(key: &mut KeyMut<'_>, bytes: &[u8]) -> Result<(), Refusal> {
    const NO_FILTER: Refusal = Refusal::of("Couldn't create filter!");
    let header = Header::read(bytes).ok_or(Refusal::of("Invalid header"))?;
    let lengths = header.lengths().map_err(|_| NO_FILTER)?;
    let total = lengths.iter().fold(0u64, |sum, len| sum.saturating_add(*len as u64));
    if key.call().can_never_hold(total) {
        return Err(NO_FILTER);
    }
    let filter = Cuckoo::with_header(&header, &lengths).ok_or(NO_FILTER)?;
    key.put(CuckooValue::from(filter));
    Ok(())
}

/// The chunk of a filter of the engine that ends at a position.
fn chunk_before(position: u64, bytes: &[u8]) -> Result<Chunk<'_>, Refusal> {
    let Position { end, last, .. } = Position::of(position);
    let begin = end.checked_sub(bytes.len() as u64).ok_or(NO_CHUNK)?;
    Ok(Chunk { begin, bytes, total: 0, last })
}
