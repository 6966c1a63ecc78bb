//! Storing, looking up and removing items.

use malkoha::Inserted;

use super::{KEY, held, held_mut};
use crate::metrics;
use crate::server::{Arguments, Call, KeyMut, Refusal, Reply};
use crate::values::engine::{Body, EngineValue};

/// An item that had no room.
pub(super) const FULL: Refusal = Refusal::of("ERR the filter is full");

/// Tells a window of seconds the time, before items are stored; returns the time if replicas must be told too. A command
/// that repeats what was done elsewhere brings the time with it.
fn tell_time(key: &mut KeyMut<'_>) -> Option<u64> {
    let by_clock =
        |filter: &EngineValue| matches!(filter.body(), Body::Window(window) if window.ticks().is_some());
    if !key.value::<EngineValue>().is_some_and(by_clock) || key.call().is_repeated() {
        return None;
    }
    let now = key.call().milliseconds() / 1000;
    let filter = key.value_mut::<EngineValue>()?;
    filter.advance(now).then_some(now)
}

/// Stores items. Replicas get what was stored.
fn store(
    call: &mut Call,
    arguments: &Arguments<'_>,
    insert: fn(&mut EngineValue, malkoha::KeyHash) -> Result<Result<bool, malkoha::Full>, Refusal>,
) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let items = arguments.from(2);
    let mut key = call.write(arguments, KEY);
    // Items that cannot be keys of this filter are refused before anything changes.
    let keys = held_mut(&mut key)?.hashes(items.iter())?;
    let time = tell_time(&mut key);
    let filter = held_mut(&mut key)?;
    let outcomes = keys.into_iter().map(|key| insert(filter, key)).collect::<Result<Vec<_>, _>>()?;
    drop(key);
    if let Some(time) = time {
        call.replicate_as(c"MK.ADVANCE", &[arguments.get(KEY), time.to_string().as_bytes()]);
    }
    let stored = outcomes.iter().filter(|outcome| **outcome == Ok(true)).count();
    let refused = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    metrics::STORED.add(stored);
    metrics::REFUSED.add(refused);
    if stored > 0 {
        replicate(call, arguments, &outcomes);
        call.notify(c"malkoha.add", arguments, KEY);
    }
    if refused == 0 {
        return Ok(Reply::Bools(outcomes.into_iter().map(|outcome| outcome == Ok(true)).collect()));
    }
    let answer = |outcome: Result<bool, _>| outcome.map_or(Reply::Error(FULL), Reply::Bool);
    Ok(Reply::Array(outcomes.into_iter().map(answer).collect()))
}

/// Sends the command on, without items that had no room here: elsewhere there may be more memory.
fn replicate(call: &Call, arguments: &Arguments<'_>, outcomes: &[Result<bool, malkoha::Full>]) {
    if outcomes.iter().all(Result::is_ok) {
        call.replicate();
        return;
    }
    let nx = arguments.get(0).last().is_some_and(|letter| letter.eq_ignore_ascii_case(&b'x'));
    let kept = arguments.from(2).iter().zip(outcomes).filter(|(_, outcome)| **outcome == Ok(true));
    let all: Vec<&[u8]> = std::iter::once(arguments.get(KEY)).chain(kept.map(|(item, _)| item)).collect();
    call.replicate_as(if nx { c"MK.ADDNX" } else { c"MK.ADD" }, &all);
}

/// `MK.ADD key item [item ...]`
pub(super) fn add(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    store(call, &arguments, |filter, key| Ok(filter.insert(key)?.map(|()| true)))
}

/// `MK.ADDNX key item [item ...]`
pub(super) fn add_nx(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    store(call, &arguments, |filter, key| {
        Ok(filter.insert_unique(key)?.map(|inserted| inserted == Inserted::Stored))
    })
}

/// `MK.EXISTS key item [item ...]`
pub(super) fn exists(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let items = arguments.from(2);
    let key = call.read(&arguments, KEY);
    let filter = held(&key)?;
    let found = filter.contains(&filter.hashes(items.iter())?)?;
    metrics::LOOKED_UP.add(items.len());
    Ok(Reply::Bools(found))
}

/// `MK.COUNT key item [item ...]`
pub(super) fn count(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let items = arguments.from(2);
    let key = call.read(&arguments, KEY);
    let filter = held(&key)?;
    let counts = filter.filter()?.count_slice(&filter.hashes(items.iter())?)?;
    metrics::LOOKED_UP.add(items.len());
    Ok(Reply::Integers(counts.into_iter().map(i64::from).collect()))
}

/// `MK.DEL key item [item ...]`
pub(super) fn del(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let mut key = call.write(&arguments, KEY);
    let filter = held_mut(&mut key)?;
    let keys = filter.hashes(arguments.from(2).iter())?;
    let filter = filter.filter_mut()?;
    let removed = keys.iter().map(|key| filter.remove(key)).collect::<Result<Vec<_>, _>>()?;
    drop(key);
    removals(call, &arguments, &removed);
    Ok(Reply::Bools(removed))
}

/// Tells the world about removals.
pub(super) fn removals(call: &Call, arguments: &Arguments<'_>, removed: &[bool]) {
    let count = removed.iter().filter(|removed| **removed).count();
    if count > 0 {
        metrics::REMOVED.add(count);
        call.replicate();
        call.notify(c"malkoha.del", arguments, KEY);
    }
}
