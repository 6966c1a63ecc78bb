//! `malkoha.Filter`.

use std::path::PathBuf;
use std::sync::RwLock;

use malkoha::{Filter, Inserted, KeyHash, KeyHasher};
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::raise;
use crate::facts::PyStats;
use crate::files;
use crate::key::hash_of;
use crate::keys::{Nulls, answer_many, with_keys};
use crate::spec::{self, Whole};
use crate::table::{Caller, Table, change, read, writing};
use crate::threads::Threads;
use crate::view;

/// A set of keys that may report a key it does not hold, and never misses one it does.
///
/// ``Filter(keys, rate)`` is for a known number of keys, ``Filter(rate=rate)`` grows. With ``memory``, in bytes, the
/// third of keys, rate and memory follows from two of them. Keys are str, bytes or int; text is hashed by its UTF-8, so
/// a str and its encoded bytes are one key.
///
/// >>> from malkoha import Filter
/// >>> birds = Filter(1_000_000, 0.001)
/// >>> birds.add("cuckoo")
/// >>> "cuckoo" in birds, "owl" in birds
/// (True, False)
///
/// ``kind`` is one of the engine's kinds, such as ``"sorted"``, ``"windowed:2"`` or ``"blocked:2"``; ``malkoha.plan``
/// compares them. Filters of equal ``seed`` and plan can be merged. With ``shards``, threads change different parts of
/// the filter at once. ``key_format`` declares what the keys are, for programs that read the file.
///
/// Every stored key is found until it is removed. Remove only keys that were stored: ``add_unique`` stores a key only
/// if it returns True.
#[pyclass(name = "Filter", module = "malkoha", frozen)]
pub(crate) struct PyFilter {
    pub(crate) table: Table,
    hasher: KeyHasher,
}

impl PyFilter {
    pub(crate) fn new(table: Table, seed: u64) -> Self {
        Self { table, hasher: KeyHasher::new(seed) }
    }

    pub(crate) fn of(filter: Filter) -> Self {
        let hasher = *filter.hasher();
        Self { table: Table::single(filter), hasher }
    }

    #[inline]
    fn hash(&self, key: &Bound<'_, PyAny>) -> PyResult<KeyHash> {
        hash_of(key, &self.hasher)
    }

    /// The lock of the one filter that this is; shards cannot do what needs it.
    pub(crate) fn single(&self, what: &str) -> PyResult<&RwLock<Filter>> {
        match &self.table {
            Table::Single(lock) => Ok(lock),
            Table::Sharded(_) => Err(PyTypeError::new_err(format!("a filter with shards cannot {what}"))),
        }
    }
}

