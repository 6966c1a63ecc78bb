//! Work on several threads.

use std::sync::Mutex;
use std::thread;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The most threads that are started.
const MOST_THREADS: usize = 256;

/// Calls `act` with every item, on up to `threads` threads, the calling one among them. If the system provides no more
/// threads, those that there are do the work.
pub(crate) fn for_each<T: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    threads: usize,
    act: impl Fn(T) + Sync,
) {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let items = Mutex::new(items);
    let next = || items.lock().ok().and_then(|mut items| items.next());
    let work = || {
        while let Some(item) = next() {
            act(item);
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// A number of threads, at least 1.
#[derive(Clone, Copy)]
pub(crate) struct Threads(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<usize>() {
            Ok(threads) if threads > 0 => Ok(Self(threads.min(MOST_THREADS))),
            _ => Err(PyValueError::new_err("threads must be a whole number, at least 1")),
        }
    }
}
