//! The two places of a key.
//!
//! A placement turns a hash into a first place and a fingerprint. From either place and the fingerprint it finds the
//! other place: nothing else is known of a tag that has to move. The law that keeps every key findable: going to the
//! other side and back leads to the same place, and the two places never share a slot.
//!
//! | placement | other place | number of places |
//! | --- | --- | --- |
//! | [`Xor`] | place XOR a hash of the fingerprint | powers of two |
//! | [`Subtables`] | place XOR the fingerprint's lowest bits | whole subtables |
//! | [`Signed`] | plus an offset from the first side, minus from the second | any |
//!
//! XOR is its own inverse, but leaves the table if the number of places is not a power of two, and a remainder taken
//! afterwards does not lead back: keys would be lost. A signed offset leads back for any number of places. It costs
//! one bit in the tag, the side; a search compares that bit like the rest, so the bit still counts for the rate.

use core::hint::select_unpredictable;

use crate::key::KeyHash;
use crate::key::draw::{Multiply, Whole, are_narrow, draw, last_draw, undraw};
use crate::kind::Kind;

use super::doubled::{halve, unhalve};
use super::layout::CuckooLayout;
use super::sizing::LOCAL_RANGE;
use super::tag::{Fingerprint, Side};

/// A bucket or a window, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub(crate) u64);

/// The two places of a key, and what is stored there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Homes {
    pub(crate) first: Place,
    pub(crate) second: Place,
    pub(crate) fingerprint: Fingerprint,
}

/// The way to find the two places of a key.
pub trait Placement: Copy + Send + Sync + core::fmt::Debug + 'static {
    /// Returns whether a layout is one of this placement.
    fn fits(layout: &CuckooLayout) -> bool;

    /// Makes the placement of a layout that fits.
    fn new(layout: &CuckooLayout) -> Self;

    /// Returns whether vectors can find homes, in narrow draws.
    fn suits_vectors(&self) -> bool;

    /// Whether [`is_near`](Self::is_near) or [`is_local`](Self::is_local) can be true.
    const HAS_WAYS: bool = false;

    /// Returns whether [`homes_by`](Self::homes_by) finds homes with `NEAR` or without; `None` if with neither.
    #[inline(always)]
    fn is_near(&self) -> Option<bool> {
        Some(false)
    }

    /// Returns whether [`local_homes`](Self::local_homes) finds the same homes.
    fn is_local(&self) -> bool {
        false
    }

    /// Returns the homes of a key if offsets have the range that most tables have.
    #[inline(always)]
    fn local_homes(&self, hash: KeyHash) -> Homes {
        self.homes(hash)
    }

    /// Returns the homes of a key, in draws by `M`.
    fn homes_by<M: Multiply, const NEAR: bool>(&self, hash: KeyHash) -> Homes;

    /// Returns the homes of a key.
    #[inline(always)]
    fn homes(&self, hash: KeyHash) -> Homes {
        if self.is_near() == Some(false) {
            self.homes_by::<Whole, false>(hash)
        } else {
            self.homes_otherwise(hash)
        }
    }

    /// Returns the homes of a key where that takes more work than usual. Not inlined, to keep the usual path short.
    #[inline(never)]
    fn homes_otherwise(&self, hash: KeyHash) -> Homes {
        self.homes_by::<Whole, true>(hash)
    }

    /// Returns a hash with this first place and fingerprint. The filter cannot tell it from the hash of their key.
    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash;

    /// Returns the place on the other side.
    fn other(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place;

    /// Returns the name of a pair of places with a fingerprint, the same from both sides.
    fn canonical(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place;
}

/// The factors of [`scatter`].
const SCATTER: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// Returns a hash of a fingerprint, good in its upper bits.
#[inline(always)]
const fn scatter(fingerprint: Fingerprint) -> u64 {
    scatter_by(fingerprint, SCATTER)
}

#[inline(always)]
const fn scatter_by(fingerprint: Fingerprint, factors: [u64; 2]) -> u64 {
    let z = fingerprint.0.wrapping_mul(factors[0]);
    (z ^ (z >> 32)).wrapping_mul(factors[1])
}

/// Fan et al.: place XOR a hash of the fingerprint; the number of places is a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Xor {
    places: u64,
    fingerprints: u64,
}

