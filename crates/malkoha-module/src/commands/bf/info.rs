//! What a filter is.

use core::fmt::Write;

use super::{KEY, held};
use crate::commands::parse::is;
use crate::redisbloom::bloom::Bloom;
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::bloom::BloomValue;

/// `BF.CARD key`
pub(super) fn card(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(2)?;
    let key = call.read(&arguments, KEY);
    match key.value::<BloomValue>() {
        Some(filter) => Ok(filter.items().into()),
        None if key.is_missing() => Ok(Reply::Integer(0)),
        None => Err(Refusal::WRONG_TYPE),
    }
}

/// Names of facts, and what `BF.INFO` calls them as a selector.
const FACTS: [(&str, &str); 5] = [
    ("CAPACITY", "Capacity"),
    ("SIZE", "Size"),
    ("FILTERS", "Number of filters"),
    ("ITEMS", "Number of items inserted"),
    ("EXPANSION", "Expansion rate"),
];

/// The facts in this order. RedisBloom says 32 bytes for a filter and 64 for each of its links.
fn facts(filter: &Bloom) -> [Reply; 5] {
    let size = 32 + filter.links().iter().map(|(_, table)| 64 + table.len() as u64).sum::<u64>();
    let expansion = if filter.grows() { u64::from(filter.growth()).into() } else { Reply::Null };
    [filter.capacity().into(), size.into(), filter.links().len().into(), filter.items().into(), expansion]
}

/// `BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]`
pub(super) fn info(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(2)?;
    if arguments.len() > 3 {
        return Err(Refusal::Arity);
    }
    let key = call.read(&arguments, KEY);
    let facts = facts(held(&key)?);
    let named = FACTS.iter().map(|(_, name)| *name).zip(facts);
    if arguments.len() == 2 {
        return Ok(Reply::Info(named.collect()));
    }
    let chosen = FACTS.iter().position(|(selector, _)| is(arguments.get(2), selector));
    let fact = chosen.and_then(|chosen| named.into_iter().nth(chosen));
    let (name, fact) = fact.ok_or(Refusal::of("Invalid information value"))?;
    Ok(if call.resp3() { Reply::Info(vec![(name, fact)]) } else { Reply::Array(vec![fact]) })
}

/// `BF.DEBUG key`
pub(super) fn debug(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(2)?;
    let key = call.read(&arguments, KEY);
    let filter = held(&key)?;
    let mut lines = vec![Reply::Line(format!("size:{}", filter.items()))];
    for (link, table) in filter.links() {
        let mut line =
            format!("bytes:{} bits:{} hashes:{} hashwidth:64 ", table.len(), link.bits, link.hashes);
        // Writing to a string does not fail.
        let _ = write!(line, "capacity:{} size:{} ratio:{}", link.entries, link.items, link.error);
        lines.push(Reply::Line(line));
    }
    Ok(Reply::Array(lines))
}
