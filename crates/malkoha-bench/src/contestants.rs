//! What is compared: our filters and those of other authors, behind one interface.

use std::error::Error;
use std::str::FromStr;

use clap::ValueEnum;
use malkoha::{Filter, Full, Inserted, Kind, Spec};
use malkoha_bench_peers::{Filling, Offer, Peer};

use crate::access::Access;
use crate::typed;
use crate::wish::{Face, Wish};

/// Bits of a slot, unless a rate is requested. Sizes are counted in slots of this width.
pub(crate) const SLOT_BITS: u64 = 16;

/// The load that peers with a power of two of slots reach.
const PEER_LOAD: f64 = 0.95;

/// The size of a table: the memory that it fits in, or slots of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl Size {
    /// Returns the bytes of a table of this size.
    pub(crate) fn bytes(self) -> u64 {
        self.0 * SLOT_BITS / 8
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let slots = match text {
            "l2" => Some(1 << 18),
            "l3" => Some(1 << 22),
            "dram" => Some(1 << 27),
            _ => match text.strip_prefix("2^") {
                Some(power) => power.parse().ok().and_then(|power| 1u64.checked_shl(power)),
                None => text.parse().ok(),
            },
        };
        slots
            .filter(|slots| (1 << 10..=1 << 40).contains(slots))
            .map(Self)
            .ok_or_else(|| format!("{text:?} is not a size; use l2, l3, dram or slots from 1024, as in 2^27"))
    }
}

/// How keys are passed to a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// One call for each key.
    OneByOne,
    /// A slice at a time.
    Slice,
    /// A slice at a time, storing the keys that are not found: the papers' lookup and insert.
    Unique,
    /// All keys of the filter in one call that makes it.
    Build,
}

/// A filter under measurement.
pub(crate) trait Contestant: Sync {
    /// Stores all keys; an error says how many were stored before one was refused.
    fn insert(&mut self, way: Way, keys: &[u64], threads: usize) -> Result<(), Box<dyn Error>>;
    /// Looks up all keys.
    fn find(&self, way: Way, keys: &[u64], answers: &mut [bool]);
    /// Removes all keys and returns how many were there; `None` if the filter cannot remove.
    fn remove(&mut self, keys: &[u64]) -> Option<usize>;
    /// Bytes of the table.
    fn bytes(&self) -> u64;
}

/// A contestant before it is built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// One of ours, its spec, the keys it is planned for and its bytes.
    Ours { wish: Wish, spec: Spec, keys: u64, bytes: u64 },
    /// A peer, the keys and the rate that it is made for, and its approximate bytes.
    Peer { offer: Offer, keys: u64, rate: f64, bytes: u64 },
}

impl Entry {
    /// Returns one of our filters that fills a size.
    pub(crate) fn ours(wish: Wish, size: Size) -> Result<Self, malkoha::Error> {
        let spec = wish.in_memory(size.bytes());
        let geometry = spec.plan()?;
        Ok(Self::Ours { wish, spec, keys: geometry.keys(), bytes: geometry.bytes() })
    }

