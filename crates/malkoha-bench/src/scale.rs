//! `scale`: what a key costs as filters grow.
//!
//! Filters are built from all of their keys at once, to the planned load, on one or several threads. Then one
//! thread looks up slices of keys, half of them present. The keys are in memory beside the filter, 8 bytes
//! each, and the build needs another 9 bytes for an eighth of the keys. The memory of a build has been in use
//! before: in a virtual machine, the host may take longer to provide a page than the filter takes to fill it.

use std::error::Error;
use std::time::Duration;

use malkoha::{Filter, Spec};

use crate::cli::ScaleArgs;
use crate::measure::{self, Series};
use crate::memory::{touch, use_pages};
use crate::race;
use crate::table::{Cell, Table};
use crate::wish::{Choice, Wish};

/// One filter at one size and one number of threads.
struct Step {
    wish: Wish,
    keys: u64,
    threads: usize,
    bytes: u64,
    speeds: Series,
    finds: Series,
    steps_mean: f64,
}

/// Small filters are built several times in a row, until this many keys are stored, but at most
/// `MOST_BUILDS` times.
const KEYS_PER_TURN: u64 = 1 << 21;
const MOST_BUILDS: u64 = 24;

/// Measures everything and returns one row for each filter, size and number of threads.
pub(crate) fn run(args: &ScaleArgs) -> Result<Table, Box<dyn Error>> {
    use_pages(args.pages);
    let mut steps = plan(args)?;
    let most = steps.iter().filter(|step| fits(args, step)).map(|step| step.keys).max().unwrap_or(0);
    let keys: Vec<u64> = (0..most).collect();
    for turn in 1..=args.repeats {
        for step in steps.iter_mut().filter(|step| fits(args, step)) {
            eprintln!(
                "scale {turn} of {}: {} keys, {}, {} threads",
                args.repeats, step.keys, step.wish, step.threads
            );
            step.measure(&keys, args.queries)?;
        }
    }
    Ok(table(args, &steps))
}

fn plan(args: &ScaleArgs) -> Result<Vec<Step>, Box<dyn Error>> {
    let mut steps = Vec::new();
    for keys in &args.keys {
        for wish in Choice::expand(&args.kinds) {
            for threads in &args.threads {
                let bytes = wish.for_keys(*keys).plan()?.bytes();
                let (threads, speeds, finds) = (*threads, Series::default(), Series::default());
                steps.push(Step { wish, keys: *keys, threads, bytes, speeds, finds, steps_mean: f64::NAN });
            }
        }
    }
    Ok(steps)
}

fn fits(args: &ScaleArgs, step: &Step) -> bool {
    step.bytes as f64 <= args.memory * f64::from(1 << 30)
}

impl Step {
    /// Builds the filter from the first keys, on all threads, and queries it.
    fn measure(&mut self, keys: &[u64], queries: usize) -> Result<(), Box<dyn Error>> {
        let spec = self.wish.for_keys(self.keys).threads(self.threads);
        let keys = &keys[..usize::try_from(self.keys)?];
        // The table, and the memory for sorting beside it.
        touch(2 * usize::try_from(self.bytes)?);
        let (mut filter, mut time) = (None, Duration::ZERO);
        let builds = (KEYS_PER_TURN / self.keys.max(1)).clamp(1, MOST_BUILDS);
        for _ in 0..builds {
            // Drop the previous filter first, so that there are never two.
            drop(filter.take());
            let (once, built) = measure::time(|| spec.build_from(keys));
            filter = Some(built?);
            time += once;
        }
        let filter = filter.ok_or("no filter was built")?;
        self.speeds.push(measure::mega_per_second(keys.len(), time / u32::try_from(builds)?));
        self.steps_mean = filter.stats().steps_mean;
        self.ask(&filter, queries);
        check(&spec, &filter)
    }

    fn ask(&mut self, filter: &Filter, count: usize) {
        let queries = race::queries(count, self.keys, 50);
        let mut answers = vec![false; queries.len()];
        filter.contains_slice_into(&queries[..count / 4], &mut answers[..count / 4]);
        let (time, ()) = measure::time(|| filter.contains_slice_into(&queries, &mut answers));
        self.finds.push(measure::mega_per_second(queries.len(), time));
    }
}

/// Checks that all keys are stored and that the first of them are found.
fn check(spec: &Spec, filter: &Filter) -> Result<(), Box<dyn Error>> {
    let planned = spec.plan()?.keys();
    let found = (0..planned.min(1 << 16)).all(|key| filter.contains(&key));
    if filter.len() == planned && found { Ok(()) } else { Err("a filter lost a key".into()) }
}

fn table(args: &ScaleArgs, steps: &[Step]) -> Table {
    let mut table = Table::new(
        format!(
            "cost of filling and finding, median and best of {} turns; - does not fit {} GiB",
            args.repeats, args.memory
        ),
        &["filter", "keys", "threads", "MiB", "ns/key", "Mkeys/s", "best", "steps per walk", "find ns/key"],
    );
    for step in steps {
        table.push(vec![
            Cell::text(step.wish),
            Cell::Count(step.keys),
            Cell::Count(step.threads as u64),
            Cell::number(step.bytes as f64 / f64::from(1 << 20), 1),
            Cell::number(1e3 / step.speeds.median(), 1),
            Cell::number(step.speeds.median(), 2),
            Cell::number(step.speeds.best(), 2),
            Cell::number(step.steps_mean, 2),
            Cell::number(1e3 / step.finds.median(), 1),
        ]);
    }
    table
}
