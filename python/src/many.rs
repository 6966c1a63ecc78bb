//! Many keys at once, without the interpreter's lock. An operation that is refused leaves the filter as it was.

use malkoha::{Error, Filter, Full, Inserted, Key, Refused, Sharded};
use pyo3::prelude::*;

use crate::error::raise;
use crate::keys::{CHUNK, Keys, on_slice};
use crate::table::{Caller, Table, change, check_memory, read, reading, table_bytes, writing};

/// The most bytes that the answers for one key take, in the engine and by row.
const ANSWER_BYTES: u64 = 8;

/// A copy of the table is worth its time if it is at most this many bytes for each key to store.
const COPY_PER_KEY: u64 = 16;

impl Table {
    /// Which keys may be in the filter.
    pub(crate) fn contains_many(&self, keys: &Keys, threads: usize) -> PyResult<Vec<bool>> {
        read!(self, Caller::Detached, |filter| {
            keys.ask(threads, |keys, answers| {
                on_slice!(keys, |slice| filter.contains_slice_into(slice, answers));
            })
        })
    }

    /// How many stored copies look like each key.
    pub(crate) fn count_many(&self, keys: &Keys, threads: usize) -> PyResult<Vec<u32>> {
        check_answers(keys)?;
        let counts = on_slice!(keys.flat(threads)?, |slice| read!(self, Caller::Detached, |filter| {
            filter.count_slice(slice).map_err(raise)?
        }));
        Ok(keys.per_row(counts))
    }

    /// Stores one copy of every key, all or none.
    pub(crate) fn add_many(&self, keys: &Keys, threads: usize) -> PyResult<()> {
        let stored = on_slice!(keys.flat(threads)?, |slice| match self {
            Self::Single(lock) => store_all(&mut *writing(Caller::Detached, lock)?, slice, threads),
            Self::Sharded(lock) if threads > 1 => {
                let mut filter = writing(Caller::Detached, lock)?;
                if !filter.is_empty() {
                    check_memory(filter.geometry().bytes())?;
                }
                filter.extend(slice, threads).map_err(Error::from)
            }
            Self::Sharded(lock) => store_in_shards(&*reading(Caller::Detached, lock)?, slice),
        });
        stored.map_err(|error| self.refusal(error, keys.len()))
    }

    /// Stores every key that is not present, or none if some find no room; returns which were not present.
    pub(crate) fn add_unique_many(&self, keys: &Keys, threads: usize) -> PyResult<Vec<bool>> {
        check_answers(keys)?;
        let outcomes = on_slice!(keys.flat(threads)?, |slice| change!(self, Caller::Detached, |filter| {
            let outcomes = filter.insert_unique_slice(slice);
            if outcomes.contains(&Err(Full)) {
                let stored: Vec<_> = stored_of(slice, &outcomes).collect();
                filter.remove_slice(&stored).map_err(raise)?;
            }
            outcomes
        }));
        let new: Result<_, Full> =
            outcomes.into_iter().map(|outcome| Ok(outcome? == Inserted::Stored)).collect();
        Ok(keys.per_row(new.map_err(|Full| self.no_room(Caller::Detached, keys.len()))?))
    }

    /// Removes one copy of every key that is there; returns which were.
    pub(crate) fn remove_many(&self, keys: &Keys, threads: usize) -> PyResult<Vec<bool>> {
        check_answers(keys)?;
        let removed = on_slice!(keys.flat(threads)?, |slice| change!(self, Caller::Detached, |filter| {
            // Kinds that cannot remove refuse, even if there is nothing to remove.
            filter.remove_slice(&slice[..0]).map_err(raise)?;
            let mut removed = vec![false; slice.len()];
            for (keys, removed) in slice.chunks(CHUNK).zip(removed.chunks_mut(CHUNK)) {
                // Brings the places of a whole chunk into the cache.
                filter.contains_slice_into(keys, removed);
                for (key, removed) in keys.iter().zip(removed).filter(|(_, found)| **found) {
                    *removed = filter.remove(key).map_err(raise)?;
                }
            }
            removed
        }));
        Ok(keys.per_row(removed))
    }

    fn refusal(&self, error: Error, more: usize) -> PyErr {
        match error {
            Error::Full | Error::Refused(_) => self.no_room(Caller::Detached, more),
            error => raise(error),
        }
    }
}

/// Refuses if there is no memory for what the engine and the rows answer.
fn check_answers(keys: &Keys) -> PyResult<()> {
    check_memory(ANSWER_BYTES * keys.len() as u64)
}

/// Stores all keys in one filter, or none.
fn store_all<K: Key + Copy + Sync>(filter: &mut Filter, keys: &[K], threads: usize) -> Result<(), Error> {
    let (is_bloom, grows) = (filter.geometry().kind().is_bloom(), filter.geometry().is_growing());
    // Kinds that cannot remove have no other way back. An empty filter needs no copy.
    if is_bloom || (filter.is_empty() && !grows) || worth_a_copy(filter, keys.len()) {
        return Ok(filter.extend(keys, threads)?);
    }
    if let Err(refused) = filter.insert_slice(keys) {
        filter.remove_slice(&keys[..refused.first()])?;
        return Err(refused.into());
    }
    Ok(())
}

/// Whether to store many keys with a copy of the table to restore, as the engine does. Removing what was stored does
/// that too, for a few keys in a large table or where there is no memory; the content is then equal, though not bit
/// for bit.
pub(crate) fn worth_a_copy(filter: &Filter, keys: usize) -> bool {
    let bytes = table_bytes(filter);
    bytes <= COPY_PER_KEY.saturating_mul(keys as u64) && check_memory(bytes).is_ok()
}

/// Stores all keys in shards that other threads may use, or none.
fn store_in_shards<K: Key + Copy + Sync>(filter: &Sharded, keys: &[K]) -> Result<(), Error> {
    let Err(refused) = filter.insert_slice(keys) else { return Ok(()) };
    let mut stored = keys.to_vec();
    drop_indices(&mut stored, &refused);
    filter.remove_slice(&stored)?;
    Err(refused.into())
}

/// Leaves out the keys that were refused.
fn drop_indices<K>(keys: &mut Vec<K>, refused: &Refused) {
    let mut refused = refused.indices().peekable();
    let mut at = 0;
    keys.retain(|_| {
        let dropped = refused.next_if_eq(&at).is_some();
        at += 1;
        !dropped
    });
}

/// The keys that were stored.
fn stored_of<'a, K: Copy>(
    keys: &'a [K],
    outcomes: &'a [Result<Inserted, Full>],
) -> impl Iterator<Item = K> + 'a {
    let stored = keys.iter().zip(outcomes).filter(|(_, outcome)| **outcome == Ok(Inserted::Stored));
    stored.map(|(key, _)| *key)
}
