//! Deduplication on several nodes: each owns the ids that the router sends it and keeps one filter per day. At the
//! end of the week the days of a node are rolled up into one filter, without the ids.
//!
//! ```text
//! cargo run -p malkoha --example pattern_distributed_dedup
//! ```

use malkoha::{Filter, Inserted, Key, KeyHasher, Spec};

const NODES: u64 = 3;
const DAYS: usize = 7;
const IDS_PER_DAY: u64 = 2_000;
const RATE: f64 = 1e-4;

/// The router has its own seed: all ids of a node agree in the bits that chose the node, and a filter with the same
/// seed would have to do without those bits of the hash.
fn node_of(id: &str) -> usize {
    let router = KeyHasher::new(0xD15C_0DE5);
    usize::try_from(id.key_hash(&router).to_raw() % NODES).expect("a few nodes")
}

/// A filter for one node. All are planned alike, for a week: only filters of equal geometry can be rolled up.
fn empty() -> Result<Filter, malkoha::Error> {
    // A third of the ids on average, and some spare room, because nodes are uneven.
    Spec::new(DAYS as u64 * IDS_PER_DAY * 6 / 5 / NODES, RATE).build()
}

/// A week of orders, each of which arrives twice, and the roll-up.
pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut days: Vec<Vec<Filter>> = Vec::new();
    let mut processed = 0;
    for day in 0..DAYS as u64 {
        let mut today = (0..NODES).map(|_| empty()).collect::<Result<Vec<_>, _>>()?;
        for number in 0..IDS_PER_DAY {
            let id = format!("order {day}/{number}");
            // Every id arrives twice, from two producers; the same node sees both.
            for producer in 0..2 {
                match today[node_of(&id)].insert_unique(id.as_str())? {
                    Inserted::Stored => processed += 1,
                    Inserted::Seen => {
                        assert!(producer == 1 || number > 0, "nothing is seen in an empty filter");
                    }
                }
            }
        }
        days.push(today);
    }
    let all = DAYS as u64 * IDS_PER_DAY;
    assert!(processed <= all && processed as f64 >= all as f64 * (1.0 - 10.0 * RATE), "{processed} of {all}");

    // The roll-up sends bytes, not ids. If a week is larger than planned, it is all or nothing.
    let mut week = (0..NODES).map(|_| empty()).collect::<Result<Vec<_>, _>>()?;
    for today in &days {
        for (node, filter) in week.iter_mut().enumerate() {
            filter.merge(&Filter::from_bytes(&today[node].to_bytes()?)?)?;
        }
    }
    for day in 0..DAYS {
        for number in 0..IDS_PER_DAY {
            let id = format!("order {day}/{number}");
            assert!(week[node_of(&id)].contains(id.as_str()), "{id} is lost");
        }
    }
    assert_eq!(week.iter().map(Filter::len).sum::<u64>(), processed);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
