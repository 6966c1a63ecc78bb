//! `threads`: one filter that many threads use. A shared `&Filter`, which nobody can change, beside filters made of
//! shards, which all threads can.
//!
//! ```text
//!   one by one, in slices   lookups, half of the keys present
//!   hot keys                lookups of eight keys, the same for all threads
//!   mix                     of 100 operations, 90 lookups, 5 inserts and 5 removals
//!   build                   all keys at once
//! ```
//!
//! Every number is one row of the record: the filter, the threads, what was measured, and million keys per second of
//! all threads together, the median of turns; and the median of the ratios to the shared filter in the same turn,
//! which for a mix, where there is none, is to one thread.

use std::error::Error;
use std::hint::black_box;

use malkoha::{Filter, Sharded, Spec};

use crate::cli::ThreadsArgs;
use crate::measure::{self, Series, mega_per_second};
use crate::memory::use_pages;
use crate::race;
use crate::table::{Cell, Table};

/// What is measured, in the order of the tables.
pub(crate) const LOOKUPS: [&str; 3] = ["one by one", "in slices", "hot keys"];

/// Keys that all threads look up again and again.
const HOT_KEYS: usize = 8;

/// Keys of a slice.
const SLICE: usize = 4096;

/// A filter that several threads look keys up in.
enum Contestant {
    Shared(Box<Filter>),
    Sharded(Box<Sharded>),
}

impl Contestant {
    fn name(&self) -> String {
        match self {
            Self::Shared(_) => "&Filter".to_owned(),
            Self::Sharded(filter) => format!("sharded {}", filter.geometry().shards()),
        }
    }

    /// Looks up keys in one of the ways of [`LOOKUPS`].
    fn look_up(&self, what: &str, keys: &[u64], hot: &[u64]) {
        match (self, what) {
            (Self::Shared(filter), "one by one") => count(keys, |key| filter.contains(key)),
            (Self::Sharded(filter), "one by one") => count(keys, |key| filter.contains(key)),
            (Self::Shared(filter), "in slices") => {
                slices(keys, |keys, out| filter.contains_slice_into(keys, out));
            }
            (Self::Sharded(filter), "in slices") => {
                slices(keys, |keys, out| filter.contains_slice_into(keys, out));
            }
            (Self::Shared(filter), _) => again(keys.len(), hot, |key| filter.contains(key)),
            (Self::Sharded(filter), _) => again(keys.len(), hot, |key| filter.contains(key)),
        }
    }
}

#[inline(always)]
fn count(keys: &[u64], contains: impl Fn(&u64) -> bool) {
    black_box(keys.iter().map(|key| usize::from(contains(key))).sum::<usize>());
}

#[inline(always)]
fn again(count: usize, hot: &[u64], contains: impl Fn(&u64) -> bool) {
    black_box((0..count).map(|i| usize::from(contains(&hot[i % HOT_KEYS]))).sum::<usize>());
}

fn slices(keys: &[u64], contains: impl Fn(&[u64], &mut [bool])) {
    let mut answers = [false; SLICE];
    for keys in keys.chunks(SLICE) {
        contains(keys, &mut answers[..keys.len()]);
        black_box(&answers);
    }
}

/// Looks up, inserts and removes: of 100 operations, 90, 5 and 5. The filter is as full as before in the end.
fn mix(filter: &Sharded, keys: &[u64], fresh: u64) {
    let mut found = 0;
    for (i, key) in (0..).zip(keys) {
        match i % 20 {
            0 => assert!(filter.insert(&(fresh + i)).is_ok(), "room for a few keys more"),
            10 => assert_eq!(filter.remove(&(fresh + i - 10)), Ok(true), "a key that was just stored"),
            _ => found += usize::from(filter.contains(key)),
        }
    }
    black_box(found);
}

