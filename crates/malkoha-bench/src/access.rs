//! The ruler for tables: how many random positions of a table a machine can visit per second.
//!
//! Addresses are computed as in a filter, by multiplication from a hash of a counter, and what is read is
//! summed, so that nothing can be optimised away. Which way of prefetching is best depends on the machine,
//! the size and its other load, so a limit is that of the best of all [`Scheme`]s, found by trying them in
//! turns.
//!
//! ```text
//!   plain     for each key: place, touch                      as many misses in flight as the core finds itself
//!   group G   for G keys: place, prefetch; for G keys: touch  up to G in flight, none at the end of a group
//!   ring D    for each key: touch what was prefetched D keys ago; place, prefetch             always D in flight
//!   far       a ring that prefetches into the second-level cache    more in flight than the first level can wait for
//! ```

use std::fmt;
use std::hint::black_box;
use std::ops::Range;

use crate::measure::{self, Series};
use crate::memory::{LINE_BYTES, Line, huge_share, prefetch};

/// What is done for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// One line is read.
    OneLine,
    /// Two lines anywhere are read.
    TwoLines,
    /// Two lines are read, the second at most 32 KiB behind the first.
    NearLines,
    /// One line is read, changed and written.
    Modify,
}

impl Access {
    pub(crate) const ALL: [Self; 4] = [Self::OneLine, Self::TwoLines, Self::NearLines, Self::Modify];
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OneLine => "1 line read",
            Self::TwoLines => "2 lines read",
            Self::NearLines => "2 lines read, within 32 KiB",
            Self::Modify => "1 line read and written",
        })
    }
}

/// How memory is prefetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Not at all.
    Plain,
    /// This many keys at a time.
    Group16,
    Group32,
    Group64,
    Group128,
    /// This many keys ahead.
    Ring16,
    Ring32,
    Ring64,
    /// The same, into the second-level cache.
    Far32,
    Far64,
    Far128,
}

impl Scheme {
    pub(crate) const ALL: [Self; 11] = [
        Self::Plain,
        Self::Group16,
        Self::Group32,
        Self::Group64,
        Self::Group128,
        Self::Ring16,
        Self::Ring32,
        Self::Ring64,
        Self::Far32,
        Self::Far64,
        Self::Far128,
    ];

    /// Every scheme works on a multiple of this many keys.
    const KEYS: usize = 128;
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Plain => "plain",
            Self::Group16 => "group 16",
            Self::Group32 => "group 32",
            Self::Group64 => "group 64",
            Self::Group128 => "group 128",
            Self::Ring16 => "ring 16",
            Self::Ring32 => "ring 32",
            Self::Ring64 => "ring 64",
            Self::Far32 => "far 32",
            Self::Far64 => "far 64",
            Self::Far128 => "far 128",
        })
    }
}

/// A table of arbitrary content, as large as the tables that are measured against it.
pub(crate) struct Ruler {
    lines: Vec<Line>,
    /// The next counter, so that no two measurements visit the same lines in the same order.
    next: u64,
    /// The best schemes found so far, by access and number of threads.
    best: Vec<((Access, usize), Scheme)>,
}

impl Ruler {
    /// Returns a ruler of this many bytes, on the pages in use.
    pub(crate) fn new(bytes: usize) -> Self {
        // Not all zero, so that no page can be shared.
        let lines = vec![Line([1; 8]); (bytes / LINE_BYTES).max(Scheme::KEYS)];
        Self { lines, next: 0, best: Vec::new() }
    }

    pub(crate) fn lines_mut(&mut self) -> &mut [Line] {
        &mut self.lines
    }

    /// Returns the share that is on 2 MiB pages.
    pub(crate) fn huge_share(&self) -> f64 {
        huge_share(&self.lines)
    }

    /// Returns million keys per second with the best scheme, for all threads together. Each thread handles
    /// this many keys.
    ///
    /// The best scheme is determined once, as the best median of three turns. The best of all schemes in
    /// every turn would be the luckiest of many short samples, which no filter with its one sample could
    /// match on a noisy machine.
    pub(crate) fn limit(&mut self, access: Access, keys: usize, threads: usize) -> f64 {
        let known = self.best.iter().find(|(known, _)| *known == (access, threads));
        let scheme = if let Some((_, scheme)) = known {
            *scheme
        } else {
            let scheme = self.best_scheme(access, keys / 4, threads);
            eprintln!("  {access}, {threads} threads: {scheme} is best");
            self.best.push(((access, threads), scheme));
            scheme
        };
        // The first run brings back into the caches what the measurements in between have evicted. Without
        // it, 1 Mi keys in 8 MiB gave 258 million per second instead of 400 (`limits --mib 8`).
        self.speed(access, scheme, keys, threads);
        self.speed(access, scheme, keys, threads)
    }

