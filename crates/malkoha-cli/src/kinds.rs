//! What every kind of filter can do, what a lookup costs, and which kind to take.

use std::fmt;

use clap::ValueEnum;
use malkoha::{Geometry, Kind, Layout};

/// The kinds that tables show: one of each, with the slots and choices that are asked for most.
pub(crate) const SHOWN: [Kind; 12] = [
    Kind::Classic(4),
    Kind::SemiSorted,
    Kind::Simplified(4),
    Kind::Flexible(4),
    Kind::Windowed(2),
    Kind::Windowed(3),
    Kind::Windowed(4),
    Kind::Sorted,
    Kind::Bloom,
    Kind::Blocked(1),
    Kind::Blocked(2),
    Kind::Blocked(3),
];

/// What a filter may have to do beside taking and finding keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Need {
    /// Remove keys.
    Delete,
    /// Take any number of keys at the promised rate.
    Grow,
    /// Take more keys than planned without growing, at a rising rate.
    Overfill,
    /// Store a few bits beside every key.
    Values,
}

impl Need {
    pub(crate) const ALL: [Self; 4] = [Self::Delete, Self::Grow, Self::Overfill, Self::Values];

    /// What filters that meet this can do.
    fn verb(self) -> &'static str {
        match self {
            Self::Delete => "delete keys",
            Self::Grow => "grow",
            Self::Overfill => "be overfilled",
            Self::Values => "carry values",
        }
    }

    /// Whether filters of a kind can do this.
    pub(crate) fn met_by(self, kind: Kind) -> bool {
        match self {
            Self::Delete | Self::Values => !kind.is_bloom(),
            Self::Grow => kind.is_signed() || kind.is_bloom(),
            Self::Overfill => kind.is_bloom(),
        }
    }

    /// Whether a filter of a kind can do all of these at once. Filters with values do not grow.
    fn all_met_by(needs: &[Self], kind: Kind) -> bool {
        let growing_values = needs.contains(&Self::Grow) && needs.contains(&Self::Values);
        !growing_values && needs.iter().all(|need| need.met_by(kind))
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Delete => "delete",
            Self::Grow => "grow",
            Self::Overfill => "overfill",
            Self::Values => "values",
        })
    }
}

/// These needs as a phrase behind "can".
pub(crate) fn verbs(needs: &[Need]) -> String {
    needs.iter().map(|need| need.verb()).collect::<Vec<_>>().join(" and ")
}

/// Which of the three follows from the other two, and is to be as good as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    Memory,
    Rate,
    Keys,
}

impl Aim {
    fn best(self) -> &'static str {
        match self {
            Self::Memory => "the fewest bits per key",
            Self::Rate => "the lowest rate",
            Self::Keys => "the most keys",
        }
    }

    /// Less is better.
    fn cost(self, offer: &Geometry) -> f64 {
        match self {
            Self::Memory => offer.bits_per_key(),
            Self::Rate => offer.rate(),
            Self::Keys => -(offer.keys() as f64),
        }
    }
}

/// Which of these filters to take, and why, in one sentence.
pub(crate) fn recommend<'a>(
    offers: &'a [Geometry],
    needs: &[Need],
    aim: Aim,
) -> Option<(&'a Geometry, String)> {
    let fitting = || offers.iter().filter(|offer| Need::all_met_by(needs, offer.kind()));
    if needs.contains(&Need::Overfill) {
        let (choices, why) = if fitting().any(|offer| offer.rate() >= 1.0 / 128.0) {
            (
                1,
                "never full, and one cache line for every lookup; at this rate choices would save little memory",
            )
        } else {
            (2, "never full, the size of a plain Bloom filter, and two cache lines for every lookup")
        };
        let offer = fitting().find(|offer| offer.kind() == Kind::Blocked(choices))?;
        return Some((offer, format!("{}: {why}.", offer.kind())));
    }
    let offer = fitting().min_by(|a, b| aim.cost(a).total_cmp(&aim.cost(b)))?;
    let of = if needs.is_empty() { "all".to_owned() } else { format!("those that can {}", verbs(needs)) };
    Some((offer, format!("{}: {} of {of}.", offer.kind(), aim.best())))
}

