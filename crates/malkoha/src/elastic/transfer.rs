//! All entries of regions stored in others, which are larger or smaller.
//!
//! The new tables are empty at first, so it is enough to count the entries of every place: the next one takes the slot
//! after them. Contents are first written to numbers of whole words and in the end packed, place after place: a slot of
//! any width would have to be read before it is written, and a CPU waits for words that it has just written in part.
//! Entries that find both places full wait until all others are packed, and then walk.

use core::hint::select_unpredictable;

use crate::bits::cpu::{Vectors, Work};
use crate::bits::prefix_table::{OFFSET_BITS, PrefixTable, Ways};
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
    unpacked: Unpacked,
    /// Copies of entries of a region that wait, because their places are full.
    waiting: Vec<(usize, Entry, u64)>,
}

/// What the slots of new tables will contain.
struct Unpacked {
    /// The places of each table, and the slots of each place.
    places: u32,
    slots: [u32; 2],
    /// The bit of contents that is set on the second side.
    side: u32,
    ways: Ways,
    /// The number of entries of every place, table after table.
    counts: Vec<u8>,
    /// The contents, each in one or two halves of a word; `stride` halves for every place.
    contents: Vec<u32>,
    halves: usize,
    stride: usize,
}

impl Unpacked {
    fn new(tables: &[Region]) -> Result<Self, Full> {
        let (first, last) = (&tables[0], &tables[tables.len() - 1]);
        let places = first.table.places();
        let slots = [first, last].map(|region| region.table.form().slots());
        let halves = if first.table.form().width() <= u32::BITS { 1 } else { 2 };
        let stride = halves * slots[0].max(slots[1]) as usize;
        let all = places as usize * tables.len();
        Ok(Self {
            places,
            slots,
            side: first.bits(),
            ways: first.table.ways(),
            counts: zeros(all)?,
            contents: zeros(all * stride)?,
            halves,
            stride,
        })
    }

    /// The same, to be filled with entries of one or two tables.
    fn filling<const N: usize>(&mut self) -> Filling<'_, N> {
        Filling {
            places: self.places,
            slots: self.slots,
            side: self.side,
            ways: self.ways,
            counts: &mut self.counts,
            contents: &mut self.contents,
            halves: self.halves,
            stride: self.stride,
        }
    }

    /// Packs the contents of table `number` into a region, which is empty.
    fn pack(&self, number: usize, region: &mut Region) {
        let places = self.places as usize;
        let counts = &self.counts[number * places..][..places];
        let contents = &self.contents[number * places * self.stride..][..places * self.stride];
        region.entries = counts.iter().map(|count| u32::from(*count)).sum();
        region.weight = region.cpu.run(Pack(&mut region.table, contents, self.stride, self.halves));
    }
}

/// [`Unpacked`], while entries are put into it. (The vectors are lent and the numbers copied, so that the compiler keeps
/// all of it in registers: a store into a vector might change a field next to it, but not a local variable.)
struct Filling<'a, const N: usize> {
    places: u32,
    slots: [u32; 2],
    side: u32,
    ways: Ways,
    counts: &'a mut [u8],
    contents: &'a mut [u32],
    halves: usize,
    stride: usize,
}

impl<const N: usize> Filling<'_, N> {
    /// Puts an entry into the emptier of its places, given the first of them, counted through all tables, its tag in
    /// the highest bits of a word, and what a slot of the first place would contain. Returns whether it had room.
    #[inline(always)]
    fn put(&mut self, first: u32, tag: u64, content: u64) -> bool {
        let is_in_last = N > 1 && first >= self.places;
        let begin = select_unpredictable(is_in_last, self.places, 0);
        let second = begin + self.ways.second_place(first - begin, tag);
        let (one, two) = (self.counts[first as usize], self.counts[second as usize]);
        // Not as branches: nobody can predict which place is emptier.
        let is_second = two < one;
        let place = select_unpredictable(is_second, second, first) as usize;
        let count = one.min(two);
        if u32::from(count) >= self.slots[usize::from(is_in_last)] {
            return false;
        }
        self.counts[place] = count + 1;
        let content = content | u64::from(is_second) << self.side;
        let at = place * self.stride + usize::from(count) * self.halves;
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        let low = content as u32;
        self.contents[at] = low;
        if self.halves == 2 {
            self.contents[at + 1] = (content >> u32::BITS) as u32;
        }
        true
    }

    /// Puts copies of an entry, whose tag had so many bits, into tables like `region`, or among those that wait. It may
    /// become two entries.
    #[inline(always)]
    fn settle(
        &mut self,
        waiting: &mut Vec<(usize, Entry, u64)>,
        region: &Region,
        (entry, copies): (Entry, u64),
        bits: u32,
        change: Change,
    ) -> Result<(), Full> {
        let (one, two) = change.apply(entry, bits, region.bits());
        for mut entry in [Some(one), two].into_iter().flatten() {
            let (first, tag) = (Region::place_of(entry), region.sought_of(entry) << 1);
            if copies == 1 && self.put(first, tag, region.content(entry)) {
                continue;
            }
            let places = u64::from(self.places);
            let number = usize::from(entry.place >= places);
            entry.place -= if number == 1 { places } else { 0 };
            waiting.try_reserve(1).map_err(|_| Full)?;
            waiting.push((number, entry, copies));
        }
        Ok(())
    }
}

