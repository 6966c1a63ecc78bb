//! Sums of numbers that may come from files.

/// The sum of these numbers, or the largest number if that is less: numbers that an enemy wrote may each be
/// possible and their sum not.
pub(crate) fn saturating_sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}
