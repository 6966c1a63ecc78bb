//! What a Python filter holds, behind a lock: one filter of the engine, or one made of shards.
//!
//! No thread waits for a lock while it holds the interpreter's lock, so no two threads can wait for each other.

use std::ptr;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use malkoha::{Filter, Sharded, Stats};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;

use crate::error::{broken, no_memory, no_room, raise};
use crate::facts::{Described, Facts};
use crate::merge;

/// A filter of the engine that threads share.
#[allow(clippy::large_enum_variant, reason = "there is one for each Python object")]
pub(crate) enum Table {
    Single(RwLock<Filter>),
    /// Its own locks let threads change different shards at once. The outer one is for operations on all of them.
    Sharded(RwLock<Sharded>),
}

/// Who waits for a lock.
#[derive(Clone, Copy)]
pub(crate) enum Caller<'py> {
    /// A thread with the interpreter's lock, which it gives up while it waits.
    Attached(Python<'py>),
    /// A thread without it.
    Detached,
}

/// The filter behind a lock, for reading.
#[inline]
pub(crate) fn reading<'a, F>(caller: Caller<'_>, lock: &'a RwLock<F>) -> PyResult<RwLockReadGuard<'a, F>> {
    match caller {
        Caller::Attached(py) => lock.read_py_attached(py),
        Caller::Detached => lock.read(),
    }
    .map_err(|_| broken())
}

/// The filter behind a lock, for changes.
#[inline]
pub(crate) fn writing<'a, F>(caller: Caller<'_>, lock: &'a RwLock<F>) -> PyResult<RwLockWriteGuard<'a, F>> {
    match caller {
        Caller::Attached(py) => lock.write_py_attached(py),
        Caller::Detached => lock.write(),
    }
    .map_err(|_| broken())
}

/// Runs `$body` with the engine's filter, for reading.
macro_rules! read {
    ($table:expr, $caller:expr, |$filter:ident| $body:expr) => {
        match $table {
            $crate::table::Table::Single(lock) => {
                let $filter = $crate::table::reading($caller, lock)?;
                $body
            }
            $crate::table::Table::Sharded(lock) => {
                let $filter = $crate::table::reading($caller, lock)?;
                $body
            }
        }
    };
}

/// Runs `$body` with the engine's filter, for changes. A change to some shards does not need all of them.
macro_rules! change {
    ($table:expr, $caller:expr, |$filter:ident| $body:expr) => {
        match $table {
            $crate::table::Table::Single(lock) => {
                let mut $filter = $crate::table::writing($caller, lock)?;
                $body
            }
            $crate::table::Table::Sharded(lock) => {
                let $filter = $crate::table::reading($caller, lock)?;
                $body
            }
        }
    };
}
pub(crate) use {change, read};

impl Table {
    pub(crate) fn single(filter: Filter) -> Self {
        Self::Single(RwLock::new(filter))
    }

    pub(crate) fn sharded(filter: Sharded) -> Self {
        Self::Sharded(RwLock::new(filter))
    }

    pub(crate) fn facts(&self, caller: Caller<'_>) -> PyResult<Facts> {
        Ok(read!(self, caller, |filter| filter.facts()))
    }

    pub(crate) fn stats(&self) -> PyResult<Stats> {
        Ok(read!(self, Caller::Detached, |filter| filter.stats()))
    }

    /// A copy in memory of its own.
    pub(crate) fn copy(&self) -> PyResult<Self> {
        Ok(match self {
            Self::Single(lock) => {
                let filter = reading(Caller::Detached, lock)?;
                check_memory(table_bytes(&filter))?;
                Self::single(filter.clone())
            }
            Self::Sharded(lock) => {
                let filter = reading(Caller::Detached, lock)?;
                check_memory(filter.geometry().bytes())?;
                Self::sharded(filter.clone())
            }
        })
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> PyResult<u64> {
        Ok(match self {
            Self::Single(lock) => table_bytes(&*reading(Caller::Detached, lock)?),
            Self::Sharded(lock) => {
                let sharded = reading(Caller::Detached, lock)?;
                let geometry = sharded.geometry();
                // Statistics of Bloom kinds copy their tables.
                if geometry.is_growing() { sharded.stats().memory_bytes } else { geometry.bytes() }
            }
        })
    }

    /// Whether the content is equal.
    pub(crate) fn equals(&self, other: &Self) -> PyResult<bool> {
        match (self, other) {
            (Self::Single(one), Self::Single(other)) => equal(one, other),
            (Self::Sharded(one), Self::Sharded(other)) => equal(one, other),
            _ => Ok(false),
        }
    }

    /// Takes over what another holds, or nothing at all.
    pub(crate) fn absorb(&self, other: &Self) -> PyResult<()> {
        // One filter cannot be locked for a change and for reading at once.
        if ptr::eq(self, other) {
            return self.absorb(&self.copy()?);
        }
        match (self, other) {
            (Self::Single(mine), Self::Single(other)) => {
                let (mut mine, other) = both(mine, writing, other)?;
                merge::absorb(&mut mine, &other)
            }
            (Self::Sharded(mine), Self::Sharded(other)) => {
                let (mut mine, other) = both(mine, writing, other)?;
                mine.merge(&other).map_err(raise)
            }
            _ => Err(PyTypeError::new_err("a filter with shards and one without cannot be merged")),
        }
    }

    /// The exception for `more` keys without room.
    #[cold]
    pub(crate) fn no_room(&self, caller: Caller<'_>, more: usize) -> PyErr {
        let explain = || {
            let facts = self.facts(caller)?;
            Ok(no_room(read!(self, caller, |filter| filter.len()), more, &facts))
        };
        explain().unwrap_or_else(|error: PyErr| error)
    }
}

/// Whether the filters behind two locks are equal.
pub(crate) fn equal<F: PartialEq>(one: &RwLock<F>, other: &RwLock<F>) -> PyResult<bool> {
    if ptr::eq(one, other) {
        return Ok(true);
    }
    let (one, other) = both(one, reading, other)?;
    Ok(*one == *other)
}

/// Takes two locks, the second for reading, in an order that all threads keep: those who want both cannot wait for each
/// other.
fn both<'a, F, Guard>(
    one: &'a RwLock<F>,
    lock: fn(Caller<'static>, &'a RwLock<F>) -> PyResult<Guard>,
    other: &'a RwLock<F>,
) -> PyResult<(Guard, RwLockReadGuard<'a, F>)> {
    if ptr::from_ref(one) < ptr::from_ref(other) {
        let one = lock(Caller::Detached, one)?;
        Ok((one, reading(Caller::Detached, other)?))
    } else {
        let other = reading(Caller::Detached, other)?;
        Ok((lock(Caller::Detached, one)?, other))
    }
}

/// The bytes of a filter's memory.
pub(crate) fn table_bytes(filter: &Filter) -> u64 {
    let geometry = filter.geometry();
    if geometry.is_growing() { filter.stats().memory_bytes } else { geometry.bytes() }
}

/// Refuses if the system does not provide this much memory now, for what would panic or abort without it.
pub(crate) fn check_memory(bytes: u64) -> PyResult<()> {
    let mut probe = Vec::<u8>::new();
    let bytes = usize::try_from(bytes).map_err(|_| no_memory())?;
    probe.try_reserve_exact(bytes).map_err(|_| no_memory())
}
