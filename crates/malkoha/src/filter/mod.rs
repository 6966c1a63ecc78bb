//! `Filter`: a filter of any kind.

mod build;
mod bulk;
pub(crate) mod chain;
mod labels;
mod larger;
pub(crate) mod merge;
mod rebuild;
mod select;
mod slices;
mod stats;
mod values;

pub(crate) use labels::check_labels;
pub(crate) use slices::ask_in_chunks;
pub use stats::{GrowthStats, Level, LinkStats, Stats};

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use chain::Chain;

use crate::bits::Words;
use crate::bits::shared::Shared;
use crate::bits::shared_arena::SharedArena;
use crate::elastic::Elastic;
use crate::engine::atomic_bits::AtomicBits;
use crate::engine::reader::{Blind, Front, Locked, Reader};
use crate::engine::{BloomEngine, Counters, CuckooEngine, Engine, Fill, Inserted};
use crate::error::{Error, Full};
use crate::key::{Key, KeyFormat, KeyHasher};
use crate::plan::Geometry;

/// A set of keys that may report a key it does not hold, and never misses one it does.
///
/// # The guarantee
///
/// Every stored key is found until it is removed, and a refused insert of a key changes nothing. This holds as long as
/// `remove` is called only for stored keys, once for each stored copy. Two hazards come with every such filter:
///
/// - A key for which [`insert_unique`](Self::insert_unique) returned [`Seen`](Inserted::Seen) is *not*
///   stored. Removing it removes the fingerprint of the key that it looks like.
/// - Removing a key that was never stored may also remove the fingerprint of another key.
///
/// ```
/// use malkoha::Spec;
///
/// let mut filter = Spec::new(1000, 0.001).build()?;
/// filter.insert("cuckoo")?;
/// filter.insert(&17u64)?;
/// assert!(filter.contains("cuckoo"));
/// assert!(filter.contains(&17u8), "integers count by value");
/// assert!(filter.remove("cuckoo")?);
/// assert_eq!(filter.len(), 1);
/// # Ok::<(), malkoha::Error>(())
/// ```
pub struct Filter {
    geometry: Geometry,
    hasher: KeyHasher,
    body: Body,
    /// The names of the bits of values, if they have any.
    labels: Vec<String>,
}

/// The table of a filter, by family, so that neither family has to refuse what only the other can do.
pub(crate) enum Body {
    Cuckoo(Box<dyn CuckooEngine>),
    Bloom(Box<dyn BloomEngine>),
}

impl Body {
    #[inline(always)]
    fn engine(&self) -> &dyn Engine {
        match self {
            Self::Cuckoo(engine) => &**engine,
            Self::Bloom(engine) => &**engine,
        }
    }

    #[inline(always)]
    fn engine_mut(&mut self) -> &mut dyn Engine {
        match self {
            Self::Cuckoo(engine) => &mut **engine,
            Self::Bloom(engine) => &mut **engine,
        }
    }
}

impl Clone for Body {
    fn clone(&self) -> Self {
        match self {
            Self::Cuckoo(engine) => Self::Cuckoo(engine.clone_box()),
            Self::Bloom(engine) => Self::Bloom(engine.clone_box()),
        }
    }
}

impl Filter {
    /// Creates an empty filter with this geometry.
    pub fn new(geometry: Geometry) -> Result<Self, Error> {
        if let Some(layout) = geometry.elastic() {
            return Ok(Self::around_elastic(geometry, Elastic::new(layout)?));
        }
        if let Some(growth) = geometry.growth() {
            let chain = Chain::new(&geometry, growth)?;
            return Ok(Self::around(geometry, chain.into_body()));
        }
        let bits = geometry.table_bits().ok_or(Error::TooLarge { keys: geometry.keys() })?;
        Self::in_words(geometry, Words::zeroed(bits)?)
    }

    /// The filter with this geometry in the words that it needs, which are still all zero.
    pub(crate) fn in_words(geometry: Geometry, words: Words) -> Result<Self, Error> {
        let body = select::body(&geometry, words)?;
        Ok(Self::around(geometry, body))
    }

