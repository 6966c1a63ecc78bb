//! Doubled tables: twice the places, or four or eight times as many, paid for with bits of the fingerprint.
//!
//! A table knows of a key its first place and its fingerprint, and nothing else. To spread keys over twice
//! the places something must say in which of the two halves of its old place a key goes, and only the
//! fingerprint can: its upper half or its lower half. What remains is a fingerprint among half as many.
//!
//! ```text
//!   place p, fingerprint f of F       f < F - F/2      ->  place 2p,      fingerprint f,               of F/2
//!                                     else             ->  place 2p + 1,  fingerprint f - (F - F/2),   of F/2
//! ```
//!
//! Fingerprints are counted from 0 here, and F/2 is rounded down. If F is odd the lower half has one
//! fingerprint more than F/2; the last two become one. This is a function of place and fingerprint alone, so
//! that it serves a key that is looked up as well as a tag whose key nobody knows any more, and no key is
//! lost; it can be done any number of times, as long as fingerprints are left.
//!
//! Rates: as many pairs of place and fingerprint as before, so the rate for the same number of keys is as
//! before, but for the two that became one (one part in F more); for twice the keys it is twice the rate.

use super::layout::CuckooLayout;
use super::sizing::local_range;

/// One doubling: the half of a place that a fingerprint leads to, and what remains of it. Counted from 0.
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

/// A fingerprint that [`halve`] takes to this half and this rest.
pub(crate) const fn unhalve(half: u64, rest: u64, fingerprints: u64) -> u64 {
    rest + half * (fingerprints - fingerprints / 2)
}

impl CuckooLayout {
    /// The layout with twice the places and half the fingerprints, in tags of one bit less, for the same load; `None`
    /// if it cannot be: the kind has no signed offsets, or no fingerprints are left to halve, or the places cannot
    /// be counted.
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

    /// How much more often two keys have the same pair of place and fingerprint than if all pairs were
    /// equally probable: a little, in doubled tables, where two fingerprints may have become one.
    pub(crate) fn unevenness(&self) -> f64 {
        if self.doublings == 0 {
            return 1.0;
        }
        let (before, now) = (self.earlier_fingerprints as f64, self.fingerprints as f64);
        let pairs = now * f64::from(self.doublings).exp2();
        // Pairs of one fingerprint count once, the others, of two, four times.
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

    /// The layouts that follow from plans by doubling, as far as it goes.
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
                    // What is known of a tag here is enough to find its place there.
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
