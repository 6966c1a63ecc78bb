//! Storing, looking up and removing items.

use super::reserve::{self, Wish};
use super::{Found, FoundMut, KEY, NOT_FOUND, found, found_mut};
use crate::commands::parse;
use crate::commands::stored::{Outcome, Telling, tell, tell_time};
use crate::metrics;
use crate::redisbloom::cuckoo::Hashed;
use crate::server::{Arguments, Call, KeyMut, Refusal, Reply, Value};
use crate::settings::{CF_BUCKET_SIZE, CF_MAX_EXPANSIONS, MOST_CAPACITY};
use crate::values::cuckoo::CuckooValue;
use crate::values::engine::Which;

impl FoundMut<'_> {
    /// Stores items. If one cannot be a key of the filter, nothing is stored.
    fn insert(&mut self, items: &Arguments<'_>, which: Which) -> Result<Vec<Outcome>, Refusal> {
        match self {
            Self::Cuckoo(filter) => {
                let outcomes = filter.insert_each(items.iter(), which == Which::New);
                Ok(outcomes.into_iter().map(Outcome::from).collect())
            }
            Self::Engine(filter) => {
                let keys = filter.hashes(items.iter())?;
                Ok(filter.insert(&keys, which)?.into_iter().map(Outcome::from).collect())
            }
        }
    }
}

/// Fails if a filter has, or would be made with, as many tables as are allowed. That is decided where a command comes
/// from a client; what was stored there is stored everywhere.
fn may_grow(key: &KeyMut<'_>, created: Option<&Wish>) -> Result<(), Refusal> {
    let tables = match created {
        Some(Wish::Cuckoo(..)) => 1,
        Some(Wish::Engine(_)) => 0,
        None => key.value::<CuckooValue>().map_or(0, |filter| filter.tables().len() as u64),
    };
    if tables >= CF_MAX_EXPANSIONS.count() && !key.call().is_repeated() {
        return Err(Refusal::of("Maximum expansions reached"));
    }
    Ok(())
}

/// Stores items, in a filter that is made first if there is none and `wish` says how. Replicas get what was stored.
fn store(
    call: &mut Call,
    arguments: &Arguments<'_>,
    wish: Option<&Wish>,
    items: &Arguments<'_>,
    which: Which,
) -> Result<Vec<Outcome>, Refusal> {
    let mut key = call.write(arguments, KEY)?;
    let created = if key.is_missing() { Some(wish.ok_or(NOT_FOUND)?) } else { None };
    may_grow(&key, created)?;
    if let Some(wish) = created {
        drop(key);
        let made = wish.make(call, arguments)?;
        key = call.write(arguments, KEY)?;
        made.put(&mut key);
    }
    tell_time(&mut key, arguments);
    let outcomes = found_mut(&mut key).ok_or(Refusal::WRONG_TYPE)?.insert(items, which)?;
    drop(key);
    if let Some(wish) = created {
        reserve::replicate(call, arguments, wish);
        call.notify(c"cuckoo.reserve", arguments, KEY);
    }
    let command = if which == Which::All { c"CF.INSERT" } else { c"CF.INSERTNX" };
    let telling = Telling { command, words: &[b"NOCREATE", b"ITEMS"], event: c"cuckoo.add" };
    tell(call, arguments, items, &outcomes, &telling);
    Ok(outcomes)
}

fn store_one(call: &mut Call, arguments: &Arguments<'_>, which: Which) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    let wish = Wish::by_settings(None);
    match store(call, arguments, Some(&wish), &arguments.from(2), which)?[0] {
        Outcome::Stored => Ok(Reply::Bool(true)),
        Outcome::Seen => Ok(Reply::Bool(false)),
        Outcome::Full => Err(Refusal::of("Filter is full")),
        Outcome::Memory => Err(Refusal::of("ERR Insufficient memory")),
    }
}

/// `CF.ADD key item`
pub(super) fn add(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    store_one(call, &arguments, Which::All)
}

/// `CF.ADDNX key item`
pub(super) fn add_nx(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    store_one(call, &arguments, Which::New)
}

/// What `CF.INSERT` is told besides the items: how to make a filter, unless it must not; and where the items begin.
/// Like RedisBloom, only the first letter of an option is looked at.
fn insert_options(call: &Call, arguments: &Arguments<'_>) -> Result<(Option<Wish>, usize), Refusal> {
    // Where the command comes from, buckets may be smaller than the setting says here.
    let least = if call.is_repeated() { 1 } else { 2 * CF_BUCKET_SIZE.get() };
    let (mut capacity, mut create) = (None, true);
    let mut index = 2;
    while index < arguments.len() {
        match arguments.get(index).first().map(u8::to_ascii_lowercase) {
            Some(b'i') => {
                let wish = create.then(|| Wish::by_settings(capacity));
                return Ok((wish, index + 1));
            }
            Some(b'n') => create = false,
            Some(b'c') => {
                index += 1;
                if index == arguments.len() {
                    return Err(Refusal::Arity);
                }
                let number = parse::integer(arguments.get(index)).ok_or(Refusal::of("Bad capacity"))?;
                if !(least..=MOST_CAPACITY).contains(&number) {
                    let text = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
                    return Err(Refusal::of(text));
                }
                capacity = Some(number.unsigned_abs());
            }
            _ => return Err(Refusal::of("Unknown argument received")),
        }
        index += 1;
    }
    Err(Refusal::Arity)
}

