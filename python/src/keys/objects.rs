//! Lists and other iterables of Python objects, hashed while they are read.

use std::borrow::Cow;

use arrow_buffer::{BooleanBuffer, NullBuffer};
use malkoha::{KeyHash, KeyHasher};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use super::{Column, Flat, Nulls};
use crate::error::no_memory;
use crate::key::{hash_of, is_missing, no_key};
use crate::quick::usual_hashes;

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
    let mut rows = Rows { hashes: Vec::new(), missing: Vec::new(), hasher, nulls };
    if let Ok(list) = keys.cast_exact::<PyList>() {
        rows.take_list(list)?;
    } else {
        rows.take_all(PyIterator::from_object(keys).map_err(|_| no_column(keys))?, keys.len().unwrap_or(0))?;
    }
    Ok(rows.into_hashed())
}

/// What is known of the rows that were read.
struct Rows<'a> {
    hashes: Vec<KeyHash>,
    /// The rows whose keys are missing.
    missing: Vec<usize>,
    hasher: &'a KeyHasher,
    nulls: Nulls,
}

impl Rows<'_> {
    /// Hashes the keys of a list: usual ones in runs, others one by one.
    fn take_list(&mut self, list: &Bound<'_, PyList>) -> PyResult<()> {
        // Code of Python that runs for an unusual key, or for a signal, may change the list.
        while let left @ 1.. = list.len().saturating_sub(self.hashes.len()) {
            list.py().check_signals()?;
            self.reserve(left)?;
            let first = self.hashes.len();
            // As long as keys are usual ones the list stays as it is.
            let rows = first..first + left.min(KEYS_PER_LOOK);
            usual_hashes(list, rows, self.hasher, &mut self.hashes);
            if let Ok(key) = list.get_item(self.hashes.len()) {
                self.take(&key)?;
            }
        }
        Ok(())
    }

    /// Hashes the keys of an iterator, about `expected` of them.
    fn take_all(&mut self, keys: Bound<'_, PyIterator>, expected: usize) -> PyResult<()> {
        let py = keys.py();
        self.reserve(expected)?;
        for (row, key) in keys.enumerate() {
            if row % KEYS_PER_LOOK == 0 {
                py.check_signals()?;
            }
            if row == self.hashes.capacity() {
                self.reserve(KEYS_PER_LOOK)?;
            }
            self.take(&key?)?;
        }
        Ok(())
    }

    /// Hashes the key of the next row.
    fn take(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let row = self.hashes.len();
        let skips = self.nulls == Nulls::Skip;
        // Most missing keys are None, and are told without an exception.
        let hash = if skips && key.is_none() { None } else { Some(hash_of(key, self.hasher)) };
        let hash = match hash {
            Some(Ok(hash)) => hash,
            Some(Err(error)) if !(skips && is_missing(key)) => return Err(in_row(key, row, error)),
            _ => {
                self.missing.try_reserve(1).map_err(|_| no_memory())?;
                self.missing.push(row);
                KeyHash::from_raw(0)
            }
        };
        self.hashes.push(hash);
        Ok(())
    }

    /// Makes room for the hashes of more rows.
    fn reserve(&mut self, rows: usize) -> PyResult<()> {
        self.hashes.try_reserve(rows).map_err(|_| no_memory())
    }

    fn into_hashed(self) -> Hashed {
        let Self { hashes, missing, .. } = self;
        let nulls = (!missing.is_empty()).then(|| {
            let mut valid = vec![true; hashes.len()];
            for row in missing {
                valid[row] = false;
            }
            NullBuffer::new(BooleanBuffer::from(valid))
        });
        Hashed { hashes, nulls }
    }
}

/// The same exception, with the row that it is about.
#[cold]
fn in_row(key: &Bound<'_, PyAny>, row: usize, error: PyErr) -> PyErr {
    let py = key.py();
    if error.is_instance_of::<PyTypeError>(py) {
        return PyTypeError::new_err(format!("row {row}: {}", no_key(key).value(py)));
    }
    if error.is_instance_of::<PyOverflowError>(py) {
        return PyOverflowError::new_err(format!("row {row}: {}", error.value(py)));
    }
    // Others have more to them than a text, so a note has to do. If there is none, the error is still right.
    let _ = error.value(py).call_method1("add_note", (format!("while hashing the key in row {row}"),));
    error
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

    fn slice(&self) -> Option<Flat<'_>> {
        Some(Flat::Hashes(Cow::Borrowed(&self.hashes)))
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }
}
