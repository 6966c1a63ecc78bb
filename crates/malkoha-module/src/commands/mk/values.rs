//! Values beside items.

use malkoha::{Error, KeyHash};

use super::items::{FULL, removals};
use super::{KEY, held, held_mut};
use crate::commands::parse::count;
use crate::metrics;
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::EngineValue;

/// The items and values of a command, of which nothing is done if one of them is impossible.
fn pairs(filter: &EngineValue, arguments: &Arguments<'_>) -> Result<Vec<(KeyHash, u16)>, Refusal> {
    let bits = filter.filter()?.geometry().value_bits();
    if bits == 0 {
        return Err(Error::NoValues.into());
    }
    let all = arguments.from(2);
    let value = |text: &[u8]| {
        let value = count(text).and_then(|value| u16::try_from(value).ok());
        value.filter(|value| u32::from(*value) < 1 << bits).ok_or_else(|| {
            Refusal::from(format!("ERR a value must be a whole number from 0 to {}", (1u32 << bits) - 1))
        })
    };
    (0..all.len()).step_by(2).map(|at| Ok((filter.hash(all.get(at))?, value(all.get(at + 1))?))).collect()
}

/// Fails unless there are pairs of items and values.
fn check_pairs(arguments: &Arguments<'_>) -> Result<(), Refusal> {
    arguments.at_least(4)?;
    if arguments.len().is_multiple_of(2) { Ok(()) } else { Err(Refusal::Arity) }
}

/// `MK.SET key item value [item value ...]`
pub(super) fn set(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    check_pairs(&arguments)?;
    let mut key = call.write(&arguments, KEY)?;
    let filter = held_mut(&mut key)?;
    let pairs = pairs(filter, &arguments)?;
    let mut stored = Vec::with_capacity(pairs.len());
    filter.change_filter(|filter| {
        stored.extend(pairs.iter().map(|(key, value)| filter.insert_value(key, *value).is_ok()));
    })?;
    drop(key);
    let count = stored.iter().filter(|stored| **stored).count();
    metrics::STORED.add(count);
    metrics::REFUSED.add(stored.len() - count);
    if count > 0 {
        replicate(call, &arguments, &stored);
        call.notify(c"malkoha.set", &arguments, KEY);
    }
    if count == stored.len() {
        return Ok(Reply::Bools(stored));
    }
    let answer = |stored| if stored { Reply::Bool(true) } else { Reply::Error(FULL) };
    Ok(Reply::Array(stored.into_iter().map(answer).collect()))
}

/// Sends the command on, without items that had no room here.
fn replicate(call: &Call, arguments: &Arguments<'_>, stored: &[bool]) {
    if stored.iter().all(|stored| *stored) {
        call.replicate();
        return;
    }
    let kept = (0..stored.len()).filter(|index| stored[*index]);
    let pair = |index: usize| [arguments.get(2 + 2 * index), arguments.get(3 + 2 * index)];
    let all: Vec<&[u8]> = std::iter::once(arguments.get(KEY)).chain(kept.flat_map(pair)).collect();
    call.replicate_as(c"MK.SET", &all);
}

/// `MK.GET key item [item ...]`
pub(super) fn get(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let items = arguments.from(2);
    let key = call.read(&arguments, KEY);
    let filter = held(&key)?;
    let found = filter.filter()?.get_slice(&filter.hashes(items.iter())?)?;
    metrics::LOOKED_UP.add(items.len());
    let values =
        |values: malkoha::Values| Reply::Integers(values.iter().map(|value| i64::from(*value)).collect());
    Ok(Reply::Array(found.into_iter().map(values).collect()))
}

/// `MK.UNSET key item value [item value ...]`
pub(super) fn unset(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    check_pairs(&arguments)?;
    let mut key = call.write(&arguments, KEY)?;
    let filter = held_mut(&mut key)?;
    let pairs = pairs(filter, &arguments)?;
    let mut removed = Vec::with_capacity(pairs.len());
    filter.change_filter(|filter| {
        pairs
            .iter()
            .try_for_each(|(key, value)| filter.remove_value(key, *value).map(|found| removed.push(found)))
    })??;
    drop(key);
    removals(call, &arguments, &removed);
    Ok(Reply::Bools(removed))
}
