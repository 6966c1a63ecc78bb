//! The walk: making room for a key by moving others to their other place.
//!
//! ```text
//!   both places of the key are full; begin in one of them
//!   repeat, within the budget of steps:
//!       if one of the tags here fits elsewhere: move it, put the key in its slot, done
//!       replace one of them, the victim, by the key
//!       go on with the victim as the key, in its other place
//!   undo every step, last first
//! ```
//!
//! A walk that fails leaves the table bit for bit as it was. Victims are chosen by a generator that is seeded with
//! the key's hash and dropped after the walk: equal histories give equal tables.

use crate::key::{KeyHash, mix};

use super::place::{Place, Placement};
use super::table::{Entry, Swap, Table};

/// Picks victims: a new, cheap, deterministic stream for every walk.
struct Picks(u64);

impl Picks {
    fn new(hash: KeyHash) -> Self {
        Self(mix(hash.to_raw() ^ 0x6A09_E667_F3BC_C908))
    }

    /// Returns a number below `choices`.
    #[inline(always)]
    fn pick(&mut self, choices: u32) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        // Both factors are below 2^32, so the upper half of their product is below `choices`.
        (((self.0 >> 32) * u64::from(choices)) >> 32) as u32
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With room for the key, after this many steps.
    Room(u64),
    /// Without room: the budget ran out. The table is as it was.
    Tired,
    /// Before it began: all slots of both places hold this same key, so moving copies around is pointless.
    Copies,
    /// Without room: the walk left the part of the table that it may touch. The table is as it was.
    Strayed,
}

/// A table, or the part of it that a walk may touch: the places from `begin` to `end`, numbered as in the whole
/// table. The words of the table are those of the part.
pub(crate) struct Ground<'a, T> {
    pub(crate) table: &'a mut T,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl<T: Table> Ground<'_, T> {
    #[inline(always)]
    fn covers(&self, place: Place) -> bool {
        // Places before the part wrap around to large numbers, so one comparison is enough.
        place.0.wrapping_sub(self.begin) < self.end - self.begin
    }

    #[inline(always)]
    fn inside(&self, entry: Entry) -> Entry {
        Entry { place: Place(entry.place.0.wrapping_sub(self.begin)), ..entry }
    }

    #[inline(always)]
    fn outside(&self, entry: Entry) -> Entry {
        // The window of a resident of the first slots may begin before the part.
        Entry { place: Place(entry.place.0.wrapping_add(self.begin)), ..entry }
    }

    fn has_only(&self, entry: Entry) -> bool {
        self.table.count(self.inside(entry)) == self.table.slots_per_place()
    }

    #[inline(always)]
    fn resident<const SIMPLE: bool>(&self, place: Place, rank: u32) -> Entry {
        self.outside(self.table.resident::<SIMPLE>(Place(place.0 - self.begin), rank))
    }

    #[inline(always)]
    fn put<const SIMPLE: bool>(&mut self, entry: Entry) -> bool {
        self.covers(entry.place) && self.table.put::<SIMPLE>(self.inside(entry))
    }

    #[inline(always)]
    fn swap<const SIMPLE: bool>(&mut self, entry: Entry, rank: u32) -> (Entry, Swap) {
        let (victim, swap) = self.table.swap::<SIMPLE>(self.inside(entry), rank);
        (self.outside(victim), swap)
    }
}

/// The log of a walk, kept from walk to walk so that it is allocated once.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    swaps: Vec<Swap>,
}

impl Walk {
    /// Makes room for a key whose two places, `homes`, are full, and puts it there.
    pub(crate) fn make_room<P: Placement, T: Table>(
        &mut self,
        placement: &P,
        ground: Ground<T>,
        key: (KeyHash, [Entry; 2]),
        most_steps: u32,
    ) -> End {
        if ground.table.is_simple() {
            self.make_room_by::<P, T, true>(placement, ground, key, most_steps)
        } else {
            self.make_room_by::<P, T, false>(placement, ground, key, most_steps)
        }
    }

    #[inline(never)]
    fn make_room_by<P: Placement, T: Table, const SIMPLE: bool>(
        &mut self,
        placement: &P,
        mut ground: Ground<T>,
        (hash, homes): (KeyHash, [Entry; 2]),
        most_steps: u32,
    ) -> End {
        let slots = ground.table.slots_per_place();
        let windowed = ground.table.is_windowed();
        if ground.has_only(homes[0]) && ground.has_only(homes[1]) {
            return End::Copies;
        }
        let mut picks = Picks::new(hash);
        let mut homeless = homes[picks.pick(2) as usize];
        self.swaps.clear();
        let mut end = End::Tired;
        for step in 0..most_steps {
            let begin = picks.pick(slots);
            let mut rank = begin;
            for _ in 0..slots {
                let resident = ground.resident::<SIMPLE>(homeless.place, rank);
                // A resident may also fit into another slot of its own window.
                if (windowed && ground.put::<SIMPLE>(resident))
                    || ground.put::<SIMPLE>(moved(placement, resident))
                {
                    ground.swap::<SIMPLE>(homeless, rank);
                    return End::Room(u64::from(step) + 1);
                }
                // A remainder without a division, and without an unpredictable branch.
                rank = (rank + 1).min((rank + 1).wrapping_sub(slots));
            }
            let (victim, swap) = ground.swap::<SIMPLE>(homeless, begin);
            self.swaps.push(swap);
            homeless = moved(placement, victim);
            if !ground.covers(homeless.place) {
                end = End::Strayed;
                break;
            }
        }
        while let Some(swap) = self.swaps.pop() {
            ground.table.undo(swap);
        }
        end
    }
}

/// Returns an entry in its other place.
#[inline(always)]
fn moved<P: Placement>(placement: &P, entry: Entry) -> Entry {
    let place = placement.other(entry.place, entry.fingerprint, entry.side);
    Entry { place, side: entry.side.flip(), ..entry }
}

impl Clone for Walk {
    /// Returns an empty log: nothing is remembered between walks.
    fn clone(&self) -> Self {
        Self::default()
    }
}
