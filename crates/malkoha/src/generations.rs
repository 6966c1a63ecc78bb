//! Sliding windows: which keys were seen recently, in constant memory.
//!
//! ```text
//!     newest                                  oldest
//!   +--------+  +--------+  +--------+  +--------+
//!   | filled |  | full   |  | full   |  | full   |  ->  emptied as a whole, and becomes the newest
//!   +--------+  +--------+  +--------+  +--------+
//!        |      \_____________________________/
//!     inserts     the window that is guaranteed: all generations but one
//! ```
//!
//! Keys go to the newest generation; lookups search all of them. When the newest has received its share of
//! the window, by number of keys or by the clock, the oldest is emptied. No key is removed individually, so
//! only fingerprints need to be kept, and nothing can be removed by mistake.
//!
//! With G generations, the requested window takes G - 1 of them, because the newest may have only just begun.
//! At the peak, G / (G - 1) times as many keys are stored as the window has, and the memory is planned for
//! that: a window planned for the average would be too small whenever traffic is above it. Each generation
//! gets a share of 1/G of the rate. More generations expire more smoothly and spend less memory on keys
//! beyond the window, but cost log2 G bits per key and one more table for every lookup.
//!
//! # A burst
//!
//! A window that goes by the clock does not know how many keys a generation will get. If more arrive than
//! planned, the generation grows within its share of the rate: no key is refused, none is lost, the window keeps
//! its length, and the memory is freed when the generation is emptied. Rotating early would shorten the window
//! just when it is busiest, and refusing keys would let duplicates through. The price is one bit per key, which
//! leaves room in the rate for growth.
//!
//! A generation is a chain of tables, of which the first is planned for the keys of a generation. That takes fewer
//! bits than a filter of [`Kind::Elastic`], which may grow to any size. Windows by the clock of
//! [`Spec::rate`](crate::Spec::rate), whose number of keys is unknown, have generations of that kind.

use std::collections::VecDeque;

use crate::engine::{CHUNK, Counters, Inserted, saturating_sum};
use crate::error::{Error, Full};
use crate::filter::chain::{self, contains_in_any};
use crate::filter::{Filter, Stats, ask_in_chunks};
use crate::key::{Key, KeyFormat, KeyHash, KeyHasher};
use crate::kind::Kind;
use crate::plan::Geometry;
use crate::plan::{Given, Spec, check_rate};

/// The maximum number of generations.
pub(crate) const MOST_GENERATIONS: u32 = 1024;

/// The clock of a window that does not count keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The ticks for which a key is guaranteed to be found.
    pub(crate) ticks: u64,
    /// When the newest generation began; `None` until the time is first set.
    pub(crate) began: Option<u64>,
}

/// The keys seen recently: the last N keys, or those of the last N ticks of a clock that the caller reads.
///
/// # The guarantee
///
/// A key that was [`Stored`](Inserted::Stored) is found while it is inside the window: until the number of
/// other keys stored, or of ticks passed, reaches the length of the window. It is forgotten after G
/// generations at the latest, each of which is 1/(G - 1) of the window, rounded up to whole keys or ticks. A
/// key that was [`Seen`](Inserted::Seen) is not stored again, so its time still counts from when it was
/// stored; [`insert`](Self::insert) restarts it.
///
/// ```
/// use malkoha::{Generations, Inserted::{Seen, Stored}, Spec};
///
/// // The last 1000 keys, in four generations, with one false "seen" among 1000 new keys.
/// let mut window = Generations::of_keys(&Spec::new(1000, 0.001), 4)?;
/// assert_eq!(window.insert_unique("event 1"), Ok(Stored));
/// assert_eq!(window.insert_unique("event 1"), Ok(Seen));
/// for other in 0..1500u64 {
///     window.insert_unique(&other)?;
/// }
/// assert_eq!(window.insert_unique("event 1"), Ok(Stored), "forgotten by now");
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Generations {
    /// The planned geometry of every generation.
    pub(crate) geometry: Geometry,
    /// Newest first.
    pub(crate) filters: VecDeque<Filter>,
    pub(crate) clock: Option<Clock>,
}

