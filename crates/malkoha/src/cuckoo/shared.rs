//! Lookups while another thread changes the table.
//!
//! The search is that of other lookups (`Table::holds_in`), in words that are read as `bits/shared.rs` says. A walk moves
//! tags one after the other, so a reader in between may find a key in neither of its places; then the version of the
//! shard has changed, and the reader knows.
//!
//! All shards have the same placement and the same form of table, so there is one reader for all of them: its numbers stay
//! in the cache, however many shards there are.
//!
//! Slices are looked up in one pass, in rows as in `batch.rs`: the next row is located and prefetched, whichever shards its
//! keys are in, while the keys of this row are compared. The versions of a row are read before its keys are compared, and
//! again after the last of them.

use crate::bits::chosen::{Chosen, Question};
use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::shared::Shared;
use crate::bits::words::{Words, stays_in_cache};
use crate::engine::reader::{Front, Reader, Sight};
use crate::engine::rows::{Keys, ROW};
use crate::engine::version::{Seen, Version};
use crate::key::KeyHash;
use crate::key::draw::{Multiply, draw};

use super::batch::FEW;
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
    fronts: Box<[Front]>,
    cpu: Cpu,
    /// The tables of all shards are together beyond the cache, so that prefetching helps.
    in_memory: bool,
    look_up: Chosen<Self, Sight>,
}

impl<P: Placement, T: Table> Cuckoo<P, T> {
    /// Makes a reader of the fronts of shards with this layout.
    pub(super) fn reader_of(&self, fronts: Box<[Front]>) -> Box<dyn Reader> {
        let bytes = self.table.words().bytes().saturating_mul(fronts.len());
        let mut reader = CuckooReader {
            placement: self.placement,
            table: self.table.with_words(Words::zeroed(0).expect("memory for a few words")),
            fronts,
            cpu: self.cpu,
            in_memory: !stays_in_cache(bytes),
            look_up: Chosen::any(CuckooReader::look_up_otherwise),
        };
        reader.look_up = reader.choose();
        Box::new(reader)
    }
}

impl<P: Placement, T: Table> CuckooReader<P, T> {
    /// Chooses the function that looks up a single key, as [`Cuckoo`] does.
    fn choose(&self) -> Chosen<Self, Sight> {
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

    fn choose_by<W: Way>(&self) -> Chosen<Self, Sight> {
        if self.table.has_whole_bytes() {
            self.cpu.choose_for::<_, _, Plainly<W, true>>()
        } else {
            self.cpu.choose_for::<_, _, Plainly<W, false>>()
        }
    }

    /// Returns the front that a hash draws, and the hash in that shard.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of shards")]
    fn locate(&self, hash: KeyHash) -> (&Front, KeyHash) {
        let (shard, rest) = draw(hash.to_raw(), self.fronts.len() as u64);
        (&self.fronts[shard as usize], KeyHash::from_raw(rest))
    }

    #[inline(always)]
    fn look_up(front: &Front, homes: Homes, holds: impl FnOnce(&Shared) -> bool) -> Sight {
        let seen = front.look();
        let (aside, held) = (front.aside(), holds(front.words()));
        Version::look_back();
        front.judge(seen, held, aside, homes.fingerprint.0)
    }

    /// Looks up a key in tables that are not plain.
    fn look_up_otherwise(&self, hash: KeyHash) -> Sight {
        let (front, hash) = self.locate(hash);
        let homes = self.placement.homes(hash);
        Self::look_up(front, homes, |words| self.table.holds_in(words, homes))
    }

    /// Finds the shards and homes of the row with this number. Those beyond the last key are arbitrary.
    fn locate_row(&self, keys: Keys, number: usize, row: &mut SharedRow) {
        let mut hashes = [KeyHash::from_raw(0); ROW];
        keys.row(number, self.cpu, &mut hashes);
        self.cpu.run(DrawShards {
            shards: self.fronts.len() as u64,
            hashes: &mut hashes,
            drawn: &mut row.shards,
        });
        row::find_homes(self.cpu, &self.placement, &hashes, &mut row.homes);
    }

    /// Returns the front of a key of a row.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of shards")]
    fn front(&self, row: &SharedRow, i: usize) -> &Front {
        &self.fronts[row.shards[i] as usize]
    }

    /// Prefetches both places of a key of a row.
    #[inline(always)]
    fn approach(&self, row: &SharedRow, i: usize) {
        let (words, homes) = (self.front(row, i).words(), row.homes.get(i));
        ask_for_in(&self.table, words, homes.first);
        ask_for_in(&self.table, words, homes.second);
    }
}

/// Looks up a key in plain tables, with homes by `W`, as in a single table.
struct Plainly<W, const BYTES: bool>(W);

impl<P: Placement, T: Table, W: Way, const BYTES: bool> Question<CuckooReader<P, T>, Sight>
    for Plainly<W, BYTES>
{
    #[inline(always)]
    fn ask(of: &CuckooReader<P, T>, hash: KeyHash, vectors: impl Vectors) -> Sight {
        let (front, hash) = of.locate(hash);
        let homes = W::homes(&of.placement, hash);
        CuckooReader::<P, T>::look_up(front, homes, |words| {
            of.table.plainly_holds_in::<BYTES>(words, homes, vectors)
        })
    }
}

/// A row of keys in shards.
struct SharedRow {
    shards: [u64; ROW],
    homes: Row,
}

impl SharedRow {
    fn new() -> Self {
        Self { shards: [0; ROW], homes: Row::default() }
    }
}

/// Draws the shards of a row of hashes, and leaves the rest of each hash.
struct DrawShards<'a> {
    shards: u64,
    hashes: &'a mut [KeyHash; ROW],
    drawn: &'a mut [u64; ROW],
}

