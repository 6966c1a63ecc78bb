//! Figures as SVG: shapes on a [`Drawing`], values on an [`Axis`], and whole [`Figure`]s of charts.
//!
//! ```
//! use malkoha_figure::{Curve, Figure, Panel, Scale};
//!
//! let measured = Curve::points("measured", 0, vec![(8.0, 1.31), (14.0, 1.20)]);
//! let published = Curve::hollow("published", 0, vec![(8.0, 1.31), (14.0, 1.20)]);
//! let panel = Panel::new("overhead", Scale::linear("k"), Scale::linear("C")).with([measured, published]);
//! let svg = Figure::new(vec![panel]).draw();
//! assert!(svg.starts_with("<svg") && svg.contains("overhead"));
//! ```

mod axis;
mod chart;
mod drawing;

pub use axis::{Axis, Scale};
pub use chart::{Curve, Figure, Panel};
pub use drawing::{Anchor, Drawing, GRID, INK};
