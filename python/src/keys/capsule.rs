//! Arrays out of the capsules of the Arrow C interface.
#![expect(unsafe_code, reason = "pointers from capsules")]

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{ArrayRef, make_array};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// All arrays of an object with `__arrow_c_stream__` or `__arrow_c_array__`; `None` if it has neither.
pub(super) fn arrays_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if let Some(method) = object.getattr_opt("__arrow_c_stream__")? {
        return stream(&method.call0()?).map(Some);
    }
    if let Some(method) = object.getattr_opt("__arrow_c_array__")? {
        let (schema, array) = method.call0()?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        return Ok(Some(vec![single(&schema, &array)?]));
    }
    Ok(None)
}

/// What a capsule of this name points to. The Arrow interface says of which type that is.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}

fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let stream = pointer::<FFI_ArrowArrayStream>(capsule, c"arrow_array_stream")?;
    // SAFETY: a capsule of this name holds an initialised stream. This moves it out, and leaves a released one
    // behind, so nobody else reads or releases it.
    let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) };
    reader.map_err(refused)?.collect::<Result<_, _>>().map_err(refused)
}

fn single(schema: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let schema = pointer::<FFI_ArrowSchema>(schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(array, c"arrow_array")?;
    // SAFETY: a capsule of this name holds an initialised schema, and the caller keeps it alive during this call.
    let schema = unsafe { schema.as_ref() };
    // SAFETY: a capsule of this name holds an initialised array. This moves it out, and leaves a released one behind.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: array and schema come from one call of `__arrow_c_array__`, which says that they agree.
    let data = unsafe { from_ffi(array, schema) };
    Ok(make_array(data.map_err(refused)?))
}

fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(format!("the Arrow column cannot be read: {error}"))
}
