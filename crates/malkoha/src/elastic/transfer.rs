//! All entries of regions stored in others, which are larger or smaller.
//!
//! The new tables are empty at first, so it is enough to count the entries of every place: the next one takes the slot
//! after them. Entries that find both places full wait until the end, and then walk.

use crate::error::Full;

use super::entry::Entry;
use super::region::Region;

/// What becomes of the place and the fingerprint of an entry.
#[derive(Clone, Copy)]
pub(super) enum Change {
    /// The first bit of the fingerprint becomes the last bit of the place. If there are two regions, the first has the
    /// lower half of the places.
    Double,
    /// The last bits of the place return to the fingerprint, one for each level. Before that, places are counted from
    /// `first` on.
    Halve { first: u64, levels: u32 },
}

impl Change {
    /// What an entry becomes if its tag has so many bits before and after. It may become two.
    #[inline(always)]
    fn apply(self, mut entry: Entry, from: u32, to: u32) -> (Entry, Option<Entry>) {
        match self {
            Self::Double => {
                let (one, two) = entry.doubled(from);
                (one.fitted(from, to), two.map(|two| two.fitted(from, to)))
            }
            Self::Halve { first, levels } => {
                entry.place += first;
                for above in 0..levels {
                    entry = entry.halved(from + above);
                }
                (entry.fitted(from + levels, to), None)
            }
        }
    }
}

/// Regions that are filled with the entries of others: one, or two with equal numbers of places.
pub(super) struct Transfer<const N: usize> {
    into: [Region; N],
    /// The number of entries of every place, region by region.
    counts: Vec<u8>,
    /// Copies of entries of a region that wait, because their places are full.
    waiting: Vec<(usize, Entry, u64)>,
}

impl<const N: usize> Transfer<N> {
    /// Begins with empty regions.
    pub(super) fn new(into: [Region; N]) -> Result<Self, Full> {
        let places = into.iter().map(|region| region.table.places() as usize).sum();
        let mut counts = Vec::new();
        counts.try_reserve_exact(places).map_err(|_| Full)?;
        counts.resize(places, 0);
        Ok(Self { into, counts, waiting: Vec::new() })
    }

    /// Stores the entries of a region.
    pub(super) fn take(&mut self, from: &Region, change: Change) -> Result<(), Full> {
        let form = from.table.form();
        // The first slot of all places, then the second: the entries of one place go to the same two places, and a CPU
        // waits for what it has just written there.
        for slot in 0..form.slots() {
            let (mut bit, stride) = (form.slot(0, slot), form.bit(1));
            for place in 0..from.table.places() {
                let content = from.table.read(bit);
                bit += stride;
                if content != 0 {
                    self.settle(from.entry_of(place, content), 1, from.bits(), change)?;
                }
            }
        }
        let overflow = from.overflow().sorted();
        overflow.into_iter().try_for_each(|(entry, copies)| self.settle(entry, copies, from.bits(), change))
    }

    /// Stores copies of an entry whose tag had so many bits.
    #[inline(always)]
    fn settle(&mut self, entry: Entry, copies: u64, bits: u32, change: Change) -> Result<(), Full> {
        let (one, two) = change.apply(entry, bits, self.into[0].bits());
        self.put(one, copies)?;
        two.map_or(Ok(()), |two| self.put(two, copies))
    }

    #[inline(always)]
    fn put(&mut self, mut entry: Entry, copies: u64) -> Result<(), Full> {
        let places = self.into[0].table.places();
        let number = usize::from(N == 2 && entry.place >= u64::from(places));
        entry.place -= if number == 1 { u64::from(places) } else { 0 };
        let region = &mut self.into[number];
        let first = Region::place_of(entry);
        let second = region.table.second_place(first, region.sought_of(entry));
        let counts = &mut self.counts[number * places as usize..][..places as usize];
        let [in_first, in_second] = [first, second].map(|place| counts[place as usize]);
        let (place, count, side) =
            if in_second < in_first { (second, in_second, region.side()) } else { (first, in_first, 0) };
        if copies == 1 && u32::from(count) < region.table.form().slots() {
            counts[place as usize] += 1;
            region.put_at(entry, place, count.into(), side);
            return Ok(());
        }
        self.waiting.try_reserve(1).map_err(|_| Full)?;
        self.waiting.push((number, entry, copies));
        Ok(())
    }

    /// Stores what waits, and returns the regions. What finds no slot goes to the overflow.
    pub(super) fn finish(mut self) -> Result<[Region; N], Full> {
        for (number, entry, copies) in self.waiting {
            self.into[number].pour(entry, copies)?;
        }
        Ok(self.into)
    }

    /// Does the same, but fails if an entry with one copy finds no slot.
    pub(super) fn finish_in_tables(mut self) -> Result<[Region; N], Full> {
        for (number, entry, copies) in self.waiting {
            let region = &mut self.into[number];
            if copies > 1 {
                region.pour(entry, copies)?;
            } else {
                region.put(entry).ok_or(Full)?;
            }
        }
        Ok(self.into)
    }
}
