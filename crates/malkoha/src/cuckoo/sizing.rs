//! From a wish to a layout: how many slots, how wide, how far the offsets reach.
//!
//! The tag is the narrowest that achieves the rate. The number of slots follows from the load, with spare slots for
//! small tables, where chance matters more; the stash takes what remains. The constants come from measurements that
//! `docs/NOTEBOOK.md` describes under "Small tables" and "Small fingerprints".

use crate::error::Error;
use crate::key::draw::bits_needed;
use crate::kind::Kind;
use crate::theory;
use crate::theory::search::most;

use super::layout::{CuckooLayout, MOST_SUBTABLE_BITS, Offsets, Ring};
use super::sorted::SortedBuckets;

/// Offsets reach this many places, and more in tables beyond [`DENSE_TABLE`] places that are planned to be dense.
pub(super) const LOCAL_RANGE: u64 = 1 << 14;
const DENSE_TABLE: u64 = 1 << 24;

/// The accepted probability that filling a filter as planned fails.
const FAILURE: f64 = 1e-7;

/// Room in the stash that is kept for unforeseen causes.
const RESERVE: u32 = 4;

/// What a caller wants of a cuckoo table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) kind: Kind,
    pub(crate) keys: u64,
    pub(crate) load: f64,
    pub(crate) offsets: Offsets,
    pub(crate) stash: u32,
    pub(crate) max_steps: u32,
    /// Bits of the value beside each fingerprint.
    pub(crate) value_bits: u32,
    /// The number of shards. Drawing a shard takes bits of the hash too.
    pub(crate) shards: u32,
}

impl Wish {
    /// Returns the rate when each shard holds the planned keys.
    pub(crate) fn rate(&self, layout: &CuckooLayout) -> f64 {
        let all = |number: u64| number.saturating_mul(u64::from(self.shards));
        theory::rate(self.kind, all(self.keys), all(layout.places), layout.fingerprints)
    }

    /// Returns the bits of the 64 of a hash that shard, place and fingerprint take.
    fn hash_bits(&self, layout: &CuckooLayout) -> u32 {
        bits_needed(&[u64::from(self.shards), layout.places, layout.fingerprints])
    }

    /// Returns the layout with the narrowest tags whose rate is at most `rate`.
    pub(crate) fn at_rate(&self, rate: f64) -> Result<CuckooLayout, Error> {
        let mut best: Option<CuckooLayout> = None;
        for bits in self.tag_bits() {
            let layout = self.with_tag_bits(bits)?;
            if self.hash_bits(&layout) > 64 {
                return best.ok_or(Error::HashBits { needed: self.hash_bits(&layout) });
            }
            if self.rate(&layout) > rate || !self.has_room(&layout) {
                continue;
            }
            if best.is_none_or(|best| layout.bytes() < best.bytes()) {
                best = Some(layout);
            }
            // Wider tags take more memory, except where subtables would be larger if tags were wider.
            if layout.subtable_bits < bits {
                break;
            }
        }
        match best {
            Some(best) => self.checked(best),
            None if *self.tag_bits().end() < *CuckooLayout::tag_widths(self.kind).end() => {
                Err(Error::SlotBits { value_bits: self.value_bits })
            }
            None => Err(Error::HashBits { needed: u64::BITS + 1 }),
        }
    }

    /// Returns the layout with the widest tags that fits into `bytes` bytes of memory.
    pub(crate) fn in_memory(&self, bytes: u64) -> Result<CuckooLayout, Error> {
        let mut best = None;
        let mut least = u64::MAX;
        for bits in self.tag_bits() {
            let layout = self.with_tag_bits(bits)?;
            if self.hash_bits(&layout) > 64 {
                break;
            }
            if !self.has_room(&layout) {
                continue;
            }
            least = least.min(layout.bytes());
            if layout.bytes() <= bytes {
                best = Some(layout);
            }
        }
        match best {
            Some(layout) => self.checked(layout),
            None if least == u64::MAX => Err(Error::TooLarge { keys: self.keys }),
            None => Err(Error::Memory { bytes, least }),
        }
    }

    /// Returns the widths that tags can have below the value, ascending.
    fn tag_bits(&self) -> core::ops::RangeInclusive<u32> {
        CuckooLayout::tag_widths_below(self.kind, self.value_bits)
    }