#[pymethods]
impl PyFilter {
    #[new]
    #[pyo3(signature = (keys=None, rate=None, *, memory=None, kind="sorted", seed=0, growing=None, shards=None,
                        key_format="any", load=None))]
    #[expect(clippy::too_many_arguments, reason = "all but two are keywords")]
    fn build(
        py: Python<'_>,
        keys: Option<Whole>,
        rate: Option<f64>,
        memory: Option<Whole>,
        kind: &str,
        #[pyo3(from_py_with = spec::seed)] seed: u64,
        growing: Option<bool>,
        #[pyo3(from_py_with = spec::shards)] shards: Option<u32>,
        key_format: &str,
        load: Option<f64>,
    ) -> PyResult<Self> {
        let unsized_ = keys.is_none() && memory.is_none();
        if unsized_ && growing == Some(false) {
            return Err(PyTypeError::new_err("a filter that does not grow needs keys or memory"));
        }
        let mut spec = spec::spec(keys, rate, memory)?.kind(spec::kind(kind)?).seed(seed);
        spec = spec.key_format(spec::key_format(key_format)?);
        if growing == Some(true) {
            spec = spec.growing();
        }
        if let Some(load) = load {
            spec = spec.load(load);
        }
        let table = py.detach(|| match shards {
            None => spec.build().map(Table::single),
            Some(shards) => spec.sharded(shards).build().map(Table::sharded),
        });
        Ok(Self::new(table.map_err(raise)?, seed))
    }

    /// Stores one copy of a key. A copy that finds no room raises ``FullError`` and changes nothing. A key can be
    /// stored several times, and each copy must be removed; ``add_unique`` stores a key once.
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let (hash, caller) = (self.hash(key)?, Caller::Attached(py));
        let stored = change!(&self.table, caller, |filter| filter.insert(&hash));
        stored.map_err(|_| self.table.no_room(caller, 1))
    }

    /// Stores a key unless the filter already reports it; returns whether it was new.
    ///
    /// >>> from malkoha import Filter
    /// >>> seen = Filter(rate=0.001)
    /// >>> [seen.add_unique(key) for key in ["a", "b", "a"]]
    /// [True, True, False]
    fn add_unique(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (hash, caller) = (self.hash(key)?, Caller::Attached(py));
        let outcome = change!(&self.table, caller, |filter| filter.insert_unique(&hash));
        outcome.map(|outcome| outcome == Inserted::Stored).map_err(|_| self.table.no_room(caller, 1))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = self.hash(key)?;
        Ok(read!(&self.table, Caller::Attached(py), |filter| filter.contains(&hash)))
    }

    /// Removes one copy of a stored key; raises ``KeyError`` if there is none.
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.discard(py, key)? { Ok(()) } else { Err(PyKeyError::new_err(key.clone().unbind())) }
    }

    /// Removes one copy of a stored key, if there is one; returns whether there was.
    fn discard(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = self.hash(key)?;
        change!(&self.table, Caller::Attached(py), |filter| filter.remove(&hash)).map_err(raise)
    }

    /// The number of stored copies that look like this key: at least as many as were stored of it.
    fn count(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        let hash = self.hash(key)?;
        read!(&self.table, Caller::Attached(py), |filter| filter.count(&hash)).map_err(raise)
    }

    /// Stores one copy of every key of some lists, arrays or columns: ``add_many`` for each of them in turn. If one is
    /// refused, those before it are stored.
    #[pyo3(signature = (*many, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, *many, nulls='error', threads=1)")]
    fn update(&self, many: &Bound<'_, PyTuple>, nulls: Nulls, threads: Threads) -> PyResult<()> {
        many.iter().try_for_each(|keys| self.add_many(&keys, nulls, threads))
    }

    /// Stores one copy of every key of a numpy array, an Arrow column or an iterable. If some find no room, none is
    /// stored and ``FullError`` is raised.
    ///
    /// The interpreter's lock is released, and ``threads`` threads work. Missing keys are an error, or are left out
    /// with ``nulls="skip"``.
    ///
    /// >>> import numpy as np
    /// >>> from malkoha import Filter
    /// >>> numbers = Filter(1000, 1e-6)
    /// >>> numbers.add_many(np.arange(500))
    /// >>> numbers.contains_many([1, 499, 500, -1]).tolist()
    /// [True, True, False, False]
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn add_many(&self, keys: &Bound<'_, PyAny>, nulls: Nulls, threads: Threads) -> PyResult<()> {
        let py = keys.py();
        with_keys(keys, &self.hasher, nulls, |keys| py.detach(|| self.table.add_many(keys, threads.0)))
    }

    /// Stores every key that the filter does not report yet; returns which were new, as an array of bool, so the first
    /// of equal keys is. If some find no room, none is stored and ``FullError`` is raised.
    ///
    /// >>> from malkoha import Filter
    /// >>> Filter(rate=0.001).add_unique_many(["a", "b", "a"]).tolist()
    /// [True, True, False]
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn add_unique_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        answer_many(keys, &self.hasher, nulls, |keys| self.table.add_unique_many(keys, threads.0))
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
        answer_many(keys, &self.hasher, nulls, |keys| self.table.contains_many(keys, threads.0))
    }

    /// Removes one copy of every stored key; returns which there were, as an array of bool.
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn remove_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        answer_many(keys, &self.hasher, nulls, |keys| self.table.remove_many(keys, threads.0))
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
        answer_many(keys, &self.hasher, nulls, |keys| self.table.count_many(keys, threads.0))
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        change!(&self.table, Caller::Attached(py), |filter| filter.clear());
        Ok(())
    }

    /// Doubles the table, for twice the keys at twice the rate; only for flexible, windowed and sorted filters that
    /// do not grow. Fingerprints pay for it with one bit each, so a filter that was doubled n times takes no more
    /// memory than one planned for its keys and rate.
    fn double(&self, py: Python<'_>) -> PyResult<()> {
        let lock = self.single("be doubled")?;
        py.detach(|| writing(Caller::Detached, lock)?.double().map_err(raise))
    }

    /// Frees memory that a growing filter no longer needs after removals.
    fn compact(&self, py: Python<'_>) -> PyResult<u64> {
        let lock = self.single("be compacted")?;
        py.detach(|| writing(Caller::Detached, lock)?.compact().map_err(raise))
    }

    /// A copy in memory of its own.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self { table: py.detach(|| self.table.copy())?, hasher: self.hasher })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let len = read!(&self.table, Caller::Attached(py), |filter| filter.len());
        Ok(usize::try_from(len)?)
    }

    /// Equal content: the same plan and the same stored fingerprints.
    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        py.detach(|| self.table.equals(&other.table))
    }

    /// A new filter that holds the keys of both. Filters of one plan and seed can be merged; those that grow may differ
    /// in size.
    ///
    /// >>> from malkoha import Filter
    /// >>> day, night = Filter(100, 1e-6), Filter(100, 1e-6)
    /// >>> day.add("malkoha"); night.add("owl")
    /// >>> both = day | night
    /// >>> "malkoha" in both, "owl" in both, "owl" in day
    /// (True, True, False)
    fn __or__(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let copy = self.copy(py)?;
        copy.__ior__(py, other)?;
        Ok(copy)
    }

    fn __ior__(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        py.detach(|| self.table.absorb(&other.table))
    }

    /// Writes the filter to a file, atomically. The program, the Rust crate and the Redis module read the same file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| read!(&self.table, Caller::Detached, |filter| filter.save(&path).map_err(raise)))
    }

    /// The bytes that ``save`` writes. Pickles hold the same.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes =
            py.detach(|| read!(&self.table, Caller::Detached, |filter| filter.to_bytes().map_err(raise)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The filter of bytes from ``to_bytes``, verified to the last bit. Damaged ones raise ``FormatError``.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        files::of_bytes_as(data, "a filter without values")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        files::pickled(py, self.to_bytes(py)?)
    }

    /// Statistics at this moment. For Bloom kinds this reads the whole table.
    fn stats(&self, py: Python<'_>) -> PyResult<PyStats> {
        Ok(py.detach(|| self.table.stats())?.into())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let stats = py.detach(|| self.table.stats())?;
        Ok(view::text("Filter", &self.table.facts(Caller::Attached(py))?, &stats))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let stats = py.detach(|| self.table.stats())?;
        Ok(view::html("Filter", &self.table.facts(Caller::Attached(py))?, &stats))
    }

    /// The number of keys it was planned for; what a growing filter began with.
    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.table.facts(Caller::Attached(py))?.keys)
    }

    /// The number of keys it takes reliably, which may be more than planned.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.table.facts(Caller::Attached(py))?.capacity)
    }

    /// The promised rate of false positives.
    #[getter]
    fn rate(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.table.facts(Caller::Attached(py))?.rate)
    }

    /// The kind of filter, such as ``"sorted"``.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.table.facts(Caller::Attached(py))?.kind)
    }

    /// The seed of its hashes.
    #[getter]
    fn seed(&self) -> u64 {
        self.hasher.seed()
    }

    /// What its keys were declared to be: ``"any"``, ``"bytes"``, ``"u64"`` or ``"kmers:K"``.
    #[getter]
    fn key_format(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.table.facts(Caller::Attached(py))?.key_format)
    }

    /// Whether it grows when it is full.
    #[getter]
    fn growing(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.table.facts(Caller::Attached(py))?.growing)
    }

    /// The number of shards; None without shards.
    #[getter]
    fn shards(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.table.facts(Caller::Attached(py))?.shards)
    }

    /// What ``sys.getsizeof`` tells, and so Dask: the same as ``nbytes``.
    fn __sizeof__(&self, py: Python<'_>) -> PyResult<u64> {
        self.nbytes(py)
    }

    /// Bytes of memory.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.table.bytes())
    }
}
