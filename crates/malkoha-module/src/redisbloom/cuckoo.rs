//! RedisBloom's cuckoo filter: a list of tables of 8-bit tags, each larger than or as large as the one before it.
//!
//! A key has a tag and two buckets in every table. It goes to a free slot in the newest table that has one for it;
//! else tags are pushed around in the newest table; else a new table is added. Nothing is random, so equal commands
//! give equal bytes.
//!
//! # Why removing loses nothing
//!
//! The number of buckets of a table divides that of every newer one. If the removal of x takes a slot that was filled
//! by y in table t, then x and y have equal tags and equal pairs of buckets in t, and therefore in all older tables.
//! Tables are searched newest first, so the slot of x itself is in t or in an older table, where y has the same pair
//! of buckets: it now serves y. Compaction moves tags only to older tables, into one of the two buckets that they
//! have there.

use super::Refused;
use super::murmur;
use crate::server::memory;

/// What a filter is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots of a bucket, 1 to 255.
    pub bucket_size: u16,
    /// How often tags are pushed around before a table counts as full, at least 1.
    pub max_iterations: u16,
    /// How many times as many buckets each table has as the one before it, a power of two; 0: there is only one table.
    pub expansion: u16,
}

impl Shape {
    /// The buckets of the first table for so many keys.
    #[must_use]
    pub fn buckets(&self, capacity: u64) -> u64 {
        (capacity / u64::from(self.bucket_size)).max(1).next_power_of_two()
    }

    /// The nearest expansion that is a power of two and not smaller.
    #[must_use]
    pub fn round_expansion(expansion: u16) -> u16 {
        if expansion == 0 { 0 } else { expansion.next_power_of_two() }
    }
}

/// A cuckoo filter in RedisBloom's layout.
#[derive(Debug, PartialEq, Eq)]
pub struct Cuckoo {
    pub(super) shape: Shape,
    /// Buckets of the first table, a power of two.
    pub(super) buckets: u64,
    /// Tags stored, as far as is known: a dump says how many it has.
    pub(super) items: u64,
    /// Removals since the last compaction.
    pub(super) deletes: u64,
    /// Oldest first, never empty. Each has a whole number of buckets, a power of two.
    pub(super) tables: Vec<Box<[u8]>>,
}

/// The multiplier that turns a tag into the distance of its buckets.
const DISTANCE: u64 = 0x5bd1_e995;

/// The most tables: files and dumps say how many with more bits, but nothing can make more.
pub const MOST_TABLES: usize = u16::MAX as usize;

/// A key as the filter sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed {
    pub(super) tag: u8,
    pub(super) first: u64,
    pub(super) second: u64,
}

impl Hashed {
    /// Hashes a key.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        let hash = murmur::hash(key, 0);
        let tag = (hash % 255) as u8 + 1;
        Self { tag, first: hash, second: other(tag, hash) }
    }
}

/// The other bucket of a tag, before it is reduced to the buckets of a table.
fn other(tag: u8, bucket: u64) -> u64 {
    bucket ^ u64::from(tag).wrapping_mul(DISTANCE)
}

/// Where bucket number `bucket`, reduced to the buckets of this table, begins.
pub(super) fn begin(table: &[u8], bucket_size: usize, bucket: u64) -> usize {
    // `table.len() / bucket_size`, which is a power of two: without a division, which takes longer than all the rest.
    let buckets = 1u64 << (table.len().trailing_zeros() - bucket_size.trailing_zeros());
    #[expect(clippy::cast_possible_truncation, reason = "less than the length of the table")]
    let bucket = (bucket & (buckets - 1)) as usize;
    bucket * bucket_size
}

fn bucket(table: &[u8], bucket_size: usize, number: u64) -> &[u8] {
    let begin = begin(table, bucket_size, number);
    &table[begin..begin + bucket_size]
}

/// Whether one of the two buckets of a key holds its tag.
pub(super) fn holds(table: &[u8], bucket_size: usize, key: Hashed) -> bool {
    #[expect(clippy::needless_bitwise_bool, reason = "which slot holds the tag cannot be predicted")]
    let holds = |bucket: &[u8]| bucket.iter().fold(false, |holds, slot| holds | (*slot == key.tag));
    holds(bucket(table, bucket_size, key.first)) | holds(bucket(table, bucket_size, key.second))
}

