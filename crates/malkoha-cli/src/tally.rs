//! How many keys came, how many were stored, and how many of the others only looked like stored ones.

use malkoha::Filter;

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

impl Tally {
    /// Counts keys that went to a filter, of which some were stored.
    pub(crate) fn add(&mut self, filter: &Filter, keys: usize, stored: u64) {
        self.keys += keys as u64;
        self.stored += stored;
        self.unsettled += stored;
        // To compute the rate for every block would take time where it has no closed form.
        if self.unsettled > 1000 + self.stored / 128 {
            self.settle(filter);
        }
    }

    /// Accounts for the keys stored since the rate was last computed. The rate rises in proportion to the keys, or
    /// nearly so within a short stretch: it counts as the mean of before and after.
    pub(crate) fn settle(&mut self, filter: &Filter) {
        let rate = |keys: u64| filter.geometry().predicted_rate(keys);
        let now = filter.len();
        let mean = f64::midpoint(rate(now.saturating_sub(self.unsettled)), rate(now));
        self.alike += self.unsettled as f64 * mean / (1.0 - mean);
        self.unsettled = 0;
    }

    /// The number of different keys, in words.
    pub(crate) fn different(&self) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
        let different = self.stored + self.alike.round() as u64;
        grouped(different)
    }

    /// The expected number of wrongly dropped keys, in words.
    pub(crate) fn dropped(&self) -> String {
        if self.alike < 10.0 { format!("{:.2}", self.alike) } else { short_count(self.alike) }
    }
}
