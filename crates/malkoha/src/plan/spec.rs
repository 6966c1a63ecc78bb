//! `Spec`: what the caller wants.

use crate::bloom::{self, BlockedWish, Cost, PlainWish};
use crate::cuckoo::{Offsets, Wish};
use crate::elastic::ElasticLayout;
use crate::error::Error;
use crate::key::KeyFormat;
use crate::kind::{Kind, Pattern};
use crate::theory;
use crate::theory::search::most;

use super::geometry::{Geometry, Layout};
use super::growth::{Growth, share};

/// The keys that the first link of a chain has room for, if their number is unknown.
const FIRST_LINK: u64 = 1000;

/// The keys that a growing filter begins with room for, if their number is unknown.
const FIRST_KEYS: u64 = 1;

/// Two of keys, rate and memory; the third follows. Or a rate alone, for any number of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Given {
    Rate(f64),
    KeysAndRate(u64, f64),
    KeysAndMemory(u64, u64),
    RateAndMemory(f64, u64),
}

/// What the caller wants of a filter: two of keys, rate and memory, or a rate alone, and further options.
///
/// ```
/// use malkoha::{Kind, Spec};
///
/// // A million keys, one false positive in a thousand, the kind that serves best.
/// let mut filter = Spec::new(1_000_000, 0.001).build()?;
/// filter.insert("malkoha")?;
/// assert!(filter.contains("malkoha"));
///
/// // What would it cost otherwise? Planning allocates nothing.
/// let windowed = Spec::new(1_000_000, 0.001).kind(Kind::Windowed(2)).plan()?;
/// assert!(windowed.bytes() > filter.geometry().bytes());
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a spec does nothing until it is planned or built"]
pub struct Spec {
    pub(crate) given: Given,
    pub(crate) kind: Kind,
    seed: u64,
    key_format: KeyFormat,
    load: Option<f64>,
    dense: bool,
    offsets: Offsets,
    stash: Option<u32>,
    max_steps: u32,
    pub(crate) threads: usize,
    pub(crate) growing: bool,
    pub(crate) most_keys: Option<u64>,
    pattern: Option<Pattern>,
    cost: Option<Cost>,
    value_bits: Option<u32>,
    /// The number of shards from which a key draws one before it draws its place.
    pub(crate) shards: u32,
}

impl Spec {
    /// The default seed. Filters can only be merged if their seeds and their layouts are equal.
    pub const DEFAULT_SEED: u64 = 0;

    /// The default number of steps that one insert may take before it is refused.
    pub const DEFAULT_MAX_STEPS: u32 = 10_000;

    /// The most steps that an insert can be allowed. A walk records its steps, 32 bytes each, while it lasts.
    pub const MOST_STEPS: u32 = 1_000_000;

    /// The largest possible stash, in keys.
    pub const MOST_STASH: u32 = 1 << 16;

    /// The widest possible values, in bits.
    pub const MOST_VALUE_BITS: u32 = 16;

    /// The default size of the stash, in keys.
    pub const DEFAULT_STASH: u32 = 16;

    /// A filter for `keys` keys with at most this rate of false positives.
    ///
    /// The kind is [`Kind::Sorted`]: the smallest with inserts and deletes at all but the tiniest rates, and
    /// of any size. If fast lookups matter more than 2 % of memory, take [`Kind::Windowed`]`(2)`.
    pub fn new(keys: u64, rate: f64) -> Self {
        Self::with(Given::KeysAndRate(keys, rate))
    }

