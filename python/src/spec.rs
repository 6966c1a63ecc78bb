//! What a filter shall be, from the arguments of Python.

use malkoha::{KeyFormat, Kind, Need, Spec};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};

use crate::error::raise;

/// A number of keys or bytes: an int, or a float that is whole, as in `1e6`.
pub(crate) struct Whole(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and in range")]
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(float) = given.cast::<PyFloat>() {
            let number = float.value();
            if number.fract() == 0.0 && (0.0..2f64.powi(64)).contains(&number) {
                return Ok(Self(number as u64));
            }
        }
        match given.extract() {
            Ok(number) => Ok(Self(number)),
            Err(_) if given.len().is_ok() && !given.is_instance_of::<PyString>() => {
                Err(PyTypeError::new_err(format!(
                    "{} is no number; give the number of keys first, and the keys to add_many",
                    given.get_type().name()?
                )))
            }
            Err(error) => Err(no_number("a number of keys or bytes", "from 0 to 2**64", &given, error)),
        }
    }
}

/// The seed of hashes.
pub(crate) fn seed(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    given.extract().map_err(|error| no_number("a seed", "from 0 to 2**64 - 1", given, error))
}

/// The number of shards, if there are any. The engine says which numbers are too large.
pub(crate) fn shards(given: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    given.extract().map_err(|error| no_number("shards", "from 1 to 4096", given, error))
}

/// The exception for a number that is none, or out of range. Others that an object raises when it is asked for its
/// number are left as they are, such as that of Ctrl-C.
#[cold]
fn no_number(what: &str, range: &str, given: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = given.py();
    if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    // Python writes no integers of thousands of digits.
    let given = given.repr().map_or_else(|_| String::new(), |given| format!(", and not {given}"));
    PyValueError::new_err(format!("{what} must be a whole number {range}{given}"))
}

/// Two of keys, rate and memory; or a rate alone, for a filter that grows.
pub(crate) fn spec(keys: Option<Whole>, rate: Option<f64>, memory: Option<Whole>) -> PyResult<Spec> {
    match (keys, rate, memory) {
        (Some(Whole(keys)), Some(rate), None) => Ok(Spec::new(keys, rate)),
        (Some(Whole(keys)), None, Some(Whole(bytes))) => Ok(Spec::keys_in_memory(keys, bytes)),
        (None, Some(rate), Some(Whole(bytes))) => Ok(Spec::rate_in_memory(rate, bytes)),
        (None, Some(rate), None) => Ok(of_any_size(rate)),
        (Some(_), Some(_), Some(_)) => Err(PyTypeError::new_err(
            "keys, rate and memory are one too many; give two, and the third follows",
        )),
        _ => Err(PyTypeError::new_err(
            "give two of keys, rate and memory, or only a rate for a filter that grows",
        )),
    }
}

/// A filter for an unknown number of keys.
pub(crate) fn of_any_size(rate: f64) -> Spec {
    Spec::rate(rate)
}

/// A kind by its name, such as `"windowed:2"`.
pub(crate) fn kind(name: &str) -> PyResult<Kind> {
    name.parse().map_err(|error: malkoha::KindError| raise(error.into()))
}

/// A key format by its name, such as `"kmers:31"`.
pub(crate) fn key_format(name: &str) -> PyResult<KeyFormat> {
    match name.split_once(':') {
        None if name == "any" => Ok(KeyFormat::Any),
        None if name == "bytes" => Ok(KeyFormat::Bytes),
        None if name == "u64" => Ok(KeyFormat::U64),
        Some(("kmers", k)) if k.parse::<u32>().is_ok() => Ok(KeyFormat::Kmers { k: k.parse()? }),
        _ => Err(PyValueError::new_err(format!(
            "there is no key format {name:?}; write \"any\", \"bytes\", \"u64\" or \"kmers:31\""
        ))),
    }
}

/// A need by its name.
pub(crate) fn need(name: &str) -> PyResult<Need> {
    Need::ALL.iter().copied().find(|need| need.name() == name).ok_or_else(|| {
        let names: Vec<_> = Need::ALL.iter().map(|need| need.name()).collect();
        PyValueError::new_err(format!("there is no need {name:?}; needs: {}", names.join(", ")))
    })
}
