//! A block list that changes while many threads query it. Addresses come and go, and the exact list, which is
//! large and slow, confirms every yes.
//!
//! ```text
//! cargo run -p malkoha-metrics --example pattern_block_list
//! ```

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::RwLock;

use malkoha::{Error, KeyHasher, Sharded, Spec};
use malkoha_metrics::Meter;

struct BlockList {
    filter: Sharded,
    exact: RwLock<HashSet<Ipv4Addr>>,
    meter: Meter,
}

impl BlockList {
    fn new(most: u64, rate: f64) -> Result<Self, Error> {
        // A blocked client may try to look like one that is not blocked, or make others look blocked: keep
        // the seed secret.
        let filter = Spec::new(most, rate).seed(KeyHasher::random().seed()).sharded(16).build()?;
        Ok(Self { filter, exact: RwLock::default(), meter: Meter::new(1) })
    }

    /// The exact list decides whether an address is new, so that none is stored twice; its lock is held until
    /// the filter has the address.
    fn block(&self, address: Ipv4Addr) -> Result<(), malkoha::Full> {
        let mut exact = self.exact.write().expect("nobody panics with it");
        if exact.contains(&address) {
            return Ok(());
        }
        self.filter.insert(&address.octets())?;
        exact.insert(address);
        Ok(())
    }

    /// Only addresses that were on the list are removed from the filter.
    fn unblock(&self, address: Ipv4Addr) -> Result<(), Error> {
        let mut exact = self.exact.write().expect("nobody panics with it");
        if exact.remove(&address) {
            let removed = self.filter.remove(&address.octets())?;
            assert!(removed, "every address of the list is in the filter");
        }
        Ok(())
    }

    fn is_blocked(&self, address: Ipv4Addr) -> bool {
        if !self.meter.lookup(|| self.filter.contains(&address.octets())) {
            return false;
        }
        let blocked = self.exact.read().expect("nobody panics with it").contains(&address);
        if blocked {
            self.meter.confirm();
        } else {
            self.meter.refute();
        }
        blocked
    }
}

/// Replaces half of the list while four threads query it.
pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
    let (most, rate) = (10_000u32, 0.01);
    let list = BlockList::new(u64::from(most), rate)?;
    let evil = |number: u32| Ipv4Addr::from(0x0A00_0000 + number);
    let good = |number: u32| Ipv4Addr::from(0xC000_0000 + number);
    (0..most).try_for_each(|number| list.block(evil(number)))?;
    assert!((0..most).all(|number| list.is_blocked(evil(number))));

    // The first half is unblocked and replaced by another half, while others query.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!((most / 2..most).all(|number| list.is_blocked(evil(number)))));
            scope.spawn(|| assert!((0..50_000).all(|number| !list.is_blocked(good(number)))));
        }
        for number in 0..most / 2 {
            list.unblock(evil(number)).expect("this kind removes");
            list.block(evil(most + number)).expect("there is room for as many as were planned");
        }
    });
    assert!((0..most / 2).all(|number| !list.is_blocked(evil(number))), "unblocked addresses are free");
    assert!((most / 2..most + most / 2).all(|number| list.is_blocked(evil(number))));
    assert_eq!(list.filter.len(), u64::from(most), "the filter is no fuller than before");

    if let Some(estimate) = list.meter.readings().false_positive_estimate() {
        assert!(estimate < 1.3 * rate, "{estimate}");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