    /// Returns a peer with as many keys as would fill this many slots at the load that peers with slots
    /// reach.
    pub(crate) fn peer(offer: Offer, size: Size) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the slots")]
        let keys = (size.0 as f64 * PEER_LOAD) as u64;
        // For peers that can choose a rate: the rate of 16-bit slots in buckets of 4.
        Self::Peer { offer, keys, rate: 2f64.powi(-13), bytes: keys * 20 / 8 }
    }

    /// Returns a peer that fills a size at this rate.
    pub(crate) fn peer_at_rate(offer: Offer, rate: f64, size: Size) -> Self {
        let bytes = size.bytes();
        Self::Peer { offer, keys: (offer.keys)(bytes, rate), rate, bytes }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Ours { wish, .. } => wish.to_string(),
            Self::Peer { offer, .. } => offer.name.to_owned(),
        }
    }

    /// Returns the name without the rate.
    pub(crate) fn name_at_any_rate(&self) -> String {
        match self {
            Self::Ours { wish, .. } => wish.name_at_any_rate(),
            Self::Peer { .. } => self.name(),
        }
    }

    /// Returns the requested rate.
    pub(crate) fn rate(&self) -> f64 {
        match self {
            Self::Ours { wish, .. } => wish.rate(),
            Self::Peer { rate, .. } => *rate,
        }
    }

    /// Returns the number of keys that fill it.
    pub(crate) fn keys(&self) -> u64 {
        match self {
            Self::Ours { keys, .. } | Self::Peer { keys, .. } => *keys,
        }
    }

    /// Returns about how many bytes it will take.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Ours { bytes, .. } | Self::Peer { bytes, .. } => *bytes,
        }
    }

    /// Returns the least memory access that finding one key needs.
    pub(crate) fn find_limit(&self) -> Access {
        match self {
            Self::Peer { offer, .. } if offer.lines == 1 => Access::OneLine,
            Self::Ours { wish, .. } if wish.kind == Kind::Blocked(1) => Access::OneLine,
            _ => Access::TwoLines,
        }
    }

    /// Returns the requested ways in which it can be filled, the fastest last.
    pub(crate) fn insert_ways(&self, asked: &[Way]) -> Vec<Way> {
        match self {
            Self::Ours { wish, .. } if wish.face() == Face::Filter => {
                let all = [Way::OneByOne, Way::Slice, Way::Unique, Way::Build];
                all.into_iter().filter(|way| asked.contains(way)).collect()
            }
            Self::Peer { offer, .. } if offer.filling == Filling::AllAtOnce => vec![Way::Build],
            _ => vec![Way::OneByOne],
        }
    }

    /// Returns whether several threads can fill it together in this way.
    pub(crate) fn builds_in_threads(&self, way: Way) -> bool {
        matches!(self, Self::Ours { .. }) && way == Way::Build
    }

    /// Returns the ways in which it can be queried, the fastest last.
    pub(crate) fn find_ways(&self) -> &'static [Way] {
        match self {
            Self::Ours { wish, .. } if wish.face() == Face::Filter => &[Way::OneByOne, Way::Slice],
            _ => &[Way::OneByOne],
        }
    }

    /// Returns an empty filter.
    pub(crate) fn make(&self) -> Result<Box<dyn Contestant>, Box<dyn Error>> {
        Ok(match self {
            Self::Ours { wish, spec, .. } if wish.face() == Face::Typed => typed::make(&spec.plan()?)?,
            Self::Ours { spec, .. } => Box::new(Ours { spec: *spec, filter: spec.build()? }),
            Self::Peer { offer, keys, rate, .. } => {
                Box::new(Theirs((offer.make)(usize::try_from(*keys)?, *rate)))
            }
        })
    }
}

/// Joins parts, whose entries stay together, into groups that fit in this many GiB with the ruler and the
/// keys.
pub(crate) fn groups(parts: Vec<Vec<Entry>>, size: Size, gibibytes: f64) -> Vec<Vec<Entry>> {
    let fits = |group: &[Entry], part: &[Entry]| {
        let entries = || group.iter().chain(part);
        let tables: u64 = entries().map(Entry::bytes).sum();
        let keys = entries().map(Entry::keys).max().unwrap_or(0);
        (size.bytes() + tables + 8 * keys) as f64 <= gibibytes * f64::from(1 << 30)
    };
    let mut groups: Vec<Vec<Entry>> = Vec::new();
    for part in parts {
        match groups.last_mut() {
            Some(group) if fits(group, &part) => group.extend(part),
            _ => groups.push(part),
        }
    }
    groups
}

/// Stores the keys that the filter does not already report, and returns how many it stored.
pub(crate) fn lookup_and_insert(filter: &mut Filter, keys: &[u64]) -> Result<u64, Full> {
    const CHUNK: usize = 1 << 16;
    let mut stored = 0;
    for chunk in keys.chunks(CHUNK) {
        for answer in filter.insert_unique_slice(chunk) {
            stored += u64::from(answer? == Inserted::Stored);
        }
    }
    Ok(stored)
}

struct Ours {
    spec: Spec,
    filter: Filter,
}

impl Contestant for Ours {
    fn insert(&mut self, way: Way, keys: &[u64], threads: usize) -> Result<(), Box<dyn Error>> {
        match way {
            Way::OneByOne => {
                for key in keys {
                    self.filter.insert(key)?;
                }
            }
            Way::Slice => self.filter.insert_slice(keys)?,
            Way::Unique => lookup_and_insert(&mut self.filter, keys).map(|_| ())?,
            Way::Build => self.filter = self.spec.threads(threads).build_from(keys)?,
        }
        Ok(())
    }

