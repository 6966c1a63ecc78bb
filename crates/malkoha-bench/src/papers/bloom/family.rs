//! The filters of the paper, sized as the paper does: k bits for each key, and the memory as a multiple of
//! what a plain filter needs, n k / ln 2 bits in blocks of 512.

use std::f64::consts::LOG2_E;
use std::fmt;

use malkoha::bloom::{Blocked, BlockedLayout, Bloom, BloomLayout, Distinct, Random, Spread};
use malkoha::{Cost, KeyHash, KeyHasher, Pattern};

use crate::papers::strangers;
use crate::race::STRANGERS;

/// Bits of a block.
pub(super) const BLOCK: f64 = 512.0;

/// A filter of the family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Member {
    /// Bits anywhere.
    Plain,
    /// Bits in one of this many candidate blocks.
    Blocked(u8, Pattern),
}

/// All of them: those of the paper, then ours.
pub(super) const MEMBERS: [Member; 10] = [
    Member::Plain,
    Member::Blocked(1, Pattern::Random),
    Member::Blocked(1, Pattern::Distinct),
    Member::Blocked(2, Pattern::Random),
    Member::Blocked(2, Pattern::Distinct),
    Member::Blocked(3, Pattern::Random),
    Member::Blocked(3, Pattern::Distinct),
    Member::Blocked(1, Pattern::Spread),
    Member::Blocked(4, Pattern::Random),
    Member::Blocked(4, Pattern::Distinct),
];

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.pad("bloom"),
            Self::Blocked(choices, pattern) => f.pad(&format!("blocked:{choices} {pattern}")),
        }
    }
}

impl Member {
    /// Returns the paper's colours for its filters, and other colours for ours.
    pub(super) fn colour(self) -> usize {
        match self {
            Self::Plain => 7,
            Self::Blocked(1, Pattern::Spread) => 8,
            Self::Blocked(choices, _) => colour_of_choices(choices),
        }
    }

    /// Returns whether its pattern is the paper's distinct one, which figures draw with dashed lines.
    pub(super) fn is_distinct(self) -> bool {
        matches!(self, Self::Blocked(_, Pattern::Distinct))
    }
}

/// Returns the colour of filters with this many choices.
pub(super) fn colour_of_choices(choices: u8) -> usize {
    [7, 2, 1, 5, 6][usize::from(choices)]
}

/// How a filter is sized and filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) keys: u64,
    /// Bits of a key, and the rate 2^-k that a plain filter has at size 1.
    pub(super) k: u32,
    /// The memory as a multiple of a plain filter's.
    pub(super) size: f64,
    pub(super) cost: Cost,
    pub(super) seed: u64,
    /// How many keys that were never stored are looked up; may be zero.
    pub(super) strangers: u64,
}

impl Setting {
    /// Blocks of 512 bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size that fits memory")]
    pub(super) fn blocks(&self) -> u64 {
        (self.keys as f64 * f64::from(self.k) * LOG2_E * self.size / BLOCK).ceil() as u64
    }

    fn plain(&self) -> BloomLayout {
        BloomLayout { bits: self.blocks() * 512, key_bits: self.k }
    }

    /// Returns the layout of a blocked filter. A spread pattern has a multiple of 8 bits: the one with the
    /// lowest predicted rate.
    pub(super) fn blocked(&self, choices: u8, pattern: Pattern) -> BlockedLayout {
        let layout =
            |key_bits| BlockedLayout { blocks: self.blocks(), choices, key_bits, pattern, cost: self.cost };
        if pattern != Pattern::Spread {
            return layout(self.k);
        }
        let all = [8, 16, 24, 32].map(layout).into_iter();
        let rate = |layout: &BlockedLayout| layout.rate(self.keys);
        all.min_by(|a, b| rate(a).total_cmp(&rate(b))).expect("one has the lowest rate")
    }

    /// Returns the predicted rate.
    pub(super) fn predicted_rate(&self, member: Member) -> f64 {
        match member {
            Member::Plain => self.plain().rate(self.keys),
            Member::Blocked(choices, pattern) => self.blocked(choices, pattern).rate(self.keys),
        }
    }

    /// Returns the number of bits that a key sets.
    pub(super) fn key_bits(&self, member: Member) -> u32 {
        match member {
            Member::Plain => self.k,
            Member::Blocked(choices, pattern) => self.blocked(choices, pattern).key_bits,
        }
    }

    fn hashes(&self, numbers: std::ops::Range<u64>) -> impl Iterator<Item = KeyHash> + use<> {
        let hasher = KeyHasher::new(self.seed);
        numbers.map(move |number| hasher.number(number))
    }

