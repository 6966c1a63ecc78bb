//! Keys of the usual types, with as few calls of the interpreter as possible: in a list they take most of the time.
#![expect(unsafe_code, reason = "borrowed references, and a call that PyO3 does not have")]

use malkoha::{Key, KeyHash, KeyHasher};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString};

/// The hash of a key that is exactly a `str`, an `int` of 64 bits with a sign, or `bytes`; `None` for other objects,
/// and for text without UTF-8. No code of Python runs.
#[inline]
pub(crate) fn usual_hash(key: &Bound<'_, PyAny>, hasher: &KeyHasher) -> Option<KeyHash> {
    // Each of these types is told by one comparison.
    if let Ok(text) = key.cast_exact::<PyString>() {
        return Some(hasher.bytes(text.to_str().ok()?.as_bytes()));
    }
    if let Ok(number) = key.cast_exact::<PyInt>() {
        return Some(small(number)?.key_hash(hasher));
    }
    let bytes = key.cast_exact::<PyBytes>().ok()?;
    Some(hasher.bytes(bytes.as_bytes()))
}

/// An integer, if it has at most 64 bits with its sign.
#[inline]
pub(crate) fn small(number: &Bound<'_, PyInt>) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: this is an integer, of which no exception can come, and whoever holds it is attached to the interpreter.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(value)
}

/// The [`usual_hash`] of the key at an index of a list, which is inside it.
#[inline]
#[cfg(not(Py_GIL_DISABLED))]
pub(crate) fn usual_hash_at(list: &Bound<'_, PyList>, index: usize, hasher: &KeyHasher) -> Option<KeyHash> {
    // SAFETY: this is a list, and whoever holds it is attached to the interpreter. Beyond the end there is no item.
    let item = unsafe { ffi::PyList_GetItem(list.as_ptr(), index.cast_signed()) };
    // SAFETY: the list keeps the item until it is changed. Nobody changes it before the hash is there: no code of
    // Python runs, and other threads wait for the interpreter's lock.
    let item = unsafe { Borrowed::from_ptr_or_opt(list.py(), item) }?;
    usual_hash(&item, hasher)
}

/// The same where threads can change the list at any time: the item is kept by a reference.
#[cfg(Py_GIL_DISABLED)]
pub(crate) fn usual_hash_at(list: &Bound<'_, PyList>, index: usize, hasher: &KeyHasher) -> Option<KeyHash> {
    usual_hash(&list.get_item(index).ok()?, hasher)
}
