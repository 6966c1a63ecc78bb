//! `Fill`: what the set bits of a filter show.

/// The set bits of a Bloom filter, and what follows from them.
///
/// ```
/// use malkoha::{Kind, Spec};
/// let mut filter = Spec::new(10_000, 0.001).kind(Kind::Blocked(2)).build()?;
/// filter.insert_slice(&(0..10_000u64).collect::<Vec<_>>())?;
/// let fill = filter.fill()?;
/// assert!(fill.share() < 0.5);
/// assert!(fill.rate < 0.001);
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// The number of set bits.
    pub set: u64,
    /// The number of all bits.
    pub bits: u64,
    /// The rate that follows from these bits, whichever keys set them.
    pub rate: f64,
}

impl Fill {
    /// The share of bits that are set.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.set as f64 / self.bits as f64
    }
}
