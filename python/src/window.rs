//! `malkoha.Window`: the keys seen recently.

use std::path::PathBuf;
use std::sync::RwLock;

use malkoha::{Full, Generations, Inserted, KeyHasher};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::{FullError, raise};
use crate::facts::{Described, Facts, PyStats};
use crate::files;
use crate::key::hash_of;
use crate::keys::{Nulls, answer_many, on_slice, with_keys};
use crate::spec::{self, Whole};
use crate::table::{Caller, check_memory, equal, reading, writing};
use crate::threads::Threads;
use crate::view;

/// The keys seen recently: the last ``keys`` keys, or those of the last ``ticks`` ticks of a clock that you read.
///
/// With ``ticks`` you may leave ``keys`` out: then the window grows. A key that ``add_unique`` stored is found while it
/// is inside the window, and forgotten after G generations of 1/(G - 1) of the window each. What a tick is, you decide.
///
/// >>> from malkoha import Window
/// >>> hour = Window(1000, 0.001, ticks=3600)
/// >>> hour.add_unique("event 1", now=0), hour.add_unique("event 1", now=3000), hour.add_unique("event 1", now=9000)
/// (True, False, True)
#[pyclass(name = "Window", module = "malkoha", frozen)]
pub(crate) struct PyWindow {
    window: RwLock<Generations>,
    hasher: KeyHasher,
}

impl PyWindow {
    pub(crate) fn of(window: Generations) -> Self {
        let hasher = *window.hasher();
        Self { window: RwLock::new(window), hasher }
    }

    /// Runs `act` with the window at the time `now`, if there is one.
    fn at<T>(
        &self,
        py: Python<'_>,
        now: Option<u64>,
        act: impl FnOnce(&mut Generations) -> T,
    ) -> PyResult<T> {
        let mut window = writing(Caller::Attached(py), &self.window)?;
        if let Some(now) = now {
            set_time(&mut window, now)?;
        }
        Ok(act(&mut window))
    }
}

/// Sets the time of a window that goes by the clock.
fn set_time(window: &mut Generations, now: u64) -> PyResult<()> {
    if window.ticks().is_none() {
        return Err(PyTypeError::new_err("this window counts keys and has no clock; make it with ticks=..."));
    }
    window.advance(now);
    Ok(())
}

#[cold]
fn no_memory(_: Full) -> PyErr {
    FullError::new_err(
        "the system could not provide the memory for so many keys in one generation; nothing has changed",
    )
}

impl Described for Generations {
    fn facts(&self) -> Facts {
        let newest = self.generations().next().map(Described::facts);
        let newest = newest.expect("a window has at least two generations");
        // What grows in a window for a known number of keys is a generation that gets more than its share.
        let growing = newest.kind == "elastic";
        Facts { keys: self.keys(), rate: self.rate(), capacity: self.keys(), growing, ..newest }
    }
}

#[pymethods]
impl PyWindow {
    #[new]
    #[pyo3(signature = (keys=None, rate=None, *, ticks=None, generations=4, memory=None, kind="sorted", seed=0))]
    #[expect(clippy::too_many_arguments, reason = "all but two are keywords")]
    fn build(
        py: Python<'_>,
        keys: Option<Whole>,
        rate: Option<f64>,
        ticks: Option<u64>,
        generations: u32,
        memory: Option<Whole>,
        kind: &str,
        #[pyo3(from_py_with = spec::seed)] seed: u64,
    ) -> PyResult<Self> {
        if keys.is_none() && memory.is_none() && ticks.is_none() {
            return Err(PyTypeError::new_err(
                "a window that counts keys needs two of keys, rate and memory; one that goes by the clock needs only \
                 rate and ticks",
            ));
        }
        // Without a number of keys, the usual kind is the one that grows.
        let kind = if keys.is_none() && memory.is_none() && kind == "sorted" { "elastic" } else { kind };
        let spec = spec::spec(keys, rate, memory)?.kind(spec::kind(kind)?).seed(seed);
        let window = py.detach(|| match ticks {
            None => Generations::of_keys(&spec, generations),
            Some(ticks) => Generations::of_ticks(&spec, generations, ticks),
        });
        window.map(Self::of).map_err(raise)
    }

    /// Stores a key unless it was seen within the window; returns whether it was new.
    #[pyo3(signature = (key, *, now=None))]
    fn add_unique(&self, py: Python<'_>, key: &Bound<'_, PyAny>, now: Option<u64>) -> PyResult<bool> {
        let hash = hash_of(key, &self.hasher)?;
        let outcome = self.at(py, now, |window| window.insert_unique(&hash))?;
        outcome.map(|outcome| outcome == Inserted::Stored).map_err(no_memory)
    }

