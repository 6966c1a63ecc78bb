//! Many items at once in RedisBloom's Bloom filter, in rows.

use super::Refused;
use super::bloom::{Bloom, Divisor, Hashed, Link, byte_of, is_set, mask_of};
use super::rows::{Positions, ROW, in_rows};
use crate::server::memory;

/// How many items ahead the memory of an item is asked for.
const AHEAD: usize = 16;

/// The most bits of an item whose places are kept until it is its turn. A link at 0.1 % needs 10, and every link of a
/// filter that grows needs one more than the link before it.
const FEW: usize = 32;

/// The places of the bits of the next items in the newest table: item number `at` has line `at % AHEAD`.
type Lines = [[u64; FEW]; AHEAD];

/// Finds the bits of an item, and asks for their memory.
#[inline]
fn ask(bits: &mut [u64], key: Hashed, of: Divisor, table: &[u8]) {
    for (index, bit) in (0..).zip(bits) {
        *bit = key.bit(index, of);
        memory::prefetch(table, byte_of(*bit));
    }
}

/// Sets bits. Returns whether all of them were set.
#[inline]
fn set(bits: &[u64], table: &mut [u8]) -> bool {
    // Without a branch for each bit: which of them are set cannot be predicted.
    let missing = bits.iter().fold(0, |missing, bit| missing | (mask_of(*bit) & !table[byte_of(*bit)]));
    // What is there already writes nothing: while a child process saves the filter, a page that is written to is copied.
    if missing != 0 {
        for bit in bits {
            table[byte_of(*bit)] |= mask_of(*bit);
        }
    }
    missing == 0
}

impl Bloom {
    /// Whether the filter may hold each of these items.
    #[must_use]
    pub fn contains_each<'a>(&self, items: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<bool> {
        let mut all = Vec::with_capacity(items.len());
        in_rows(items, Hashed::of, |row| all.extend_from_slice(&contains_row(&self.links, row)[..row.len()]));
        all
    }

    /// [`insert`](Self::insert) for each of these items, up to the first that is refused.
    pub fn insert_each<'a>(
        &mut self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Vec<Result<bool, Refused>> {
        let mut all: Vec<Result<bool, Refused>> = Vec::with_capacity(items.len());
        in_rows(items, Hashed::of, |row| {
            if !all.last().is_some_and(Result::is_err) {
                self.insert_row(row, &mut all);
            }
        });
        all
    }

    /// Stores the items of a row, up to the first that is refused.
    fn insert_row(&mut self, row: &[Hashed], all: &mut Vec<Result<bool, Refused>>) {
        let done = self.insert_while_room(row, all);
        let rest = &row[done..];
        // What is there already needs no room, and stays.
        let found = if rest.len() > 1 { contains_row(&self.links, rest) } else { [false; ROW] };
        for (key, found) in rest.iter().zip(found) {
            all.push(if found { Ok(false) } else { self.insert(*key) });
            if all.last().is_some_and(Result::is_err) {
                return;
            }
        }
    }

    /// Stores the first items of a row, as long as the newest link has room for one. Returns how many these were.
    fn insert_while_room(&mut self, row: &[Hashed], all: &mut Vec<Result<bool, Refused>>) -> usize {
        let Some(((link, table), older)) = self.links.split_last_mut() else { return 0 };
        let room = usize::try_from(link.entries.saturating_sub(link.items)).unwrap_or(usize::MAX);
        let row = &row[..row.len().min(room)];
        if row.len() < 2 || link.hashes as usize > FEW {
            return 0;
        }
        // Bits that are set stay so, and older links do not change.
        let found = if older.is_empty() { [false; ROW] } else { contains_row(older, row) };
        // The first link at 1 %, 0.1 % and 0.01 %, of a filter that grows or not, has a number of bits that is known when
        // this is compiled.
        let put = match link.hashes {
            7 => put_row::<7>,
            8 => put_row::<8>,
            10 => put_row::<10>,
            11 => put_row::<11>,
            14 => put_row::<14>,
            15 => put_row::<15>,
            _ => put_row::<0>,
        };
        let first = all.len();
        put(link, table, row, &found, all);
        let stored = all[first..].iter().filter(|stored| **stored == Ok(true)).count() as u64;
        link.items += stored;
        self.items = self.items.saturating_add(stored);
        row.len()
    }
}

