//! `MK.*`: filters of the engine, with what other modules lack.

mod info;
mod items;
mod merge;
mod reserve;
mod transfer;
mod values;

use crate::commands;
use crate::server::register::CommandSpec;
use crate::server::{Arguments, Call, Key, KeyMut, Refusal, Reply};
use crate::values::engine::EngineValue;

/// The key of every command of this family but `MK.HELP`.
const KEY: usize = 1;
const ONE_KEY: (i32, i32, i32) = (1, 1, 1);

const NOT_FOUND: Refusal = Refusal::of("ERR not found: there is no filter at this key; MK.RESERVE makes one");

/// All commands of this family.
pub static COMMANDS: [CommandSpec; 15] = commands! {
    c"MK.RESERVE" reserve::reserve, c"write deny-oom fast", ONE_KEY, -3, c"write fast malkoha",
        c"Makes an empty filter with a chosen rate", c"O(n), n the capacity";
    c"MK.ADD" items::add, c"write deny-oom fast", ONE_KEY, -3, c"write fast malkoha",
        c"Stores items", c"O(n), n the items";
    c"MK.ADDNX" items::add_nx, c"write deny-oom fast", ONE_KEY, -3, c"write fast malkoha",
        c"Stores items that are not found", c"O(n), n the items";
    c"MK.EXISTS" items::exists, c"readonly fast", ONE_KEY, -3, c"read fast malkoha",
        c"Whether items may be in the filter", c"O(n), n the items";
    c"MK.DEL" items::del, c"write fast", ONE_KEY, -3, c"write fast malkoha",
        c"Removes items, each once; only for items that were stored", c"O(n), n the items";
    c"MK.COUNT" items::count, c"readonly fast", ONE_KEY, -3, c"read fast malkoha",
        c"How often items may be in the filter", c"O(n), n the items";
    c"MK.SET" values::set, c"write deny-oom fast", ONE_KEY, -4, c"write fast malkoha",
        c"Stores items, each with a value", c"O(n), n the items";
    c"MK.GET" values::get, c"readonly fast", ONE_KEY, -3, c"read fast malkoha",
        c"The values that items may have", c"O(n), n the items";
    c"MK.UNSET" values::unset, c"write fast", ONE_KEY, -4, c"write fast malkoha",
        c"Removes items that have these values", c"O(n), n the items";
    c"MK.MERGE" merge::merge, c"write deny-oom", (1, -1, 1), -3, c"write malkoha",
        c"Adds all items of other filters to one", c"O(n), n the items of all filters";
    c"MK.EXPORT" transfer::export, c"readonly", ONE_KEY, 3, c"read malkoha",
        c"Returns a chunk of the filter as a file", c"O(n), n the bytes of the filter for the first chunk";
    c"MK.IMPORT" transfer::import, c"write deny-oom", ONE_KEY, 5, c"write malkoha",
        c"Takes a chunk of a filter's file", c"O(n), n the bytes of the filter for the last chunk";
    c"MK.ADVANCE" info::advance, c"write fast", ONE_KEY, 3, c"write fast malkoha",
        c"Tells a window of seconds the time, as Unix seconds", c"O(1)";
    c"MK.INFO" info::info, c"readonly fast", ONE_KEY, 2, c"read fast malkoha",
        c"Load, rates and memory of the filter", c"O(1)";
    c"MK.HELP" help, c"readonly fast", (0, 0, 0), 1, c"read fast malkoha",
        c"All commands of this family", c"O(1)";
};

/// The filter at a key; refused if there is none, or something else.
fn held<'a>(key: &'a Key<'_>) -> Result<&'a EngineValue, Refusal> {
    match key.value() {
        Some(filter) => Ok(filter),
        None if key.is_missing() => Err(NOT_FOUND),
        None => Err(Refusal::WRONG_TYPE),
    }
}

/// The filter at a key, to be changed.
fn held_mut<'a>(key: &'a mut KeyMut<'_>) -> Result<&'a mut EngineValue, Refusal> {
    if key.is_missing() {
        return Err(NOT_FOUND);
    }
    key.value_mut().ok_or(Refusal::WRONG_TYPE)
}

/// `MK.HELP`
fn help(_: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(1)?;
    Ok(Reply::Array(HELP.iter().map(|line| Reply::Bytes(line.as_bytes().to_vec())).collect()))
}

const HELP: [&str; 15] = [
    "MK.RESERVE key rate [CAPACITY n] [FIXED] [VALUES bits] [WINDOW KEYS|SECONDS n] [SEED s]: makes an empty filter",
    "MK.ADD key item [item ...]: stores items; 1 for each",
    "MK.ADDNX key item [item ...]: stores items that are not found; 1 stored, 0 found",
    "MK.EXISTS key item [item ...]: 0 certainly not stored, 1 stored or, at the filter's rate, not",
    "MK.DEL key item [item ...]: removes each item once; only for items that were stored",
    "MK.COUNT key item [item ...]: how often each item was stored, or more",
    "MK.SET key item value [item value ...]: stores items with values",
    "MK.GET key item [item ...]: for each item the values it was stored with, at the filter's rate also others",
    "MK.UNSET key item value [item value ...]: removes items that were stored with these values",
    "MK.MERGE destination source [source ...]: adds the items of the sources; seeds must be equal",
    "MK.EXPORT key offset: [bytes of all, bytes from offset on]; the bytes are those of a file of malkoha",
    "MK.IMPORT key offset total bytes: takes such bytes, in order",
    "MK.ADVANCE key seconds: tells a window of seconds the time; done by itself when items are stored",
    "MK.INFO key: load, rates and memory",
    "MK.HELP: this text",
];