    /// Returns the share of strangers that `contains` reports; NaN if there are none.
    fn counted(&self, mut contains: impl FnMut(&[KeyHash], &mut [bool])) -> f64 {
        let hasher = KeyHasher::new(self.seed);
        let mut hashes = Vec::new();
        let hits = strangers::ask_from(STRANGERS, self.strangers, |keys, answers| {
            hashes.clear();
            hashes.extend(keys.iter().map(|key| hasher.number(*key)));
            contains(&hashes, answers);
        });
        hits as f64 / self.strangers as f64
    }

    /// Fills a filter and examines it.
    ///
    /// # Errors
    ///
    /// If there is not enough memory, or a stored key is not found.
    pub(super) fn fill(&self, member: Member) -> Result<Filled, Box<dyn std::error::Error>> {
        macro_rules! blocked {
            ($scatter:ty, $layout:expr) => {{
                let mut filter = Blocked::<$scatter>::new($layout)?;
                self.hashes(0..self.keys).for_each(|hash| filter.insert(hash));
                self.check_keys(|hash| filter.contains(hash))?;
                let counted = self.counted(|hashes, answers| filter.contains_slice(hashes, answers));
                Filled { rate: filter.rate_from_fill(), counted, histogram: filter.histogram() }
            }};
        }
        let Member::Blocked(choices, pattern) = member else {
            let mut filter = Bloom::new(&self.plain())?;
            self.hashes(0..self.keys).for_each(|hash| filter.insert(hash));
            self.check_keys(|hash| filter.contains(hash))?;
            let counted = self.counted(|hashes, answers| {
                answers.iter_mut().zip(hashes).for_each(|(answer, hash)| *answer = filter.contains(*hash));
            });
            return Ok(Filled { rate: filter.fill().rate, counted, histogram: Vec::new() });
        };
        let layout = self.blocked(choices, pattern);
        Ok(match pattern {
            Pattern::Random => blocked!(Random, &layout),
            Pattern::Distinct => blocked!(Distinct, &layout),
            Pattern::Spread => blocked!(Spread, &layout),
            other => unreachable!("there is no exhibit with {other} patterns"),
        })
    }

    /// Checks that no key is lost, by looking up a few thousand.
    fn check_keys(&self, contains: impl Fn(KeyHash) -> bool) -> Result<(), String> {
        if self.hashes(0..self.keys.min(4096)).all(contains) { Ok(()) } else { Err("a key is lost".into()) }
    }
}

/// What is measured of a full filter.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    /// The rate computed from the set bits.
    pub(super) rate: f64,
    /// The share of strangers that were found; NaN if none were looked up.
    pub(super) counted: f64,
    /// How many blocks have 0, 1 to 512 set bits; empty for plain filters.
    pub(super) histogram: Vec<u64>,
}

impl Filled {
    /// Returns the mean and the standard deviation of the number of set bits per block.
    pub(super) fn moments(&self) -> (f64, f64) {
        let blocks = self.histogram.iter().sum::<u64>() as f64;
        let moment = |of: &dyn Fn(f64) -> f64| {
            let weighed = self.histogram.iter().zip(0u32..).map(|(n, set)| *n as f64 * of(f64::from(set)));
            weighed.sum::<f64>() / blocks
        };
        let mean = moment(&|set| set);
        (mean, moment(&|set| (set - mean).powi(2)).sqrt())
    }
}

/// Returns the x at which a series of points, sorted by x, first falls below a height. Points are joined by
/// straight lines.
pub(super) fn crossing(points: &[(f64, f64)], height: f64) -> Option<f64> {
    points.windows(2).find_map(|pair| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        (y0 >= height && y1 <= height && y0 > y1).then(|| x0 + (y0 - height) / (y0 - y1) * (x1 - x0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_filter_of_size_one_is_half_full() {
        let setting =
            Setting { keys: 20_000, k: 8, size: 1.0, cost: Cost::default(), seed: 1, strangers: 1 << 16 };
        let filled = setting.fill(Member::Plain).unwrap();
        assert!((filled.rate * 256.0 - 1.0).abs() < 0.05, "{}", filled.rate);
        assert!((filled.counted * 256.0 - 1.0).abs() < 0.3, "{}", filled.counted);
        let (mean, deviation) = setting.fill(Member::Blocked(1, Pattern::Random)).unwrap().moments();
        assert!((mean - 256.0).abs() < 10.0 && (10.0..40.0).contains(&deviation), "{mean} {deviation}");
    }

    #[test]
    fn crossings_lie_between_points() {
        let points = [(0.9, -9.0), (1.0, -10.0), (1.1, -12.0)];
        assert!((crossing(&points, -11.0).unwrap() - 1.05).abs() < 1e-12);
        assert_eq!(crossing(&points, -13.0), None);
    }
}
