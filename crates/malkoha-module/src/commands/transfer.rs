//! Filters of the engine as bytes, in chunks: what `MK.EXPORT` and `CF.SCANDUMP`, and `MK.IMPORT` and `CF.LOADCHUNK`,
//! have in common.

use crate::server::{Arguments, Call, Refusal};
use crate::values::engine::{EngineValue, Exported};
use crate::values::pieces::Pieces;

/// The key of all these commands.
const KEY: usize = 1;

/// The chunk of the filter that begins at byte `offset`; `None` if there is none, or not in the snapshot that is asked
/// for. At 0 the filter is written down as it is now, unless it is already, and the following chunks are of that.
pub(super) fn export(
    call: &mut Call,
    arguments: &Arguments<'_>,
    offset: u64,
    snapshot: Option<u8>,
) -> Result<Option<Exported>, Refusal> {
    if offset == 0 && !filter(call, arguments, EngineValue::join_export)? {
        let bytes = filter(call, arguments, EngineValue::bytes)?;
        let write = |filters: &[&EngineValue]| filters.first().map(|filter| filter.to_bytes());
        let written = call.beside(arguments, &[KEY], bytes, write)?.ok_or(Refusal::WRONG_TYPE)??;
        filter(call, arguments, |filter| filter.begin_export(written))?;
    }
    filter(call, arguments, |filter| filter.export(offset, snapshot))
}

/// Looks at the filter of which the command has seen that it is there.
fn filter<R>(
    call: &Call,
    arguments: &Arguments<'_>,
    look: impl FnOnce(&EngineValue) -> R,
) -> Result<R, Refusal> {
    call.read(arguments, KEY).value().map(look).ok_or(Refusal::WRONG_TYPE)
}

/// A chunk of a filter that is being imported.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    /// The byte of the filter at which it begins.
    pub(super) begin: u64,
    pub(super) bytes: &'a [u8],
    /// How many bytes there will be in all; 0 if only the last chunk says so.
    pub(super) total: u64,
    /// Whether it is the last one.
    pub(super) last: bool,
}

/// Takes the next chunk of a filter. After the last one all is verified, and served from then on. If anything is
/// refused, nothing has changed.
pub(super) fn import(call: &mut Call, arguments: &Arguments<'_>, chunk: Chunk<'_>) -> Result<(), Refusal> {
    let bytes = follows(call, arguments, chunk)?;
    if chunk.last {
        let none = Pieces::default();
        let whole = call.beside(arguments, &[KEY], bytes, |partial: &[&EngineValue]| {
            let before =
                partial.first().map_or(Ok(&none), |partial| partial.imported(chunk.begin, chunk.total))?;
            EngineValue::from_pieces(before, chunk.bytes).map_err(Refusal::from)
        })??;
        call.write(arguments, KEY)?.put(whole);
        return Ok(());
    }
    let mut key = call.write(arguments, KEY)?;
    if key.is_missing() {
        let mut partial = EngineValue::partial(Pieces::default(), chunk.total);
        partial.append(chunk.bytes)?;
        key.put(partial);
        return Ok(());
    }
    key.value_mut::<EngineValue>().ok_or(Refusal::WRONG_TYPE)?.append(chunk.bytes)
}

/// Fails if a chunk does not follow what is there. Returns how many bytes there are with it.
fn follows(call: &Call, arguments: &Arguments<'_>, chunk: Chunk<'_>) -> Result<usize, Refusal> {
    let key = call.read(arguments, KEY);
    let before = match key.value::<EngineValue>() {
        Some(partial) => partial.imported(chunk.begin, chunk.total)?.len(),
        None if !key.is_missing() => return Err(Refusal::WRONG_TYPE),
        None if chunk.begin != 0 => return Err(Refusal::of("ERR the first chunk must come first")),
        None => 0,
    };
    Ok(usize::try_from(before).unwrap_or(usize::MAX).saturating_add(chunk.bytes.len()))
}
