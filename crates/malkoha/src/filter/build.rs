//! From a spec to a filter.

use super::Filter;
use crate::error::{Error, Full};
use crate::key::Key;
use crate::plan::Spec;

impl Spec {
    /// Builds an empty filter.
    pub fn build(&self) -> Result<Filter, Error> {
        Filter::new(self.plan()?)
    }

    /// Builds a filter that holds these keys, on the number of threads set by [`threads`](Self::threads).
    ///
    /// ```
    /// use malkoha::Spec;
    /// let keys: Vec<String> = (0..1000).map(|i| format!("key {i}")).collect();
    /// let filter = Spec::new(1000, 0.001).threads(2).build_from(&keys)?;
    /// assert!(filter.contains("key 17"));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn build_from<K: Key + Sync>(&self, keys: &[K]) -> Result<Filter, Error> {
        let mut filter = self.build()?;
        filter.extend(keys, self.threads).map_err(|Full| Error::TooManyKeys { keys: keys.len() as u64 })?;
        Ok(filter)
    }
}