/// Measures everything and returns one row for each number.
pub(crate) fn run(args: &ThreadsArgs) -> Result<Table, Box<dyn Error>> {
    use_pages(args.pages);
    let scale = if args.quick { 10 } else { 1 };
    let count = args.keys.unwrap_or(50_000_000 / scale);
    let (queries, repeats) = (args.queries, args.repeats.max(1));
    let most = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let threads: Vec<usize> =
        (0..16).map(|i| 1 << i).take_while(|threads| *threads < most).chain([most]).collect();
    let keys: Vec<u64> = (0..count).collect();
    // Room for the keys of the mix, which come and go.
    let spec = Spec::new(count + count / 50, args.rate.0).kind(args.kind);
    let asked: Vec<Vec<u64>> = (0..most)
        .map(|thread| race::queries(queries * (thread + 1), count, 50).split_off(queries * thread))
        .collect();
    let hot: Vec<u64> = keys.iter().copied().take(HOT_KEYS).collect();

    let mut filters = Vec::new();
    let mut builds = vec![vec![Series::default(); threads.len()]; 1 + args.shards.len()];
    for turn in 1..=args.builds.max(1) {
        eprintln!("builds: turn {turn} of {}", args.builds);
        filters.clear();
        for (at, shards) in [None].into_iter().chain(args.shards.iter().map(Some)).enumerate() {
            for (series, threads) in builds[at].iter_mut().zip(&threads) {
                let spec = spec.threads(*threads);
                let (time, filter) = measure::time(|| {
                    Ok::<_, malkoha::Error>(match shards {
                        None => Contestant::Shared(Box::new(spec.build_from(&keys)?)),
                        Some(shards) => {
                            Contestant::Sharded(Box::new(spec.sharded(*shards).build_from(&keys)?))
                        }
                    })
                });
                series.push(mega_per_second(keys.len(), time));
                if *threads == most {
                    filters.push(filter?);
                }
            }
        }
    }
    drop(keys);

    let empty = || vec![vec![Series::default(); threads.len()]; filters.len()];
    let mut lookups = LOOKUPS.map(|_| empty());
    let mut mixes = empty();
    for turn in 1..=repeats {
        eprintln!("lookups: turn {turn} of {repeats}");
        for (at, threads) in threads.iter().enumerate() {
            for (series, what) in lookups.iter_mut().zip(LOOKUPS) {
                for (filter, series) in filters.iter().zip(series) {
                    let jobs = asked[..*threads].iter().map(|keys| || filter.look_up(what, keys, &hot));
                    let time = measure::time_together(jobs.collect());
                    series[at].push(mega_per_second(queries * threads, time));
                }
            }
            for (filter, series) in filters.iter().zip(&mut mixes) {
                let Contestant::Sharded(filter) = filter else { continue };
                let jobs = (1..)
                    .zip(&asked[..*threads])
                    .map(|(thread, keys)| move || mix(filter, keys, thread << 40));
                series[at].push(mega_per_second(queries * threads, measure::time_together(jobs.collect())));
            }
        }
    }

    let mut table = Table::new("threads", &["keys", "filter", "threads", "what", "speed", "ratio"]);
    for (at, filter) in filters.iter().enumerate() {
        for (i, threads) in threads.iter().enumerate() {
            let mut push = |what: &str, speed: &Series, base: &Series| {
                table.push(vec![
                    Cell::Count(count),
                    Cell::text(filter.name()),
                    Cell::Count(*threads as u64),
                    Cell::text(what),
                    Cell::number(speed.median(), 3),
                    Cell::number(speed.over(base).median(), 4),
                ]);
            };
            for (what, series) in LOOKUPS.into_iter().zip(&lookups) {
                push(what, &series[at][i], &series[0][i]);
            }
            push("build", &builds[at][i], &builds[0][i]);
            if matches!(filter, Contestant::Sharded(_)) {
                push("mix", &mixes[at][i], &mixes[at][0]);
            }
        }
    }
    Ok(table)
}
