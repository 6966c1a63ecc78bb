//! `malkoha.Map`: a small number beside every key.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::RwLock;

use malkoha::{Error, Filter, Key, KeyHasher};
use numpy::{
    IntoPyArray, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::{no_room, raise};
use crate::facts::{Described, PyStats};
use crate::files;
use crate::key::hash_of;
use crate::keys::{Keys, Nulls, answer_many, on_slice, with_keys};
use crate::many::worth_a_copy;
use crate::spec::{self, Whole};
use crate::table::{Caller, check_memory, equal, reading, table_bytes, writing};
use crate::threads::Threads;
use crate::view;

/// Keys with small numbers: a filter that also stores a value of ``bits`` bits, 1 to 16, beside every key.
///
/// ``Map(keys, rate)`` is for a known number of keys, ``Map(rate=rate)`` grows. ``get`` returns all candidates: the
/// values stored with the key are among them, others appear at the rate of false positives.
///
/// >>> from malkoha import Map
/// >>> shelves = Map(rate=1e-6, bits=8)
/// >>> shelves.add("malkoha", 42)
/// >>> shelves.get("malkoha"), shelves.get("owl")
/// ([42], [])
/// >>> shelves.replace("malkoha", 42, 43), shelves.get("malkoha")
/// (True, [43])
#[pyclass(name = "Map", module = "malkoha", frozen)]
pub(crate) struct PyMap {
    filter: RwLock<Filter>,
    hasher: KeyHasher,
}

pub(crate) type ValuesAndCounts<'py> = (Bound<'py, PyArray1<u16>>, Bound<'py, PyArray1<u32>>);

/// The candidate values of many keys in a filter of the engine, and how many each key has.
macro_rules! candidates {
    ($filter:expr, $keys:expr, $threads:expr) => {{
        let (mut values, mut counts) = (Vec::new(), Vec::new());
        $crate::keys::on_slice!(
            $keys.flat($threads.0)?,
            |slice| for keys in slice.chunks($crate::keys::CHUNK) {
                for candidates in $filter.get_slice(keys).map_err($crate::error::raise)? {
                    counts.push(u32::try_from(candidates.len())?);
                    values.extend(&candidates);
                }
            }
        );
        Ok((values, $keys.per_row(counts)))
    }};
}
pub(crate) use candidates;

/// Asks for the values of many keys without the interpreter's lock; returns them as arrays.
pub(crate) fn candidates_of<'py>(
    keys: &Bound<'py, PyAny>,
    hasher: &KeyHasher,
    nulls: Nulls,
    ask: impl FnOnce(&Keys) -> PyResult<(Vec<u16>, Vec<u32>)> + Send,
) -> PyResult<ValuesAndCounts<'py>> {
    let py = keys.py();
    let (values, counts) = with_keys(keys, hasher, nulls, |keys| py.detach(|| ask(keys)))?;
    Ok((values.into_pyarray(py), counts.into_pyarray(py)))
}

impl PyMap {
    pub(crate) fn of(filter: Filter) -> Self {
        let hasher = *filter.hasher();
        Self { filter: RwLock::new(filter), hasher }
    }
}

#[pymethods]
impl PyMap {
    #[new]
    #[pyo3(signature = (keys=None, rate=None, *, bits=8, memory=None, kind="sorted", seed=0))]
    fn build(
        py: Python<'_>,
        keys: Option<Whole>,
        rate: Option<f64>,
        bits: u32,
        memory: Option<Whole>,
        kind: &str,
        #[pyo3(from_py_with = spec::seed)] seed: u64,
    ) -> PyResult<Self> {
        let spec = spec::spec(keys, rate, memory)?.kind(spec::kind(kind)?).seed(seed).values(bits);
        py.detach(|| spec.build()).map(Self::of).map_err(raise)
    }