    /// Stores a key, or restarts its time if it was seen before.
    #[pyo3(signature = (key, *, now=None))]
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>, now: Option<u64>) -> PyResult<()> {
        let hash = hash_of(key, &self.hasher)?;
        self.at(py, now, |window| window.insert(&hash))?.map_err(no_memory)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = hash_of(key, &self.hasher)?;
        Ok(reading(Caller::Attached(py), &self.window)?.contains(&hash))
    }

    /// Stores every key that was not seen within the window; returns which were new, as an array of bool.
    ///
    /// >>> from malkoha import Window
    /// >>> Window(1000, 0.001).add_unique_many(["a", "b", "a"]).tolist()
    /// [True, True, False]
    #[pyo3(signature = (keys, *, now=None, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, now=None, nulls='error', threads=1)")]
    fn add_unique_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        now: Option<u64>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        answer_many(keys, &self.hasher, nulls, |keys| {
            let flat = keys.flat(threads.0)?;
            let mut window = writing(Caller::Detached, &self.window)?;
            if let Some(now) = now {
                set_time(&mut window, now)?;
            }
            let outcomes = on_slice!(flat, |slice| window.insert_unique_slice(slice));
            let new = outcomes.into_iter().map(|outcome| Ok(outcome? == Inserted::Stored));
            Ok(keys.per_row(new.collect::<Result<Vec<_>, Full>>().map_err(|_| stopped())?))
        })
    }

    /// Stores every key, or restarts its time if it was seen before.
    ///
    /// >>> from malkoha import Window
    /// >>> minute = Window(rate=0.001, ticks=60)
    /// >>> minute.add_many(["a", "b"], now=0)
    /// >>> minute.add_many(["b"], now=50)
    /// >>> minute.advance(100)
    /// >>> minute.contains_many(["a", "b"]).tolist()
    /// [False, True]
    #[pyo3(signature = (keys, *, now=None, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, now=None, nulls='error', threads=1)")]
    fn add_many(
        &self,
        keys: &Bound<'_, PyAny>,
        now: Option<u64>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<()> {
        let py = keys.py();
        with_keys(keys, &self.hasher, nulls, |keys| {
            py.detach(|| {
                let flat = keys.flat(threads.0)?;
                let mut window = writing(Caller::Detached, &self.window)?;
                if let Some(now) = now {
                    set_time(&mut window, now)?;
                }
                on_slice!(flat, |slice| slice.iter().try_for_each(|key| window.insert(key)))
                    .map_err(|Full| stopped())
            })
        })
    }

    /// Which keys may have been stored within the window, as an array of bool.
    #[pyo3(signature = (keys, *, nulls=Nulls::Error, threads=Threads(1)),
           text_signature = "($self, keys, *, nulls='error', threads=1)")]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        answer_many(keys, &self.hasher, nulls, |keys| {
            let window = reading(Caller::Detached, &self.window)?;
            keys.ask(threads.0, |keys, answers| {
                on_slice!(keys, |slice| window.contains_slice_into(slice, answers));
            })
        })
    }

    /// Sets the time of a window that goes by the clock, and forgets what is older than the window.
    fn advance(&self, py: Python<'_>, now: u64) -> PyResult<()> {
        self.at(py, Some(now), |_| ())
    }

    /// Forgets the oldest generation and begins a new one.
    fn rotate(&self, py: Python<'_>) -> PyResult<()> {
        self.at(py, None, Generations::rotate)
    }

    /// Forgets all keys and the time.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.at(py, None, Generations::clear)
    }

    /// A copy in memory of its own.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        py.detach(|| {
            let window = reading(Caller::Detached, &self.window)?;
            check_memory(window.stats().memory_bytes)?;
            Ok(Self::of(window.clone()))
        })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    /// The number of stored keys, including those beyond the window that are not yet forgotten.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(reading(Caller::Attached(py), &self.window)?.len())?)
    }

    /// Equal content and time.
    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        py.detach(|| equal(&self.window, &other.window))
    }

    /// Writes the window to a file, atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| reading(Caller::Detached, &self.window)?.save(&path).map_err(raise))
    }

    /// The bytes that ``save`` writes. Pickles hold the same.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| reading(Caller::Detached, &self.window)?.to_bytes().map_err(raise))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The window of bytes from ``to_bytes``, verified to the last bit. Damaged ones raise ``FormatError``.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        files::of_bytes_as(data, "a window")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        files::pickled(py, self.to_bytes(py)?)
    }

    /// Statistics at this moment.
    fn stats(&self, py: Python<'_>) -> PyResult<PyStats> {
        Ok(reading(Caller::Attached(py), &self.window)?.stats().into())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let window = reading(Caller::Attached(py), &self.window)?;
        Ok(view::text("Window", &window.facts(), &window.stats()))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let window = reading(Caller::Attached(py), &self.window)?;
        Ok(view::html("Window", &window.facts(), &window.stats()))
    }

    /// The number of keys that the window is planned for.
    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(reading(Caller::Attached(py), &self.window)?.keys())
    }

    /// The ticks for which a key is found; None if the window counts keys.
    #[getter]
    fn ticks(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(reading(Caller::Attached(py), &self.window)?.ticks())
    }

    /// The number of generations.
    #[getter]
    fn generations(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(reading(Caller::Attached(py), &self.window)?.generations().len())
    }

    /// The promised rate: the fraction of new keys that may be reported as seen.
    #[getter]
    fn rate(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(reading(Caller::Attached(py), &self.window)?.rate())
    }

    /// The kind of its filters, such as ``"sorted"``.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<String> {
        Ok(reading(Caller::Attached(py), &self.window)?.facts().kind)
    }

    /// The seed of its hashes.
    #[getter]
    fn seed(&self) -> u64 {
        self.hasher.seed()
    }

    /// Bytes of memory.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(reading(Caller::Attached(py), &self.window)?.stats().memory_bytes)
    }

    /// What ``sys.getsizeof`` tells, and so Dask: the same as ``nbytes``.
    fn __sizeof__(&self, py: Python<'_>) -> PyResult<u64> {
        self.nbytes(py)
    }
}

#[cold]
fn stopped() -> PyErr {
    FullError::new_err(
        "the system could not provide the memory for all of these keys; the first of them are stored",
    )
}
