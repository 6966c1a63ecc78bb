//! From a spec to exact numbers. Nothing is allocated here.
//!
//! ```text
//!   Spec        what the caller wants: two of keys, rate and memory, a kind, options        spec.rs
//!   Geometry    the exact numbers that follow                                               geometry.rs
//!   Growth      how the tables of a chain follow from one another                           growth.rs
//!   Advice      which kind to take, and why                                                 advice.rs
//! ```

mod advice;
mod geometry;
mod growth;
mod spec;

pub use advice::{Advice, Need, Reason};
pub use geometry::{Geometry, Layout};
pub(crate) use growth::{Growth, next_number, share, shares};
pub use spec::Spec;
pub(crate) use spec::{Given, check_rate};
