//! Doubled tables: two, four or eight times the places, at the cost of bits of the fingerprint.
//!
//! A table knows only the first place and the fingerprint of a key. To spread keys over twice the places, something
//! must decide to which of the two halves of its old place a key goes, and only the fingerprint can: is it in the
//! upper or the lower half of all fingerprints? What remains is a fingerprint out of half as many.
//!
//! ```text
//!   place p, fingerprint f of F       f < F - F/2      ->  place 2p,      fingerprint f,               of F/2
//!                                     else             ->  place 2p + 1,  fingerprint f - (F - F/2),   of F/2
//! ```
//!
//! Fingerprints are counted from 0 here, and F/2 is rounded down. If F is odd, the lower half has one fingerprint
//! more than F/2, and its last two become one. The result depends on place and fingerprint alone, so it is the same
//! for a key that is looked up and for a tag whose key is no longer known, and no key is lost. Doubling can be
//! repeated as long as fingerprints are left.
//!
//! Rates: there are as many pairs of place and fingerprint as before. So the rate for the same number of keys is the
//! same, except for the two that became one (one part in F more); for twice the keys it is twice as high.

use super::layout::CuckooLayout;
use super::sizing::local_range;

/// Does one doubling: returns the half of a place that a fingerprint leads to, and what remains of it, counted from
/// 0.
#[inline(always)]
pub(crate) const fn halve(fingerprint: u64, fingerprints: u64) -> (u64, u64) {
    let rest = fingerprints / 2;
    let lower = fingerprints - rest;
    if fingerprint >= lower {
        (1, fingerprint - lower)
    } else if fingerprint >= rest {
        (0, rest - 1)
    } else {
        (0, fingerprint)
    }
}

/// Returns a fingerprint that [`halve`] maps to this half and this rest.
pub(crate) const fn unhalve(half: u64, rest: u64, fingerprints: u64) -> u64 {
    rest + half * (fingerprints - fingerprints / 2)
}

impl CuckooLayout {
    /// Returns the layout with twice the places and half the fingerprints, in tags of one bit less, for the same
    /// load; `None` if the kind has no signed offsets, or no fingerprints are left to halve, or the number of places
    /// overflows.
    pub(crate) fn doubled(&self, load: f64) -> Option<Self> {
        let tag_bits = self.tag.bits - self.value_bits() - 1;
        let widths = Self::tag_widths(self.kind);
        if !self.kind.is_signed() || self.fingerprints < 4 || !widths.contains(&tag_bits) {
            return None;
        }
        let mut layout = Self {
            stash: self.stash,
            max_steps: self.max_steps,
            doublings: self.doublings + 1,
            earlier_fingerprints: if self.doublings == 0 {
                self.fingerprints
            } else {
                self.earlier_fingerprints
            },
            fingerprints: self.fingerprints / 2,
            ..Self::with_tags(self.kind, tag_bits).with_values(self.value_bits())
        };
        layout.set_places(self.places.checked_mul(2)?)?;
        layout.table_bits()?;
        layout.ring = self.ring;
        let farthest = layout.places - layout.ring.least;
        layout.ring.most = if self.reaches_everywhere() {
            farthest
        } else {
            farthest.min(local_range(layout.kind, load, layout.places))
        };
        Some(layout)
    }

    /// Returns how much more often two keys have the same pair of place and fingerprint than if all pairs were
    /// equally probable: slightly more often in doubled tables, where two fingerprints may have become one.
    pub(crate) fn unevenness(&self) -> f64 {
        if self.doublings == 0 {
            return 1.0;
        }
        let (before, now) = (self.earlier_fingerprints as f64, self.fingerprints as f64);
        let pairs = now * f64::from(self.doublings).exp2();
        // Pairs with one fingerprint count once, those with two four times.
        (before + 2.0 * (before - pairs)) * pairs / (before * before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::place::{Homes, Placement, Signed};
    use crate::cuckoo::tag::Side;
    use crate::key::KeyHash;
    use crate::key::draw::undraw;
    use crate::{Kind, Spec};

    #[test]
    fn halves_come_together_again() {
        for fingerprints in 2..200 {
            let rest = fingerprints / 2;
            let mut seen = [vec![false; rest as usize], vec![false; rest as usize]];
            for fingerprint in 0..fingerprints {
                let (half, less) = halve(fingerprint, fingerprints);
                seen[half as usize][less as usize] = true;
                let again = unhalve(half, less, fingerprints);
                assert_eq!(halve(again, fingerprints), (half, less));
                assert!(again == fingerprint || fingerprints % 2 == 1 && fingerprint == rest);
            }
            assert!(seen.concat().into_iter().all(|seen| seen), "no pair is wasted");
        }
    }

    /// Returns the layouts that plans reach by doubling as often as possible.
    fn layouts() -> Vec<CuckooLayout> {
        let kinds = Kind::cuckoos().filter(|kind| kind.is_signed());
        let plans = kinds.flat_map(|kind| {
            [(10, 0.01), (1000, 1e-4), (50_000, 1e-9)]
                .map(|(keys, rate)| *Spec::new(keys, rate).kind(kind).plan().unwrap().cuckoo().unwrap())
        });
        plans
            .flat_map(|layout| core::iter::successors(layout.doubled(0.9), |layout| layout.doubled(0.9)))
            .collect()
    }

    #[test]
    fn hashes_lead_back_and_doubling_again_asks_for_nothing_more() {
        for layout in layouts() {
            let placement = Signed::new(&layout);
            let next = layout.doubled(0.9).map(|layout| Signed::new(&layout));
            for i in 0..500 {
                let hash = KeyHash::from_raw(crate::key::mix(i));
                let homes @ Homes { first, second, fingerprint } = placement.homes(hash);
                assert!(first.0 < layout.places && (1..=layout.fingerprints).contains(&fingerprint.0));
                let again = placement.hash(first, fingerprint);
                assert_eq!(placement.homes(again), homes, "{layout:?}");
                if let Some(next) = &next {
                    // A tag here has enough information to find its place there.
                    assert_eq!(next.homes(again), next.homes(hash), "{layout:?}");
                }
                assert_eq!(placement.other(first, fingerprint, Side::First), second);
                assert_eq!(placement.other(second, fingerprint, Side::Second), first);
            }
        }
    }

    #[test]
    fn unevenness_is_what_counting_gives() {
        for layout in layouts().into_iter().filter(|layout| layout.earlier_fingerprints < 5000) {
            let placement = Signed::new(&CuckooLayout { places: 1 << layout.doublings, ..layout });
            let mut counts = std::collections::HashMap::new();
            for fingerprint in 0..layout.earlier_fingerprints {
                let hash = undraw(&[(0, 1), (fingerprint, layout.earlier_fingerprints)]);
                let homes = placement.homes(KeyHash::from_raw(hash));
                *counts.entry((homes.first.0, homes.fingerprint.0)).or_insert(0u64) += 1;
            }
            let squares: u64 = counts.values().map(|count| count * count).sum();
            let expected =
                squares as f64 * counts.len() as f64 / (layout.earlier_fingerprints as f64).powi(2);
            assert!((layout.unevenness() / expected - 1.0).abs() < 0.01, "{layout:?}: {expected}");
        }
    }
}
