//! Long random histories of elastic filters: through a dozen doublings and back, again and again.

use crate::common::{in_parallel, scale};
use malkoha::testing::Stream;
use malkoha::{Filter, Inserted, Spec};

/// How many times as many keys a filter has at the end of a rise as at its beginning: more than twelve doublings.
const RISE: u64 = 5000;

/// What a filter should hold: keys below a number, each some times.
struct Stored {
    copies: Vec<u32>,
    /// Every copy, in no order.
    all: Vec<u32>,
}

impl Stored {
    fn add(&mut self, key: u32) {
        self.copies[key as usize] += 1;
        self.all.push(key);
    }

    fn remove(&mut self, number: usize) -> u32 {
        let key = self.all.swap_remove(number);
        self.copies[key as usize] -= 1;
        key
    }

    /// Fails if the filter has lost a key.
    fn check(&self, filter: &Filter) {
        assert_eq!(filter.len(), self.all.len() as u64);
        for keys in self.all.chunks(1 << 16) {
            assert!(filter.contains_slice(keys).into_iter().all(|found| found), "{}", filter.stats());
        }
    }
}

/// The number of a copy, at random.
fn some_copy(stored: &Stored, stream: &mut Stream) -> usize {
    (stream.draw() % stored.all.len() as u64) as usize
}

/// A key at random. A few are drawn so often that they have many copies.
fn some_key(stored: &Stored, stream: &mut Stream) -> u32 {
    let keys = if stream.draw().is_multiple_of(64) { 16 } else { stored.copies.len() as u64 };
    (stream.draw() % keys) as u32
}

/// One operation, which rather stores or rather removes, against what is stored.
fn operate(filter: &mut Filter, stored: &mut Stored, rises: bool, stream: &mut Stream) {
    // Of ten operations, five go up or down, and two the other way.
    match (stream.draw() % 10, rises) {
        (0..4, true) | (0, false) => {
            let key = some_key(stored, stream);
            filter.insert(&key).unwrap();
            stored.add(key);
        }
        (4, true) | (1, false) => {
            let key = some_key(stored, stream);
            match filter.insert_unique(&key).unwrap() {
                Inserted::Stored => {
                    assert_eq!(stored.copies[key as usize], 0, "{key} was stored, and not found");
                    stored.add(key);
                }
                Inserted::Seen => {}
            }
        }
        (5..7, true) | (2..7, false) if !stored.all.is_empty() => {
            let key = stored.remove(some_copy(stored, stream));
            assert!(filter.remove(&key).unwrap(), "{key} was stored, and not found");
        }
        (7, _) if !stored.all.is_empty() => {
            let key = stored.all[some_copy(stored, stream)];
            assert!(filter.count(&key).unwrap() >= stored.copies[key as usize], "{key} has too few copies");
        }
        _ if !stored.all.is_empty() => {
            let key = stored.all[some_copy(stored, stream)];
            assert!(filter.contains(&key), "{key} was stored, and not found");
        }
        _ => {}
    }
}

/// 10^9 operations in the long form.
#[test]
fn rises_and_falls_through_a_dozen_doublings_lose_nothing() {
    let (operations, most) = (scale(900_000, 500_000_000), scale(100_000, 5_000_000));
    in_parallel([1e-3, 1e-6], |rate| {
        let mut filter = Spec::rate(rate).build().unwrap();
        let mut stored = Stored { copies: vec![0; 2 * most as usize], all: Vec::new() };
        let mut stream = Stream::new(operations + (1.0 / rate) as u64);
        let (mut rises, mut turns) = (true, 0);
        for _ in 0..operations {
            operate(&mut filter, &mut stored, rises, &mut stream);
            let held = stored.all.len() as u64;
            if if rises { held >= most } else { held <= most / RISE } {
                (rises, turns) = (!rises, turns + 1);
                stored.check(&filter);
            }
        }
        assert!(turns >= 2, "{turns} turns");
        while !stored.all.is_empty() {
            let key = stored.remove(stored.all.len() - 1);
            assert!(filter.remove(&key).unwrap(), "{key} was stored, and not found");
        }
        assert!(filter == Spec::rate(rate).build().unwrap(), "{}", filter.stats());
    });
}
