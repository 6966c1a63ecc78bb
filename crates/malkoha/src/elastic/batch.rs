//! Lookups, one key at a time and a row at a time.
//!
//! A row goes through three loops: hash all keys, find the places of all, compare all. Each is short, so that the CPU
//! works on many keys at once. In tables beyond the cache, the next row is located and prefetched before this one is
//! compared.

use crate::bits::chosen::Question;
use crate::bits::cpu::{Vectors, Work};
use crate::bits::prefixes::Approach;
use crate::bits::words::stays_in_cache;
use crate::engine::rows::{Keys, ROW};
use crate::key::KeyHash;

use super::directory::Elastic;

/// The question whether a filter holds a key.
pub(super) struct Holds;

impl Question<Elastic> for Holds {
    const WIDE: bool = true;

    #[inline(always)]
    fn ask(of: &Elastic, hash: KeyHash, vectors: impl Vectors) -> bool {
        of.region(hash).holds(hash, vectors)
    }
}

/// Keys at their places.
type Row<'a> = [Option<Approach<'a>>; ROW];

/// Finds the places of a row in regions with narrow slots, and prefetches them if that helps.
struct Locate<'a, 'b> {
    elastic: &'a Elastic,
    hashes: &'b [KeyHash],
    row: &'b mut Row<'a>,
    prefetch: bool,
}

impl Work for Locate<'_, '_> {
    const WIDE: bool = false;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        for (hash, key) in self.hashes.iter().zip(self.row) {
            let region = self.elastic.region(*hash);
            let homes = region.homes(*hash);
            if self.prefetch {
                region.prefetch(homes);
            }
            *key = Some(region.approach(homes));
        }
    }
}

/// Compares a row that was located.
struct Compare<'a, 'b>(&'b Row<'a>, &'b mut [bool]);

impl Work for Compare<'_, '_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let Self(row, answers) = self;
        for (key, answer) in row.iter().zip(answers) {
            *answer = key.as_ref().is_some_and(|key| vectors.holds_narrow(key));
        }
    }
}

/// Looks up keys one after the other.
struct OneByOne<'a>(&'a Elastic, &'a [KeyHash], &'a mut [bool]);

impl Work for OneByOne<'_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        for (hash, answer) in self.1.iter().zip(self.2) {
            *answer = self.0.region(*hash).holds(*hash, vectors);
        }
    }
}

impl Elastic {
    /// Looks up every key; the slices have equal lengths.
    pub(super) fn look_up(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        let prefetch = !stays_in_cache(self.table_bytes());
        let mut hashes = [[KeyHash::from_raw(0); ROW]; 2];
        if !self.is_narrow() {
            for (i, answers) in answers.chunks_mut(ROW).enumerate() {
                let count = keys.row(i, self.cpu, &mut hashes[0]);
                if prefetch {
                    hashes[0][..count].iter().for_each(|hash| crate::engine::Engine::prefetch(self, *hash));
                }
                self.cpu.run(OneByOne(self, &hashes[0][..count], answers));
            }
            return;
        }
        let mut rows: [Row; 2] = [[None; ROW]; 2];
        let rows_in_all = keys.len().div_ceil(ROW);
        for next in 0..=rows_in_all {
            if next < rows_in_all {
                let count = keys.row(next, self.cpu, &mut hashes[next % 2]);
                let (hashes, row) = (&hashes[next % 2][..count], &mut rows[next % 2]);
                self.cpu.run(Locate { elastic: self, hashes, row, prefetch });
            }
            let Some(i) = next.checked_sub(1) else { continue };
            let answers = &mut answers[i * ROW..];
            let count = answers.len().min(ROW);
            self.cpu.run(Compare(&rows[i % 2], &mut answers[..count]));
            if self.has_overflow() {
                for (hash, answer) in hashes[i % 2].iter().zip(&mut answers[..count]) {
                    *answer = self.region(*hash).or_in_overflow(*answer, *hash);
                }
            }
        }
    }
}
