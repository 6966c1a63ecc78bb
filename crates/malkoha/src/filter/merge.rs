//! Merging: one filter takes over what another holds, without the keys.
//!
//! A cuckoo filter knows the first place and the fingerprint of each stored copy, which is all that another
//! filter of the same geometry would know about that key. So it yields a hash that leads there, and the other
//! filter stores it as if it were the key's own, with the copy's value if there are values. Bloom filters
//! take over each other's set bits.

use super::{Body, Filter};
use crate::engine::{Content, Copied, MOST_COPIES};
use crate::error::{Error, Full};
use crate::key::KeyFormat;
use crate::plan::{Geometry, Layout};

/// The highest rate that is promised.
const HIGHEST_RATE: f64 = 1.0 - f64::EPSILON;

impl Filter {
    /// Merges another filter into this one. Both must have the same layout and seed, and the same
    /// [key format](crate::Spec::key_format) if both declare one.
    ///
    /// [Growing](crate::Spec::growing) filters of cuckoo kinds can be merged whatever their sizes and rates; they
    /// need only the same seed and the same number of value bits. The rates add up: the promised rate of the result
    /// ([`geometry`](Self::geometry)) is the sum. So build filters that will be merged with a share of the rate that
    /// you want in the end. Values and multiplicities are kept.
    ///
    /// Every key of either filter is found afterwards. Cuckoo kinds keep multiplicities: a key in both is
    /// then stored twice, and every stored copy can be removed. If some copies find no place, nothing
    /// changes, bit for bit, and the error says how many are too many. The merge needs memory for a second
    /// table; without it, nothing changes either. The content depends on the two filters alone.
    ///
    /// Bloom kinds always have room. With one choice the result is, bit for bit, a filter into which all keys
    /// were inserted; with several it has some more bits set, because each of the two chose blocks without
    /// knowing the keys of the other. The length becomes the sum of both.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let spec = Spec::new(1000, 0.001);
    /// let (mut day, mut night) = (spec.build()?, spec.build()?);
    /// day.insert("malkoha")?;
    /// night.insert("owl")?;
    /// day.merge(&night)?;
    /// assert!(day.contains("malkoha") && day.contains("owl"));
    /// assert!(day.remove("owl")?);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.take_over(other, Which::All)
    }

    /// Merges what another filter holds and this one does not: a copy is left out if this filter already
    /// reports it as present, in filters with values with the same value. For Bloom kinds this is the same as
    /// [`merge`](Self::merge).
    ///
    /// The result is *not safe for removals*: a key that was left out may only look like a stored one, and a
    /// key of both filters is stored once. Removing it for one of them removes it for the other, and perhaps
    /// removes another key. Otherwise like [`merge`](Self::merge).
    ///
    /// ```
    /// use malkoha::Spec;
    /// let spec = Spec::new(1000, 0.001);
    /// let (mut day, mut night) = (spec.build()?, spec.build()?);
    /// day.insert_slice(&["malkoha", "owl"])?;
    /// night.insert_slice(&["owl", "nightjar"])?;
    /// day.merge_unique(&night)?;
    /// assert_eq!(day.len(), 3);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn merge_unique(&mut self, other: &Self) -> Result<(), Error> {
        self.take_over(other, Which::Unknown)
    }

    /// The key format of this filter and another combined; refuses one that cannot be merged with this one.
    pub(crate) fn check_equal(&self, other: &Self) -> Result<KeyFormat, Error> {
        if self.labels != other.labels {
            let (one, other) = (self.labels.join(", "), other.labels.join(", "));
            return Err(Error::Geometries { what: format!("their labels ({one}; {other})") });
        }
        if let (Some(one), Some(two)) = (self.geometry().elastic(), other.geometry().elastic()) {
            let differ = |what: &str, one: u64, other: u64| {
                (one != other).then(|| format!("their {what} ({one} and {other})"))
            };
            let seeds = differ("seeds", self.geometry().seed(), other.geometry().seed());
            let what = seeds.or_else(|| differ("value bits", one.value_bits.into(), two.value_bits.into()));
            return what.map_or(united_format([self, other]), |what| Err(Error::Geometries { what }));
        }
        if self.geometry().is_growing() || other.geometry().is_growing() {
            let elastic = self.elastic().is_some() || other.elastic().is_some();
            return Err(Error::Growing {
                operation: if elastic {
                    "be merged with one of another kind"
                } else {
                    "be merged into another, only put into one chain with it (merge_into_chain)"
                },
            });
        }
        let format = united_format([self, other])?;
        difference(self.geometry(), other.geometry())
            .map_or(Ok(format), |what| Err(Error::Geometries { what }))
    }

    /// Merges what another filter holds, or nothing at all.
    pub(crate) fn take_over(&mut self, other: &Self, which: Which) -> Result<(), Error> {
        let format = self.check_equal(other)?;
        if self.elastic().is_some() {
            return self.take_over_elastic(other, which, format);
        }
        let (copies, room) = (self.len().saturating_add(other.len()), self.geometry().capacity());
        let others = match (&mut self.body, &other.body) {
            (Body::Bloom(_), Body::Bloom(_)) if copies > MOST_COPIES => {
                return Err(Error::MergeFull { copies, room, left_over: copies - MOST_COPIES });
            }
            (Body::Bloom(mine), Body::Bloom(others)) => {
                mine.merge_bits(&**others);
                self.geometry = self.geometry.with_key_format(format);
                return Ok(());
            }
            (Body::Cuckoo(_), Body::Cuckoo(others)) => others,
            // Kinds were compared before.
            _ => return Err(other.unsupported("be merged into a filter of another family")),
        };
        let before = self.try_clone()?;
        let mut rest = others.copies();
        let refuses =
            |filter: &mut Self, copy| which.wants(filter, copy) && filter.store_copy(copy) == Err(Full);
        if !rest.any(|copy| refuses(self, copy)) {
            self.geometry = self.geometry.with_key_format(format);
            return Ok(());
        }
        // If there are more than the filter takes reliably, trying them all would cost a long walk for each
        // that is refused.
        let left_over = match before.excess(other, which) {
            0 => 1 + rest.filter(|copy| refuses(self, *copy)).count() as u64,
            excess => excess,
        };
        *self = before;
        Err(Error::MergeFull { copies, room, left_over })
    }

    /// Merges two growing filters.
    fn take_over_elastic(&mut self, other: &Self, which: Which, format: KeyFormat) -> Result<(), Error> {
        let others = other.elastic().expect("both are elastic");
        let copies = self.len().saturating_add(other.len());
        if copies > MOST_COPIES {
            let room = MOST_COPIES - self.len();
            return Err(Error::MergeFull { copies, room, left_over: copies - MOST_COPIES });
        }
        let mut merged = self.try_clone()?;
        let elastic = merged.elastic_mut().expect("a copy of an elastic filter");
        let no_memory = |Full| Error::Allocation { bytes: others.bytes() as u64 };
        elastic.take_over(others, which == Which::Unknown).map_err(no_memory)?;
        // Each of the two keeps its promise for its own keys, so together they keep the sum.
        let rate = (self.geometry.rate() + other.geometry.rate()).min(HIGHEST_RATE);
        merged.geometry = self.geometry.with_key_format(format).at_rate(rate);
        *self = merged;
        Ok(())
    }

    /// Copies of another filter beyond what this one takes reliably.
    pub(crate) fn excess(&self, other: &Self, which: Which) -> u64 {
        let Body::Cuckoo(other) = &other.body else { return 0 };
        let wanted = other.copies().filter(|copy| which.wants(self, *copy)).count() as u64;
        self.len().saturating_add(wanted).saturating_sub(self.geometry().capacity())
    }

    /// Stores a copy from a filter of equal layout.
    pub(crate) fn store_copy(&mut self, (hash, value): Copied) -> Result<(), Full> {
        match &mut self.body {
            Body::Cuckoo(engine) => engine.insert_value(hash, value),
            Body::Bloom(engine) => engine.insert(hash),
        }
    }
}

