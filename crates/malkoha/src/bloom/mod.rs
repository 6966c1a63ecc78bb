//! The Bloom family: filters that are never full, insert in constant time and degrade smoothly.
//!
//! ```text
//!   hash -> candidate blocks            blocked.rs   one to four of 512 bits; plain.rs: the whole table
//!        -> pattern                     pattern.rs   the bits of the key: random, distinct or spread
//!        -> the block where it costs    choice.rs    mixed, look-ahead or exponential cost; only if there
//!           least                                    is a choice
//!   one key, or many, on this CPU       work.rs      for the blocked filter; staged.rs: for the plain one;
//!                                                    rows.rs hashes integers
//!   rate <- model of the block load     model.rs     curve.rs and table.rs hold its results, sizing.rs
//!                                                    turns them into sizes
//! ```
//!
//! Two filters, [`Bloom`] and [`Blocked`], after Schmitz, Zentgraf, Rahmann: Blocked Bloom Filters with
//! Choices, 2025 ("the paper" throughout this module). The invariant of both: bits are set and never cleared,
//! so a stored key is always found. Hence they can neither remove nor count, and two of them merge by OR.
//!
//! # Which filter for which rate
//!
//! Size is relative to an optimal plain filter, 1.443 k bits per key for rate 2^-k, as `Spec` plans it
//! (`cargo run --release --example bloom_sizes`). Lines are the cache lines that a lookup of an absent key
//! touches: on average two for a plain filter that stops at the first unset bit. (For slices it prefetches
//! three lines first, and CPUs with AVX-512 fetch eight at a time: `staged.rs`, `plain.rs`.)
//!
//! | kind | k = 4 | k = 7 | k = 10 | k = 14 | k = 17 | k = 20 | lines |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | `bloom` | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 2 |
//! | `blocked:1` spread | 1.170 | 1.063 | 1.105 | 1.210 | 1.270 | 1.367 | 1 |
//! | `blocked:1` random | 1.029 | 1.055 | 1.100 | 1.181 | 1.264 | 1.365 | 1 |
//! | `blocked:2` random | 1.060 | 1.016 | 1.005 | 1.006 | 1.013 | 1.023 | 2 |
//! | `blocked:3` random | 1.077 | 1.013 | 0.995 | 0.990 | 0.992 | 0.997 | 3 |
//! | `blocked:4` random | 1.088 | 1.012 | 0.989 | 0.980 | 0.981 | 0.986 | 4 |
//!
//! - k up to 3: the plain filter is as good as any.
//! - k from 3 to 7, or where time matters more than memory: one choice, `blocked:1`; from k = 6 on the spread
//!   pattern takes half the time of the random one for 1 to 3 % more memory.
//! - k above 7 where memory matters: two choices, `blocked:2`, the size of a plain filter for two cache lines.
//! - k from 10 where memory is scarce: three choices, smaller than a plain filter, for a third cache line.
//!   Distinct patterns save up to another 1 %, and so does a fourth choice.
//! - Where keys are removed, or never exceed the plan, a cuckoo kind is smaller from k = 6 on: sorted buckets
//!   need (k + 2) / 0.96 bits per key instead of 1.44 k.
//!
//! # What a rate is here
//!
//! The promised rate is the average over filters of a geometry once the planned keys are stored. A single
//! filter deviates from it: with choices by less than 1 % at 10^6 keys; with one choice by 1 % at k = 16, 2 %
//! at k = 20, and 5 % at k = 24 (one sigma), because a few overfull blocks dominate the rate there. The
//! deviation falls with the square root of the number of keys. The actual rate of a filter can be computed
//! from its bits: [`Blocked::rate_from_fill`].
//!
//! All bits of a key are derived from the 64 bits of its hash, so no rate falls below n 2^-64.

mod atomic;
mod blocked;
mod choice;
mod curve;
mod estimate;
mod layout;
mod model;
mod pattern;
mod plain;
mod sizing;
mod staged;
mod table;
#[cfg(test)]
mod tests;
mod work;

pub use blocked::Blocked;
pub use choice::Cost;
pub use curve::Curve;
pub use layout::{BlockedLayout, BloomLayout};
pub use pattern::{Distinct, Random, Spread};
pub use plain::Bloom;

pub(crate) use sizing::{BlockedWish, MOST_BLOOM_KEYS, PlainWish, check, wish};
