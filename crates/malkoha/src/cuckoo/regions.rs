//! Many keys in the order of their places: roughly sorted, by the region of the table that holds the first place.
//!
//! ```text
//!   keys     a slice
//!   shares   of equal size; threads take shares
//!   lists    one per region in every share; keys are hashed and appended to the list of their region
//!   regions  the lists of all shares, the first share first: the keys of a region in the order of the slice
//! ```
//!
//! Hashes are spread evenly over the regions, so a list has room for the expected number of keys plus three standard
//! deviations, and one pass is enough: nothing is counted beforehand and no list is ever moved. A key whose list is
//! full is spilled: one in some hundred thousand, or many if the same keys are repeated or hashes come sorted.
//!
//! Shares and room depend only on the numbers of keys and regions, so threads do not change the order.

use core::convert::Infallible;

use crate::bits::Words;
use crate::engine::{Many, Share};
use crate::error::Error;
use crate::key::KeyHash;
use crate::key::draw::last_draw;

/// Bytes of a region: with its neighbourhood it fits in the L2 cache of common CPUs.
pub(super) const REGION_BYTES: u64 = 256 << 10;

/// The most regions: the cache lines where their lists end fit in the cache while keys are sorted.
pub(super) const MOST_REGIONS: u64 = 4096;

/// Keys are stored in this many rounds. Each goes through the whole table, which takes time; fewer rounds need more
/// memory for the sorted keys. With slots of 16 bits they take half as much as the table.
const ROUNDS: u64 = 8;

/// The fewest keys of a round: their lists take 9 MiB.
const LEAST_ROUND: usize = 1 << 20;

/// Shares, and the fewest keys that are worth one.
const MOST_SHARES: usize = 16;
const SHARE: usize = 1 << 16;

/// The fewest keys that are worth a list.
const LIST: usize = 64;

/// Returns the number of keys to sort at a time, for a table with this many slots or for this many keys.
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: as many slots as fit the memory")]
pub(crate) fn round(slots: u64) -> usize {
    ((slots / ROUNDS) as usize).max(LEAST_ROUND)
}

/// The order in which a table is best filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Parts of the table.
    pub(super) parts: usize,
    /// The regions of a part; fewer if there are few keys.
    pub(super) regions_of_part: usize,
    /// The most keys that are sorted at a time.
    pub(super) most: usize,
}

/// Raw hashes of keys, and the value of each; no values if all are 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    hashes: &'a [u64],
    values: &'a [u16],
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> Option<KeyHash> {
        self.hashes.get(i).map(|&hash| KeyHash::from_raw(hash))
    }

    #[inline(always)]
    pub(super) fn value(&self, i: usize) -> u16 {
        self.values.get(i).copied().unwrap_or(0)
    }

    pub(super) fn hashes(self) -> impl Iterator<Item = KeyHash> + 'a {
        self.hashes.iter().map(|&hash| KeyHash::from_raw(hash))
    }

    pub(super) fn keys(self) -> impl Iterator<Item = (KeyHash, u16)> + 'a {
        self.hashes().enumerate().map(move |(i, hash)| (hash, self.value(i)))
    }
}

/// The lists of one share. Their memory is kept from one slice of keys to the next.
#[derive(Debug)]
struct Lists {
    /// Keys that a list has room for.
    room: usize,
    /// The length of each list.
    lens: Vec<u32>,
    /// The lists side by side: raw hashes.
    hashes: Words,
    values: Vec<u16>,
    spilled: (Vec<u64>, Vec<u16>),
}

impl Lists {
    /// Makes lists large enough for `keys` keys, in the memory of `old` lists if that is enough.
    fn new(keys: usize, regions: usize, valued: bool, old: Option<Self>) -> Result<Self, Error> {
        let mean = keys.div_ceil(regions);
        let room = (mean + 3 * mean.isqrt() + 8).min(keys);
        let words = regions * room;
        let values = if valued { words } else { 0 };
        let fits = |old: &Self| {
            old.hashes.len() >= words && old.values.len() >= values && old.values.is_empty() != valued
        };
        let (hashes, values) = match old.filter(fits) {
            Some(old) => (old.hashes, old.values),
            None => (Words::zeroed(words as u64 * 64)?, zeros(values)?),
        };
        Ok(Self { room, lens: vec![0; regions], hashes, values, spilled: (Vec::new(), Vec::new()) })
    }

