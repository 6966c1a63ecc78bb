//! SIGINT, SIGTERM and SIGHUP: the program dies of them at once, but never in the middle of a save.
//!
//! A file is replaced only when the new one is complete; until then there is a temporary file beside it,
//! which a save that runs to its end leaves behind for nobody.
//!
//! All threads block these signals but one, which waits for them. When no save is going on, it lets the
//! signal act as if nobody had waited: a program of which `nohup` or a shell has said that it ignores one
//! goes on ignoring it, and whoever waits for the program sees of which signal it died.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;

/// Held while a file is saved.
static SAVING: Mutex<()> = Mutex::new(());

/// Held from the moment a signal has come until it has acted, unless it kills.
static ACTING: Mutex<()> = Mutex::new(());

fn lock(mutex: &'static Mutex<()>) -> MutexGuard<'static, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on signals wait for a save to end. To be called before there are other threads.
#[cfg(unix)]
pub(crate) fn install() -> Result<()> {
    use anyhow::Context;
    use nix::sys::signal::{SigSet, Signal, raise};

    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    signals.thread_block().context("cannot wait for signals")?;
    std::thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            let _acting = lock(&ACTING);
            let _nobody_saves = lock(&SAVING);
            // If one of these fails, the signal is as if it were ignored; there is nobody to be told.
            let _ = signals.thread_unblock();
            let _ = raise(signal);
            let _ = signals.thread_block();
        }
    });
    Ok(())
}

/// Elsewhere an interrupted program ends at once: what a save would replace is as it was, but a temporary
/// file stays.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail where there are signals")]
pub(crate) fn install() -> Result<()> {
    Ok(())
}

/// Runs a save that signals do not interrupt. One that came meanwhile acts behind it, before anything else is
/// done.
pub(crate) fn shielded<T>(save: impl FnOnce() -> T) -> T {
    let saving = lock(&SAVING);
    let saved = save();
    drop(saving);
    drop(lock(&ACTING));
    saved
}
