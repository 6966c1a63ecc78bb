//! The figure of `demo`: memory and speed of every kind as bars.

use malkoha::theory;
use malkoha_figure::{Anchor, Axis, Drawing, GRID, INK};

use crate::cmd::Measured;
use crate::units::{short_count, short_rate};

const ROW: f64 = 24.0;
const TOP: f64 = 54.0;
const CUCKOO: &str = "#009e73";
const BLOOM: &str = "#8d99ae";

/// Draws three panels beside each other: bits per key, inserts, lookups.
pub(crate) fn draw(rows: &[Measured], keys: u64, rate: f64) -> String {
    let height = TOP + ROW * rows.len() as f64 + 40.0;
    let mut drawing = Drawing::new(980.0, height);
    let limit = theory::information_limit(-rate.log2());
    for (at, row) in rows.iter().enumerate() {
        drawing.text((92.0, middle(at)), Anchor::End, INK, &row.kind.to_string());
    }
    let title = format!("bits per key, {} keys at {}", short_count(keys as f64), short_rate(rate));
    let axis = panel(&mut drawing, (100.0, 300.0), &title, rows, |row| row.bits_per_key, 2);
    let bottom = TOP + ROW * rows.len() as f64;
    drawing.curve(&[(axis.at(limit), TOP - 4.0), (axis.at(limit), bottom)], "#000", "2 3");
    drawing.text((axis.at(limit), bottom + 16.0), Anchor::Middle, INK, &format!("limit {limit:.2}"));
    panel(&mut drawing, (470.0, 200.0), "million inserts per second", rows, |row| row.inserts, 0);
    panel(&mut drawing, (730.0, 200.0), "million lookups per second", rows, |row| row.finds_absent, 0);
    drawing.finish()
}

/// The height at which the words of a row stand.
fn middle(at: usize) -> f64 {
    TOP + ROW * at as f64 + 15.0
}

fn panel(
    drawing: &mut Drawing,
    (left, width): (f64, f64),
    title: &str,
    rows: &[Measured],
    value: impl Fn(&Measured) -> f64,
    decimals: usize,
) -> Axis {
    let most = rows.iter().map(&value).fold(0.0, f64::max);
    let axis = Axis::linear((0.0, most), (left, left + width));
    drawing.title((left, 30.0), title);
    drawing.line((left, TOP - 4.0), (left, TOP + ROW * rows.len() as f64), GRID);
    for (at, row) in rows.iter().enumerate() {
        let colour = if row.kind.is_bloom() { BLOOM } else { CUCKOO };
        let end = axis.at(value(row));
        drawing.bar((left, TOP + ROW * at as f64 + 2.0), end - left, ROW - 6.0, colour);
        drawing.text((end + 4.0, middle(at)), Anchor::Start, INK, &format!("{:.decimals$}", value(row)));
    }
    axis
}
