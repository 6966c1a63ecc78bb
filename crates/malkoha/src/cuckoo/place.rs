//! The two places of a key.
//!
//! A placement turns a hash into a first place and a fingerprint, and finds from either place and the
//! fingerprint alone the other one: nothing else is known of a tag that has to move. The law that keeps every
//! key findable: going to the other side and back leads home, and the two places never share a slot.
//!
//! | placement | other place | number of places |
//! | --- | --- | --- |
//! | [`Xor`] | place XOR a hash of the fingerprint | powers of two |
//! | [`Subtables`] | place XOR the fingerprint's lowest bits | whole subtables |
//! | [`Signed`] | plus an offset from the first side, minus from the second | any |
//!
//! XOR is its own inverse but leaves the table if the number of places is no power of two, and a remainder
//! taken afterwards does not lead back: that loses keys. A signed offset leads back from any number of places
//! and pays for it with one bit in the tag, the side, which a search compares like the rest, so that the bit
//! is not lost to the rate.

use core::hint::select_unpredictable;

use crate::key::KeyHash;
use crate::kind::Kind;
use crate::reduce::{Multiply, Whole, are_narrow, undraw};

use super::layout::CuckooLayout;
use super::tag::{Fingerprint, Side};

/// A bucket or a window, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub(crate) u64);

