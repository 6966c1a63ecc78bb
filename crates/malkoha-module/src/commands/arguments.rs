//! Arguments that many commands have, for `COMMAND DOCS`.

use crate::server::docs::{Argument, Arguments};

pub(super) const KEY: Argument = Argument::key(c"key");
pub(super) const ITEM: Argument = Argument::text(c"item");
/// Items after a word.
pub(super) const ITEMS: Argument = ITEM.repeated().after(c"ITEMS");
pub(super) const CAPACITY: Argument = Argument::integer(c"capacity");

pub(super) const ONLY_KEY: Arguments = &[KEY];
pub(super) const KEY_ITEM: Arguments = &[KEY, ITEM];
pub(super) const KEY_ITEMS: Arguments = &[KEY, ITEM.repeated()];
pub(super) const SCANDUMP: Arguments = &[KEY, Argument::integer(c"position")];
pub(super) const LOADCHUNK: Arguments = &[KEY, Argument::integer(c"position"), Argument::text(c"data")];