impl Generations {
    /// Creates a window of the last keys, as many as the spec has, in 2 to 1024 generations. Memory and rate
    /// are those of the whole window.
    pub fn of_keys(spec: &Spec, generations: u32) -> Result<Self, Error> {
        Self::new(spec, generations, None)
    }

    /// Creates a window of the last `ticks` ticks, in 2 to 1024 generations, at most one more than there are
    /// ticks. The keys of the spec are the most expected within that many ticks; if more arrive, the window
    /// takes more memory for a while.
    ///
    /// The caller decides what a tick is, and sets the time with each key or by calling
    /// [`advance`](Self::advance).
    ///
    /// ```
    /// use malkoha::{Generations, Inserted::{Seen, Stored}, Spec};
    /// let mut window = Generations::of_ticks(&Spec::new(1000, 0.001), 4, 60)?;
    /// assert_eq!(window.insert_unique_at("event 1", 1_000_000), Ok(Stored));
    /// assert_eq!(window.insert_unique_at("event 1", 1_000_060), Ok(Seen));
    /// assert_eq!(window.insert_unique_at("event 1", 1_000_080), Ok(Stored), "forgotten by now");
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn of_ticks(spec: &Spec, generations: u32, ticks: u64) -> Result<Self, Error> {
        if ticks == 0 {
            return Err(Error::NoTicks);
        }
        // No generation is shorter than a tick: more of them would cost memory and bits for nothing.
        let most = u32::try_from(ticks.saturating_add(1))
            .map_or(MOST_GENERATIONS, |most| most.min(MOST_GENERATIONS));
        if generations > most {
            return Err(Error::Generations { got: generations, most });
        }
        Self::new(spec, generations, Some(Clock { ticks, began: None }))
    }

    fn new(spec: &Spec, generations: u32, clock: Option<Clock>) -> Result<Self, Error> {
        if !(2..=MOST_GENERATIONS).contains(&generations) {
            return Err(Error::Generations { got: generations, most: MOST_GENERATIONS });
        }
        let (count, part) = (u64::from(generations), f64::from(generations));
        // The most keys expected in one generation: with a clock, those of the ticks that it really spans.
        let share = |keys: u64| match clock {
            None => keys.div_ceil(count - 1),
            Some(clock) => scaled(keys, clock.ticks.div_ceil(count - 1), clock.ticks, u128::div_ceil),
        };
        let given = match spec.given {
            Given::Rate(_) if clock.is_none() => return Err(Error::NoKeys),
            Given::Rate(rate) => Given::Rate(check_rate(rate)? / part),
            Given::KeysAndRate(keys, rate) => Given::KeysAndRate(share(keys), check_rate(rate)? / part),
            Given::KeysAndMemory(keys, bytes) => Given::KeysAndMemory(share(keys), bytes / count),
            Given::RateAndMemory(rate, bytes) => {
                Given::RateAndMemory(check_rate(rate)? / part, bytes / count)
            }
        };
        let mut each = spec.growing();
        each.given = given;
        // A table planned for the keys of a generation takes fewer bits than one that may grow to any size.
        let geometry = if each.kind == Kind::Elastic { each.plan() } else { each.plan_chain() };
        let geometry = geometry.map_err(|error| match (error, spec.given) {
            // What the caller gave, and must give, is the memory of all generations.
            (
                Error::Memory { least, .. },
                Given::KeysAndMemory(_, bytes) | Given::RateAndMemory(_, bytes),
            ) => Error::Memory { bytes, least: least.saturating_mul(count) },
            (error, _) => error,
        })?;
        let filters = (0..count).map(|_| Filter::new(geometry));
        Ok(Self { geometry, filters: filters.collect::<Result<_, _>>()?, clock })
    }

    /// Stores a key unless it was seen within the window, and returns which of the two it did. A window that
    /// counts keys begins a new generation whenever the newest is full.
    ///
    /// A window refuses a key only if a burst exhausts the memory of the system or the bits of a hash. Then
    /// nothing changes.
    pub fn insert_unique<K: Key + ?Sized>(&mut self, key: &K) -> Result<Inserted, Full> {
        let hash = key.key_hash(self.filters[0].hasher());
        // The newest generation is searched when the key is stored there.
        if self.filters.iter().skip(1).any(|generation| generation.contains(&hash)) {
            return Ok(Inserted::Seen);
        }
        if self.room() == 0 {
            if self.filters[0].contains(&hash) {
                return Ok(Inserted::Seen);
            }
            self.rotate();
        }
        self.filters[0].insert_unique(&hash)
    }

