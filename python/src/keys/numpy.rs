//! Numpy arrays: integers as slices, text of fixed width as bytes, objects one by one.

use malkoha::{KeyHash, KeyHasher};
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyUnicodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use super::objects::{Hashed, hash_all};
use super::{Column, Keys, Nulls, Slice};

/// The object as an array, if it is one.
pub(super) fn array_of<'py>(keys: &Bound<'py, PyAny>) -> Option<Bound<'py, PyUntypedArray>> {
    keys.cast::<PyUntypedArray>().ok().cloned()
}

/// An array that shares its memory with the object, if it offers that: `array.array`, `memoryview`, tensors and columns
/// without the Arrow interface.
pub(super) fn convert<'py>(keys: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    let offers = keys.is_instance_of::<PyMemoryView>()
        || keys.hasattr("__array__")?
        || keys.get_type().fully_qualified_name()? == "array.array";
    if !offers {
        return Ok(None);
    }
    let array = keys.py().import("numpy")?.call_method1("asarray", (keys,))?;
    Ok(Some(array.cast_into()?))
}

/// Whether an array has Python objects.
pub(super) fn has_objects(array: &Bound<'_, PyUntypedArray>) -> bool {
    array.dtype().kind() == b'O'
}

/// Runs `act` with the keys of an array.
pub(super) fn with_array<T>(
    array: &Bound<'_, PyUntypedArray>,
    hasher: &KeyHasher,
    nulls: Nulls,
    act: impl FnOnce(&Keys) -> PyResult<T>,
) -> PyResult<T> {
    if array.ndim() != 1 {
        return Err(PyValueError::new_err(format!(
            "an array of {} dimensions; give one of 1 dimension, such as array.ravel()",
            array.ndim()
        )));
    }
    if array.hasattr("mask")? {
        return Err(PyTypeError::new_err("a masked array; give its keys, array.compressed()"));
    }
    let array = plain(array)?;
    let of = |columns| Keys::new(columns, *hasher, nulls);
    macro_rules! slice {
        ($type:ty) => {{
            let guard = array.cast::<PyArray1<$type>>()?.try_readonly()?;
            act(&of(vec![Box::new(Slice(guard.as_slice()?))])?)
        }};
    }
    let (kind, width) = (array.dtype().kind(), array.dtype().itemsize());
    match (kind, width) {
        (b'i', 1) => slice!(i8),
        (b'i', 2) => slice!(i16),
        (b'i', 4) => slice!(i32),
        (b'i', 8) => {
            let guard = array.cast::<PyArray1<i64>>()?.try_readonly()?;
            let signed = guard.as_slice()?;
            if signed.iter().fold(0, |all, value| all | value) < 0 {
                return act(&of(vec![Box::new(Slice(signed))])?);
            }
            // None is negative: read as numbers without a sign, which filters hash in vectors.
            let array = array.call_method1("view", ("u8",))?;
            let guard = array.cast::<PyArray1<u64>>()?.try_readonly()?;
            act(&of(vec![Box::new(Slice(guard.as_slice()?))])?)
        }
        (b'u', 1) => slice!(u8),
        (b'u', 2) => slice!(u16),
        (b'u', 4) => slice!(u32),
        (b'u', 8) => slice!(u64),
        (b'S' | b'U', 0) => act(&of(vec![Box::new(Hashed::equal(hasher.bytes(b""), array.len()))])?),
        (b'S', width) => {
            let array = array.call_method1("view", ("u1",))?;
            let guard = array.cast::<PyArray1<u8>>()?.try_readonly()?;
            act(&of(vec![Box::new(FixedBytes { bytes: guard.as_slice()?, width })])?)
        }
        (b'U', width) => {
            let array = array.call_method1("view", ("u4",))?;
            let guard = array.cast::<PyArray1<u32>>()?.try_readonly()?;
            act(&of(vec![Box::new(FixedText::new(guard.as_slice()?, width / 4)?)])?)
        }
        // A list of the same objects is read with fewer calls of the interpreter.
        (b'O', _) => {
            let list = array.call_method0("tolist")?;
            act(&of(vec![Box::new(hash_all(&list, hasher, nulls)?)])?)
        }
        // Strings of any width, which become objects one by one.
        (b'T', _) => act(&of(vec![Box::new(hash_all(&array, hasher, nulls)?)])?),
        _ => Err(no_array(&array, kind)),
    }
}

/// The array with its items next to each other, aligned, in the byte order of the machine; the array itself if it is
/// so.
fn plain<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let dtype = array.dtype();
    let native = if dtype.getattr("isnative")?.extract()? {
        dtype.into_any()
    } else {
        dtype.call_method1("newbyteorder", ("=",))?
    };
    let numpy = array.py().import("numpy")?;
    Ok(numpy.call_method1("require", (array, native, ("C", "A")))?.cast_into()?)
}

fn no_array(array: &Bound<'_, PyUntypedArray>, kind: u8) -> PyErr {
    let how = match kind {
        b'f' | b'c' => "floating point numbers are no keys: write array.astype(\"int64\") if they are whole",
        b'b' => "write array.astype(\"int64\")",
        b'M' | b'm' => "write array.view(\"int64\")",
        _ => "give an array of integers, strings or bytes",
    };
    PyTypeError::new_err(format!("an array of {} has no keys; {how}", array.dtype()))
}

/// Bytes of fixed width; zeros at the end do not count, as in numpy.
struct FixedBytes<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Column for FixedBytes<'_> {
    fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        for (hash, key) in hashes.iter_mut().zip(self.bytes.chunks_exact(self.width).skip(from)) {
            let end = key.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            *hash = hasher.bytes(&key[..end]);
        }
    }
}

/// Text of fixed width, four bytes a character; zeros at the end do not count, as in numpy.
struct FixedText<'a> {
    characters: &'a [u32],
    width: usize,
}

impl<'a> FixedText<'a> {
    fn new(characters: &'a [u32], width: usize) -> PyResult<Self> {
        match characters.iter().position(|&code| char::from_u32(code).is_none()) {
            None => Ok(Self { characters, width }),
            Some(at) => Err(PyUnicodeError::new_err(format!(
                "row {}: a surrogate is no character, and has no UTF-8",
                at / width
            ))),
        }
    }
}

impl Column for FixedText<'_> {
    fn len(&self) -> usize {
        self.characters.len() / self.width
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        let mut text = String::new();
        for (hash, key) in hashes.iter_mut().zip(self.characters.chunks_exact(self.width).skip(from)) {
            let end = key.iter().rposition(|&code| code != 0).map_or(0, |last| last + 1);
            text.clear();
            text.extend(key[..end].iter().filter_map(|&code| char::from_u32(code)));
            *hash = hasher.bytes(text.as_bytes());
        }
    }
}