impl Xor {
    /// Returns the number that leads from one place to the other by XOR. Never zero: they must differ.
    #[inline(always)]
    fn distance_by<M: Multiply>(&self, fingerprint: Fingerprint) -> u64 {
        1 + M::last_draw(scatter(fingerprint), self.places - 1)
    }
}

impl Placement for Xor {
    fn fits(layout: &CuckooLayout) -> bool {
        matches!(layout.kind, Kind::Classic(_) | Kind::SemiSorted)
    }

    fn new(layout: &CuckooLayout) -> Self {
        debug_assert!(layout.places.is_power_of_two() && layout.places >= 2);
        Self { places: layout.places, fingerprints: layout.fingerprints }
    }

    fn suits_vectors(&self) -> bool {
        are_narrow(&[self.places, self.fingerprints])
    }

    #[inline(always)]
    fn homes_by<M: Multiply, const NEAR: bool>(&self, hash: KeyHash) -> Homes {
        let (place, rest) = M::draw(hash.to_raw(), self.places);
        let fingerprint = Fingerprint(1 + M::last_draw(rest, self.fingerprints));
        Homes { first: Place(place), second: Place(place ^ self.distance_by::<M>(fingerprint)), fingerprint }
    }

    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash {
        KeyHash::from_raw(undraw(&[(first.0, self.places), (fingerprint.0 - 1, self.fingerprints)]))
    }

    #[inline(always)]
    fn other(&self, place: Place, fingerprint: Fingerprint, _: Side) -> Place {
        Place(place.0 ^ self.distance_by::<Whole>(fingerprint))
    }

    #[inline(always)]
    fn canonical(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        place.min(self.other(place, fingerprint, side))
    }
}

/// Eppstein: place XOR the lowest w bits of the fingerprint, so that the table divides into subtables of 2^w places
/// that no key leaves. Those bits are never all zero.
#[derive(Clone, Copy, Debug)]
pub struct Subtables {
    places: u64,
    /// 2^w - 1: the values of the lowest bits that are allowed, and their mask.
    low: u64,
    /// 2^(f - w): the values of the bits above.
    high: u64,
    width: u32,
}

impl Placement for Subtables {
    fn fits(layout: &CuckooLayout) -> bool {
        matches!(layout.kind, Kind::Simplified(_))
    }

    fn new(layout: &CuckooLayout) -> Self {
        let width = layout.subtable_bits;
        Self {
            places: layout.places,
            low: (1 << width) - 1,
            high: layout.fingerprints / ((1 << width) - 1),
            width,
        }
    }

    fn suits_vectors(&self) -> bool {
        are_narrow(&[self.places, self.low, self.high])
    }

    #[inline(always)]
    fn homes_by<M: Multiply, const NEAR: bool>(&self, hash: KeyHash) -> Homes {
        let (place, rest) = M::draw(hash.to_raw(), self.places);
        let (low, rest) = M::draw(rest, self.low);
        let low = 1 + low;
        let fingerprint = Fingerprint(M::last_draw(rest, self.high) << self.width | low);
        Homes { first: Place(place), second: Place(place ^ low), fingerprint }
    }

    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash {
        let (low, high) = ((fingerprint.0 & self.low) - 1, fingerprint.0 >> self.width);
        KeyHash::from_raw(undraw(&[(first.0, self.places), (low, self.low), (high, self.high)]))
    }

    #[inline(always)]
    fn other(&self, place: Place, fingerprint: Fingerprint, _: Side) -> Place {
        Place(place.0 ^ (fingerprint.0 & self.low))
    }

