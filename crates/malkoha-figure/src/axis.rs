//! Values on a range of pixels.

/// The scale of an axis: its name, and whether equal distances mean equal differences or equal ratios.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    /// The range, if it is not that of the values.
    pub(crate) range: Option<(f64, f64)>,
}

/// The share of a step that counts as zero.
const HAIR: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    /// Powers of this base are marked.
    Logarithmic(u32),
}

impl Scale {
    /// Returns a scale on which equal distances are equal differences.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), kind: Kind::Linear, range: None }
    }

    /// Returns a scale on which equal distances are equal ratios, and powers of `base` are marked.
    #[must_use]
    pub fn logarithmic(label: impl Into<String>, base: u32) -> Self {
        Self { label: label.into(), kind: Kind::Logarithmic(base), range: None }
    }

    /// Sets the range, whatever the values are.
    #[must_use]
    pub fn between(mut self, least: f64, most: f64) -> Self {
        self.range = Some((least, most));
        self
    }

    /// Converts a value to a distance.
    fn measure(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => value,
            Kind::Logarithmic(base) => value.ln() / f64::from(base).ln(),
        }
    }

    /// Returns whether a value can be shown.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && self.measure(value).is_finite()
    }

    /// Returns the axis for values, on a range of pixels.
    pub(crate) fn axis(&self, values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Axis {
        let measures = values.filter(|value| self.shows(*value)).map(|value| self.measure(value));
        let (least, most) = measures
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), at| (least.min(at), most.max(at)));
        let (least, most) = match self.range {
            Some((from, to)) => (self.measure(from), self.measure(to)),
            None if least <= most => (least, most),
            None => (0.0, 1.0),
        };
        let step = step(most - least, self.kind);
        let values = if self.range.is_some() {
            (least, most)
        } else {
            // A logarithm may be slightly off a round number.
            let from = (least / step + HAIR).floor() * step;
            (from, ((most / step - HAIR).ceil() * step).max(from + step))
        };
        Axis { values, pixels, step, kind: self.kind }
    }
}

/// Returns a round step of which a handful fit in the range.
fn step(range: f64, kind: Kind) -> f64 {
    let rough = (range / 6.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].map(|round| round * power).into_iter().find(|round| *round >= rough);
    let step = round.unwrap_or(power * 10.0);
    // Nothing is marked between powers.
    if kind == Kind::Linear { step } else { step.max(1.0).round() }
}

/// Maps a range of values to a range of pixels.
///
/// ```
/// use malkoha_figure::Axis;
/// let axis = Axis::linear((10.0, 20.0), (300.0, 100.0));
/// assert_eq!(axis.at(15.0), 200.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    values: (f64, f64),
    /// The pixels of both ends.
    pub pixels: (f64, f64),
    step: f64,
    kind: Kind,
}

impl Axis {
    /// Returns a linear axis.
    #[must_use]
    pub fn linear(values: (f64, f64), pixels: (f64, f64)) -> Self {
        Self { values, pixels, step: step(values.1 - values.0, Kind::Linear), kind: Kind::Linear }
    }

    /// Returns the pixel of a value.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let measure = match self.kind {
            Kind::Linear => value,
            Kind::Logarithmic(base) => value.ln() / f64::from(base).ln(),
        };
        self.at_measure(measure)
    }

    fn at_measure(&self, measure: f64) -> f64 {
        let share = (measure - self.values.0) / (self.values.1 - self.values.0);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Returns the positions of the marks, and their labels.
    pub(crate) fn marks(&self) -> Vec<(f64, String)> {
        let mut marks = Vec::new();
        let mut at = (self.values.0 / self.step - HAIR).ceil() * self.step;
        while at <= self.values.1 + self.step * HAIR {
            marks.push((self.at_measure(at), self.name(at)));
            at += self.step;
        }
        marks
    }

    fn name(&self, measure: f64) -> String {
        match self.kind {
            Kind::Linear => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few digits")]
                let decimals = (-self.step.log10().floor()).clamp(0.0, 6.0) as usize;
                // Not minus zero.
                format!("{:.decimals$}", measure + 0.0)
            }
            // Nor here.
            Kind::Logarithmic(base) => format!("{base}^{:.0}", measure.round() + 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scale: &Scale, values: [f64; 2]) -> Vec<String> {
        scale.axis(values.into_iter(), (0.0, 100.0)).marks().into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(names(&Scale::linear(""), [0.0, 1.0]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(names(&Scale::linear(""), [3.0, 20.0]), ["0", "5", "10", "15", "20"]);
        assert_eq!(names(&Scale::logarithmic("", 10), [1e3, 2e6]), ["10^3", "10^4", "10^5", "10^6", "10^7"]);
        assert_eq!(names(&Scale::logarithmic("", 10), [1.0, 10.0]), ["10^0", "10^1"]);
        assert_eq!(names(&Scale::linear("").between(0.9, 1.0), [0.0, 5.0]).first().unwrap(), "0.90");
    }

    #[test]
    fn what_has_no_logarithm_is_not_shown() {
        let scale = Scale::logarithmic("", 2);
        assert!(scale.shows(8.0) && !scale.shows(0.0) && !scale.shows(f64::NAN));
        assert_eq!(scale.axis([0.0].into_iter(), (0.0, 1.0)).marks().len(), 2);
    }
}