    /// Stores one copy of a key with a value. A copy that finds no room raises ``FullError`` and changes nothing.
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: Value) -> PyResult<()> {
        let hash = hash_of(key, &self.hasher)?;
        let mut filter = writing(Caller::Attached(py), &self.filter)?;
        filter.insert_value(&hash, value.0).map_err(|error| refusal(&filter, 1, error))
    }

    /// The values of all stored copies that look like this key, ascending.
    fn get(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Vec<u16>> {
        let hash = hash_of(key, &self.hasher)?;
        let values = reading(Caller::Attached(py), &self.filter)?.get(&hash).map_err(raise)?;
        Ok(values.to_vec())
    }

    /// Changes the value of one stored copy; returns whether there was one with the old value.
    fn replace(&self, py: Python<'_>, key: &Bound<'_, PyAny>, old: Value, new: Value) -> PyResult<bool> {
        let hash = hash_of(key, &self.hasher)?;
        writing(Caller::Attached(py), &self.filter)?.update_value(&hash, old.0, new.0).map_err(raise)
    }

    /// Removes one stored copy with this value; raises ``KeyError`` if there is none.
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: Value) -> PyResult<()> {
        if self.discard(py, key, value)? { Ok(()) } else { Err(PyKeyError::new_err(key.clone().unbind())) }
    }

    /// Removes one stored copy with this value, if there is one; returns whether there was.
    fn discard(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: Value) -> PyResult<bool> {
        let hash = hash_of(key, &self.hasher)?;
        writing(Caller::Attached(py), &self.filter)?.remove_value(&hash, value.0).map_err(raise)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = hash_of(key, &self.hasher)?;
        Ok(reading(Caller::Attached(py), &self.filter)?.contains(&hash))
    }

    /// Stores many keys, each with its value, all or none.
    ///
    /// >>> from malkoha import Map
    /// >>> shelves = Map(1000, 1e-6, bits=8)
    /// >>> shelves.add_many(["a", "b"], [1, 2])
    /// >>> values, counts = shelves.get_many(["b", "c", "a"])
    /// >>> values.tolist(), counts.tolist()
    /// ([2, 1], [1, 0, 1])
    #[pyo3(signature = (keys, values, *, threads=Threads(1)),
           text_signature = "($self, keys, values, *, threads=1)")]
    fn add_many(&self, keys: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>, threads: Threads) -> PyResult<()> {
        let (py, values) = (keys.py(), values_of(values)?);
        with_keys(keys, &self.hasher, Nulls::Error, |keys| {
            if keys.len() != values.len() {
                return Err(PyValueError::new_err(format!(
                    "{} keys and {} values; give one value for each key",
                    keys.len(),
                    values.len()
                )));
            }
            py.detach(|| {
                let mut filter = writing(Caller::Detached, &self.filter)?;
                on_slice!(keys.flat(threads.0)?, |slice| store_all(&mut filter, slice, &values, threads.0))
            })
        })
    }

    /// The candidate values of many keys: all values in one array of uint16, and how many each key has in one of
    /// uint32.
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn get_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<ValuesAndCounts<'py>> {
        candidates_of(keys, &self.hasher, nulls, |keys| {
            let filter = reading(Caller::Detached, &self.filter)?;
            candidates!(filter, keys, threads)
        })
    }

    /// Which keys may be in the map, as an array of bool.
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        answer_many(keys, &self.hasher, nulls, |keys| {
            let filter = reading(Caller::Detached, &self.filter)?;
            keys.ask(threads.0, |keys, answers| {
                on_slice!(keys, |slice| filter.contains_slice_into(slice, answers));
            })
        })
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        writing(Caller::Attached(py), &self.filter)?.clear();
        Ok(())
    }

    /// A copy in memory of its own.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        py.detach(|| {
            let filter = reading(Caller::Detached, &self.filter)?;
            check_memory(table_bytes(&filter))?;
            Ok(Self::of(filter.clone()))
        })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(reading(Caller::Attached(py), &self.filter)?.len())?)
    }

    /// Equal content: the same plan, the same stored fingerprints and values.
    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        py.detach(|| equal(&self.filter, &other.filter))
    }

    /// Writes the map to a file, atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| reading(Caller::Detached, &self.filter)?.save(&path).map_err(raise))
    }

    /// The bytes that ``save`` writes. Pickles hold the same.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| reading(Caller::Detached, &self.filter)?.to_bytes().map_err(raise))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The map of bytes from ``to_bytes``, verified to the last bit. Damaged ones raise ``FormatError``.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        files::of_bytes_as(data, "a map")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        files::pickled(py, self.to_bytes(py)?)
    }

    /// Statistics at this moment.
    fn stats(&self, py: Python<'_>) -> PyResult<PyStats> {
        Ok(reading(Caller::Attached(py), &self.filter)?.stats().into())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let filter = reading(Caller::Attached(py), &self.filter)?;
        Ok(view::text("Map", &filter.facts(), &filter.stats()))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let filter = reading(Caller::Attached(py), &self.filter)?;
        Ok(view::html("Map", &filter.facts(), &filter.stats()))
    }

    /// Frees memory that a growing map no longer needs after removals; returns the number of bytes.
    fn compact(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| writing(Caller::Detached, &self.filter)?.compact().map_err(raise))
    }

    /// What ``sys.getsizeof`` tells, and so Dask: the same as ``nbytes``.
    fn __sizeof__(&self, py: Python<'_>) -> PyResult<u64> {
        self.nbytes(py)
    }

    /// Bytes of memory.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(table_bytes(&*reading(Caller::Attached(py), &self.filter)?))
    }

    /// Whether the map grows.
    #[getter]
    fn growing(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(reading(Caller::Attached(py), &self.filter)?.geometry().is_growing())
    }

    /// Bits of a value.
    #[getter]
    fn bits(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(reading(Caller::Attached(py), &self.filter)?.geometry().value_bits())
    }

    /// The number of keys it was planned for.
    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(reading(Caller::Attached(py), &self.filter)?.geometry().keys())
    }

    /// The promised rate of false positives.
    #[getter]
    fn rate(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(reading(Caller::Attached(py), &self.filter)?.geometry().rate())
    }

    /// The kind of filter, such as ``"sorted"``.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<String> {
        Ok(reading(Caller::Attached(py), &self.filter)?.geometry().kind().to_string())
    }

    /// The seed of its hashes.
    #[getter]
    fn seed(&self) -> u64 {
        self.hasher.seed()
    }
}

