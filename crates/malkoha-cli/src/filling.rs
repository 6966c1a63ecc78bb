//! Storing the keys of a source in a filter.
//!
//! ```text
//!   pipeline.rs   blocks are read and hashed on several threads
//!   batches       hashes are collected in the order of the input
//!   filter        one thread hands whole batches to the engine, which stores them on several threads
//! ```
//!
//! Batches depend only on the input, so the filter is the same for any number of threads.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::Builder;

use anyhow::{Context, Result, anyhow};
use malkoha::{Error, Filter, Full, KeyHash};

use crate::adjustable::Adjustable;
use crate::input::Source;
use crate::pipeline::{self, NO_THREADS, Worked};
use crate::tally::Tally;

/// Hashes that are stored at once: enough that several fall into every cache-sized part of a large table. While one
/// batch is stored, the next is collected.
const BATCH: Adjustable = Adjustable { size: 1 << 20, name: "MALKOHA_BATCH_KEYS" };

/// The most hashes that are stored at once.
const MOST_BATCH: u64 = 1 << 22;

/// Bytes of memory for each hash of a batch: 8 in each of two batches, and 12 where the engine sorts them.
const BYTES_PER_HASH: u64 = 28;

/// What is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storing<'a> {
    /// Every key that does not seem to be stored already.
    Once,
    /// Every key.
    Copies,
    /// Every key once, with the labels of all inputs that it is in: a set of bits for each input.
    Labels(&'a [u16]),
}

/// Hashes, and with labels a value for each.
#[derive(Default)]
struct Batch {
    hashes: Vec<KeyHash>,
    values: Vec<u16>,
}

/// Returns how many hashes are stored at once, so that they take at most a tenth of the memory of the filter, or
/// little.
fn batch(filter: &Filter) -> usize {
    let tenth = filter.geometry().bytes() / 10 / BYTES_PER_HASH;
    let more = usize::try_from(tenth.min(MOST_BATCH)).unwrap_or(0);
    BATCH.told().unwrap_or(BATCH.size.max(more))
}

/// Stores all keys. If there is no room for one of them, the error is [`Full`], and the filter holds some of the keys.
pub(crate) fn fill(filter: &mut Filter, source: Source, threads: usize, storing: Storing) -> Result<Tally> {
    let hasher = *filter.hasher();
    let (enough, mut skipped) = (batch(filter), 0);
    let stop = source.stop();
    let (full_batches, batches) = sync_channel::<Batch>(0);
    let (used, used_batches) = channel();
    let mut tally = std::thread::scope(|scope| {
        let storing_thread = Builder::new().spawn_scoped(scope, || {
            // Do not wait for more input if there is no room for what has arrived.
            store(filter, batches, &used, threads, storing).inspect_err(|_| stop.now())
        });
        let thread = storing_thread.context(NO_THREADS)?;
        let empty = || Batch { hashes: Vec::with_capacity(enough + enough / 8), values: Vec::new() };
        let mut batch = empty();
        let mut collect = |worked: &mut Worked| {
            let keys = &worked.keys;
            skipped += keys.skipped;
            batch.hashes.extend_from_slice(&keys.hashes);
            if let Storing::Labels(labels) = storing {
                batch.values.resize(batch.hashes.len(), labels[worked.origin.input]);
            }
            if batch.hashes.len() < enough {
                return Ok(());
            }
            // The other batch has been stored when this one is taken.
            full_batches.send(std::mem::take(&mut batch)).map_err(|_| anyhow!("storing has ended"))?;
            batch = used_batches.try_recv().unwrap_or_else(|_| empty());
            Ok(())
        };
        let work = |block: &mut Vec<u8>, worked: &mut Worked| worked.hash(block, &hasher);
        let read = pipeline::run(source, threads, &work, &mut collect);
        if read.is_ok() {
            // If nobody receives it, storing has already ended with its own error.
            let _ = full_batches.send(batch);
        }
        drop(full_batches);
        let stored = thread.join().expect("storing does not panic")?;
        read.map(|()| stored)
    })?;
    tally.skipped = skipped;
    Ok(tally)
}

/// Stores batches as they arrive, and gives them back to be used again.
fn store(
    filter: &mut Filter,
    batches: Receiver<Batch>,
    used: &Sender<Batch>,
    threads: usize,
    storing: Storing,
) -> Result<Tally> {
    let mut tally = Tally::default();
    for mut batch in batches {
        let Batch { hashes, values } = &mut batch;
        let stored = match storing {
            Storing::Copies if filter.is_empty() => {
                filter.extend(hashes, threads)?;
                hashes.len() as u64
            }
            Storing::Copies => {
                // Nothing has to be undone if there is no room, so no second table is needed for that.
                filter.insert_slice(hashes).map_err(|_| Full)?;
                hashes.len() as u64
            }
            Storing::Once => filter.extend_unique(hashes, threads)?,
            Storing::Labels(_) => filter.or_values(hashes, values, threads).map_err(|error| match error {
                Error::Full => anyhow!(Full),
                error => error.into(),
            })?,
        };
        tally.add(filter, hashes.len(), stored);
        hashes.clear();
        values.clear();
        // Nobody needs the last ones.
        let _ = used.send(batch);
    }
    tally.settle(filter);
    Ok(tally)
}

/// Returns whether an error means that a filter was full.
pub(crate) fn is_full(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Full>().is_some()
}