/// The first slot of a bucket that holds `tag`.
fn find(table: &[u8], bucket_size: usize, number: u64, tag: u8) -> Option<usize> {
    let begin = begin(table, bucket_size, number);
    table[begin..begin + bucket_size].iter().position(|slot| *slot == tag).map(|slot| begin + slot)
}

/// The first slot that holds `tag` in one of two buckets.
fn find_in_pair(table: &[u8], bucket_size: usize, (first, second): (u64, u64), tag: u8) -> Option<usize> {
    find(table, bucket_size, first, tag).or_else(|| find(table, bucket_size, second, tag))
}

impl Cuckoo {
    /// An empty filter for `capacity` keys.
    pub fn new(capacity: u64, shape: Shape) -> Result<Self, Refused> {
        let buckets = shape.buckets(capacity);
        let mut filter = Self { shape, buckets, items: 0, deletes: 0, tables: Vec::new() };
        filter.add_table()?;
        Ok(filter)
    }

    /// The bytes of the first table of a filter for `capacity` keys.
    #[must_use]
    pub fn first_bytes(capacity: u64, shape: Shape) -> u64 {
        shape.buckets(capacity) * u64::from(shape.bucket_size)
    }

    /// The bytes of table number `index`; `None` if they cannot be counted.
    pub(super) fn table_bytes(buckets: u64, shape: Shape, index: usize) -> Option<usize> {
        let growth = u64::from(shape.expansion).checked_pow(u32::try_from(index).ok()?)?;
        let bytes = buckets.checked_mul(growth)?.checked_mul(u64::from(shape.bucket_size))?;
        usize::try_from(bytes).ok().filter(|bytes| isize::try_from(*bytes).is_ok())
    }

    fn add_table(&mut self) -> Result<(), Refused> {
        let index = self.tables.len();
        if index == MOST_TABLES {
            return Err(Refused::TooLarge);
        }
        let bytes = Self::table_bytes(self.buckets, self.shape, index).ok_or(Refused::TooLarge)?;
        let table = memory::zeroed(bytes).ok_or(Refused::Memory)?;
        self.tables.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.tables.push(table);
        Ok(())
    }

    pub(super) fn bucket_size(&self) -> usize {
        self.shape.bucket_size.into()
    }

    /// The first slot in the buckets of a key that holds `tag`, in the newest table that has one.
    fn newest_slot(&mut self, key: Hashed, tag: u8) -> Option<&mut u8> {
        let (size, pair) = (self.bucket_size(), (key.first, key.second));
        let find = |table: &mut Box<[u8]>| find_in_pair(table, size, pair, tag);
        self.tables.iter_mut().rev().find_map(|table| find(table).map(|slot| &mut table[slot]))
    }

    /// Stores one copy of a key. If it is refused, nothing has changed.
    pub fn insert(&mut self, key: Hashed) -> Result<(), Refused> {
        if let Some(slot) = self.newest_slot(key, 0) {
            *slot = key.tag;
        } else if !self.push_around(key) {
            if self.shape.expansion == 0 {
                return Err(Refused::Full);
            }
            self.add_table()?;
            *self.newest_slot(key, 0).expect("the new table is empty") = key.tag;
        }
        self.items += 1;
        Ok(())
    }

    /// Stores a key in the newest table, where both of its buckets are full, by moving others. If that fails, the table
    /// is as it was.
    fn push_around(&mut self, key: Hashed) -> bool {
        let size = self.bucket_size();
        let table = self.tables.last_mut().expect("there is always a table");
        let (mut tag, mut bucket) = (key.tag, key.first);
        for step in 0..usize::from(self.shape.max_iterations) {
            let slot = begin(table, size, bucket) + step % size;
            core::mem::swap(&mut table[slot], &mut tag);
            bucket = other(tag, bucket);
            if let Some(free) = find(table, size, bucket, 0) {
                table[free] = tag;
                return true;
            }
        }
        // Backwards: the tag in hand came from the slot of the last step, and so on.
        for step in (0..usize::from(self.shape.max_iterations)).rev() {
            bucket = other(tag, bucket);
            let slot = begin(table, size, bucket) + step % size;
            core::mem::swap(&mut table[slot], &mut tag);
        }
        debug_assert_eq!(tag, key.tag, "undone to the first step");
        false
    }

