//! Cache admission: a key is admitted to the cache when it is requested a second time within a window. Keys
//! requested once, as in a scan, do not evict keys that are requested again and again.
//!
//! ```text
//! cargo run -p malkoha --example pattern_cache_admission
//! ```

use std::collections::{HashSet, VecDeque};

use malkoha::testing::Stream;
use malkoha::{Generations, Inserted, Spec};

/// A cache that evicts the oldest entry.
struct Cache {
    keys: HashSet<u64>,
    oldest_first: VecDeque<u64>,
    capacity: usize,
    doorkeeper: Option<Generations>,
    hits: u64,
}

impl Cache {
    fn new(capacity: usize, doorkeeper: Option<Generations>) -> Self {
        Self { keys: HashSet::new(), oldest_first: VecDeque::new(), capacity, doorkeeper, hits: 0 }
    }

    fn ask(&mut self, key: u64) -> Result<(), malkoha::Full> {
        if self.keys.contains(&key) {
            self.hits += 1;
            return Ok(());
        }
        if let Some(doorkeeper) = &mut self.doorkeeper
            && doorkeeper.insert_unique(&key)? == Inserted::Stored
        {
            return Ok(());
        }
        self.keys.insert(key);
        self.oldest_first.push_back(key);
        if self.keys.len() > self.capacity {
            let gone = self.oldest_first.pop_front().expect("the cache is not empty");
            self.keys.remove(&gone);
        }
        Ok(())
    }
}

/// Half of the requests are for one of 900 popular keys; the other half is a scan that never repeats a key.
pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
    let (capacity, requests) = (1_000, 200_000u64);
    let window = Generations::of_keys(&Spec::new(8 * capacity as u64, 0.01), 4)?;
    assert!(
        window.stats().memory_bytes < 32 * capacity as u64,
        "the doorkeeper is small compared with the cache"
    );
    let (mut open, mut kept) = (Cache::new(capacity, None), Cache::new(capacity, Some(window)));
    let mut stream = Stream::new(1);
    for request in 0..requests {
        let key = if request % 2 == 0 { stream.below(900) } else { 1_000_000 + request };
        open.ask(key)?;
        kept.ask(key)?;
    }
    let share = |cache: &Cache| cache.hits as f64 / requests as f64;
    // No admission policy can do better than half: the scan never requests a key twice.
    assert!(share(&kept) > 0.45, "{} with a doorkeeper", share(&kept));
    assert!(share(&open) < 0.25, "{} without", share(&open));
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
