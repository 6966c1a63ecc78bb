//! A row of keys that go through the same steps together.
//!
//! Every step is a plain loop over arrays, compiled for several CPUs (`bits/cpu.rs`), and vectorised by the compiler
//! where the CPU has the instructions:
//!
//! ```text
//!   keys    -> hashes    `rows.rs`
//!   hashes  -> homes     `find_homes`, by placement
//!   homes   -> answers   `Table::hold_row`, by table
//! ```
//!
//! So there is one loop for each placement and each table, not one for each pair of them.

use crate::bits::cpu::{Cpu, Portable, Vectors, Work};
use crate::bits::words::ROW;
use crate::key::KeyHash;
use crate::key::draw::Multiply;

use super::place::{Homes, Place, Placement};
use super::table::{Table, ask_for};
use super::tag::Fingerprint;

/// The homes of a row of keys, one array per field, so that vectors can be stored as they are.
#[derive(Clone, Debug)]
pub struct Row {
    pub(super) first: [u64; ROW],
    pub(super) second: [u64; ROW],
    pub(super) fingerprint: [u64; ROW],
}

impl Row {
    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> Homes {
        Homes {
            first: Place(self.first[i]),
            second: Place(self.second[i]),
            fingerprint: Fingerprint(self.fingerprint[i]),
        }
    }

    /// Finds the homes of these hashes, in draws by `M`.
    #[inline(always)]
    fn fill<P: Placement, M: Multiply>(&mut self, placement: P, hashes: &[KeyHash; ROW]) {
        match placement.is_near() {
            Some(true) => self.fill_by::<P, M, true>(placement, hashes),
            Some(false) => self.fill_by::<P, M, false>(placement, hashes),
            None => {
                for (i, hash) in hashes.iter().enumerate() {
                    self.set(i, placement.homes(*hash));
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, i: usize, homes: Homes) {
        self.first[i] = homes.first.0;
        self.second[i] = homes.second.0;
        self.fingerprint[i] = homes.fingerprint.0;
    }

    #[inline(always)]
    fn fill_by<P: Placement, M: Multiply, const NEAR: bool>(
        &mut self,
        placement: P,
        hashes: &[KeyHash; ROW],
    ) {
        for (i, hash) in hashes.iter().enumerate() {
            self.set(i, placement.homes_by::<M, NEAR>(*hash));
        }
    }
}

impl Default for Row {
    fn default() -> Self {
        Self { first: [0; ROW], second: [0; ROW], fingerprint: [1; ROW] }
    }
}

/// Finds the homes of a row of hashes.
pub(super) fn find_homes<P: Placement>(cpu: Cpu, placement: &P, hashes: &[KeyHash; ROW], row: &mut Row) {
    struct FindHomes<'a, P>(P, &'a [KeyHash; ROW], &'a mut Row);
    impl<P: Placement> FindHomes<'_, P> {
        #[inline(always)]
        fn by<V: Vectors>(self, _: V) {
            self.2.fill::<P, V::Multiply>(self.0, self.1);
        }
    }
    impl<P: Placement> Work for FindHomes<'_, P> {
        const WIDE: bool = true;
        type Output = ();

        #[inline(always)]
        fn run(self, vectors: impl Vectors) {
            self.by(vectors);
        }
    }
    let work = FindHomes(*placement, hashes, row);
    if placement.suits_vectors() { cpu.run(work) } else { work.run(Portable) }
}

/// Looks up a row of keys in a table.
pub(super) fn look_up_row<T: Table>(cpu: Cpu, table: &T, row: &Row, answers: &mut [bool; ROW]) {
    struct LookUpRow<'a, T>(&'a T, &'a Row, &'a mut [bool; ROW]);
    impl<T: Table> Work for LookUpRow<'_, T> {
        const WIDE: bool = true;
        type Output = ();

        #[inline(always)]
        fn run(self, _: impl Vectors) {
            let Self(table, row, answers) = self;
            let marks = table.hold_row(row);
            for (answer, marks) in answers.iter_mut().zip(marks) {
                *answer = marks != 0;
            }
        }
    }
    cpu.run(LookUpRow(table, row, answers));
}

/// Returns the bits of the values of all copies of each key of a row, together, as far as they are in the table.
pub(super) fn unite_row<T: Table>(cpu: Cpu, table: &T, row: &Row) -> [u16; ROW] {
    struct UniteRow<'a, T>(&'a T, &'a Row);
    impl<T: Table> Work for UniteRow<'_, T> {
        const WIDE: bool = true;
        type Output = [u16; ROW];

        #[inline(always)]
        fn run(self, _: impl Vectors) -> [u16; ROW] {
            self.0.unite_row(self.1)
        }
    }
    cpu.run(UniteRow(table, row))
}

/// Does [`look_up_row`] in a plain table, and prefetches the next row in between, key by key: with too many requests
/// at a time, the CPU would let comparisons wait.
pub(super) fn look_up_and_ask<T: Table>(
    cpu: Cpu,
    table: &T,
    (row, next): (&Row, &Row),
    answers: &mut [bool; ROW],
) {
    struct LookUpAndAsk<'a, T>(&'a T, &'a Row, &'a Row, &'a mut [bool; ROW]);
    impl<T: Table> Work for LookUpAndAsk<'_, T> {
        const WIDE: bool = false;
        type Output = ();

        #[inline(always)]
        fn run(self, vectors: impl Vectors) {
            if self.0.has_whole_bytes() { self.by::<true>(vectors) } else { self.by::<false>(vectors) }
        }
    }
    impl<T: Table> LookUpAndAsk<'_, T> {
        #[inline(always)]
        fn by<const BYTES: bool>(self, vectors: impl Vectors) {
            let Self(table, row, next, answers) = self;
            for (i, answer) in answers.iter_mut().enumerate() {
                ask_for(table, Place(next.first[i]));
                ask_for(table, Place(next.second[i]));
                *answer = table.plainly_holds::<BYTES>(row.get(i), vectors);
            }
        }
    }
    cpu.run(LookUpAndAsk(table, row, next, answers));
}
