//! Many keys at once: columns that the engine reads where they are.
//!
//! ```text
//!   numpy.rs     arrays of integers and of fixed-width text     as slices
//!   arrow.rs     columns of pyarrow, polars, pandas, DuckDB     as Arrow arrays, through capsule.rs
//!   objects.rs   lists and other iterables of Python objects    hashed while they are read
//! ```
//!
//! A column is read without the interpreter's lock, so it holds no Python object: the caller of [`with_keys`] does,
//! for as long as its keys are used.

mod arrow;
mod capsule;
mod numpy;
mod objects;

use std::borrow::Cow;
use std::ops::Range;

use ::numpy::{Element, IntoPyArray, PyArray1};
use arrow_buffer::NullBuffer;
use malkoha::{Key, KeyHash, KeyHasher};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};

use crate::error::no_memory;
use crate::threads::{self, Threads};

/// The number of keys hashed before the first of them is looked up; their hashes stay in the cache.
pub(crate) const CHUNK: usize = 1 << 11;

/// What to do with missing keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// They are an error.
    Error,
    /// They are left out: not stored, not found, not new.
    Skip,
}

impl<'py> FromPyObject<'_, 'py> for Nulls {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<&str>().unwrap_or_default() {
            "error" => Ok(Self::Error),
            "skip" => Ok(Self::Skip),
            _ => Err(PyValueError::new_err("nulls must be \"error\" or \"skip\"")),
        }
    }
}

/// Keys of one type, one after another, some of them perhaps missing.
pub(crate) trait Column: Sync {
    fn len(&self) -> usize;

    /// Hashes the keys from index `from` on, as many as there are hashes. What a missing key gets is undefined.
    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]);

    /// The keys as the engine takes them, if they are.
    fn slice(&self) -> Option<Flat<'_>> {
        None
    }

    /// Which keys are missing, if any is.
    fn nulls(&self) -> Option<&NullBuffer> {
        None
    }
}

/// An integer type. The engine gets slices of the widest ones as they are, and others as hashes.
pub(crate) trait Integer: Key + Sync + Sized {
    fn flat(_: &[Self]) -> Option<Flat<'_>> {
        None
    }
}

impl Integer for i8 {}
impl Integer for i16 {}
impl Integer for i32 {}
impl Integer for u8 {}
impl Integer for u16 {}
impl Integer for u32 {}

impl Integer for i64 {
    fn flat(keys: &[Self]) -> Option<Flat<'_>> {
        Some(Flat::Signed(keys))
    }
}

impl Integer for u64 {
    fn flat(keys: &[Self]) -> Option<Flat<'_>> {
        Some(Flat::Unsigned(keys))
    }
}

/// Integers in a slice.
struct Slice<'a, K>(&'a [K]);

impl<K: Integer> Column for Slice<'_, K> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        for (hash, key) in hashes.iter_mut().zip(&self.0[from..]) {
            *hash = key.key_hash(hasher);
        }
    }

    fn slice(&self) -> Option<Flat<'_>> {
        K::flat(self.0)
    }
}

/// Many keys, in the order of their columns.
pub(crate) struct Keys<'a> {
    columns: Vec<Box<dyn Column + 'a>>,
    hasher: KeyHasher,
    len: usize,
    has_nulls: bool,
}

/// Keys in one slice, none of them missing.
pub(crate) enum Flat<'a> {
    Unsigned(&'a [u64]),
    Signed(&'a [i64]),
    Hashes(Cow<'a, [KeyHash]>),
}

impl Flat<'_> {
    /// The keys in a range of indices.
    fn part(&self, range: Range<usize>) -> Flat<'_> {
        match self {
            Self::Unsigned(keys) => Flat::Unsigned(&keys[range]),
            Self::Signed(keys) => Flat::Signed(&keys[range]),
            Self::Hashes(hashes) => Flat::Hashes(Cow::Borrowed(&hashes[range])),
        }
    }
}

/// Runs `$body` with the slice of flat keys, whichever it is.
macro_rules! on_slice {
    ($flat:expr, |$slice:ident| $body:expr) => {
        match $flat {
            $crate::keys::Flat::Unsigned($slice) => $body,
            $crate::keys::Flat::Signed($slice) => $body,
            $crate::keys::Flat::Hashes(hashes) => {
                let $slice = &hashes[..];
                $body
            }
        }
    };
}
pub(crate) use on_slice;