    /// Whether the filter may hold a key.
    #[must_use]
    pub fn contains(&self, key: Hashed) -> bool {
        // The usual sizes are known when this is compiled, so that buckets are compared at once.
        match self.bucket_size() {
            1 => self.search::<1>(key),
            2 => self.search::<2>(key),
            4 => self.search::<4>(key),
            _ => self.search::<0>(key),
        }
    }

    /// For buckets of `SIZE` slots; 0: of any number.
    fn search<const SIZE: usize>(&self, key: Hashed) -> bool {
        let size = if SIZE == 0 { self.bucket_size() } else { SIZE };
        self.tables.iter().any(|table| holds(table, size, key))
    }

    /// How many stored tags look like this key.
    #[must_use]
    pub fn count(&self, key: Hashed) -> u64 {
        let size = self.bucket_size();
        let in_bucket = |table: &[u8], number| {
            bucket(table, size, number).iter().map(|slot| u64::from(*slot == key.tag)).sum::<u64>()
        };
        let in_table = |table: &[u8]| {
            let same = begin(table, size, key.first) == begin(table, size, key.second);
            in_bucket(table, key.first) + if same { 0 } else { in_bucket(table, key.second) }
        };
        self.tables.iter().map(|table| in_table(table)).sum()
    }

    /// Removes one copy of a key; `false` if there is none. After many removals the filter is compacted.
    pub fn remove(&mut self, key: Hashed) -> bool {
        let Some(slot) = self.newest_slot(key, key.tag) else { return false };
        *slot = 0;
        // A dump may have said fewer items than it had tags.
        self.items = self.items.saturating_sub(1);
        self.deletes = self.deletes.saturating_add(1);
        if self.needs_compaction(self.items, self.deletes) {
            self.compact(Effort::UntilStuck);
        }
        true
    }

    fn needs_compaction(&self, items: u64, deletes: u64) -> bool {
        self.tables.len() > 1 && deletes as f64 > items as f64 * 0.1
    }

    /// Whether the filter will be compacted when the next key is removed.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.needs_compaction(self.items.saturating_sub(1), self.deletes.saturating_add(1))
    }

    /// Moves tags from newer tables to older ones, and frees the newest tables that are empty then.
    pub fn compact(&mut self, effort: Effort) {
        for newer in (1..self.tables.len()).rev() {
            let all_moved = self.compact_table(newer, effort);
            if !all_moved && effort == Effort::UntilStuck {
                break;
            }
            if all_moved && newer + 1 == self.tables.len() {
                self.tables.pop();
            }
        }
        self.deletes = 0;
    }

    /// Moves the tags of one table to older ones. Returns whether it is empty now.
    fn compact_table(&mut self, newer: usize, effort: Effort) -> bool {
        let size = self.bucket_size();
        let (older, table) = self.tables.split_at_mut(newer);
        let mut all_moved = true;
        for (at, slot) in table[0].iter_mut().enumerate().filter(|(_, slot)| **slot != 0) {
            let first = (at / size) as u64;
            let pair = (first, other(*slot, first));
            let free = older
                .iter_mut()
                .find_map(|table| find_in_pair(table, size, pair, 0).map(|at| &mut table[at]));
            if let Some(free) = free {
                *free = core::mem::take(slot);
            } else if effort == Effort::UntilStuck {
                return false;
            } else {
                all_moved = false;
            }
        }
        all_moved
    }

    /// What the filter was made with.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Buckets of the first table.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// Keys stored and not removed.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Removals since the last compaction.
    #[must_use]
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    /// The tables, oldest first.
    #[must_use]
    pub fn tables(&self) -> &[Box<[u8]>] {
        &self.tables
    }

    /// The memory of the list of tables, without the tables.
    #[must_use]
    pub fn list_memory(&self) -> usize {
        memory::allocated_vec(&self.tables)
    }

    /// A copy, if there is memory for it.
    #[must_use]
    pub fn copy(&self) -> Option<Self> {
        let tables = self.tables.iter().map(|table| memory::copy(table)).collect::<Option<_>>()?;
        Some(Self { tables, ..Self { tables: Vec::new(), ..*self } })
    }
}

