//! One key: a Python object becomes the hash that the engine gives the same key in Rust.

use malkoha::{Key, KeyHash, KeyHasher};
use pyo3::exceptions::{PyException, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString};

use crate::quick::{small, usual_hash};

/// The hash of a key: text by its UTF-8, bytes as they are, integers by value.
#[inline]
pub(crate) fn hash_of(key: &Bound<'_, PyAny>, hasher: &KeyHasher) -> PyResult<KeyHash> {
    match usual_hash(key, hasher) {
        Some(hash) => Ok(hash),
        None => unusual_hash(key, hasher),
    }
}

/// The hash of an integer of any width.
fn integer(key: &Bound<'_, PyInt>, hasher: &KeyHasher) -> PyResult<KeyHash> {
    if let Some(number) = small(key) {
        return Ok(number.key_hash(hasher));
    }
    if let Ok(number) = key.extract::<u64>() {
        return Ok(number.key_hash(hasher));
    }
    if let Ok(number) = key.extract::<i128>() {
        return Ok(number.key_hash(hasher));
    }
    key.extract::<u128>().map(|number| number.key_hash(hasher)).map_err(|_| {
        PyOverflowError::new_err(
            "an integer key must be at least -2**127 and below 2**128; for a larger one, take its bytes or its text: \
             str(key)",
        )
    })
}

#[cold]
pub(crate) fn unusual_hash(key: &Bound<'_, PyAny>, hasher: &KeyHasher) -> PyResult<KeyHash> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(hasher.bytes(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(hasher.bytes(bytes.as_bytes()));
    }
    if key.is_instance_of::<PyByteArray>() || key.is_instance_of::<PyMemoryView>() {
        let bytes = key.py().get_type::<PyBytes>().call1((key,))?;
        return Ok(hasher.bytes(bytes.cast::<PyBytes>()?.as_bytes()));
    }
    if let Ok(number) = key.cast_exact::<PyInt>() {
        return integer(number, hasher);
    }
    // Integers of subclasses, of numpy and others. Booleans are not meant, though those of Python are integers.
    if !key.is_instance_of::<PyBool>() {
        match key.call_method0("__index__") {
            Ok(number) if number.is_instance_of::<PyInt>() => return integer(number.cast()?, hasher),
            // Ctrl-C and the like.
            Err(error) if !error.is_instance_of::<PyException>(key.py()) => return Err(error),
            _ => {}
        }
    }
    Err(no_key(key))
}

/// Whether an object stands for a missing key, as pandas writes it too: `None`, `pandas.NA`, or a float that is no
/// number.
pub(crate) fn is_missing(key: &Bound<'_, PyAny>) -> bool {
    key.is_none()
        || key.cast::<PyFloat>().is_ok_and(|float| float.value().is_nan())
        || key.get_type().name().is_ok_and(|name| name == "NAType")
}

/// The exception for an object that is no key, with what to do.
#[cold]
pub(crate) fn no_key(key: &Bound<'_, PyAny>) -> PyErr {
    let name = key.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let how = match name.as_str() {
        _ if is_missing(key) => "leave missing keys out, or give many keys with nulls=\"skip\"",
        "bool" | "bool_" => "write int(key)",
        "float" | "float32" | "float64" | "Decimal" => "write str(key), or int(key) if it is whole",
        "datetime" | "date" | "time" | "Timestamp" => "write key.isoformat()",
        "UUID" => "write key.bytes",
        "list" | "ndarray" | "Series" | "Array" | "ChunkedArray" => {
            "give many keys to add_many, contains_many or another method for many"
        }
        _ => "turn it into one, such as repr(key)",
    };
    PyTypeError::new_err(format!("a key is a str, bytes or an int, and not {name}; {how}"))
}
