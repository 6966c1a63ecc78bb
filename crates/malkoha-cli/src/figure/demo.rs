//! The figure of `demo`: memory and speed of every kind as bars.

use malkoha::theory;
use malkoha_figure::{Anchor, Axis, Drawing, GRID, INK};

use crate::cmd::Measured;
use crate::units::{rate_in_words, short_count};

const WIDTH: f64 = 980.0;
const ROW: f64 = 24.0;
/// Where the first row begins.
const TOP: f64 = 78.0;
/// The space below the last row.
const BELOW: f64 = 62.0;
const CUCKOO: &str = "#5fbf9f";
const BLOOM: &str = "#b4bcc8";
/// The colour of the smallest kind.
const SMALLEST: &str = "#00805c";

/// Draws three panels side by side: bits per key, inserts, lookups.
pub(crate) fn draw(rows: &[Measured], keys: u64, rate: f64) -> String {
    let bottom = TOP + ROW * rows.len() as f64;
    let mut drawing = Drawing::new(WIDTH, bottom + BELOW);
    let subject = format!("{} keys at a rate of at most {}", short_count(keys as f64), rate_in_words(rate));
    drawing.title((8.0, 22.0), &subject);
    for (at, row) in rows.iter().enumerate() {
        drawing.text((100.0, middle(at)), Anchor::End, INK, &row.kind.to_string());
    }
    let bits = Panel { left: 110.0, width: 270.0, title: "bits per key: fewer are better", decimals: 2 };
    let axis = bits.draw(&mut drawing, rows, |row| row.bits_per_key);
    let limit = theory::information_limit(-rate.log2());
    let at = axis.at(limit);
    drawing.curve(&[(at, TOP - 6.0), (at, bottom + 4.0)], "#000", "2 3");
    drawing.text((at, bottom + 18.0), Anchor::Middle, INK, &format!("information limit {limit:.2}"));
    let inserts =
        Panel { left: 450.0, width: 180.0, title: "million inserts per second, in bulk", decimals: 0 };
    inserts.draw(&mut drawing, rows, |row| row.inserts);
    let lookups =
        Panel { left: 695.0, width: 190.0, title: "million lookups per second, absent keys", decimals: 0 };
    lookups.draw(&mut drawing, rows, |row| row.finds_absent);
    let legend = [
        (110.0, SMALLEST, "the smallest"),
        (230.0, CUCKOO, "cuckoo family: keys can be removed"),
        (490.0, BLOOM, "Bloom family: never full, no removals"),
    ];
    for (left, colour, text) in legend {
        drawing.bar((left, bottom + 38.0), 12.0, 12.0, colour);
        drawing.text((left + 18.0, bottom + 48.0), Anchor::Start, INK, text);
    }
    drawing.finish()
}

/// Returns the height of the text of a row.
fn middle(at: usize) -> f64 {
    TOP + ROW * at as f64 + 15.0
}

/// A panel that shows one number of every row as bars.
struct Panel {
    left: f64,
    width: f64,
    title: &'static str,
    decimals: usize,
}

impl Panel {
    fn draw(&self, drawing: &mut Drawing, rows: &[Measured], value: impl Fn(&Measured) -> f64) -> Axis {
        let &Self { left, width, title, decimals } = self;
        let most = rows.iter().map(&value).fold(0.0, f64::max);
        let smallest = rows.iter().map(|row| row.bits_per_key).fold(f64::INFINITY, f64::min);
        let axis = Axis::linear((0.0, most), (left, left + width));
        drawing.title((left, TOP - 20.0), title);
        drawing.line((left, TOP - 4.0), (left, TOP + ROW * rows.len() as f64), GRID);
        for (at, row) in rows.iter().enumerate() {
            let colour = match row.kind.is_bloom() {
                _ if row.bits_per_key <= smallest => SMALLEST,
                true => BLOOM,
                false => CUCKOO,
            };
            let end = axis.at(value(row));
            drawing.bar((left, TOP + ROW * at as f64 + 2.0), end - left, ROW - 6.0, colour);
            drawing.text((end + 4.0, middle(at)), Anchor::Start, INK, &format!("{:.decimals$}", value(row)));
        }
        axis
    }
}
