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
    pub(crate) alike: f64,
    /// The rate when it was last computed, and the number of stored keys from which on it is computed again.
    rate: f64,
    rate_until: u64,
}

impl Tally {
    /// Counts keys that went to a filter, of which some were stored.
    pub(crate) fn add(&mut self, filter: &Filter, keys: usize, stored: u64) {
        self.keys += keys as u64;
        self.stored += stored;
        if self.stored >= self.rate_until {
            // To compute it for every block would take time where it has no closed form.
            self.rate = filter.geometry().predicted_rate(filter.len());
            self.rate_until = self.stored + self.stored / 128 + 1000;
        }
        self.alike += stored as f64 * self.rate / (1.0 - self.rate);
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