    fn best_scheme(&mut self, access: Access, keys: usize, threads: usize) -> Scheme {
        let mut all = Scheme::ALL.map(|scheme| (Series::default(), scheme));
        for _ in 0..3 {
            for (series, scheme) in &mut all {
                series.push(self.speed(access, *scheme, keys, threads));
            }
        }
        let best = all.into_iter().max_by(|a, b| a.0.median().total_cmp(&b.0.median()));
        best.expect("there are schemes").1
    }

    /// Returns million keys per second with one scheme, for all threads together.
    ///
    /// Reading threads share the table; each writing thread has its own part of it.
    pub(crate) fn speed(&mut self, access: Access, scheme: Scheme, keys: usize, threads: usize) -> f64 {
        let keys = keys.next_multiple_of(Scheme::KEYS);
        let starts: Vec<u64> = (0..threads as u64).map(|at| self.next + at * keys as u64).collect();
        self.next += (threads * keys) as u64;
        let range = |start: u64| start..start + keys as u64;
        let time = if access == Access::Modify {
            let part = self.lines.len().div_ceil(threads);
            let parts = self.lines.chunks_mut(part).zip(starts);
            measure::time_together(
                parts.map(|(part, at)| move || visit(&mut Modify(part), scheme, range(at))).collect(),
            )
        } else {
            let lines = &self.lines[..];
            let read = |start| move || read(lines, access, scheme, range(start));
            measure::time_together(starts.into_iter().map(read).collect())
        };
        measure::mega_per_second(threads * keys, time)
    }
}

fn read(lines: &[Line], access: Access, scheme: Scheme, keys: Range<u64>) {
    match access {
        Access::OneLine => visit(&mut One(lines), scheme, keys),
        Access::TwoLines => visit(&mut Two(lines), scheme, keys),
        Access::NearLines => visit(&mut Near(lines), scheme, keys),
        Access::Modify => unreachable!("writing needs the table for itself"),
    }
}

/// Where a key is, and what is done there.
trait Pattern {
    type Place: Copy + Default;
    fn place(&self, hash: u64) -> Self::Place;
    fn prefetch<const FAR: bool>(&self, place: Self::Place);
    fn touch(&mut self, place: Self::Place) -> u64;
}

struct One<'a>(&'a [Line]);

impl Pattern for One<'_> {
    type Place = usize;

    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        reduce(hash, self.0.len())
    }

    #[inline(always)]
    fn prefetch<const FAR: bool>(&self, place: usize) {
        prefetch::<FAR>(&self.0[place]);
    }

    #[inline(always)]
    fn touch(&mut self, place: usize) -> u64 {
        self.0[place].0[0]
    }
}

struct Two<'a>(&'a [Line]);

impl Pattern for Two<'_> {
    type Place = [usize; 2];

    #[inline(always)]
    fn place(&self, hash: u64) -> [usize; 2] {
        let second = hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        [reduce(hash, self.0.len()), reduce(second, self.0.len())]
    }

    #[inline(always)]
    fn prefetch<const FAR: bool>(&self, places: [usize; 2]) {
        for place in places {
            prefetch::<FAR>(&self.0[place]);
        }
    }

    #[inline(always)]
    fn touch(&mut self, places: [usize; 2]) -> u64 {
        self.0[places[0]].0[0] + self.0[places[1]].0[0]
    }
}

struct Near<'a>(&'a [Line]);

impl Pattern for Near<'_> {
    type Place = [usize; 2];

    #[inline(always)]
    fn place(&self, hash: u64) -> [usize; 2] {
        const REACH: usize = (32 << 10) / LINE_BYTES;
        let first = reduce(hash, self.0.len());
        let second = first + 1 + reduce(hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53), REACH);
        // At the end of the table nothing follows, so the neighbour is the line before.
        [first, if second < self.0.len() { second } else { first.saturating_sub(second - first) }]
    }

    #[inline(always)]
    fn prefetch<const FAR: bool>(&self, places: [usize; 2]) {
        Two(self.0).prefetch::<FAR>(places);
    }

    #[inline(always)]
    fn touch(&mut self, places: [usize; 2]) -> u64 {
        Two(self.0).touch(places)
    }
}

struct Modify<'a>(&'a mut [Line]);

