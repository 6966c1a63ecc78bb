//! Which kind to take: what kinds can do, and which of them fits a spec best.

use core::fmt;

use super::geometry::Geometry;
use super::spec::{Given, Spec};
use crate::error::Error;
use crate::kind::Kind;

/// What a filter may have to do besides storing and finding keys.
///
/// ```
/// use malkoha::{Kind, Need};
/// assert!(Kind::Elastic.meets(&[Need::Delete, Need::Grow]));
/// assert!(!Kind::Bloom.meets(&[Need::Delete]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Need {
    /// Remove keys.
    Delete,
    /// Take any number of keys at the promised rate: [`Spec::growing`].
    Grow,
    /// Take more keys than planned without growing, at a rising rate.
    Overfill,
    /// Store a few bits beside every key: [`Spec::values`].
    Values,
}

impl Need {
    /// All needs.
    pub const ALL: &'static [Self] = &[Self::Delete, Self::Grow, Self::Overfill, Self::Values];

    /// The name of this need, which is also how it is displayed: `delete`, `grow`, `overfill` or `values`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Grow => "grow",
            Self::Overfill => "overfill",
            Self::Values => "values",
        }
    }

    fn met_by(self, kind: Kind) -> bool {
        match self {
            Self::Delete | Self::Values => !kind.is_bloom(),
            Self::Grow => kind == Kind::Elastic || kind.is_bloom(),
            Self::Overfill => kind.is_bloom(),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Kind {
    /// Whether one filter of this kind can meet all of these needs.
    ///
    /// ```
    /// use malkoha::{Kind, Need};
    /// assert!(Kind::Sorted.meets(&[Need::Values]) && !Kind::Sorted.meets(&[Need::Grow]));
    /// assert!(Kind::Elastic.meets(&[Need::Grow, Need::Values]));
    /// ```
    #[must_use]
    pub fn meets(self, needs: &[Need]) -> bool {
        needs.iter().all(|need| need.met_by(self))
    }
}

/// A recommended filter, and why; returned by [`Spec::recommend`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Advice {
    /// The filter.
    pub geometry: Geometry,
    /// Why this one.
    pub reason: Reason,
}

/// Why a filter is recommended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Of those that meet the needs, it takes the fewest bits per key.
    FewestBits,
    /// Of those that meet the needs, it has the lowest rate.
    LowestRate,
    /// Of those that meet the needs, it holds the most keys.
    MostKeys,
    /// It is never full and reads one cache line for every lookup; at this rate more choices would save
    /// little memory.
    OneLine,
    /// It is never full, has the size of a plain Bloom filter, and reads two cache lines for every lookup.
    TwoLines,
}

/// From this rate upwards, filters with one choice are hardly larger than those with more.
const ONE_CHOICE_FROM: f64 = 1.0 / 128.0;

impl Spec {
    /// Plans this spec for all [usual kinds](Kind::USUAL) and [`Kind::Elastic`], and recommends one that meets the
    /// needs: the one with the least memory, the lowest rate or the most keys, whichever was not given. For filters
    /// that may be overfilled, it weighs memory against cache lines. Allocates no filter.
    ///
    /// The kind of this spec is ignored. Its other options apply to every kind, and kinds without them are left out. A
    /// filter that is recommended because its kind can grow or have values does so only if this spec asks for it:
    /// [`growing`](Self::growing), [`values`](Self::values).
    /// Returns `None` if no kind meets the needs, and an error if no kind can be planned at all.
    ///
    /// ```
    /// use malkoha::{Kind, Need, Reason, Spec};
    ///
    /// let spec = Spec::new(1_000_000, 0.001);
    /// let advice = spec.recommend(&[Need::Delete])?.expect("some kinds delete");
    /// assert_eq!((advice.geometry.kind(), advice.reason), (Kind::Sorted, Reason::FewestBits));
    /// let advice = spec.recommend(&[Need::Overfill])?.expect("some kinds are never full");
    /// assert_eq!((advice.geometry.kind(), advice.reason), (Kind::Blocked(2), Reason::TwoLines));
    /// assert_eq!(spec.recommend(&[Need::Delete, Need::Overfill])?, None);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn recommend(&self, needs: &[Need]) -> Result<Option<Advice>, Error> {
        let (mut offers, mut refusals) = (Vec::new(), Vec::new());
        for &kind in Kind::USUAL.iter().chain(&[Kind::Elastic]) {
            match self.kind(kind).plan() {
                Ok(geometry) => offers.push(geometry),
                Err(error) => refusals.push((!kind.meets(needs), error)),
            }
        }
        if offers.is_empty() {
            // First the kinds that meet the needs; of them what is missing least, or the first if it is not
            // memory.
            let order = |(unable, error): &(bool, Error)| {
                (*unable, if let Error::Memory { least, .. } = error { *least } else { u64::MAX })
            };
            if let Some((_, error)) = refusals.into_iter().min_by_key(order) {
                return Err(error);
            }
        }
        offers.retain(|offer| offer.kind().meets(needs));
        // Where no blocked filter fits, a plain one may.
        let never_full = needs.contains(&Need::Overfill).then(|| never_full(&offers)).flatten();
        Ok(never_full.or_else(|| self.best(offers)))
    }

    /// The best of these offers in whatever was not given.
    fn best(&self, offers: Vec<Geometry>) -> Option<Advice> {
        let (reason, cost): (_, fn(&Geometry) -> f64) = match self.given {
            Given::Rate(..) | Given::KeysAndRate(..) => (Reason::FewestBits, Geometry::bits_per_key),
            Given::KeysAndMemory(..) => (Reason::LowestRate, Geometry::rate),
            Given::RateAndMemory(..) => (Reason::MostKeys, |offer| -(offer.keys() as f64)),
        };
        let geometry = offers.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        Some(Advice { geometry, reason })
    }
}

