//! `Elastic`: the regions of all hashes, and the directory that leads to them.

use core::mem::replace;
use std::time::{Duration, Instant};

use crate::bits::Words;
use crate::bits::chosen::Chosen;
use crate::bits::cpu::Cpu;
use crate::engine::{Counters, MOST_COPIES};
use crate::error::{Error, Full};
use crate::key::KeyHash;

use super::batch::{Holds, PlainlyHolds};
use super::growth::{self, Grown, Step};
use super::layout::{BASES, ElasticLayout, GROUP_BITS, GROUPS, LARGEST};
use super::put::PutKey;
use super::region::Region;
use super::shape::Shape;
use super::shared::Moved;

/// How much deeper than the average a region may be, in bits. Beyond that, hashes were chosen by an enemy.
pub(super) const MOST_EXCESS: u32 = 8;

/// How often regions have grown and shrunk since the filter was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GrowthCounts {
    /// Regions that were widened, doubled or split.
    pub(crate) grown: u64,
    /// Regions that were narrowed, halved or joined.
    pub(crate) shrunk: u64,
    /// The longest of those that single inserts and removals have waited for.
    pub(crate) longest: Duration,
}

/// A filter that grows region by region.
#[derive(Clone, Debug)]
pub(crate) struct Elastic {
    pub(super) layout: ElasticLayout,
    /// Bits of a hash that the directory uses.
    pub(super) bits: u32,
    pub(super) directory: Vec<u32>,
    pub(super) regions: Vec<Region>,
    /// The number of stored copies.
    pub(super) len: u64,
    /// The bytes of all regions.
    table_bytes: usize,
    /// Whether regions may have entries in their overflow.
    overflows: bool,
    /// Whether all regions are plain.
    is_plain: bool,
    pub(super) counters: Counters,
    steps: GrowthCounts,
    /// The hashes whose tables have moved since readers without locks were told.
    pub(super) moved: Moved,
    pub(super) cpu: Cpu,
    pub(super) lookup: Chosen<Self>,
}

impl ElasticLayout {
    /// Bytes of memory of an empty filter.
    pub(crate) fn first_bytes(&self) -> u64 {
        let group = |group: usize| {
            let (copies, shape) = first_shape(self, group);
            copies * (size_of::<Region>() as u64 + Words::bytes_for(shape.buffer_bits()))
        };
        let deepest = first_shape(self, 0).1.depth;
        let directory = (size_of::<u32>() as u64) << deepest;
        size_of::<Elastic>() as u64 + (0..GROUPS).map(group).sum::<u64>() + directory
    }
}

/// The regions of a group in an empty filter: their number, and the shape of the first of them.
fn first_shape(layout: &ElasticLayout, group: usize) -> (u64, Shape) {
    let (level, slots) = layout.first(group);
    let bits = level.saturating_sub(LARGEST);
    let shape = Shape {
        prefix: (group as u64) << (64 - GROUP_BITS),
        depth: GROUP_BITS + bits,
        places: BASES[group] << level.min(LARGEST),
        slots,
        tag_bits: layout.tag_bits(level),
        value_bits: layout.value_bits,
    };
    (1 << bits, shape)
}

impl Elastic {
    /// An empty filter.
    pub(crate) fn new(layout: &ElasticLayout) -> Result<Self, Error> {
        Words::expect_room(layout.first_bytes())?;
        let regions = Self::first_shapes(layout).map(Region::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of_regions(layout, regions, 0))
    }

    /// The shapes of the regions of an empty filter, in the order of their prefixes.
    pub(crate) fn first_shapes(layout: &ElasticLayout) -> impl Iterator<Item = Shape> {
        (0..GROUPS).flat_map(|group| {
            let (regions, shape) = first_shape(layout, group);
            (0..regions).map(move |i| Shape { prefix: shape.prefix | i << (64 - shape.depth), ..shape })
        })
    }

    /// The filter with these regions, which have all prefixes in ascending order, and so many copies.
    pub(crate) fn of_regions(layout: &ElasticLayout, regions: Vec<Region>, len: u64) -> Self {
        let cpu = Cpu::detect();
        let mut elastic = Self {
            layout: *layout,
            bits: GROUP_BITS,
            directory: Vec::new(),
            regions,
            len,
            table_bytes: 0,
            overflows: false,
            is_plain: false,
            counters: Counters::default(),
            steps: GrowthCounts::default(),
            moved: Moved::ALL,
            cpu,
            lookup: cpu.choose::<Self, Holds>(),
        };
        elastic.set_least();
        elastic.lead();
        elastic
    }

