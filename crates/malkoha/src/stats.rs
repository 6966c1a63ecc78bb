//! `Stats`: what a filter says of itself.

use core::fmt;

/// How near a filter is to refusing inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// There is head-room.
    Room,
    /// Less than a tenth of the head-room is left, or keys had to be stashed.
    NearlyFull,
    /// No head-room is left: inserts of cuckoo kinds take long and may be refused, the rate of Bloom kinds is
    /// above the promise.
    Full,
}

impl Level {
    /// The level of a filter that holds so many keys of those that it takes, and so many of them outside its table.
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
/// filter.insert_slice(&(0..900u64).collect::<Vec<_>>()).unwrap();
/// let stats = filter.stats();
/// assert_eq!(stats.items, 900);
/// assert!(stats.head_room >= 100);
/// assert!(stats.predicted_rate < 0.01);
/// println!("{stats}");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Copies of keys stored.
    pub items: u64,
    /// Slots; for Bloom kinds, bits.
    pub slots: u64,
    /// Occupied slots over slots; for Bloom kinds, set bits over bits.
    pub load: f64,
    /// The load that no walk can pass; 1 for Bloom kinds.
    pub threshold: f64,
    /// Bytes of memory allocated.
    pub memory_bytes: u64,
    /// Keys kept outside the table.
    pub stash_size: u64,
    /// Inserts refused since the filter was made.
    pub insert_failures: u64,
    /// Steps of walks, per insert that had to walk.
    pub steps_mean: f64,
    /// Steps of the longest walk.
    pub steps_max: u64,
    /// The rate that was promised for the planned keys.
    pub promised_rate: f64,
    /// The rate that theory predicts for the keys that are in now; for Bloom kinds, for the bits that are set.
    pub predicted_rate: f64,
    /// Keys that can still be stored with inserts as reliable as planned: up to 0.98 of the threshold; for Bloom
    /// kinds, up to the planned number.
    pub head_room: u64,
    /// How near the filter is to refusing inserts.
    pub level: Level,
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
        write!(f, "head-room        {} keys ({})", self.head_room, self.level)
    }
}
