//! Readers among writers: whatever these do, keys that stay are found.

use core::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use malkoha::Sharded;
use malkoha::testing::Stream;

/// The keys that stay, and as many that are never stored.
pub(crate) const STAYING: Range<u64> = 0..2_000;
const ABSENT: Range<u64> = 1 << 40..(1 << 40) + 2_000;

/// Tells other threads to stop when it is dropped, also by a panic.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Stores the keys that stay, and looks for them on two threads while two others `write`, each with its number. Returns
/// how many lookups of absent keys were wrong, and how many there were.
pub(crate) fn among_readers(filter: &Sharded, write: impl Fn(u64) + Sync) -> (u64, u64) {
    let [stay, absent] = [STAYING, ABSENT].map(Iterator::collect::<Vec<u64>>);
    filter.insert_slice(&stay).unwrap();
    let stop = AtomicBool::new(false);
    let counts = thread::scope(|scope| {
        let (stay, absent, stop, write) = (&stay, &absent, &stop, &write);
        let readers = [0, 1].map(|seed| scope.spawn(move || read(filter, stay, absent, stop, seed)));
        let end = Stop(stop);
        let writers = [0, 1].map(|thread| scope.spawn(move || write(thread)));
        for writer in writers {
            writer.join().unwrap();
        }
        drop(end);
        readers.map(|reader| reader.join().unwrap())
    });
    assert_eq!(filter.contains_slice(&stay), vec![true; stay.len()]);
    (counts[0].0 + counts[1].0, counts[0].1 + counts[1].1)
}

/// Looks keys up until it is told to stop, one by one and in slices.
fn read(filter: &Sharded, stay: &[u64], absent: &[u64], stop: &AtomicBool, seed: u64) -> (u64, u64) {
    let (mut stream, mut wrong, mut asked) = (Stream::new(seed), 0, 0);
    while !stop.load(Ordering::Relaxed) {
        let from = stream.below(1_800) as usize;
        let found = filter.contains_slice(&stay[from..from + 200]);
        assert!(found.into_iter().all(|found| found), "{filter:?}: a slice misses a key");
        for key in &stay[from..from + 50] {
            assert!(filter.contains(key), "{filter:?}: {key} is missed");
        }
        let found = filter.contains_slice(&absent[from..from + 200]);
        wrong += found.into_iter().map(u64::from).sum::<u64>();
        wrong += u64::from(filter.contains(&absent[from]));
        asked += 201;
    }
    (wrong, asked)
}
