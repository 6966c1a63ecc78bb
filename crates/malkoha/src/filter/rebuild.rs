//! Rebuilding a filter from its keys, where they are available.

use crate::cuckoo::Offsets;
use crate::error::Error;
use crate::filter::Filter;
use crate::key::Key;
use crate::kind::Kind;
use crate::plan::{Geometry, Layout, Spec};
use crate::theory;

impl Filter {
    /// Builds a new filter like this one from these keys, planned for `planned` keys: the same kind, seed,
    /// key format, rate and options, at the usual load of the kind.
    ///
    /// If you have the keys, do this with a filter that has grown, was doubled, or must take more keys than planned.
    /// The result has no bits spent on growth so far. A growing filter is rebuilt as a growing one, at the rate that
    /// it promises; after merges, that is the sum of several. A doubled one keeps the rate that doubling left it
    /// with; for a better one, build from a [`Spec`]. Filters with values cannot be rebuilt from keys alone.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let keys: Vec<u64> = (0..5000).collect();
    /// let filter = Spec::new(5000, 0.001).build_from(&keys)?;
    /// let rebuilt = filter.rebuild_from(&keys, 8000)?;
    /// assert_eq!(rebuilt.geometry().keys(), 8000);
    /// assert!(rebuilt.contains_slice(&keys).into_iter().all(|found| found));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn rebuild_from<K: Key + Sync>(&self, keys: &[K], planned: u64) -> Result<Self, Error> {
        if self.geometry().value_bits() > 0 {
            let what =
                "the keys alone do not give the values; insert each key with its value into a new filter";
            return Err(Error::Option { kind: self.geometry().kind(), what });
        }
        like(self.geometry(), planned).build_from(keys)
    }
}

/// The spec of a filter for this many keys that is otherwise like this geometry.
fn like(geometry: &Geometry, keys: u64) -> Spec {
    let kind = geometry.kind();
    let mut spec = Spec::new(keys, geometry.rate()).kind(kind).seed(geometry.seed());
    spec = spec.key_format(geometry.key_format());
    if let Some(layout) = geometry.elastic() {
        // Half of these keys need the same last level.
        return spec.most_keys(layout.promised_keys() / 2);
    }
    if geometry.is_growing() && !kind.is_bloom() {
        return spec.kind(Kind::Elastic);
    }
    match *geometry.layout() {
        Layout::Cuckoo(layout) => {
            let ring = layout.ring;
            let offsets = match ring {
                _ if ring.near_share > 0 => Offsets::Near(ring.near_share),
                _ if layout.reaches_everywhere() => Offsets::Whole,
                _ => Offsets::Local,
            };
            spec = spec.stash(layout.stash).max_steps(layout.max_steps).offsets(offsets);
            if geometry.load() > theory::planned_load(kind) && theory::dense_load(kind).is_some() {
                spec = spec.dense();
            }
        }
        Layout::Blocked(layout) => {
            spec = spec.pattern(layout.pattern);
            if layout.choices > 1 {
                spec = spec.cost(layout.cost);
            }
        }
        Layout::Bloom(_) | Layout::Elastic(_) => {}
    }
    if geometry.is_growing() { spec.growing() } else { spec }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cost, KeyFormat, Pattern};

    #[test]
    fn a_plan_rebuilt_for_as_many_keys_is_the_same_plan() {
        let mut specs: Vec<_> = Kind::all().map(|kind| Spec::new(5000, 0.003).kind(kind).seed(7)).collect();
        for kind in [Kind::Sorted, Kind::Windowed(3), Kind::Flexible(4)] {
            let spec = Spec::new(200_000, 0.003).kind(kind);
            specs.extend([spec.dense(), spec.stash(3).max_steps(77), spec.offsets(Offsets::Near(96))]);
            specs.push(spec.offsets(Offsets::Whole));
        }
        let blocked = Spec::new(5000, 0.003).kind(Kind::Blocked(2));
        specs.extend([blocked.pattern(Pattern::Distinct), blocked.cost(Cost::LookAhead { mu: 3.5 })]);
        specs.push(blocked.key_format(KeyFormat::U64));
        specs.push(Spec::new(200_000, 0.003).growing());
        specs.extend((0..40).map(|doublings| Spec::rate(0.003).most_keys(100 << doublings)));
        specs.extend((3..30).map(|bits| Spec::rate((-f64::from(bits)).exp2())));
        specs.push(blocked.growing());
        specs.push(Spec::new(50, 0.1).growing().key_format(KeyFormat::Kmers { k: 31 }));
        for spec in specs {
            let geometry = spec.plan().unwrap();
            assert_eq!(like(&geometry, geometry.keys()).plan(), Ok(geometry));
        }
    }

    #[test]
    fn values_cannot_be_rebuilt_from_keys() {
        let filter = Spec::new(100, 0.01).values(3).build().unwrap();
        assert!(matches!(filter.rebuild_from(&[1u64], 200), Err(Error::Option { .. })));
    }
}
