//! Errors of the engine as exceptions of Python.

use malkoha::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::facts::Facts;

create_exception!(
    malkoha,
    FullError,
    PyException,
    "Keys found no room. Nothing has changed: every key stored before is still stored, and no other."
);

create_exception!(
    malkoha,
    FormatError,
    PyValueError,
    "Bytes that are damaged, that are no filter, or that a later version has written."
);

/// The exception for an error of the engine.
pub(crate) fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Full | Error::Refused(_) | Error::TooManyKeys { .. } | Error::MergeFull { .. } => {
            FullError::new_err(text)
        }
        Error::Allocation { .. } => PyMemoryError::new_err(text),
        Error::Corrupt { .. } | Error::Newer { .. } | Error::Form { .. } => FormatError::new_err(text),
        Error::Unsupported { .. } | Error::Growing { .. } => PyTypeError::new_err(text),
        Error::NoValues => PyTypeError::new_err("this filter has no values; make a malkoha.Map"),
        Error::Io { operation, path, source } => match source.raw_os_error() {
            // With a number, Python chooses the class itself: FileNotFoundError, PermissionError and so on.
            Some(number) => {
                let system = source.to_string();
                let system = system.split(" (os error").next().unwrap_or_default();
                PyOSError::new_err((
                    number,
                    format!("could not {operation}: {system}"),
                    path.into_os_string(),
                ))
            }
            None => PyOSError::new_err(text),
        },
        _ => PyValueError::new_err(text),
    }
}

/// The exception for `more` keys that found no room in a filter of `items`, which has not changed.
#[cold]
pub(crate) fn no_room(items: u64, more: usize, facts: &Facts) -> PyErr {
    let what = if facts.growing {
        "the system could not provide the memory for it to grow"
    } else if (items + more as u64) as f64 > 0.9 * facts.capacity as f64 {
        "remove keys, make a larger filter, or one that grows: Filter(rate=...)"
    } else {
        "a key was stored too many times; add_unique stores every key once"
    };
    let capacity = facts.capacity;
    FullError::new_err(format!(
        "no room for {more} more in a filter that holds {items} keys of about {capacity}, and is unchanged: {what}"
    ))
}

/// The exception for a filter that another thread left in the middle of a change, which only a bug can cause.
pub(crate) fn broken() -> PyErr {
    PyRuntimeError::new_err(
        "a thread failed inside this filter, so it cannot be trusted any more; open its last file",
    )
}

/// The exception for memory that the system does not provide.
#[cold]
pub(crate) fn no_memory() -> PyErr {
    PyMemoryError::new_err(
        "the system could not provide the memory; give fewer keys at a time, or make a smaller filter",
    )
}
