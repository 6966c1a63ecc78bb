//! Standard error. Nobody may read it: then there is nobody to be told, and the work goes on.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes a line to standard error, if that is possible.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
