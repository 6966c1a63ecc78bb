//! How regions grow and shrink, one at a time.
//!
//! ```text
//!   widen    4 -> 5 -> 6 -> 7 slots for every place: a copy, place by place
//!   double   twice the places, 4 slots each: the first bit of every fingerprint becomes the last bit of its place
//!   split    the same, when the region is already as large as it may be: the first bit of the place then becomes the
//!            last bit of the prefix, and there are two regions
//! ```
//!
//! Shrinking does the reverse. A region is built anew beside the old one, which it then replaces; if anything fails,
//! the old one stays.

use crate::engine::Copied;
use crate::error::Full;

use super::entry::Entry;
use super::layout::{BASES, ElasticLayout, FEWEST_SLOTS, GROUP_BITS, LARGEST, LEVEL_END, MOST_SLOTS, limit};
use super::region::Region;
use super::shape::Shape;
use super::transfer::{Change, Transfer};

/// The most copies of an entry that a table holds.
pub(super) const MOST_IN_TABLE: u64 = 2 * MOST_SLOTS as u64;

/// The share of the most entries that a region has at most after it has shrunk, so that it does not grow at once.
const SHRUNK: f64 = 0.8;

/// The share of the most entries below which a region that refuses an entry does not grow: that entry, or others with
/// the same places, must be there too often.
const WORTH_GROWING: f64 = 0.8;

/// What a region becomes.
pub(super) enum Grown {
    One(Region),
    Two([Region; 2]),
}

/// The outcome of an attempt to store an entry.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Step {
    /// It is stored, after a walk of so many steps.
    Stored(u64),
    /// It is not stored. The region becomes a larger one first.
    Grown(Grown),
}

/// Stores a copy of a key in a region whose places are full, or which is, or makes the region larger unless it is
/// deeper than `deepest`. If the system has no memory, nothing changes.
#[cold]
pub(super) fn store_or_grow(
    region: &mut Region,
    (hash, value): Copied,
    layout: &ElasticLayout,
    deepest: u32,
) -> Result<Step, Full> {
    store_entry_or_grow(region, region.entry(hash, value), layout, deepest)
}

/// The same for an entry that may be shorter than that of a key.
pub(super) fn store_entry_or_grow(
    region: &mut Region,
    entry: Entry,
    layout: &ElasticLayout,
    deepest: u32,
) -> Result<Step, Full> {
    let is_full = region.entries >= region.most;
    if !is_full && let Some(steps) = region.put(entry) {
        return Ok(Step::Stored(steps));
    }
    let worth = f64::from(region.entries) >= WORTH_GROWING * f64::from(region.most);
    let grows = is_full || (worth && !region.is_full_of(entry));
    let shape = region.shape();
    if grows
        && (shape.depth <= deepest || shape.slots < MOST_SLOTS)
        && let Ok(grown) = grown(region, layout)
    {
        return Ok(Step::Grown(grown));
    }
    // A table that does not grow still has a few slots.
    if is_full && let Some(steps) = region.put(entry) {
        return Ok(Step::Stored(steps));
    }
    region.put_over(entry, 1).map(|()| Step::Stored(0))
}

/// The number of doublings of a region since level 0.
pub(crate) fn level(shape: &Shape) -> u32 {
    shape.depth - GROUP_BITS + (shape.places / BASES[shape.group()]).ilog2()
}

/// Whether a region is as large as it may be, so that its next doubling splits it.
fn is_largest(shape: &Shape) -> bool {
    shape.places >= BASES[shape.group()] << LARGEST
}

/// The fewest slots with room for so many entries.
fn slots_for(entries: u64, places: u32) -> u32 {
    (FEWEST_SLOTS..MOST_SLOTS).find(|slots| entries <= u64::from(limit(places, *slots))).unwrap_or(MOST_SLOTS)
}

/// An empty region whose table is where that of another is.
fn empty(beside: &Region, layout: &ElasticLayout, shape: Shape) -> Result<Region, Full> {
    let mut region = beside.beside(shape).map_err(|_| Full)?;
    region.least = least(layout, &shape);
    Ok(region)
}

