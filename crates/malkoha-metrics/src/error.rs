//! `LabelError`: why a filter cannot be added to a page.

use core::fmt;

/// A label cannot be written to a page of metrics. The page is unchanged.
///
/// ```
/// use malkoha::Spec;
/// use malkoha_metrics::Exposition;
///
/// let filter = Spec::new(1000, 0.001).build()?;
/// let refused = Exposition::new().add(&[("9lives", "cat")], &filter.stats()).unwrap_err();
/// assert_eq!(refused.name, "9lives");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelError {
    /// The label.
    pub name: String,
    /// What is wrong with it, and what to do.
    pub what: &'static str,
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the label {:?} {}", self.name, self.what)
    }
}

impl core::error::Error for LabelError {}
