//! `ShardedSpec`: what the caller wants of a filter made of shards.

use crate::bloom;
use crate::error::{Error, Full};
use crate::key::Key;
use crate::kind::Kind;
use crate::plan::{Given, Spec};
use crate::theory;
use crate::theory::search::most;

use super::geometry::{ShardedGeometry, keys_per_shard};
use super::{MOST_SHARDS, Sharded};

/// A [`Spec`] whose keys are spread over shards; created by [`Spec::sharded`].
///
/// Keys, rate and memory are those of the whole filter.
///
/// ```
/// use malkoha::{Kind, Spec};
/// let spec = Spec::new(1_000_000, 0.001).kind(Kind::Windowed(2)).sharded(8);
/// let price = spec.plan()?.bits_per_key() / spec.whole().plan()?.bits_per_key();
/// assert!((1.0..1.03).contains(&price), "room for uneven shards costs {price}");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a spec does nothing until it is planned or built"]
pub struct ShardedSpec {
    spec: Spec,
    shards: u32,
}

impl Spec {
    /// Spreads the filter over 1 to 4096 shards, so that many threads can use it at once. Set all other
    /// options before this.
    ///
    /// With eight times as many shards as threads, two threads rarely need the same shard.
    ///
    /// Shards of a [growing](Self::growing) spec grow one by one; those of Bloom kinds do not.
    ///
    /// ```
    /// let filter = malkoha::Spec::new(1000, 0.001).sharded(8).build()?;
    /// std::thread::scope(|scope| {
    ///     for thread in 0..4u64 {
    ///         let filter = &filter;
    ///         scope.spawn(move || (0..250).for_each(|i| filter.insert(&(thread * 250 + i)).unwrap()));
    ///     }
    /// });
    /// assert!((0..1000u64).all(|key| filter.contains(&key)));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn sharded(self, shards: u32) -> ShardedSpec {
        ShardedSpec { spec: self, shards }
    }
}

impl ShardedSpec {
    /// The same spec for one filter without shards.
    pub fn whole(&self) -> Spec {
        self.spec
    }

    /// Computes the exact numbers that follow, without allocating anything.
    pub fn plan(&self) -> Result<ShardedGeometry, Error> {
        let Self { spec, shards } = *self;
        if !(1..=MOST_SHARDS).contains(&shards) {
            return Err(Error::Shards { got: shards, most: MOST_SHARDS });
        }
        if spec.growing && spec.kind.is_bloom() {
            let what = "shards of Bloom kinds do not grow; plan for the keys that will come";
            return Err(Error::Option { kind: spec.kind, what });
        }
        if spec.growing || spec.kind == Kind::Elastic {
            return self.plan_growing();
        }
        let each = |keys| keys_per_shard(spec.kind, keys, shards);
        let count = u64::from(shards);
        let mut one = spec;
        one.shards = shards;
        one.given = match spec.given {
            Given::Rate(_) => return Err(Error::NoKeys),
            Given::KeysAndRate(keys, rate) => Given::KeysAndRate(each(keys), rate),
            Given::KeysAndMemory(keys, bytes) => Given::KeysAndMemory(each(keys), bytes / count),
            Given::RateAndMemory(rate, bytes) => Given::RateAndMemory(rate, bytes / count),
        };
        let shard = one.plan().map_err(|error| self.of_all(error))?;
        let keys = match spec.given {
            Given::KeysAndRate(keys, _) | Given::KeysAndMemory(keys, _) => keys,
            Given::Rate(_) | Given::RateAndMemory(..) => most(|keys| each(keys) <= shard.keys()),
        };
        let rate = shard.rate();
        if spec.kind.is_bloom() && !matches!(spec.given, Given::KeysAndMemory(..)) {
            // Shards have fewer keys, but also fewer bits of the hash.
            bloom::check(keys, rate)?;
        }
        Ok(ShardedGeometry { keys, rate, shards, shard })
    }

    /// The geometry of shards that grow. Each of them keeps the whole promise, because a key is looked for in one.
    fn plan_growing(&self) -> Result<ShardedGeometry, Error> {
        let Self { spec, shards } = *self;
        let mut one = spec;
        one.shards = shards;
        // A shard that gets more keys than others grows sooner, so that none needs room for the fullest.
        let each = |keys: u64| keys.div_ceil(u64::from(shards));
        one.given = match spec.given {
            Given::KeysAndRate(keys, rate) => Given::KeysAndRate(each(keys), rate),
            Given::RateAndMemory(rate, bytes) => Given::RateAndMemory(rate, bytes / u64::from(shards)),
            given => given,
        };
        // But the promise must hold in the fullest shard too.
        one.most_keys = spec.most_keys.map(|most| theory::fullest_shard(most, shards));
        let shard = one.plan().map_err(|error| self.of_all(error))?;
        let keys = match spec.given {
            Given::KeysAndRate(keys, _) => keys,
            _ => shard.keys().saturating_mul(u64::from(shards)),
        };
        Ok(ShardedGeometry { keys, rate: shard.rate(), shards, shard })
    }

    /// What an error of one shard says about all of them.
    fn of_all(&self, error: Error) -> Error {
        match (error, self.spec.given) {
            (
                Error::Memory { least, .. },
                Given::KeysAndMemory(_, bytes) | Given::RateAndMemory(_, bytes),
            ) => Error::Memory { bytes, least: least.saturating_mul(u64::from(self.shards)) },
            (Error::TooLarge { .. }, Given::KeysAndRate(keys, _) | Given::KeysAndMemory(keys, _)) => {
                Error::TooLarge { keys }
            }
            (error, _) => error,
        }
    }

    /// Builds an empty filter.
    pub fn build(&self) -> Result<Sharded, Error> {
        Sharded::new(self.plan()?)
    }

    /// Builds a filter that holds these keys, on the number of threads set by [`Spec::threads`]. Each thread
    /// owns the shards that it fills, and no lock is taken. The filter is the same for any number of threads.
    ///
    /// ```
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// let filter = malkoha::Spec::new(100_000, 0.001).threads(2).sharded(8).build_from(&keys)?;
    /// assert!(filter.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn build_from<K: Key + Sync>(&self, keys: &[K]) -> Result<Sharded, Error> {
        let mut filter = self.build()?;
        let too_many = |Full| Error::TooManyKeys { keys: keys.len() as u64 };
        filter.extend(keys, self.spec.threads).map_err(too_many)?;
        Ok(filter)
    }

    /// Builds a filter that holds the keys of a stream. The calling thread reads and hashes them; the number
    /// of threads set by [`Spec::threads`] store them. The filter is the same for any number of threads.
    ///
    /// ```
    /// let lines = "cuckoo\nkoel\nmalkoha";
    /// let filter = malkoha::Spec::new(1000, 0.001).threads(2).sharded(8).build_from_stream(lines.lines())?;
    /// assert!(filter.contains("koel"));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn build_from_stream<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Result<Sharded, Error> {
        let mut filter = self.build()?;
        let mut read = 0;
        let counted = keys.into_iter().inspect(|_| read += 1);
        let stored = filter.extend_from_stream(counted, self.spec.threads);
        stored.map_err(|Full| Error::TooManyKeys { keys: read })?;
        Ok(filter)
    }
}
