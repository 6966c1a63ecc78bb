//! Membership filters that never lose a key.
//!
//! A filter answers "is this key in the set?" from a few bits per key. `false` is always right. `true` is sometimes
//! wrong, at a rate that you choose.
//!
//! # Inserts and deletes: the cuckoo family
//!
//! ```
//! use malkoha::Spec;
//!
//! let mut filter = Spec::new(1_000_000, 0.001).build()?;
//! filter.insert("cuckoo")?;
//! assert!(filter.contains("cuckoo"));
//! assert!(filter.remove("cuckoo")?);
//! # Ok::<(), malkoha::Error>(())
//! ```
//!
//! Once the filter holds as many keys as planned, further inserts may be refused. A refused insert changes nothing.
//! See [`Filter`] for the exact guarantee.
//!
//! # No deletes, never full: the Bloom family
//!
//! ```
//! use malkoha::{Kind, Spec};
//!
//! let mut filter = Spec::new(1000, 0.001).kind(Kind::Blocked(2)).build()?;
//! for key in 0..1500u64 {
//!     filter.insert(&key)?;
//! }
//! assert!(filter.contains(&1499u64), "never full; the rate rises instead");
//! # Ok::<(), malkoha::Error>(())
//! ```
//!
//! # Many keys at once
//!
//! ```
//! use malkoha::Spec;
//!
//! let keys: Vec<u64> = (0..100_000).collect();
//! let filter = Spec::new(100_000, 0.001).threads(2).build_from(&keys)?;
//! assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
//! # Ok::<(), malkoha::Error>(())
//! ```
//!
//! # An unknown number of keys
//!
//! ```
//! use malkoha::{Generations, Inserted, Spec};
//!
//! // A rate is all that it needs: it grows in small steps, removes, and gives memory back.
//! let mut filter = Spec::rate(0.001).build()?;
//! filter.insert_slice(&(0..50_000u64).collect::<Vec<_>>())?;
//! assert!(filter.remove(&17u64)?);
//! assert!(filter.stats().predicted_rate <= 0.001);
//!
//! // Remembers the keys of the last 3600 ticks.
//! let mut events = Generations::of_ticks(&Spec::new(1000, 0.001), 4, 3600)?;
//! assert_eq!(events.insert_unique_at("event 1", 0)?, Inserted::Stored);
//! assert_eq!(events.insert_unique_at("event 1", 3000)?, Inserted::Seen);
//! # Ok::<(), malkoha::Error>(())
//! ```
//!
//! See [`Spec::growing`] for the cost of growth, and [`Spec::most_keys`] for how to lower it. [`Filter::double`] and
//! [`Filter::rebuild_from`] are alternatives.
//! See [`Generations`] for what a sliding window guarantees.
//!
//! # Many threads at once
//!
//! ```
//! use malkoha::Spec;
//!
//! let filter = Spec::new(100_000, 0.001).sharded(16).build()?;
//! std::thread::scope(|scope| {
//!     scope.spawn(|| (0..50_000u64).for_each(|key| filter.insert(&key).unwrap()));
//!     scope.spawn(|| filter.contains("malkoha"));
//! });
//! assert_eq!(filter.len(), 50_000);
//! # Ok::<(), malkoha::Error>(())
//! ```
//!
//! Inserts, lookups and removals of [`Sharded`] take `&self`. Lookups take no locks. A change waits only for other changes
//! of the same shard, and while the filter is saved or copied. Inserts into Bloom kinds wait for nothing.
//!
//! # Saving and merging
//!
//! ```
//! use malkoha::{Filter, Spec};
//!
//! let spec = Spec::new(1000, 0.001);
//! let (mut day, mut night) = (spec.build()?, spec.build()?);
//! day.insert("malkoha")?;
//! night.insert("owl")?;
//! day.merge(&night)?;
//! let bytes = day.to_bytes()?;
//! assert!(Filter::from_bytes(&bytes)?.contains("owl"));
//! # Ok::<(), malkoha::Error>(())
//! ```
//!
//! [`Filter::save`] and [`Filter::open`] do the same with files, and refuse files that are damaged or are not filters.
//! [`Filter::map`] leaves the filter in its file. Planned filters are merged if their plans are equal, filters of the
//! kind [`Elastic`](Kind::Elastic) whatever their sizes.
//!
//! # A value for every key
//!
//! ```
//! use malkoha::Spec;
//!
//! let mut shards = Spec::new(1_000_000, 0.001).values(6).build()?;
//! shards.insert_value("cuckoo", 42)?;
//! assert!(shards.get("cuckoo")?.contains(&42), "among the candidates, mostly alone");
//! assert!(shards.update_value("cuckoo", 42, 43)?);
//! assert!(shards.remove_value("cuckoo", 43)?);
//! # Ok::<(), malkoha::Error>(())
//! ```
//!
//! Every cuckoo kind can store values of 1 to 16 bits. A slot then takes exactly that many bits more.
//!
//! # Which kind to choose
//!
//! | need | [`Kind`] |
//! | --- | --- |
//! | inserts and deletes in the least memory | `Sorted`, the default |
//! | inserts and deletes, faster lookups for 2 % more memory | `Windowed(2)` |
//! | fast inserts into a nearly full filter | `Windowed(4)` |
//! | inserts and deletes of an unknown number of keys | `Elastic`, by [`Spec::rate`] or [`Spec::growing`] |
//! | no deletes, more keys than planned, rate above 2^-7 | `Blocked(1)` |
//! | the same, at lower rates | `Blocked(2)`, or `Blocked(3)` for less memory |
//! | a filter of the papers | `Classic`, `SemiSorted`, `Simplified`, `Flexible`, `Windowed`, `Bloom`, `Blocked` |
//!
//! [`Spec::recommend`] plans the [usual kinds](Kind::USUAL) for your specification, and recommends one that can do what
//! you need.
//!
//! # Where things are
//!
//! - [`Spec`] is what you ask for; [`Geometry`] has the exact numbers that follow from it.
//! - [`Filter`] is the filter in memory, [`Sharded`] one for many threads, and [`Stats`] its statistics.
//! - [`Key`] is what can be stored.
//! - [`cuckoo`] and [`bloom`] have the typed filters, for use when the kind is known at compile time.
//! - [`theory`] has the formulas.

pub mod bloom;
pub mod cuckoo;
pub mod theory;

mod bits;
mod elastic;
mod engine;
mod error;
mod filter;
mod generations;
mod key;
mod kind;
mod plan;
mod sharded;
mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[doc(hidden)]
pub use bits::loops::{Loops, Widest};
pub use bloom::Cost;
pub use cuckoo::Offsets;
pub use elastic::ElasticLayout;
pub use engine::{Fill, Inserted, Values};
pub use error::{Error, Full, Refused, SystemError};
pub use filter::{Filter, GrowthStats, Level, LinkStats, Stats};
pub use generations::Generations;
pub use key::{HashId, Key, KeyFormat, KeyHash, KeyHasher};
pub use kind::{Kind, KindError, Pattern};
pub use plan::{Advice, Geometry, Layout, Need, Reason, Spec};
pub use sharded::{Sharded, ShardedGeometry, ShardedSpec};
pub use store::Mapped;