/// The blocked offer to take of those that are never full, by what their choices cost and save.
fn never_full(offers: &[Geometry]) -> Option<Advice> {
    let one_choice = (Kind::Blocked(1), Reason::OneLine);
    let two_choices = (Kind::Blocked(2), Reason::TwoLines);
    let ranking = if offers.iter().any(|offer| offer.rate() >= ONE_CHOICE_FROM) {
        [one_choice, two_choices]
    } else {
        [two_choices, one_choice]
    };
    // Options may rule out the better one.
    ranking.into_iter().find_map(|(kind, reason)| {
        let geometry = *offers.iter().find(|offer| offer.kind() == kind)?;
        Some(Advice { geometry, reason })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recommended_meets_the_needs() {
        let kind = |rate, needs: &[Need]| {
            let advice = Spec::new(1_000_000, rate).recommend(needs).unwrap();
            advice.map(|advice| advice.geometry.kind())
        };
        assert_eq!(kind(0.001, &[]), Some(Kind::Sorted));
        assert_eq!(kind(0.001, &[Need::Delete]), Some(Kind::Sorted));
        assert_eq!(kind(0.001, &[Need::Overfill]), Some(Kind::Blocked(2)));
        assert_eq!(kind(0.01, &[Need::Overfill, Need::Grow]), Some(Kind::Blocked(1)));
        assert_eq!(kind(0.001, &[Need::Values]), Some(Kind::Sorted));
        assert_eq!(kind(0.001, &[Need::Grow, Need::Values]), Some(Kind::Elastic));
        assert_eq!(kind(0.001, &[Need::Delete, Need::Grow]), Some(Kind::Elastic));
        assert_eq!(kind(0.001, &[Need::Delete, Need::Overfill]), None);
    }

    #[test]
    fn what_kinds_are_said_to_do_is_what_they_do() {
        for kind in Kind::all().chain([Kind::Elastic]) {
            let spec = Spec::new(1000, 0.001).kind(kind);
            assert_eq!(spec.values(4).build().is_ok(), kind.meets(&[Need::Values]), "{kind}: values");
            let growing = spec.growing().build().is_ok_and(|filter| filter.geometry().kind() == kind);
            assert_eq!(growing, kind.meets(&[Need::Grow]), "{kind}: grow");
            let both = spec.growing().values(4).build().is_ok_and(|filter| filter.geometry().kind() == kind);
            assert_eq!(both, kind.meets(&[Need::Grow, Need::Values]), "{kind}: both");
            let mut filter = spec.build().unwrap();
            filter.insert("owl").unwrap();
            assert_eq!(filter.remove("owl").is_ok(), kind.meets(&[Need::Delete]), "{kind}: delete");
            let overfilled = (0..10_000u64).all(|key| filter.insert(&key).is_ok());
            let takes_more = kind.meets(&[Need::Overfill]) || kind.meets(&[Need::Grow]);
            assert_eq!(overfilled, takes_more, "{kind}: overfill");
        }
    }

    #[test]
    fn what_was_not_given_is_as_good_as_it_gets() {
        let offers = |spec: Spec| Kind::USUAL.iter().map(move |&kind| spec.kind(kind).plan().unwrap());
        let in_memory = Spec::keys_in_memory(1_000_000, 1_600_000);
        let advice = in_memory.recommend(&[]).unwrap().unwrap();
        assert_eq!(advice.reason, Reason::LowestRate);
        assert!(offers(in_memory).all(|other| advice.geometry.rate() <= other.rate()), "{advice:?}");
        let at_rate = Spec::rate_in_memory(0.001, 1_600_000);
        let advice = at_rate.recommend(&[]).unwrap().unwrap();
        assert_eq!(advice.reason, Reason::MostKeys);
        assert!(offers(at_rate).all(|other| advice.geometry.keys() >= other.keys()), "{advice:?}");
    }

    #[test]
    fn options_leave_out_kinds_and_impossible_wishes_say_why() {
        let dense = Spec::new(1000, 0.01).dense();
        assert_eq!(dense.recommend(&[Need::Overfill]), Ok(None), "Bloom kinds have no load");
        assert!(dense.recommend(&[Need::Delete]).unwrap().is_some());
        let spread = Spec::new(1000, 0.001).pattern(crate::Pattern::Spread);
        let advice = spread.recommend(&[Need::Overfill]).unwrap().expect("one choice can be spread");
        assert_eq!(advice.geometry.kind(), Kind::Blocked(1));
        assert_eq!(Spec::new(0, 0.01).recommend(&[]), Err(Error::NoKeys));
        assert_eq!(Spec::new(1000, 2.0).recommend(&[]), Err(Error::Rate { got: 2.0 }));
        let tiny = Spec::keys_in_memory(1_000_000, 10);
        let refusals: Vec<_> = Kind::USUAL.iter().filter_map(|&kind| tiny.kind(kind).plan().err()).collect();
        let said = tiny.recommend(&[]).unwrap_err();
        assert!(refusals.contains(&said), "{said}: the memory is too small, not one that may not be given");
    }
}
