//! Filters from files and bytes, of whatever class they are.

use std::path::PathBuf;

use malkoha::{Error, Filter, Generations, Sharded};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::{FormatError, raise};
use crate::filter::PyFilter;
use crate::map::PyMap;
use crate::mapped::PyMapped;
use crate::table::Table;
use crate::window::PyWindow;

/// What a file holds.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
enum Content {
    Filter(Box<Filter>),
    Sharded(Sharded),
    Window(Generations),
}

/// Reads whatever there is: the header says what it is, and a reader refuses other things at once.
fn read(
    filter: impl FnOnce() -> Result<Filter, Error>,
    sharded: impl FnOnce() -> Result<Sharded, Error>,
    window: impl FnOnce() -> Result<Generations, Error>,
) -> PyResult<Content> {
    let other_form = |error: &Error| matches!(error, Error::Form { .. });
    let content = match filter() {
        Err(error) if other_form(&error) => match sharded() {
            Err(error) if other_form(&error) => window().map(Content::Window),
            sharded => sharded.map(Content::Sharded),
        },
        filter => filter.map(|filter| Content::Filter(Box::new(filter))),
    };
    content.map_err(raise)
}

impl Content {
    fn into_object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Filter(filter) => object_of(py, *filter),
            Self::Sharded(sharded) => {
                let seed = sharded.geometry().seed();
                Ok(Bound::new(py, PyFilter::new(Table::sharded(sharded), seed))?.into_any())
            }
            Self::Window(window) => Ok(Bound::new(py, PyWindow::of(window))?.into_any()),
        }
    }
}

/// A filter of the engine as an object: a map if it has values.
pub(crate) fn object_of(py: Python<'_>, filter: Filter) -> PyResult<Bound<'_, PyAny>> {
    if filter.geometry().value_bits() > 0 {
        return Ok(Bound::new(py, PyMap::of(filter))?.into_any());
    }
    Ok(Bound::new(py, PyFilter::of(filter))?.into_any())
}

/// Reads a filter, a map or a window from a file, and verifies it to the last bit.
///
/// Damaged files raise ``FormatError``, which says what is wrong and where.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let content =
        py.detach(|| read(|| Filter::open(&path), || Sharded::open(&path), || Generations::open(&path)))?;
    content.into_object(py)
}

/// Reads a filter, a map or a window from the bytes of ``to_bytes``, and verifies it to the last bit.
#[pyfunction]
pub(crate) fn from_bytes<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let bytes = match data.cast::<PyBytes>() {
        Ok(bytes) => bytes.clone(),
        Err(_) => py
            .get_type::<PyBytes>()
            .call1((py.import("builtins")?.call_method1("memoryview", (data,))?,))?
            .cast_into()?,
    };
    let bytes = bytes.as_bytes();
    let content = py.detach(|| {
        read(|| Filter::from_bytes(bytes), || Sharded::from_bytes(bytes), || Generations::from_bytes(bytes))
    })?;
    content.into_object(py)
}

/// Leaves a filter in its file: only what lookups touch is loaded, and processes share it.
///
/// Only for files of one filter or map, without shards. One that grows can be mapped, unless its kind is a Bloom kind.
/// Nobody may change the file while it is mapped; ``save`` replaces it and does no harm. ``verify()`` checks the whole
/// table, which ``map`` does not.
#[pyfunction]
pub(crate) fn map(py: Python<'_>, path: PathBuf) -> PyResult<PyMapped> {
    let path = std::path::absolute(path)?;
    py.detach(|| PyMapped::open(path))
}

/// The object of a class that bytes hold.
pub(crate) fn of_bytes_as<T: PyClass>(data: &Bound<'_, PyAny>, expected: &str) -> PyResult<Py<T>> {
    let object = from_bytes(data)?;
    match object.cast::<T>() {
        Ok(object) => Ok(object.clone().unbind()),
        Err(_) => Err(FormatError::new_err(format!(
            "these bytes hold a {} and not {expected}; read them with malkoha.from_bytes",
            object.get_type().name()?
        ))),
    }
}

/// How to make an object of these bytes again: what `__reduce__` returns.
pub(crate) fn pickled<'py>(py: Python<'py>, bytes: Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyTuple>> {
    (py.import("malkoha")?.getattr("from_bytes")?, (bytes,)).into_pyobject(py)
}