    fn fill(&mut self, keys: &Share) {
        let regions = self.lens.len() as u64;
        let filled: Result<(), Infallible> = keys.each_chunk(&mut |hashes, values| {
            for (i, hash) in hashes.iter().enumerate() {
                let hash = hash.to_raw();
                #[expect(clippy::cast_possible_truncation, reason = "below the number of regions")]
                let region = last_draw(hash, regions) as usize;
                let len = self.lens[region];
                if (len as usize) < self.room {
                    let at = region * self.room + len as usize;
                    // The next cache line of the list, for one of the next keys of this region.
                    self.hashes.prefetch((at + 8) as u64 * 64);
                    self.hashes[at] = hash;
                    if let Some(&value) = values.get(i) {
                        self.values[at] = value;
                    }
                    self.lens[region] = len + 1;
                } else {
                    self.spilled.0.push(hash);
                    self.spilled.1.extend(values.get(i));
                }
            }
            Ok(())
        });
        let Ok(()) = filled;
    }

    fn list(&self, region: usize) -> List<'_> {
        let range = region * self.room..region * self.room + self.lens[region] as usize;
        List { hashes: &self.hashes[range.clone()], values: self.values.get(range).unwrap_or(&[]) }
    }

    fn spilled(&self) -> List<'_> {
        List { hashes: &self.spilled.0, values: &self.spilled.1 }
    }
}

/// Returns `count` values of 0, or an error if there is no memory for them.
fn zeros(count: usize) -> Result<Vec<u16>, Error> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| Error::Allocation { bytes: 2 * count as u64 })?;
    values.resize(count, 0);
    Ok(values)
}

/// Keys, sorted by region.
#[derive(Debug, Default)]
pub(super) struct Regions {
    shares: Vec<Lists>,
    parts: usize,
    /// The regions of a part.
    per_part: usize,
    keys: usize,
}

impl Regions {
    /// Hashes and sorts keys on `threads` threads, and replaces the previous ones. Fails if there is no memory; then
    /// there are no keys.
    pub(super) fn sort(&mut self, keys: &Many, order: Order, threads: usize) -> Result<(), Error> {
        let share = self.prepare((keys.len(), keys.has_values()), order)?;
        let threads = threads.min(self.shares.len());
        keys.share_out(share, self.shares.iter_mut(), threads, |lists, share| lists.fill(&share));
        Ok(())
    }

