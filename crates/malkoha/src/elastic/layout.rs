//! The numbers of an elastic filter: how long fingerprints are at which size, and where growing begins.
//!
//! # Levels
//!
//! A region whose hashes had `g` doublings since the smallest size is at *level* g, whether a doubling made the
//! region larger or split it. A fingerprint that is stored at level g has
//! [`fingerprint_bits`](ElasticLayout::fingerprint_bits) bits, and every later doubling takes one of them.
//!
//! # Why the rate holds
//!
//! An entry that was stored at level g with f(g) bits is hit by a stranger with the same chance for ever: a doubling
//! takes one bit of the fingerprint and adds one to the place. Shrinking shortens fingerprints at most to the length
//! of those that are stored at the lower level; such an entry counts as stored there. Let c = 7 x 0.985 be the most
//! entries per place. All entries that were stored at level j or below were in the table together when it was last at
//! such a level. So there are at most c 2^j of them for each place of level 0. Among the histories that obey this,
//! the one with the highest rate fills every level: c entries per place at the first one, and c/2 at every further
//! one. Its rate is
//!
//! ```text
//!   c 2^-f(first) + sum over later levels g of c/2 2^-f(g)
//! ```
//!
//! [`ElasticLayout::in_shards`] chooses f so that this sum, up to the last level for which the rate is promised, stays
//! below the promise. Levels up to some 10^8 keys get equal shares, because most filters stay below that, and later
//! levels less and less. Levels of small tables get less too, because long fingerprints cost little there. If the caller
//! expects a number of keys that is not small, its level gets half of the promise.

use crate::bits::prefix_table::OFFSET_BITS;
use crate::error::Error;
use crate::kind::Kind;

/// The number of groups of hashes, by their first bits.
pub(crate) const GROUPS: usize = 1 << GROUP_BITS;

/// Bits of a hash that name its group.
pub(crate) const GROUP_BITS: u32 = 2;

/// The places of a group at level 0. They are so chosen that the groups grow at different times.
pub(crate) const BASES: [u32; GROUPS] = [17, 21, 26, 31];

/// Doublings after which a region is not doubled again but split.
pub(crate) const LARGEST: u32 = 9;

pub(crate) use crate::bits::prefixes::MOST_SLOTS;

/// The fewest slots per place, from level 1 on.
pub(crate) const FEWEST_SLOTS: u32 = 4;

/// Bits that a new fingerprint has at least: entries run out of bits only after eight doublings.
const LEAST_BITS: u32 = OFFSET_BITS + 8;

/// Bits in a slot besides fingerprint and value: the side, and the mark at the end of the fingerprint.
pub(crate) const EXTRA_BITS: u32 = 2;

/// The most bits of a fingerprint.
pub(crate) const MOST_BITS: u32 = 56;

/// The last level with a share of the promise, if hashes have enough bits: more than 10^12 keys.
const MOST_LEVEL: u32 = 31;

/// The number of levels that can exist: a hash has no more bits to split regions by.
pub(crate) const LEVELS: usize = 56;
#[expect(clippy::cast_possible_truncation, reason = "a small number")]
pub(crate) const LEVEL_END: u32 = LEVELS as u32;

/// The level at which tables are no longer small: about 10^5 keys.
const SMALL_LEVEL: u32 = 7;

/// The last level that gets as much of the promise as those before it, about 10^8 keys. A later one, g, gets (17 / g)^5 of
/// that (docs/NOTEBOOK.md, "Shares of the rate for levels of growth").
const USUAL_LEVEL: u32 = 17;

/// Loads up to which places of 0 to 7 slots are filled. All but the smallest tables are filled a little less: there, long
/// walks cost more than memory.
const LOADS: [f64; MOST_SLOTS as usize + 1] = [0.0, 0.45, 0.85, 0.93, 0.955, 0.97, 0.98, 0.985];
const LARGE_LOADS: [f64; MOST_SLOTS as usize + 1] = [0.0, 0.45, 0.85, 0.92, 0.94, 0.957, 0.971, 0.98];

/// The fewest places of a table that is not among the smallest.
const LARGE_PLACES: u32 = BASES[0] << 3;

/// The numbers of a filter that grows in small steps. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElasticLayout {
    /// The number of keys that an empty filter has room for.
    pub first_keys: u64,
    /// The number of doublings up to which the rate is promised.
    pub last_level: u32,
    /// Bits of the value beside each key; 0 if there is none.
    pub value_bits: u32,
    /// The length of the fingerprints stored at each level.
    pub(crate) bits: [u8; LEVELS],
}

/// The most entries that a region of so many places and slots per place is filled with.
pub(crate) fn limit(places: u32, slots: u32) -> u32 {
    let loads = if places < LARGE_PLACES { LOADS } else { LARGE_LOADS };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the number of slots")]
    let limit = (f64::from(places * slots) * loads[slots as usize]) as u32;
    limit
}

