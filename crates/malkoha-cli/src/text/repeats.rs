//! Keys that occur in several units of one batch.
//!
//! The filter knows the keys of earlier batches. Within a batch, keys are compared exactly: hashes are
//! distributed over parts that fit into the cache, and each part finds its equal hashes with a small table.
//! Most hashes of most texts occur once, so few are left to be considered in the order of the input.

use std::ops::Range;

use malkoha::KeyHash;

use super::parallel::for_each;

/// Keys in a part: with its table, it fits into the L1 or L2 cache.
const PART: usize = 4096;

/// The most parts, so that the lists of a piece are longer than their offsets.
const MOST_PARTS: usize = 1024;

/// Keys that the filter does not hold, of some consecutive units: each with the number of its unit.
pub(super) type Unknown = Vec<(KeyHash, u32)>;

/// A key that several units have: the number of its part, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    part: u32,
    key: u32,
}

/// For every unit the keys that it shares with others.
#[derive(Debug)]
pub(super) struct Repeats {
    /// All occurrences, by unit.
    occurrences: Vec<Repeated>,
    /// For every unit the end of its occurrences.
    ends: Vec<usize>,
    /// Whether a key was marked, by part.
    marks: Vec<Vec<bool>>,
}

impl Repeats {
    /// Finds the keys that occur in more than one unit. Lists are in the order of the units.
    pub(super) fn find(unknown: Vec<Unknown>, units: usize, threads: usize) -> Self {
        let keys: usize = unknown.iter().map(Vec::len).sum();
        let parts = (keys / PART).next_power_of_two().min(MOST_PARTS);
        let mut lists: Vec<_> = unknown.into_iter().map(|keys| (keys, Vec::new())).collect();
        for_each(threads, &mut lists, Vec::new, |buffer, (keys, ends)| distribute(keys, parts, ends, buffer));
        let mut found: Vec<_> = (0..parts).map(|part| (part, Part::default())).collect();
        for_each(threads, &mut found, Table::default, |table, (part, found)| {
            let slices: Vec<_> = lists.iter().map(|(keys, ends)| &keys[range(ends, *part)]).collect();
            *found = table.search(&slices);
        });
        let parts: Vec<_> = found.into_iter().map(|(_, part)| part).collect();
        Self::by_unit(&parts, units)
    }

    /// Sorts occurrences by unit.
    fn by_unit(parts: &[Part], units: usize) -> Self {
        let mut ends = vec![0; units];
        for (unit, _) in parts.iter().flat_map(|part| &part.occurrences) {
            ends[*unit as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // For now, where the occurrences of the unit begin.
            sum += std::mem::replace(end, sum);
        }
        let mut occurrences = vec![Repeated { part: 0, key: 0 }; sum];
        for (number, part) in (0..).zip(parts) {
            for &(unit, key) in &part.occurrences {
                let place = &mut ends[unit as usize];
                occurrences[*place] = Repeated { part: number, key };
                *place += 1;
            }
        }
        let marks = parts.iter().map(|part| vec![false; part.keys as usize]).collect();
        Self { occurrences, ends, marks }
    }

    fn of(&self, unit: usize) -> Range<usize> {
        range(&self.ends, unit)
    }

    /// Returns how many of the keys of a unit are marked.
    pub(super) fn marked(&self, unit: usize) -> u64 {
        let marked = |key: &&Repeated| self.marks[key.part as usize][key.key as usize];
        self.occurrences[self.of(unit)].iter().filter(marked).count() as u64
    }

    /// Marks the keys of a unit.
    pub(super) fn mark(&mut self, unit: usize) {
        for key in &self.occurrences[self.of(unit)] {
            self.marks[key.part as usize][key.key as usize] = true;
        }
    }
}

/// Returns a range of consecutive ones, given their ends.
fn range(ends: &[usize], at: usize) -> Range<usize> {
    at.checked_sub(1).map_or(0, |before| ends[before])..ends[at]
}

/// Returns the part that a hash belongs to.
fn part_of(hash: KeyHash, parts: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "less than the parts")]
    let part = ((u128::from(hash.to_raw()) * parts as u128) >> 64) as usize;
    part
}

