//! Metrics: how many filters there are and what they hold, kept up to date by the values themselves.

use core::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the values of a type that exist.
pub struct Gauge(AtomicU64);

impl Gauge {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The number now.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts one value as long as it exists.
#[derive(Debug)]
pub struct Counted(&'static AtomicU64);

impl Counted {
    /// Counts one more.
    #[must_use]
    pub fn new(gauge: &'static Gauge) -> Self {
        gauge.0.fetch_add(1, Ordering::Relaxed);
        Self(&gauge.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Cuckoo filters in RedisBloom's layout.
pub static CUCKOO: Gauge = Gauge::new();
/// Bloom filters in RedisBloom's layout.
pub static BLOOM: Gauge = Gauge::new();
/// Filters of the engine.
pub static ENGINE: Gauge = Gauge::new();

/// Counts events.
pub struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts so many more.
    pub fn add(&self, events: usize) {
        self.0.fetch_add(events as u64, Ordering::Relaxed);
    }
}

/// Items that were stored.
pub static STORED: Counter = Counter::new();
/// Items that were refused because a filter was full or there was no memory.
pub static REFUSED: Counter = Counter::new();
/// Items that were looked up.
pub static LOOKED_UP: Counter = Counter::new();
/// Items that were removed.
pub static REMOVED: Counter = Counter::new();

/// Commands that ran beside the server.
pub static BESIDE: Counter = Counter::new();

/// All metrics, by name.
pub fn all() -> impl Iterator<Item = (&'static CStr, u64)> {
    let counter = |counter: &Counter| counter.0.load(Ordering::Relaxed);
    [
        (c"cuckoo_filters", CUCKOO.get()),
        (c"bloom_filters", BLOOM.get()),
        (c"engine_filters", ENGINE.get()),
        (c"items_stored", counter(&STORED)),
        (c"items_refused", counter(&REFUSED)),
        (c"items_looked_up", counter(&LOOKED_UP)),
        (c"items_removed", counter(&REMOVED)),
        (c"commands_beside", counter(&BESIDE)),
    ]
    .into_iter()
}