    /// Returns the layout with 2^`doublings` times the places and 2^`bits` times the fingerprints of another of this
    /// kind, and the most keys that it holds at this rate. Only for signed offsets that do not stay near.
    ///
    /// The number of pairs of first place and fingerprint is a multiple of the other's. Both draws together are one
    /// draw of a pair, so the pair of a key in the other layout is the pair here, divided and rounded down: keys with
    /// equal pairs here have equal pairs there.
    pub(crate) fn refined(
        &self,
        coarse: &CuckooLayout,
        (doublings, bits): (u32, u32),
        rate: f64,
    ) -> Result<(u64, CuckooLayout), Error> {
        debug_assert!(self.kind.is_signed() && !matches!(self.offsets, Offsets::Near(_)));
        let too_large = || Error::HashBits { needed: coarse.hash_bits() + doublings + bits };
        let tag_bits = coarse.tag.bits - coarse.tag.value_bits + bits;
        if !self.tag_bits().contains(&tag_bits) {
            return Err(too_large());
        }
        let mut layout = self.with_tags(tag_bits);
        let scaled = |number: u64, by: u32| number.checked_mul(1u64.checked_shl(by)?);
        let places = scaled(coarse.places, doublings).ok_or_else(too_large)?;
        layout.set_places(places).ok_or_else(too_large)?;
        layout.fingerprints = scaled(coarse.fingerprints, bits).ok_or_else(too_large)?;
        if layout.hash_bits() > 64 {
            return Err(too_large());
        }
        layout.ring = self.ring(&mut layout);
        let fits = |keys: u64| {
            let wish = Self { keys, ..*self };
            wish.slots_for(keys).is_some_and(|slots| slots <= layout.slots)
                && layout.rate(keys) <= rate
                && wish.has_room(&layout)
        };
        let keys = most(fits);
        Self { keys, ..*self }.checked(layout).map(|layout| (keys, layout))
    }

    /// Returns the layout with tags of `bits` bits below the value, whatever their rate.
    fn with_tag_bits(&self, bits: u32) -> Result<CuckooLayout, Error> {
        let kind = self.kind;
        let l = u64::from(kind.slots_per_place());
        let mut layout = self.with_tags(bits);
        let slots = self.slots_for(self.keys).ok_or(Error::TooLarge { keys: self.keys })?;
        match kind {
            Kind::Classic(_) | Kind::SemiSorted => {
                layout.places = slots.div_ceil(l).next_power_of_two().max(2);
            }
            Kind::Simplified(_) => self.subtables(&mut layout, bits),
            Kind::Flexible(_) | Kind::Sorted => {
                layout.places = slots.div_ceil(l).max(2);
                layout.ring = self.ring(&mut layout);
            }
            Kind::Windowed(_) => {
                layout.places = (slots - (l - 1)).max(2 * l);
                layout.ring = self.ring(&mut layout);
            }
            Kind::Elastic | Kind::Bloom | Kind::Blocked(_) => unreachable!("planned by their own family"),
        }
        layout.set_places(layout.places).ok_or(Error::TooLarge { keys: self.keys })?;
        Ok(layout)
    }

    /// Returns a layout with tags of `bits` bits below the value, and no places yet.
    fn with_tags(&self, bits: u32) -> CuckooLayout {
        let Self { kind, stash, max_steps, value_bits, .. } = *self;
        CuckooLayout { stash, max_steps, ..CuckooLayout::with_tags(kind, bits).with_values(value_bits) }
    }

    /// Returns the slots for `keys` keys at the planned load, with spare slots for the fluctuation of small tables;
    /// `None` if there are too many.
    fn slots_for(&self, keys: u64) -> Option<u64> {
        let slots = keys as f64 / self.load + self.spare(keys as f64);
        (slots < 2f64.powi(56)).then(|| whole(slots))
    }

    /// Returns the slots beyond the planned load, so that chance does not overfill a small table. Fluctuations grow
    /// with the square root of the number of keys; they matter most for places with few slots.
    fn spare(&self, keys: f64) -> f64 {
        let roots = match self.kind.slots_per_place() {
            1 | 2 if !self.kind.is_windowed() => 3.0,
            2 | 3 => 1.5,
            _ => 1.0,
        };
        roots * keys.sqrt() + 4.0
    }

