//! `malkoha.Mapped`: a filter that stays in its file.
#![expect(unsafe_code, reason = "mapping a file")]

use std::path::PathBuf;

use malkoha::{Filter, Mapped};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::raise;
use crate::facts::{Described, PyStats};
use crate::files;
use crate::key::hash_of;
use crate::keys::{Nulls, answer_many, on_slice};
use crate::map::{ValuesAndCounts, candidates, candidates_of};
use crate::threads::Threads;
use crate::view;

/// A filter for lookups that stays in its file, from ``malkoha.map``. Pickles hold only the path.
#[pyclass(name = "Mapped", module = "malkoha", frozen)]
pub(crate) struct PyMapped {
    mapped: Mapped,
    path: PathBuf,
}

impl PyMapped {
    pub(crate) fn open(path: PathBuf) -> PyResult<Self> {
        // SAFETY: nobody may change a mapped file. The documentation of `malkoha.map` passes that on to the caller, as
        // Python's own `mmap` does.
        let mapped = unsafe { Filter::map(&path) };
        Ok(Self { mapped: mapped.map_err(raise)?, path })
    }
}

#[pymethods]
impl PyMapped {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.mapped.contains(&hash_of(key, self.mapped.hasher())?))
    }

    /// Which keys may be in the filter, as an array of bool. Missing keys are an error, or False with
    /// ``nulls="skip"``.
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        answer_many(keys, self.mapped.hasher(), nulls, |keys| {
            let mapped = &self.mapped;
            keys.ask(threads.0, |keys, answers| {
                on_slice!(keys, |slice| mapped.contains_slice_into(slice, answers));
            })
        })
    }

    /// The number of stored copies that look like this key.
    fn count(&self, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        self.mapped.count(&hash_of(key, self.mapped.hasher())?).map_err(raise)
    }

    /// How many stored copies look like each key, as an array of uint32.
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn count_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        answer_many(keys, self.mapped.hasher(), nulls, |keys| {
            let counts =
                on_slice!(keys.flat(threads.0)?, |slice| self.mapped.count_slice(slice).map_err(raise)?);
            Ok(keys.per_row(counts))
        })
    }

    /// For the file of a ``Map``: the values of all stored copies that look like this key, ascending.
    fn get(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<u16>> {
        Ok(self.mapped.get(&hash_of(key, self.mapped.hasher())?).map_err(raise)?.to_vec())
    }

    /// For the file of a ``Map``: the candidate values of many keys in one array of uint16, and how many each key has
    /// in one of uint32.
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn get_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<ValuesAndCounts<'py>> {
        candidates_of(keys, self.mapped.hasher(), nulls, |keys| candidates!(self.mapped, keys, threads))
    }

    /// Checks the whole table, and raises ``FormatError`` if it is damaged.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.mapped.verify()).map_err(raise)
    }

    /// A verified copy in memory, which can be changed: a ``Filter``, or a ``Map`` if there are values.
    fn load<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        files::object_of(py, py.detach(|| self.mapped.load()).map_err(raise)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.mapped.len())?)
    }

    /// Statistics at this moment. For Bloom kinds this reads the whole table.
    fn stats(&self, py: Python<'_>) -> PyStats {
        py.detach(|| self.mapped.stats()).into()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (py.import("malkoha")?.getattr("map")?, (&self.path,)).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        view::text("Mapped", &self.mapped.facts(), &py.detach(|| self.mapped.stats()))
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        view::html("Mapped", &self.mapped.facts(), &py.detach(|| self.mapped.stats()))
    }

    /// The file.
    #[getter]
    fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The promised rate of false positives.
    #[getter]
    fn rate(&self) -> f64 {
        self.mapped.geometry().rate()
    }

    /// The kind of filter, such as ``"sorted"``.
    #[getter]
    fn kind(&self) -> String {
        self.mapped.geometry().kind().to_string()
    }

    /// The seed of its hashes.
    #[getter]
    fn seed(&self) -> u64 {
        self.mapped.geometry().seed()
    }
}
