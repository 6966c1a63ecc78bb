//! Many keys at once, a row at a time.
//!
//! If the table stays in the cache, a row is hashed, located and compared, one loop after the other. In larger tables
//! the next row is located first, and prefetched while this one is compared:
//!
//! ```text
//!   row i + 1    hash, find the homes
//!   row i        prefetch a key of row i + 1, compare a key of row i, and so on
//! ```

use crate::bits::words::stays_in_cache;
use crate::engine::rows::{Keys, ROW};
use crate::error::{Full, FullAt};
use crate::key::KeyHash;

use super::Cuckoo;
use super::place::Placement;
use super::row::{self, Row};
use super::table::{self, Table};

/// Fewer keys than this are looked up one by one: a part of a row takes as long as a whole one.
pub(super) const FEW: usize = 12;

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Returns whether the table is beyond the cache, so that prefetching helps.
    fn is_in_memory(&self) -> bool {
        !stays_in_cache(self.table.words().bytes())
    }

    /// Finds the homes of the row with this number. Those beyond the last key are arbitrary.
    fn locate(&self, keys: Keys, number: usize, row: &mut Row) {
        let mut hashes = [KeyHash::from_raw(0); ROW];
        keys.row(number, self.cpu, &mut hashes);
        row::find_homes(self.cpu, &self.placement, &hashes, row);
    }

    /// Finds the homes of a row of keys, or of fewer, and prefetches them. (Those of whole rows only if the table is
    /// beyond the cache.)
    fn approach_row(&self, hashes: &[KeyHash], row: &mut Row) {
        if let Ok(hashes) = hashes.try_into() {
            row::find_homes(self.cpu, &self.placement, hashes, row);
            if self.is_in_memory() {
                table::ask_for_row(&self.table, row);
            }
            return;
        }
        for (i, hash) in hashes.iter().enumerate() {
            let homes = self.placement.homes(*hash);
            self.prefetch_homes(homes);
            row.set(i, homes);
        }
    }

    /// Looks up every key; the slices have equal lengths.
    pub(super) fn look_up(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        if keys.len() < FEW {
            for (i, answer) in answers.iter_mut().enumerate() {
                *answer = self.contains(keys.get(i));
            }
            return;
        }
        if self.is_in_memory() {
            self.look_up_in_memory(keys, answers);
        } else {
            let mut row = Row::default();
            for (i, answers) in answers.chunks_mut(ROW).enumerate() {
                self.locate(keys, i, &mut row);
                with_answers(answers, |answers| row::look_up_row(self.cpu, &self.table, &row, answers));
            }
        }
        if !self.stash.is_empty() {
            for (i, answer) in answers.iter_mut().enumerate().filter(|(_, answer)| !**answer) {
                *answer = self.stash_count(self.placement.homes(keys.get(i))) > 0;
            }
        }
    }

    /// Looks up every key in the table, and prefetches the next row while it compares one.
    fn look_up_in_memory(&self, keys: Keys, answers: &mut [bool]) {
        let plain = self.table.is_plain();
        let mut rows = [Row::default(), Row::default()];
        self.locate(keys, 0, &mut rows[0]);
        table::ask_for_row(&self.table, &rows[0]);
        for (i, answers) in answers.chunks_mut(ROW).enumerate() {
            let next = &mut rows[(i + 1) % 2];
            // After the last row, the row before it is prefetched once more, to no effect.
            if (i + 1) * ROW < keys.len() {
                self.locate(keys, i + 1, next);
            }
            if !plain {
                table::ask_for_row(&self.table, next);
            }
            let (row, next) = (&rows[i % 2], &rows[(i + 1) % 2]);
            with_answers(answers, |answers| {
                if plain {
                    row::look_up_and_ask(self.cpu, &self.table, (row, next), answers);
                } else {
                    row::look_up_row(self.cpu, &self.table, row, answers);
                }
            });
        }
    }

    /// Writes the bits of the values of all copies of each key, together; the slices have equal lengths.
    pub(super) fn unite(&self, keys: Keys, unions: &mut [u16]) {
        assert_eq!(keys.len(), unions.len(), "as many answers as keys");
        if keys.len() < FEW {
            for (i, union) in unions.iter_mut().enumerate() {
                *union = self.union_at(self.placement.homes(keys.get(i)));
            }
            return;
        }
        let in_memory = self.is_in_memory();
        let approach = |number: usize, row: &mut Row| {
            if number * ROW < keys.len() {
                self.locate(keys, number, row);
                if in_memory {
                    table::ask_for_row(&self.table, row);
                }
            }
        };
        let mut rows = [Row::default(), Row::default()];
        approach(0, &mut rows[0]);
        for (i, unions) in unions.chunks_mut(ROW).enumerate() {
            approach(i + 1, &mut rows[(i + 1) % 2]);
            let all = row::unite_row(self.cpu, &self.table, &rows[i % 2]);
            unions.copy_from_slice(&all[..unions.len()]);
        }
        if !self.stash.is_empty() {
            for (i, union) in unions.iter_mut().enumerate() {
                *union |= self.union_in_stash(self.placement.homes(keys.get(i)));
            }
        }
    }

    /// Stores keys in order; the error has the number of keys before the first that found no room.
    #[inline(never)]
    pub(super) fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), FullAt> {
        self.each_in_rows(hashes, |filter, hash, homes, done| {
            filter.insert_at(hash, homes, 0).map_err(|Full| FullAt { done })
        })
    }

    /// Removes one copy of every key with value 0, in order; returns the number removed.
    #[inline(never)]
    pub(super) fn remove_batch(&mut self, hashes: &[KeyHash]) -> usize {
        let mut removed = 0;
        let done: Result<(), core::convert::Infallible> = self.each_in_rows(hashes, |filter, _, homes, _| {
            removed += usize::from(filter.remove_at(homes, 0));
            Ok(())
        });
        let Ok(()) = done;
        removed
    }

    /// Does something with every key in order, and prefetches later keys.
    #[inline(always)]
    fn each_in_rows<E>(
        &mut self,
        hashes: &[KeyHash],
        mut act: impl FnMut(&mut Self, KeyHash, super::Homes, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = [Row::default(), Row::default()];
        let mut chunks = hashes.chunks(ROW).peekable();
        if let Some(first) = chunks.peek() {
            self.approach_row(first, &mut rows[0]);
        }
        let (mut here, mut done) = (0, 0);
        while let Some(hashes) = chunks.next() {
            if let Some(next) = chunks.peek() {
                self.approach_row(next, &mut rows[1 - here]);
            }
            // The only call of `act`, so that it is compiled into the loop.
            for (j, hash) in hashes.iter().enumerate() {
                act(self, *hash, rows[here].get(j), done)?;
                done += 1;
            }
            here = 1 - here;
        }
        Ok(())
    }
}

