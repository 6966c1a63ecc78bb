//! `Version` under all orders of what a writer and readers do, by loom, which replaces the atomics.

use loom::model;
use loom::sync::Arc;
use loom::thread;

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

#[path = "../src/engine/version.rs"]
mod version;

use atomic::{AtomicU64, Ordering};
use version::{Seen, Version};

/// A key with two places, one of which holds it, and a stash.
struct Table {
    version: Version,
    places: [AtomicU64; 2],
    aside: AtomicU64,
}

impl Table {
    fn new() -> Arc<Self> {
        let places = [AtomicU64::new(1), AtomicU64::new(0)];
        Arc::new(Self { version: Version::new(false), places, aside: AtomicU64::new(0) })
    }

    fn set(&self, place: usize, tag: u64) {
        self.places[place].store(tag, Ordering::Relaxed);
    }

    /// Moves the key to its other place, as the steps of a walk do: in between it is in neither.
    fn move_key(&self, from: usize) {
        self.version.begin();
        self.set(from, 0);
        self.set(1 - from, 1);
        self.version.end(false);
    }

    /// Moves the key to the stash.
    fn set_aside(&self, from: usize) {
        self.version.begin();
        self.set(from, 0);
        self.aside.store(1, Ordering::Relaxed);
        self.version.end(true);
    }

    /// Looks at the version and then at both places.
    fn look(&self) -> (Seen, bool) {
        let seen = self.version.look();
        let found = self.places.each_ref().map(|place| place.load(Ordering::Relaxed));
        (seen, found != [0, 0])
    }
}

#[test]
fn a_key_on_its_way_is_not_missed() {
    model(|| {
        let table = Table::new();
        let writer = thread::spawn({
            let table = Arc::clone(&table);
            move || {
                table.move_key(0);
                table.move_key(1);
            }
        });
        let (seen, found) = table.look();
        Version::look_back();
        assert!(found || !table.version.is_still(seen), "a reader trusts what it saw of a move");
        writer.join().unwrap();
        let (seen, found) = table.look();
        Version::look_back();
        assert!(found && table.version.is_still(seen) && table.version.changes(seen) == 0);
    });
}

#[test]
fn a_key_that_is_set_aside_is_not_missed() {
    model(|| {
        let table = Table::new();
        let writer = thread::spawn({
            let table = Arc::clone(&table);
            move || table.set_aside(0)
        });
        let (seen, found) = table.look();
        Version::look_back();
        assert!(found || table.version.changes(seen) != 0, "the table alone is not enough");
        // As `Front::judge_closely` does.
        let aside = table.aside.load(Ordering::Relaxed);
        Version::look_back();
        assert!(found || aside == 1 || !table.version.is_still(seen), "neither in the table nor aside");
        writer.join().unwrap();
        let (seen, found) = table.look();
        Version::look_back();
        assert!(!found && table.version.is_still(seen) && table.version.changes(seen) != 0);
    });
}

#[test]
fn what_returned_before_a_lookup_began_is_seen() {
    model(|| {
        let table = Table::new();
        let done = Arc::new(AtomicU64::new(0));
        let writer = thread::spawn({
            let (table, done) = (Arc::clone(&table), Arc::clone(&done));
            move || {
                table.version.begin();
                table.set(1, 2);
                table.version.end(false);
                done.store(1, Ordering::Release);
            }
        });
        if done.load(Ordering::Acquire) == 1 {
            let seen = table.version.look();
            assert_eq!(table.places[1].load(Ordering::Relaxed), 2);
            Version::look_back();
            assert!(table.version.is_still(seen));
        }
        writer.join().unwrap();
    });
}

/// A block of an arena passes from a shard that gives it away to one that takes it, by a lock. A reader of the first
/// shard that sees what the second has written there also sees that the first has changed.
#[test]
fn what_another_shard_writes_into_given_memory_is_not_trusted() {
    model(|| given_memory(true));
}

/// The fence after a block was taken is needed: the one at the beginning of the change came too early.
#[test]
#[should_panic(expected = "a reader trusts what another shard wrote")]
fn without_a_fence_after_taking_a_block_it_would_be() {
    model(|| given_memory(false));
}

fn given_memory(has_fence: bool) {
    let (table, other) = (Table::new(), Arc::new(Version::new(false)));
    let free = Arc::new(loom::sync::Mutex::new(false));
    let giver = thread::spawn({
        let (table, free) = (Arc::clone(&table), Arc::clone(&free));
        move || {
            table.version.begin();
            *free.lock().unwrap() = true;
            table.version.end(false);
        }
    });
    let taker = thread::spawn({
        let (table, free) = (Arc::clone(&table), Arc::clone(&free));
        move || {
            other.begin();
            if *free.lock().unwrap() {
                if has_fence {
                    atomic::fence(Ordering::Release);
                }
                table.set(0, 0);
            }
            other.end(false);
        }
    });
    let (seen, found) = table.look();
    Version::look_back();
    assert!(found || !table.version.is_still(seen), "a reader trusts what another shard wrote");
    giver.join().unwrap();
    taker.join().unwrap();
}

/// Without the second look the test above would fail: it can.
#[test]
#[should_panic(expected = "seen in neither place")]
fn a_reader_that_does_not_look_back_misses_keys() {
    model(|| {
        let table = Table::new();
        let writer = thread::spawn({
            let table = Arc::clone(&table);
            move || table.move_key(0)
        });
        let (_, found) = table.look();
        assert!(found, "seen in neither place");
        writer.join().unwrap();
    });
}

/// Nor is the second look enough without the fence before it.
#[test]
#[should_panic(expected = "a reader trusts what it saw of a move")]
fn a_reader_without_a_fence_misses_keys() {
    model(|| {
        let table = Table::new();
        let writer = thread::spawn({
            let table = Arc::clone(&table);
            move || table.move_key(0)
        });
        let (seen, found) = table.look();
        assert!(found || !table.version.is_still(seen), "a reader trusts what it saw of a move");
        writer.join().unwrap();
    });
}