impl<'a> Keys<'a> {
    fn new(columns: Vec<Box<dyn Column + 'a>>, hasher: KeyHasher, nulls: Nulls) -> PyResult<Self> {
        let len = columns.iter().map(|column| column.len()).sum();
        let has_nulls = columns.iter().any(|column| column.nulls().is_some());
        let keys = Self { columns, hasher, len, has_nulls };
        if nulls == Nulls::Error
            && has_nulls
            && let Some(row) = keys.valid().position(|valid| !valid)
        {
            return Err(missing(row));
        }
        Ok(keys)
    }

    /// The number of rows, missing keys included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether the key of each row is there.
    fn valid(&self) -> impl Iterator<Item = bool> {
        self.columns.iter().flat_map(|column| {
            let nulls = column.nulls();
            (0..column.len()).map(move |row| nulls.is_none_or(|nulls| nulls.is_valid(row)))
        })
    }

    /// All keys that are not missing, in one slice, hashed on `threads` threads.
    pub(crate) fn flat(&self, threads: usize) -> PyResult<Flat<'_>> {
        if let [column] = &self.columns[..]
            && !self.has_nulls
            && let Some(slice) = column.slice()
        {
            return Ok(slice);
        }
        Ok(Flat::Hashes(self.hashes(threads)?.into()))
    }

    /// The hashes of all keys that are not missing.
    fn hashes(&self, threads: usize) -> PyResult<Vec<KeyHash>> {
        let mut hashes = filled(self.len, KeyHash::from_raw(0))?;
        let mut rest = &mut hashes[..];
        for column in &self.columns {
            let own = rest.split_off_mut(..column.len()).expect("as many hashes as keys");
            let share = own.len().div_ceil(threads).max(CHUNK);
            threads::for_each(own.chunks_mut(share).enumerate(), threads, |(at, hashes)| {
                column.hash(at * share, &self.hasher, hashes);
            });
        }
        if self.has_nulls {
            let mut valid = self.valid();
            hashes.retain(|_| valid.next() == Some(true));
        }
        Ok(hashes)
    }

    /// One answer a row, from the answers of [`flat`](Self::flat) keys: the default for missing ones.
    pub(crate) fn per_row<T: Clone + Default>(&self, answers: Vec<T>) -> Vec<T> {
        if !self.has_nulls {
            return answers;
        }
        let mut answers = answers.into_iter();
        self.valid().map(|valid| if valid { answers.next() } else { None }.unwrap_or_default()).collect()
    }

    /// Asks about every key, on `threads` threads, a chunk at a time; the answer for missing keys is `false`.
    pub(crate) fn ask(&self, threads: usize, ask: impl Fn(Flat, &mut [bool]) + Sync) -> PyResult<Vec<bool>> {
        let mut answers = filled(self.len, false)?;
        let mut work = Vec::new();
        let mut rest = &mut answers[..];
        for column in &self.columns {
            let own = rest.split_off_mut(..column.len()).expect("as many answers as keys");
            let share = own.len().div_ceil(threads).next_multiple_of(CHUNK).max(CHUNK);
            let shares = own.chunks_mut(share).enumerate();
            work.extend(shares.map(|(at, answers)| (&**column, at * share, answers)));
        }
        threads::for_each(work.into_iter(), threads, |(column, from, answers)| {
            ask_column(column, from, &self.hasher, answers, &ask);
        });
        Ok(answers)
    }
}

/// Asks about the keys of a column from index `from` on, as many as there are answers.
fn ask_column(
    column: &dyn Column,
    from: usize,
    hasher: &KeyHasher,
    answers: &mut [bool],
    ask: &impl Fn(Flat, &mut [bool]),
) {
    if let Some(slice) = column.slice() {
        ask(slice.part(from..from + answers.len()), answers);
    } else {
        let mut hashes = vec![KeyHash::from_raw(0); CHUNK.min(answers.len())];
        for (answers, from) in answers.chunks_mut(CHUNK).zip((from..).step_by(CHUNK)) {
            let hashes = &mut hashes[..answers.len()];
            column.hash(from, hasher, hashes);
            ask(Flat::Hashes(Cow::Borrowed(hashes)), answers);
        }
    }
    if let Some(nulls) = column.nulls() {
        for (answer, row) in answers.iter_mut().zip(from..) {
            *answer &= nulls.is_valid(row);
        }
    }
}

