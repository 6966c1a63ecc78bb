//! The figure of a run: lookups per second by rate.

use malkoha::Kind;
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::{View, is_loaded, kind, number, one_by_one, slices};

impl View<'_> {
    /// Draws lookups per second by rate. A filter has one colour, no matter how it is queried.
    pub(super) fn figure(&self) -> Figure {
        let shown = || self.filters.iter().copied().filter(|filter| !is_loaded(filter));
        let mut colours: Vec<&str> = shown().map(untyped).collect();
        colours.dedup();
        let curves = |filter: &str| {
            let colour = colours.iter().position(|known| *known == untyped(filter));
            self.curves(filter, colour.unwrap_or(0))
        };
        // A little wider than the rates, or the last mark would be at the edge of the picture.
        let rates = self.rates.iter().map(|rate| number(rate));
        let (least, most) = rates.fold((1.0, 0.0), |(least, most), rate| (rate.min(least), rate.max(most)));
        let rates = Scale::logarithmic("rate of false positives", 10).between(least / 3.0, most * 3.0);
        let panel = |group: Group| {
            let filters = || shown().filter(|filter| Group::of(filter) == group);
            let ways = [one_by_one(), slices()];
            let all = filters().flat_map(|filter| ways.iter().flat_map(move |way| self.points(filter, way)));
            let most = all.map(|point| point.1).fold(1.0, f64::max);
            let speeds = Scale::linear("million lookups per second").between(0.0, 1.05 * most);
            Panel::new(group.title(), rates.clone(), speeds).with(filters().flat_map(curves))
        };
        Figure::new([Group::Deletes, Group::Blocks, Group::Plain].map(panel).into())
    }

    /// Returns the rates and speeds of a filter that is queried in one way.
    fn points(&self, filter: &str, operation: &str) -> Vec<(f64, f64)> {
        let point = |rate: &&str| {
            let row = self.row(filter, rate, operation)?;
            Some((number(rate), row.number("mkeys_per_s")))
        };
        self.rates.iter().filter_map(point).collect()
    }

    fn curves(&self, filter: &str, colour: usize) -> Vec<Curve> {
        let [single, sliced] = [one_by_one(), slices()].map(|operation| self.points(filter, &operation));
        match kind(filter) {
            None => vec![Curve::hollow(filter, colour, single)],
            Some(_) if sliced.is_empty() => vec![Curve::dashed(filter, colour, single)],
            Some(_) => vec![
                Curve::points(format!("{filter}, slices"), colour, sliced),
                Curve::broken(format!("{filter}, one by one"), colour, single),
            ],
        }
    }
}

/// Filters that share a panel. The groups differ so much in speed that one scale would hide most of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Deletes,
    Blocks,
    Plain,
}

impl Group {
    /// Returns the group of a filter.
    fn of(filter: &str) -> Self {
        match kind(filter) {
            Some(Kind::Bloom) => Self::Plain,
            Some(kind) if kind.is_bloom() => Self::Blocks,
            Some(_) => Self::Deletes,
            None if ["cuckoofilter", "qfilter"].contains(&filter) => Self::Deletes,
            None if filter.contains("bloom") => Self::Plain,
            None => Self::Blocks,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Deletes => "With deletes",
            Self::Blocks => "Blocked Bloom and fuse filters",
            Self::Plain => "Plain Bloom filters",
        }
    }
}

/// Returns the name of the same filter as a `Filter`.
fn untyped(filter: &str) -> &str {
    filter.strip_suffix("+typed").unwrap_or(filter)
}
