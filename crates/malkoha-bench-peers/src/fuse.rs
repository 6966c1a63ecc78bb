//! `xorf`: binary fuse filters with fingerprints of 8 and 16 bits. They mix keys themselves, with the same
//! finaliser as [`mixer`](crate::mixer), and are built from all keys at once.

use xorf::{BinaryFuse8, BinaryFuse16, Filter};

use crate::{Peer, Refused, whole};

/// Returns the keys for which a filter with fingerprints of this many bytes takes about this many bytes.
pub(crate) fn keys<const FINGERPRINT_BYTES: u64>(bytes: u64, _rate: f64) -> u64 {
    let slots = (bytes / FINGERPRINT_BYTES) as f64;
    // The slots per key of the crate. They change so slowly that the logarithm of the slots can replace that
    // of the keys.
    whole(slots / (0.875 + 0.25 * 1e6f64.ln() / slots.ln()).max(1.125))
}

pub(crate) fn fuse8(_keys: usize, _rate: f64) -> Box<dyn Peer> {
    Box::new(Static::<BinaryFuse8> { filter: None })
}

pub(crate) fn fuse16(_keys: usize, _rate: f64) -> Box<dyn Peer> {
    Box::new(Static::<BinaryFuse16> { filter: None })
}

/// A filter that can only be built once its keys are known.
struct Static<F> {
    filter: Option<F>,
}

/// What the two widths have in common, without a trait in their crate.
trait Fuse: Filter<u64> + Send + Sync + Sized {
    /// The rarely refused construction.
    fn build(keys: &[u64]) -> Option<Self>;
    /// Bytes of a fingerprint.
    const FINGERPRINT_BYTES: usize;
}

impl Fuse for BinaryFuse8 {
    const FINGERPRINT_BYTES: usize = 1;

    fn build(keys: &[u64]) -> Option<Self> {
        Self::try_from(keys).ok()
    }
}

impl Fuse for BinaryFuse16 {
    const FINGERPRINT_BYTES: usize = 2;

    fn build(keys: &[u64]) -> Option<Self> {
        Self::try_from(keys).ok()
    }
}

impl<F: Fuse> Peer for Static<F> {
    fn insert(&mut self, keys: &[u64]) -> Result<(), Refused> {
        self.filter = Some(F::build(keys).ok_or(Refused { done: 0 })?);
        Ok(())
    }

    fn contains(&self, keys: &[u64], answers: &mut [bool]) {
        match &self.filter {
            Some(filter) => {
                for (key, answer) in keys.iter().zip(answers) {
                    *answer = filter.contains(key);
                }
            }
            None => answers.fill(false),
        }
    }

    fn bytes(&self) -> usize {
        self.filter.as_ref().map_or(0, |filter| filter.len() * F::FINGERPRINT_BYTES)
    }
}
