//! Filters in chunks.

use super::{EXISTS, Found, FoundMut, KEY, NOT_FOUND, found_mut, held, must_be_missing};
use crate::commands::parse::count;
use crate::redisbloom::cuckoo::Cuckoo;
use crate::redisbloom::cuckoo_dump::Header;
use crate::server::{Arguments, Call, KeyMut, Refusal, Reply};
use crate::values::cuckoo::CuckooValue;
use crate::values::engine::{Body, EngineValue, has_magic};
use crate::values::transfer::{self, LAST};

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
        Found::Engine(_) if position & LAST != 0 => None,
        Found::Engine(filter) => {
            let begin = position.saturating_sub(1);
            let chunk = filter.export(begin)?.ok_or(INVALID_POSITION)?;
            Some((transfer::position(begin + chunk.0.len() as u64, chunk.1), chunk.0))
        }
    };
    Ok(match next {
        Some((next, bytes)) => Reply::Array(vec![next.into(), Reply::Bytes(bytes)]),
        None => Reply::Array(vec![Reply::Integer(0), Reply::Null]),
    })
}

/// `CF.LOADCHUNK key position bytes`
pub(super) fn loadchunk(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(4)?;
    let position = count(arguments.get(2)).filter(|position| *position > 0).ok_or(INVALID_POSITION)?;
    let bytes = arguments.get(3);
    let mut key = call.write(&arguments, KEY);
    if position == HEADER {
        must_be_missing(&key)?;
        load_header(&mut key, bytes)?;
    } else if key.is_missing() && has_magic(bytes) {
        let mut filter = EngineValue::partial(Vec::new(), 0);
        load_part(&mut filter, position, bytes)?;
        key.put(filter);
    } else {
        let missing = key.is_missing();
        match found_mut(&mut key) {
            Some(FoundMut::Cuckoo(filter)) => {
                if !filter.put_chunk(position, bytes) {
                    return Err(NO_CHUNK);
                }
            }
            Some(FoundMut::Engine(filter)) => match filter.body() {
                Body::Partial(_) => load_part(filter, position, bytes)?,
                _ => return Err(EXISTS),
            },
            None => return Err(if missing { NOT_FOUND } else { Refusal::WRONG_TYPE }),
        }
    }
    drop(key);
    call.replicate();
    call.notify(c"cuckoo.loadchunk", &arguments, KEY);
    Ok(Reply::Ok)
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

/// Adds a chunk to a filter of the engine.
fn load_part(filter: &mut EngineValue, position: u64, bytes: &[u8]) -> Result<(), Refusal> {
    let (end, last) = ((position & !LAST) - 1, position & LAST != 0);
    let begin = end.checked_sub(bytes.len() as u64).ok_or(NO_CHUNK)?;
    filter.import(begin, bytes, 0, last)
}
