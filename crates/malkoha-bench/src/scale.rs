//! `scale`: what a key costs as filters grow.
//!
//! Filters are filled from empty to the planned load. With several threads each fills a filter of its own with
//! its part of the keys, side by side, until the engine can fill one filter from several.

use std::error::Error;
use std::ops::Range;

use malkoha::{Filter, FullAt, Spec};

use crate::cli::ScaleArgs;
use crate::contestants::{Choice, Wish};
use crate::measure::{self, Series};
use crate::memory::use_pages;
use crate::table::{Cell, Table};

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
                let part = keys.div_ceil(*threads as u64);
                let bytes = wish.for_keys(part).plan()?.bytes() * *threads as u64;
                let (keys, threads, speeds) = (part * *threads as u64, *threads, Series::default());
                steps.push(Step { wish, keys, threads, bytes, speeds, steps_mean: f64::NAN });
            }
        }
    }
    Ok(steps)
}

fn fits(args: &ScaleArgs, step: &Step) -> bool {
    step.bytes as f64 <= args.memory * f64::from(1 << 30)
}

impl Step {
    fn measure(&mut self) -> Result<(), Box<dyn Error>> {
        let part = self.keys / self.threads as u64;
        let spec = self.wish.for_keys(part);
        let filters = (0..self.threads).map(|_| spec.build());
        let mut filters = filters.collect::<Result<Vec<_>, _>>()?;
        let mut results = vec![Ok(()); self.threads];
        let parts = (0..).step_by(usize::try_from(part)?).map(|start| start..start + part);
        let jobs = filters.iter_mut().zip(&mut results).zip(parts);
        let time = measure::time_together(
            jobs.map(|((filter, result), keys)| move || *result = fill(filter, keys)).collect(),
        );
        results.into_iter().collect::<Result<(), _>>()?;
        self.speeds.push(measure::mega_per_second(usize::try_from(self.keys)?, time));
        self.steps_mean = filters[0].stats().steps_mean;
        check(&spec, &filters[0])
    }
}

/// Fills a filter with slices of consecutive keys, which take next to nothing to make.
fn fill(filter: &mut Filter, keys: Range<u64>) -> Result<(), FullAt> {
    const SLICE: usize = 1 << 14;
    let mut slice: Vec<u64> = Vec::with_capacity(SLICE);
    for start in keys.clone().step_by(SLICE) {
        slice.clear();
        slice.extend(start..keys.end.min(start + SLICE as u64));
        filter.insert_slice(&slice)?;
    }
    Ok(())
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
