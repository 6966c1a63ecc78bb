//! Clocks, medians and turns.
//!
//! On a shared machine, two runs minutes apart differ by up to half. What is compared is therefore measured
//! in turns, A, B, A, B; ratios are taken within a turn, and then their median.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Results of repeated measurements of one thing, in the order of the turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    pub(crate) fn push(&mut self, result: f64) {
        self.0.push(result);
    }

    /// Returns the median: the middle result, or the mean of the two middle ones; NaN if there are no
    /// results.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        }
    }

    /// Returns the largest result.
    pub(crate) fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::max)
    }

    /// Returns each result as a share of the other's result in the same turn.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(mine, theirs)| mine / theirs).collect())
    }
}

/// Returns million keys per second.
pub(crate) fn mega_per_second(keys: usize, time: Duration) -> f64 {
    keys as f64 / time.as_secs_f64() / 1e6
}

/// Returns how long something takes, and its result.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

/// Runs all jobs at once, each in its own thread, and returns how long the slowest took. They start together;
/// a single job runs in the caller's thread.
pub(crate) fn time_together<J: FnOnce() + Send>(jobs: Vec<J>) -> Duration {
    if jobs.len() <= 1 {
        return jobs.into_iter().map(|job| time(job).0).sum();
    }
    let start = Barrier::new(jobs.len());
    thread::scope(|scope| {
        let run = |job: J| {
            scope.spawn(|| {
                start.wait();
                time(job).0
            })
        };
        let threads: Vec<_> = jobs.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("no job panics")).max().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn the_median_is_in_the_middle() {
        let series = |results: &[f64]| Series(results.to_vec());
        assert_eq!(series(&[3.0, 1.0, 2.0]).median().to_bits(), 2f64.to_bits());
        assert_eq!(series(&[4.0, 1.0, 2.0, 3.0]).median().to_bits(), 2.5f64.to_bits());
        assert!(series(&[]).median().is_nan());
        assert_eq!(series(&[1.0, 3.0, 2.0]).best().to_bits(), 3f64.to_bits());
    }

    #[test]
    fn ratios_are_taken_within_a_turn() {
        let (ours, limit) = (Series(vec![1.0, 8.0]), Series(vec![2.0, 16.0]));
        assert_eq!(ours.over(&limit), Series(vec![0.5, 0.5]));
    }

    #[test]
    fn every_job_runs_once() {
        for jobs in 0..4 {
            let sum = AtomicU64::new(0);
            let sum = &sum;
            time_together(
                (0..jobs)
                    .map(|job| {
                        move || {
                            sum.fetch_add(1 << job, Ordering::Relaxed);
                        }
                    })
                    .collect(),
            );
            assert_eq!(sum.load(Ordering::Relaxed), (1 << jobs) - 1);
        }
    }
}