fn insert_items(call: &mut Call, arguments: &Arguments<'_>, which: Which) -> Result<Vec<Outcome>, Refusal> {
    arguments.at_least(4)?;
    let (wish, first) = insert_options(call, arguments)?;
    let items = arguments.from(first);
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    store(call, arguments, wish.as_ref(), &items, which)
}

fn numbers(outcomes: &[Outcome]) -> Reply {
    let number = |outcome: &Outcome| match outcome {
        Outcome::Stored => 1,
        Outcome::Seen => 0,
        Outcome::Full | Outcome::Memory => -1,
    };
    Reply::Integers(outcomes.iter().map(number).collect())
}

/// `CF.INSERT key [CAPACITY c] [NOCREATE] ITEMS item [item ...]`
pub(super) fn insert(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    let outcomes = insert_items(call, &arguments, Which::All)?;
    if call.resp3() {
        return Ok(Reply::Bools(outcomes.iter().map(|outcome| *outcome == Outcome::Stored).collect()));
    }
    Ok(numbers(&outcomes))
}

/// `CF.INSERTNX key [CAPACITY c] [NOCREATE] ITEMS item [item ...]`
pub(super) fn insert_nx(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    insert_items(call, &arguments, Which::New).map(|outcomes| numbers(&outcomes))
}

/// Looks items up. A key that is missing or holds something else has none of them, as in RedisBloom.
fn look_up(call: &Call, arguments: &Arguments<'_>) -> Result<Vec<bool>, Refusal> {
    let items = arguments.from(2);
    metrics::LOOKED_UP.add(items.len());
    let key = call.read(arguments, KEY);
    match found(&key) {
        Some(Found::Cuckoo(filter)) => Ok(filter.contains_each(items.iter())),
        Some(Found::Engine(filter)) => filter.contains(&filter.hashes(items.iter())?),
        None => Ok(vec![false; items.len()]),
    }
}

/// `CF.EXISTS key item`
pub(super) fn exists(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    Ok(Reply::Bool(look_up(call, &arguments)?[0]))
}

/// `CF.MEXISTS key item [item ...]`
pub(super) fn mexists(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    look_up(call, &arguments).map(Reply::Bools)
}

/// `CF.COUNT key item`
pub(super) fn count(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    metrics::LOOKED_UP.add(1);
    let key = call.read(&arguments, KEY);
    let item = arguments.get(2);
    match found(&key) {
        Some(Found::Cuckoo(filter)) => Ok(filter.count(Hashed::of(item)).into()),
        Some(Found::Engine(filter)) => Ok(u64::from(filter.filter()?.count(&filter.hash(item)?)?).into()),
        None => Ok(Reply::Integer(0)),
    }
}

/// The bytes of a filter that is compacted if this item is removed now.
fn compaction(call: &Call, arguments: &Arguments<'_>, item: &[u8]) -> Option<usize> {
    let key = call.read(arguments, KEY);
    let is_compacted = |filter: &&CuckooValue| filter.is_due() && filter.contains(Hashed::of(item));
    key.value().filter(is_compacted).map(Value::memory)
}

fn remove(call: &mut Call, arguments: &Arguments<'_>, item: &[u8]) -> Result<bool, Refusal> {
    let mut key = call.write(arguments, KEY)?;
    match found_mut(&mut key) {
        Some(FoundMut::Cuckoo(filter)) => Ok(filter.remove(Hashed::of(item))),
        Some(FoundMut::Engine(filter)) => {
            let hash = filter.hash(item)?;
            Ok(filter.change_filter(|filter| filter.remove(&hash))??)
        }
        None => Err(Refusal::of("Not found")),
    }
}

/// `CF.DEL key item`
pub(super) fn del(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(3)?;
    let item = arguments.get(2);
    let removed = match compaction(call, &arguments, item) {
        Some(bytes) => call
            .change(&arguments, KEY, bytes, |filter: &mut CuckooValue| Ok(filter.remove(Hashed::of(item))))?,
        None => remove(call, &arguments, item)?,
    };
    if removed {
        metrics::REMOVED.add(1);
        call.replicate();
        call.notify(c"cuckoo.del", &arguments, KEY);
    }
    Ok(Reply::Bool(removed))
}
