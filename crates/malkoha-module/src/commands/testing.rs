//! Commands for tests: `MK.PANIC`, to see what happens to the server then, and `MK.BESIDE`, which makes small work
//! run beside the server.

use std::sync::atomic::Ordering;

use super::arguments::ONLY_KEY;
use super::parse::count;
use crate::commands;
use crate::server::beside::testing::{ALWAYS, DELAY};
use crate::server::register::CommandSpec;
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::EngineValue;

pub(super) static COMMANDS: [CommandSpec; 2] = commands! {
    c"MK.PANIC" panic, c"write", (1, 1, 1), 2, ONLY_KEY, c"write", c"Panics while it works with a key", c"O(1)";
    c"MK.BESIDE" beside, c"readonly", (0, 0, 0), -1, &[], c"read",
        c"Makes all work run beside the server, and take so many milliseconds longer", c"O(1)";
};

fn panic(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    call.change(&arguments, 1, 0, |filter: &mut EngineValue| {
        let items = filter.filter()?.len();
        panic!("asked to, with a filter of {items} items in hand")
    })
}

/// `MK.BESIDE [milliseconds]`: without a number, only large work runs beside the server.
fn beside(_: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(1)?;
    let delay = arguments.from(1).iter().next().and_then(count);
    ALWAYS.store(delay.is_some(), Ordering::Relaxed);
    DELAY.store(delay.unwrap_or(0), Ordering::Relaxed);
    Ok(Reply::Ok)
}