/// The number of entries below which a region shrinks.
pub(super) fn least(layout: &ElasticLayout, shape: &Shape) -> u32 {
    let level = level(shape);
    let smaller = if (level, shape.slots) <= layout.first(shape.group()) {
        0.0
    } else if shape.slots > FEWEST_SLOTS || level == 0 {
        f64::from(limit(shape.places, shape.slots - 1))
    } else {
        f64::from(limit(shape.places, MOST_SLOTS)) / 2.0
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fewer than the slots")]
    let least = (SHRUNK * smaller) as u32;
    least
}

/// One slot more for every place, or twice the places, or two regions.
pub(super) fn grown(region: &Region, layout: &ElasticLayout) -> Result<Grown, Full> {
    let shape = region.shape();
    if shape.slots < MOST_SLOTS {
        return widened(region, layout, shape.slots + 1).map(Grown::One);
    }
    doubled(region, layout)
}

/// More slots for every place.
pub(super) fn widened(region: &Region, layout: &ElasticLayout, slots: u32) -> Result<Region, Full> {
    let mut wider = region.widened(slots)?;
    wider.least = least(layout, &wider.shape());
    Ok(wider)
}

/// Twice the places: one region, or two.
pub(super) fn doubled(region: &Region, layout: &ElasticLayout) -> Result<Grown, Full> {
    let shape = region.shape();
    if level(&shape) + 1 >= LEVEL_END {
        return Err(Full);
    }
    let tag_bits = layout.tag_bits(level(&shape) + 1);
    if is_largest(&shape) {
        return split(region, layout, tag_bits).map(Grown::Two);
    }
    let places = 2 * shape.places;
    let over = region.overflow().sorted();
    let over: u64 = over.into_iter().map(|(_, copies)| copies.min(MOST_IN_TABLE)).sum();
    let slots = slots_for(u64::from(region.entries) + over, places);
    let mut transfer = Transfer::new([empty(region, layout, Shape { places, slots, tag_bits, ..shape })?])?;
    transfer.take(region, Change::Double)?;
    let [larger] = transfer.finish()?;
    Ok(Grown::One(larger))
}

/// Two regions with as many places each.
fn split(region: &Region, layout: &ElasticLayout, tag_bits: u32) -> Result<[Region; 2], Full> {
    let shape = region.shape();
    let depth = shape.depth + 1;
    let in_second = region.entries_from(shape.places.div_ceil(2));
    let mut counts = [u64::from(region.entries - in_second), in_second.into()];
    for (entry, copies) in region.overflow().sorted() {
        let half = usize::from(2 * entry.place >= u64::from(shape.places));
        counts[half] += copies.min(MOST_IN_TABLE);
    }
    let child = |i: usize| {
        let (prefix, slots) = (shape.prefix | (i as u64) << (64 - depth), slots_for(counts[i], shape.places));
        empty(region, layout, Shape { prefix, depth, slots, tag_bits, ..shape })
    };
    let mut transfer = Transfer::new([child(0)?, child(1)?])?;
    transfer.take(region, Change::Double)?;
    transfer.finish()
}

/// A region with fewer slots or half of the places, if it has room for all entries. Regions that were split cannot be
/// halved, only [joined].
pub(super) fn shrunk(region: &Region, layout: &ElasticLayout) -> Result<Region, Full> {
    let shape = region.shape();
    if shape.slots > FEWEST_SLOTS || level(&shape) == 0 {
        let slots = shape.slots - 1;
        return filled(layout, Shape { slots, ..shape }, &[(region, 0, 0)]);
    }
    let places = shape.places / 2;
    let smaller = half(layout, Shape { places, ..shape }, region.entries.into());
    filled(layout, smaller, &[(region, 0, 1)])
}

/// Whether a region has a sibling to be joined with.
pub(super) fn was_split(shape: &Shape) -> bool {
    shape.depth > GROUP_BITS
}

/// One region for two of equal depth, given in the order of their prefixes, if both have few entries.
pub(super) fn joined(one: &Region, other: &Region, layout: &ElasticLayout) -> Result<Region, Full> {
    let shape = one.shape();
    let entries = u64::from(one.entries) + u64::from(other.entries);
    if other.shape().depth != shape.depth
        || entries as f64 > SHRUNK * f64::from(limit(shape.places, MOST_SLOTS))
    {
        return Err(Full);
    }
    let smaller = half(layout, Shape { depth: shape.depth - 1, ..shape }, entries);
    filled(layout, smaller, &[(one, 0, 1), (other, u64::from(shape.places), 1)])
}

/// The shape one level below, with slots for so many entries.
fn half(layout: &ElasticLayout, shape: Shape, entries: u64) -> Shape {
    // A little more than needed: these tables are filled by walks.
    let slots = slots_for(entries + entries / 16, shape.places);
    Shape { slots, tag_bits: layout.tag_bits(level(&shape)), ..shape }
}

/// A region of this shape with the entries of others, each of which begins at a place and is some levels higher.
fn filled(layout: &ElasticLayout, shape: Shape, regions: &[(&Region, u64, u32)]) -> Result<Region, Full> {
    let mut transfer = Transfer::new([empty(regions[0].0, layout, shape)?])?;
    for &(source, first, levels) in regions {
        transfer.take(source, Change::Halve { first, levels })?;
    }
    let [region] = transfer.finish_in_tables()?;
    Ok(region)
}
