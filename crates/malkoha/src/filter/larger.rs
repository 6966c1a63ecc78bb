//! Larger tables for stored content, without the keys: places are paid for with fingerprint bits.
//!
//! `cuckoo/doubled.rs` has the arithmetic. A filter yields a hash for every stored copy, and the larger table
//! stores it as if it were the key's own.

use super::Filter;
use super::merge::united_format;
use crate::error::Error;
use crate::plan::Geometry;

impl Filter {
    /// Doubles the table: twice the places, each tag one bit shorter, for twice the keys. Only for
    /// [`Flexible`](crate::Kind::Flexible), [`Windowed`](crate::Kind::Windowed) and
    /// [`Sorted`](crate::Kind::Sorted) filters that do not grow on their own.
    ///
    /// The rate for the stored keys stays the same, and doubles when their number does: one bit of the fingerprint now
    /// says in which half of its old place a key is, and no longer tells keys apart. [`geometry`](Self::geometry) has
    /// the new promised rate. If you have the keys, a rebuilt filter has a better rate. Needs memory for both tables
    /// during the call; if something fails, nothing changes. Offsets that reach the whole of a table of up to 2^14
    /// places are local in larger ones.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let keys: Vec<u64> = (0..2000).collect();
    /// let mut filter = Spec::new(1000, 0.001).build_from(&keys[..1000])?;
    /// filter.double()?;
    /// filter.insert_slice(&keys[1000..])?;
    /// assert!(keys.iter().all(|key| filter.contains(key)));
    /// assert_eq!(filter.geometry().keys(), 2000);
    /// assert!(filter.stats().predicted_rate < 0.002);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn double(&mut self) -> Result<(), Error> {
        let larger = next_size(self.geometry())?;
        match pour(&[self], larger)? {
            Poured::All(filter) => *self = *filter,
            Poured::Not { .. } => return Err(Error::TooManyKeys { keys: self.len() }),
        }
        Ok(())
    }

    /// Builds a new filter that holds everything in this one and in others. It has m times the places, where
    /// m is the smallest power of two that all copies need, perhaps 1. All filters must have the same layout
    /// and seed, and be of the kinds that [`double`](Self::double) supports.
    ///
    /// The places are paid for with bits of the fingerprint: the promised rate, for m times the keys, is m
    /// times as high, and the new filter's [`geometry`](Self::geometry) has it. Multiplicities are kept, and
    /// every stored copy can be removed. To keep the length of the fingerprints, put the filters into a
    /// [chain](Self::merge_into_chain) instead.
    ///
    /// ```
    /// use malkoha::{Filter, Spec};
    /// let spec = Spec::new(1000, 0.0001);
    /// let parts: Vec<Filter> =
    ///     (0..3u64).map(|i| spec.build_from(&Vec::from_iter(1000 * i..1000 * (i + 1)))).collect::<Result<_, _>>()?;
    /// let all = parts[0].merge_into_larger(&[&parts[1], &parts[2]])?;
    /// assert!((0..3000u64).all(|key| all.contains(&key)));
    /// assert_eq!(all.geometry().rate(), 0.0004, "four times the places, four times the rate");
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn merge_into_larger(&self, others: &[&Self]) -> Result<Self, Error> {
        others.iter().try_for_each(|other| self.check_equal(other).map(|_| ()))?;
        let filters: Vec<&Self> = core::iter::once(self).chain(others.iter().copied()).collect();
        let copies = filters.iter().fold(0u64, |sum, filter| sum.saturating_add(filter.len()));
        let mut geometry = self.geometry().with_key_format(united_format(filters.iter().copied())?);
        if !geometry.kind().is_signed() || geometry.is_growing() {
            next_size(&geometry)?;
        }
        loop {
            let room = geometry.capacity();
            let mut left_over = copies.saturating_sub(room);
            if left_over == 0 {
                match pour(&filters, geometry)? {
                    Poured::All(filter) => return Ok(*filter),
                    // By chance, in a small table or with few fingerprints left.
                    Poured::Not { refused } => left_over = refused,
                }
            }
            geometry = next_size(&geometry).map_err(|_| Error::MergeFull { copies, room, left_over })?;
        }
    }
}

/// The geometry of a table of twice the size.
fn next_size(geometry: &Geometry) -> Result<Geometry, Error> {
    if geometry.is_growing() {
        return Err(Error::Growing { operation: "be doubled" });
    }
    let kind = geometry.kind();
    let what = if kind.is_signed() {
        "no bits of the fingerprints are left to spend on places"
    } else {
        "only flexible, windowed and sorted filters have fingerprints to spend on places"
    };
    geometry.doubled().ok_or(Error::Option { kind, what })
}

/// The outcome of pouring filters into another.
enum Poured {
    /// It holds all of them.
    All(Box<Filter>),
    /// It had no room for this many copies.
    Not { refused: u64 },
}

/// Pours everything that these filters hold into a new one, in which all of their keys have places.
fn pour(filters: &[&Filter], geometry: Geometry) -> Result<Poured, Error> {
    let mut larger = Filter::new(geometry)?.with_labels(filters[0].labels().to_vec());
    let mut refused = 0;
    for filter in filters {
        for copy in filter.cuckoo("be doubled")?.copies() {
            refused += u64::from(larger.store_copy(copy).is_err());
        }
    }
    Ok(if refused == 0 { Poured::All(Box::new(larger)) } else { Poured::Not { refused } })
}
