//! A filter in front of a store: most lookups of absent keys never reach the store, and a key that leaves the
//! store leaves the filter at the same time.
//!
//! ```text
//! cargo run -p malkoha --example pattern_read_path
//! ```

use std::collections::{HashMap, VecDeque};

use malkoha::{Error, Filter, Spec};

/// A store of limited size, too slow for useless reads, with a filter in front of it.
struct Store {
    filter: Filter,
    values: HashMap<u64, String>,
    oldest_first: VecDeque<u64>,
    capacity: usize,
    reads: u64,
}

impl Store {
    fn new(capacity: usize, rate: f64) -> Result<Self, Error> {
        // The peak is one above the capacity: a key is stored before the oldest is evicted.
        let filter = Spec::new(capacity as u64 + 1, rate).build()?;
        Ok(Self { filter, values: HashMap::new(), oldest_first: VecDeque::new(), capacity, reads: 0 })
    }

    fn put(&mut self, key: u64, value: String) -> Result<(), Box<dyn std::error::Error>> {
        if let Some(known) = self.values.get_mut(&key) {
            *known = value;
            return Ok(());
        }
        // The filter comes first: if it refuses, the store must not hold a key that the filter does not find.
        self.filter.insert(&key)?;
        self.values.insert(key, value);
        self.oldest_first.push_back(key);
        if self.values.len() > self.capacity {
            self.evict()?;
        }
        Ok(())
    }

    /// Delete on evict: a key that leaves the store leaves the filter. Only stored keys are removed.
    fn evict(&mut self) -> Result<(), Error> {
        let Some(key) = self.oldest_first.pop_front() else { return Ok(()) };
        self.values.remove(&key);
        let removed = self.filter.remove(&key)?;
        assert!(removed, "every key of the store is in the filter");
        Ok(())
    }

    fn get(&mut self, key: u64) -> Option<&String> {
        if !self.filter.contains(&key) {
            return None;
        }
        self.reads += 1;
        self.values.get(&key)
    }
}

/// Passes twenty times as many keys through the store as it holds.
pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
    let (capacity, rate) = (5_000, 0.01);
    let mut store = Store::new(capacity, rate)?;
    for key in 0..20 * capacity as u64 {
        store.put(key, format!("value of {key}"))?;
    }
    assert_eq!(store.filter.len(), capacity as u64, "the filter holds exactly the keys of the store");

    let newest = 19 * capacity as u64..20 * capacity as u64;
    assert!(newest.clone().all(|key| store.get(key).is_some()), "every key of the store is found");

    store.reads = 0;
    let gone = 0..newest.start;
    let asked = gone.end as f64;
    assert!(gone.clone().all(|key| store.get(key).is_none()));
    assert!((store.reads as f64) < 1.2 * rate * asked, "{} reads in vain", store.reads);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
