//! `MK.*`: filters of the engine, with what other modules lack.

mod info;
mod items;
mod merge;
mod reserve;
mod transfer;
mod values;

use core::ffi::CStr;

use super::arguments::{self, CAPACITY, KEY_ITEMS, ONLY_KEY};
use crate::commands;
use crate::server::docs::{self, Argument, Syntax};
use crate::server::register::CommandSpec;
use crate::server::{Arguments, Call, Key, KeyMut, Refusal, Reply};
use crate::values::engine::EngineValue;

/// The key of every command of this family but `MK.HELP`.
const KEY: usize = 1;
const ONE_KEY: (i32, i32, i32) = (1, 1, 1);

const NOT_FOUND: Refusal = Refusal::of("ERR not found: there is no filter at this key; MK.RESERVE makes one");

const UNIT: Argument = Argument::one_of(c"unit", &[Argument::word(c"KEYS"), Argument::word(c"SECONDS")]);
const RESERVE: docs::Arguments = &[
    arguments::KEY,
    Argument::number(c"rate"),
    CAPACITY.after(c"CAPACITY").optional(),
    Argument::word(c"FIXED").optional(),
    Argument::integer(c"bits").after(c"VALUES").optional(),
    Argument::block(c"window", &[UNIT, Argument::integer(c"length")]).after(c"WINDOW").optional(),
    Argument::integer(c"seed").after(c"SEED").optional(),
];
const PAIRS: docs::Arguments =
    &[arguments::KEY, Argument::block(c"pair", &[arguments::ITEM, Argument::integer(c"value")]).repeated()];
const MERGE: docs::Arguments = &[Argument::key(c"destination"), Argument::key(c"source").repeated()];
const EXPORT: docs::Arguments = &[arguments::KEY, Argument::integer(c"offset")];
const IMPORT: docs::Arguments =
    &[arguments::KEY, Argument::integer(c"offset"), Argument::integer(c"total"), Argument::text(c"bytes")];
const ADVANCE: docs::Arguments = &[arguments::KEY, Argument::integer(c"seconds")];

/// All commands of this family.
pub static COMMANDS: [CommandSpec; 15] = commands! {
    c"MK.RESERVE" reserve::reserve, c"write deny-oom fast", ONE_KEY, -3, RESERVE, c"write fast malkoha",
        c"Makes an empty filter with a chosen rate", c"O(n), n the capacity";
    c"MK.ADD" items::add, c"write deny-oom fast", ONE_KEY, -3, KEY_ITEMS, c"write fast malkoha",
        c"Stores items; 1 for each", c"O(n), n the items";
    c"MK.ADDNX" items::add_nx, c"write deny-oom fast", ONE_KEY, -3, KEY_ITEMS, c"write fast malkoha",
        c"Stores items that are not found; 1 stored, 0 found", c"O(n), n the items";
    c"MK.EXISTS" items::exists, c"readonly fast", ONE_KEY, -3, KEY_ITEMS, c"read fast malkoha",
        c"0 certainly not stored; 1 stored or, at the filter's rate, not", c"O(n), n the items";
    c"MK.DEL" items::del, c"write fast", ONE_KEY, -3, KEY_ITEMS, c"write fast malkoha",
        c"Removes items, each once; only for items that were stored", c"O(n), n the items";
    c"MK.COUNT" items::count, c"readonly fast", ONE_KEY, -3, KEY_ITEMS, c"read fast malkoha",
        c"How often each item was stored, or more", c"O(n), n the items";
    c"MK.SET" values::set, c"write deny-oom fast", ONE_KEY, -4, PAIRS, c"write fast malkoha",
        c"Stores items, each with a value", c"O(n), n the items";
    c"MK.GET" values::get, c"readonly fast", ONE_KEY, -3, KEY_ITEMS, c"read fast malkoha",
        c"For each item the values it was stored with, at the filter's rate also others", c"O(n), n the items";
    c"MK.UNSET" values::unset, c"write fast", ONE_KEY, -4, PAIRS, c"write fast malkoha",
        c"Removes items that have these values", c"O(n), n the items";
    c"MK.MERGE" merge::merge, c"write deny-oom", (1, -1, 1), -3, MERGE, c"write malkoha",
        c"Adds the items of the sources; seeds must be equal", c"O(n), n the items of all filters";
    c"MK.EXPORT" transfer::export, c"readonly", ONE_KEY, 3, EXPORT, c"read malkoha",
        c"Returns [bytes of all, bytes from offset on], those of a file of malkoha", c"O(n), n the bytes of the filter for the first chunk";
    c"MK.IMPORT" transfer::import, c"write deny-oom", ONE_KEY, 5, IMPORT, c"write malkoha",
        c"Takes a chunk of such bytes, in order", c"O(n), n the bytes of the filter for the last chunk";
    c"MK.ADVANCE" info::advance, c"write fast", ONE_KEY, 3, ADVANCE, c"write fast malkoha",
        c"Tells a window of seconds the time; done by itself when items are stored", c"O(1)";
    c"MK.INFO" info::info, c"readonly fast", ONE_KEY, 2, ONLY_KEY, c"read fast malkoha",
        c"Load, rates and memory of the filter", c"O(1)";
    c"MK.HELP" help, c"readonly fast", (0, 0, 0), 1, &[], c"read fast malkoha",
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
    let line = |command: &CommandSpec| {
        let [name, summary] = [command.name, command.summary].map(CStr::to_string_lossy);
        let space = if command.arguments.is_empty() { "" } else { " " };
        Reply::Bytes(format!("{name}{space}{}: {summary}", Syntax(command.arguments)).into_bytes())
    };
    Ok(Reply::Array(COMMANDS.iter().map(line).collect()))
}
