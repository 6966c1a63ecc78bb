//! Figures as SVG: shapes and axes, and the figures of `plan` and `demo`.

pub(crate) mod demo;
pub(crate) mod plan;

use std::fmt::Write;

/// The colour of axes and words.
const INK: &str = "#333";
/// The colour of the lines behind.
const GRID: &str = "#e4e4e4";

/// Where the ends of a text lie relative to its place.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG picture in the making.
#[derive(Clone, Debug)]
struct Drawing {
    width: f64,
    height: f64,
    body: String,
}

impl Drawing {
    fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("writing to a string succeeds");
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.push(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}"/>"#
        ));
    }

    /// A line through points; `dash` is an SVG dash pattern, empty for none.
    fn curve(&mut self, points: &[(f64, f64)], colour: &str, dash: &str) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        self.push(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>"#,
            points.join(" ")
        ));
    }

    fn bar(&mut self, (x, y): (f64, f64), width: f64, height: f64, colour: &str) {
        self.push(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
        ));
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, colour: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{text}</text>"#
        ));
    }

    fn title(&mut self, at: (f64, f64), text: &str) {
        self.push(format_args!(r#"<g font-weight="bold">"#));
        self.text(at, Anchor::Start, INK, text);
        self.push(format_args!("</g>"));
    }

    fn finish(self) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }
}

/// A range of values laid onto a range of the picture.
#[derive(Clone, Copy, Debug)]
struct Axis {
    values: (f64, f64),
    pixels: (f64, f64),
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let share = (value - self.values.0) / (self.values.1 - self.values.0);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }
}

/// Moves heights apart, in order, until neighbours are at least `gap` from each other.
fn spread(heights: &mut [f64], gap: f64) {
    for at in 1..heights.len() {
        heights[at] = heights[at].max(heights[at - 1] + gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_find_their_pixels() {
        let axis = Axis { values: (10.0, 20.0), pixels: (300.0, 100.0) };
        assert_eq!([10.0, 15.0, 20.0].map(|value| axis.at(value)), [300.0, 200.0, 100.0]);
    }

    #[test]
    fn labels_are_moved_apart_and_text_is_escaped() {
        let mut heights = [10.0, 12.0, 40.0];
        spread(&mut heights, 14.0);
        assert_eq!(heights, [10.0, 24.0, 40.0]);
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.text((0.0, 0.0), Anchor::Start, INK, "a < b & c");
        assert!(drawing.finish().contains("a &lt; b &amp; c"));
    }
}
