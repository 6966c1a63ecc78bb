//! Merging sharded filters: shard by shard, all or nothing.

use crate::engine::saturating_sum;
use crate::error::Error;
#[cfg(doc)]
use crate::filter::Filter;
use crate::filter::merge::Which;

use super::Sharded;

impl Sharded {
    /// Merges another filter into this one, shard by shard, as [`Filter::merge`] does. Both must have the
    /// same number of shards, of the same layout and seed. If some copies find no place, nothing changes. The
    /// merge needs memory for a second filter. The other filter is read as it is at one moment.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let spec = Spec::new(1000, 0.001).sharded(4);
    /// let (mut day, night) = (spec.build()?, spec.build()?);
    /// day.insert("malkoha")?;
    /// night.insert("owl")?;
    /// day.merge(&night)?;
    /// assert!(day.contains("malkoha") && day.contains("owl"));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.merge_shards(other, Which::All)
    }

    /// Merges what another filter holds and this one does not, as [`Filter::merge_unique`] does. The result
    /// is *not safe for removals*, for the reasons given there. Otherwise like [`merge`](Self::merge).
    pub fn merge_unique(&mut self, other: &Self) -> Result<(), Error> {
        self.merge_shards(other, Which::Unknown)
    }

    fn merge_shards(&mut self, other: &Self, which: Which) -> Result<(), Error> {
        let (shards, others) = (self.geometry.shards, other.geometry.shards);
        if shards != others {
            let what = format!("their numbers of shards ({shards} and {others})");
            return Err(Error::Geometries { what });
        }
        let others = other.freeze();
        let copies = saturating_sum(others.iter().map(|shard| shard.len()).chain([self.len()]));
        let room = self.geometry.capacity();
        let mut filters = self.shards.exclusive();
        let mut before = Vec::with_capacity(others.len());
        for (at, other) in others.iter().enumerate() {
            let filter = &mut filters[at];
            let merged = filter.try_clone().and_then(|copy| {
                before.push(copy);
                filter.take_over(other, which)
            });
            if let Err(error) = merged {
                for (filter, before) in filters.iter_mut().zip(before) {
                    *filter = before;
                }
                return Err(match error {
                    // The shards after this one have not been tried.
                    Error::MergeFull { left_over, .. } => {
                        let later = filters.iter().zip(&others).skip(at + 1);
                        let later = later.map(|(filter, other)| filter.excess(other, which));
                        let left_over = left_over.saturating_add(saturating_sum(later));
                        Error::MergeFull { copies, room, left_over }
                    }
                    error => error,
                });
            }
        }
        let shard = *filters[0].geometry();
        drop(filters);
        // The rates of filters that grow add up.
        (self.geometry.shard, self.geometry.rate) = (shard, shard.rate());
        Ok(())
    }
}