    #[inline(always)]
    fn canonical(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        place.min(self.other(place, fingerprint, side))
    }
}

/// Schmitz, Zentgraf and Rahmann, section 3.1: plus an offset that follows from the fingerprint, minus on the way
/// back, around the ring of places.
///
/// The offset is drawn from `least..least + span`. For a share of the fingerprints it is drawn inside an aligned
/// group of places, about a cache line, and wraps around that group. Offsets are at least the number of slots by
/// which places overlap, in both directions around the ring.
///
/// A doubled table draws places and fingerprints as before the first doubling; `doubled.rs` explains how the other
/// bits of a place come from the fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct Signed {
    /// The numbers of choices of the two draws.
    places: u64,
    fingerprints: u64,
    /// The places of the ring: `places`, doubled once for each doubling of the table.
    ring: u64,
    least: u64,
    span: u64,
    /// The number of fingerprints, out of 256, that are near.
    near: u64,
    near_span: u64,
    /// Places of a group, minus one.
    group: u64,
    doublings: u32,
    /// The result of [`Placement::is_near`].
    is_near: Option<bool>,
    /// [`SCATTER`], kept in memory to save registers.
    scatter: [u64; 2],
}

impl Signed {
    /// Steps from a place around a ring of `places`. Without a branch: the side of a resident is unpredictable.
    #[inline(always)]
    const fn step(place: u64, offset: u64, side: Side, places: u64) -> u64 {
        let back = (side as u64).wrapping_neg();
        let sum = place + Self::signed(offset, side).wrapping_add(places & back);
        if sum >= places { sum - places } else { sum }
    }

    /// Returns the offset on the first side, its negative on the second.
    #[inline(always)]
    const fn signed(offset: u64, side: Side) -> u64 {
        let back = (side as u64).wrapping_neg();
        (offset ^ back).wrapping_sub(back)
    }

    /// Returns the second place of a key whose offset is drawn from the whole range, wrapped around the ring if
    /// needed. Both sums are computed at once, and the sign of the smaller decides between them.
    #[inline(always)]
    fn second_by<M: Multiply>(&self, first: u64, fingerprint: Fingerprint) -> u64 {
        let (_, rest) = M::draw(scatter(fingerprint), 256);
        let offset = M::last_draw(rest, self.span);
        let (near, around) = (first + self.least, first.wrapping_sub(self.ring - self.least));
        let (near, around) = (near + offset, around.wrapping_add(offset));
        if around.cast_signed() < 0 { near } else { around }
    }

    /// Returns the place on the other side.
    #[inline(always)]
    fn other_by<M: Multiply, const NEAR: bool>(
        &self,
        place: u64,
        fingerprint: Fingerprint,
        side: Side,
    ) -> u64 {
        let (byte, rest) = M::draw(scatter(fingerprint), 256);
        if !NEAR {
            return Self::step(place, self.least + M::last_draw(rest, self.span), side, self.ring);
        }
        // Without a branch: which fingerprints are near is unpredictable.
        let near = byte < self.near;
        let span = select_unpredictable(near, self.near_span, self.span);
        let offset = self.least + M::last_draw(rest, span);
        let far = Self::step(place, offset, side, self.ring);
        let inside = place.wrapping_add(Self::signed(offset, side));
        let near_by = (place & !self.group) | (inside & self.group);
        select_unpredictable(near, near_by, far)
    }

    /// Returns the place on the other side if some fingerprints are near. Not inlined, to keep the other path short.
    #[inline(never)]
    fn near_other(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        Place(self.other_by::<Whole, true>(place.0, fingerprint, side))
    }

    /// Returns a place and a fingerprint, counted from 0, after all doublings.
    fn doubled(&self, mut place: u64, mut fingerprint: u64) -> (u64, u64) {
        for doubling in 0..self.doublings {
            let (half, rest) = halve(fingerprint, self.fingerprints >> doubling);
            (place, fingerprint) = (2 * place + half, rest);
        }
        (place, fingerprint)
    }
}