/// Lets `act` answer for a whole row, and keeps the answers that `answers` has room for.
#[inline(always)]
pub(super) fn with_answers(answers: &mut [bool], act: impl FnOnce(&mut [bool; ROW])) {
    if let Ok(answers) = <&mut [bool; ROW]>::try_from(&mut *answers) {
        return act(answers);
    }
    let mut all = [false; ROW];
    act(&mut all);
    answers.copy_from_slice(&all[..answers.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::Cpu;
    use crate::cuckoo::Offsets;
    use crate::cuckoo::{CuckooLayout, Signed, Subtables, Xor};
    use crate::key::{Key, KeyHasher, mix};
    use crate::kind::Kind;
    use crate::plan::Spec;

    #[test]
    fn slices_of_all_lengths_are_answered_like_single_keys() {
        let lengths = [0, 1, FEW - 1, FEW, ROW - 1, ROW, ROW + 1, 2 * ROW - 1, 2 * ROW, 2 * ROW + 1, 1000];
        let (mut answers, mut stashes) = ([0; 2], 0);
        // Tables in the cache, with homes that suit vectors and homes that do not, and one table beyond the cache.
        for (keys, rate) in [(50, 0.2), (5000, 0.01), (5000, 1e-11), (300_000, 1e-9)] {
            for kind in Kind::cuckoos() {
                for (offsets, values) in [(Offsets::Local, 0), (Offsets::Local, 4), (Offsets::Near(96), 0)] {
                    if offsets != Offsets::Local && !kind.is_signed() {
                        continue;
                    }
                    let spec = Spec::new(keys, rate).kind(kind).offsets(offsets);
                    let spec = if values > 0 { spec.values(values) } else { spec };
                    let mut filter = spec.build().unwrap();
                    // Small tables are as full as possible, so that there are keys in the stash.
                    let most = if keys < 10_000 { 2 * keys } else { keys };
                    let stored = (0..most).find(|key| filter.insert(key).is_err()).unwrap_or(most);
                    stashes += u32::from(filter.engine().stash_len() > 0);
                    let asked: Vec<u64> = (0..1000).map(|i| mix(i) % (2 * stored)).collect();
                    let single: Vec<bool> = asked.iter().map(|key| filter.contains(key)).collect();
                    let hashes: Vec<KeyHash> =
                        asked.iter().map(|key| key.key_hash(filter.hasher())).collect();
                    for length in lengths {
                        let what = || format!("{length} of {keys} keys in {:?}", filter.geometry());
                        assert_eq!(filter.contains_slice(&asked[..length]), single[..length], "{}", what());
                        assert_eq!(filter.contains_slice(&hashes[..length]), single[..length], "{}", what());
                    }
                    for (&key, found) in asked.iter().zip(single) {
                        assert!(found || key >= stored, "{key} is lost");
                        answers[usize::from(found)] += 1;
                    }
                }
            }
        }
        assert!(answers.iter().all(|&count| count > 10_000), "{answers:?} of both answers");
        assert!(stashes > 10, "{stashes} filters have keys in the stash");
    }

    /// Checks the homes of a row on every CPU.
    fn check<P: Placement>(layout: &CuckooLayout) {
        let placement = &P::new(layout);
        assert!(placement.suits_vectors());
        let hasher = &KeyHasher::new(7);
        let numbers: [u64; ROW] = core::array::from_fn(|i| mix(i as u64));
        let expected = numbers.map(|number| hasher.number(number));
        for cpu in Cpu::all() {
            let mut hashes = [KeyHash::from_raw(0); ROW];
            Keys::Numbers(&numbers, hasher).row(0, cpu, &mut hashes);
            assert_eq!(hashes, expected, "{cpu:?}");
            let mut row = Row::default();
            row::find_homes(cpu, placement, &hashes, &mut row);
            for (i, hash) in hashes.into_iter().enumerate() {
                assert_eq!(row.get(i), placement.homes(hash), "{cpu:?}, {layout:?}");
            }
        }
    }

    #[test]
    fn all_cpus_find_the_homes_of_single_keys() {
        let layout = |kind, offsets| {
            *Spec::new(9000, 0.01).kind(kind).offsets(offsets).plan().unwrap().cuckoo().unwrap()
        };
        check::<Xor>(&layout(Kind::Classic(4), Offsets::Local));
        check::<Subtables>(&layout(Kind::Simplified(4), Offsets::Local));
        check::<Signed>(&layout(Kind::Windowed(2), Offsets::Local));
        check::<Signed>(&layout(Kind::Flexible(4), Offsets::Whole));
        check::<Signed>(&layout(Kind::Sorted, Offsets::Near(96)));
    }
}
