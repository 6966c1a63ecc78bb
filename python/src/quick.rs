//! Keys of the usual types, with as few calls of the interpreter as possible: in a list they take most of the time.
#![expect(unsafe_code, reason = "borrowed references, hints, and a call that PyO3 does not have")]

use std::ops::Range;
#[cfg(not(Py_GIL_DISABLED))]
use std::ptr;

use malkoha::{Key, KeyHash, KeyHasher};
use pyo3::PyTypeInfo;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString};

/// The hash of a key that is exactly a `str`, an `int` of 64 bits with a sign, or `bytes`; `None` for other objects,
/// and for text without UTF-8. No code of Python runs.
#[inline]
pub(crate) fn usual_hash(key: &Bound<'_, PyAny>, hasher: &KeyHasher) -> Option<KeyHash> {
    if let Some(text) = exactly::<PyString>(key) {
        return Some(hasher.bytes(text.to_str().ok()?.as_bytes()));
    }
    if let Some(number) = exactly::<PyInt>(key) {
        return Some(small(number)?.key_hash(hasher));
    }
    let bytes = exactly::<PyBytes>(key)?;
    Some(hasher.bytes(bytes.as_bytes()))
}

/// A key as an object of this type, if it is exactly that. Other types are told by one comparison; a cast that fails
/// would make an error first, with a reference to the type.
#[inline]
fn exactly<'a, 'py, T: PyTypeInfo>(key: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, T>> {
    if key.is_exact_instance_of::<T>() { key.cast_exact().ok() } else { None }
}

/// An integer, if it has at most 64 bits with its sign.
#[inline]
pub(crate) fn small(number: &Bound<'_, PyInt>) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: this is an integer, of which no exception can come, and whoever holds it is attached to the interpreter.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(value)
}

/// The number of keys that are asked for before the first of them is hashed. Their objects may lie anywhere in memory.
#[cfg(not(Py_GIL_DISABLED))]
const AHEAD: usize = 16;

/// Appends the [`usual_hash`] of the keys in these rows of a list, up to the first that has none. All rows are inside
/// the list.
#[cfg(not(Py_GIL_DISABLED))]
pub(crate) fn usual_hashes(
    list: &Bound<'_, PyList>,
    rows: Range<usize>,
    hasher: &KeyHasher,
    hashes: &mut Vec<KeyHash>,
) {
    let ask = |row: usize| {
        // SAFETY: this is a list, and whoever holds it is attached to the interpreter. Beyond the end there is no item.
        let item = unsafe { ffi::PyList_GetItem(list.as_ptr(), row.cast_signed()) };
        prefetch(item.cast());
        item
    };
    let mut items = [ptr::null_mut(); AHEAD];
    for row in rows.clone().take(AHEAD) {
        items[row % AHEAD] = ask(row);
    }
    for row in rows.clone() {
        let item = items[row % AHEAD];
        if row + AHEAD < rows.end {
            items[row % AHEAD] = ask(row + AHEAD);
        }
        // SAFETY: the list keeps its items until it is changed. Nobody changes it before this returns: no code of
        // Python runs, and other threads wait for the interpreter's lock.
        let item = unsafe { Borrowed::from_ptr_or_opt(list.py(), item) };
        let Some(hash) = item.and_then(|item| usual_hash(&item, hasher)) else { return };
        hashes.push(hash);
    }
}

/// Asks for the two cache lines at an address: short keys lie behind the head of their object.
#[inline(always)]
#[cfg(not(Py_GIL_DISABLED))]
fn prefetch(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint, and harmless at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        // SAFETY: the same.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(64)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The same where threads can change the list at any time: each item is kept by a reference.
#[cfg(Py_GIL_DISABLED)]
pub(crate) fn usual_hashes(
    list: &Bound<'_, PyList>,
    rows: Range<usize>,
    hasher: &KeyHasher,
    hashes: &mut Vec<KeyHash>,
) {
    hashes.extend(rows.map_while(|row| usual_hash(&list.get_item(row).ok()?, hasher)));
}