    /// Sets the time, then stores a key unless it was seen within the window.
    pub fn insert_unique_at<K: Key + ?Sized>(&mut self, key: &K, now: u64) -> Result<Inserted, Full> {
        self.advance(now);
        self.insert_unique(key)
    }

    /// Stores every key of a slice that was not seen within the window; returns the outcome of each key, in order. Once
    /// a key has found no room, the keys after it are only looked up: [`Seen`](Inserted::Seen) or [`Full`].
    ///
    /// ```
    /// use malkoha::{Generations, Inserted::{Seen, Stored}, Spec};
    /// let mut window = Generations::of_keys(&Spec::new(1000, 0.001), 4)?;
    /// assert_eq!(window.insert_unique_slice(&["a", "b", "a"]), [Ok(Stored), Ok(Stored), Ok(Seen)]);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert_unique_slice<K: Key>(&mut self, keys: &[K]) -> Vec<Result<Inserted, Full>> {
        let mut answers = Vec::with_capacity(keys.len());
        let (mut hashes, mut found, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        let (mut rest, mut full) = (keys, false);
        while !rest.is_empty() {
            // While there is room for all keys of a chunk, no generation is forgotten between two of them.
            let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(room.clamp(1, CHUNK).min(rest.len()));
            rest = later;
            if full {
                answers.extend(
                    now.iter().map(|key| if self.contains(key) { Ok(Inserted::Seen) } else { Err(Full) }),
                );
                continue;
            }
            if room == 0 {
                answers.push(self.insert_unique(&now[0]));
                full = answers.last() == Some(&Err(Full));
                continue;
            }
            // A whole chunk is looked up in the older generations; keys not found there go to the newest.
            let hasher = self.filters[0].hasher();
            hashes.clear();
            hashes.extend(now.iter().map(|key| -> KeyHash { key.key_hash(hasher) }));
            found.clear();
            found.resize(now.len(), false);
            contains_in_any(self.filters.iter().skip(1), &hashes, &mut found);
            unknown.clear();
            unknown.extend(hashes.iter().zip(&found).filter(|(_, found)| !**found).map(|(hash, _)| *hash));
            let mut became = self.filters[0].insert_unique_slice(&unknown).into_iter();
            answers.extend(
                found.iter().map(|found| {
                    if *found { Ok(Inserted::Seen) } else { became.next().unwrap_or(Err(Full)) }
                }),
            );
            full = answers[answers.len() - now.len()..].contains(&Err(Full));
        }
        answers
    }

    /// Stores a key, or restarts its time: it is then found for a whole window, even if it was seen before.
    ///
    /// ```
    /// use malkoha::{Generations, Spec};
    /// let mut window = Generations::of_ticks(&Spec::new(1000, 0.001), 4, 60)?;
    /// for now in (0..600).step_by(50) {
    ///     window.advance(now);
    ///     assert!(now == 0 || window.contains("session 7"));
    ///     window.insert("session 7")?;
    /// }
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Full> {
        let hash = key.key_hash(self.filters[0].hasher());
        if self.filters[0].contains(&hash) {
            return Ok(());
        }
        if self.room() == 0 {
            self.rotate();
        }
        self.filters[0].insert_unique(&hash).map(|_| ())
    }