/// How the two places of a key are found.
pub trait Placement: Clone + Send + Sync + core::fmt::Debug + 'static {
    /// Whether a layout is one of this placement.
    fn fits(layout: &CuckooLayout) -> bool;

    /// The placement that a layout describes, which fits.
    fn new(layout: &CuckooLayout) -> Self;

    /// Whether vectors can find homes, in narrow draws.
    fn suits_vectors(&self) -> bool;

    /// The first place and the fingerprint of a key, in draws by `M`.
    fn locate_by<M: Multiply>(&self, hash: KeyHash) -> (Place, Fingerprint);

    /// The first place and the fingerprint of a key.
    #[inline(always)]
    fn locate(&self, hash: KeyHash) -> (Place, Fingerprint) {
        self.locate_by::<Whole>(hash)
    }

    /// A hash with this first place and fingerprint: the filter cannot tell it from the hash of the key that
    /// they came from.
    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash;

    /// The place on the other side, in draws by `M`.
    fn other_by<M: Multiply>(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place;

    /// The place on the other side.
    #[inline(always)]
    fn other(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        self.other_by::<Whole>(place, fingerprint, side)
    }

    /// The name of a pair of places with a fingerprint, the same from both sides.
    fn canonical(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place;
}

/// A hash of a fingerprint, good in its upper bits.
#[inline(always)]
const fn scatter(fingerprint: Fingerprint) -> u64 {
    let z = fingerprint.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Fan et al.: place XOR a hash of the fingerprint, among a power of two of places.
#[derive(Clone, Debug)]
pub struct Xor {
    places: u64,
    fingerprints: u64,
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
    fn locate_by<M: Multiply>(&self, hash: KeyHash) -> (Place, Fingerprint) {
        let (place, rest) = M::draw(hash.to_raw(), self.places);
        (Place(place), Fingerprint(1 + M::last_draw(rest, self.fingerprints)))
    }

    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash {
        KeyHash::from_raw(undraw(&[(first.0, self.places), (fingerprint.0 - 1, self.fingerprints)]))
    }

    #[inline(always)]
    fn other_by<M: Multiply>(&self, place: Place, fingerprint: Fingerprint, _: Side) -> Place {
        // Never zero: the two places must differ.
        let distance = 1 + M::last_draw(scatter(fingerprint), self.places - 1);
        Place(place.0 ^ distance)
    }

    #[inline(always)]
    fn canonical(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        place.min(self.other(place, fingerprint, side))
    }
}

/// Eppstein: place XOR the lowest w bits of the fingerprint, so that the table falls into subtables of 2^w
/// places that no key leaves. Those bits are never all zero.
#[derive(Clone, Debug)]
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
    fn locate_by<M: Multiply>(&self, hash: KeyHash) -> (Place, Fingerprint) {
        let (place, rest) = M::draw(hash.to_raw(), self.places);
        let (low, rest) = M::draw(rest, self.low);
        (Place(place), Fingerprint(M::last_draw(rest, self.high) << self.width | (1 + low)))
    }

    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash {
        let (low, high) = ((fingerprint.0 & self.low) - 1, fingerprint.0 >> self.width);
        KeyHash::from_raw(undraw(&[(first.0, self.places), (low, self.low), (high, self.high)]))
    }

    #[inline(always)]
    fn other_by<M: Multiply>(&self, place: Place, fingerprint: Fingerprint, _: Side) -> Place {
        Place(place.0 ^ (fingerprint.0 & self.low))
    }

    #[inline(always)]
    fn canonical(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        place.min(self.other(place, fingerprint, side))
    }
}

/// Schmitz, Zentgraf and Rahmann, section 3.1: plus an offset that the fingerprint names, minus on the way
/// back, around the ring of places.
///
/// The offset is drawn from `least..least + span`. For a share of the fingerprints it is instead drawn inside
/// an aligned group of places, about a cache line, and goes around that group. Offsets are at least the
/// number of slots by which places overlap, in both directions around the ring.
///
/// `NEAR` is whether there may be such a share: without, lookups need not ask.
#[derive(Clone, Debug)]
pub struct Signed<const NEAR: bool = true> {
    places: u64,
    fingerprints: u64,
    least: u64,
    span: u64,
    /// Of 256 fingerprints, so many are near.
    near: u64,
    near_span: u64,
    /// Places of a group, less one.
    group: u64,
}

impl<const NEAR: bool> Signed<NEAR> {
    /// Steps from a place around a ring of `places`. Without a branch: on which side a resident sits cannot
    /// be foreseen.
    #[inline(always)]
    const fn step(place: u64, offset: u64, side: Side, places: u64) -> u64 {
        let back = (side as u64).wrapping_neg();
        let sum = place + Self::signed(offset, side).wrapping_add(places & back);
        if sum >= places { sum - places } else { sum }
    }

    /// The offset from the first side, its negative from the second.
    #[inline(always)]
    const fn signed(offset: u64, side: Side) -> u64 {
        let back = (side as u64).wrapping_neg();
        (offset ^ back).wrapping_sub(back)
    }
}

impl<const NEAR: bool> Placement for Signed<NEAR> {
    fn fits(layout: &CuckooLayout) -> bool {
        layout.kind.is_signed() && layout.doublings == 0 && (NEAR || layout.ring.near_share == 0)
    }

    fn new(layout: &CuckooLayout) -> Self {
        let ring = layout.ring;
        Self {
            places: layout.places,
            fingerprints: layout.fingerprints,
            least: ring.least,
            span: ring.most - ring.least + 1,
            near: u64::from(ring.near_share),
            near_span: (ring.group + 1).saturating_sub(2 * ring.least),
            group: ring.group.saturating_sub(1),
        }
    }

    fn suits_vectors(&self) -> bool {
        are_narrow(&[self.places, self.fingerprints, self.span, self.near_span])
    }

    #[inline(always)]
    fn locate_by<M: Multiply>(&self, hash: KeyHash) -> (Place, Fingerprint) {
        let (place, rest) = M::draw(hash.to_raw(), self.places);
        (Place(place), Fingerprint(1 + M::last_draw(rest, self.fingerprints)))
    }

    fn hash(&self, first: Place, fingerprint: Fingerprint) -> KeyHash {
        KeyHash::from_raw(undraw(&[(first.0, self.places), (fingerprint.0 - 1, self.fingerprints)]))
    }

    #[inline(always)]
    fn other_by<M: Multiply>(&self, place: Place, fingerprint: Fingerprint, side: Side) -> Place {
        let (byte, rest) = M::draw(scatter(fingerprint), 256);
        // Without a branch: which fingerprints are near cannot be foreseen.
        let near = NEAR && byte < self.near;
        let span = select_unpredictable(near, self.near_span, self.span);
        let offset = self.least + M::last_draw(rest, span);
        let far = Self::step(place.0, offset, side, self.places);
        let inside = place.0.wrapping_add(Self::signed(offset, side));
        let near_by = (place.0 & !self.group) | (inside & self.group);
        Place(select_unpredictable(near, near_by, far))
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
    use crate::key::mix;
    use crate::reduce::Narrow;
    use crate::spec::{Offsets, Spec};

    /// The layouts whose placements are tested: every family, small and large, every kind of offset.
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

    /// The law of all placements, for keys spread over the whole table. Returns whether vectors could do it.
    fn check<P: Placement>(layout: &CuckooLayout) -> bool {
        let placement = P::new(layout);
        let overlap = if layout.kind.is_windowed() { u64::from(layout.slots_per_place) } else { 1 };
        for i in 0..2000u64 {
            let hash = KeyHash::from_raw(mix(i));
            let (first, fingerprint) = placement.locate(hash);
            let second = placement.other(first, fingerprint, Side::First);
            assert!(first.0 < layout.places && second.0 < layout.places, "{layout:?}");
            assert!((1..=layout.tag.fingerprints()).contains(&fingerprint.0), "{layout:?}");
            assert_eq!(placement.other(second, fingerprint, Side::Second), first, "{layout:?}");
            if placement.suits_vectors() {
                assert_eq!(placement.locate_by::<Narrow>(hash), (first, fingerprint), "{layout:?}");
                for (place, side, other) in [(first, Side::First, second), (second, Side::Second, first)] {
                    assert_eq!(placement.other_by::<Narrow>(place, fingerprint, side), other, "{layout:?}");
                }
            }
            assert!(first.0.abs_diff(second.0) >= overlap, "{first:?} and {second:?} overlap in {layout:?}");
            assert_eq!(
                placement.locate(placement.hash(first, fingerprint)),
                (first, fingerprint),
                "{layout:?}"
            );
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
                _ if layout.ring.near_share == 0 => {
                    check::<Signed<false>>(&layout);
                    (2, check::<Signed<true>>(&layout))
                }
                _ => (2, check::<Signed<true>>(&layout)),
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
        // A table of 12 buckets, a key in bucket 6 whose fingerprint hashes to 9: from the other bucket, 3,
        // the way back ends in 10, where nobody will look.
        let other = |place: u64, places: u64| (place ^ 9) % places;
        assert_eq!((other(6, 16), other(other(6, 16), 16)), (15, 6));
        assert_eq!((other(6, 12), other(other(6, 12), 12)), (3, 10));
        // A signed offset of 9 in the same table of 12.
        let second = Signed::<false>::step(6, 9, Side::First, 12);
        assert_eq!((second, Signed::<false>::step(second, 9, Side::Second, 12)), (3, 6));
    }
}