    /// Makes lists for `keys` keys, with or without values; returns the number of keys of a share.
    fn prepare(&mut self, (keys, valued): (usize, bool), order: Order) -> Result<usize, Error> {
        let shares = (keys / SHARE).clamp(1, MOST_SHARES);
        let share = keys.div_ceil(shares).max(1);
        self.parts = order.parts;
        self.per_part = (share / LIST / order.parts).clamp(1, order.regions_of_part);
        self.keys = 0;
        let mut old = core::mem::take(&mut self.shares).into_iter();
        let regions = self.parts * self.per_part;
        let lists = (0..shares).map(|_| Lists::new(share, regions, valued, old.next()));
        self.shares = lists.collect::<Result<_, Error>>()?;
        self.keys = keys;
        Ok(share)
    }

    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        self.keys
    }

    /// Returns the number of parts of the table that the keys were sorted for.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the keys of a part, region by region, except spilled keys.
    pub(super) fn of_part(&self, part: usize) -> impl Iterator<Item = List<'_>> {
        let first = part * self.per_part;
        (first..first + self.per_part)
            .flat_map(|region| self.shares.iter().map(move |lists| lists.list(region)))
    }

    /// Returns the spilled keys.
    pub(super) fn spilled(&self) -> impl Iterator<Item = (KeyHash, u16)> {
        self.shares.iter().map(Lists::spilled).flat_map(List::keys)
    }

    /// Calls `act` with the hashes of all keys, a list at a time.
    pub(super) fn each_list(&self, act: &mut dyn FnMut(&[KeyHash])) {
        let mut hashes = Vec::new();
        let spilled = self.shares.iter().map(Lists::spilled);
        for list in (0..self.parts).flat_map(|part| self.of_part(part)).chain(spilled) {
            hashes.clear();
            hashes.extend(list.hashes());
            act(&hashes);
        }
    }

    /// Returns all keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = (KeyHash, u16)> {
        (0..self.parts).flat_map(|part| self.of_part(part)).flat_map(List::keys).chain(self.spilled())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeyHasher, mix};

    fn sort(regions: &mut Regions, keys: &[u64], values: &[u16], order: Order, threads: usize) {
        let hashes: Vec<_> = keys.iter().map(|key| KeyHash::from_raw(*key)).collect();
        let hasher = &KeyHasher::new(0);
        Many::shared((&hashes, values), hasher, |keys| regions.sort(keys, order, threads)).unwrap();
    }

    /// One share and several, few and many keys per region, with and without values.
    #[test]
    fn keys_are_sorted_by_region_and_keep_their_order() {
        for (count, parts, regions_of_part) in
            [(0, 1, 1), (1, 16, 256), (1000, 1, 1), (1000, 4, 9), (100_000, 16, 4), (600_000, 16, 200)]
        {
            let keys: Vec<u64> = (0..count).map(mix).collect();
            let numbers: Vec<u16> = (0..count).map(|i| i as u16).collect();
            for values in [&[][..], &numbers] {
                let order = Order { parts, regions_of_part, most: usize::MAX };
                let (mut regions, mut other) = (Regions::default(), Regions::default());
                sort(&mut regions, &keys, values, order, 1);
                assert_eq!((regions.len(), regions.parts()), (keys.len(), parts));
                let value = |i| values.get(i).copied().unwrap_or(0);
                let mut given: Vec<_> =
                    keys.iter().enumerate().map(|(i, key)| (KeyHash::from_raw(*key), value(i))).collect();
                let total = (parts * regions.per_part) as u128;
                given.sort_by_key(|(hash, _)| (u128::from(hash.to_raw()) * total) >> 64);
                // All of them, in this order, except spilled keys.
                let spilled: Vec<_> = regions.spilled().collect();
                assert!(spilled.len() < 50, "{} of {count}", spilled.len());
                given.retain(|key| !spilled.contains(key));
                given.extend(spilled);
                assert!(regions.keys().eq(given), "{count} keys, {parts} parts");
                sort(&mut other, &keys, values, order, 3);
                assert!(regions.keys().eq(other.keys()), "threads do not change the order");
            }
        }
    }

    /// Memory is reused for fewer and for more keys, with and without values; equal keys are spilled, each with its
    /// value.
    #[test]
    fn equal_keys_are_spilled() {
        let mut regions = Regions::default();
        let order = Order { parts: 2, regions_of_part: 100, most: usize::MAX };
        for count in [10, 11, 12] {
            sort(&mut regions, &vec![7; count], &vec![1; count], order, 1);
            assert!(
                regions.keys().eq(vec![(KeyHash::from_raw(7), 1); count]),
                "a few more need a little more room"
            );
        }
        for count in [200_000, 10, 300_000, 1] {
            let keys = vec![7 << 40; count];
            let mut values: Vec<u16> = (0..count).map(|i| i as u16).collect();
            sort(&mut regions, &keys, &values, order, 2);
            assert!(count < 20 || regions.spilled().count() > count / 2);
            let mut stored: Vec<u16> = regions.keys().map(|(_, value)| value).collect();
            stored.sort_unstable();
            values.sort_unstable();
            assert_eq!(stored, values);
            sort(&mut regions, &keys, &[], order, 2);
            assert!(regions.keys().map(|(hash, value)| (hash.to_raw(), value)).eq(vec![(7 << 40, 0); count]));
        }
    }
}