    /// The filter with this geometry and a body of that geometry.
    pub(crate) fn around(geometry: Geometry, body: Body) -> Self {
        Self { geometry, hasher: KeyHasher::new(geometry.seed()), body, labels: Vec::new() }
    }

    /// The filter with the geometry of this elastic one.
    pub(crate) fn around_elastic(geometry: Geometry, elastic: Elastic) -> Self {
        Self::around(geometry, Body::Cuckoo(Box::new(elastic)))
    }

    /// The regions of a filter of the kind [`Elastic`](crate::Kind::Elastic).
    pub(crate) fn elastic(&self) -> Option<&Elastic> {
        let engine: &dyn Any = self.engine();
        engine.downcast_ref()
    }

    pub(crate) fn elastic_mut(&mut self) -> Option<&mut Elastic> {
        let engine: &mut dyn Any = self.engine_mut();
        engine.downcast_mut()
    }

    /// The words of a filter of a Bloom kind that is not a chain.
    ///
    /// # Panics
    ///
    /// If it is another.
    pub(crate) fn into_words(self) -> Words {
        match self.body {
            Body::Bloom(engine) => engine.into_words(),
            Body::Cuckoo(_) => panic!("a filter of a Bloom kind"),
        }
    }

    /// The filter, which does not grow, with this key format.
    pub(crate) fn with_key_format(mut self, format: KeyFormat) -> Self {
        self.geometry = self.geometry.with_key_format(format);
        self
    }

    #[inline(always)]
    pub(crate) fn engine(&self) -> &dyn Engine {
        self.body.engine()
    }

    #[inline(always)]
    pub(crate) fn engine_mut(&mut self) -> &mut dyn Engine {
        self.body.engine_mut()
    }

    /// The engine of a cuckoo kind; other kinds do not support the operation.
    #[inline(always)]
    pub(crate) fn cuckoo(&self, operation: &'static str) -> Result<&dyn CuckooEngine, Error> {
        match &self.body {
            Body::Cuckoo(engine) => Ok(&**engine),
            Body::Bloom(_) => Err(self.unsupported(operation)),
        }
    }

    #[inline(always)]
    pub(crate) fn cuckoo_mut(&mut self, operation: &'static str) -> Result<&mut dyn CuckooEngine, Error> {
        let kind = self.geometry.kind();
        match &mut self.body {
            Body::Cuckoo(engine) => Ok(&mut **engine),
            Body::Bloom(_) => Err(Error::Unsupported { kind, operation }),
        }
    }

    /// The engine of a Bloom kind; other kinds do not support the operation.
    pub(crate) fn bloom(&self, operation: &'static str) -> Result<&dyn BloomEngine, Error> {
        match &self.body {
            Body::Bloom(engine) => Ok(&**engine),
            Body::Cuckoo(_) => Err(self.unsupported(operation)),
        }
    }

    /// The links of a chain, oldest first; empty for others.
    pub(crate) fn links(&self) -> &[Self] {
        let engine: &dyn Any = self.engine();
        engine.downcast_ref::<Chain>().map_or(&[], Chain::links)
    }

    /// A copy of a filter that is not a chain, if the system has the memory.
    pub(crate) fn try_clone(&self) -> Result<Self, Error> {
        if let Some(elastic) = self.elastic() {
            let copy = Self::around_elastic(self.geometry, elastic.try_clone()?);
            return Ok(copy.with_labels(self.labels.clone()));
        }
        let mut copy = Words::zeroed(self.geometry.table_bits().expect("a table in memory can be counted"))?;
        copy.copy_from_slice(self.engine().words());
        let mut copy = Self::in_words(self.geometry, copy)?;
        copy.engine_mut().restore(self.len(), self.engine().stash_entries());
        copy.count_on(self.counters());
        Ok(copy.with_labels(self.labels.clone()))
    }

