//! SIGINT, SIGTERM and SIGHUP: they end the program at once, but never in the middle of a save.
//!
//! A file is replaced only when the new one is complete. Until then there is a temporary file beside it,
//! which does not remain after a completed save.
//!
//! All threads but one block these signals; that one waits for them. When no save is running, it lets the
//! signal act as usual: a signal ignored by `nohup` or a shell is still ignored, and the parent process sees
//! which signal ended the program.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;

/// Held while a file is saved.
static SAVING: Mutex<()> = Mutex::new(());

/// Held from the arrival of a signal until it has acted, unless it kills.
static ACTING: Mutex<()> = Mutex::new(());

fn lock(mutex: &'static Mutex<()>) -> MutexGuard<'static, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes signals wait for a save to end. Must be called before there are other threads.
#[cfg(unix)]
pub(crate) fn install() -> Result<()> {
    use anyhow::Context;
    use nix::sys::signal::{SigSet, Signal, raise};

    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    signals.thread_block().context("cannot wait for signals")?;
    let acting = std::thread::Builder::new().spawn(move || {
        while let Ok(signal) = signals.wait() {
            let _acting = lock(&ACTING);
            let _nobody_saves = lock(&SAVING);
            // If one of these fails, the signal is ignored; there is nobody to tell.
            let _ = signals.thread_unblock();
            let _ = raise(signal);
            let _ = signals.thread_block();
        }
    });
    // Without that thread they act at once, even in the middle of a save.
    acting.map(drop).or_else(|_| signals.thread_unblock()).context("cannot wait for signals")
}

/// On other systems an interrupted program ends at once: the file to be replaced is unchanged, but a
/// temporary file remains.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail where there are signals")]
pub(crate) fn install() -> Result<()> {
    Ok(())
}

/// Runs a save that signals do not interrupt. A signal that arrives meanwhile acts right after it, before
/// anything else is done.
pub(crate) fn shielded<T>(save: impl FnOnce() -> T) -> T {
    let saving = lock(&SAVING);
    let saved = save();
    drop(saving);
    drop(lock(&ACTING));
    saved
}