/// The most entries per place that the promise allows for.
const ALLOWED_ENTRIES: f64 = MOST_SLOTS as f64 * LOADS[MOST_SLOTS as usize];

/// The most entries per place of a large table.
fn most_entries() -> f64 {
    f64::from(MOST_SLOTS) * LARGE_LOADS[MOST_SLOTS as usize]
}

/// The number of keys up to which no group exceeds a level: a quarter of them fills the group with the fewest places.
fn keys_at(level: u32) -> f64 {
    GROUPS as f64 * f64::from(BASES[0]) * most_entries() * f64::from(level).exp2()
}

/// The room that a group must have for its share of `keys` keys, which may be more than a quarter of them: five
/// standard deviations.
fn room_for(keys: u64) -> f64 {
    let share = keys as f64 / GROUPS as f64;
    share + 5.0 * share.sqrt()
}

/// The smallest level, and slots per place, with room for a share of `keys` keys in a group; `None` if there is none.
fn first(group: usize, keys: u64) -> Option<(u32, u32)> {
    let room = room_for(keys);
    let sizes = (0..=MOST_LEVEL).flat_map(|level| {
        let fewest = if level == 0 { 1 } else { FEWEST_SLOTS };
        (fewest..=MOST_SLOTS).map(move |slots| (level, slots))
    });
    sizes.into_iter().find(|(level, slots)| {
        let (places, regions) = (BASES[group] << level.min(&LARGEST), level.saturating_sub(LARGEST));
        f64::from(limit(places, *slots)) * f64::from(regions).exp2() >= room
    })
}

/// The bits of a hash that a shard, group and place leave at a level, for the group with the most places. The shard
/// is one of `shards`.
fn hash_bits_left(level: u32, shards: u32) -> u32 {
    let drawn = shards.next_power_of_two().ilog2();
    (64 - GROUP_BITS - (u32::BITS - BASES[GROUPS - 1].leading_zeros())).saturating_sub(drawn + level)
}

impl ElasticLayout {
    /// The layout of a filter without shards.
    #[cfg(test)]
    pub(crate) fn new(rate: f64, keys: u64, most_keys: Option<u64>, value_bits: u32) -> Result<Self, Error> {
        Self::in_shards(1, rate, keys, most_keys, value_bits)
    }

    /// The layout for a promised rate, which begins with room for `keys` keys. The rate is promised for up to
    /// `most_keys` keys if that is known, and otherwise for as many as hashes have bits for. It is that of one of
    /// `shards` shards, which a hash draws before anything else.
    pub(crate) fn in_shards(
        shards: u32,
        rate: f64,
        keys: u64,
        most_keys: Option<u64>,
        value_bits: u32,
    ) -> Result<Self, Error> {
        // The group with the fewest places is the first to reach a level.
        let (highest, _) = first(0, keys).ok_or(Error::TooLarge { keys })?;
        let wanted =
            most_keys.and_then(|most| first(0, most)).map_or(MOST_LEVEL, |(level, _)| level).max(highest);
        // The last level for which 64 bits carry group, place and fingerprint.
        let layouts = (highest..=wanted).rev().map(|last_level| {
            let mut layout = Self { first_keys: keys, last_level, value_bits, bits: [0; LEVELS] };
            layout.plan(rate, shards);
            layout
        });
        layouts.into_iter().find(|layout| layout.fits(shards)).ok_or(Error::Option {
            kind: Kind::Elastic,
            what: "hashes have too few bits for so low a rate and so many keys; ask for a higher rate",
        })
    }

    /// Sets the length of the fingerprints at every level.
    fn plan(&mut self, rate: f64, shards: u32) {
        let (first, last) = (self.first_level(), self.last_level);
        let share = |level: u32| {
            let usual = f64::from(USUAL_LEVEL) / f64::from(level.max(USUAL_LEVEL));
            // (Not by `powi`, whose last bit is not the same on every machine.)
            let large = usual * usual * usual * usual * usual;
            let below = SMALL_LEVEL.max(first).saturating_sub(level).min(2);
            large / f64::from(1 << below)
        };
        let all: f64 = (first..=last).map(share).sum();
        let expected = first >= SMALL_LEVEL && last > first;
        let share = |level: u32| match share(level) / all {
            share if !expected => share,
            _ if level == first => 0.5,
            share => 0.5 * share,
        };
        let (mut allowed, mut spent) = (0.0, 0.0);
        for level in first..LEVEL_END {
            let entries = ALLOWED_ENTRIES / if level == first { 1.0 } else { 2.0 };
            let before = if level == first { 0 } else { self.fingerprint_bits(level - 1) };
            // A doubling takes one bit of every fingerprint, and what is left must fit in the slots.
            let least = LEAST_BITS.max(before.saturating_sub(1));
            let bits = if level > last {
                before.min(hash_bits_left(level, shards)).max(least)
            } else {
                allowed += rate * share(level);
                let chance = |bits: u32| entries * (-f64::from(bits)).exp2();
                let bits = (least..64).find(|bits| spent + chance(*bits) <= allowed).unwrap_or(64);
                spent += chance(bits);
                bits
            };
            self.bits[level as usize] = u8::try_from(bits).expect("at most 64");
        }
        for level in 0..first {
            self.bits[level as usize] = self.bits[first as usize];
        }
    }

