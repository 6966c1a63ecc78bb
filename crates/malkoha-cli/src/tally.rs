//! Counts how many keys were read, how many were stored, and how many of the others only looked like stored
//! ones.

use malkoha::{Filter, Generations};

use crate::report::Report;
use crate::units::{counted, short_count};

/// Counts for the keys of the inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Keys read.
    pub(crate) keys: u64,
    /// Keys that were not stored before.
    pub(crate) stored: u64,
    /// DNA words left out because of letters other than ACGT.
    pub(crate) skipped: u64,
    /// The expected number of distinct keys that were not stored because they look like a stored one.
    alike: f64,
    /// Keys stored since the rate was last computed.
    unsettled: u64,
}

/// Something whose rate rises while keys are stored.
pub(crate) trait Rated {
    /// Returns the mean rate while the `last` most recent keys were stored.
    fn mean_rate(&self, last: u64) -> f64;
}

impl Rated for Filter {
    /// Returns the mean of the rates before and after: the rate is nearly proportional to the keys over a
    /// short stretch.
    fn mean_rate(&self, last: u64) -> f64 {
        let rate = |keys: u64| self.geometry().predicted_rate(keys);
        f64::midpoint(rate(self.len().saturating_sub(last)), rate(self.len()))
    }
}

impl Rated for Generations {
    fn mean_rate(&self, _: u64) -> f64 {
        self.stats().predicted_rate
    }
}

impl Tally {
    /// Counts keys that were offered to a filter, and how many of them were stored.
    pub(crate) fn add(&mut self, filter: &impl Rated, keys: usize, stored: u64) {
        self.keys += keys as u64;
        self.stored += stored;
        self.unsettled += stored;
        // Where the rate has no closed form, computing it for every block would take too long.
        if self.unsettled > 1000 + self.stored / 128 {
            self.settle(filter);
        }
    }

    /// Accounts for the keys stored since the rate was last computed.
    pub(crate) fn settle(&mut self, filter: &impl Rated) {
        let rate = filter.mean_rate(self.unsettled);
        self.alike += self.unsettled as f64 * rate / (1.0 - rate);
        self.unsettled = 0;
    }

    /// Reports how many words were left out, if any.
    pub(crate) fn report_skipped(&self, report: &mut Report) {
        if self.skipped > 0 {
            let words = counted(self.skipped, "word");
            report.fact("skipped", format_args!("{words} with letters other than ACGT"));
        }
        report.data("words_skipped", self.skipped);
    }

    /// Reports how many keys share the entry of another one, unless there are hardly any.
    pub(crate) fn report_alike(&self, report: &mut Report) {
        if self.alike >= 0.05 {
            report.fact(
                "alike",
                format_args!(
                    "about {} look like others and are not stored; to remove keys later, build with --copies",
                    self.alike_in_words()
                ),
            );
        }
    }

    /// Returns the number of distinct keys, as far as can be told.
    pub(crate) fn different(&self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
        let alike = self.alike.round() as u64;
        self.stored + alike
    }

    /// Returns the expected number of distinct keys that were not stored.
    pub(crate) fn alike(&self) -> f64 {
        self.alike
    }

    /// Formats the expected number of distinct keys that were not stored.
    pub(crate) fn alike_in_words(&self) -> String {
        if self.alike < 10.0 { format!("{:.1}", self.alike) } else { short_count(self.alike) }
    }
}
