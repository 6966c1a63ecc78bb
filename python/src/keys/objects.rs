//! Lists and other iterables of Python objects, hashed while they are read.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use malkoha::{KeyHash, KeyHasher};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use super::{Column, Nulls};
use crate::error::no_memory;
use crate::key::{hash_of, no_key};

/// The number of keys hashed between two looks for Ctrl-C.
const KEYS_PER_LOOK: usize = 1 << 16;

/// The hashes of keys, and which keys are missing.
pub(super) struct Hashed {
    hashes: Vec<KeyHash>,
    nulls: Option<NullBuffer>,
}

impl Hashed {
    /// One key in every row.
    pub(super) fn equal(hash: KeyHash, rows: usize) -> Self {
        Self { hashes: vec![hash; rows], nulls: None }
    }
}

/// Hashes every key of an iterable. A key that is none ends this before anything has happened to a filter.
pub(super) fn hash_all(keys: &Bound<'_, PyAny>, hasher: &KeyHasher, nulls: Nulls) -> PyResult<Hashed> {
    let iterator = PyIterator::from_object(keys).map_err(|_| no_column(keys))?;
    let mut hashes = Vec::new();
    hashes.try_reserve_exact(keys.len().unwrap_or(0)).map_err(|_| no_memory())?;
    let mut missing = Vec::new();
    for key in iterator {
        let key = key?;
        let row = hashes.len();
        if row % KEYS_PER_LOOK == 0 {
            keys.py().check_signals()?;
            hashes.try_reserve(KEYS_PER_LOOK).map_err(|_| no_memory())?;
            missing.try_reserve(KEYS_PER_LOOK).map_err(|_| no_memory())?;
        }
        if nulls == Nulls::Skip && key.is_none() {
            missing.push(row);
            hashes.push(KeyHash::from_raw(0));
            continue;
        }
        hashes.push(hash_of(&key, hasher).map_err(|error| in_row(&key, row, error))?);
    }
    let nulls = (!missing.is_empty()).then(|| {
        let mut valid = vec![true; hashes.len()];
        for row in missing {
            valid[row] = false;
        }
        NullBuffer::new(BooleanBuffer::from(valid))
    });
    Ok(Hashed { hashes, nulls })
}

/// The same exception, with the row that it is about.
#[cold]
fn in_row(key: &Bound<'_, PyAny>, row: usize, error: PyErr) -> PyErr {
    let py = key.py();
    if !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    PyTypeError::new_err(format!("row {row}: {}", no_key(key).value(py)))
}

#[cold]
fn no_column(keys: &Bound<'_, PyAny>) -> PyErr {
    let name = keys.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "many keys come as a numpy array, a column with the Arrow interface, a list or another iterable, and not as \
         {name}"
    ))
}

impl Column for Hashed {
    fn len(&self) -> usize {
        self.hashes.len()
    }

    fn hash(&self, from: usize, _: &KeyHasher, hashes: &mut [KeyHash]) {
        hashes.copy_from_slice(&self.hashes[from..from + hashes.len()]);
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }
}
