//! SIGINT and SIGTERM: the program ends at once, but never in the middle of a save.
//!
//! A file is replaced only when the new one is complete; until then there is a temporary file beside it, which a
//! save that runs to its end leaves behind for nobody.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::message::say;

/// Held while a file is saved.
static SAVING: Mutex<()> = Mutex::new(());

/// The exit status of programs that were interrupted, as shells have it. Which signal it was is not known here.
const INTERRUPTED: i32 = 130;

/// From now on signals wait for a save to end.
pub(crate) fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        let _saved = SAVING.lock().unwrap_or_else(PoisonError::into_inner);
        say("malkoha: interrupted");
        std::process::exit(INTERRUPTED);
    })
    .context("cannot wait for signals")
}

/// Runs a save that signals do not interrupt.
pub(crate) fn shielded<T>(save: impl FnOnce() -> T) -> T {
    let _saving = SAVING.lock().unwrap_or_else(PoisonError::into_inner);
    save()
}
