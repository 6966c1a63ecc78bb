//! `ShardedGeometry`: the exact numbers of a filter made of shards.

use crate::key::KeyFormat;
use crate::kind::Kind;
use crate::plan::Geometry;
use crate::theory;
use crate::theory::search::most;

/// The exact numbers of a sharded filter: the number of shards, and the geometry that all of them have. Plain
/// data.
///
/// ```
/// use malkoha::Spec;
/// let geometry = Spec::new(1_000_000, 0.001).sharded(64).plan()?;
/// assert_eq!(geometry.bytes(), 64 * geometry.shard().bytes());
/// assert!(geometry.shard().keys() > 1_000_000 / 64, "room for the fullest of the shards");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShardedGeometry {
    pub(crate) keys: u64,
    pub(crate) rate: f64,
    pub(crate) shards: u32,
    pub(crate) shard: Geometry,
}

/// The number of keys that each shard is planned for, so that all of them together take n.
pub(super) fn keys_per_shard(kind: Kind, n: u64, shards: u32) -> u64 {
    if kind.is_bloom() { theory::mean_shard(n, shards) } else { theory::fullest_shard(n, shards) }
}

impl ShardedGeometry {
    /// The kind of the shards.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.shard.kind()
    }

    /// The number of keys that the whole filter is planned for.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The promised rate for that many keys.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The seed of its hashes.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.shard.seed()
    }

    /// The declared format of the keys.
    #[must_use]
    pub fn key_format(&self) -> KeyFormat {
        self.shard.key_format()
    }

    /// Whether the shards grow when they are full: [`Spec::growing`](crate::Spec::growing). Keys and memory are then
    /// those that the filter begins with.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.shard.is_growing()
    }

    /// The number of shards.
    #[must_use]
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// The geometry of each shard.
    #[must_use]
    pub fn shard(&self) -> &Geometry {
        &self.shard
    }

    /// Bytes of memory: the tables of all shards as allocated.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shard.bytes().saturating_mul(u64::from(self.shards))
    }

    /// Bits of memory per planned key.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.bytes() as f64 * 8.0 / self.keys as f64
    }

    /// The number of keys that it takes reliably, which may be more than planned: the most for which the
    /// fullest shard is not too full. For Bloom kinds, the planned number. For filters that grow, the number up to which
    /// the rate is promised.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        if self.kind().is_bloom() {
            return self.keys;
        }
        let fits = |n| theory::fullest_shard(n, self.shards) <= self.shard.capacity();
        most(fits).max(self.keys)
    }

    /// The rate that theory predicts with n keys stored.
    #[must_use]
    pub fn predicted_rate(&self, n: u64) -> f64 {
        let shards = u64::from(self.shards);
        match self.shard.cuckoo() {
            // Like one table with the places of all shards: drawing a shard and then a place in it is one
            // draw among them all.
            Some(layout) => {
                theory::rate(self.kind(), n, layout.places().saturating_mul(shards), layout.fingerprints())
            }
            None => self.shard.predicted_rate(n.div_ceil(shards)),
        }
    }
}
