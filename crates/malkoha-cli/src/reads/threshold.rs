//! How many of its words a record must have in common with a filter, and how many match by chance.

use std::fmt;
use std::str::FromStr;

use crate::units;

/// Parts of a share.
const PARTS: u64 = 1_000_000;

/// The numbers of words for which chances are computed beforehand.
const PREPARED: usize = 2048;

/// How many words of a record must be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// So many.
    Count(u64),
    /// So many millionths of all words, and at least one.
    Share(u64),
}

impl Threshold {
    /// Returns how many of so many words must be found.
    pub(crate) fn of(self, words: u64) -> u64 {
        match self {
            Self::Count(count) => count,
            Self::Share(parts) => (words * parts).div_ceil(PARTS).max(1),
        }
    }

    /// Returns the share, if it is one.
    pub(crate) fn share(self) -> Option<f64> {
        match self {
            Self::Count(_) => None,
            Self::Share(parts) => Some(parts as f64 / PARTS as f64),
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    /// A whole number is a count. A number with a point or a percent sign is a share.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "a whole number from 1 on, or a share above 0 and up to 1, such as 0.25 or 25%".to_owned();
        if !text.contains(['%', '.', '/', '^']) {
            return units::count(text).ok().filter(|count| *count > 0).map(Self::Count).ok_or_else(wrong);
        }
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.parse::<f64>().map_err(|_| wrong())? / 100.0,
            None => text.parse::<f64>().map_err(|_| wrong())?,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a million")]
        let parts = if share > 0.0 && share <= 1.0 { (share * PARTS as f64).round() as u64 } else { 0 };
        if parts > 0 { Ok(Self::Share(parts)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(parts) => write!(f, "{} %", *parts as f64 / 1e4),
        }
    }
}

/// The chance that a record of which the filter holds no word matches all the same.
pub(crate) struct Chances {
    threshold: Threshold,
    rate: f64,
    prepared: Vec<f64>,
}

impl Chances {
    pub(crate) fn new(threshold: Threshold, rate: f64) -> Self {
        let prepared = (0..PREPARED as u64).map(|words| tail(words, threshold.of(words), rate)).collect();
        Self { threshold, rate, prepared }
    }

    /// Returns the chance for a record of so many words.
    pub(crate) fn of(&self, words: u64) -> f64 {
        let prepared = usize::try_from(words).ok().and_then(|words| self.prepared.get(words));
        prepared.copied().unwrap_or_else(|| tail(words, self.threshold.of(words), self.rate))
    }
}

/// The chance of at least `least` hits in so many trials, each of which hits at this rate.
fn tail(trials: u64, least: u64, rate: f64) -> f64 {
    if least > trials || rate <= 0.0 {
        return 0.0;
    }
    if rate >= 1.0 {
        return 1.0;
    }
    let chance = |hits: u64| {
        let choices: f64 = (0..hits).map(|i| ((trials - i) as f64 / (hits - i) as f64).ln()).sum();
        (choices + hits as f64 * rate.ln() + (trials - hits) as f64 * (-rate).ln_1p()).exp()
    };
    // The chances of neighbouring numbers of hits follow from one another, and become small away from the mean.
    let odds = rate / (1.0 - rate);
    if (least as f64) <= trials as f64 * rate {
        let (mut term, mut below) = (chance(least.max(1) - 1), 0.0);
        for hits in (0..least).rev() {
            below += term;
            term *= hits as f64 / (trials - hits + 1) as f64 / odds;
        }
        return (1.0 - below).clamp(0.0, 1.0);
    }
    let (mut term, mut sum) = (chance(least), 0.0);
    for hits in least..=trials {
        sum += term;
        term *= (trials - hits) as f64 / (hits + 1) as f64 * odds;
        if term < sum * 1e-12 {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shares_are_told_apart() {
        let parse = |text: &str| text.parse::<Threshold>();
        assert_eq!(parse("3"), Ok(Threshold::Count(3)));
        assert_eq!(parse("1"), Ok(Threshold::Count(1)));
        for text in ["0.1", "10%", "10.0%", ".1"] {
            assert_eq!(parse(text), Ok(Threshold::Share(100_000)), "{text}");
        }
        assert_eq!(parse("1.0"), Ok(Threshold::Share(PARTS)));
        for text in ["0", "0.0", "1.1", "101%", "-1", "x", "", "%", "NaN%"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("12.5%").unwrap().to_string(), "12.5 %");
    }

    #[test]
    fn shares_are_rounded_up() {
        let share = Threshold::Share(100_000);
        assert_eq!([0, 1, 9, 10, 11, 20, 30, 31].map(|words| share.of(words)), [1, 1, 1, 1, 2, 2, 3, 4]);
        assert_eq!(Threshold::Share(PARTS).of(70), 70);
        assert_eq!(Threshold::Count(5).of(2), 5);
    }

    #[test]
    fn chances_are_binomial() {
        let close =
            |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-9, "{got}, {expected}");
        close(tail(120, 1, 0.001), 1.0 - 0.999f64.powi(120));
        close(tail(3, 2, 0.5), 0.5);
        close(tail(10, 10, 0.1), 1e-10);
        close(tail(100_000, 1, 0.5), 1.0);
        assert_eq!((tail(5, 6, 0.5), tail(0, 1, 0.5)), (0.0, 0.0));
        let chances = Chances::new(Threshold::Count(2), 0.01);
        close(chances.of(3000), tail(3000, 2, 0.01));
    }
}
