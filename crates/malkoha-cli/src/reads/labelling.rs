//! The labels of the words of reads and pairs.

use malkoha::{Filter, KeyHash};

use super::asking::TOGETHER;
use super::block::{Sequences, Unit};
use crate::input::kmers::{self, MOST_PACKED, Rule};
use crate::input::words::Words;

/// Buffers that are used again for the next block.
#[derive(Debug, Default)]
pub(crate) struct Labelling {
    /// Words of up to 31 letters are numbers, longer ones only hashes.
    words: Words,
    hashes: Vec<KeyHash>,
    /// Where the words of each unit end, and the labels of each word.
    ends: Vec<usize>,
    labels: Vec<u16>,
}

impl Labelling {
    /// Looks up the words of units, many together, and calls `act` with the labels of those of each unit. Returns the
    /// number of words.
    pub(super) fn each(
        &mut self,
        units: &[Unit],
        sequences: &Sequences<'_>,
        filter: &Filter,
        rule: Rule,
        mut act: impl FnMut(&[u16]),
    ) -> u64 {
        let (mut rest, mut all) = (units, 0);
        while !rest.is_empty() {
            let taken = self.put_forward(rest, sequences, filter, rule);
            rest = &rest[taken..];
            let Self { words, hashes, ends, labels } = self;
            labels.resize(words.len() + hashes.len(), 0);
            let looked = if hashes.is_empty() {
                filter.union_slice_into(words.get(), labels)
            } else {
                filter.union_slice_into(hashes, labels)
            };
            looked.expect("a filter with labels has values");
            all += labels.len() as u64;
            let mut from = 0;
            for to in ends.iter().copied() {
                act(&labels[from..to]);
                from = to;
            }
        }
        all
    }

    /// Makes the words of units until there are enough; returns of how many units.
    fn put_forward(
        &mut self,
        units: &[Unit],
        sequences: &Sequences<'_>,
        filter: &Filter,
        rule: Rule,
    ) -> usize {
        let Self { words, hashes, ends, .. } = self;
        words.clear();
        hashes.clear();
        ends.clear();
        for (first, second) in units {
            for read in [Some(*first), *second].into_iter().flatten() {
                if rule.k <= MOST_PACKED {
                    words.add(sequences.get(read), rule, false, false);
                } else {
                    kmers::each(sequences.get(read), rule.k, filter.hasher(), |hash, _| hashes.push(hash));
                }
            }
            ends.push(words.len() + hashes.len());
            if words.len() + hashes.len() >= TOGETHER {
                break;
            }
        }
        ends.len()
    }
}
