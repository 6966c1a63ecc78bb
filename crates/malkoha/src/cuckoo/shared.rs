//! Lookups while another thread changes the table.
//!
//! The search is that of other lookups (`Table::holds_in`), in words that are read as `bits/shared.rs` says. A walk
//! moves tags one after the other, so a reader in between may find a key in neither of its places; then the version
//! of the shard has changed, and the reader knows.
//!
//! All shards have the same placement and the same form of table, so there is one reader for all of them: its numbers
//! stay in the cache, however many shards there are.
//!
//! Slices are looked up in one pass, in rows as in `batch.rs`: the next row is located and prefetched, whichever
//! shards its keys are in, while the keys of this row are compared. The versions of a row are read before its keys
//! are compared, and again after the last of them.

use std::sync::Arc;

use crate::bits::chosen::{Answerer, Chosen, Question};
use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::drawn::Choices;
use crate::bits::shared::Shared;
use crate::bits::words::{Words, stays_in_cache};
use crate::engine::reader::{Closer, Front, Locked, Reader, alone, look_again};
use crate::engine::rows::{Keys, ROW};
use crate::engine::version::{Seen, Version};
use crate::key::KeyHash;

use super::batch::{FEW, with_answers};
use super::place::Placement;
use super::row::{self, Row};
use super::table::{Table, ask_for_in};
use super::{Cuckoo, Far, Homes, Local, Near, Way};

/// Looks keys up in shards with these placements and tables.
#[derive(Debug)]
struct CuckooReader<P, T> {
    placement: P,
    /// A table without words of its own.
    table: T,
    fronts: Choices<Front>,
    cpu: Cpu,
    /// The tables of all shards are together beyond the cache, so that prefetching helps.
    in_memory: bool,
    locks: Arc<dyn Locked>,
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Makes a reader of the fronts of shards with this layout.
    pub(super) fn reader_of(&self, fronts: Box<[Front]>, locks: Arc<dyn Locked>) -> Arc<dyn Reader> {
        let bytes = self.table.words().bytes().saturating_mul(fronts.len());
        Arc::new(CuckooReader {
            placement: self.placement,
            table: self.table.with_words(Words::zeroed(0).expect("memory for a few words")),
            fronts: Choices::new(fronts),
            cpu: self.cpu,
            in_memory: !stays_in_cache(bytes),
            locks,
        })
    }
}

impl<P: Placement, T: Table> CuckooReader<P, T> {
    /// Chooses the function that looks up a single key, as [`Cuckoo`] does.
    fn choose(&self) -> Chosen<Self> {
        let Some(near) = self.placement.is_near().filter(|_| self.table.is_plain()) else {
            return Chosen::any(Self::look_up_otherwise);
        };
        if P::HAS_WAYS && near {
            self.choose_by::<Near>()
        } else if P::HAS_WAYS && self.placement.is_local() {
            self.choose_by::<Local>()
        } else {
            self.choose_by::<Far>()
        }
    }

    fn choose_by<W: Way>(&self) -> Chosen<Self> {
        if self.table.has_whole_bytes() {
            self.cpu.choose::<_, Plainly<W, true>>()
        } else {
            self.cpu.choose::<_, Plainly<W, false>>()
        }
    }

    /// Looks up a key in tables that are not plain.
    fn look_up_otherwise(&self, hash: KeyHash) -> bool {
        let (front, rest) = self.fronts.draw(hash);
        let homes = self.placement.homes(rest);
        let seen = front.look();
        let held = self.table.holds_in(front.words(), homes);
        Version::look_back();
        if front.changes(seen) == 0 { held } else { self.look_again(hash) }
    }

    /// Looks up a key that was not clear to see.
    #[cold]
    #[inline(never)]
    fn look_again(&self, hash: KeyHash) -> bool {
        look_again(self, &*self.locks, hash)
    }

    /// Finds the fronts and homes of the row with this number. Those beyond the last key are arbitrary.
    fn locate_row<'a>(&'a self, keys: Keys, number: usize, row: &mut SharedRow<'a>) {
        let mut hashes = [KeyHash::from_raw(0); ROW];
        keys.row(number, self.cpu, &mut hashes);
        self.cpu.run(DrawFronts { from: &self.fronts, hashes: &mut hashes, fronts: &mut row.fronts });
        row::find_homes(self.cpu, &self.placement, &hashes, &mut row.homes);
    }

    /// Prefetches both places of a key of a row.
    #[inline(always)]
    fn approach(&self, row: &SharedRow, i: usize) {
        let (words, homes) = (row.fronts[i].words(), row.homes.get(i));
        ask_for_in(&self.table, words, homes.first);
        ask_for_in(&self.table, words, homes.second);
    }
}

/// Looks up a key in plain tables, with homes by `W`, as in a single table.
struct Plainly<W, const BYTES: bool>(W);

