//! Sizes that only tests change: with small blocks, a small input has many blocks.

/// A size that an environment variable can override.
pub(crate) struct Adjustable {
    /// The default.
    pub(crate) size: usize,
    /// The name of the variable.
    pub(crate) name: &'static str,
}

impl Adjustable {
    /// Returns the size, which is at least one.
    pub(crate) fn get(&self) -> usize {
        self.told().unwrap_or(self.size)
    }

    /// Returns what the variable says, if it says anything.
    pub(crate) fn told(&self) -> Option<usize> {
        let told = std::env::var(self.name).ok().and_then(|text| text.parse().ok());
        told.filter(|size| *size > 0)
    }
}
