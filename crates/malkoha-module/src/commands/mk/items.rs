//! Storing, looking up and removing items.

use super::{KEY, held, held_mut};
use crate::commands::stored::{Outcome, Telling, tell, tell_time};
use crate::metrics;
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::Which;

/// An item that had no room.
pub(super) const FULL: Refusal = Refusal::of("ERR the filter is full");

/// Stores items. Replicas get what was stored.
fn store(call: &mut Call, arguments: &Arguments<'_>, which: Which) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let mut key = call.write(arguments, KEY)?;
    // Items that cannot be keys of this filter are refused before anything changes.
    let keys = held_mut(&mut key)?.hashes(arguments.from(2).iter())?;
    tell_time(&mut key, arguments);
    let inserted = held_mut(&mut key)?.insert(&keys, which)?;
    let outcomes: Vec<Outcome> = inserted.into_iter().map(Outcome::from).collect();
    drop(key);
    let command = if which == Which::All { c"MK.ADD" } else { c"MK.ADDNX" };
    let telling = Telling { command, words: &[], event: c"malkoha.add" };
    tell(call, arguments, &arguments.from(2), &outcomes, &telling);
    if outcomes.iter().any(|outcome| outcome.is_refused()) {
        let answer = |outcome: Outcome| {
            if outcome.is_refused() { Reply::Error(FULL) } else { Reply::Bool(outcome == Outcome::Stored) }
        };
        return Ok(Reply::Array(outcomes.into_iter().map(answer).collect()));
    }
    Ok(Reply::Bools(outcomes.into_iter().map(|outcome| outcome == Outcome::Stored).collect()))
}

/// `MK.ADD key item [item ...]`
pub(super) fn add(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    store(call, &arguments, Which::All)
}

/// `MK.ADDNX key item [item ...]`
pub(super) fn add_nx(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    store(call, &arguments, Which::New)
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
    let mut key = call.write(&arguments, KEY)?;
    let filter = held_mut(&mut key)?;
    let keys = filter.hashes(arguments.from(2).iter())?;
    let mut removed = Vec::with_capacity(keys.len());
    filter.change_filter(|filter| {
        keys.iter().try_for_each(|key| filter.remove(key).map(|found| removed.push(found)))
    })??;
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
