//! `CF.*`: RedisBloom's commands for cuckoo filters.

mod dump;
mod info;
mod items;
mod reserve;

pub(super) use reserve::make_engine;

use super::arguments::{self, CAPACITY, ITEMS, KEY_ITEM, KEY_ITEMS, LOADCHUNK, ONLY_KEY, SCANDUMP};
use crate::commands;
use crate::server::docs::{self, Argument};
use crate::server::register::CommandSpec;
use crate::server::{Key, KeyMut, Refusal};
use crate::values::cuckoo::CuckooValue;
use crate::values::engine::EngineValue;

/// The key of every command of this family.
const KEY: usize = 1;
const ONE_KEY: (i32, i32, i32) = (1, 1, 1);

pub(super) const NOT_FOUND: Refusal = Refusal::of("ERR not found");
pub(super) const EXISTS: Refusal = Refusal::of("ERR item exists");

const RESERVE: docs::Arguments = &[
    arguments::KEY,
    CAPACITY,
    Argument::integer(c"size").after(c"BUCKETSIZE").optional(),
    Argument::integer(c"iterations").after(c"MAXITERATIONS").optional(),
    Argument::integer(c"expansion").after(c"EXPANSION").optional(),
    Argument::number(c"rate").after(c"ERROR").optional(),
    Argument::integer(c"seed").after(c"SEED").optional(),
];
const INSERT: docs::Arguments =
    &[arguments::KEY, CAPACITY.after(c"CAPACITY").optional(), Argument::word(c"NOCREATE").optional(), ITEMS];

/// All commands of this family.
pub static COMMANDS: [CommandSpec; 15] = commands! {
    c"CF.RESERVE" reserve::reserve, c"write deny-oom fast", ONE_KEY, -3, RESERVE, c"write fast cuckoo",
        c"Makes an empty cuckoo filter", c"O(n), n the capacity";
    c"CF.ADD" items::add, c"write deny-oom", ONE_KEY, 3, KEY_ITEM, c"write cuckoo",
        c"Stores an item, and makes the filter if there is none", c"O(k), k the number of sub-filters";
    c"CF.ADDNX" items::add_nx, c"write deny-oom", ONE_KEY, 3, KEY_ITEM, c"write cuckoo",
        c"Stores an item unless it is found", c"O(k), k the number of sub-filters";
    c"CF.INSERT" items::insert, c"write deny-oom", ONE_KEY, -4, INSERT, c"write cuckoo",
        c"Stores items, and makes the filter if there is none", c"O(n * k), n the items, k the sub-filters";
    c"CF.INSERTNX" items::insert_nx, c"write deny-oom", ONE_KEY, -4, INSERT, c"write cuckoo",
        c"Stores items that are not found", c"O(n * k), n the items, k the sub-filters";
    c"CF.EXISTS" items::exists, c"readonly fast", ONE_KEY, 3, KEY_ITEM, c"read fast cuckoo",
        c"Whether an item may be in the filter", c"O(k), k the number of sub-filters";
    c"CF.MEXISTS" items::mexists, c"readonly fast", ONE_KEY, -3, KEY_ITEMS, c"read fast cuckoo",
        c"Whether items may be in the filter", c"O(n * k), n the items, k the sub-filters";
    c"CF.COUNT" items::count, c"readonly fast", ONE_KEY, 3, KEY_ITEM, c"read fast cuckoo",
        c"How often an item may be in the filter", c"O(k), k the number of sub-filters";
    c"CF.DEL" items::del, c"write fast", ONE_KEY, 3, KEY_ITEM, c"write fast cuckoo",
        c"Removes an item once; only for items that were stored", c"O(k), k the number of sub-filters";
    c"CF.COMPACT" info::compact, c"write", ONE_KEY, 2, ONLY_KEY, c"write cuckoo",
        c"Moves items to older sub-filters, and frees empty ones", c"O(n), n the size of the filter";
    c"CF.SCANDUMP" dump::scandump, c"readonly fast", ONE_KEY, 3, SCANDUMP, c"read fast cuckoo",
        c"Returns the next chunk of the filter", c"O(n), n the bytes of a chunk";
    c"CF.LOADCHUNK" dump::loadchunk, c"write deny-oom", ONE_KEY, 4, LOADCHUNK, c"write cuckoo",
        c"Restores a chunk of a filter", c"O(n), n the bytes of the chunk";
    c"CF.INFO" info::info, c"readonly fast", ONE_KEY, 2, ONLY_KEY, c"read fast cuckoo",
        c"What the filter is, in eight numbers", c"O(1)";
    c"CF.DEBUG" info::debug, c"readonly fast", ONE_KEY, 2, ONLY_KEY, c"read fast cuckoo",
        c"What the filter is, in one line", c"O(1)";
    c"CF.STATS" info::stats, c"readonly fast", ONE_KEY, 2, ONLY_KEY, c"read fast cuckoo",
        c"Load, rates and memory of the filter", c"O(1)";
};

/// A filter that these commands work on.
pub(super) enum Found<'a> {
    /// In RedisBloom's layout.
    Cuckoo(&'a CuckooValue),
    /// Of the engine.
    Engine(&'a EngineValue),
}

/// A filter that these commands change.
pub(super) enum FoundMut<'a> {
    /// In RedisBloom's layout.
    Cuckoo(&'a mut CuckooValue),
    /// Of the engine.
    Engine(&'a mut EngineValue),
}

fn found<'a>(key: &'a Key<'_>) -> Option<Found<'a>> {
    let cuckoo = key.value().map(Found::Cuckoo);
    cuckoo.or_else(|| key.value().map(Found::Engine))
}

fn found_mut<'a>(key: &'a mut KeyMut<'_>) -> Option<FoundMut<'a>> {
    if key.value::<CuckooValue>().is_some() {
        return key.value_mut().map(FoundMut::Cuckoo);
    }
    key.value_mut().map(FoundMut::Engine)
}

/// The filter at a key; refused if there is none, or something else.
fn held<'a>(key: &'a Key<'_>) -> Result<Found<'a>, Refusal> {
    match found(key) {
        Some(filter) => Ok(filter),
        None if key.is_missing() => Err(NOT_FOUND),
        None => Err(Refusal::WRONG_TYPE),
    }
}

/// Fails if a filter cannot be made here: because there is one, or something else.
fn must_be_missing(key: &Key<'_>) -> Result<(), Refusal> {
    match found(key) {
        Some(_) => Err(EXISTS),
        None if key.is_missing() => Ok(()),
        None => Err(Refusal::WRONG_TYPE),
    }
}
