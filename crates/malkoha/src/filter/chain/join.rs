//! Chains of existing filters: the other way to merge into something larger.

use crate::cuckoo::{CuckooLayout, Offsets};
use crate::error::Error;
use crate::filter::merge::united_format;
use crate::plan::{Geometry, Growth, Layout, shares};
use crate::theory;

use super::rules::{grows, overfull, stranger};
use super::{Chain, Filter};

impl Filter {
    /// Builds a new growing filter that holds everything in this one and in others: copies of their tables
    /// are its first links. All must have the same seed and kind; each may be a single table or a chain. For
    /// flexible, windowed, sorted and Bloom kinds, without values, near offsets or doublings. Growing filters of the
    /// kind [`Elastic`](crate::Kind::Elastic) have no tables that could be links; [`merge`](Self::merge) is for them.
    ///
    /// No bit of a fingerprint is spent, so the rates add up: m filters of rate r together have a rate of m r
    /// ([`Stats::predicted_rate`](crate::Stats::predicted_rate)), where one
    /// [larger table](Self::merge_into_larger) would have the same or, if m is not a power of two, a higher
    /// one. Lookups search all m tables. The promised rate ([`geometry`](Self::geometry)) leaves room for
    /// links that are added later: it is 1.6 m r for two filters, 1.33 m r for three, and approaches m r for
    /// many. Multiplicities are kept, and every stored copy can be removed. [`compact`](Self::compact) moves
    /// what it can to the first links.
    ///
    /// ```
    /// use malkoha::{Filter, Spec};
    /// let spec = Spec::new(1000, 0.0001);
    /// let parts: Vec<Filter> =
    ///     (0..3u64).map(|i| spec.build_from(&Vec::from_iter(1000 * i..1000 * (i + 1)))).collect::<Result<_, _>>()?;
    /// let mut all = parts[0].merge_into_chain(&[&parts[1], &parts[2]])?;
    /// assert!(all.stats().predicted_rate <= 0.0003);
    /// all.insert_slice(&(3000..9000u64).collect::<Vec<_>>())?;
    /// assert!((0..9000u64).all(|key| all.contains(&key)));
    /// assert!(all.stats().predicted_rate <= all.geometry().rate());
    /// assert!((all.geometry().rate() - 0.0004).abs() < 1e-12, "4/3 of the sum");
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn merge_into_chain(&self, others: &[&Self]) -> Result<Self, Error> {
        let filters = || core::iter::once(self).chain(others.iter().copied());
        // Their regions are no links: without this check, what they hold would be left out.
        if let Some(elastic) = filters().find(|filter| filter.elastic().is_some()) {
            let what =
                "only tables can be the links of a chain; merge growing filters of this kind with each other";
            return Err(Error::Option { kind: elastic.geometry().kind(), what });
        }
        let format = united_format(filters())?;
        let mut links: Vec<&Self> = filters().flat_map(links_of).collect();
        // Each must have a multiple of the pairs of those before it, so the links of several chains are
        // interleaved.
        links.sort_by_key(|link| link.geometry().cuckoo().map_or(0, CuckooLayout::pairs));
        let first = *links[0].geometry();
        let option = |what| Err(Error::Option { kind: first.kind(), what });
        if !links.iter().all(|link| grows(link.geometry())) {
            return option(
                "only flexible, windowed, sorted and Bloom filters make a chain, without near offsets, \
                 values or doublings; merge into a larger filter, or query the filters one after another",
            );
        }
        for pair in links.windows(2) {
            if let Some(what) = stranger(pair[0].geometry(), pair[1].geometry()) {
                return Err(Error::Geometries {
                    what: format!("that one cannot follow the other in a chain: {what}"),
                });
            }
        }
        if links.iter().any(|link| overfull(link)) {
            return option(
                "a filter with more keys than it was planned for cannot be in a chain, which would exceed its \
                 promised rate; remove keys, or query the filters one after another",
            );
        }
        let count = u32::try_from(links.len()).map_err(|_| Error::TooLarge { keys: u64::MAX })?;
        let rate = links.iter().map(|link| link.geometry().rate()).sum::<f64>() / shares(count);
        if rate >= 1.0 {
            return Err(Error::Rate { got: rate });
        }
        let growth = filters().find_map(|filter| filter.geometry().growth().copied());
        let growth = growth.unwrap_or_else(|| growth_of(&first));
        let chain = first.with_key_format(format).growing_at(growth, rate);
        let links = links.into_iter().map(|link| Ok(link.try_clone()?.with_key_format(format)));
        let links = links.collect::<Result<Vec<_>, Error>>()?;
        Ok(Self::around(chain, Chain::of_links(&chain, &growth, links).into_body()))
    }
}

/// The tables of a filter.
fn links_of(filter: &Filter) -> &[Filter] {
    if filter.geometry().is_growing() { filter.links() } else { core::slice::from_ref(filter) }
}

/// How a chain grows whose first table was not planned to grow.
fn growth_of(first: &Geometry) -> Growth {
    let kind = first.kind();
    match *first.layout() {
        Layout::Cuckoo(layout) => {
            let offsets = if layout.reaches_everywhere() { Offsets::Whole } else { Offsets::Local };
            Growth { load: theory::planned_load(kind), offsets }
        }
        _ => Growth { load: 1.0, offsets: Offsets::Local },
    }
}
