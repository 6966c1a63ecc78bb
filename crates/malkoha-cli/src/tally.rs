//! How many keys came, how many were stored, and how many of the others only looked like stored ones.

use malkoha::{Filter, Generations};

use crate::report::Report;
use crate::units::{grouped, short_count};

/// What became of the keys of the inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Keys read.
    pub(crate) keys: u64,
    /// Keys that were not there before.
    pub(crate) stored: u64,
    /// DNA words left out because of letters other than ACGT.
    pub(crate) skipped: u64,
    /// The expected number of different keys that were not stored because they look like a stored one.
    alike: f64,
    /// Keys stored since the rate was last computed.
    unsettled: u64,
}

/// Something whose rate rises while keys are stored.
pub(crate) trait Rated {
    /// The mean rate while the last so many keys were stored.
    fn mean_rate(&self, last: u64) -> f64;
}

impl Rated for Filter {
    /// The rate rises in proportion to the keys, or nearly so within a short stretch: the mean of before and
    /// after.
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
    /// Counts keys that went to a filter, of which some were stored.
    pub(crate) fn add(&mut self, filter: &impl Rated, keys: usize, stored: u64) {
        self.keys += keys as u64;
        self.stored += stored;
        self.unsettled += stored;
        // To compute the rate for every block would take time where it has no closed form.
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

    /// Says how many words were left out, if any.
    pub(crate) fn report_skipped(&self, report: &mut Report) {
        if self.skipped > 0 {
            report.fact(
                "skipped",
                format_args!("{} words with letters other than ACGT", grouped(self.skipped)),
            );
        }
    }

    /// Says how many keys share the entry of another one, unless there is hardly any.
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

    /// The number of different keys, in words.
    pub(crate) fn different(&self) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
        let different = self.stored + self.alike.round() as u64;
        grouped(different)
    }

    /// The expected number of different keys that were not stored, in words.
    pub(crate) fn alike_in_words(&self) -> String {
        if self.alike < 10.0 { format!("{:.1}", self.alike) } else { short_count(self.alike) }
    }
}