    /// Whether hashes and slots have enough bits for all levels with a promise, in one of so many shards.
    pub(crate) fn fits(&self, shards: u32) -> bool {
        (self.first_level()..=self.last_level)
            .all(|level| self.fingerprint_bits(level) <= hash_bits_left(level, shards))
            && self.is_possible()
    }

    /// Whether slots can have these numbers of bits, and tables begin with so much room. (That may be at a level above
    /// the last one: a file may be older than today's loads, with which a table takes fewer keys.)
    pub(crate) fn is_possible(&self) -> bool {
        let widest = MOST_BITS.min(64 - EXTRA_BITS - self.value_bits);
        self.bits.iter().all(|bits| (LEAST_BITS..=widest).contains(&u32::from(*bits)))
            && first(0, self.first_keys).is_some()
            && self.last_level <= MOST_LEVEL
    }

    /// The level of an empty filter, and the slots per place, in a group.
    pub(crate) fn first(&self, group: usize) -> (u32, u32) {
        first(group, self.first_keys).expect("checked when the layout was made")
    }

    /// The lowest level of an empty filter.
    fn first_level(&self) -> u32 {
        self.first(GROUPS - 1).0
    }

    /// The length of a fingerprint that is stored at this level.
    #[must_use]
    pub fn fingerprint_bits(&self, level: u32) -> u32 {
        u32::from(self.bits[(level as usize).min(LEVELS - 1)])
    }

    /// The number of keys up to which the rate is promised.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^41")]
    pub fn promised_keys(&self) -> u64 {
        keys_at(self.last_level) as u64
    }

    /// The slots of an empty filter.
    pub(crate) fn first_slots(&self) -> f64 {
        let slots = |group: usize| {
            let (level, slots) = self.first(group);
            f64::from(BASES[group] * slots) * f64::from(level).exp2()
        };
        (0..GROUPS).map(slots).sum()
    }

    /// Bits of a slot, below the value, at a level.
    pub(crate) fn tag_bits(&self, level: u32) -> u32 {
        self.fingerprint_bits(level) + EXTRA_BITS
    }

    /// The rate of a filter in which `keys` distinct keys were stored one after the other.
    pub(crate) fn predicted_rate(&self, keys: u64) -> f64 {
        let share = keys as f64 / GROUPS as f64;
        let in_group = |(group, base): (usize, &u32)| {
            let (mut sum, mut stored) = (0.0, 0.0);
            for level in self.first(group).0..LEVEL_END {
                let places = f64::from(*base) * f64::from(level).exp2();
                let now = share.min(places * most_entries());
                let fingerprints = f64::from(self.fingerprint_bits(level)).exp2();
                sum += (now - stored) / (places * fingerprints);
                stored = now;
            }
            sum
        };
        let sum: f64 = BASES.iter().enumerate().map(in_group).sum();
        -(-sum / GROUPS as f64).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_of_all_histories_stays_below_the_promise() {
        for exponent in 3..=24 {
            let rate = (-f64::from(exponent)).exp2();
            for (keys, most) in [
                (0, None),
                (1000, None),
                (1_000_000, None),
                (1000, Some(50_000)),
                (1_000_000, Some(1_000_000)),
            ] {
                let layout = ElasticLayout::new(rate, keys, most, 0).unwrap();
                let chance =
                    |level: u32| ALLOWED_ENTRIES * (-f64::from(layout.fingerprint_bits(level))).exp2();
                let (first, last) = (layout.first_level(), layout.last_level);
                let sum = chance(first) + (first + 1..=last).map(|level| chance(level) / 2.0).sum::<f64>();
                assert!(sum <= rate, "2^-{exponent}, {keys} keys: {sum}");
                assert!(layout.promised_keys() >= most.unwrap_or(keys));
                assert!(layout.predicted_rate(layout.promised_keys()) <= rate);
            }
        }
        let unknown = ElasticLayout::new(0.001, 0, None, 0).unwrap();
        assert!(unknown.promised_keys() > 1_000_000_000_000, "{unknown:?}");
    }

    #[test]
    fn a_largest_number_of_keys_lowers_the_price() {
        let bits = |most| ElasticLayout::new(0.001, 0, most, 0).unwrap().fingerprint_bits(9);
        assert!(bits(Some(1_000_000)) < bits(None));
    }

    #[test]
    fn what_hashes_cannot_carry_is_refused() {
        assert!(matches!(ElasticLayout::new(1e-18, 1 << 30, None, 0), Err(Error::Option { .. })));
        assert!(ElasticLayout::new(1e-12, 1000, None, 0).is_ok());
        assert!(matches!(ElasticLayout::new(0.1, u64::MAX, None, 0), Err(Error::TooLarge { .. })));
    }
}
