//! Published filters by other authors behind one small trait.
//!
//! An adapter only loops over a slice and calls its crate, so that one virtual call handles many keys and the
//! crate's own functions are inlined into the loop. All crates that let the caller choose the hash get the
//! same integer mixer (`mixer.rs`), so that comparisons are about tables and not about hashes; `bloomfilter`
//! insists on `SipHash`, as its name here shows.
//!
//! None of these crates can look up a slice of keys in one call, so peers are queried in one way only: one
//! key after the other.

mod bloom;
mod cuckoo;
mod fuse;
mod mixer;
mod quotient;

use std::fmt;

/// A filter of another crate.
pub trait Peer: Send + Sync {
    /// Stores every key, in order, and stops at the first refused key.
    ///
    /// A filter that is built [`AllAtOnce`](Filling::AllAtOnce) forgets what it held before.
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused>;

    /// Looks up every key and writes the answers to a slice of equal length.
    fn contains(&self, keys: &[u64], answers: &mut [bool]);

    /// Removes one copy of every key and returns how many were there; `None` if the crate cannot remove.
    fn remove(&mut self, keys: &[u64]) -> Option<usize> {
        let _ = keys;
        None
    }

    /// Bytes of the table.
    fn bytes(&self) -> usize;
}

/// A peer refused a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Keys of the slice that it stored before.
    pub done: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer stored {} keys and refused the next; give it fewer", self.done)
    }
}

impl std::error::Error for Refused {}

/// How keys get into a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Key by key, at any time.
    OneByOne,
    /// All keys in one call; the filter is static from then on.
    AllAtOnce,
}

/// Which rates can be requested from a crate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rates {
    /// Any rate.
    Any,
    /// Rates down to this one; below it, the crate would take several times the bits of others.
    DownTo(f64),
    /// No choice: its fingerprints or bits per key give about this rate.
    Only(f64),
}

/// An available peer: its name, and how to make one.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The name of the crate, and relevant parameters.
    pub name: &'static str,
    /// How keys get into it.
    pub filling: Filling,
    /// The fewest cache lines that it reads to find a stored key. Plain Bloom filters need one for each of
    /// their hashes, and binary fuse filters three; this is two for them, the most that the ruler measures.
    pub lines: usize,
    /// Which rates can be requested.
    pub rates: Rates,
    /// The keys that fill this many bytes at this rate. If the number of slots is a power of two, these are
    /// the keys of the power whose bytes are nearest.
    pub keys: fn(bytes: u64, rate: f64) -> u64,
    /// Makes an empty filter for this many keys at this rate, as far as the crate lets the caller choose the
    /// rate.
    pub make: fn(keys: usize, rate: f64) -> Box<dyn Peer>,
}

impl Offer {
    /// Returns the rates under which it is listed: all that can be requested, or, if it has only one, the
    /// lowest that it meets.
    #[must_use]
    pub fn rates_among(&self, rates: &[f64]) -> Vec<f64> {
        match self.rates {
            Rates::Any => rates.to_vec(),
            Rates::DownTo(least) => rates.iter().copied().filter(|rate| *rate >= least).collect(),
            Rates::Only(own) => {
                rates.iter().copied().filter(|rate| *rate >= own).min_by(f64::total_cmp).into_iter().collect()
            }
        }
    }
}

/// Returns all peers, each with one choice of parameters.
#[must_use]
pub fn all() -> Vec<Offer> {
    let mut offers = at_rates();
    for offer in &mut offers {
        if offer.name == "sbbf-rs" {
            *offer = Offer {
                name: "sbbf-rs 16 bits",
                rates: Rates::Only(0.0014),
                keys: bloom::sbbf_16_keys,
                make: bloom::sbbf_16,
                ..*offer
            };
        }
    }
    offers
}

/// Returns all peers, with parameters that depend on the rate as far as the crates allow.
#[must_use]
pub fn at_rates() -> Vec<Offer> {
    use Filling::{AllAtOnce, OneByOne};
    use Rates::{Any, DownTo, Only};
    vec![
        Offer {
            name: "cuckoofilter",
            filling: OneByOne,
            lines: 2,
            rates: Only(0.031),
            keys: cuckoo::keys,
            make: cuckoo::cuckoofilter,
        },
        Offer {
            name: "qfilter",
            filling: OneByOne,
            lines: 1,
            rates: Any,
            keys: quotient::keys,
            make: quotient::qfilter,
        },
        Offer {
            name: "fastbloom",
            filling: OneByOne,
            lines: 2,
            rates: Any,
            keys: bloom::plain_keys,
            make: bloom::fastbloom,
        },
        Offer {
            name: "bloomfilter (SipHash)",
            filling: OneByOne,
            lines: 2,
            rates: Any,
            keys: bloom::plain_keys,
            make: bloom::bloomfilter,
        },
        Offer {
            name: "sbbf-rs",
            filling: OneByOne,
            lines: 1,
            rates: DownTo(1e-6),
            keys: bloom::sbbf_keys,
            make: bloom::sbbf,
        },
        Offer {
            name: "xorf fuse8",
            filling: AllAtOnce,
            lines: 2,
            rates: Only(2f64.powi(-8)),
            keys: fuse::keys::<1>,
            make: fuse::fuse8,
        },
        Offer {
            name: "xorf fuse16",
            filling: AllAtOnce,
            lines: 2,
            rates: Only(2f64.powi(-16)),
            keys: fuse::keys::<2>,
            make: fuse::fuse16,
        },
    ]
}