/// So many zeros, if the system has the memory.
fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>, Full> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count).map_err(|_| Full)?;
    zeros.resize(count, T::default());
    Ok(zeros)
}

impl<const N: usize> Transfer<N> {
    /// Begins with empty regions.
    pub(super) fn new(into: [Region; N]) -> Result<Self, Full> {
        Ok(Self { unpacked: Unpacked::new(&into)?, into, waiting: Vec::new() })
    }

    /// Stores the entries of a region.
    pub(super) fn take(&mut self, from: &Region, change: Change) -> Result<(), Full> {
        from.cpu.run(TakeTable { to: self, from, change })?;
        let overflow = from.overflow().sorted();
        overflow.into_iter().try_for_each(|copies| self.settle(copies, from.bits(), change))
    }

    /// Stores copies of an entry whose tag had so many bits.
    fn settle(&mut self, copies: (Entry, u64), bits: u32, change: Change) -> Result<(), Full> {
        let Self { into, unpacked, waiting } = self;
        unpacked.filling::<N>().settle(waiting, &into[0], copies, bits, change)
    }

    /// The regions with everything that has a slot, and what waits.
    fn packed(mut self) -> ([Region; N], Vec<(usize, Entry, u64)>) {
        for (number, region) in self.into.iter_mut().enumerate() {
            self.unpacked.pack(number, region);
        }
        (self.into, self.waiting)
    }

    /// Stores what waits, and returns the regions. What finds no slot goes to the overflow.
    pub(super) fn finish(self) -> Result<[Region; N], Full> {
        let (mut into, waiting) = self.packed();
        for (number, entry, copies) in waiting {
            into[number].pour(entry, copies)?;
        }
        Ok(into)
    }

    /// Does the same, but fails if an entry with one copy finds no slot.
    pub(super) fn finish_in_tables(self) -> Result<[Region; N], Full> {
        let (mut into, waiting) = self.packed();
        for (number, entry, copies) in waiting {
            let region = &mut into[number];
            if copies > 1 {
                region.pour(entry, copies)?;
            } else {
                region.put(entry).ok_or(Full)?;
            }
        }
        Ok(into)
    }
}

/// Writes contents into an empty table, as [`Unpacked`] has them; returns their weight.
struct Pack<'a>(&'a mut PrefixTable, &'a [u32], usize, usize);

impl Work for Pack<'_> {
    const WIDE: bool = false;
    type Output = u128;

    #[inline(always)]
    fn run(self, _: impl Vectors) -> u128 {
        let Self(table, contents, stride, halves) = self;
        let mut weight = 0;
        // The lengths of loops are easier to know than to read.
        if halves == 1 {
            table.fill(contents.chunks_exact(stride), |place, slot| {
                let content = u64::from(place[slot]);
                weight += Region::weight_of(content);
                content
            });
        } else {
            table.fill(contents.chunks_exact(stride), |place, slot| {
                let content = u64::from(place[2 * slot]) | u64::from(place[2 * slot + 1]) << u32::BITS;
                weight += Region::weight_of(content);
                content
            });
        }
        weight
    }
}

/// Stores the entries of a table. (Shifts by variable numbers of bits are what it does most, and they take three
/// instructions each without the extensions of later CPUs.)
struct TakeTable<'a, const N: usize> {
    to: &'a mut Transfer<N>,
    from: &'a Region,
    change: Change,
}

impl<const N: usize> Work for TakeTable<'_, N> {
    const WIDE: bool = false;
    type Output = Result<(), Full>;

    #[inline(always)]
    fn run(self, _: impl Vectors) -> Result<(), Full> {
        let Self { to, from, change } = self;
        let (form, places) = (from.table.form(), from.table.places());
        let Transfer { into, unpacked, waiting } = to;
        let (doubling, mut filling) = (Doubling::new(from, &into[0]), unpacked.filling::<N>());
        // The first slot of all places, then the second: the entries of one place go to the same two places, and a CPU
        // waits for what it has just written there.
        for slot in 0..form.slots() {
            let (mut bit, stride) = (form.slot(0, slot), form.bit(1));
            for place in 0..places {
                let content = from.table.read(bit);
                bit += stride;
                if content == 0 {
                    continue;
                }
                if let Change::Double = change
                    && let Some((first, tag, content)) = doubling.apply(place, content)
                    && filling.put(first, tag, content)
                {
                    continue;
                }
                filling.settle(waiting, &into[0], (from.entry_of(place, content), 1), from.bits(), change)?;
            }
        }
        Ok(())
    }
}

