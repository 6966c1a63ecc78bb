//! Storing and looking up items.

use super::reserve::{self, Wish};
use super::{KEY, NOT_FOUND};
use crate::commands::stored::{Outcome, Telling, tell};
use crate::metrics;
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::bloom::BloomValue;

/// Stores items until one is refused; then that refusal is the last outcome. A filter is made first if there is none
/// and `wish` says how. Replicas get what was stored.
fn store(
    call: &mut Call,
    arguments: &Arguments<'_>,
    wish: Option<&Wish>,
    items: &Arguments<'_>,
) -> Result<Vec<Outcome>, Refusal> {
    let mut key = call.write(arguments, KEY)?;
    let created = if key.is_missing() { Some(wish.ok_or(NOT_FOUND)?) } else { None };
    if let Some(wish) = created {
        wish.put(&mut key)?;
    }
    let filter = key.value_mut::<BloomValue>().ok_or(Refusal::WRONG_TYPE)?;
    let outcomes: Vec<Outcome> = filter.insert_each(items.iter()).into_iter().map(Outcome::from).collect();
    drop(key);
    if let Some(wish) = created {
        wish.replicate(call, arguments);
        call.notify(c"bloom.reserve", arguments, KEY);
    }
    let telling = Telling { command: c"BF.MADD", words: &[], event: c"bloom.add" };
    tell(call, arguments, items, &outcomes, &telling);
    Ok(outcomes)
}

fn answer(outcome: Outcome) -> Result<bool, Refusal> {
    match outcome {
        Outcome::Stored => Ok(true),
        Outcome::Seen => Ok(false),
        Outcome::Full => Err(Refusal::of("ERR non scaling filter is full")),
        Outcome::Memory => Err(Refusal::of("ERR Insufficient memory")),
    }
}

/// One answer for each item up to the first that was refused.
fn answers(outcomes: Vec<Outcome>) -> Reply {
    if outcomes.iter().any(|outcome| outcome.is_refused()) {
        let reply = |outcome| answer(outcome).map_or_else(Reply::Error, Reply::Bool);
        return Reply::Array(outcomes.into_iter().map(reply).collect());
    }
    Reply::Bools(outcomes.into_iter().map(|outcome| outcome == Outcome::Stored).collect())
}

/// `BF.ADD key item`
pub(super) fn add(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    let outcomes = store(call, &arguments, Some(&Wish::by_settings()), &arguments.from(2))?;
    answer(outcomes[0]).map(Reply::Bool)
}

/// `BF.MADD key item [item ...]`
pub(super) fn madd(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    store(call, &arguments, Some(&Wish::by_settings()), &arguments.from(2)).map(answers)
}

/// `BF.INSERT key [CAPACITY c] [ERROR e] [EXPANSION x] [NOCREATE] [NONSCALING] ITEMS item [item ...]`
pub(super) fn insert(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(4)?;
    let (wish, first) = insert_options(&arguments)?;
    let items = arguments.from(first);
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    store(call, &arguments, wish.as_ref(), &items).map(answers)
}

/// How to make a filter, unless it must not be made, and where the items begin. Like RedisBloom, only the first letters
/// of an option are looked at, as many as are needed to tell them apart.
fn insert_options(arguments: &Arguments<'_>) -> Result<(Option<Wish>, usize), Refusal> {
    let mut wish = Wish::by_settings();
    let (mut create, mut fixed, mut chosen) = (true, false, None);
    let mut index = 2;
    while index < arguments.len() {
        let name = arguments.get(index).to_ascii_lowercase();
        match name.first() {
            Some(b'i') => {
                wish.expansion = reserve::growth(chosen, fixed)?;
                return Ok((create.then_some(wish), index + 1));
            }
            Some(b'n') if name.starts_with(b"non") => fixed = true,
            Some(b'n') => create = false,
            Some(b'c' | b'e') => {
                index += 1;
                if index == arguments.len() {
                    return Err(Refusal::Arity);
                }
                let value = arguments.get(index);
                match (name[0], name.get(1)) {
                    (b'c', _) => wish.capacity = reserve::capacity(value, ["Bad capacity"; 2])?,
                    (_, Some(b'x')) => chosen = Some(reserve::expansion(value, ["Bad expansion"; 2])?),
                    _ => wish.error = reserve::rate(value, ["Bad error rate"; 2])?,
                }
            }
            _ => return Err(Refusal::of("Unknown argument received")),
        }
        index += 1;
    }
    Err(Refusal::Arity)
}

/// Looks items up. A key that is missing or holds something else has none of them, as in RedisBloom.
fn look_up(call: &Call, arguments: &Arguments<'_>) -> Vec<bool> {
    let items = arguments.from(2);
    metrics::LOOKED_UP.add(items.len());
    let key = call.read(arguments, KEY);
    match key.value::<BloomValue>() {
        Some(filter) => filter.contains_each(items.iter()),
        None => vec![false; items.len()],
    }
}

/// `BF.EXISTS key item`
pub(super) fn exists(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    Ok(Reply::Bool(look_up(call, &arguments)[0]))
}

/// `BF.MEXISTS key item [item ...]`
pub(super) fn mexists(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    Ok(Reply::Bools(look_up(call, &arguments)))
}