    /// A filter for any number of keys with at most this rate of false positives. It begins with about 1.4 kB
    /// and [grows](Self::growing), which says for how many keys the rate is promised.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let mut filter = Spec::rate(0.001).build()?;
    /// for key in 0..20_000u64 {
    ///     filter.insert(&key)?;
    /// }
    /// assert!((0..20_000u64).all(|key| filter.contains(&key)));
    /// assert!(filter.stats().predicted_rate <= 0.001);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn rate(rate: f64) -> Self {
        Self { kind: Kind::Elastic, growing: true, ..Self::with(Given::Rate(rate)) }
    }

    /// The filter with the lowest rate that holds `keys` keys in `bytes` bytes.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let geometry = Spec::keys_in_memory(1_000_000, 2_000_000).plan()?;
    /// assert!(geometry.bytes() <= 2_000_000);
    /// assert!(geometry.rate() < 1e-3);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn keys_in_memory(keys: u64, bytes: u64) -> Self {
        Self::with(Given::KeysAndMemory(keys, bytes))
    }

    /// The filter that holds the most keys at this rate in `bytes` bytes.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let geometry = Spec::rate_in_memory(0.001, 2_000_000).plan()?;
    /// assert!(geometry.bytes() <= 2_000_000);
    /// assert!(geometry.keys() > 1_200_000);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn rate_in_memory(rate: f64, bytes: u64) -> Self {
        Self::with(Given::RateAndMemory(rate, bytes))
    }

    fn with(given: Given) -> Self {
        Self {
            given,
            kind: Kind::Sorted,
            seed: Self::DEFAULT_SEED,
            key_format: KeyFormat::Any,
            load: None,
            dense: false,
            offsets: Offsets::default(),
            stash: None,
            max_steps: Self::DEFAULT_MAX_STEPS,
            threads: 1,
            growing: false,
            most_keys: None,
            pattern: None,
            cost: None,
            value_bits: None,
            shards: 1,
        }
    }

    /// Sets the kind of filter.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the seed. If keys may come from an attacker, take one that cannot be guessed:
    /// `spec.seed(KeyHasher::random().seed())`.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Declares the format of the keys, for programs that read the filter from a file and have keys as text or bytes.
    /// Nothing else changes: the filter still takes any [`Key`](crate::Key). The default is [`KeyFormat::Any`], which
    /// declares nothing.
    ///
    /// Filters of different key formats cannot be merged. One that declares nothing can be merged with any
    /// other, and the result has the other's format.
    ///
    /// ```
    /// use malkoha::{KeyFormat, Spec};
    /// let spec = Spec::new(1000, 0.001);
    /// let mut words = spec.key_format(KeyFormat::Kmers { k: 31 }).build()?;
    /// assert!(words.merge(&spec.key_format(KeyFormat::Bytes).build()?).is_err());
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn key_format(mut self, format: KeyFormat) -> Self {
        self.key_format = format;
        self
    }

    /// Sets the load with all planned keys stored. A lower load leaves head-room for more keys and makes
    /// inserts faster. The default is 0.98 of the threshold, the most that is reliable.
    pub fn load(mut self, load: f64) -> Self {
        self.load = Some(load);
        self
    }

    /// Plans for a table as full as it can be: 1 to 1.5 % fewer bits per key, at the price of longer walks
    /// for the last keys ([`theory::dense_load`]; filling a table takes about twice as long). For filters
    /// that are built once and rarely change; only for kinds with signed offsets and more than one slot per
    /// place.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let spec = Spec::new(1_000_000, 2f64.powi(-14));
    /// assert!(spec.dense().plan()?.bits_per_key() < 0.99 * spec.plan()?.bits_per_key());
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn dense(mut self) -> Self {
        self.dense = true;
        self
    }

    /// Sets how far apart the two places of a key are.
    pub fn offsets(mut self, offsets: Offsets) -> Self {
        self.offsets = offsets;
        self
    }

    /// Sets how many keys may be kept outside the table; for [`Kind::Simplified`], from each subtable. The
    /// rate stays the same; lookups also search the stash while it is not empty.
    ///
    /// With the default of 16, a filter takes all planned keys in all but about one build in a million. That is
    /// extrapolated from how rarely builds leave one, two and three keys in the stash (`tests/load.rs`). Without a
    /// stash such builds fail. At rates of 2^-8 and below that is up to one build in ten thousand, and with one slot
    /// per place one in twenty. At a rate of 1/4 it is one in three hundred, and with one slot per place one in three.
    pub fn stash(mut self, keys: u32) -> Self {
        self.stash = Some(keys);
        self
    }

    /// Sets how many steps one insert may take before it is refused.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps;
        self
    }

    /// Sets how many threads [`build_from`](Self::build_from) may use; the default is 1. The filter is the
    /// same for any number of them.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Stores a value of 1 to 16 bits beside every key: [`Filter::insert_value`](crate::Filter::insert_value)
    /// stores it, [`Filter::get`](crate::Filter::get) returns it. Every cuckoo kind can have values, which
    /// cost exactly that many bits per slot; the rate stays the same.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let spec = Spec::new(1_000_000, 0.001);
    /// let slot_bits = |spec: Spec| spec.plan().map(|geometry| geometry.cuckoo().unwrap().slot_bits());
    /// assert_eq!(slot_bits(spec.values(6))?, slot_bits(spec)? + 6.0);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn values(mut self, bits: u32) -> Self {
        self.value_bits = Some(bits);
        self
    }

    /// Makes the filter grow when it has more keys than planned, so that no key is ever refused while the system has
    /// memory. The rate is promised for any number of keys up to [`ElasticLayout::promised_keys`]. That is 10^12 at rates
    /// down to 10^-5, and less at lower ones, which leave fewer bits of a hash: 4.8 x 10^8 at a rate of 10^-9.
    ///
    /// A growing filter has the kind [`Kind::Elastic`], which can remove, carry [values](Self::values), and be merged
    /// with any other of the same seed and values. It grows in small steps, each of one region, and gives memory back
    /// when keys are removed (less of it at rates of 1 % and more). Growth has a price: `docs/DESIGN.md`, "Growth", has
    /// the numbers. At a rate of 0.1 % a key takes about 20 bits, where a filter planned for the right number of keys
    /// takes 12.5. [`most_keys`](Self::most_keys) lowers the price.
    ///
    /// Bloom kinds grow too, by adding larger and larger tables, all of which a lookup searches.
    ///
    /// ```
    /// use malkoha::{Kind, Spec};
    /// let mut filter = Spec::new(1000, 0.001).growing().build()?;
    /// for key in 0..20_000u64 {
    ///     filter.insert(&key)?;
    /// }
    /// assert!((0..20_000u64).all(|key| filter.contains(&key)));
    /// assert!(filter.remove(&7u64)?);
    /// assert_eq!(filter.geometry().kind(), Kind::Elastic);
    /// assert!(filter.stats().predicted_rate <= 0.001);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    ///
    /// [`ElasticLayout::promised_keys`]: crate::ElasticLayout::promised_keys
    pub fn growing(mut self) -> Self {
        self.growing = true;
        self
    }

    /// Makes the filter [grow](Self::growing), with a rate that is promised for at most this many keys. It takes more,
    /// at a higher rate. Fingerprints can then be shorter. If hashes have too few bits for the rate and so many keys, the
    /// promise ends earlier: [`ElasticLayout::promised_keys`] says where. Bloom kinds that grow keep their rate for any
    /// number of keys, and ignore this one.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let bits = |spec: Spec| spec.plan().map(|geometry| geometry.elastic().unwrap().fingerprint_bits(8));
    /// assert!(bits(Spec::rate(0.001).most_keys(1_000_000))? < bits(Spec::rate(0.001))?);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    ///
    /// [`ElasticLayout::promised_keys`]: crate::ElasticLayout::promised_keys
    pub fn most_keys(mut self, keys: u64) -> Self {
        self.most_keys = Some(keys);
        self.growing()
    }

    /// Sets how the bits of a key are distributed in its block, for [`Kind::Blocked`]. The default is random.
    ///
    /// ```
    /// use malkoha::{Kind, Pattern, Spec};
    /// let spec = Spec::new(1_000_000, 0.001).kind(Kind::Blocked(3));
    /// let distinct = spec.pattern(Pattern::Distinct).plan()?;
    /// assert!(distinct.bytes() < spec.plan()?.bytes());
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn pattern(mut self, pattern: Pattern) -> Self {
        self.pattern = Some(pattern);
        self
    }

    /// Sets what decides between the candidate blocks of a key, for [`Kind::Blocked`] with more than one
    /// choice.
    pub fn cost(mut self, cost: Cost) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Computes the exact numbers that follow, without allocating anything.
    pub fn plan(&self) -> Result<Geometry, Error> {
        self.kind.check()?;
        check_format(self.key_format)?;
        if self.growing || self.kind == Kind::Elastic {
            return if self.kind.is_bloom() { self.plan_chain() } else { self.plan_elastic() };
        }
        if self.kind.is_bloom() {
            return self.plan_bloom();
        }
        let wish = self.wish()?;
        let (keys, rate, layout) = match self.given {
            Given::KeysAndRate(keys, rate) => (keys, check_rate(rate)?, wish(keys)?.at_rate(rate)?),
            Given::KeysAndMemory(keys, bytes) => {
                let wish = wish(keys)?;
                let layout = wish.in_memory(bytes)?;
                (keys, wish.rate(&layout), layout)
            }
            Given::Rate(_) => return Err(Error::NoKeys),
            Given::RateAndMemory(rate, bytes) => {
                check_rate(rate)?;
                let fits =
                    |keys| wish(keys).and_then(|wish| wish.at_rate(rate)).ok().filter(|l| l.bytes() <= bytes);
                let keys = most(|keys| fits(keys).is_some());
                let Some(layout) = fits(keys) else {
                    return Err(Error::Memory { bytes, least: wish(1)?.at_rate(rate)?.bytes() });
                };
                (keys, rate, layout)
            }
        };
        Ok(self.geometry(keys, rate, Layout::Cuckoo(layout)))
    }

    /// The geometry with these numbers.
    fn geometry(&self, keys: u64, rate: f64, layout: Layout) -> Geometry {
        Geometry::new(keys, rate, self.seed, layout).with_key_format(self.key_format)
    }

    /// The geometry that a growing filter of a cuckoo kind begins with.
    fn plan_elastic(&self) -> Result<Geometry, Error> {
        let refuse = |what| Err(Error::Option { kind: self.kind, what });
        if !matches!(self.kind, Kind::Sorted | Kind::Elastic) {
            return refuse("growing filters have a kind of their own, elastic; do not set another");
        }
        if self.load.is_some() || self.dense || self.offsets != Offsets::default() {
            return refuse("growing filters choose their load and their offsets");
        }
        if self.stash.is_some() || self.max_steps != Self::DEFAULT_MAX_STEPS {
            return refuse(
                "growing filters always have room; they have no stash, and walks of a fixed length",
            );
        }
        if self.pattern.is_some() || self.cost.is_some() {
            return refuse("only blocked Bloom filters have patterns and costs");
        }
        let value_bits = self.checked_value_bits()?;
        let layout = |rate, keys| {
            ElasticLayout::in_shards(self.shards, check_rate(rate)?, keys, self.most_keys, value_bits)
        };
        let (keys, rate, layout) = match self.given {
            Given::Rate(rate) => (FIRST_KEYS, rate, layout(rate, FIRST_KEYS)?),
            Given::KeysAndRate(0, _) => return Err(Error::NoKeys),
            Given::KeysAndRate(keys, rate) => (keys, rate, layout(rate, keys)?),
            Given::KeysAndMemory(..) => {
                return refuse("the memory of a growing filter is not fixed; give it a rate");
            }
            Given::RateAndMemory(rate, bytes) => {
                let fits = |keys| layout(rate, keys).ok().filter(|layout| layout.first_bytes() <= bytes);
                let keys = most(|keys| fits(keys).is_some());
                let Some(layout) = fits(keys) else {
                    return Err(Error::Memory { bytes, least: layout(rate, FIRST_KEYS)?.first_bytes() });
                };
                (keys, rate, layout)
            }
        };
        Ok(self.geometry(keys, rate, Layout::Elastic(layout)))
    }

    /// The bits of values, which must be possible.
    fn checked_value_bits(&self) -> Result<u32, Error> {
        match self.value_bits {
            None => Ok(0),
            Some(bits @ 1..=Self::MOST_VALUE_BITS) => Ok(bits),
            Some(got) => Err(Error::ValueBits { got }),
        }
    }

    /// The geometry that a chain of tables begins with.
    pub(crate) fn plan_chain(&self) -> Result<Geometry, Error> {
        let refuse = |what| Err(Error::Option { kind: self.kind, what });
        if !self.kind.is_signed() && !self.kind.is_bloom() {
            return refuse(
                "only flexible, windowed, sorted and Bloom filters make a chain without losing keys",
            );
        }
        if matches!(self.offsets, Offsets::Near(_)) {
            return refuse(
                "near offsets depend on the width of tags, which grows; ask for local or whole ones",
            );
        }
        if self.value_bits.is_some() {
            return refuse("only a growing filter of the kind elastic has values");
        }
        let part = |rate| check_rate(rate).map(|rate| rate * share(0));
        let given = match self.given {
            Given::Rate(rate) => Given::KeysAndRate(FIRST_LINK, part(rate)?),
            Given::KeysAndRate(keys, rate) => Given::KeysAndRate(keys, part(rate)?),
            Given::KeysAndMemory(..) => self.given,
            Given::RateAndMemory(rate, bytes) => Given::RateAndMemory(part(rate)?, bytes),
        };
        let first = Self { given, growing: false, ..*self }.plan()?;
        let load = if self.kind.is_bloom() { 1.0 } else { self.wish()?(first.keys())?.load };
        let geometry = first.growing(Growth { load, offsets: self.offsets });
        check_rate(geometry.rate()).map(|_| geometry)
    }

    /// Plans a filter of the Bloom family.
    fn plan_bloom(&self) -> Result<Geometry, Error> {
        self.check_bloom_options()?;
        let (keys, rate, layout) = if self.kind == Kind::Bloom {
            self.plan_plain()?
        } else {
            self.plan_blocked(bloom::wish(self.kind, self.pattern, self.cost)?)?
        };
        if keys > bloom::MOST_BLOOM_KEYS {
            return Err(Error::TooLarge { keys });
        }
        Ok(self.geometry(keys, rate, layout))
    }

    fn plan_plain(&self) -> Result<(u64, f64, Layout), Error> {
        Ok(match self.given {
            Given::Rate(_) => return Err(Error::NoKeys),
            Given::KeysAndRate(keys, rate) => {
                (keys, check_rate(rate)?, Layout::Bloom(PlainWish::at_rate(keys, rate)?))
            }
            Given::KeysAndMemory(keys, bytes) => {
                let layout = PlainWish::in_memory(keys, bytes)?;
                (keys, layout.rate(keys), Layout::Bloom(layout))
            }
            Given::RateAndMemory(rate, bytes) => {
                check_rate(rate)?;
                let fits =
                    |keys| PlainWish::at_rate(keys, rate).ok().filter(|layout| layout.bytes() <= bytes);
                let keys = most(|keys| fits(keys).is_some());
                let Some(layout) = fits(keys) else {
                    return Err(Error::Memory { bytes, least: PlainWish::at_rate(1, rate)?.bytes() });
                };
                (keys, rate, Layout::Bloom(layout))
            }
        })
    }

    fn plan_blocked(&self, wish: BlockedWish) -> Result<(u64, f64, Layout), Error> {
        Ok(match self.given {
            Given::Rate(_) => return Err(Error::NoKeys),
            Given::KeysAndRate(keys, rate) => {
                (keys, check_rate(rate)?, Layout::Blocked(wish.at_rate(keys, rate)?))
            }
            Given::KeysAndMemory(keys, bytes) => {
                let layout = wish.in_memory(keys, bytes)?;
                (keys, BlockedWish::promise(&layout, keys), Layout::Blocked(layout))
            }
            Given::RateAndMemory(rate, bytes) => {
                let (keys, layout) = wish.most_keys(check_rate(rate)?, bytes)?;
                (keys, rate, Layout::Blocked(layout))
            }
        })
    }

    /// Refuses options that only cuckoo kinds have.
    fn check_bloom_options(&self) -> Result<(), Error> {
        let refuse = |what| Err(Error::Option { kind: self.kind, what });
        if self.load.is_some() || self.dense {
            return refuse("Bloom filters have no load to plan; ask for more keys to leave head-room");
        }
        if self.offsets != Offsets::default() {
            return refuse("only signed offsets have a reach to choose");
        }
        if self.stash.is_some() || self.max_steps != Self::DEFAULT_MAX_STEPS {
            return refuse("every insert succeeds at once; there is no stash and no walk");
        }
        if self.value_bits.is_some() {
            return refuse("Bloom filters have no slots for values; take a cuckoo kind, such as sorted");
        }
        if self.kind == Kind::Bloom && (self.pattern.is_some() || self.cost.is_some()) {
            return refuse("only blocked filters have patterns and costs");
        }
        Ok(())
    }

    /// The wish for a table, given a number of keys.
    fn wish(&self) -> Result<impl Fn(u64) -> Result<Wish, Error> + use<>, Error> {
        let most = match (self.dense, theory::dense_load(self.kind)) {
            (false, _) => theory::planned_load(self.kind),
            (true, Some(load)) => load,
            (true, None) => {
                let what = "only flexible, windowed and sorted filters of two or more slots can be dense";
                return Err(Error::Option { kind: self.kind, what });
            }
        };
        let load = self.load.unwrap_or(most);
        if !(load > 0.0 && load <= most) {
            return Err(Error::Load { got: load, most });
        }
        if self.offsets != Offsets::Local && !self.kind.is_signed() {
            return Err(Error::Option {
                kind: self.kind,
                what: "only signed offsets have a reach to choose",
            });
        }
        if self.pattern.is_some() || self.cost.is_some() {
            return Err(Error::Option {
                kind: self.kind,
                what: "only blocked Bloom filters have patterns and costs",
            });
        }
        if matches!(self.offsets, Offsets::Near(share) if share > Offsets::MOST_NEAR) {
            return Err(Error::Option {
                kind: self.kind,
                what: "more than 192 near offsets in 256 leave keys without a place; ask for fewer",
            });
        }
        let refuse = |what| Err(Error::Option { kind: self.kind, what });
        if !(1..=Self::MOST_STEPS).contains(&self.max_steps) {
            return refuse("an insert takes 1 to 1,000,000 steps");
        }
        let stash = self.stash.unwrap_or(Self::DEFAULT_STASH);
        if stash > Self::MOST_STASH {
            return refuse("a stash takes at most 65,536 keys; build a larger filter instead");
        }
        let value_bits = self.checked_value_bits()?;
        let Self { kind, offsets, max_steps, shards, .. } = *self;
        Ok(move |keys| match keys {
            0 => Err(Error::NoKeys),
            keys => Ok(Wish { kind, keys, load, offsets, stash, max_steps, value_bits, shards }),
        })
    }
}

pub(crate) fn check_rate(rate: f64) -> Result<f64, Error> {
    if rate > 0.0 && rate < 1.0 { Ok(rate) } else { Err(Error::Rate { got: rate }) }
}
/// Refuses formats of keys that cannot exist.
fn check_format(format: KeyFormat) -> Result<(), Error> {
    let (k, most, window) = match format {
        KeyFormat::Kmers { k } => (k, KeyFormat::MOST_K, 1),
        KeyFormat::Minimizers { k, w } => (k, KeyFormat::MOST_MINIMIZER_K, w),
        KeyFormat::Any | KeyFormat::Bytes | KeyFormat::U64 => return Ok(()),
    };
    if k == 0 || k > most {
        return Err(Error::WordLength { got: k, most });
    }
    if window == 0 || window > KeyFormat::MOST_WINDOW {
        return Err(Error::Window { got: window, most: KeyFormat::MOST_WINDOW });
    }
    Ok(())
}
