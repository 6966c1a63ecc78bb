//! The layouts shown in every table and figure of this paper: its own four, and ours.

use std::error::Error;

use malkoha::{Kind, theory};
use malkoha_figure::Curve;

use crate::record::{Record, Row};
use crate::wish::{Choice, Wish};

/// A kind of filter with its offsets and its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    /// The name in tables and legends: b for buckets, w for windows, and their slots.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The options that differ from the default, as `speed --help` explains them.
    variant: &'static str,
    /// The index in `ALL`, which is also the colour.
    pub(super) colour: usize,
}

const fn layout(colour: usize, name: &'static str, kind: Kind, variant: &'static str) -> Layout {
    Layout { name, kind, variant, colour }
}

/// The paper's four, whose offsets reach the whole table, and ours.
pub(super) const ALL: [Layout; 10] = [
    layout(0, "(b, 2)", Kind::Flexible(2), "+whole"),
    layout(1, "(b, 4)", Kind::Flexible(4), "+whole"),
    layout(2, "(w, 2)", Kind::Windowed(2), "+whole"),
    layout(3, "(w, 4)", Kind::Windowed(4), "+whole"),
    layout(4, "(w, 2) local", Kind::Windowed(2), ""),
    layout(5, "(w, 2) near", Kind::Windowed(2), "+near96"),
    layout(6, "(w, 3) local", Kind::Windowed(3), ""),
    layout(7, "sorted local", Kind::Sorted, ""),
    layout(8, "sorted near", Kind::Sorted, "+near96"),
    layout(9, "sorted dense", Kind::Sorted, "+dense"),
];

/// The paper's.
pub(super) const PAPERS: &[Layout] = ALL.first_chunk::<4>().expect("there are ten").as_slice();

/// Explains the names, for the texts.
pub(super) const LEGEND: &str = "(b, l) are buckets and (w, l) are windows of l slots with offsets over the \
                                 whole table, as in the paper. Our variants: offsets that reach 2^14 places \
                                 (local), offsets of which 96 of 256 stay in the same cache line (near), \
                                 windows of three, sorted buckets of four, and those planned for a higher load \
                                 (dense).";

/// Says where the names are explained, for all texts but the first.
pub(super) const NAMES: &str = "Layout names are explained under Table 1.";

/// Returns the layouts without the one that differs only in its planned load.
pub(super) fn of_any_load() -> impl Iterator<Item = Layout> {
    ALL.into_iter().filter(|layout| layout.variant != "+dense")
}

/// Returns the layout with this name.
pub(super) fn named(name: &str) -> Layout {
    ALL.into_iter().find(|layout| layout.name == name).unwrap_or_else(|| panic!("no layout {name:?}"))
}

impl Layout {
    /// Returns the filter of this layout at rate 2^-k, as text.
    pub(super) fn choice(&self, k: u32) -> String {
        format!("{}@{k}{}", self.kind, self.variant)
    }

    /// Returns the filter of this layout at rate 2^-k.
    pub(super) fn wish(&self, k: u32) -> Result<Wish, Box<dyn Error>> {
        match self.choice(k).parse()? {
            Choice::One(wish) => Ok(wish),
            Choice::All => Err("a layout is one filter".into()),
        }
    }

    /// Returns C, bits per key divided by k, as theory predicts it for large tables.
    pub(super) fn predicted_overhead(&self, k: u32) -> f64 {
        theory::bits_per_key(self.kind, f64::from(k), self.planned_load()) / f64::from(k)
    }

    /// Returns the planned load.
    pub(super) fn planned_load(&self) -> f64 {
        let dense = theory::dense_load(self.kind).filter(|_| self.variant == "+dense");
        dense.unwrap_or_else(|| theory::planned_load(self.kind))
    }

    /// Returns whether the layout is one of the paper's.
    pub(super) fn is_published(&self) -> bool {
        PAPERS.contains(self)
    }

    /// Returns the rows of this layout.
    pub(super) fn rows(self, record: &Record) -> impl Iterator<Item = Row<'_>> {
        record.rows().filter(move |row| row.text("layout") == self.name)
    }

    /// Returns a curve of two columns.
    pub(super) fn curve<'a>(self, rows: impl Iterator<Item = Row<'a>>, x: &str, y: &str) -> Curve {
        Curve::points(self.name, self.colour, rows.map(|row| (row.number(x), row.number(y))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_found_under_its_name_and_can_be_asked_for() {
        for (at, layout) in ALL.into_iter().enumerate() {
            assert_eq!(layout.colour, at);
            assert_eq!(named(layout.name), layout);
            assert_eq!(layout.wish(8).unwrap().to_string(), layout.choice(8));
        }
        assert!(PAPERS.iter().all(Layout::is_published));
        assert_eq!(of_any_load().count(), ALL.len() - 1);
    }
}