    /// The exact numbers of this filter.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The hasher that turns keys into hashes for this filter.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Stores one copy of a key. If there is no room, the filter stays as it was, bit for bit. Bloom kinds
    /// always have room. Growing filters have room until the system runs out of memory; a
    /// [chain](Self::merge_into_chain) of a cuckoo kind also until a hash runs out of bits: places times
    /// fingerprints stay within 2^64. A growing filter of a Bloom kind does not store a key that it already
    /// finds.
    ///
    /// A key can be stored several times: 2l copies are sure to fit into an otherwise empty filter, and any number
    /// into one of the kind [`Elastic`](crate::Kind::Elastic). Each copy must be removed separately.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Full> {
        let hash = key.key_hash(&self.hasher);
        self.engine_mut().insert(hash)
    }

    /// Stores a key unless the filter already reports it as present.
    ///
    /// A key that was [`Seen`](Inserted::Seen) is not stored, and must not be removed: it may only look like
    /// a stored one.
    ///
    /// ```
    /// use malkoha::{Inserted, Spec};
    /// let mut filter = Spec::new(1000, 0.001).build()?;
    /// assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Stored));
    /// assert_eq!(filter.insert_unique("egg"), Ok(Inserted::Seen));
    /// assert_eq!(filter.len(), 1);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[inline]
    pub fn insert_unique<K: Key + ?Sized>(&mut self, key: &K) -> Result<Inserted, Full> {
        let hash = key.key_hash(&self.hasher);
        self.engine_mut().insert_unique(hash)
    }

    /// Whether the filter may hold a key: `false` is certain, `true` is wrong with the filter's rate.
    #[must_use]
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.engine().contains(key.key_hash(&self.hasher))
    }

    /// Removes one copy of a key, in filters with values one with value 0. Returns `false`, and changes
    /// nothing, if there is none.
    ///
    /// Only for stored keys: removing another key that happens to look the same removes the stored one.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        let hash = key.key_hash(&self.hasher);
        Ok(self.cuckoo_mut("remove keys")?.remove(hash))
    }

    /// Counts the stored copies that look like this key: at least as many as were stored of it.
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Result<u32, Error> {
        Ok(self.cuckoo("count copies")?.count(key.key_hash(&self.hasher)))
    }

    /// Lets readers that hold no lock see the filter. Filters that grow do so in `arena`, one for all shards.
    pub(crate) fn front(&mut self, arena: &mut Option<Arc<SharedArena>>) -> Front {
        match &mut self.body {
            Body::Cuckoo(engine) => engine.front(arena),
            Body::Bloom(_) => Front::new(Shared::default(), 0),
        }
    }

    /// The arena in which shards that grow do so.
    pub(crate) fn arena(&self) -> Option<&Arc<SharedArena>> {
        match &self.body {
            Body::Cuckoo(engine) => engine.arena(),
            Body::Bloom(_) => None,
        }
    }

    /// How shards of this geometry are read and written without locks, if they can be.
    pub(crate) fn atomic_bits(&self) -> Option<Box<dyn AtomicBits>> {
        match &self.body {
            Body::Bloom(engine) => engine.atomic_bits(),
            Body::Cuckoo(_) => None,
        }
    }

    /// Takes back what [`front`](Self::front) gave to readers.
    pub(crate) fn take_back(&mut self, shared: Shared) {
        if let Body::Cuckoo(engine) = &mut self.body {
            engine.take_back(shared);
        }
    }

    /// Shows readers what has changed, at the end of a change under the lock of the shard.
    pub(crate) fn end_change(&mut self, front: &Front) {
        match &mut self.body {
            Body::Cuckoo(engine) => engine.end_change(front),
            Body::Bloom(_) => front.end(0),
        }
    }

    /// A reader of shards that all have the geometry of this filter.
    pub(crate) fn reader(&self, fronts: Box<[Front]>, locks: Arc<dyn Locked>) -> Arc<dyn Reader> {
        match &self.body {
            Body::Cuckoo(engine) => engine.reader(fronts, locks),
            Body::Bloom(_) => Arc::new(Blind { fronts, locks }),
        }
    }

    #[cold]
    pub(crate) fn unsupported(&self, operation: &'static str) -> Error {
        Error::Unsupported { kind: self.geometry.kind(), operation }
    }

    /// Counts the set bits of a filter of a Bloom kind, and computes the rate that follows from them,
    /// whichever keys set them. Reads the whole table.
    pub fn fill(&self) -> Result<Fill, Error> {
        Ok(self.bloom("be judged by its set bits")?.fill())
    }

    /// Estimates the number of distinct keys from the set bits, for Bloom kinds. Where [`len`](Self::len)
    /// counts a key each time it is inserted, this counts it once. Reads the whole table.
    ///
    /// ```
    /// use malkoha::{Kind, Spec};
    /// let mut filter = Spec::new(10_000, 0.001).kind(Kind::Blocked(2)).build()?;
    /// (0..20_000u64).for_each(|key| filter.insert(&(key % 10_000)).unwrap());
    /// assert_eq!(filter.len(), 20_000);
    /// assert!((filter.estimate_keys()? / 10_000.0 - 1.0).abs() < 0.02);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn estimate_keys(&self) -> Result<f64, Error> {
        Ok(self.bloom("be judged by its set bits")?.estimate_keys())
    }

    /// Moves keys of a [chain](Self::merge_into_chain) from newer tables to older ones where removals have left room,
    /// and frees tables that are then empty. Returns how many keys were moved. For other cuckoo filters there is
    /// nothing to do: those that grow give memory back by themselves. Bloom kinds do not support it.
    ///
    /// All keys are still found, and the rate stays below the promise: no table takes more keys than its
    /// share of the rate allows. Reads the newer tables, and needs 16 bytes for each key that can move.
    ///
    /// ```
    /// let keys: Vec<u64> = (0..20_000).collect();
    /// let first = malkoha::Spec::new(1000, 0.001).build()?;
    /// let mut filter = first.merge_into_chain(&[])?;
    /// filter.insert_slice(&keys)?;
    /// let before = filter.stats().memory_bytes;
    /// filter.remove_slice(&keys[..15_000])?;
    /// filter.compact()?;
    /// assert!(filter.stats().memory_bytes < before / 2);
    /// assert!(filter.contains_slice(&keys[15_000..]).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn compact(&mut self) -> Result<u64, Error> {
        let engine: &mut dyn Any = self.cuckoo_mut("be compacted")?;
        Ok(engine.downcast_mut::<Chain>().map_or(0, Chain::compact))
    }

    /// How many stored copies have fingerprints of each length, as (bits, copies), for filters of the kind
    /// [`Elastic`](crate::Kind::Elastic); empty for others. A fingerprint loses a bit whenever its region doubles, so
    /// the lengths show the ages of the keys. Reads all tables.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::rate(0.001).build()?;
    /// filter.insert_slice(&(0..100_000u64).collect::<Vec<_>>())?;
    /// let lengths = filter.fingerprint_lengths();
    /// assert!(lengths.iter().map(|(_, copies)| copies).sum::<u64>() >= 100_000);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[must_use]
    pub fn fingerprint_lengths(&self) -> Vec<(u32, u64)> {
        self.elastic().map_or_else(Vec::new, Elastic::lengths)
    }

    /// Removes all keys. A growing filter returns to its initial size.
    pub fn clear(&mut self) {
        self.engine_mut().clear();
    }

    /// The number of copies stored.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.engine().len()
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters of events since the filter was created.
    pub(crate) fn counters(&self) -> Counters {
        self.engine().counters()
    }

    /// Continues counting from these numbers.
    pub(crate) fn count_on(&mut self, counters: Counters) {
        self.engine_mut().count_on(counters);
    }

    /// Returns statistics of the filter at this moment. For Bloom kinds this reads the whole table.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::of(self)
    }
}

impl Clone for Filter {
    fn clone(&self) -> Self {
        let labels = self.labels.clone();
        Self { geometry: self.geometry, hasher: self.hasher, body: self.body.clone(), labels }
    }
}

/// Equal content: the same geometry and labels, the same bits in the table, the same keys in the stash. Counters do not
/// matter.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.geometry == other.geometry
            && self.labels == other.labels
            && self.len() == other.len()
            && self.engine().words() == other.engine().words()
            && self.engine().stash_entries() == other.engine().stash_entries()
            && self.links() == other.links()
            && self.elastic() == other.elastic()
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("kind", &format_args!("{}", self.geometry.kind()))
            .field("items", &self.len())
            .field("planned_keys", &self.geometry.keys())
            .field("rate", &self.geometry.rate())
            .field("bytes", &self.engine().bytes())
            .field("key_format", &format_args!("{}", self.geometry.key_format()))
            .finish_non_exhaustive()
    }
}
