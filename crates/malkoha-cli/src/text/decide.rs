//! Which units of a batch are duplicates.
//!
//! Units are decided in the order of the input, and a unit counts as seen what the units kept before it have.
//! What earlier batches had, the filter knows; it does not change while a batch is decided, so all threads
//! look keys up at once. What earlier units of the same batch had is found by comparing hashes exactly. Then
//! the keys of all kept units are stored at once. Every step is a function of the batch and the filter, so
//! the result is the same for any number of threads.

use anyhow::Result;

use super::document::Parsed;
use super::parallel::for_each;
use super::remember::Memory;
use super::repeats::{Repeats, Unknown};
use super::threshold::Threshold;

/// Decides all units of a batch, and stores the keys of those that are kept. Returns how many of them are
/// expected to be dropped although they should not be.
pub(super) fn decide(
    pieces: &mut [Parsed],
    memory: &mut Memory,
    threshold: Threshold,
    threads: usize,
) -> Result<f64> {
    let rate = memory.rate();
    if memory.read_only {
        return Ok(pieces
            .iter_mut()
            .flat_map(|piece| &mut piece.units)
            .map(|unit| {
                unit.duplicate = threshold.is_met(unit.seen, unit.keys);
                wrongly(threshold, unit.seen, unit.keys, unit.duplicate, rate)
            })
            .sum());
    }
    let units = pieces.iter().map(|piece| piece.units.len()).sum();
    let mut repeats = Repeats::find(unknown(pieces, threads), units, threads);
    let (mut fresh, mut expected) = (Vec::new(), 0.0);
    let mut number = 0..;
    for piece in pieces {
        let mut keys = piece.keys.iter().zip(&piece.found);
        for (unit, number) in piece.units.iter_mut().zip(&mut number) {
            unit.seen += repeats.marked(number);
            unit.duplicate = threshold.is_met(unit.seen, unit.keys);
            expected += wrongly(threshold, unit.seen, unit.keys, unit.duplicate, rate);
            #[expect(clippy::cast_possible_truncation, reason = "the keys are in memory")]
            let keys = keys.by_ref().take(unit.keys as usize);
            if unit.duplicate {
                keys.for_each(drop);
            } else {
                repeats.mark(number);
                fresh.extend(keys.filter(|(_, found)| !**found).map(|(key, _)| *key));
            }
        }
    }
    memory.store(&fresh, threads)?;
    Ok(expected)
}

/// Returns what a unit adds to the expected number of wrongly dropped units.
///
/// Of units like this one, a share p is dropped by false positives, and the others are kept. So for every kept
/// unit there are p / (1 - p) dropped ones.
fn wrongly(threshold: Threshold, seen: u64, keys: u64, duplicate: bool, rate: f64) -> f64 {
    if duplicate || keys == 0 {
        return 0.0;
    }
    let chance = threshold.chance(seen, keys, rate);
    chance / (1.0 - chance).max(f64::EPSILON)
}

/// Returns the keys that the filter does not hold, by piece, with the numbers of their units.
fn unknown(pieces: &[Parsed], threads: usize) -> Vec<Unknown> {
    let mut first = 0;
    let mut lists: Vec<_> = pieces
        .iter()
        .map(|piece| {
            let number = first;
            first += u32::try_from(piece.units.len()).expect("a batch has fewer than 2^32 bytes");
            (piece, number, Unknown::new())
        })
        .collect();
    for_each(
        threads,
        &mut lists,
        || (),
        |(), (piece, first, list)| {
            let mut keys = piece.keys.iter().zip(&piece.found);
            for (unit, number) in piece.units.iter().zip(*first..) {
                #[expect(clippy::cast_possible_truncation, reason = "the keys are in memory")]
                let keys = keys.by_ref().take(unit.keys as usize);
                list.extend(keys.filter(|(_, found)| !**found).map(|(key, _)| (*key, number)));
            }
        },
    );
    lists.into_iter().map(|(_, _, list)| list).collect()
}
