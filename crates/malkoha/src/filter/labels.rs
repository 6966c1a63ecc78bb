//! Labels: names of the bits of values.

use super::Filter;
use crate::error::Error;

/// The most bytes of a label.
const MOST_BYTES: usize = 255;

/// # Labels
///
/// If values are sets of bits ([`or_value`](Self::or_value)), every bit can have a name, which is saved with the
/// filter.
impl Filter {
    /// Names the bits of values, the lowest first: as many as values have bits, or fewer. No labels remove the names.
    ///
    /// A label is a text of 1 to 255 bytes without control characters, and no two are equal.
    ///
    /// ```
    /// use malkoha::{Filter, Spec};
    /// let mut origins = Spec::new(1000, 1e-6).values(2).build()?;
    /// origins.set_labels(&["host", "graft"])?;
    /// let again = Filter::from_bytes(&origins.to_bytes()?)?;
    /// assert_eq!(again.labels(), ["host", "graft"]);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn set_labels(&mut self, labels: &[impl AsRef<str>]) -> Result<(), Error> {
        let labels: Vec<String> = labels.iter().map(|label| label.as_ref().to_owned()).collect();
        check_labels(&labels, self.geometry.value_bits()).map_err(|what| Error::Labels { what })?;
        self.labels = labels;
        Ok(())
    }

    /// The names of the bits of values, the lowest first; empty if they have none.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The filter with these labels, which were checked.
    pub(crate) fn with_labels(mut self, labels: Vec<String>) -> Self {
        self.labels = labels;
        self
    }
}

/// Says why values of so many bits cannot have these labels.
pub(crate) fn check_labels(labels: &[String], value_bits: u32) -> Result<(), &'static str> {
    if labels.len() > value_bits as usize {
        return Err("there are more labels than values have bits");
    }
    if labels.iter().any(|label| label.is_empty() || label.len() > MOST_BYTES) {
        return Err("a label has 1 to 255 bytes");
    }
    if labels.iter().any(|label| label.chars().any(char::is_control)) {
        return Err("a label has no control characters");
    }
    if (1..labels.len()).any(|at| labels[..at].contains(&labels[at])) {
        return Err("two labels are equal");
    }
    Ok(())
}
