//! A question about one key, and the function that answers it: chosen once for what is asked and the CPU it runs on, so
//! that nothing has to be found out again for every key.
#![expect(unsafe_code, reason = "functions for a CPU that was asked")]

use core::fmt;

use crate::key::KeyHash;

use super::cpu::Vectors;

/// A question about one key to a `T`. Compiled for every CPU of the family and for those with AVX2; all that it calls is
/// `#[inline(always)]`, as in a [`Work`](super::cpu::Work).
pub(crate) trait Question<T> {
    fn ask(of: &T, hash: KeyHash, vectors: impl Vectors) -> bool;
}

/// What a function is that answers a question to a `T`, for whichever CPU.
pub(super) type Answer<T> = unsafe fn(&T, KeyHash) -> bool;

/// The function that answers a question. To ask is one jump, without a branch before it.
pub(crate) struct Chosen<T>(Answer<T>);

impl<T> Chosen<T> {
    /// A function that any CPU can run.
    pub(crate) fn any(answer: fn(&T, KeyHash) -> bool) -> Self {
        Self(answer)
    }

    /// A function that the CPU can run which this process runs on.
    ///
    /// # Safety
    ///
    /// The CPU has all features that the function is compiled for.
    #[cfg(target_arch = "x86_64")]
    pub(super) unsafe fn new(answer: Answer<T>) -> Self {
        Self(answer)
    }

    #[inline(always)]
    pub(crate) fn ask(self, of: &T, hash: KeyHash) -> bool {
        // SAFETY: the CPU has all features that the function is compiled for, as whoever made this has seen to.
        unsafe { (self.0)(of, hash) }
    }
}

impl<T> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Chosen<T> {}

impl<T> fmt::Debug for Chosen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chosen")
    }
}
