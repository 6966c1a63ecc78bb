//! Several filters in one.

use super::{KEY, held};
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::{Body, EngineValue};

/// `MK.MERGE destination source [source ...]`
///
/// All items of all sources are added, or none. A destination that does not exist becomes a copy of the first source.
pub(super) fn merge(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let all: Vec<usize> = (KEY..arguments.len()).collect();
    let mut bytes = 0;
    for index in &all {
        let key = call.read(&arguments, *index);
        if *index != KEY || !key.is_missing() {
            let filter = held(&key)?;
            filter.filter()?;
            bytes += filter.bytes();
        }
    }
    let merged = call.beside(&arguments, &all, bytes, merged)??;
    call.write(&arguments, KEY)?.put(merged);
    call.replicate();
    call.notify(c"malkoha.merge", &arguments, KEY);
    Ok(Reply::Ok)
}

/// The items of all filters in one.
fn merged(filters: &[&EngineValue]) -> Result<EngineValue, Refusal> {
    let (first, others) = filters.split_first().ok_or(super::NOT_FOUND)?;
    EngineValue::made(|| {
        let mut merged = first.filter()?.clone();
        others.iter().try_for_each(|other| Ok::<_, Refusal>(merged.merge(other.filter()?)?))?;
        Ok(Body::Filter(merged))
    })
}
