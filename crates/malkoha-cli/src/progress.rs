//! The progress bar: on standard error, if that is a terminal.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};

use crate::input;

/// The last bar, which messages must not run into.
static LAST: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// A bar over the bytes of the inputs, with rate and time left where the bytes are known.
pub(crate) fn bar(inputs: &[PathBuf], what: &'static str, quiet: bool) -> ProgressBar {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(5)
    };
    let total = input::bytes(inputs);
    let template = if total.is_some() {
        "{msg} [{bar:20}] {percent}%  {decimal_bytes_per_sec}, {eta} left"
    } else {
        "{msg} {spinner} {decimal_bytes}  {decimal_bytes_per_sec}, {elapsed}"
    };
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    let bar = ProgressBar::with_draw_target(total, target)
        .with_style(style.progress_chars("=> "))
        .with_message(what);
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
    bar
}

/// Returns whether standard output is a terminal, where lines would run into a bar.
pub(crate) fn is_output_seen() -> bool {
    std::io::stdout().is_terminal()
}

/// Writes to standard error while there is no bar; the bar is drawn again below.
pub(crate) fn without_bar(write: impl FnOnce()) {
    let last =
        LAST.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(WeakProgressBar::upgrade);
    match last {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
