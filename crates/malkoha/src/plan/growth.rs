//! How the links of a chain follow from one another.
//!
//! Link number i, counted from 1, gets a share of 2^-(2 floor(log2 i) + 1) of the promised rate: 1/2, twice
//! 1/8, four times 1/32, and so on. The exponents are the lengths of Elias's gamma code. Each row of equal
//! shares adds up to half of the row before, and all of them, however many there will be, add up to the
//! promise. Shares that halve from link to link would also work, but would cost one more bit per key with
//! every doubling; these cost two more bits with every doubling of the *number of links*.

use super::geometry::{Geometry, Layout};
use crate::bloom::{BlockedWish, PlainWish};
use crate::cuckoo::{Offsets, Wish};
use crate::error::Error;

/// What later links of a chain need to know besides the numbers of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    /// The load up to which links are filled; 1 for Bloom kinds.
    pub(crate) load: f64,
    /// How far apart the two places of a key are; not near.
    pub(crate) offsets: Offsets,
}

/// Rows of equal shares. More would only leave links without a rate.
const MOST_ROWS: u32 = 30;

/// The bits by which the rate of a link, counted from 0, is below that of the chain.
pub(crate) const fn rate_bits(link: u32) -> u32 {
    2 * (link + 1).ilog2() + 1
}

/// The share of the promised rate that a link gets.
pub(crate) fn share(link: u32) -> f64 {
    (-f64::from(rate_bits(link))).exp2()
}

/// The share of the promised rate that the first `links` links have together.
pub(crate) fn shares(links: u32) -> f64 {
    (0..links).map(share).sum()
}

/// The number of the link that follows `links` links, which take this part of the promised rate together: the first
/// whose share, with those of all links after it, is still free. Links that were put together, of which only some are
/// left, may have taken the shares of more links than they are. `None` if the promise is used up.
pub(crate) fn next_number(links: u32, part: f64) -> Option<u32> {
    // What the links take is a sum, rounded.
    let part = part * (1.0 - 1e-9);
    (0..MOST_ROWS)
        .find_map(|row| {
            let (first, before) = ((1 << row) - 1, 1.0 - (-f64::from(row)).exp2());
            let taken = ((part - before) / share(first)).ceil().max(0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "links of a row")]
            (taken <= f64::from(1 << row)).then(|| first + taken as u32)
        })
        .map(|number| number.max(links))
}

impl Growth {
    /// The link after `last`, with number `link` counted from 0, for about 2^`doublings` times as many keys,
    /// and at least three quarters of that.
    pub(crate) fn next_link(
        &self,
        chain: &Geometry,
        last: &Geometry,
        link: u32,
        doublings: u32,
    ) -> Result<Geometry, Error> {
        let rate = chain.rate() * share(link);
        let keys = 1u64.checked_shl(doublings).and_then(|times| last.keys().checked_mul(times));
        let keys = keys.ok_or(Error::TooLarge { keys: u64::MAX })?;
        let (keys, layout) = match *last.layout() {
            Layout::Cuckoo(coarse) => {
                let wish = Wish {
                    kind: coarse.kind,
                    keys,
                    load: self.load,
                    offsets: self.offsets,
                    stash: coarse.stash,
                    max_steps: coarse.max_steps,
                    value_bits: coarse.value_bits(),
                    shards: 1,
                };
                let mut bits = rate_bits(link) - rate_bits(link - 1);
                loop {
                    let (most, layout) = wish.refined(&coarse, (doublings, bits), rate)?;
                    // Slightly fewer keys do no harm. Many fewer would mean that fingerprints are too short
                    // for so large a table, above all with one slot per place.
                    if most >= keys / 4 * 3 {
                        break (most, Layout::Cuckoo(layout));
                    }
                    bits += 1;
                }
            }
            Layout::Elastic(_) => return Err(Error::TooLarge { keys }),
            Layout::Bloom(_) => (keys, Layout::Bloom(PlainWish::at_rate(keys, rate)?)),
            Layout::Blocked(last) => {
                let wish = BlockedWish { choices: last.choices, pattern: last.pattern, cost: last.cost };
                (keys, Layout::Blocked(wish.at_rate(keys, rate)?))
            }
        };
        Ok(Geometry::new(keys, rate, chain.seed(), layout).with_key_format(chain.key_format()))
    }

    /// The predicted rate of a chain that has grown to n keys, inserted one at a time.
    pub(crate) fn predicted_rate(&self, chain: &Geometry, mut n: u64) -> f64 {
        let mut link = chain.first_link();
        let mut none = 1.0;
        for number in 1.. {
            let keys = n.min(link.keys());
            none *= 1.0 - link.predicted_rate(keys);
            n -= keys;
            match self.next_link(chain, &link, number, 1) {
                Ok(next) if n > 0 => link = next,
                _ => break,
            }
        }
        1.0 - none
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Spec};

    #[test]
    fn the_shares_of_all_links_add_up_to_less_than_one() {
        assert_eq!((0..8).map(rate_bits).collect::<Vec<_>>(), [1, 3, 3, 5, 5, 5, 5, 7]);
        let mut sum = 0.0;
        for link in 0..100_000 {
            sum += share(link);
            assert!(sum < 1.0);
        }
    }

    #[test]
    fn the_next_link_takes_the_first_share_that_is_free() {
        for links in 1..1000 {
            assert_eq!(next_number(links, shares(links)), Some(links), "none was taken that is not theirs");
            assert_eq!(next_number(1, shares(links)), Some(links), "one link took the shares of many");
            assert_eq!(next_number(1, shares(links) * (1.0 + 1e-6)), Some(links + 1));
        }
        assert_eq!([0.0, 0.5, 0.625, 0.8].map(|part| next_number(1, part)), [1, 1, 2, 5].map(Some));
        assert_eq!(next_number(7, 0.1), Some(7));
        assert_eq!([1.01, 1e300, f64::INFINITY].map(|part| next_number(1, part)), [None; 3]);
    }

    /// Every kind, from one key up, until a hash runs out of bits.
    #[test]
    fn links_double_refine_one_another_and_keep_their_share_of_the_rate() {
        let kinds = Kind::all().filter(|kind| kind.is_signed() || kind.is_bloom());
        for kind in kinds {
            for keys in [1, 7, 1000, 123_456] {
                for rate in [0.3, 0.01, 1e-6] {
                    let chain = Spec::new(keys, rate).kind(kind).plan_chain().unwrap();
                    let growth = chain.growth().unwrap();
                    let mut last = chain.first_link();
                    let mut number = 0;
                    loop {
                        assert!(last.predicted_rate(last.keys()) <= rate * share(number), "{kind} {last:?}");
                        number += 1;
                        let Ok(link) = growth.next_link(&chain, &last, number, 1) else { break };
                        assert!(2 * link.keys() >= 3 * last.keys(), "{kind} {link:?}");
                        if let (Some(fine), Some(coarse)) = (link.cuckoo(), last.cuckoo()) {
                            assert!(fine.pairs().is_multiple_of(coarse.pairs()));
                            assert!(fine.fingerprints <= fine.tag.fingerprints());
                        }
                        last = link;
                    }
                    assert!(last.keys() > 1 << 24, "{kind} at {rate} grows to {} only", last.keys());
                }
            }
        }
    }
}
