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
    let destination = call.read(&arguments, KEY);
    let mut merged =
        if destination.is_missing() { None } else { Some(held(&destination)?.filter()?.clone()) };
    for index in 2..arguments.len() {
        let source = call.read(&arguments, index);
        merged = Some(with(merged, held(&source)?.filter()?)?);
    }
    drop(destination);
    let Some(merged) = merged else { return Err(Refusal::Arity) };
    call.write(&arguments, KEY).put(EngineValue::from(Body::Filter(merged)));
    call.replicate();
    call.notify(c"malkoha.merge", &arguments, KEY);
    Ok(Reply::Ok)
}

fn with(merged: Option<Filter>, source: &Filter) -> Result<Filter, Refusal> {
    let Some(mut merged) = merged else { return Ok(source.clone()) };
    merged.merge(source)?;
    Ok(merged)
}
