//! The Bloom family.

mod blocked;
mod choice;
mod curve;
mod estimate;
mod fill;
mod layout;
pub(crate) mod model;
pub(crate) mod pattern;
mod plain;
mod sizing;
mod table;

pub use blocked::Blocked;
pub use choice::Cost;
pub use curve::Curve;
pub use fill::Fill;
pub use layout::{BlockedLayout, BloomLayout};
pub use pattern::{Distinct, Pattern, Random, Spread};
pub use plain::Bloom;

pub(crate) use blocked::MOST_CHOICES;
pub(crate) use sizing::{BlockedWish, PlainWish, wish};
