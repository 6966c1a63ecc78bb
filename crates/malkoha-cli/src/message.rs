//! Standard error. If it cannot be written to, messages are dropped and the work goes on.

use std::fmt::Display;
use std::io::{self, Write};

use crate::{progress, width};

/// Writes a line to standard error, if possible.
pub(crate) fn say(text: impl Display) {
    progress::without_bar(|| drop(writeln!(io::stderr(), "{text}")));
}

/// Writes a message of the program to standard error: an error, a warning or a note. On a terminal it is wrapped
/// between words.
pub(crate) fn note(text: impl Display) {
    let text = format!("malkoha: {text}");
    say(width::wrapped(&text, width::of_errors().unwrap_or(usize::MAX)).join("\n"));
}
