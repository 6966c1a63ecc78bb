//! The elastic filter: a cuckoo filter that needs no capacity.
//!
//! ```text
//!   hash     group | directory bits | ..
//!                        |
//!                00 01 10 11            directory: leads to the region of a prefix (extendible hashing, Fagin et al. 1979)
//!                 |  |  |  |
//!                 A  B  C  C            regions: tables of their own, which grow alone (`region.rs`, `growth.rs`)
//! ```
//!
//! All fingerprints of a region have slots of one width. A fingerprint ends with a mark, so that older, shorter ones
//! fit too (`bits/prefixes.rs`). A region that is full gets one more slot for every place, three times in a doubling
//! of its keys; then its places are doubled, or it is split into two regions. That takes one bit of every
//! fingerprint, which becomes a bit of the place. `layout.rs` chooses how long new fingerprints are, so that the rate
//! stays below the promise. Hashes are divided into four groups, whose regions have different numbers of places, so
//! that the groups grow at different times.
//!
//! # Why removals lose no keys
//!
//! An *entry* is what the filter knows of a stored copy: the interval of all hashes that have the prefix of its
//! region, its place, and its fingerprint. Call a filter *sound* if its entries can be assigned to the stored copies
//! of keys, at least one to each and none to two, so that every copy lies in the interval of its entries; where it
//! has several, in the one that covers its hash. In a sound filter every stored key is found, and at least as many
//! copies are counted as were stored. Every operation keeps a filter sound:
//!
//! - *Inserting* adds one copy, and an entry whose interval contains it.
//! - *Growing* moves bits from the fingerprint to the place: the interval stays the same. If an entry has no bits left,
//!   it becomes two entries with half of the interval each; one of them contains the copy.
//! - *Shrinking* moves bits back, and may drop the last bits of a fingerprint: the interval grows.
//! - *Removing* a stored x takes, of all entries whose intervals contain x, one with the smallest interval: t. Let s be
//!   the entry of x that contains it. If s is t, we are done. Otherwise the interval of s is not smaller than that of t.
//!   Intervals are disjoint or nested, and both contain x, so that of s contains that of t. If t belongs to a copy of
//!   some y, then y lies in the interval of s, and s can be assigned to y instead. If t belongs to nobody (it was one of
//!   two, and the other served), s stays behind and belongs to nobody.
//!
//! The last step requires that the smallest interval is taken: the longest fingerprint. `tests.rs` shows a key that
//! is lost if any other match is removed.

mod audit;
mod batch;
mod bulk;
mod content;
mod directory;
mod engine;
mod entry;
mod growth;
mod layout;
mod merge;
mod overflow;
mod put;
mod region;
mod shape;
mod shared;
#[cfg(test)]
mod tests;
mod transfer;
mod union;

pub(crate) use audit::RegionFlaw;
pub(crate) use directory::Elastic;
pub(crate) use entry::Entry;
pub use layout::ElasticLayout;
pub(crate) use layout::{BASES, FEWEST_SLOTS, GROUP_BITS, GROUPS, LARGEST, LEVEL_END, LEVELS, MOST_SLOTS};
pub(crate) use region::Region;
pub(crate) use shape::Shape;