    /// Makes the directory lead to the regions, which have all prefixes in ascending order.
    pub(super) fn lead(&mut self) {
        let depths = self.regions.iter().map(|region| region.shape().depth);
        self.bits = depths.max().expect("there are regions");
        self.directory.clear();
        for (i, region) in (0u32..).zip(&self.regions) {
            let entries = 1usize << (self.bits - region.shape().depth);
            self.directory.extend(core::iter::repeat_n(i, entries));
        }
        debug_assert_eq!(self.directory.len(), 1 << self.bits, "the prefixes are complete");
        self.moved = Moved::ALL;
        self.measure();
    }

    /// Sums up the memory of the regions, and what lookups must know of all of them.
    fn measure(&mut self) {
        self.table_bytes = self.regions.iter().map(Region::bytes).sum();
        self.overflows = self.regions.iter().any(|region| !region.overflow().is_empty());
        self.is_plain = self.regions.iter().all(Region::is_plain);
        self.lookup = self.cpu.choose::<Self, Holds>();
        if self.is_plain {
            self.lookup = self.cpu.choose::<Self, PlainlyHolds>();
        }
    }

    /// Takes note of what lookups must know of the region `at`, which has changed.
    fn look_at(&mut self, at: usize) {
        let region = &self.regions[at];
        self.overflows |= !region.overflow().is_empty();
        if self.is_plain && !region.is_plain() {
            self.is_plain = false;
            self.lookup = self.cpu.choose::<Self, Holds>();
        }
    }

    /// Whether some region has entries in its overflow.
    pub(super) fn has_overflow(&self) -> bool {
        self.overflows
    }

    /// Whether all regions are plain.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Where in the directory a hash is.
    #[inline(always)]
    fn index(&self, hash: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the directory")]
        let index = (hash >> (64 - self.bits)) as usize;
        index
    }

    /// The number of the region of a hash.
    #[inline(always)]
    pub(super) fn region_of(&self, hash: KeyHash) -> usize {
        self.directory[self.index(hash.to_raw())] as usize
    }

    #[inline(always)]
    pub(super) fn region(&self, hash: KeyHash) -> &Region {
        &self.regions[self.region_of(hash)]
    }