impl<P: Placement, T: Table, W: Way, const BYTES: bool> Question<CuckooReader<P, T>> for Plainly<W, BYTES> {
    #[inline(always)]
    fn ask(of: &CuckooReader<P, T>, hash: KeyHash, vectors: impl Vectors) -> bool {
        let (front, rest) = of.fronts.draw(hash);
        let homes = W::homes(&of.placement, rest);
        let seen = front.look();
        let held = of.table.plainly_holds_in::<BYTES>(front.words(), homes, vectors);
        Version::look_back();
        // Writers are rarely in the way; whether a key is found cannot be predicted.
        if front.changes(seen) == 0 { held } else { of.look_again(hash) }
    }
}

/// A row of keys in shards.
struct SharedRow<'a> {
    fronts: [&'a Front; ROW],
    homes: Row,
}

/// Draws the fronts of a row of hashes, and leaves the rest of each hash.
struct DrawFronts<'a, 'b> {
    from: &'a Choices<Front>,
    hashes: &'b mut [KeyHash; ROW],
    fronts: &'b mut [&'a Front; ROW],
}

impl DrawFronts<'_, '_> {
    #[inline(always)]
    fn by<V: Vectors>(self, _: V) {
        self.from.draw_row::<V::Multiply>(self.hashes, self.fronts);
    }
}

impl Work for DrawFronts<'_, '_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        self.by(vectors);
    }
}

/// Looks up a row of keys, and prefetches the next row if there is one. Returns a bit for each key that has to be asked
/// again.
struct LookUpRow<'a, P, T> {
    reader: &'a CuckooReader<P, T>,
    row: &'a SharedRow<'a>,
    next: Option<&'a SharedRow<'a>>,
    answers: &'a mut [bool; ROW],
}

impl<P: Placement, T: Table> Work for LookUpRow<'_, P, T> {
    const WIDE: bool = false;
    type Output = u64;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> u64 {
        let table = &self.reader.table;
        if !table.is_plain() {
            self.by(|words, homes| table.holds_in(words, homes))
        } else if table.has_whole_bytes() {
            self.by(|words, homes| table.plainly_holds_in::<true>(words, homes, vectors))
        } else {
            self.by(|words, homes| table.plainly_holds_in::<false>(words, homes, vectors))
        }
    }
}

impl<P: Placement, T: Table> LookUpRow<'_, P, T> {
    #[inline(always)]
    fn by(self, holds: impl Fn(&Shared, Homes) -> bool) -> u64 {
        let Self { reader, row, next, answers } = self;
        let mut seen = [Seen::default(); ROW];
        for (seen, front) in seen.iter_mut().zip(&row.fronts) {
            *seen = front.look();
        }
        for (i, answer) in answers.iter_mut().enumerate() {
            if let Some(next) = next {
                reader.approach(next, i);
            }
            *answer = holds(row.fronts[i].words(), row.homes.get(i));
        }
        Version::look_back();
        let both = || row.fronts.iter().zip(&seen);
        if both().fold(0, |changes, (front, seen)| changes | front.changes(*seen)) == 0 {
            return 0;
        }
        let unclear = |(front, seen): (&&Front, &Seen)| u64::from(front.changes(*seen) != 0);
        both().map(unclear).enumerate().fold(0, |all, (i, unclear)| all | unclear << i)
    }
}

impl<P: Placement, T: Table> Reader for CuckooReader<P, T> {
    fn fronts(&self) -> &[Front] {
        self.fronts.all()
    }

    fn into_fronts(self: Arc<Self>) -> Box<[Front]> {
        alone(self).fronts.into_all()
    }

    fn look_up(self: Arc<Self>) -> Answerer {
        let chosen = self.choose();
        Answerer::new(self, chosen)
    }

    #[cold]
    fn look_closely(&self, hash: KeyHash) -> Closer {
        let (front, hash) = self.fronts.draw(hash);
        let homes = self.placement.homes(hash);
        let seen = front.look();
        let held = self.table.holds_in(front.words(), homes);
        front.judge_closely(seen, held, homes.fingerprint.0)
    }

    fn contains_keys(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        if keys.len() < FEW {
            let look_up = self.choose();
            for (i, answer) in answers.iter_mut().enumerate() {
                *answer = look_up.ask(self, keys.get(i));
            }
            return;
        }
        let new = || SharedRow { fronts: [&self.fronts.all()[0]; ROW], homes: Row::default() };
        let mut rows = [new(), new()];
        self.locate_row(keys, 0, &mut rows[0]);
        if self.in_memory {
            (0..ROW.min(keys.len())).for_each(|i| self.approach(&rows[0], i));
        }
        for (number, answers) in answers.chunks_mut(ROW).enumerate() {
            let more = (number + 1) * ROW < keys.len();
            if more {
                self.locate_row(keys, number + 1, &mut rows[(number + 1) % 2]);
            }
            let (row, next) = (&rows[number % 2], &rows[(number + 1) % 2]);
            let next = Some(next).filter(|_| more && self.in_memory);
            let count = answers.len();
            let mut again = 0;
            with_answers(answers, |answers| {
                again = self.cpu.run(LookUpRow { reader: self, row, next, answers });
            });
            while again != 0 {
                let i = again.trailing_zeros() as usize;
                again &= again - 1;
                if i < count {
                    answers[i] = self.look_again(keys.get(number * ROW + i));
                }
            }
        }
    }
}
