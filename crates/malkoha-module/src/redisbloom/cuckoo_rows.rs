//! Many items at once in RedisBloom's cuckoo filter, in rows.

use super::Refused;
use super::cuckoo::{Cuckoo, Hashed, begin, holds};
use super::rows::{Positions, ROW, in_rows};
use crate::server::memory;

impl Cuckoo {
    /// Whether the filter may hold each of these items.
    #[must_use]
    pub fn contains_each<'a>(&self, items: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<bool> {
        let mut all = Vec::with_capacity(items.len());
        in_rows(items, Hashed::of, |row| all.extend_from_slice(&self.contains_row(row)[..row.len()]));
        all
    }

    /// [`contains`](Self::contains) for a row of keys.
    fn contains_row(&self, row: &[Hashed]) -> [bool; ROW] {
        match self.bucket_size() {
            1 => self.search_row::<1>(row),
            2 => self.search_row::<2>(row),
            4 => self.search_row::<4>(row),
            _ => self.search_row::<0>(row),
        }
    }

    /// For buckets of `SIZE` slots; 0: of any number.
    fn search_row<const SIZE: usize>(&self, row: &[Hashed]) -> [bool; ROW] {
        let size = if SIZE == 0 { self.bucket_size() } else { SIZE };
        let mut found = [false; ROW];
        let mut missing = Positions::first(row.len());
        for table in &self.tables {
            missing.retain(|at| {
                found[at] = holds(table, size, row[at]);
                !found[at]
            });
            if missing.is_empty() {
                break;
            }
        }
        found
    }

    /// Stores one copy of each item, or with `unique` of each that is not found. `Ok(false)`: it was found.
    pub fn insert_each<'a>(
        &mut self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        unique: bool,
    ) -> Vec<Result<bool, Refused>> {
        let mut all = Vec::with_capacity(items.len());
        in_rows(items, Hashed::of, |row| {
            // A tag that was found stays in one of its two buckets while others are stored.
            let found = if unique && row.len() > 1 { self.contains_row(row) } else { [false; ROW] };
            self.fetch_row(row);
            all.extend(row.iter().zip(found).map(|(key, found)| {
                let seen = found || (unique && self.contains(*key));
                if seen { Ok(false) } else { self.insert(*key).map(|()| true) }
            }));
        });
        all
    }

    /// Asks for the memory of the buckets of a row of keys in the newest table.
    fn fetch_row(&self, row: &[Hashed]) {
        if row.len() < 2 {
            return;
        }
        let (size, table) = (self.bucket_size(), self.tables.last().expect("there is always a table"));
        for key in row {
            memory::prefetch(table, begin(table, size, key.first));
            memory::prefetch(table, begin(table, size, key.second));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redisbloom::cuckoo::Shape;

    /// Rows give the answers, the refusals and the bytes that one item after the other gives.
    #[test]
    fn rows_are_what_single_items_are() {
        for bucket_size in [1, 2, 3, 4, 8, 255] {
            for (capacity, expansion) in [(64, 1), (64, 0), (64, 2), (4096, 1)] {
                let shape = Shape { bucket_size, max_iterations: 20, expansion };
                let mut rows = Cuckoo::new(capacity, shape).unwrap();
                let mut single = rows.copy().unwrap();
                for (turn, count) in [1usize, 2, 63, 64, 65, 300, 1000].into_iter().enumerate() {
                    // Some items come twice, in the same command or in another.
                    let items: Vec<String> = (0..count).map(|i| (i * i % 701 + turn).to_string()).collect();
                    let bytes = || items.iter().map(String::as_bytes);
                    let unique = turn % 2 == 0;
                    let one_by_one: Vec<_> = bytes()
                        .map(|item| {
                            let key = Hashed::of(item);
                            let seen = unique && single.contains(key);
                            if seen { Ok(false) } else { single.insert(key).map(|()| true) }
                        })
                        .collect();
                    assert_eq!(rows.insert_each(bytes(), unique), one_by_one, "{shape:?} {count}");
                    assert_eq!(rows, single);
                    let others: Vec<String> = (500..1000).map(|i| i.to_string()).collect();
                    let found = rows.contains_each(others.iter().map(String::as_bytes));
                    let expected: Vec<bool> =
                        others.iter().map(|item| single.contains(Hashed::of(item.as_bytes()))).collect();
                    assert_eq!(found, expected);
                }
            }
        }
    }
}