impl Pattern for Modify<'_> {
    type Place = usize;

    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        reduce(hash, self.0.len())
    }

    #[inline(always)]
    fn prefetch<const FAR: bool>(&self, place: usize) {
        prefetch::<FAR>(&self.0[place]);
    }

    #[inline(always)]
    fn touch(&mut self, place: usize) -> u64 {
        let word = &mut self.0[place].0[0];
        *word ^= place as u64;
        *word
    }
}

/// Hashes a counter, as cheaply as possible for a hash whose upper bits choose a line.
#[inline(always)]
fn hash(counter: u64) -> u64 {
    let z = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ (z >> 32)).wrapping_mul(0xFF51_AFD7_ED55_8CCD)
}

/// Chooses one of `choices` by the upper bits of a hash.
#[inline(always)]
pub(crate) fn reduce(hash: u64, choices: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "the result is below `choices`")]
    let place = ((u128::from(hash) * choices as u128) >> 64) as usize;
    place
}

fn visit<P: Pattern>(pattern: &mut P, scheme: Scheme, keys: Range<u64>) {
    black_box(match scheme {
        Scheme::Plain => plain(pattern, keys),
        Scheme::Group16 => group::<16, P>(pattern, keys),
        Scheme::Group32 => group::<32, P>(pattern, keys),
        Scheme::Group64 => group::<64, P>(pattern, keys),
        Scheme::Group128 => group::<128, P>(pattern, keys),
        Scheme::Ring16 => ring::<16, false, P>(pattern, keys),
        Scheme::Ring32 => ring::<32, false, P>(pattern, keys),
        Scheme::Ring64 => ring::<64, false, P>(pattern, keys),
        Scheme::Far32 => ring::<32, true, P>(pattern, keys),
        Scheme::Far64 => ring::<64, true, P>(pattern, keys),
        Scheme::Far128 => ring::<128, true, P>(pattern, keys),
    });
}

fn plain<P: Pattern>(pattern: &mut P, keys: Range<u64>) -> u64 {
    keys.fold(0, |sum, key| sum.wrapping_add(pattern.touch(pattern.place(hash(key)))))
}

fn group<const G: usize, P: Pattern>(pattern: &mut P, keys: Range<u64>) -> u64 {
    let (mut places, mut sum) = ([P::Place::default(); G], 0u64);
    for start in keys.step_by(G) {
        for (place, key) in places.iter_mut().zip(start..) {
            *place = pattern.place(hash(key));
            pattern.prefetch::<false>(*place);
        }
        for place in places {
            sum = sum.wrapping_add(pattern.touch(place));
        }
    }
    sum
}

fn ring<const D: usize, const FAR: bool, P: Pattern>(pattern: &mut P, keys: Range<u64>) -> u64 {
    let (mut places, mut sum) = ([P::Place::default(); D], 0u64);
    for (place, key) in places.iter_mut().zip(keys.clone()) {
        *place = pattern.place(hash(key));
        pattern.prefetch::<FAR>(*place);
    }
    for start in keys.skip(D).step_by(D) {
        for (place, key) in places.iter_mut().zip(start..) {
            sum = sum.wrapping_add(pattern.touch(*place));
            *place = pattern.place(hash(key));
            pattern.prefetch::<FAR>(*place);
        }
    }
    places.into_iter().fold(sum, |sum, place| sum.wrapping_add(pattern.touch(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts visits instead of making them.
    #[derive(Default)]
    struct Count {
        touched: Vec<u64>,
    }

    impl Pattern for Count {
        type Place = u64;

        fn place(&self, hash: u64) -> u64 {
            hash
        }

        fn prefetch<const FAR: bool>(&self, _: u64) {}

        fn touch(&mut self, place: u64) -> u64 {
            self.touched.push(place);
            place
        }
    }

    #[test]
    fn every_scheme_visits_every_place_once_and_in_order() {
        let expected: Vec<u64> = (7..7 + 512).map(hash).collect();
        for scheme in Scheme::ALL {
            let mut count = Count::default();
            visit(&mut count, scheme, 7..7 + 512);
            assert_eq!(count.touched, expected, "{scheme}");
        }
    }

    #[test]
    fn near_lines_are_near_and_inside() {
        for lines in [128, 512, 4096] {
            let table = vec![Line::default(); lines];
            for key in 0..10_000 {
                let [first, second] = Near(&table).place(hash(key));
                assert!(first < lines && second < lines && first.abs_diff(second) <= 512, "{first} {second}");
            }
        }
    }
}
