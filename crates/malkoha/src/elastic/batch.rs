//! Lookups, one key at a time and a row at a time.
//!
//! A row goes through three loops: hash all keys, find the places of all, compare all. Each is short, so that the CPU
//! works on many keys at once. In tables beyond the cache, the next row is located and prefetched before this one is
//! compared.

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

/// The same question to a filter all of whose regions are plain: nothing else need be asked.
pub(super) struct PlainlyHolds;

impl Question<Elastic> for PlainlyHolds {
    const WIDE: bool = true;

    #[inline(always)]
    fn ask(of: &Elastic, hash: KeyHash, vectors: impl Vectors) -> bool {
        vectors.holds_narrow(&of.region(hash).approach(hash))
    }
}

/// Keys at their places.
type Row<'a> = [Approach<'a>; ROW];

/// Finds the places of a row, and prefetches them if that helps.
struct Locate<'a, 'b, const PREFETCH: bool>(Finder<'a>, &'b [KeyHash], &'b mut Row<'a>);

impl<const PREFETCH: bool> Work for Locate<'_, '_, PREFETCH> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        let Self(finder, hashes, row) = self;
        for (hash, key) in hashes.iter().zip(row) {
            *key = finder.region(*hash).approach(*hash);
            if PREFETCH {
                key.prefetch();
            }
        }
    }
}

/// Compares a row that was located, in plain regions or in any.
struct Compare<'a, 'b, const PLAIN: bool>(&'b Row<'a>, &'b mut [bool]);

impl<const PLAIN: bool> Work for Compare<'_, '_, PLAIN> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let Self(row, answers) = self;
        for (key, answer) in row.iter().zip(answers) {
            *answer = if PLAIN { vectors.holds_narrow(key) } else { vectors.hits(key) != 0 };
        }
    }
}

impl Elastic {
    /// Writes the bits of the values of all entries that match each key, together; the slices have equal lengths.
    pub(super) fn unite_rows(&self, keys: Keys, unions: &mut [u16]) {
        let mut hashes = [KeyHash::from_raw(0); ROW];
        for (i, unions) in unions.chunks_mut(ROW).enumerate() {
            let count = keys.row(i, self.cpu, &mut hashes);
            for hash in &hashes[..count] {
                self.region(*hash).approach(*hash).prefetch();
            }
            for (hash, union) in hashes.iter().zip(unions) {
                *union = self.region(*hash).union(*hash);
            }
        }
    }

    /// Looks up every key; the slices have equal lengths.
    pub(super) fn look_up(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        if stays_in_cache(self.table_bytes()) {
            self.look_up_rows::<false>(keys, answers);
        } else {
            self.look_up_rows::<true>(keys, answers);
        }
    }

    fn look_up_rows<const PREFETCH: bool>(&self, keys: Keys, answers: &mut [bool]) {
        let mut hashes = [[KeyHash::from_raw(0); ROW]; 2];
        let mut rows: [Row; 2] = [[self.regions[0].approach(KeyHash::from_raw(0)); ROW]; 2];
        let locate = |number: usize, hashes: &mut [KeyHash; ROW], row: &mut _| {
            let count = keys.row(number, self.cpu, hashes);
            self.cpu.run(Locate::<PREFETCH>(self.finder(), &hashes[..count], row));
        };
        // With prefetching, the rows are located one row ahead.
        let ahead = usize::from(PREFETCH);
        if PREFETCH {
            locate(0, &mut hashes[0], &mut rows[0]);
        }
        for (i, answers) in answers.chunks_mut(ROW).enumerate() {
            let next = (i + ahead) % 2;
            locate(i + ahead, &mut hashes[next], &mut rows[next]);
            if self.is_plain() {
                self.cpu.run(Compare::<true>(&rows[i % 2], answers));
                continue;
            }
            self.cpu.run(Compare::<false>(&rows[i % 2], answers));
            if self.has_overflow() {
                for (hash, answer) in hashes[i % 2].iter().zip(answers) {
                    *answer = *answer || self.region(*hash).overflow_holds(*hash);
                }
            }
        }
    }
}
