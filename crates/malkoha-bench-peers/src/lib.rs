//! Published filters of other authors behind one small trait.
//!
//! Everything that an adapter does besides calling its crate is to loop over a slice, so that one virtual
//! call serves many keys and the crate's own functions melt into the loop. All crates that let the caller
//! choose the hash are given the same integer mixer (`mixer.rs`), so that comparisons are about tables and
//! not about hashes; `bloomfilter` insists on `SipHash`, which its name here says.

mod bloom;
mod cuckoo;
mod fuse;
mod mixer;
mod quotient;

use std::fmt;

/// A filter of another crate.
pub trait Peer: Send + Sync {
    /// Stores every key, in order, and stops at the first that is refused.
    ///
    /// A filter that is built [`AllAtOnce`](Filling::AllAtOnce) forgets what it held before.
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused>;

    /// Answers for every key into a slice of equal length.
    fn contains(&self, keys: &[u64], answers: &mut [bool]);

    /// Removes one copy of every key and returns how many were there; `None` if the crate cannot remove.
    fn remove(&mut self, keys: &[u64]) -> Option<usize> {
        let _ = keys;
        None
    }

    /// Bytes of the table.
    fn bytes(&self) -> usize;
}

/// A peer did not take a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Keys of the slice that it took before.
    pub done: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer took {} keys and refused the next; give it fewer", self.done)
    }
}

impl std::error::Error for Refused {}

/// How keys come into a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Key by key, at any time.
    OneByOne,
    /// All keys in one call; the filter is static from then on.
    AllAtOnce,
}

/// A peer that can be had: what it is called, and how to make one.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The name of the crate, and what else matters.
    pub name: &'static str,
    /// How keys come into it.
    pub filling: Filling,
    /// The fewest cache lines that it reads to find a stored key: where plain Bloom filters need one for each
    /// of their hashes and binary fuse filters three, this says two, the most that the ruler measures.
    pub lines: usize,
    /// An empty filter for so many keys at this rate, as far as the crate lets one choose the rate.
    pub make: fn(keys: usize, rate: f64) -> Box<dyn Peer>,
}

/// All peers.
#[must_use]
pub fn all() -> Vec<Offer> {
    use Filling::{AllAtOnce, OneByOne};
    let offer = |name, filling, lines, make| Offer { name, filling, lines, make };
    vec![
        offer("cuckoofilter", OneByOne, 2, cuckoo::cuckoofilter),
        offer("qfilter", OneByOne, 1, quotient::qfilter),
        offer("fastbloom", OneByOne, 2, bloom::fastbloom),
        offer("bloomfilter (SipHash)", OneByOne, 2, bloom::bloomfilter),
        offer("sbbf-rs 16 bits", OneByOne, 1, bloom::sbbf),
        offer("xorf fuse8", AllAtOnce, 2, fuse::fuse8),
        offer("xorf fuse16", AllAtOnce, 2, fuse::fuse16),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As full as the quotient filter allows, which is the strictest.
    const KEYS: usize = (1 << 16) * 19 / 20;

    /// Those whose rate the caller chooses. Of 200000 strangers 195 are found at 2^-10, give or take 14.
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