/// When a compaction gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// At the first tag that finds no place, as after removals.
    UntilStuck,
    /// Not at all, as asked for by a command.
    All,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn filter(capacity: u64, bucket_size: u16, expansion: u16) -> Cuckoo {
        Cuckoo::new(capacity, Shape { bucket_size, max_iterations: 20, expansion }).unwrap()
    }

    fn key(number: usize) -> Hashed {
        Hashed::of(number.to_string().as_bytes())
    }

    /// The numbers of tables that RedisBloom is known to have after the keys 0 to 999.
    #[test]
    fn as_many_tables_as_redisbloom_has() {
        let cases = [
            (64, 1, 20, 1, 18),
            (64, 2, 20, 1, 17),
            (256, 4, 500, 1, 4),
            (64, 1, 20, 2, 5),
            (64, 2, 500, 4, 3),
        ];
        for (capacity, bucket_size, max_iterations, expansion, tables) in cases {
            let mut filter = Cuckoo::new(capacity, Shape { bucket_size, max_iterations, expansion }).unwrap();
            (0..1000).for_each(|number| filter.insert(key(number)).unwrap());
            assert_eq!(filter.tables.len(), tables, "{capacity} {bucket_size} {max_iterations} {expansion}");
            assert!((0..1000).all(|number| filter.contains(key(number))));
        }
    }

    #[test]
    fn a_refused_key_changes_nothing() {
        for iterations in [1, 2, 3, 20, 500] {
            for bucket_size in [1, 2, 3, 4, 255] {
                let shape = Shape { bucket_size, max_iterations: iterations, expansion: 0 };
                let mut filter = Cuckoo::new(512, shape).unwrap();
                let mut refused = 0;
                for number in 0..2000 {
                    let before = filter.copy().unwrap();
                    if filter.insert(key(number)).is_err() {
                        refused += 1;
                        assert_eq!(filter, before);
                    } else {
                        assert!(filter.contains(key(number)));
                    }
                }
                assert!(refused > 0);
            }
        }
    }

    /// No key is lost by growth, removal or compaction, whatever the shape.
    #[test]
    fn a_model_agrees() {
        let mut random = 1u64;
        let mut next = |below: usize| {
            random = murmur::hash(&random.to_le_bytes(), 7);
            usize::try_from(random % below as u64).unwrap()
        };
        for (bucket_size, expansion) in [(1, 1), (2, 1), (2, 2), (4, 4), (3, 1)] {
            let mut filter = filter(16, bucket_size, expansion);
            let mut model: HashMap<usize, u64> = HashMap::new();
            for _ in 0..20_000 {
                let number = next(600);
                match next(5) {
                    0..3 => {
                        filter.insert(key(number)).unwrap();
                        *model.entry(number).or_default() += 1;
                    }
                    _ if next(50) == 0 => filter.compact(Effort::All),
                    _ => {
                        if let Some(copies) = model.get_mut(&number).filter(|copies| **copies > 0) {
                            assert!(filter.remove(key(number)));
                            *copies -= 1;
                        }
                    }
                }
            }
            assert!(filter.tables.len() > 1);
            assert_eq!(filter.items(), model.values().sum::<u64>());
            for (number, copies) in model {
                assert!(filter.count(key(number)) >= copies, "{number} {copies}");
                assert_eq!(filter.contains(key(number)), filter.count(key(number)) > 0);
            }
        }
    }

    #[test]
    fn compaction_frees_tables() {
        let mut filter = filter(64, 2, 1);
        (0..1000).for_each(|number| filter.insert(key(number)).unwrap());
        let tables = filter.tables.len();
        (0..900).for_each(|number| assert!(filter.remove(key(number))));
        filter.compact(Effort::All);
        assert!(filter.tables.len() * 2 < tables);
        assert!((900..1000).all(|number| filter.contains(key(number))));
        assert_eq!((filter.items(), filter.deletes()), (100, 0));
    }
}
