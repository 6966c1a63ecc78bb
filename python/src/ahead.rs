//! Lists on several threads: other threads store the first keys while this one still reads the last.
//!
//! ```text
//!   this thread      reads and hashes keys, with the interpreter's lock
//!   other threads    store them in a filter that nobody else sees, and wait for keys that are not hashed yet
//!   at the end       the new filter takes the place of the empty one
//! ```
//!
//! So no lock of a filter is held while Python code may run, and there is nothing to undo if a key is none.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use malkoha::{Filter, Key, KeyHash, KeyHasher};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::keys::CHUNK;
use crate::quick::usual_hashes;
use crate::table::{Caller, check_memory, reading, writing};

/// The fewest keys that are worth a thread.
const FEWEST: usize = 1 << 16;

/// Tables of at most this many bytes are filled by one thread, in the order of the keys.
const SMALL: u64 = 4 << 20;

/// Signals are looked for after this many keys.
const KEYS_PER_LOOK: usize = 1 << 16;

/// How long a thread sleeps that has no keys to store: about as long as some chunks take to read.
const NAP: Duration = Duration::from_micros(50);

/// A key that is hashed by another thread; 0 until then.
struct Awaited(AtomicU64);

impl Key for Awaited {
    #[inline]
    fn key_hash(&self, _: &KeyHasher) -> KeyHash {
        loop {
            match self.0.load(Ordering::Relaxed) {
                0 => thread::sleep(NAP),
                hash => return KeyHash::from_raw(hash),
            }
        }
    }
}

/// The keys that are not hashed yet. Lets nobody wait for ever: what is left at the end, for whatever reason, becomes
/// some hash. All of them are equal, so a cuckoo filter soon refuses them.
struct Left<'a>(&'a [Awaited]);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        for key in self.0 {
            key.0.store(1, Ordering::Relaxed);
        }
    }
}

/// Stores the keys of a list in an empty filter of fixed size, on up to `threads` threads. Returns whether it
/// did; if not, nothing has happened, and the keys are to be stored in the usual way. This is so if there are few, if
/// one of them is unusual, missing or finds no room, or if the filter is not empty at the end.
pub(crate) fn store_while_reading(
    lock: &RwLock<Filter>,
    list: &Bound<'_, PyList>,
    hasher: &KeyHasher,
    threads: usize,
) -> PyResult<bool> {
    let (py, keys) = (list.py(), list.len());
    if keys < FEWEST {
        return Ok(false);
    }
    let Some(mut filter) = py.detach(|| empty_copy(lock))? else { return Ok(false) };
    let mut awaited = Vec::new();
    if awaited.try_reserve_exact(keys).is_err() {
        return Ok(false);
    }
    awaited.resize_with(keys, || Awaited(AtomicU64::new(0)));
    // In larger tables threads fill different parts, and this one has read the keys long before they are stored.
    let threads = if filter.geometry().bytes() <= SMALL { 1 } else { threads };
    let stored = thread::scope(|scope| {
        let store = || filter.extend(&awaited, threads).is_ok();
        let Ok(storing) = thread::Builder::new().spawn_scoped(scope, store) else { return Ok(false) };
        let read = read(list, hasher, &awaited);
        let stored = py.detach(|| storing.join().unwrap_or(false));
        Ok::<_, PyErr>(read? && stored)
    })?;
    if !stored {
        return Ok(false);
    }
    py.detach(|| {
        let mut old = writing(Caller::Detached, lock)?;
        let is_empty = old.is_empty();
        if is_empty {
            *old = filter;
        }
        Ok(is_empty)
    })
}

/// A copy of the filter, if it is empty and does not grow, and there is memory for it.
fn empty_copy(lock: &RwLock<Filter>) -> PyResult<Option<Filter>> {
    let filter = reading(Caller::Detached, lock)?;
    let geometry = filter.geometry();
    let suits = filter.is_empty() && !geometry.is_growing() && check_memory(geometry.bytes()).is_ok();
    Ok(suits.then(|| filter.clone()))
}

/// Hashes the keys of a list for those who wait for them. Returns whether there were as many as expected, all usual.
fn read(list: &Bound<'_, PyList>, hasher: &KeyHasher, awaited: &[Awaited]) -> PyResult<bool> {
    let mut left = Left(awaited);
    let mut hashes = Vec::with_capacity(CHUNK);
    for (chunk, from) in awaited.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
        if from % KEYS_PER_LOOK == 0 {
            list.py().check_signals()?;
        }
        // Code of Python that runs for a signal may change the list.
        if list.len() != awaited.len() {
            return Ok(false);
        }
        hashes.clear();
        usual_hashes(list, from..from + chunk.len(), hasher, &mut hashes);
        // A hash of 0 cannot be told from one that is not there yet.
        if hashes.len() < chunk.len() || hashes.contains(&KeyHash::from_raw(0)) {
            return Ok(false);
        }
        for (key, hash) in chunk.iter().zip(&hashes) {
            key.0.store(hash.to_raw(), Ordering::Relaxed);
        }
        left.0 = &awaited[from + chunk.len()..];
    }
    Ok(true)
}
