//! `Stats`: facts about a filter.

use core::fmt;
use core::time::Duration;

use super::{Filter, chain};
use crate::elastic::Elastic;
use crate::engine::Counters;
use crate::engine::saturating_sum;

/// How close a filter is to refusing inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// There is head-room.
    Room,
    /// Less than a tenth of the head-room is left, or keys had to be stashed.
    NearlyFull,
    /// No head-room is left: inserts into cuckoo kinds are slow and may be refused; the rate of Bloom kinds
    /// is above the promise.
    Full,
}

impl Level {
    /// The level of a filter that holds `items` of `capacity` keys, `stash_size` of them outside its table.
    pub(crate) fn of(items: u64, capacity: u64, stash_size: u64) -> Self {
        if items >= capacity {
            Self::Full
        } else if items as f64 > 0.9 * capacity as f64 || stash_size > 0 {
            Self::NearlyFull
        } else {
            Self::Room
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Room => "room",
            Self::NearlyFull => "nearly full",
            Self::Full => "full",
        })
    }
}

/// Facts about a filter at one moment.
///
/// ```
/// let mut filter = malkoha::Spec::new(1000, 0.01).build()?;
/// filter.insert_slice(&(0..900u64).collect::<Vec<_>>())?;
/// let stats = filter.stats();
/// assert_eq!(stats.items, 900);
/// assert!(stats.head_room >= 100);
/// assert!(stats.predicted_rate < 0.01);
/// println!("{stats}");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of stored copies of keys.
    pub items: u64,
    /// Slots; for Bloom kinds, bits.
    pub slots: u64,
    /// Occupied slots over slots; for Bloom kinds, set bits over bits.
    pub load: f64,
    /// The load that no walk can exceed; 1 for Bloom kinds.
    pub threshold: f64,
    /// Bytes of memory allocated for tables. What else a planned filter has is not counted: about 1 kB, and 4 kB for
    /// blocked kinds with several choices. That matters only for very small filters.
    pub memory_bytes: u64,
    /// Keys kept outside the table.
    pub stash_size: u64,
    /// Inserts refused since the filter was made.
    pub insert_failures: u64,
    /// The mean number of steps per insert that had to walk.
    pub steps_mean: f64,
    /// Steps of the longest walk.
    pub steps_max: u64,
    /// The promised rate for the planned keys.
    pub promised_rate: f64,
    /// The rate that theory predicts for the keys stored now; for Bloom kinds, for the bits set now.
    pub predicted_rate: f64,
    /// Keys that can still be stored with inserts as reliable as planned: up to 0.98 of the threshold; for
    /// Bloom kinds, up to the planned number.
    pub head_room: u64,
    /// How close the filter is to refusing inserts.
    pub level: Level,
    /// Whether the filter takes more memory when no head-room is left, rather than refuse keys or exceed the
    /// promised rate: growing filters and sliding windows do.
    pub grows: bool,
    /// The links of a chain, oldest first; empty for others. Such a filter has room until the system
    /// runs out of memory, or a hash out of bits for places and fingerprints. Its head-room is what its links
    /// can take before another one is added.
    pub links: Vec<LinkStats>,
    /// How a filter of the kind [`Elastic`](crate::Kind::Elastic) has grown; `None` for others.
    pub growth: Option<GrowthStats>,
}

/// How a filter has grown, region by region. Counts are those since the filter was made or read.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GrowthStats {
    /// The number of regions.
    pub regions: u64,
    /// How often a region was made larger.
    pub steps: u64,
    /// How often a region was made smaller.
    pub shrinks: u64,
    /// The longest time that a key had to wait for such a step.
    pub longest_step: Duration,
    /// Copies that have no slot: many copies of one key, or keys with chosen hashes.
    pub overflow: u64,
    /// The number of keys up to which the rate is promised.
    pub promised_keys: u64,
}

/// Facts about one link of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkStats {
    /// The number of stored copies of keys.
    pub items: u64,
    /// The most keys that it can take.
    pub keys: u64,
    /// Occupied slots over slots; for Bloom kinds, set bits over bits.
    pub load: f64,
    /// Bytes of memory allocated.
    pub memory_bytes: u64,
    /// The rate that theory predicts for the keys stored now.
    pub predicted_rate: f64,
}