    /// Computes how far signed offsets reach, and rounds the places up to whole groups if some offsets are near.
    fn ring(&self, layout: &mut CuckooLayout) -> Ring {
        let least = CuckooLayout::least_offset(layout.kind);
        let mut ring = Ring { least, most: 0, near_share: 0, group: 1 };
        if let Offsets::Near(share) = self.offsets {
            ring.near_share = share;
            ring.group = self.near_group(layout, least);
            layout.places = layout.places.next_multiple_of(ring.group);
        }
        let farthest = layout.places - least;
        ring.most = match self.offsets {
            Offsets::Whole => farthest,
            Offsets::Local | Offsets::Near(_) => {
                farthest.min(local_range(self.kind, self.load, layout.places))
            }
        };
        ring
    }

    /// Returns the number of places within which near offsets stay: those of a cache line, or more if otherwise some
    /// line would get more near keys than it has slots.
    fn near_group(&self, layout: &CuckooLayout, least: u64) -> u64 {
        let stride_bits = match layout.kind {
            Kind::Sorted => SortedBuckets::bucket_bits(layout.tag.bits),
            Kind::Windowed(_) => layout.tag.bits,
            _ => layout.tag.bits * layout.slots_per_place,
        };
        let in_a_line = (512 / u64::from(stride_bits)).max(1);
        let mut group = (1 << in_a_line.ilog2()).max((2 * least).next_power_of_two());
        while group < layout.places && !self.near_fits(layout, group) {
            group *= 2;
        }
        group
    }

    /// Returns whether groups of this many places have room for the keys that stay in them: the group as a whole, and
    /// every two places that are the homes of one key.
    fn near_fits(&self, layout: &CuckooLayout, group: u64) -> bool {
        let Offsets::Near(share) = self.offsets else { return true };
        let l = u64::from(layout.slots_per_place);
        let slots = if layout.kind.is_windowed() { group } else { group * l };
        let near_keys = whole(self.keys as f64 * f64::from(share) / 256.0);
        let groups = layout.places as f64 / group as f64;
        let pairs = layout.places as f64 * (group - 1) as f64 / 2.0;
        let in_groups = theory::overfull(near_keys, groups, u32::try_from(slots).unwrap_or(u32::MAX));
        let in_pairs = theory::overfull(near_keys, pairs, 2 * layout.slots_per_place);
        // Sets of three and four places that share their keys are overfull about as often as pairs.
        poisson_above(in_groups + 4.0 * in_pairs, self.stash / 4) <= FAILURE
    }

    /// Chooses the size of the subtables of a simplified filter: the one that needs the least memory.
    fn subtables(&self, layout: &mut CuckooLayout, fingerprint_bits: u32) {
        let l = u64::from(layout.slots_per_place);
        let mut best = u64::MAX;
        for bits in 1..=fingerprint_bits.min(MOST_SUBTABLE_BITS) {
            let slots = l << bits;
            let Some(count) = self.subtable_count(slots) else { continue };
            let places = count << bits;
            if places <= best {
                best = places;
                layout.places = places;
                layout.set_subtables(bits);
            }
        }
    }

    /// Returns how many subtables of `slots` slots hold all keys, so that even the fullest has room.
    fn subtable_count(&self, slots: u64) -> Option<u64> {
        if self.slots_for(self.keys)? <= slots {
            return Some(1);
        }
        let keys = self.keys as f64;
        let mut count = (keys / self.load / slots as f64).max(1.0);
        // The fullest subtable is about this many standard deviations above the mean.
        for _ in 0..64 {
            let mean = keys / count;
            let above = (2.0 * (count / FAILURE).ln()).sqrt();
            let fullest = mean + above * mean.sqrt() + above * above / 6.0;
            let needed = fullest / self.load + self.spare(fullest);
            if needed <= slots as f64 {
                return Some(whole(count));
            }
            count *= (needed / slots as f64).max(1.001);
            if count > 2f64.powi(50) {
                return None;
            }
        }
        None
    }

