//! Work on a whole table, divided among threads. If the system provides no threads, the calling thread does
//! it all.

use core::ops::Range;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// The fewest slots, buckets or words that are worth a thread: a few hundred microseconds of work
/// (`malkoha-bench store`).
const FEWEST: u64 = 1 << 20;

/// The most threads that help; beyond them, memory is the limit.
const MOST_THREADS: u64 = 16;

/// Runs `work` on shares of the range `0..len`, one for each processor if there is enough to do; returns the results in
/// order. Shares begin at multiples of `step`.
pub(crate) fn for_shares<T: Send>(len: u64, step: u64, work: impl Fn(Range<u64>) -> T + Sync) -> Vec<T> {
    let most = (len / FEWEST).min(MOST_THREADS);
    if most < 2 {
        // The number of processors is not even queried: that reads files of the system.
        return vec![work(0..len)];
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    in_shares(len, step, most.min(processors), work)
}

/// The same in this number of shares.
fn in_shares<T: Send>(len: u64, step: u64, shares: u64, work: impl Fn(Range<u64>) -> T + Sync) -> Vec<T> {
    let size = len.div_ceil(shares).next_multiple_of(step);
    let share = |i: u64| (i * size).min(len)..((i + 1) * size).min(len);
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..shares).map(|i| spawn(scope, move || work(share(i)))).collect();
        let mut results = vec![work(share(0))];
        for (other, i) in others.into_iter().zip(1..) {
            results.push(other.map_or_else(|| work(share(i)), join));
        }
        results
    })
}

/// Runs `work` on each item, on `threads` threads.
pub(crate) fn for_each<T>(items: impl Iterator<Item = T> + Send, threads: usize, work: impl Fn(T) + Sync) {
    let queue = Mutex::new(items);
    let next = || queue.lock().expect("no holder panics").next();
    let run = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map_while(|_| spawn(scope, run)).collect();
        run();
        others.into_iter().for_each(join);
    });
}

/// Runs `beside` on another thread while this one runs `here`, or after it if no thread is available.
pub(crate) fn both<A: Send, B>(beside: impl Fn() -> A + Sync, here: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let thread = spawn(scope, &beside);
        let here = here();
        (thread.map_or_else(&beside, join), here)
    })
}

/// Starts a thread, if one is available.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).ok()
}

/// Waits for a thread, and propagates its panic if it had one.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::{both, for_each, for_shares, in_shares};

    #[test]
    fn shares_are_the_whole_in_order() {
        for (len, step) in [(0, 1), (1, 1), (1, 64), (1000, 1), (1000, 64), (1001, 512), (5000, 7)] {
            for shares in 1..=5 {
                let ranges = in_shares(len, step, shares, |range| range);
                assert_eq!(ranges.len() as u64, shares);
                assert!(ranges.iter().flat_map(Clone::clone).eq(0..len));
                assert!(ranges.iter().all(|range| range.start % step == 0 || range.start == len));
            }
        }
    }

    #[test]
    fn little_is_done_at_once_and_much_adds_up() {
        assert_eq!(for_shares(1000, 1, |range| (range.start, range.end)), [(0, 1000)]);
        let much = 5_000_001;
        assert_eq!(for_shares(much, 64, |range| range.end - range.start).into_iter().sum::<u64>(), much);
    }

    #[test]
    fn each_item_is_worked_on_once() {
        for threads in [1, 2, 5] {
            let mut items = [0; 100];
            for_each(items.iter_mut().zip(1..), threads, |(item, number)| *item += number);
            assert!(items.into_iter().eq(1..=100));
        }
    }

    #[test]
    fn both_are_done() {
        let mut here = 0;
        assert_eq!(both(|| 1, || here = 2), (1, ()));
        assert_eq!(here, 2);
    }
}
