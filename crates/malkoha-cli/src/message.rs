//! Standard error. If it cannot be written to, messages are dropped and the work goes on.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes a line to standard error, if possible.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes a message of the program to standard error: an error, a warning or a note.
pub(crate) fn note(text: impl Display) {
    say(format_args!("malkoha: {text}"));
}
