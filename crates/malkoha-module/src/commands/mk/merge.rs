//! Several filters in one.

use malkoha::Filter;

use super::{KEY, held};
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::{Body, EngineValue};

/// `MK.MERGE destination source [source ...]`
///
/// All items of all sources are added, or none. A destination that does not exist becomes a copy of the first source.
pub(super) fn merge(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let merged = EngineValue::made(|| merged(call, &arguments).map(Body::Filter))?;
    call.write(&arguments, KEY).put(merged);
    call.replicate();
    call.notify(c"malkoha.merge", &arguments, KEY);
    Ok(Reply::Ok)
}

fn merged(call: &Call, arguments: &Arguments<'_>) -> Result<Filter, Refusal> {
    let destination = call.read(arguments, KEY);
    // A destination that is missing begins as a copy of the first source.
    let (mut merged, rest) = if destination.is_missing() {
        (held(&call.read(arguments, 2))?.filter()?.clone(), 3)
    } else {
        (held(&destination)?.filter()?.clone(), 2)
    };
    for index in rest..arguments.len() {
        let source = call.read(arguments, index);
        merged.merge(held(&source)?.filter()?)?;
    }
    Ok(merged)
}