/// Stores those items of a row that were not found elsewhere. Items have `HASHES` bits; 0: any number up to `FEW`.
fn put_row<const HASHES: usize>(
    link: &Link,
    table: &mut [u8],
    row: &[Hashed],
    found: &[bool; ROW],
    all: &mut Vec<Result<bool, Refused>>,
) {
    let hashes = if HASHES == 0 { link.hashes as usize } else { HASHES };
    let (of, mut lines): (_, Lines) = (Divisor::new(link.bits), [[0; FEW]; AHEAD]);
    for (line, key) in lines.iter_mut().zip(row) {
        ask(&mut line[..hashes], *key, of, table);
    }
    all.extend(row.iter().zip(found).enumerate().map(|(at, (_, found))| {
        let line = &mut lines[at % AHEAD][..hashes];
        let seen = *found || set(line, table);
        if let Some(key) = row.get(at + AHEAD) {
            ask(line, *key, of, table);
        }
        Ok(!seen)
    }));
}

/// Whether one of these links may hold each key of a row: the first bit of all, then the second of those whose first is
/// set, and so on.
fn contains_row(links: &[(Link, Box<[u8]>)], row: &[Hashed]) -> [bool; ROW] {
    let mut found = [false; ROW];
    let mut missing = Positions::first(row.len());
    for (link, table) in links.iter().rev() {
        let (of, mut maybe) = (Divisor::new(link.bits), missing.clone());
        for index in 0..link.hashes {
            maybe.retain(|at| is_set(table, row[at].bit(index, of)));
            if maybe.is_empty() {
                break;
            }
        }
        maybe.iter().for_each(|at| found[at] = true);
        missing.retain(|at| !found[at]);
        if missing.is_empty() {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows give the answers, the refusals and the bytes that one item after the other gives. Of these rates, the last
    /// needs more bits than are kept.
    #[test]
    fn rows_are_what_single_items_are() {
        for (entries, growth) in [(10, 1), (100, 2), (5000, 2), (400, 0), (2000, 0)] {
            for error in [0.1, 0.01, 0.001, 1e-4, 1e-7, 1e-12] {
                let mut rows = Bloom::new(entries, error, growth).unwrap();
                let mut single = rows.copy().unwrap();
                for (turn, count) in [1usize, 2, 63, 64, 65, 300, 1000].into_iter().enumerate() {
                    // Some items come twice, in the same command or in another.
                    let items: Vec<String> = (0..count).map(|i| (i * i % 701 + turn).to_string()).collect();
                    let bytes = || items.iter().map(String::as_bytes);
                    let mut one_by_one = Vec::new();
                    for item in bytes() {
                        one_by_one.push(single.insert(Hashed::of(item)));
                        if one_by_one.last().is_some_and(Result::is_err) {
                            break;
                        }
                    }
                    assert_eq!(rows.insert_each(bytes()), one_by_one, "{entries} {growth} {error} {count}");
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

    /// Of a row of new items, a link takes exactly as many as it is planned for.
    #[test]
    fn rows_end_where_links_are_full() {
        let items: Vec<String> = (0..100).map(|i| format!("new {i}")).collect();
        for entries in 1..70 {
            for growth in [0, 1] {
                let mut rows = Bloom::new(entries, 1e-4, growth).unwrap();
                let mut single = rows.copy().unwrap();
                let mut one_by_one = Vec::new();
                for item in &items {
                    one_by_one.push(single.insert(Hashed::of(item.as_bytes())));
                    if one_by_one.last().is_some_and(Result::is_err) {
                        break;
                    }
                }
                assert_eq!(
                    rows.insert_each(items.iter().map(String::as_bytes)),
                    one_by_one,
                    "{entries} {growth}"
                );
                assert_eq!(rows, single);
                assert!(rows.links().iter().all(|(link, _)| link.items <= entries));
            }
        }
    }
}