    /// The way to the regions, for loops that look many keys up.
    #[inline(always)]
    pub(super) fn finder(&self) -> Finder<'_> {
        Finder { shift: 64 - self.bits, directory: &self.directory, regions: &self.regions }
    }

    /// The entries of the directory that lead to the region with this shape.
    pub(super) fn range(&self, shape: &Shape) -> core::ops::Range<usize> {
        let begin = self.index(shape.prefix);
        begin..begin + (1 << (self.bits - shape.depth))
    }

    /// The regions in the order of their prefixes.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Region> + Clone {
        let mut at = 0;
        core::iter::from_fn(move || {
            let region = &self.regions[*self.directory.get(at)? as usize];
            at = self.range(&region.shape()).end;
            Some(region)
        })
    }

    /// Puts the regions into the order of their prefixes.
    pub(super) fn sort_regions(&mut self) {
        if !self.regions.is_sorted_by_key(|region| region.shape().prefix) {
            self.regions.sort_unstable_by_key(|region| region.shape().prefix);
            self.lead();
        }
    }

    pub(crate) fn layout(&self) -> &ElasticLayout {
        &self.layout
    }

    pub(crate) fn steps(&self) -> GrowthCounts {
        self.steps
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let overflow = self.regions.iter().filter(|_| self.overflows).map(|region| region.overflow().bytes());
        size_of::<Self>()
            + self.directory.len() * size_of::<u32>()
            + self.table_bytes
            + overflow.sum::<usize>()
    }

    /// Bytes of all tables.
    pub(super) fn table_bytes(&self) -> usize {
        self.table_bytes
    }

    /// Slots of all tables.
    pub(crate) fn slots(&self) -> u64 {
        self.regions.iter().map(|region| u64::from(region.shape().places * region.shape().slots)).sum()
    }

    /// Entries in all tables. Copies in the overflow are not among them.
    pub(crate) fn entries(&self) -> u64 {
        self.regions.iter().map(|region| u64::from(region.entries)).sum()
    }

    /// Copies without a slot.
    pub(crate) fn overflow_len(&self) -> u64 {
        crate::engine::saturating_sum(self.regions.iter().map(|region| region.overflow().len()))
    }

    /// The number of entries that the regions take before the next of them grows, about.
    pub(crate) fn head_room(&self) -> u64 {
        self.regions.iter().map(|region| u64::from(region.most.saturating_sub(region.entries))).sum()
    }

    /// The rate: the chance that some entry matches a stranger, if the stored keys are distinct, and an upper bound
    /// otherwise.
    pub(crate) fn rate(&self) -> f64 {
        -(-self.regions.iter().map(Region::expected_matches).sum::<f64>()).exp_m1()
    }

    /// How many entries have fingerprints of each length: (length, entries), ascending. Reads all tables.
    pub(crate) fn lengths(&self) -> Vec<(u32, u64)> {
        let mut counts = [0; 64];
        for region in &self.regions {
            region.each_length(|length, copies| {
                let count: &mut u64 = &mut counts[length as usize];
                *count = count.saturating_add(copies);
            });
        }
        (0..64).zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// Removes everything.
    pub(super) fn reset(&mut self) {
        let beside = &self.regions[0];
        let first = Self::first_shapes(&self.layout).map(|shape| beside.beside(shape));
        let first = first.collect::<Result<Vec<_>, _>>();
        if let Ok(regions) = first {
            self.regions = regions;
        } else {
            // Without memory for the first tables, the present ones are emptied.
            self.regions.iter_mut().for_each(Region::empty);
            self.regions.sort_unstable_by_key(|region| region.shape().prefix);
        }
        self.len = 0;
        self.set_least();
        self.lead();
    }

    /// Tells every region when it shrinks.
    fn set_least(&mut self) {
        for region in &mut self.regions {
            region.least = growth::least(&self.layout, &region.shape());
        }
    }

    /// A copy, if the system has the memory.
    pub(crate) fn try_clone(&self) -> Result<Self, Error> {
        let mut regions = Vec::new();
        let bytes = self.memory() as u64;
        regions.try_reserve_exact(self.regions.len()).map_err(|_| Error::Allocation { bytes })?;
        for region in &self.regions {
            regions.push(region.try_clone()?);
        }
        let mut directory = Vec::new();
        directory.try_reserve_exact(self.directory.len()).map_err(|_| Error::Allocation { bytes })?;
        directory.extend_from_slice(&self.directory);
        Ok(Self { directory, regions, ..*self })
    }

    /// Stores one copy of a key. If the system has no memory, or there are as many copies as are counted, nothing
    /// changes.
    #[inline]
    pub(super) fn store(&mut self, hash: KeyHash, value: u16) -> Result<(), Full> {
        if self.len >= MOST_COPIES {
            return Err(self.refused());
        }
        let at = self.region_of(hash);
        match self.cpu.run(PutKey(&mut self.regions[at], hash, value)) {
            Some(0) => {}
            Some(steps) => self.counters.walked(steps),
            None => self.store_otherwise(hash, value)?,
        }
        self.len += 1;
        Ok(())
    }

    /// Counts a refusal.
    #[cold]
    fn refused(&mut self) -> Full {
        self.counters.failures += 1;
        Full
    }

    /// Stores one copy of a key whose region is full, or for which no walk finds room.
    #[cold]
    fn store_otherwise(&mut self, hash: KeyHash, value: u16) -> Result<(), Full> {
        loop {
            let (at, deepest) = (self.region_of(hash), self.deepest());
            // Reading the clock takes longer than a walk, so it is read only where a region is about to grow.
            let begun = (self.regions[at].entries >= self.regions[at].most).then(Instant::now);
            let region = &mut self.regions[at];
            let step = growth::store_or_grow(region, (hash, value), &self.layout, deepest);
            self.note_overflow(at);
            match step.inspect_err(|Full| self.counters.failures += 1)? {
                Step::Stored(steps) => {
                    self.counters.walked(steps);
                    return Ok(());
                }
                Step::Grown(grown) => {
                    self.put_grown(at, grown).inspect_err(|Full| self.counters.failures += 1)?;
                    let took = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
                    self.steps.longest = self.steps.longest.max(took);
                }
            }
        }
    }

    /// Remembers whether the region `at` has entries in its overflow.
    pub(super) fn note_overflow(&mut self, at: usize) {
        self.look_at(at);
        self.moved.add(&self.regions[at].shape());
    }

    /// The depth beyond which regions are not split.
    pub(super) fn deepest(&self) -> u32 {
        self.regions.len().ilog2() + MOST_EXCESS
    }

    /// Doubles the places of the region `at`.
    pub(super) fn double(&mut self, at: usize) -> Result<(), Full> {
        let grown = growth::doubled(&self.regions[at], &self.layout)?;
        self.put_grown(at, grown)
    }

    /// Puts what the region `at` has become into its place.
    pub(super) fn put_grown(&mut self, at: usize, grown: Grown) -> Result<(), Full> {
        match grown {
            Grown::One(region) => self.replace(at, region),
            Grown::Two([first, second]) => {
                self.make_room(first.shape().depth)?;
                self.replace(at, first);
                self.add(second);
            }
        }
        self.count_grown(1);
        Ok(())
    }

    /// Counts steps of growth.
    pub(super) fn count_grown(&mut self, steps: u64) {
        self.steps.grown += steps;
    }

    /// Makes room in the directory for regions of this depth, and in the list of regions for one more.
    fn make_room(&mut self, depth: u32) -> Result<(), Full> {
        self.regions.try_reserve(1).map_err(|_| Full)?;
        if depth > self.bits {
            let mut directory = Vec::new();
            directory.try_reserve_exact(2 * self.directory.len()).map_err(|_| Full)?;
            directory.extend(self.directory.iter().flat_map(|region| [*region; 2]));
            (self.directory, self.bits) = (directory, self.bits + 1);
            self.moved = Moved::ALL;
        }
        Ok(())
    }

    /// Replaces the region `at`, and leads the directory to the new one.
    fn replace(&mut self, at: usize, region: Region) {
        self.moved.add(&region.shape());
        self.table_bytes += region.bytes();
        let range = self.range(&region.shape());
        self.table_bytes -= replace(&mut self.regions[at], region).bytes();
        self.directory[range].fill(u32::try_from(at).expect("as many regions as fit into memory"));
        self.look_at(at);
    }

    /// Adds a region, and leads the directory to it.
    fn add(&mut self, region: Region) {
        self.moved.add(&region.shape());
        self.table_bytes += region.bytes();
        let range = self.range(&region.shape());
        self.directory[range]
            .fill(u32::try_from(self.regions.len()).expect("as many regions as fit into memory"));
        self.regions.push(region);
        self.look_at(self.regions.len() - 1);
    }

    /// Takes a region out. The directory no longer leads to it.
    fn drop_region(&mut self, at: usize) {
        self.table_bytes -= self.regions.swap_remove(at).bytes();
        if let Some(moved) = self.regions.get(at) {
            let range = self.range(&moved.shape());
            self.directory[range].fill(u32::try_from(at).expect("as many regions as fit into memory"));
        }
    }

    /// Removes one copy of a key with this value; returns whether there was one.
    #[inline]
    pub(super) fn remove_one(&mut self, hash: KeyHash, value: u16) -> bool {
        let at = self.region_of(hash);
        let region = &mut self.regions[at];
        let overflowed = !region.overflow().is_empty();
        if !region.remove(hash, value) {
            return false;
        }
        let overflows_no_more = overflowed && region.overflow().is_empty();
        // A file may count fewer copies than it has entries.
        self.len = self.len.saturating_sub(1);
        if overflows_no_more {
            self.note_overflow(at);
        }
        if self.len == 0 {
            self.reset();
        } else if self.regions[at].entries < self.regions[at].least {
            self.shrink(at);
        }
        true
    }

    /// Makes the region `at` smaller, if that is possible now.
    #[cold]
    fn shrink(&mut self, at: usize) {
        let (region, layout, begun) = (&self.regions[at], &self.layout, Instant::now());
        let shape = region.shape();
        let narrows = shape.slots > super::layout::FEWEST_SLOTS || !growth::was_split(&shape);
        let shrunk = if narrows {
            growth::shrunk(region, layout).map(|region| self.replace(at, region))
        } else {
            self.join(at)
        };
        match shrunk {
            Ok(()) => {
                self.steps.shrunk += 1;
                self.steps.longest = self.steps.longest.max(begun.elapsed());
            }
            // What has no room, or no memory, would have none after the next removal either.
            Err(Full) => self.regions[at].least = self.regions[at].entries / 8 * 7,
        }
    }

    /// Joins the region `at` and its sibling, if that is as deep and also has few entries.
    fn join(&mut self, at: usize) -> Result<(), Full> {
        let shape = self.regions[at].shape();
        let bit = 1 << (64 - shape.depth);
        let sibling = self.region_of(KeyHash::from_raw(shape.prefix ^ bit));
        let (first, second) = if shape.prefix & bit == 0 { (at, sibling) } else { (sibling, at) };
        let joined = growth::joined(&self.regions[first], &self.regions[second], &self.layout)?;
        self.replace(first, joined);
        self.drop_region(second);
        // The directory stays as it is, unless it has become much longer than needed.
        if self.directory.len() > 8 << MOST_EXCESS
            && self.directory.len() > self.regions.len() << (MOST_EXCESS + 1)
        {
            self.regions.sort_unstable_by_key(|region| region.shape().prefix);
            self.lead();
        }
        Ok(())
    }
}

/// The directory and the regions of a filter that does not change meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Finder<'a> {
    shift: u32,
    directory: &'a [u32],
    regions: &'a [Region],
}

impl<'a> Finder<'a> {
    #[inline(always)]
    pub(super) fn region(self, hash: KeyHash) -> &'a Region {
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the directory")]
        let index = (hash.to_raw() >> self.shift) as usize;
        &self.regions[self.directory[index] as usize]
    }
}

/// Equal content. Counters do not matter.
impl PartialEq for Elastic {
    fn eq(&self, other: &Self) -> bool {
        self.layout == other.layout && self.len == other.len && self.in_order().eq(other.in_order())
    }
}