    fn find(&self, way: Way, keys: &[u64], answers: &mut [bool]) {
        if way == Way::OneByOne {
            for (key, answer) in keys.iter().zip(answers) {
                *answer = self.filter.contains(key);
            }
        } else {
            self.filter.contains_slice_into(keys, answers);
        }
    }

    fn remove(&mut self, keys: &[u64]) -> Option<usize> {
        self.filter.remove_slice(keys).ok()
    }

    fn bytes(&self) -> u64 {
        self.filter.stats().memory_bytes
    }
}

struct Theirs(Box<dyn Peer>);

impl Contestant for Theirs {
    fn insert(&mut self, _: Way, keys: &[u64], _: usize) -> Result<(), Box<dyn Error>> {
        Ok(self.0.insert(keys)?)
    }

    fn find(&self, _: Way, keys: &[u64], answers: &mut [bool]) {
        self.0.contains(keys, answers);
    }

    fn remove(&mut self, keys: &[u64]) -> Option<usize> {
        self.0.remove(keys)
    }

    fn bytes(&self) -> u64 {
        self.0.bytes() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wish::Choice;

    #[test]
    fn slots_have_sixteen_bits_unless_a_rate_is_asked_for() {
        for (text, name, bits) in [
            ("flexible:4", "flexible:4@13", 16.0),
            ("windowed:2", "windowed:2@14", 16.0),
            ("windowed:4", "windowed:4@13", 16.0),
            ("sorted", "sorted@14", 16.0),
            ("classic:4", "classic:4@13", 16.0),
            ("semisorted", "semisorted@14", 16.0),
            ("sorted@8+whole", "sorted@8+whole", 10.0),
            ("flexible:4+near", "flexible:4@13+near96", 16.0),
            ("sorted+dense", "sorted@14+dense", 16.0),
            ("flexible:4@13+load0.95+typed", "flexible:4@13+load0.95+typed", 16.0),
            ("flexible:4@1e-3", "flexible:4@1e-3", 13.0),
        ] {
            let Choice::One(wish) = text.parse().unwrap() else { panic!("{text} is one kind") };
            assert_eq!(wish.to_string(), name);
            let Entry::Ours { spec, bytes, .. } = Entry::ours(wish, Size(1 << 16)).unwrap() else {
                panic!("ours is ours")
            };
            let slot_bits = spec.plan().unwrap().cuckoo().unwrap().slot_bits();
            assert!((slot_bits - bits).abs() < 1e-9, "{text} has slots of {slot_bits} bits");
            let share = bytes as f64 / f64::from(1 << 17);
            assert!((0.95..1.01).contains(&share), "{text} fills {share} of the size");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "cuckoo", "sorted@", "sorted@0", "sorted@-3", "sorted+far", "sorted+near999"] {
            assert!(text.parse::<Choice>().is_err(), "{text:?}");
        }
        for text in ["sorted+load", "sorted+near+dense", "bloom+typed", "sorted+", "classic:4+typed"] {
            assert!(text.parse::<Choice>().is_err(), "{text:?}");
        }
        for text in ["", "l1", "2^", "2^99", "5"] {
            assert!(text.parse::<Size>().is_err(), "{text:?}");
        }
        assert_eq!("2^20".parse(), Ok(Size(1 << 20)));
    }

    #[test]
    fn parts_stay_together_and_fit_the_memory() {
        let size = Size(1 << 16);
        let Choice::One(wish) = "sorted".parse().unwrap() else { panic!("sorted is one kind") };
        let part = vec![Entry::ours(wish, size).unwrap(); 2];
        let lengths = |gibibytes: f64| {
            groups(vec![part.clone(); 3], size, gibibytes).iter().map(Vec::len).collect::<Vec<_>>()
        };
        let table = size.bytes() as f64 / f64::from(1 << 30);
        assert_eq!(lengths(1.0), [6]);
        // Four tables, the ruler, and keys of about four times as many bytes as a table.
        assert_eq!(lengths(9.5 * table), [4, 2]);
        assert_eq!(lengths(0.0), [2, 2, 2], "what does not fit is measured all the same");
    }

    #[test]
    fn all_are_each_there_once() {
        let choices = [Choice::All, "sorted".parse().unwrap()];
        assert_eq!(Choice::expand(&choices).len(), Kind::all().count());
    }
}
