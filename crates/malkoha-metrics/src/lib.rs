//! Statistics of filters as OpenMetrics text, for Prometheus and other readers of that format.
//!
//! ```text
//!   Stats  -> Exposition -> text      what a filter counts anyway
//!   Meter  -> Readings   -> text      sampled lookups: their latency, and how often a yes is wrong
//! ```
//!
//! `docs/OPERATIONS.md` explains the figures to people on call; `docs/alerts.yml` has alert rules for them.
//!
//! ```
//! use malkoha::Spec;
//! use malkoha_metrics::Exposition;
//!
//! let mut filter = Spec::new(1000, 0.001).build()?;
//! filter.insert("cuckoo")?;
//! let mut exposition = Exposition::new();
//! exposition.add(&[("filter", "birds")], &filter.stats())?;
//! let text = exposition.to_string();
//! assert!(text.contains("cf_items{filter=\"birds\"} 1\n"));
//! assert!(text.ends_with("# EOF\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod exposition;
mod meter;
mod readings;

pub use error::LabelError;
pub use exposition::Exposition;
pub use meter::Meter;
pub use readings::{Latency, Readings};
