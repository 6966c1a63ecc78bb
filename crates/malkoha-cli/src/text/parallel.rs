//! The same work for many things on several threads.

use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// Calls `work` for every item, on this many threads. Each thread has its own `Scratch`.
pub(super) fn for_each<T: Send, Scratch>(
    threads: usize,
    items: &mut [T],
    scratch: impl Fn() -> Scratch + Sync,
    work: impl Fn(&mut Scratch, &mut T) + Sync,
) {
    if threads <= 1 || items.len() <= 1 {
        let mut scratch = scratch();
        return items.iter_mut().for_each(|item| work(&mut scratch, item));
    }
    let threads = threads.min(items.len());
    let waiting = Mutex::new(items.iter_mut());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        let run = || {
            let mut scratch = scratch();
            while let Some(item) = next() {
                work(&mut scratch, item);
            }
        };
        // This thread is one of them, and does everything if the system starts no others.
        let _ = (1..threads).try_for_each(|_| Builder::new().spawn_scoped(scope, run).map(drop));
        run();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once() {
        for threads in [1, 2, 7] {
            for count in [0, 1, 5, 1000] {
                let mut items: Vec<usize> = (0..count).collect();
                for_each(threads, &mut items, || (), |(), item| *item += 1);
                assert!(items.into_iter().eq(1..=count), "{threads} threads");
            }
        }
    }
}