    /// Returns whether the load can be reached with so few keys left over that the stash holds them.
    fn has_room(&self, layout: &CuckooLayout) -> bool {
        // With very few fingerprints, keys have too few pairs of places to choose from, and the threshold itself
        // falls.
        let choices = f64::from(layout.slots_per_place) * layout.groups() / layout.places as f64;
        if choices < if layout.kind.is_windowed() { 14.0 } else { 21.0 } {
            return false;
        }
        let mut expected = theory::overfull(self.keys, layout.groups(), 2 * layout.slots_per_place);
        if layout.slots_per_place == 1 {
            // Four places in a ring hold four keys; with few fingerprints many rings of four have a fifth.
            expected += self.keys as f64 / (layout.fingerprints as f64).powi(2);
        }
        poisson_above(expected, layout.stash.saturating_sub(RESERVE)) <= FAILURE
    }

    /// Refuses layouts that cannot be addressed or that need too many bits of a hash.
    fn checked(&self, layout: CuckooLayout) -> Result<CuckooLayout, Error> {
        if layout.table_bits().is_none() {
            return Err(Error::TooLarge { keys: self.keys });
        }
        match self.hash_bits(&layout) {
            needed @ 65.. => Err(Error::HashBits { needed }),
            _ => Ok(layout),
        }
    }
}

/// Rounds a count up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts, below 2^56")]
fn whole(count: f64) -> u64 {
    count.ceil() as u64
}

/// Returns how far local offsets reach in a table of `places` places that is planned for this load.
///
/// The keys of a stretch of the table must find room in it and in what offsets reach around it. The excess of the
/// fullest stretch over the mean grows with the square root of the logarithm of the number of stretches, and the
/// space that is free up to the threshold absorbs it at any size, unless the table is dense and leaves little.
pub(super) fn local_range(kind: Kind, load: f64, places: u64) -> u64 {
    if load <= theory::planned_load(kind) {
        return LOCAL_RANGE;
    }
    // Doubled whenever the table is four times as large.
    LOCAL_RANGE << (places / DENSE_TABLE).max(1).ilog2().div_ceil(2)
}

/// Returns the probability that a Poisson variable exceeds `most`.
fn poisson_above(mean: f64, most: u32) -> f64 {
    // A larger mean, or one so large that its formula failed, is certainly too much.
    if !(0.0..=100.0).contains(&mean) {
        return 1.0;
    }
    let mut probability = (-mean).exp();
    let mut above = 0.0;
    for x in 1u32.. {
        probability *= mean / f64::from(x);
        above += if x > most { probability } else { 0.0 };
        // Beyond the mean the terms decrease faster and faster.
        if f64::from(x) > mean && probability < 1e-30 {
            break;
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    fn reach(spec: Spec) -> u64 {
        spec.plan().unwrap().cuckoo().unwrap().ring.most
    }

    #[test]
    fn local_offsets_reach_as_far_as_the_load_asks_for() {
        for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted] {
            for keys in [1 << 20, 1 << 26, 1 << 31] {
                let spec = Spec::new(keys, 0.01).kind(kind);
                assert_eq!(reach(spec), LOCAL_RANGE, "{kind} {keys}");
                assert!(reach(spec.dense()) >= LOCAL_RANGE, "{kind} {keys}");
                assert!(reach(spec.offsets(Offsets::Whole)) > 8 * LOCAL_RANGE, "{kind} {keys}");
            }
            assert!(reach(Spec::new(1 << 31, 0.01).kind(kind).dense()) >= 8 * LOCAL_RANGE, "{kind}");
        }
    }

    #[test]
    fn doubled_tables_reach_as_far_as_planned_ones() {
        let kind = Kind::Windowed(2);
        let twice_doubled = |spec: Spec| {
            let doubled = spec.kind(kind).plan().unwrap().doubled().unwrap().doubled().unwrap();
            *doubled.cuckoo().unwrap()
        };
        for (spec, expected) in [
            (Spec::new(10_000, 0.001), LOCAL_RANGE),
            (Spec::new(1 << 26, 0.001), LOCAL_RANGE),
            (Spec::new(1 << 26, 0.001).dense(), 4 * LOCAL_RANGE),
        ] {
            let layout = twice_doubled(spec);
            assert_eq!(layout.ring.most, expected, "{layout:?}");
            assert!(!layout.reaches_everywhere());
        }
        let layout = twice_doubled(Spec::new(1 << 15, 0.001).offsets(Offsets::Whole));
        assert_eq!(layout.ring.most, layout.places - layout.ring.least);
    }
}
