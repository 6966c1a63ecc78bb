//! What a filter is, and the time of windows.

use super::{KEY, held, held_mut};
use crate::commands::parse::count;
use crate::commands::stats;
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::Body;

/// `MK.INFO key`
pub(super) fn info(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(2)?;
    held(&call.read(&arguments, KEY))?;
    stats::look(call, &arguments, KEY, stats::engine).map(Reply::Map)
}

/// `MK.ADVANCE key seconds`
pub(super) fn advance(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    let now = count(arguments.get(2)).ok_or(Refusal::of("ERR seconds: a whole number is expected"))?;
    let mut key = call.write(&arguments, KEY)?;
    let filter = held_mut(&mut key)?;
    match filter.body() {
        Body::Window(window) if window.ticks().is_some() => {}
        _ => return Err(Refusal::of("ERR only a WINDOW of SECONDS has a time")),
    }
    let advanced = filter.advance(now);
    drop(key);
    if advanced {
        call.replicate();
        call.signal(&arguments, KEY);
    }
    Ok(Reply::Ok)
}
