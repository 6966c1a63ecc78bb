//! A simple table of buckets of four with exchangeable placement and hashes. It simulates what the engine
//! does not have: the placement that the paper rejects, and the hashes of its appendix B. It is measured
//! beside the engine, never instead of it.

use malkoha::KeyHasher;

/// Slots of a bucket.
const SLOTS: usize = 4;
/// Steps of a walk, as in the paper.
const STEPS: usize = 10_000;

/// The purpose that a number is drawn for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw {
    /// The first place of a key.
    Place,
    /// The fingerprint of a key.
    Fingerprint,
    /// The offset of a fingerprint.
    Offset,
}

/// Hash functions into any range, independent for each purpose.
pub(super) trait Hashes {
    fn draw(&self, purpose: Draw, key: u64, range: u64) -> u64;
}

/// The engine's hash of integers.
pub(super) struct Mixed([KeyHasher; 3]);

impl Mixed {
    pub(super) fn new(seed: u64) -> Self {
        Self([1, 2, 3].map(|purpose| KeyHasher::new(3 * seed + purpose)))
    }
}

impl Hashes for Mixed {
    fn draw(&self, purpose: Draw, key: u64, range: u64) -> u64 {
        multiply_high(self.0[purpose as usize].number(key).to_raw(), range)
    }
}

/// Multiplies a range by a hash taken as a fraction.
fn multiply_high(hash: u64, range: u64) -> u64 {
    let product = u128::from(hash) * u128::from(range);
    u64::try_from(product >> 64).expect("the upper half")
}

/// Appendix B: x -> a x mod 2^64 mod b. A power of two takes the upper bits; any other even b folds them in
/// first.
pub(super) struct Linear([u64; 3]);

impl Linear {
    /// Returns hashes with random odd factors.
    pub(super) fn new(seed: u64) -> Self {
        let hasher = KeyHasher::new(seed);
        Self([1, 2, 3].map(|purpose| hasher.number(purpose).to_raw() | 1))
    }
}

impl Hashes for Linear {
    fn draw(&self, purpose: Draw, key: u64, range: u64) -> u64 {
        let product = self.0[purpose as usize].wrapping_mul(key);
        if range.is_power_of_two() {
            multiply_high(product, range)
        } else if range.is_multiple_of(2) {
            (product ^ (product >> 32)) % range
        } else {
            product % range
        }
    }
}

/// How the other place is computed from a place and a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// The paper's: an offset from the first place, and back from the second; slots store the side.
    Signed,
    /// The one that it rejects: b' = (B - b - f) mod B, the same from both sides.
    Mirrored,
}

/// Buckets of four slots.
pub(super) struct Buckets<H> {
    hashes: H,
    placement: Placement,
    places: u64,
    fingerprints: u64,
    slots: Vec<[u32; SLOTS]>,
    occupied: usize,
    random: u64,
}

/// The content of a slot; zero means empty.
type Tag = u32;

