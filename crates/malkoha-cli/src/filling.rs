//! Storing the keys of a source in a filter, each once.

use anyhow::Result;
use malkoha::{Filter, FullAt, Inserted};

use crate::input::{Keys, Source};
use crate::pipeline;
use crate::tally::Tally;

/// Stores all keys that are not there yet. If there is no room for one of them, the error is a [`FullAt`] and the
/// filter holds some of them.
pub(crate) fn fill(filter: &mut Filter, source: Source, threads: usize) -> Result<Tally> {
    let (keying, hasher) = (source.keying(), *filter.hasher());
    let mut tally = Tally::default();
    let mut answers = Vec::new();
    pipeline::run(
        source,
        threads,
        |block| Keys::of(block, keying, &hasher),
        |keys| {
            answers.clear();
            filter.insert_unique_slice(&keys.hashes, &mut answers)?;
            let stored = answers.iter().filter(|answer| **answer == Inserted::Stored).count() as u64;
            tally.add(filter, keys.hashes.len(), stored);
            tally.skipped += keys.skipped;
            Ok(())
        },
    )?;
    Ok(tally)
}

/// Whether an error means that a filter was full.
pub(crate) fn is_full(error: &anyhow::Error) -> bool {
    error.downcast_ref::<FullAt>().is_some()
}
