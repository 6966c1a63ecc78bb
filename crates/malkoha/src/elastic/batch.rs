//! Lookups, one key at a time and a row at a time.
//!
//! In tables that stay in the cache, a row is hashed and then looked up key by key; the CPU works on several keys at once.
//! In larger ones, the next row is located and prefetched before this one is compared.

use crate::bits::chosen::Question;
use crate::bits::cpu::{Vectors, Work};
use crate::bits::prefix_table::Approach;
use crate::bits::words::stays_in_cache;
use crate::engine::rows::{Keys, ROW};
use crate::key::KeyHash;

use super::directory::{Elastic, Finder};

/// The question whether a filter holds a key.
pub(super) struct Holds;

impl Question<Elastic> for Holds {
    const WIDE: bool = true;

    #[inline(always)]
    fn ask(of: &Elastic, hash: KeyHash, vectors: impl Vectors) -> bool {
        of.region(hash).holds(hash, vectors)
    }
}

/// Looks up keys one after the other.
struct OneByOne<'a>(Finder<'a>, &'a [KeyHash], &'a mut [bool]);

impl Work for OneByOne<'_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let Self(finder, hashes, answers) = self;
        for (hash, answer) in hashes.iter().zip(answers) {
            *answer = finder.region(*hash).holds(*hash, vectors);
        }
    }
}

/// Keys at their places.
type Row<'a> = [Approach<'a>; ROW];

/// Finds and prefetches the places of a row.
struct Locate<'a, 'b>(Finder<'a>, &'b [KeyHash], &'b mut Row<'a>);

impl Work for Locate<'_, '_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        let Self(finder, hashes, row) = self;
        for (hash, key) in hashes.iter().zip(row) {
            *key = finder.region(*hash).approach(*hash);
            key.prefetch();
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
            *answer = vectors.hits(key) != 0;
        }
    }
}

impl Elastic {
    /// Looks up every key; the slices have equal lengths.
    pub(super) fn look_up(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        if stays_in_cache(self.table_bytes()) {
            let mut hashes = [KeyHash::from_raw(0); ROW];
            for (i, answers) in answers.chunks_mut(ROW).enumerate() {
                let count = keys.row(i, self.cpu, &mut hashes);
                self.cpu.run(OneByOne(self.finder(), &hashes[..count], answers));
            }
        } else {
            self.look_up_ahead(keys, answers);
        }
    }

    /// Does the same with prefetching.
    fn look_up_ahead(&self, keys: Keys, answers: &mut [bool]) {
        let mut hashes = [[KeyHash::from_raw(0); ROW]; 2];
        let mut rows: [Row; 2] = [[self.regions[0].approach(KeyHash::from_raw(0)); ROW]; 2];
        let count = keys.row(0, self.cpu, &mut hashes[0]);
        self.cpu.run(Locate(self.finder(), &hashes[0][..count], &mut rows[0]));
        for (i, answers) in answers.chunks_mut(ROW).enumerate() {
            let next = (i + 1) % 2;
            let count = keys.row(i + 1, self.cpu, &mut hashes[next]);
            self.cpu.run(Locate(self.finder(), &hashes[next][..count], &mut rows[next]));
            self.cpu.run(Compare(&rows[i % 2], answers));
            if self.has_overflow() {
                for (hash, answer) in hashes[i % 2].iter().zip(answers) {
                    *answer |= self.region(*hash).overflow_holds(*hash);
                }
            }
        }
    }
}
