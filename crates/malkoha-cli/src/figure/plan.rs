//! The figure of `plan`: bits per key against the rate for all kinds, and against the number of keys, where
//! powers of two make a staircase.

use malkoha::{Kind, Spec, theory};
use malkoha_figure::{Anchor, Axis, Drawing, GRID, INK};

use super::spread;
use crate::units::{short_count, short_rate};

/// Colours, by the order of [`Kind::USUAL`].
const COLOURS: [&str; Kind::USUAL.len()] = [
    "#d55e00", "#e69f00", "#b8860b", "#56b4e9", "#0072b2", "#4169a1", "#7fb3d5", "#009e73", "#999999",
    "#cc79a7", "#a0527d", "#6d3a5c",
];

/// The rates of the horizontal axis: 2 to the minus these.
const EXPONENTS: (f64, f64) = (4.0, 20.0);

/// A curve with its name.
struct Curve {
    name: String,
    colour: &'static str,
    dash: &'static str,
    points: Vec<(f64, f64)>,
}

/// Draws both panels, around this number of keys and this rate.
pub(crate) fn draw(keys: u64, rate: f64) -> String {
    let mut drawing = Drawing::new(980.0, 470.0);
    let against_rate = Kind::USUAL.iter().zip(COLOURS).map(|(&kind, colour)| {
        curve(kind, colour, (0..=64).map(|i| EXPONENTS.0 + f64::from(i) / 4.0), |k| {
            Spec::new(keys, (-k).exp2())
        })
    });
    let mut curves: Vec<_> = against_rate.collect();
    curves.push(limit((0..=16).map(|i| EXPONENTS.0 + f64::from(i)), |k| k));
    let title = format!("bits per key against rate, {} keys", short_count(keys as f64));
    let exponents = (0..=4).map(|i| EXPONENTS.0 + 4.0 * f64::from(i));
    let ticks: Vec<_> = exponents.map(|k| (k, format!("2^-{k:.0}"))).collect();
    panel(&mut drawing, 60.0, &title, &curves, &ticks);

    let middle = (keys as f64).log2();
    let (from, to) = ((middle - 2.0).max(3.0), (middle + 2.0).clamp(7.0, 50.0));
    let sizes = || (0..=400).map(move |i| from + (to - from) * f64::from(i) / 400.0);
    let named =
        |kind: Kind| Kind::USUAL.iter().position(|usual| *usual == kind).map_or(INK, |at| COLOURS[at]);
    let against_keys = [Kind::Classic(4), Kind::SemiSorted, Kind::Windowed(2), Kind::Sorted, Kind::Bloom];
    let spec = |size: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, below 2^50")]
        let keys = size.exp2() as u64;
        Spec::new(keys, rate)
    };
    let mut curves: Vec<_> =
        against_keys.into_iter().map(|kind| curve(kind, named(kind), sizes(), spec)).collect();
    curves.push(limit(sizes(), |_| -rate.log2()));
    let title = format!("bits per key against keys, rate {}: the staircase", short_rate(rate));
    let ticks: Vec<_> = (0..=4)
        .map(|i| from + (to - from) * f64::from(i) / 4.0)
        .map(|size| (size, short_count(size.exp2())))
        .collect();
    panel(&mut drawing, 550.0, &title, &curves, &ticks);
    drawing.finish()
}

/// Returns the bits per key of a kind over a range, without points where there is no such filter.
fn curve(
    kind: Kind,
    colour: &'static str,
    range: impl Iterator<Item = f64>,
    spec: impl Fn(f64) -> Spec,
) -> Curve {
    let points = range.filter_map(|x| spec(x).kind(kind).plan().ok().map(|plan| (x, plan.bits_per_key())));
    let dash = if kind.is_bloom() { "6 3" } else { "" };
    Curve { name: kind.to_string(), colour, dash, points: points.collect() }
}

/// Returns the information limit of filters with inserts and deletes.
fn limit(range: impl Iterator<Item = f64>, k: impl Fn(f64) -> f64) -> Curve {
    let points = range.map(|x| (x, theory::information_limit(k(x)))).collect();
    Curve { name: "limit".to_owned(), colour: "#000", dash: "2 3", points }
}

fn panel(drawing: &mut Drawing, left: f64, title: &str, curves: &[Curve], ticks: &[(f64, String)]) {
    let values = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let lowest = (values().fold(f64::INFINITY, f64::min) / 2.0).floor() * 2.0;
    let highest = (values().fold(0.0, f64::max) / 2.0).ceil() * 2.0;
    let x = Axis::linear((ticks[0].0, ticks[ticks.len() - 1].0), (left, left + 320.0));
    let y = Axis::linear((lowest, highest), (420.0, 50.0));
    drawing.title((left - 40.0, 24.0), title);
    for (at, name) in ticks {
        drawing.line((x.at(*at), y.pixels.0), (x.at(*at), y.pixels.1), GRID);
        drawing.text((x.at(*at), y.pixels.0 + 18.0), Anchor::Middle, INK, name);
    }
    let step = ((highest - lowest) / 10.0).ceil();
    let mut bits = lowest;
    while bits <= highest {
        drawing.line((x.pixels.0, y.at(bits)), (x.pixels.1, y.at(bits)), GRID);
        drawing.text((x.pixels.0 - 6.0, y.at(bits) + 4.0), Anchor::End, INK, &format!("{bits:.0}"));
        bits += step;
    }
    for curve in curves {
        let points: Vec<_> = curve.points.iter().map(|&(at, bits)| (x.at(at), y.at(bits))).collect();
        drawing.curve(&points, curve.colour, curve.dash);
    }
    let mut ends: Vec<_> =
        curves.iter().filter_map(|curve| Some((curve, y.at(curve.points.last()?.1)))).collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut heights: Vec<_> = ends.iter().map(|end| end.1).collect();
    spread(&mut heights, 14.0);
    for ((curve, _), height) in ends.into_iter().zip(heights) {
        drawing.text((x.pixels.1 + 8.0, height + 4.0), Anchor::Start, curve.colour, &curve.name);
    }
}