impl Stats {
    /// Facts about a filter.
    pub(super) fn of(filter: &Filter) -> Self {
        let (geometry, engine) = (filter.geometry(), filter.engine());
        let parts: Vec<_> = filter.links().iter().map(Filter::stats).collect();
        let links: Vec<_> = (filter.links().iter().zip(&parts))
            .map(|(link, part)| LinkStats {
                items: part.items,
                keys: link.geometry().keys(),
                load: part.load,
                memory_bytes: part.memory_bytes,
                predicted_rate: part.predicted_rate,
            })
            .collect();
        let counters = engine.counters();
        let fill = filter.fill().ok();
        let slots = if parts.is_empty() {
            geometry.cuckoo().map_or(0, |layout| layout.slots)
        } else {
            saturating_sum(parts.iter().map(|part| part.slots))
        };
        let elastic = filter.elastic();
        let slots = elastic.map_or(slots, Elastic::slots);
        let (items, stash_size) = (engine.len(), engine.stash_len() as u64);
        let occupied = elastic.map_or(items - stash_size, Elastic::entries);
        let growth = elastic.map(|elastic| GrowthStats {
            regions: elastic.in_order().count() as u64,
            steps: elastic.steps().grown,
            shrinks: elastic.steps().shrunk,
            longest_step: elastic.steps().longest,
            overflow: elastic.overflow_len(),
            promised_keys: elastic.layout().promised_keys(),
        });
        let head_room = if let Some(elastic) = elastic {
            elastic.head_room()
        } else if parts.is_empty() {
            geometry.capacity().saturating_sub(items)
        } else {
            saturating_sum(filter.links().iter().map(chain::room))
        };
        let rate =
            || match links.iter().map(|link| 1.0 - link.predicted_rate).reduce(|none, rate| none * rate) {
                Some(none) => 1.0 - none,
                None => elastic.map_or_else(|| geometry.predicted_rate(items), Elastic::rate),
            };
        Self {
            items,
            slots: fill.map_or(slots, |fill| fill.bits),
            load: fill.map_or(occupied as f64 / slots as f64, |fill| fill.share()),
            threshold: geometry.threshold(),
            memory_bytes: engine.bytes() as u64,
            stash_size,
            insert_failures: counters.failures,
            steps_mean: counters.steps_mean(),
            steps_max: counters.most_steps,
            promised_rate: geometry.rate(),
            predicted_rate: fill.map_or_else(rate, |fill| fill.rate),
            head_room,
            level: if geometry.is_growing() {
                Level::Room
            } else {
                Level::of(items, geometry.capacity(), stash_size)
            },
            grows: geometry.is_growing(),
            links,
            growth,
        }
    }
}

impl Stats {
    /// Facts about a window, combined from those of its generations, newest first, each planned for `planned`
    /// keys, and from the counters of all of them.
    pub(crate) fn of_generations(parts: &[Self], counters: Counters, planned: u64) -> Self {
        let sum = |number: fn(&Self) -> u64| saturating_sum(parts.iter().map(number));
        let (slots, newest) = (sum(|part| part.slots), &parts[0]);
        let occupied: f64 = parts.iter().map(|part| part.load * part.slots as f64).sum();
        let none: f64 = parts.iter().map(|part| 1.0 - part.predicted_rate).product();
        Self {
            items: sum(|part| part.items),
            slots,
            load: occupied / slots as f64,
            threshold: newest.threshold,
            memory_bytes: sum(|part| part.memory_bytes),
            stash_size: sum(|part| part.stash_size),
            insert_failures: counters.failures,
            steps_mean: counters.steps_mean(),
            steps_max: counters.most_steps,
            promised_rate: parts.iter().map(|part| part.promised_rate).sum(),
            predicted_rate: 1.0 - none,
            head_room: planned.saturating_sub(newest.items),
            // The newest generation keeps filling up; when it is full, another one replaces it.
            level: if newest.items > planned { Level::Full } else { Level::Room },
            grows: true,
            links: Vec::new(),
            growth: None,
        }
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "items            {}", self.items)?;
        writeln!(f, "slots            {}", self.slots)?;
        writeln!(f, "load             {:.4} of at most {:.4}", self.load, self.threshold)?;
        writeln!(f, "memory           {} bytes", self.memory_bytes)?;
        writeln!(f, "stash            {}", self.stash_size)?;
        writeln!(f, "insert failures  {}", self.insert_failures)?;
        writeln!(f, "walk steps       {:.2} on average, {} at most", self.steps_mean, self.steps_max)?;
        writeln!(f, "predicted rate   {:.3e} of at most {:.3e}", self.predicted_rate, self.promised_rate)?;
        write!(f, "head-room        {} keys ({})", self.head_room, self.level)?;
        if let Some(growth) = self.growth {
            write!(f, "\nregions          {}, grown {} times, ", growth.regions, growth.steps)?;
            write!(f, "shrunk {} times, {:?} at most", growth.shrinks, growth.longest_step)?;
            write!(f, "\noverflow         {}", growth.overflow)?;
        }
        for (number, link) in self.links.iter().enumerate() {
            let name = format!("link {}", number + 1);
            write!(f, "\n{name:<16} {} of {} keys, load {:.4}, ", link.items, link.keys, link.load)?;
            write!(f, "{} bytes, rate {:.3e}", link.memory_bytes, link.predicted_rate)?;
        }
        Ok(())
    }
}
