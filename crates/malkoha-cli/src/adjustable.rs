//! Sizes that only tests change: with small blocks, a small input has many of them.

/// A size that an environment variable may change.
pub(crate) struct Adjustable {
    /// What it is unless told.
    pub(crate) size: usize,
    /// The variable.
    pub(crate) name: &'static str,
}

impl Adjustable {
    /// The size: at least one.
    pub(crate) fn get(&self) -> usize {
        let told = std::env::var(self.name).ok().and_then(|text| text.parse().ok());
        told.filter(|size| *size > 0).unwrap_or(self.size)
    }
}
