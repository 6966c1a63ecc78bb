//! Counters of events, and sums of numbers that may come from files.

/// Counts of events since the filter was created; not part of its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) failures: u64,
    pub(crate) walks: u64,
    pub(crate) steps: u64,
    pub(crate) most_steps: u64,
}

impl Counters {
    pub(crate) fn walked(&mut self, steps: u64) {
        self.walks += 1;
        self.steps += steps;
        self.most_steps = self.most_steps.max(steps);
    }

    /// The mean number of steps per insert that had to walk.
    pub(crate) fn steps_mean(&self) -> f64 {
        self.steps as f64 / self.walks.max(1) as f64
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.failures += other.failures;
        self.walks += other.walks;
        self.steps += other.steps;
        self.most_steps = self.most_steps.max(other.most_steps);
    }
}

/// The sum of these numbers, capped at `u64::MAX`: numbers from an attacker may each be valid but overflow
/// together.
pub(crate) fn saturating_sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}