impl Placement for Signed {
    const HAS_WAYS: bool = true;

    fn fits(layout: &CuckooLayout) -> bool {
        layout.kind.is_signed()
    }

    fn new(layout: &CuckooLayout) -> Self {
        let ring = layout.ring;
        let doublings = layout.doublings;
        Self {
            places: layout.places >> doublings,
            fingerprints: if doublings == 0 { layout.fingerprints } else { layout.earlier_fingerprints },
            ring: layout.places,
            least: ring.least,
            span: ring.most - ring.least + 1,
            near: u64::from(ring.near_share),
            near_span: (ring.group + 1).saturating_sub(2 * ring.least),
            group: ring.group.saturating_sub(1),
            doublings,
            is_near: (doublings == 0).then_some(ring.near_share > 0),
            // The first draw only decides whether an offset is near; the shift that drops it is done once, here.
            scatter: [SCATTER[0], SCATTER[1] << 8],
        }
    }

    fn suits_vectors(&self) -> bool {
        // Doublings are a loop of variable length.
        self.doublings == 0 && are_narrow(&[self.places, self.fingerprints, self.span, self.near_span])
    }

    #[inline(always)]
    fn is_near(&self) -> Option<bool> {
        self.is_near
    }

    fn is_local(&self) -> bool {
        self.is_near == Some(false) && self.least == 1 && self.span == LOCAL_RANGE
    }

    #[inline(always)]
    fn local_homes(&self, hash: KeyHash) -> Homes {
        let (first, rest) = draw(hash.to_raw(), self.places);
        let fingerprint = Fingerprint(1 + last_draw(rest, self.fingerprints));
        let offset = last_draw(scatter_by(fingerprint, self.scatter), LOCAL_RANGE);
        let near = first + 1 + offset;
        let around = near.wrapping_sub(self.ring);
        let second = if around.cast_signed() < 0 { near } else { around };
        Homes { first: Place(first), second: Place(second), fingerprint }
    }

    #[inline(always)]
    fn homes_by<M: Multiply, const NEAR: bool>(&self, hash: KeyHash) -> Homes {
        let (first, rest) = M::draw(hash.to_raw(), self.places);
        let fingerprint = Fingerprint(1 + M::last_draw(rest, self.fingerprints));
        let second = if NEAR {
            self.other_by::<M, true>(first, fingerprint, Side::First)
        } else {
            self.second_by::<M>(first, fingerprint)
        };
        Homes { first: Place(first), second: Place(second), fingerprint }
    }

    #[inline(never)]
    fn homes_otherwise(&self, hash: KeyHash) -> Homes {
        if self.doublings == 0 {
            return self.homes_by::<Whole, true>(hash);
        }
        let (place, rest) = draw(hash.to_raw(), self.places);
        let (first, fingerprint) = self.doubled(place, last_draw(rest, self.fingerprints));
        let fingerprint = Fingerprint(1 + fingerprint);
        let second = self.other(Place(first), fingerprint, Side::First);
        Homes { first: Place(first), second, fingerprint }
    }

    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash {
        let mut fingerprint = fingerprint.0 - 1;
        for doubling in 0..self.doublings {
            let half = first.0 >> doubling & 1;
            fingerprint = unhalve(half, fingerprint, self.fingerprints >> (self.doublings - 1 - doubling));
        }
        let place = first.0 >> self.doublings;
        KeyHash::from_raw(undraw(&[(place, self.places), (fingerprint, self.fingerprints)]))
    }

    #[inline(always)]
    fn other(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        if self.near > 0 {
            return self.near_other(place, fingerprint, side);
        }
        Place(self.other_by::<Whole, false>(place.0, fingerprint, side))
    }