/// Converts a count that was computed as a floating-point number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "keys of tables in memory")]
fn whole(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As full as the quotient filter, the strictest, allows.
    const KEYS: usize = (1 << 16) * 19 / 20;

    /// The peers whose rate the caller chooses. At 2^-10, 195 of 200000 strangers are found, give or take 14.
    const TAKE_A_RATE: [&str; 3] = ["qfilter", "fastbloom", "bloomfilter (SipHash)"];

    #[test]
    fn every_peer_finds_what_it_stored_and_little_else() {
        let keys: Vec<u64> = (0..KEYS as u64).collect();
        let strangers: Vec<u64> = (1 << 40..(1 << 40) + 200_000).collect();
        for offer in all() {
            let mut peer = (offer.make)(KEYS, 2f64.powi(-10));
            peer.insert(&keys).unwrap();
            assert_eq!(hits(&*peer, &keys), KEYS, "{} lost a key", offer.name);
            let rate = hits(&*peer, &strangers) as f64 / strangers.len() as f64;
            let most = if TAKE_A_RATE.contains(&offer.name) { 1.4 * 2f64.powi(-10) } else { 0.04 };
            assert!(rate < most, "{} has a rate of {rate}", offer.name);
            let bits_per_key = peer.bytes() as f64 * 8.0 / KEYS as f64;
            assert!((8.0..25.0).contains(&bits_per_key), "{} takes {bits_per_key} bits", offer.name);
        }
    }

    #[test]
    fn the_rate_that_is_asked_for_is_kept_in_about_the_bytes_that_are_given() {
        const BYTES: u64 = 1 << 18;
        let strangers: Vec<u64> = (1 << 40..(1 << 40) + 1_000_000).collect();
        for offer in at_rates() {
            let rates = offer.rates_among(&[0.1, 0.05, 0.01, 0.001, 1e-4, 1e-6, 1e-9]);
            assert!(!rates.is_empty(), "{} stands nowhere", offer.name);
            for rate in rates {
                let keys: Vec<u64> = (0..(offer.keys)(BYTES, rate)).collect();
                let mut peer = (offer.make)(keys.len(), rate);
                peer.insert(&keys).unwrap();
                let share = peer.bytes() as f64 / BYTES as f64;
                let powers = offer.name == "qfilter";
                let range = if powers { 0.7..1.45 } else { 0.95..1.05 };
                assert!(range.contains(&share), "{} at {rate} has {share} of the bytes", offer.name);
                let measured = hits(&*peer, &strangers) as f64 / strangers.len() as f64;
                assert!(measured <= 1.1 * rate + 3e-6, "{} at {rate}: {measured}", offer.name);
            }
        }
    }

    #[test]
    fn those_with_one_rate_stand_under_the_lowest_that_it_meets() {
        let among = |name: &str, rates: &[f64]| {
            at_rates().into_iter().find(|offer| offer.name == name).unwrap().rates_among(rates)
        };
        assert_eq!(among("cuckoofilter", &[0.1, 0.05, 0.01]), [0.05]);
        assert_eq!(among("xorf fuse16", &[0.1, 1e-4, 1e-6]), [1e-4]);
        assert_eq!(among("sbbf-rs", &[0.1, 1e-6, 1e-9]), [0.1, 1e-6]);
        assert!(among("cuckoofilter", &[0.001]).is_empty());
    }

    #[test]
    fn those_that_remove_are_empty_afterwards() {
        let keys: Vec<u64> = (0..900).collect();
        let mut removing = Vec::new();
        for offer in all() {
            let mut peer = (offer.make)(900, 2f64.powi(-10));
            peer.insert(&keys).unwrap();
            if let Some(removed) = peer.remove(&keys) {
                assert_eq!(removed, keys.len(), "{}", offer.name);
                assert_eq!(hits(&*peer, &keys), 0, "{}", offer.name);
                removing.push(offer.name);
            }
        }
        assert_eq!(removing, ["cuckoofilter", "qfilter"]);
    }

    fn hits(peer: &dyn Peer, keys: &[u64]) -> usize {
        let mut answers = vec![false; keys.len()];
        peer.contains(keys, &mut answers);
        answers.into_iter().filter(|found| *found).count()
    }
}
