//! Filters as files, in chunks.

use super::{KEY, held};
use crate::commands::parse::count;
use crate::commands::transfer::{self, Chunk};
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::has_magic;

const BAD_OFFSET: Refusal = Refusal::of("ERR offset: the end of the chunk before is expected, or 0 to begin");

/// `MK.EXPORT key offset`
pub(super) fn export(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    let offset = count(arguments.get(2)).ok_or(BAD_OFFSET)?;
    held(&call.read(&arguments, KEY))?;
    let chunk = transfer::export(call, &arguments, offset, None)?.ok_or(BAD_OFFSET)?;
    Ok(Reply::Array(vec![chunk.total.into(), Reply::Bytes(chunk.bytes)]))
}

/// `MK.IMPORT key offset total bytes`
pub(super) fn import(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(5)?;
    let begin = count(arguments.get(2)).ok_or(BAD_OFFSET)?;
    let total = count(arguments.get(3)).filter(|total| *total > 0);
    let total = total.ok_or(Refusal::of("ERR total: the number of bytes of the whole filter is expected"))?;
    let bytes = arguments.get(4);
    let end = begin.checked_add(bytes.len() as u64).filter(|end| *end <= total && !bytes.is_empty());
    let end = end.ok_or(Refusal::of("ERR the chunk is empty, or reaches beyond the total"))?;
    if call.read(&arguments, KEY).is_missing() {
        if begin != 0 || !has_magic(bytes) {
            return Err(Refusal::of("ERR the first chunk must come first, and begin like a file of malkoha"));
        }
        if call.can_never_hold(total) {
            return Err(Refusal::of("ERR Insufficient memory"));
        }
    }
    transfer::import(call, &arguments, Chunk { begin, bytes, total, last: end == total })?;
    call.replicate();
    call.notify(c"malkoha.import", &arguments, KEY);
    Ok(Reply::Ok)
}
