//! Shapes and text.

use std::fmt::{Arguments, Write};

/// The colour of axes and text.
pub const INK: &str = "#333";

/// The colour of grid lines.
pub const GRID: &str = "#e4e4e4";

/// Where a text is relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// An SVG picture being drawn. Positions are pixels from the upper left corner.
///
/// ```
/// use malkoha_figure::{Anchor, Drawing, INK};
/// let mut drawing = Drawing::new(100.0, 20.0);
/// drawing.text((50.0, 14.0), Anchor::Middle, INK, "a < b");
/// assert!(drawing.finish().contains("a &lt; b"));
/// ```
#[derive(Clone, Debug)]
pub struct Drawing {
    width: f64,
    height: f64,
    body: String,
    /// The number of clips so far, which names them.
    clips: usize,
}

impl Drawing {
    /// Returns an empty picture of this many pixels.
    #[must_use]
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new(), clips: 0 }
    }

    fn push(&mut self, element: Arguments<'_>) {
        writeln!(self.body, "{element}").expect("writing to a string succeeds");
    }

    /// Draws a thin line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.push(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}"/>"#
        ));
    }

    /// Draws a line through points; `dash` is an SVG dash pattern, empty for none.
    pub fn curve(&mut self, points: &[(f64, f64)], colour: &str, dash: &str) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        self.push(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>"#,
            points.join(" ")
        ));
    }

    /// Draws a dot.
    pub fn dot(&mut self, (x, y): (f64, f64), colour: &str) {
        self.push(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#));
    }

    /// Draws an empty circle.
    pub fn ring(&mut self, (x, y): (f64, f64), colour: &str) {
        self.push(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="none" stroke="{colour}" stroke-width="1.5"/>"#
        ));
    }

    /// Draws a filled rectangle, given its upper left corner.
    pub fn bar(&mut self, (x, y): (f64, f64), width: f64, height: f64, colour: &str) {
        self.push(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
        ));
    }

    /// Shows what follows only between these corners, upper left and lower right, until
    /// [`end_clip`](Self::end_clip).
    pub fn begin_clip(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (name, width, height) = (self.clips, x2 - x1, y2 - y1);
        self.clips += 1;
        self.push(format_args!(
            r#"<clipPath id="clip{name}"><rect x="{x1:.1}" y="{y1:.1}" width="{width:.1}" height="{height:.1}"/></clipPath><g clip-path="url(#clip{name})">"#
        ));
    }

    /// Shows everything again.
    pub fn end_clip(&mut self) {
        self.push(format_args!("</g>"));
    }

    /// Draws a text whose baseline is at a position.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, colour: &str, text: &str) {
        let (anchor, text) = (name(anchor), escaped(text));
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{text}</text>"#
        ));
    }

    /// Draws a text that reads upwards, centred on a position.
    pub fn upright(&mut self, (x, y): (f64, f64), colour: &str, text: &str) {
        let text = escaped(text);
        self.push(format_args!(
            r#"<text transform="translate({x:.1} {y:.1}) rotate(-90)" text-anchor="middle" fill="{colour}">{text}</text>"#
        ));
    }

    /// Draws a bold text that begins at a position.
    pub fn title(&mut self, at: (f64, f64), text: &str) {
        self.push(format_args!(r#"<g font-weight="bold">"#));
        self.text(at, Anchor::Start, INK, text);
        self.push(format_args!("</g>"));
    }

    /// Returns the SVG text of the picture.
    #[must_use]
    pub fn finish(self) -> String {
        let Self { width, height, body, .. } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }
}

fn name(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
