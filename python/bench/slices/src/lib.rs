//! Times of the engine in Rust, for keys in slices that point into the buffers of Python objects.

use std::time::Instant;

use malkoha::{Filter, Key, Spec};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// Seconds to store and to look up.
type Times = (f64, f64);

/// Stores keys with `extend` and looks them up with `contains_slice`, on one thread.
fn times<K: Key + Sync>(keys: &[K], kind: &str, rate: f64) -> Times {
    let kind = kind.parse().expect("a kind");
    let mut filter: Filter = Spec::new(keys.len() as u64, rate).kind(kind).build().expect("a filter");
    let start = Instant::now();
    filter.extend(keys, 1).expect("room for all");
    let stored = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let found = filter.contains_slice(keys);
    let looked_up = start.elapsed().as_secs_f64();
    assert!(found.iter().all(|found| *found), "no key is lost");
    (stored, looked_up)
}

/// Keys in an array of int64.
#[pyfunction]
fn integers(py: Python<'_>, keys: PyReadonlyArray1<'_, i64>, kind: &str, rate: f64) -> PyResult<Times> {
    let keys = keys.as_slice()?;
    Ok(py.detach(|| times(keys, kind, rate)))
}

/// Keys in the buffers of a column of string views: 16 bytes for each, which hold it or say where it is.
#[pyfunction]
fn views(
    py: Python<'_>,
    views: PyReadonlyArray1<'_, u8>,
    buffers: Vec<PyReadonlyArray1<'_, u8>>,
    kind: &str,
    rate: f64,
) -> PyResult<Times> {
    let buffers = buffers.iter().map(|buffer| buffer.as_slice()).collect::<Result<Vec<_>, _>>()?;
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
    let text = |view: &'_ [u8]| -> (usize, Option<(usize, usize)>) {
        let length = number(&view[..4]);
        (length, (length > 12).then(|| (number(&view[8..12]), number(&view[12..]))))
    };
    let views = views.as_slice()?;
    let keys: Vec<&[u8]> = views
        .chunks_exact(16)
        .map(|view| match text(view) {
            (length, None) => &view[4..4 + length],
            (length, Some((buffer, offset))) => &buffers[buffer][offset..offset + length],
        })
        .collect();
    Ok(py.detach(|| times(&keys, kind, rate)))
}

#[pymodule(name = "slices")]
mod module {
    #[pymodule_export]
    use super::{integers, views};
}