    /// Whether a key may have been stored within the window: `false` is certain.
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let hash = key.key_hash(self.filters[0].hasher());
        self.filters.iter().any(|generation| generation.contains(&hash))
    }

    /// Looks up every key of a slice; returns the answers in order.
    #[must_use]
    pub fn contains_slice<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut answers = vec![false; keys.len()];
        self.contains_slice_into(keys, &mut answers);
        answers
    }

    /// Looks up every key of a slice; writes the answers to a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn contains_slice_into<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        ask_in_chunks(keys, answers, self.filters[0].hasher(), |hashes, answers| {
            contains_in_any(self.filters.iter(), hashes, answers);
        });
    }

    /// The number of keys that the newest generation can take before a window that counts keys rotates.
    fn room(&self) -> u64 {
        if self.clock.is_some() { u64::MAX } else { chain::room(&self.filters[0]) }
    }

    /// Forgets the oldest generation and begins a new one. Windows do this on their own; calling it makes the
    /// window shorter.
    pub fn rotate(&mut self) {
        // The oldest is emptied and becomes the newest, so its memory is reused.
        self.filters.rotate_right(1);
        self.filters[0].clear();
    }

    /// Sets the time, in ticks, of a window that goes by the clock, and forgets what is older than the
    /// window. A time before one already set changes nothing, and neither does any time for a window that
    /// counts keys.
    pub fn advance(&mut self, now: u64) {
        let span = self.ticks_per_generation();
        let Some(clock) = &mut self.clock else { return };
        let began = *clock.began.get_or_insert(now);
        let borders = now.saturating_sub(began) / span;
        clock.began = Some(began + borders * span);
        for _ in 0..borders.min(self.filters.len() as u64) {
            self.rotate();
        }
    }

    /// The ticks of one generation; 1 for windows without a clock.
    fn ticks_per_generation(&self) -> u64 {
        self.clock.map_or(1, |clock| clock.ticks.div_ceil(self.filters.len() as u64 - 1))
    }

    /// Forgets all keys and the time.
    pub fn clear(&mut self) {
        self.filters.iter_mut().for_each(Filter::clear);
        if let Some(clock) = &mut self.clock {
            clock.began = None;
        }
    }

    /// The number of keys that the window is planned for. If it counts keys, that many are guaranteed to be
    /// found.
    #[must_use]
    pub fn keys(&self) -> u64 {
        let keys = self.geometry.keys();
        match self.clock {
            None => keys.saturating_mul(self.filters.len() as u64 - 1),
            Some(clock) => scaled(keys, clock.ticks, self.ticks_per_generation(), |a, b| a / b),
        }
    }

    /// The ticks for which a key is guaranteed to be found; `None` if the window counts keys.
    #[must_use]
    pub fn ticks(&self) -> Option<u64> {
        self.clock.map(|clock| clock.ticks)
    }

    /// The promised rate: the fraction of new keys that may be reported as seen.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.geometry.rate() * self.filters.len() as f64
    }

    /// The declared format of the keys.
    #[must_use]
    pub fn key_format(&self) -> KeyFormat {
        self.geometry.key_format()
    }

    /// The hasher of its keys.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        self.filters[0].hasher()
    }

    /// The generations, newest first.
    #[must_use]
    pub fn generations(&self) -> impl ExactSizeIterator<Item = &Filter> {
        self.filters.iter()
    }

    /// The number of stored keys, including those beyond the window that are not yet forgotten.
    #[must_use]
    pub fn len(&self) -> u64 {
        saturating_sum(self.filters.iter().map(Filter::len))
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns statistics of the window at this moment. The head-room is the number of planned keys that the
    /// newest generation can still take, and the level is full during a burst. Each generation has its own
    /// statistics.
    ///
    /// ```
    /// use malkoha::{Generations, Level, Spec};
    /// let mut window = Generations::of_ticks(&Spec::new(300, 0.01), 4, 60)?;
    /// for key in 0..150u64 {
    ///     window.insert_unique_at(&key, 0)?;
    /// }
    /// let stats = window.stats();
    /// assert_eq!(stats.level, Level::Full, "100 were planned for the first 20 ticks");
    /// assert!(stats.items >= 148 && stats.predicted_rate < 0.01);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        let parts: Vec<_> = self.filters.iter().map(Filter::stats).collect();
        let mut counters = Counters::default();
        self.filters.iter().for_each(|generation| counters.add(generation.counters()));
        let planned = if self.geometry.elastic().is_some() { u64::MAX } else { self.geometry.keys() };
        Stats::of_generations(&parts, counters, planned)
    }
}