/// Which copies a merge takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// Those that are not yet present, in filters with values with the same value.
    Unknown,
}

impl Which {
    fn wants(self, filter: &Filter, (hash, value): Copied) -> bool {
        let known = || match &filter.body {
            Body::Cuckoo(engine) if filter.geometry.value_bits() > 0 => engine.values(hash).contains(&value),
            _ => filter.engine().contains(hash),
        };
        self == Self::All || !known()
    }
}

/// The key format of filters that are combined.
pub(crate) fn united_format<'a>(filters: impl IntoIterator<Item = &'a Filter>) -> Result<KeyFormat, Error> {
    let mut formats = filters.into_iter().map(|filter| filter.geometry().key_format());
    formats.try_fold(KeyFormat::Any, |one, other| {
        one.united(other)
            .ok_or_else(|| Error::Geometries { what: format!("their key formats ({one} and {other})") })
    })
}

/// The first difference that prevents a merge.
fn difference(one: &Geometry, other: &Geometry) -> Option<String> {
    let differ = |what: &str, one: u64, other: u64| {
        (one != other).then(|| format!("their {what} ({one} and {other})"))
    };
    if one.kind() != other.kind() {
        return Some(format!("their kinds ({} and {})", one.kind(), other.kind()));
    }
    let seeds = differ("seeds", one.seed(), other.seed());
    let layouts = match (one.layout(), other.layout()) {
        (Layout::Cuckoo(one), Layout::Cuckoo(other)) => differ("places", one.places, other.places)
            .or_else(|| differ("value bits", one.value_bits().into(), other.value_bits().into()))
            .or_else(|| differ("tag bits", one.tag_bits().into(), other.tag_bits().into()))
            .or_else(|| differ("doublings", one.doublings.into(), other.doublings.into()))
            .or_else(|| differ("reach of offsets", one.ring.most, other.ring.most)),
        (Layout::Bloom(one), Layout::Bloom(other)) => differ("bits", one.bits, other.bits)
            .or_else(|| differ("bits of a key", one.key_bits.into(), other.key_bits.into())),
        (Layout::Blocked(one), Layout::Blocked(other)) => differ("blocks", one.blocks, other.blocks)
            .or_else(|| differ("bits of a key", one.key_bits.into(), other.key_bits.into())),
        _ => None,
    };
    let rest = || (one.layout() != other.layout()).then(|| "the options of their layouts".to_owned());
    seeds.or(layouts).or_else(rest)
}
