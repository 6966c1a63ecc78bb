//! `scale`: what a key costs as filters grow.
//!
//! Filters are built from all of their keys at once, to the planned load, on one or several threads. The keys lie in
//! memory beside the filter, 8 bytes each, and the build takes room for 16 bytes for each of at most 2^24 keys.

use std::error::Error;
use std::time::Instant;

use malkoha::{Filter, Spec};

use crate::cli::ScaleArgs;
use crate::measure::{self, Series};
use crate::memory::use_pages;
use crate::table::{Cell, Table};
use crate::wish::{Choice, Wish};

/// One filter at one size and one number of threads.
struct Step {
    wish: Wish,
    keys: u64,
    threads: usize,
    bytes: u64,
    speeds: Series,
    steps_mean: f64,
}

/// Measures everything and returns one row for each filter, size and number of threads.
pub(crate) fn run(args: &ScaleArgs) -> Result<Table, Box<dyn Error>> {
    use_pages(args.pages);
    let mut steps = plan(args)?;
    for turn in 1..=args.repeats {
        for step in steps.iter_mut().filter(|step| fits(args, step)) {
            eprintln!(
                "scale {turn} of {}: {} keys, {}, {} threads",
                args.repeats, step.keys, step.wish, step.threads
            );
            step.measure()?;
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
                let (threads, speeds) = (*threads, Series::default());
                steps.push(Step { wish, keys: *keys, threads, bytes, speeds, steps_mean: f64::NAN });
            }
        }
    }
    Ok(steps)
}

fn fits(args: &ScaleArgs, step: &Step) -> bool {
    step.bytes as f64 <= args.memory * f64::from(1 << 30)
}

impl Step {
    /// Builds one filter from all keys, on all threads; making the keys is not counted.
    fn measure(&mut self) -> Result<(), Box<dyn Error>> {
        let spec = self.wish.for_keys(self.keys).threads(self.threads);
        let keys: Vec<u64> = (0..self.keys).collect();
        let start = Instant::now();
        let filter = spec.build_from(&keys)?;
        self.speeds.push(measure::mega_per_second(keys.len(), start.elapsed()));
        self.steps_mean = filter.stats().steps_mean;
        check(&spec, &filter)
    }
}

/// All keys are in, and the first of them are found.
fn check(spec: &Spec, filter: &Filter) -> Result<(), Box<dyn Error>> {
    let planned = spec.plan()?.keys();
    let found = (0..planned.min(1 << 16)).all(|key| filter.contains(&key));
    if filter.len() == planned && found { Ok(()) } else { Err("a filter lost a key".into()) }
}

fn table(args: &ScaleArgs, steps: &[Step]) -> Table {
    let mut table = Table::new(
        format!(
            "cost of filling, median and best of {} turns; - does not fit {} GiB",
            args.repeats, args.memory
        ),
        &["filter", "keys", "threads", "MiB", "ns/key", "Mkeys/s", "best", "steps per walk"],
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
        ]);
    }
    table
}