/// `number * times / over`, rounded by `divide` and capped at `u64::MAX`.
fn scaled(number: u64, times: u64, over: u64, divide: impl Fn(u128, u128) -> u128) -> u64 {
    let product = u128::from(number) * u128::from(times);
    u64::try_from(divide(product, over.into())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_burst_is_given_back() {
        let mut window = Generations::of_ticks(&Spec::new(300, 0.01), 4, 60).unwrap();
        let planned = window.stats().memory_bytes;
        for key in 0..5000u64 {
            window.insert_unique_at(&key, 0).unwrap();
        }
        assert!(window.stats().memory_bytes > 4 * planned);
        assert!((0..5000u64).all(|key| window.contains(&key)), "a burst loses nothing");
        window.advance(80);
        assert_eq!((window.len(), window.stats().memory_bytes), (0, planned));
    }

    /// Generations span whole ticks: where these do not divide the window evenly, each gets more than its
    /// share of the keys.
    #[test]
    fn windows_are_planned_for_the_ticks_that_generations_have() {
        for (ticks, generations, each) in [(60, 4, 400), (4, 4, 600), (1, 2, 1200), (3, 4, 400), (7, 4, 515)]
        {
            let mut window = Generations::of_ticks(&Spec::new(1200, 0.01), generations, ticks).unwrap();
            assert_eq!(window.geometry.keys(), each, "{ticks} ticks in {generations} generations");
            assert!((1200..1203).contains(&window.keys()), "{}", window.keys());
            let planned = window.stats().memory_bytes;
            // As busy as planned, for many windows: nothing grows, and no more keys are stored than planned.
            for tick in 0..10 * ticks {
                window.advance(tick);
                for key in 0..1200 / ticks {
                    window.insert(&(tick << 32 | key)).unwrap();
                }
                assert!(window.len() <= u64::from(generations) * each);
            }
            assert_eq!(window.stats().memory_bytes, planned, "{ticks} ticks in {generations} generations");
        }
    }

    #[test]
    fn steps_are_counted_per_walk_whichever_generation_it_was_in() {
        let mut window = Generations::of_keys(&Spec::new(3000, 0.01), 4).unwrap();
        for key in 0..3300u64 {
            window.insert(&key).unwrap();
        }
        let counters: Vec<_> = window.filters.iter().map(Filter::counters).collect();
        let walks: u64 = counters.iter().map(|one| one.walks).sum();
        let steps: u64 = counters.iter().map(|one| one.steps).sum();
        assert!(walks > 0 && counters[0].walks < counters[1].walks, "the newest has only begun");
        assert_eq!(window.stats().steps_mean, steps as f64 / walks as f64);
    }

    #[test]
    fn impossible_windows_are_refused() {
        let spec = Spec::new(100, 0.01);
        for got in [0, 1, 1025] {
            assert_eq!(Generations::of_keys(&spec, got), Err(Error::Generations { got, most: 1024 }));
        }
        assert_eq!(Generations::of_ticks(&spec, 4, 0), Err(Error::NoTicks));
        let refused = Generations::of_ticks(&spec, 4, 2);
        assert_eq!(refused, Err(Error::Generations { got: 4, most: 3 }), "a generation has at least a tick");
        assert!(matches!(Generations::of_keys(&Spec::new(100, 2.0), 4), Err(Error::Rate { .. })));
        let classic = spec.kind(crate::Kind::Classic(4));
        assert!(matches!(Generations::of_keys(&classic, 4), Err(Error::Option { .. })));
    }

    #[test]
    fn too_little_memory_is_that_of_the_whole_window() {
        let specs: [fn(u64) -> Spec; 3] = [
            |bytes| Spec::keys_in_memory(1000, bytes),
            |bytes| Spec::rate_in_memory(0.01, bytes),
            |bytes| Spec::rate_in_memory(0.01, bytes).kind(Kind::Elastic),
        ];
        for spec in specs {
            let Err(Error::Memory { bytes: 40, least }) = Generations::of_keys(&spec(40), 5) else {
                panic!("40 bytes are too few, and are what was given");
            };
            let window = Generations::of_keys(&spec(least), 5).unwrap();
            assert!(window.stats().memory_bytes <= least, "{least} bytes are enough");
        }
    }

    #[test]
    fn any_two_of_keys_rate_and_memory_make_a_window() {
        for spec in [Spec::keys_in_memory(1000, 10_000), Spec::rate_in_memory(0.01, 10_000)] {
            let window = Generations::of_keys(&spec, 5).unwrap();
            assert!(
                window.stats().memory_bytes <= 10_000 && window.keys() >= 1000 && window.rate() <= 0.0101
            );
        }
    }
}