/// Sorts keys by part, without changing their order within one. Appends the end of each part to `ends`.
fn distribute(keys: &mut Unknown, parts: usize, ends: &mut Vec<usize>, buffer: &mut Unknown) {
    ends.resize(parts, 0);
    for (hash, _) in keys.iter() {
        ends[part_of(*hash, parts)] += 1;
    }
    let mut sum = 0;
    for end in ends.iter_mut() {
        sum += std::mem::replace(end, sum);
    }
    buffer.clear();
    buffer.resize(keys.len(), (KeyHash::from_raw(0), 0));
    for key in keys.iter() {
        let place = &mut ends[part_of(key.0, parts)];
        buffer[*place] = *key;
        *place += 1;
    }
    std::mem::swap(keys, buffer);
}

/// What was found in a part.
#[derive(Debug, Default)]
struct Part {
    /// The number of keys that several units have.
    keys: u32,
    /// Every occurrence of such a key: the unit, and the number of the key.
    occurrences: Vec<(u32, u32)>,
}

/// The different hashes of a part.
#[derive(Debug, Default)]
struct Table {
    /// For a hash, found by linear search from its own place on, its number in `different` plus one.
    places: Vec<u32>,
    different: Vec<Different>,
    /// For every occurrence, its number in `different`.
    numbers: Vec<u32>,
}

#[derive(Debug)]
struct Different {
    hash: KeyHash,
    /// The first unit that has it.
    unit: u32,
    /// Its number among those that several units have, plus one; 0 if only one unit has it.
    repeated: u32,
}

impl Table {
    /// Finds the hashes that several units have.
    fn search(&mut self, slices: &[&[(KeyHash, u32)]]) -> Part {
        let keys: usize = slices.iter().map(|slice| slice.len()).sum();
        self.places.clear();
        self.places.resize((2 * keys).next_power_of_two().max(2), 0);
        self.different.clear();
        self.numbers.clear();
        let mut part = Part::default();
        for &(hash, unit) in slices.iter().copied().flatten() {
            let number = self.number(hash, unit);
            self.numbers.push(number);
            let different = &mut self.different[number as usize];
            if different.unit != unit && different.repeated == 0 {
                part.keys += 1;
                different.repeated = part.keys;
            }
        }
        if part.keys > 0 {
            let units = slices.iter().copied().flatten().map(|(_, unit)| *unit);
            let repeated = self.numbers.iter().map(|number| self.different[*number as usize].repeated);
            let several = units.zip(repeated).filter(|(_, repeated)| *repeated > 0);
            part.occurrences = several.map(|(unit, repeated)| (unit, repeated - 1)).collect();
        }
        part
    }

    /// Returns the number of a hash, a new one if it was not there before.
    fn number(&mut self, hash: KeyHash, unit: u32) -> u32 {
        let mask = self.places.len() - 1;
        // The upper bits have chosen the part.
        #[expect(clippy::cast_possible_truncation, reason = "the lower bits")]
        let mut at = hash.to_raw() as usize & mask;
        loop {
            match self.places[at] {
                0 => {
                    let number = u32::try_from(self.different.len()).expect("a part has few keys");
                    self.different.push(Different { hash, unit, repeated: 0 });
                    self.places[at] = number + 1;
                    return number;
                }
                taken if self.different[taken as usize - 1].hash == hash => return taken - 1,
                _ => at = (at + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use malkoha::KeyHasher;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn units_share_what_they_share() {
        let hasher = KeyHasher::new(1);
        for (units, range) in [(1, 50), (40, 30), (3000, 20_000), (500, 3)] {
            let mut state = 7u64;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let keys: Vec<Vec<u64>> =
                (0..units).map(|_| (0..random(30)).map(|_| random(range)).collect()).collect();
            let mut owners: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
            for (unit, keys) in keys.iter().enumerate() {
                for key in keys {
                    owners.entry(*key).or_default().insert(unit);
                }
            }
            let mut lists: Vec<Unknown> = vec![Vec::new(); 5];
            for (unit, keys) in keys.iter().enumerate() {
                let list = &mut lists[unit * 5 / units as usize];
                list.extend(keys.iter().map(|key| (hasher.number(*key), unit as u32)));
            }
            for threads in [1, 3] {
                let mut repeats = Repeats::find(lists.clone(), units as usize, threads);
                let mut marked: BTreeSet<u64> = BTreeSet::new();
                for (unit, keys) in keys.iter().enumerate() {
                    let expected = keys.iter().filter(|key| marked.contains(*key)).count() as u64;
                    assert_eq!(repeats.marked(unit), expected, "unit {unit} of {units}");
                    if unit % 3 > 0 {
                        repeats.mark(unit);
                        marked.extend(keys.iter().filter(|key| owners[key].len() > 1));
                    }
                }
            }
        }
    }
}