/// `Change::Double` of most entries: of what slots contain, as fields of one word.
struct Doubling {
    ways: Ways,
    /// Bits of a tag with its side before, and without it after.
    tag_bits: u32,
    bits: u32,
}

impl Doubling {
    fn new(from: &Region, to: &Region) -> Self {
        Self { ways: from.table.ways(), tag_bits: from.table.form().tag_bits(), bits: to.bits() }
    }

    /// What the content of a place becomes: its first place, its tag in the highest bits of a word, and its content on
    /// the first side. `None` if it becomes two.
    #[inline(always)]
    fn apply(&self, place: u32, content: u64) -> Option<(u32, u64, u64)> {
        let with_side = content << (64 - self.tag_bits);
        let (before, after) = (with_side << 1, with_side << 2);
        // The mark is among the bits of the offset.
        if after << OFFSET_BITS == 0 {
            return None;
        }
        let first = 2 * self.ways.first_place(place, with_side) + u32::from(before >> 63 == 1);
        // If the mark does not fit, the last bit that does becomes the mark.
        let is_cut = after << self.bits != 0;
        let tag = after >> (64 - self.bits) | u64::from(is_cut);
        Some((first, after, (content >> self.tag_bits) << 1 << self.bits | tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elastic::growth::{self, Grown};
    use crate::elastic::shape::Shape;
    use crate::elastic::{Elastic, ElasticLayout};
    use crate::key::{KeyHash, mix};

    /// What `Doubling` does to fields of a word, against `Entry::doubled`; narrow slots, wide ones, and those of more
    /// than half a word, with fingerprints of all ages, down to those that have no bits left.
    #[test]
    fn contents_double_as_entries_do() {
        let mut splits = 0;
        for (rate, value_bits) in [(0.1, 0), (0.01, 2), (0.001, 7), (1e-6, 0), (1e-6, 16), (1e-9, 3)] {
            let layout = ElasticLayout::new(rate, 0, None, value_bits).unwrap();
            let mut region = Region::new(Elastic::first_shapes(&layout).nth(1).unwrap()).unwrap();
            let mut key = 0;
            for _ in 0..14 {
                // Nearly full, and at the end a few old entries among many empty slots.
                let wanted = if key < 5_000 { region.most / 8 * 7 } else { region.entries };
                while region.entries < wanted {
                    key += 1;
                    let prefix = region.shape().prefix;
                    let hash = KeyHash::from_raw(prefix | mix(key) >> region.shape().depth);
                    region.put(region.entry(hash, (key % (1 << value_bits)) as u16)).unwrap();
                }
                let shape = region.shape();
                // As long as a layout has them, and so short that the last bits do not fit.
                for cut in [0, 3] {
                    let target = || {
                        let tag_bits = layout.tag_bits(growth::level(&shape) + 1) - cut;
                        Region::new(Shape { places: 2 * shape.places, slots: 5, tag_bits, ..shape }).unwrap()
                    };
                    let mut quick = Transfer::new([target()]).unwrap();
                    quick.take(&region, Change::Double).unwrap();
                    let mut slow = Transfer::new([target()]).unwrap();
                    let form = region.table.form();
                    for (slot, place) in
                        (0..form.slots()).flat_map(|slot| (0..shape.places).map(move |place| (slot, place)))
                    {
                        let content = region.table.read(form.slot(form.bit(place), slot));
                        if content != 0 {
                            let entry = region.entry_of(place, content);
                            splits += u32::from(entry.doubled(region.bits()).1.is_some());
                            slow.settle((entry, 1), region.bits(), Change::Double).unwrap();
                        }
                    }
                    let ([quick], [slow]) = (quick.finish().unwrap(), slow.finish().unwrap());
                    assert!(quick == slow);
                    assert_eq!(quick.counts(), slow.counts());
                    assert_eq!(quick.counted_entries(), quick.counts(), "the entries and their weight");
                }
                region = match growth::doubled(&region, &layout).unwrap() {
                    Grown::One(region) | Grown::Two([region, _]) => region,
                };
            }
        }
        assert!(splits > 100, "{splits} entries had no bits left");
    }
}
