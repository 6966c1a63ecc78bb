//! The walk: making room for a key by moving others to their other place.
//!
//! ```text
//!   both places of the key are full
//!   repeat, within the budget of steps:
//!       put the key in the stead of a victim in its place
//!       if the victim fits elsewhere in its own window, or in its other place: done
//!       the victim is now the key, and its other place is the place
//!   undo every step, last first
//! ```
//!
//! A walk that fails leaves the table bit for bit as it was. The choice of victims comes from a generator that
//! starts from the key's hash and is thrown away afterwards: equal histories give equal tables.

use crate::key::{KeyHash, mix};

use super::place::Placement;
use super::table::{Entry, Swap, Table};

/// Picks victims: a fresh, cheap, deterministic stream for every walk.
struct Picks(u64);

impl Picks {
    fn new(hash: KeyHash) -> Self {
        Self(mix(hash.to_raw() ^ 0x6A09_E667_F3BC_C908))
    }

    /// A number below `choices`.
    #[inline(always)]
    fn pick(&mut self, choices: u32) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        // Both factors are below 2^32, so the upper half of their product is below `choices`.
        (((self.0 >> 32) * u64::from(choices)) >> 32) as u32
    }
}

/// The walk's memory, kept from walk to walk so that it is allocated once.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    swaps: Vec<Swap>,
}

/// What stays the same during a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Slots of a place.
    pub(crate) slots: u32,
    /// Steps that a walk may take.
    pub(crate) steps: u32,
    /// Whether a victim may also fit elsewhere in the place it came from.
    pub(crate) windowed: bool,
}

impl Walk {
    /// Makes room for a key whose two places, `homes`, are full, and puts it there. Returns the steps taken,
    /// or `None` if the budget was not enough and everything is as it was.
    pub(crate) fn make_room<P: Placement, T: Table>(
        &mut self,
        placement: &P,
        table: &mut T,
        (hash, homes): (KeyHash, [Entry; 2]),
        budget: Budget,
    ) -> Option<u64> {
        let mut picks = Picks::new(hash);
        let mut homeless = homes[picks.pick(2) as usize];
        self.swaps.clear();
        for step in 1..=budget.steps {
            let (victim, swap) = table.swap(homeless, picks.pick(budget.slots));
            self.swaps.push(swap);
            if budget.windowed && table.put(victim) {
                return Some(u64::from(step));
            }
            let place = placement.other(victim.place, victim.fingerprint, victim.side);
            homeless = Entry { place, side: victim.side.flip(), ..victim };
            if table.put(homeless) {
                return Some(u64::from(step));
            }
        }
        while let Some(swap) = self.swaps.pop() {
            table.undo(swap);
        }
        None
    }
}

impl Clone for Walk {
    /// A fresh one: between walks there is nothing to remember.
    fn clone(&self) -> Self {
        Self::default()
    }
}
