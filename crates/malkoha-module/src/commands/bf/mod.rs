//! `BF.*`: RedisBloom's commands for Bloom filters.

mod dump;
mod info;
mod items;
mod reserve;

use super::arguments::{self, CAPACITY, ITEMS, KEY_ITEM, KEY_ITEMS, LOADCHUNK, ONLY_KEY, SCANDUMP};
use crate::commands;
use crate::server::docs::{self, Argument};
use crate::server::register::CommandSpec;
use crate::server::{Key, KeyMut, Refusal};
use crate::values::bloom::BloomValue;

/// The key of every command of this family.
const KEY: usize = 1;
const ONE_KEY: (i32, i32, i32) = (1, 1, 1);

const NOT_FOUND: Refusal = Refusal::of("ERR not found");

const EXPANSION: Argument = Argument::integer(c"expansion").after(c"EXPANSION").optional();
const NONSCALING: Argument = Argument::word(c"NONSCALING").optional();
const RESERVE: docs::Arguments =
    &[arguments::KEY, Argument::number(c"rate"), CAPACITY, EXPANSION, NONSCALING];
const INSERT: docs::Arguments = &[
    arguments::KEY,
    CAPACITY.after(c"CAPACITY").optional(),
    Argument::number(c"rate").after(c"ERROR").optional(),
    EXPANSION,
    Argument::word(c"NOCREATE").optional(),
    NONSCALING,
    ITEMS,
];
const FACTS: docs::Arguments = &[
    Argument::word(c"CAPACITY"),
    Argument::word(c"SIZE"),
    Argument::word(c"FILTERS"),
    Argument::word(c"ITEMS"),
    Argument::word(c"EXPANSION"),
];
const INFO: docs::Arguments = &[arguments::KEY, Argument::one_of(c"fact", FACTS).optional()];

/// All commands of this family.
pub static COMMANDS: [CommandSpec; 11] = commands! {
    c"BF.RESERVE" reserve::reserve, c"write deny-oom fast", ONE_KEY, -4, RESERVE, c"write fast bloom",
        c"Makes an empty Bloom filter", c"O(n), n the capacity";
    c"BF.ADD" items::add, c"write deny-oom", ONE_KEY, 3, KEY_ITEM, c"write bloom",
        c"Stores an item, and makes the filter if there is none", c"O(k), k the number of hashes and sub-filters";
    c"BF.MADD" items::madd, c"write deny-oom", ONE_KEY, -3, KEY_ITEMS, c"write bloom",
        c"Stores items, and makes the filter if there is none", c"O(n * k), n the items, k the hashes and sub-filters";
    c"BF.INSERT" items::insert, c"write deny-oom", ONE_KEY, -4, INSERT, c"write bloom",
        c"Stores items, and makes the filter as told if there is none", c"O(n * k), n the items, k the hashes and sub-filters";
    c"BF.EXISTS" items::exists, c"readonly fast", ONE_KEY, 3, KEY_ITEM, c"read fast bloom",
        c"Whether an item may be in the filter", c"O(k), k the number of hashes and sub-filters";
    c"BF.MEXISTS" items::mexists, c"readonly fast", ONE_KEY, -3, KEY_ITEMS, c"read fast bloom",
        c"Whether items may be in the filter", c"O(n * k), n the items, k the hashes and sub-filters";
    c"BF.CARD" info::card, c"readonly fast", ONE_KEY, 2, ONLY_KEY, c"read fast bloom",
        c"How many items were stored", c"O(1)";
    c"BF.INFO" info::info, c"readonly fast", ONE_KEY, -2, INFO, c"read fast bloom",
        c"What the filter is", c"O(1)";
    c"BF.DEBUG" info::debug, c"readonly fast", ONE_KEY, 2, ONLY_KEY, c"read fast bloom",
        c"What every sub-filter is, in one line each", c"O(n), n the sub-filters";
    c"BF.SCANDUMP" dump::scandump, c"readonly fast", ONE_KEY, 3, SCANDUMP, c"read fast bloom",
        c"Returns the next chunk of the filter", c"O(n), n the bytes of a chunk";
    c"BF.LOADCHUNK" dump::loadchunk, c"write deny-oom", ONE_KEY, 4, LOADCHUNK, c"write bloom",
        c"Restores a chunk of a filter", c"O(n), n the bytes of the chunk";
};

/// The filter at a key; refused if there is none, or something else.
fn held<'a>(key: &'a Key<'_>) -> Result<&'a BloomValue, Refusal> {
    match key.value() {
        Some(filter) => Ok(filter),
        None if key.is_missing() => Err(NOT_FOUND),
        None => Err(Refusal::WRONG_TYPE),
    }
}

/// Fails if a filter cannot be made here: because there is one, or something else.
fn must_be_missing(key: &KeyMut<'_>) -> Result<(), Refusal> {
    if key.is_missing() {
        return Ok(());
    }
    let is_filter = key.value::<BloomValue>().is_some();
    Err(if is_filter { Refusal::of("ERR item exists") } else { Refusal::WRONG_TYPE })
}
