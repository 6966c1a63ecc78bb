//! What filters say of themselves, as OpenMetrics text: for Prometheus and whatever else reads it.
//!
//! ```text
//!   Stats  -> Exposition -> text      always there, costs nothing until it is asked for
//!   Meter  -> Readings   -> text      feature "metrics": sampled lookups, their latency and how often a yes is wrong
//! ```
//!
//! Without the feature [`Meter`] has no fields and its methods do nothing, so that callers need not ask
//! whether it is on. `docs/OPERATIONS.md` says what the figures mean for whoever is on call,
//! `docs/alerts.yml` has rules for them.
//!
//! ```
//! use malkoha::{Spec, metrics::Exposition};
//!
//! let mut filter = Spec::new(1000, 0.001).build()?;
//! filter.insert("cuckoo")?;
//! let mut exposition = Exposition::new();
//! exposition.add(&[("filter", "birds")], &filter.stats())?;
//! let text = exposition.to_string();
//! assert!(text.contains("cf_items{filter=\"birds\"} 1\n"));
//! assert!(text.ends_with("# EOF\n"));
//! # Ok::<(), malkoha::Error>(())
//! ```

mod exposition;
#[cfg_attr(feature = "metrics", path = "meter.rs")]
#[cfg_attr(not(feature = "metrics"), path = "meter_off.rs")]
mod meter;
mod readings;

pub use exposition::Exposition;
pub use meter::Meter;
pub use readings::{Latency, Readings};