/// Stores all keys with their values, or none.
fn store_all<K: Key + Copy + Sync>(
    filter: &mut Filter,
    keys: &[K],
    values: &[u16],
    threads: usize,
) -> PyResult<()> {
    if filter.is_empty() || worth_a_copy(filter, keys.len()) {
        return filter
            .extend_values(keys, values, threads)
            .map_err(|error| refusal(filter, keys.len(), error));
    }
    let Err(error) = filter.insert_values(keys, values) else { return Ok(()) };
    if let Error::Refused(refused) = &error {
        let stored = refused.first();
        filter.remove_values(&keys[..stored], &values[..stored]).map_err(raise)?;
    }
    Err(refusal(filter, keys.len(), error))
}

/// The exception for `more` keys that were refused.
fn refusal(filter: &Filter, more: usize, error: Error) -> PyErr {
    match error {
        Error::Full | Error::Refused(_) => no_room(filter.len(), more, &filter.facts()),
        error => raise(error),
    }
}

/// A value of one key.
struct Value(u16);

impl<'py> FromPyObject<'_, 'py> for Value {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        given.extract::<u16>().map(Self).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(given.py()) { no_value(&*given) } else { error }
        })
    }
}

/// The exception for a number that no filter has as a value.
fn no_value(value: &impl Display) -> PyErr {
    PyValueError::new_err(format!("the value {value} is not in 0 to 65535"))
}

/// Values as the engine takes them.
fn values_of(values: &Bound<'_, PyAny>) -> PyResult<Vec<u16>> {
    if values.is_instance_of::<PyUntypedArray>() && values.hasattr("mask")? {
        return Err(PyTypeError::new_err("a masked array; give its values, array.compressed()"));
    }
    let numpy = values.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (values,))?;
    let array = array.cast::<PyUntypedArray>()?;
    // A list of nothing becomes an array of float.
    let whole = matches!(array.dtype().kind(), b'i' | b'u') || array.len() == 0;
    if !whole || array.ndim() != 1 {
        let (dtype, ndim) = (array.dtype(), array.ndim());
        return Err(PyTypeError::new_err(format!(
            "values come as integers in a list or an array of 1 dimension, and not as {dtype} in {ndim}"
        )));
    }
    let wide = numpy.call_method1("require", (array, "i8", ("C", "A")))?;
    let wide = wide.cast::<PyArray1<i64>>()?.try_readonly()?;
    wide.as_slice()?.iter().map(|value| u16::try_from(*value).map_err(|_| no_value(value))).collect()
}
