//! `MK.PANIC`, for tests of what happens to the server then.

use crate::commands;
use crate::server::register::CommandSpec;
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::EngineValue;

pub(super) static COMMANDS: [CommandSpec; 1] = commands! {
    c"MK.PANIC" panic, c"write", (1, 1, 1), 2, c"write", c"Panics while a key is open", c"O(1)";
};

fn panic(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    let mut key = call.write(&arguments, 1);
    let filter = key.value_mut::<EngineValue>().ok_or(Refusal::WRONG_TYPE)?;
    let items = filter.filter()?.len();
    panic!("asked to, with a filter of {items} items in hand")
}