/// The cache lines that a lookup of an absent key reads, on average.
///
/// Of cuckoo kinds both places, each of which may lie across the border of a line; of plain Bloom filters
/// bits until one is not set; of blocked ones a line for every choice.
pub(crate) fn lines_per_lookup(geometry: &Geometry) -> f64 {
    match geometry.layout() {
        Layout::Cuckoo(layout) => {
            let slot_bits = layout.slot_bits();
            let slots = f64::from(geometry.kind().slots_per_place());
            let stride = if geometry.kind().is_windowed() { slot_bits } else { slot_bits * slots };
            let lines = |place: u32| {
                let begin = f64::from(place) * stride % LINE_BITS;
                ((begin + slot_bits * slots - 1.0) / LINE_BITS).floor() + 1.0
            };
            2.0 * (0..512).map(lines).sum::<f64>() / 512.0
        }
        Layout::Bloom(layout) => {
            let fill = layout.fill(geometry.keys());
            (1.0 - fill.powf(f64::from(layout.key_bits))) / (1.0 - fill)
        }
        Layout::Blocked(layout) => f64::from(layout.choices),
        _ => f64::NAN,
    }
}

const LINE_BITS: f64 = 512.0;

#[cfg(test)]
mod tests {
    use super::*;
    use malkoha::Spec;

    fn offers(rate: f64) -> Vec<Geometry> {
        SHOWN.map(|kind| Spec::new(1_000_000, rate).kind(kind).plan().unwrap()).to_vec()
    }

    #[test]
    fn what_is_recommended_meets_the_needs() {
        let offers = offers(0.001);
        let kind = |needs: &[Need]| recommend(&offers, needs, Aim::Memory).map(|(offer, _)| offer.kind());
        assert_eq!(kind(&[]), Some(Kind::Sorted));
        assert_eq!(kind(&[Need::Delete]), Some(Kind::Sorted));
        assert_eq!(kind(&[Need::Overfill]), Some(Kind::Blocked(2)));
        assert_eq!(kind(&[Need::Values]), Some(Kind::Sorted));
        assert_eq!(kind(&[Need::Grow, Need::Values]), None);
        assert_eq!(kind(&[Need::Delete, Need::Grow]), Some(Kind::Sorted));
        assert_eq!(kind(&[Need::Delete, Need::Overfill]), None);
    }

    #[test]
    fn what_kinds_are_said_to_do_is_what_the_engine_does() {
        for kind in SHOWN {
            let spec = Spec::new(1000, 0.001).kind(kind);
            assert_eq!(spec.values(4).build().is_ok(), Need::Values.met_by(kind), "{kind}: values");
            assert_eq!(spec.growing().build().is_ok(), Need::Grow.met_by(kind), "{kind}: grow");
            assert!(spec.growing().values(4).build().is_err(), "{kind}: both");
            let mut filter = spec.build().unwrap();
            filter.insert("owl").unwrap();
            assert_eq!(filter.remove("owl").is_ok(), Need::Delete.met_by(kind), "{kind}: delete");
        }
    }

    #[test]
    fn the_lowest_rate_wins_in_a_given_memory() {
        let in_memory =
            SHOWN.map(|kind| Spec::keys_in_memory(1_000_000, 1_600_000).kind(kind).plan().unwrap());
        let (offer, _) = recommend(&in_memory, &[], Aim::Rate).unwrap();
        assert!(in_memory.iter().all(|other| offer.rate() <= other.rate()), "{offer:?}");
    }

    #[test]
    fn lines_of_layouts_that_can_be_counted_by_hand() {
        let plan = |kind, rate| Spec::new(1_000_000, rate).kind(kind).plan().unwrap();
        // Four slots of 16 bits fill a word; eight words fill a line.
        let words = plan(Kind::Flexible(4), 2f64.powi(-13));
        assert_eq!(words.cuckoo().unwrap().slot_bits(), 16.0);
        assert!((lines_per_lookup(&words) - 2.0).abs() < 1e-9);
        // Of 32 windows of two such slots one lies across the border.
        let windows = plan(Kind::Windowed(2), 2f64.powi(-14));
        assert!((lines_per_lookup(&windows) - 2.0 * 33.0 / 32.0).abs() < 1e-9);
        assert_eq!(lines_per_lookup(&plan(Kind::Blocked(3), 0.001)), 3.0);
        let bloom = lines_per_lookup(&plan(Kind::Bloom, 0.001));
        assert!((bloom - 2.0).abs() < 0.01, "half of the bits are set: {bloom}");
    }
}
