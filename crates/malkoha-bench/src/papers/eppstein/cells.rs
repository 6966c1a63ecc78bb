//! A simulator of Eppstein's filter and of the original one, with fingerprints so short that the engine
//! refuses them. All that matters here is whether all fingerprints find a cell, so nothing is ever looked up.

use malkoha::KeyHasher;

use crate::access::reduce;

/// The most steps of one walk, far more than any successful walk needs at these loads.
const MOST_STEPS: u32 = 5000;

/// The distance from one cell of a fingerprint to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// The fingerprint itself, in the simplified filter.
    Own,
    /// A hash of the fingerprint, in the original filter.
    Hashed,
}

/// A table of 2^x cells, each with a block of fingerprints.
pub(super) struct Cells {
    distance: Distance,
    block: usize,
    fingerprint_bits: u32,
    slots: Vec<u16>,
    seed: u64,
    draws: u64,
}

impl Cells {
    pub(super) fn new(
        cells: usize,
        block: usize,
        fingerprint_bits: u32,
        distance: Distance,
        seed: u64,
    ) -> Self {
        assert!(cells.is_power_of_two() && (1..=16).contains(&fingerprint_bits), "XOR stays inside");
        assert!(1 << fingerprint_bits <= cells, "a subtable is no larger than the table");
        Self { distance, block, fingerprint_bits, slots: vec![0; cells * block], seed, draws: 0 }
    }

    fn cells(&self) -> usize {
        self.slots.len() / self.block
    }

    /// Returns a number below `choices`, a new one each time.
    fn draw(&mut self, choices: usize) -> usize {
        self.draws += 1;
        reduce(KeyHasher::new(self.seed).number(self.draws).to_raw(), choices)
    }

    fn other(&self, cell: usize, fingerprint: u16) -> usize {
        cell ^ match self.distance {
            Distance::Own => usize::from(fingerprint),
            Distance::Hashed => {
                let hash = KeyHasher::new(!self.seed).number(u64::from(fingerprint)).to_raw();
                1 + reduce(hash, self.cells() - 1)
            }
        }
    }

    fn put(&mut self, cell: usize, fingerprint: u16) -> bool {
        let slots = &mut self.slots[cell * self.block..][..self.block];
        slots.iter_mut().find(|slot| **slot == 0).map(|slot| *slot = fingerprint).is_some()
    }

    /// Stores an element drawn at random. Returns `false` if the walk did not end; then the table is useless.
    pub(super) fn insert(&mut self) -> bool {
        let mut cell = self.draw(self.cells());
        let fingerprint = 1 + self.draw((1 << self.fingerprint_bits) - 1);
        let mut fingerprint = u16::try_from(fingerprint).expect("at most 16 bits");
        if self.put(cell, fingerprint) {
            return true;
        }
        for _ in 0..MOST_STEPS {
            cell = self.other(cell, fingerprint);
            if self.put(cell, fingerprint) {
                return true;
            }
            let victim = cell * self.block + self.draw(self.block);
            std::mem::swap(&mut self.slots[victim], &mut fingerprint);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_fingerprints_fill_and_short_ones_do_not() {
        for distance in [Distance::Own, Distance::Hashed] {
            let filled = |bits| {
                let mut cells = Cells::new(1 << 10, 4, bits, distance, 1);
                (0..3600).take_while(|_| cells.insert()).count()
            };
            assert_eq!(filled(10), 3600, "{distance:?} at a load of 0.88");
            assert!(filled(1) < 3600, "{distance:?}");
        }
    }

    #[test]
    fn going_there_and_back_leads_home() {
        let cells = Cells::new(1 << 8, 2, 8, Distance::Hashed, 3);
        for fingerprint in 1..256 {
            let there = cells.other(17, fingerprint);
            assert!(there != 17 && cells.other(there, fingerprint) == 17);
        }
    }
}
