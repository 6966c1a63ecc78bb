//! Charts: curves and points over two axes, several panels per figure, one legend for all.

use crate::axis::Scale;
use crate::drawing::{Anchor, Drawing, GRID, INK};

/// Colours that people with colour blindness can also distinguish.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#999999", "#8c564b",
    "#111111",
];

const PANEL: (f64, f64) = (330.0, 250.0);
/// Space around the axes of a panel: left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (58.0, 34.0, 18.0, 46.0);
const LEGEND_ROW: f64 = 18.0;
const LEGEND_ENTRY: f64 = 230.0;

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// A line with a dot at every point: measured.
    Measured,
    /// The same with a dashed line: measured in a second way.
    Broken,
    /// A line: computed.
    Line,
    /// A dashed line: a limit or a goal.
    Dashed,
    /// Rings: published by others.
    Hollow,
}

/// Points that belong together, and how they are drawn. Curves with the same name and colour in several
/// panels share one entry in the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    name: String,
    colour: usize,
    style: Style,
    points: Vec<(f64, f64)>,
}

impl Curve {
    fn new(name: impl Into<String>, colour: usize, style: Style, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), colour, style, points }
    }

    /// Returns a curve of measured values: a line with dots.
    #[must_use]
    pub fn points(name: impl Into<String>, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, colour, Style::Measured, points)
    }

    /// Returns a curve of values measured in a second way: a dashed line with dots.
    #[must_use]
    pub fn broken(name: impl Into<String>, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, colour, Style::Broken, points)
    }

    /// Returns a curve of computed values: a line.
    #[must_use]
    pub fn line(name: impl Into<String>, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, colour, Style::Line, points)
    }

    /// Returns a limit or a goal: a dashed line.
    #[must_use]
    pub fn dashed(name: impl Into<String>, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, colour, Style::Dashed, points)
    }

    /// Returns published values: rings.
    #[must_use]
    pub fn hollow(name: impl Into<String>, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, colour, Style::Hollow, points)
    }

    fn colour(&self) -> &'static str {
        COLOURS[self.colour % COLOURS.len()]
    }

    fn draw(&self, drawing: &mut Drawing, places: &[(f64, f64)]) {
        match self.style {
            Style::Measured => {
                drawing.curve(places, self.colour(), "");
                for place in places {
                    drawing.dot(*place, self.colour());
                }
            }
            Style::Broken => {
                drawing.curve(places, self.colour(), "6 3");
                for place in places {
                    drawing.dot(*place, self.colour());
                }
            }
            Style::Line => drawing.curve(places, self.colour(), ""),
            Style::Dashed => drawing.curve(places, self.colour(), "5 4"),
            Style::Hollow => {
                for place in places {
                    drawing.ring(*place, self.colour());
                }
            }
        }
    }
}

/// Curves over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    title: String,
    x: Scale,
    y: Scale,
    curves: Vec<Curve>,
}

impl Panel {
    /// Returns a panel without curves.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Scale, y: Scale) -> Self {
        Self { title: title.into(), x, y, curves: Vec::new() }
    }

    /// Adds curves.
    #[must_use]
    pub fn with(mut self, curves: impl IntoIterator<Item = Curve>) -> Self {
        self.curves.extend(curves);
        self
    }

    /// Draws the panel with its upper left corner at a position.
    fn draw(&self, drawing: &mut Drawing, (left, top): (f64, f64)) {
        let (x0, x1) = (left + MARGIN.0, left + PANEL.0 - MARGIN.2);
        let (y0, y1) = (top + PANEL.1 - MARGIN.3, top + MARGIN.1);
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let x = self.x.axis(points().map(|point| point.0), (x0, x1));
        let y = self.y.axis(points().map(|point| point.1), (y0, y1));
        drawing.title((x0, top + 20.0), &self.title);
        for (at, name) in x.marks() {
            drawing.line((at, y0), (at, y1), GRID);
            drawing.text((at, y0 + 16.0), Anchor::Middle, INK, &name);
        }
        for (at, name) in y.marks() {
            drawing.line((x0, at), (x1, at), GRID);
            drawing.text((x0 - 6.0, at + 4.0), Anchor::End, INK, &name);
        }
        drawing.text((f64::midpoint(x0, x1), y0 + 34.0), Anchor::Middle, INK, &self.x.label);
        drawing.upright((left + 14.0, f64::midpoint(y0, y1)), INK, &self.y.label);
        drawing.begin_clip((x0 - 6.0, y1 - 6.0), (x1 + 6.0, y0 + 6.0));
        for curve in &self.curves {
            let shown = curve.points.iter().filter(|point| self.x.shows(point.0) && self.y.shows(point.1));
            let places: Vec<_> = shown.map(|point| (x.at(point.0), y.at(point.1))).collect();
            curve.draw(drawing, &places);
        }
        drawing.end_clip();
    }
}

/// Panels in rows, with a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    panels: Vec<Panel>,
    columns: usize,
}

impl Figure {
    /// Returns a figure with at most three panels per row.
    #[must_use]
    pub fn new(panels: Vec<Panel>) -> Self {
        let columns = panels.len().clamp(1, 3);
        Self { panels, columns }
    }

    /// Sets the number of panels per row.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// Returns each curve of the legend once.
    fn legend(&self) -> Vec<&Curve> {
        let mut legend: Vec<&Curve> = Vec::new();
        for curve in self.panels.iter().flat_map(|panel| &panel.curves) {
            let known = |other: &&Curve| {
                (&other.name, other.colour, other.style) == (&curve.name, curve.colour, curve.style)
            };
            if !legend.iter().any(known) {
                legend.push(curve);
            }
        }
        legend
    }

    /// Draws the figure as SVG.
    #[must_use]
    pub fn draw(&self) -> String {
        let rows = self.panels.len().div_ceil(self.columns);
        let (width, height) = (PANEL.0 * self.columns as f64, PANEL.1 * rows as f64);
        let legend = self.legend();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful")]
        let beside = (width / LEGEND_ENTRY).max(1.0) as usize;
        let legend_height = LEGEND_ROW * legend.len().div_ceil(beside) as f64 + 12.0;
        let mut drawing = Drawing::new(width, height + legend_height);
        for (at, panel) in self.panels.iter().enumerate() {
            let (row, column) = (at / self.columns, at % self.columns);
            panel.draw(&mut drawing, (PANEL.0 * column as f64, PANEL.1 * row as f64));
        }
        for (at, curve) in legend.into_iter().enumerate() {
            let x = MARGIN.0 + (at % beside) as f64 * (width - MARGIN.0) / beside as f64;
            let y = height + LEGEND_ROW * (at / beside) as f64 + 6.0;
            curve.draw(&mut drawing, &[(x, y), (x + 22.0, y)]);
            drawing.text((x + 32.0, y + 4.0), Anchor::Start, INK, &curve.name);
        }
        drawing.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_is_in_the_legend_once() {
        let panel = |title: &str| {
            Panel::new(title, Scale::linear("x"), Scale::logarithmic("y", 10))
                .with([Curve::points("ours", 0, vec![(1.0, 10.0), (2.0, 0.0)])])
                .with([Curve::hollow("theirs", 0, vec![(1.0, 20.0)])])
        };
        let svg = Figure::new(vec![panel("left"), panel("right")]).draw();
        assert_eq!(svg.matches(">ours<").count(), 1);
        assert_eq!(svg.matches(">theirs<").count(), 1);
        assert!(svg.contains(">left<") && svg.contains(">right<"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "what cannot be shown is left out");
    }
}
