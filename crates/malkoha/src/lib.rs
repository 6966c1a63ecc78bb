//! Membership filters with inserts and deletes that never lose a key.
//!
//! ```
//! use malkoha::Spec;
//!
//! let mut filter = Spec::new(1_000_000, 0.001).build()?;
//! filter.insert("cuckoo").unwrap();
//! assert!(filter.contains("cuckoo"));
//! assert!(filter.remove("cuckoo")?);
//! # Ok::<(), malkoha::Error>(())
//! ```

pub mod bloom;
pub mod cuckoo;
pub mod theory;

mod bits;
mod engine;
mod error;
mod filter;
mod geometry;
mod key;
mod kind;
mod reduce;
mod select;
mod spec;
mod stats;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use bloom::{Cost, Pattern};
pub use engine::Inserted;
pub use error::{Error, Full, FullAt};
pub use filter::Filter;
pub use geometry::{Geometry, Layout};
pub use key::{HashId, Key, KeyHash, KeyHasher};
pub use kind::Kind;
pub use spec::{Offsets, Spec};
pub use stats::{Level, Stats};