impl<H: Hashes> Buckets<H> {
    /// Returns an empty table with slots of this many bits.
    pub(super) fn new(hashes: H, placement: Placement, places: u64, slot_bits: u32) -> Self {
        let side_bits = u32::from(placement == Placement::Signed);
        let slots = vec![[0; SLOTS]; usize::try_from(places).expect("tables fit the memory")];
        let fingerprints = (1 << (slot_bits - side_bits)) - 1;
        Self { hashes, placement, places, fingerprints, slots, occupied: 0, random: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Returns the first place and the fingerprint of a key.
    fn home(&self, key: u64) -> (u64, u64) {
        let fingerprint = 1 + self.hashes.draw(Draw::Fingerprint, key, self.fingerprints);
        (self.hashes.draw(Draw::Place, key, self.places), fingerprint)
    }

    fn tag(&self, fingerprint: u64, side: u64) -> Tag {
        let tag = if self.placement == Placement::Signed { 2 * fingerprint + side } else { fingerprint };
        u32::try_from(tag).expect("slots have at most 32 bits")
    }

    /// Returns the other place of a fingerprint, given its place and side.
    fn other(&self, place: u64, fingerprint: u64, side: u64) -> u64 {
        let places = self.places;
        if self.placement == Placement::Mirrored {
            return (2 * places - place - fingerprint % places) % places;
        }
        let offset = 1 + self.hashes.draw(Draw::Offset, fingerprint, places - 1);
        (if side == 0 { place + offset } else { place + places - offset }) % places
    }

    /// Returns the two places of a key.
    pub(super) fn pair(&self, key: u64) -> (u64, u64) {
        let (place, fingerprint) = self.home(key);
        (place, self.other(place, fingerprint, 0))
    }

    fn put(&mut self, place: u64, tag: Tag) -> bool {
        let free = self.bucket(place).iter_mut().find(|slot| **slot == 0);
        let found = free.map(|slot| *slot = tag).is_some();
        self.occupied += usize::from(found);
        found
    }

    fn bucket(&mut self, place: u64) -> &mut [u32; SLOTS] {
        &mut self.slots[usize::try_from(place).expect("a place of the table")]
    }

    /// Stores a key. After a failure some key has no place, and the table is useless.
    pub(super) fn insert(&mut self, key: u64) -> bool {
        let (mut place, fingerprint) = self.home(key);
        let mut tag = self.tag(fingerprint, 0);
        if self.put(place, tag) {
            return true;
        }
        for _ in 0..STEPS {
            // Try its other place; if that is full too, take the slot of a victim there.
            let (fingerprint, side) = self.parts(tag);
            place = self.other(place, fingerprint, side);
            tag = self.tag(fingerprint, 1 - side);
            if self.put(place, tag) {
                return true;
            }
            let victim = self.number();
            std::mem::swap(&mut self.bucket(place)[victim], &mut tag);
        }
        false
    }

    /// Returns the fingerprint and the side of a tag.
    fn parts(&self, tag: Tag) -> (u64, u64) {
        if self.placement == Placement::Signed {
            (u64::from(tag / 2), u64::from(tag % 2))
        } else {
            (u64::from(tag), 0)
        }
    }

    /// Returns a random slot of a bucket.
    fn number(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(multiply_high(self.random, SLOTS as u64)).expect("a slot of the bucket")
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        let (place, fingerprint) = self.home(key);
        let other = self.other(place, fingerprint, 0);
        let holds = |place: u64, side| {
            let tag = self.tag(fingerprint, side);
            self.slots[usize::try_from(place).expect("a place of the table")].contains(&tag)
        };
        holds(place, 0) | holds(other, 1)
    }

    /// Returns the load: occupied slots divided by all slots.
    pub(super) fn load(&self) -> f64 {
        self.occupied as f64 / (self.slots.len() * SLOTS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps_all_keys(placement: Placement, hashes: impl Hashes) {
        let mut table = Buckets::new(hashes, placement, 1001, 12);
        let keys: Vec<u64> = (0..3600).map(|key| key * key).collect();
        assert!(keys.iter().all(|key| table.insert(*key)));
        assert!(keys.iter().all(|key| table.contains(*key)));
        assert_eq!(table.occupied, keys.len());
    }

    #[test]
    fn no_key_is_lost() {
        for placement in [Placement::Signed, Placement::Mirrored] {
            keeps_all_keys(placement, Mixed::new(1));
            keeps_all_keys(placement, Linear::new(1));
        }
    }

    #[test]
    fn the_other_place_of_the_other_place_is_the_first() {
        for (placement, back) in [(Placement::Signed, 1), (Placement::Mirrored, 0)] {
            let table = Buckets::new(Mixed::new(5), placement, 17, 8);
            for (place, fingerprint) in (0..17).flat_map(|place| (1..128).map(move |print| (place, print))) {
                let other = table.other(place, fingerprint, 0);
                assert!(other < 17);
                assert_eq!(table.other(other, fingerprint, back), place);
            }
        }
    }

    #[test]
    fn linear_hashes_stay_in_range() {
        let hashes = Linear::new(9);
        for range in [1, 2, 3, 6, 1 << 10, 1000, 1023] {
            assert!((0..1000).all(|key| hashes.draw(Draw::Place, key, range) < range));
        }
    }
}
