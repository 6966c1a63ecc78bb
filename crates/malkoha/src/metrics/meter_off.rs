//! `Meter` without the feature "metrics": no field, no branch, the same face.

use super::readings::Readings;

/// Stands beside a filter and, with the feature "metrics", measures lookups. The feature is off: this does
/// nothing and takes no memory.
///
/// ```
/// let meter = malkoha::metrics::Meter::new(64);
/// assert!(meter.lookup(|| true));
/// ```
#[derive(Debug)]
pub struct Meter;

const _: () = assert!(size_of::<Meter>() == 0, "a meter that is off takes no memory");

impl Meter {
    /// A meter that measures nothing.
    #[must_use]
    pub const fn new(every: u32) -> Self {
        let _ = every;
        Self
    }

    /// Asks. The answer is the one of `ask`.
    #[inline(always)]
    pub fn lookup(&self, ask: impl FnOnce() -> bool) -> bool {
        ask()
    }

    /// The caller found that an answer of yes was right.
    #[inline(always)]
    pub const fn confirm(&self) {}

    /// The caller found that an answer of yes was wrong: a false positive.
    #[inline(always)]
    pub const fn refute(&self) {}

    /// Nothing.
    #[must_use]
    pub const fn readings(&self) -> Option<Readings> {
        None
    }
}