/// A vector of `len` equal items, if there is memory for it.
fn filled<T: Clone>(len: usize, item: T) -> PyResult<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(len).map_err(|_| no_memory())?;
    items.resize(len, item);
    Ok(items)
}

/// The exception for a missing key.
fn missing(row: usize) -> PyErr {
    PyValueError::new_err(format!("the key in row {row} is missing; leave it out, or give nulls=\"skip\""))
}

/// Runs `act` with many keys, of whatever form they are.
pub(crate) fn with_keys<T>(
    keys: &Bound<'_, PyAny>,
    hasher: &KeyHasher,
    nulls: Nulls,
    act: impl FnOnce(&Keys) -> PyResult<T>,
) -> PyResult<T> {
    if keys.is_instance_of::<PyString>()
        || keys.is_instance_of::<PyBytes>()
        || keys.is_instance_of::<PyByteArray>()
    {
        return Err(PyTypeError::new_err(
            "this is one key; give many in a list, or take the method for one key",
        ));
    }
    if let Some(array) = numpy::array_of(keys) {
        return numpy::with_array(&array, hasher, nulls, act);
    }
    match capsule::arrays_of(keys) {
        // Objects are no keys, but perhaps all of these are.
        Ok(Some(arrays)) if arrow::may_be_addresses(&arrays) && is_of_polars(keys)? => {
            if let Some(array) = numpy::convert(keys)? {
                return numpy::with_array(&array, hasher, nulls, act);
            }
        }
        Ok(Some(arrays)) => return act(&Keys::new(arrow::columns_of(arrays, hasher)?, *hasher, nulls)?),
        Ok(None) => {
            if let Some(array) = numpy::convert(keys)? {
                return numpy::with_array(&array, hasher, nulls, act);
            }
        }
        // Arrow has no type for a pandas column of objects that are not all of one type.
        Err(error) => match numpy::convert(keys) {
            Ok(Some(array)) if numpy::has_objects(&array) => {
                return numpy::with_array(&array, hasher, nulls, act);
            }
            _ => return Err(error),
        },
    }
    act(&Keys::new(vec![Box::new(objects::hash_all(keys, hasher, nulls)?)], *hasher, nulls)?)
}

/// Whether the class of an object comes from polars, or from a package that wraps it.
fn is_of_polars(keys: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = keys.get_type().module()?;
    Ok(module.to_str().is_ok_and(|name| name.starts_with("polars.") || name.starts_with("narwhals.")))
}

/// Runs `act` with many keys, without the interpreter's lock; returns its answers as an array.
pub(crate) fn answer_many<'py, T: Element>(
    keys: &Bound<'py, PyAny>,
    hasher: &KeyHasher,
    nulls: Nulls,
    act: impl FnOnce(&Keys) -> PyResult<Vec<T>> + Send,
) -> PyResult<Bound<'py, PyArray1<T>>> {
    let py = keys.py();
    let answers = with_keys(keys, hasher, nulls, |keys| py.detach(|| act(keys)))?;
    Ok(answers.into_pyarray(py))
}

/// The hashes that filters of a seed take keys by, as an array of uint64. Equal keys have equal hashes in every process
/// and on every machine, so they are fit to route keys.
///
/// >>> import malkoha
/// >>> int(malkoha.hash_many(["cuckoo"])[0]) == int(malkoha.hash_many([b"cuckoo"])[0])
/// True
#[pyfunction]
#[pyo3(signature = (keys, *, seed=0, threads=Threads(1)), text_signature = "(keys, *, seed=0, threads=1)")]
pub(crate) fn hash_many<'py>(
    keys: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::spec::seed)] seed: u64,
    threads: Threads,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    answer_many(keys, &KeyHasher::new(seed), Nulls::Error, |keys| {
        let hashes = match keys.flat(threads.0)? {
            Flat::Hashes(hashes) => hashes.into_owned(),
            Flat::Unsigned(_) | Flat::Signed(_) => keys.hashes(threads.0)?,
        };
        Ok(hashes.into_iter().map(KeyHash::to_raw).collect())
    })
}