impl DrawShards<'_> {
    #[inline(always)]
    fn by<V: Vectors>(self, _: V) {
        for (hash, drawn) in self.hashes.iter_mut().zip(self.drawn) {
            let (shard, rest) = V::Multiply::draw(hash.to_raw(), self.shards);
            (*drawn, *hash) = (shard, KeyHash::from_raw(rest));
        }
    }
}

impl Work for DrawShards<'_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        self.by(vectors);
    }
}

/// Looks up a row of keys, and prefetches the next row if there is one.
struct LookUpRow<'a, P, T> {
    reader: &'a CuckooReader<P, T>,
    row: &'a SharedRow,
    next: Option<&'a SharedRow>,
    sights: &'a mut [Sight; ROW],
}

impl<P: Placement, T: Table> Work for LookUpRow<'_, P, T> {
    const WIDE: bool = false;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let table = &self.reader.table;
        if !table.is_plain() {
            self.by(|words, homes| table.holds_in(words, homes));
        } else if table.has_whole_bytes() {
            self.by(|words, homes| table.plainly_holds_in::<true>(words, homes, vectors));
        } else {
            self.by(|words, homes| table.plainly_holds_in::<false>(words, homes, vectors));
        }
    }
}

impl<P: Placement, T: Table> LookUpRow<'_, P, T> {
    #[inline(always)]
    fn by(self, holds: impl Fn(&Shared, Homes) -> bool) {
        let Self { reader, row, next, sights } = self;
        let mut seen = [Seen::default(); ROW];
        for (i, seen) in seen.iter_mut().enumerate() {
            *seen = reader.front(row, i).look();
        }
        let (mut held, mut aside) = ([false; ROW], 0);
        for (i, held) in held.iter_mut().enumerate() {
            if let Some(next) = next {
                reader.approach(next, i);
            }
            let front = reader.front(row, i);
            *held = holds(front.words(), row.homes.get(i));
            aside |= front.aside();
        }
        Version::look_back();
        for (i, sight) in sights.iter_mut().enumerate() {
            // A bit of any of these shards sends a key that is not found to its lock: too often, but rarely.
            *sight = reader.front(row, i).judge(seen[i], held[i], aside, row.homes.fingerprint[i]);
        }
    }
}

impl<P: Placement, T: Table> Reader for CuckooReader<P, T> {
    fn fronts(&self) -> &[Front] {
        &self.fronts
    }

    fn into_fronts(self: Box<Self>) -> Box<[Front]> {
        self.fronts
    }

    #[inline]
    fn contains(&self, hash: KeyHash) -> Sight {
        self.look_up.ask(self, hash)
    }

    fn contains_keys(&self, keys: Keys, answers: &mut [bool], unclear: &mut dyn FnMut(usize)) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        let mut note = |i: usize, sight, answer: &mut bool| match sight {
            Sight::Absent => *answer = false,
            Sight::Present => *answer = true,
            Sight::Blurred | Sight::Aside => unclear(i),
        };
        if keys.len() < FEW {
            for (i, answer) in answers.iter_mut().enumerate() {
                note(i, self.contains(keys.get(i)), answer);
            }
            return;
        }
        let mut rows = [SharedRow::new(), SharedRow::new()];
        self.locate_row(keys, 0, &mut rows[0]);
        if self.in_memory {
            for i in 0..ROW.min(keys.len()) {
                self.approach(&rows[0], i);
            }
        }
        let mut sights = [Sight::Absent; ROW];
        for (number, answers) in answers.chunks_mut(ROW).enumerate() {
            let more = (number + 1) * ROW < keys.len();
            if more {
                self.locate_row(keys, number + 1, &mut rows[(number + 1) % 2]);
            }
            let (row, next) = (&rows[number % 2], &rows[(number + 1) % 2]);
            let next = Some(next).filter(|_| more && self.in_memory);
            self.cpu.run(LookUpRow { reader: self, row, next, sights: &mut sights });
            for (i, (answer, sight)) in answers.iter_mut().zip(sights).enumerate() {
                note(number * ROW + i, sight, answer);
            }
        }
    }
}