    #[inline(always)]
    fn canonical(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        match side {
            Side::First => place,
            Side::Second => self.other(place, fingerprint, side),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::Offsets;
    use crate::key::draw::Narrow;
    use crate::key::mix;
    use crate::plan::Spec;

    /// Returns the layouts whose placements are tested: every family, small and large, every kind of offset.
    fn layouts() -> Vec<CuckooLayout> {
        let mut layouts = Vec::new();
        for kind in Kind::cuckoos() {
            for keys in [1, 2, 3, 10, 100, 1000, 50_000, 5_000_000_000] {
                for offsets in [Offsets::Local, Offsets::Whole, Offsets::Near(128), Offsets::Near(192)] {
                    for rate in [0.2, 0.01, 1e-6, 1e-11, 1e-15] {
                        let plan = Spec::new(keys, rate).kind(kind).offsets(offsets).plan();
                        layouts.extend(plan.ok().map(|geometry| *geometry.cuckoo().unwrap()));
                    }
                }
            }
        }
        assert!(layouts.len() > 1000);
        layouts
    }

    /// Checks the law of all placements for keys spread over the whole table. Returns whether vectors suit it.
    fn check<P: Placement>(layout: &CuckooLayout) -> bool {
        let placement = P::new(layout);
        let overlap = if layout.kind.is_windowed() { u64::from(layout.slots_per_place) } else { 1 };
        for i in 0..2000u64 {
            let hash = KeyHash::from_raw(mix(i));
            let homes @ Homes { first, second, fingerprint } = placement.homes(hash);
            assert_eq!(placement.other(first, fingerprint, Side::First), second, "{layout:?}");
            assert!(first.0 < layout.places && second.0 < layout.places, "{layout:?}");
            assert!((1..=layout.tag.fingerprints()).contains(&fingerprint.0), "{layout:?}");
            assert_eq!(placement.other(second, fingerprint, Side::Second), first, "{layout:?}");
            if placement.suits_vectors() {
                if placement.is_near() == Some(false) {
                    assert_eq!(placement.homes_by::<Narrow, false>(hash), homes, "{layout:?}");
                }
                assert_eq!(placement.homes_by::<Narrow, true>(hash), homes, "{layout:?}");
            }
            if placement.is_local() {
                assert_eq!(placement.local_homes(hash), homes, "{layout:?}");
            }
            assert!(first.0.abs_diff(second.0) >= overlap, "{first:?} and {second:?} overlap in {layout:?}");
            assert_eq!(placement.homes(placement.hash(first, fingerprint)), homes, "{layout:?}");
            let name = placement.canonical(first, fingerprint, Side::First);
            assert_eq!(placement.canonical(second, fingerprint, Side::Second), name);
        }
        placement.suits_vectors()
    }

    #[test]
    fn there_and_back_again_and_the_places_never_overlap() {
        let mut in_vectors = [[0; 2]; 3];
        for layout in layouts() {
            let (family, suits) = match layout.kind {
                Kind::Classic(_) | Kind::SemiSorted => (0, check::<Xor>(&layout)),
                Kind::Simplified(_) => (1, check::<Subtables>(&layout)),
                _ => (2, check::<Signed>(&layout)),
            };
            in_vectors[family][usize::from(suits)] += 1;
        }
        assert!(
            in_vectors.as_flattened().iter().all(|&layouts| layouts > 5),
            "{in_vectors:?}: with and without"
        );
    }

    #[test]
    fn xor_and_a_remainder_do_not_lead_back() {
        // A table of 12 buckets, a key in bucket 6 whose fingerprint hashes to 9: from the other bucket, 3, the way
        // back ends in 10, where no lookup goes.
        let other = |place: u64, places: u64| (place ^ 9) % places;
        assert_eq!((other(6, 16), other(other(6, 16), 16)), (15, 6));
        assert_eq!((other(6, 12), other(other(6, 12), 12)), (3, 10));
        // A signed offset of 9 in the same table of 12.
        let second = Signed::step(6, 9, Side::First, 12);
        assert_eq!((second, Signed::step(second, 9, Side::Second, 12)), (3, 6));
    }
}
