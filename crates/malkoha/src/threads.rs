//! Work on a whole table, divided among threads. Where the system gives no thread, the caller's does it all.

use core::ops::Range;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// The fewest of anything that a thread is started for: some hundred microseconds of work.
const FEWEST: u64 = 1 << 20;

/// Shares begin at multiples of this, so that the slots of a share begin where a word does.
const STEP: u64 = 64;

/// Does `work` for shares of a range from 0 on, one for each processor if there is enough of it, and returns
/// what it gave in order.
pub(crate) fn for_shares<T: Send>(len: u64, work: impl Fn(Range<u64>) -> T + Sync) -> Vec<T> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let shares = (len / FEWEST).clamp(1, processors);
    let size = len.div_ceil(shares).next_multiple_of(STEP);
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

/// Does one thing on another thread while this one does the other.
pub(crate) fn both<A: Send, B>(beside: impl Fn() -> A + Sync, here: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let thread = spawn(scope, &beside);
        let here = here();
        (thread.map_or_else(&beside, join), here)
    })
}

/// Starts a thread, if there is one to be had.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).ok()
}

/// Waits for a thread, and panics as it did if it did.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::{FEWEST, STEP, both, for_shares};

    #[test]
    fn shares_are_the_whole_in_order() {
        for len in [0, 1, STEP, FEWEST - 1, FEWEST, 2 * FEWEST + 1, 5 * FEWEST + 77] {
            let shares = for_shares(len, |share| share);
            assert_eq!((shares[0].start, shares[shares.len() - 1].end), (0, len));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(shares.iter().all(|share| share.start % STEP == 0));
        }
    }

    #[test]
    fn both_are_done() {
        let mut here = 0;
        assert_eq!(both(|| 1, || here = 2), (1, ()));
        assert_eq!(here, 2);
    }
}
