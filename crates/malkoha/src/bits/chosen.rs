//! A question about one key, and the function that answers it. The function is chosen once, for the question and the
//! CPU, so that no lookup has to make the choice again.
#![expect(unsafe_code, reason = "functions for a CPU that was asked")]

use core::fmt;

use crate::key::KeyHash;

use super::cpu::Vectors;

/// A question to a `T` about one key, with an answer of type `A`. It is compiled for every CPU of the family and for
/// those with AVX2; everything it calls is `#[inline(always)]`, as in a [`Work`](super::cpu::Work).
pub(crate) trait Question<T, A = bool> {
    /// Whether the question gains from AVX-512, and is compiled for it too.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "other CPUs have one form of the code")
    )]
    const WIDE: bool = false;

    fn ask(of: &T, hash: KeyHash, vectors: impl Vectors) -> A;
}

/// The type of a function that answers a question to a `T`, for any CPU.
pub(super) type Answer<T, A = bool> = unsafe fn(&T, KeyHash) -> A;

/// The function that answers a question. A call is one jump, with no branch before it.
pub(crate) struct Chosen<T, A = bool>(Answer<T, A>);

impl<T, A> Chosen<T, A> {
    /// Wraps a function that any CPU can run.
    pub(crate) fn any(answer: fn(&T, KeyHash) -> A) -> Self {
        Self(answer)
    }

    /// Wraps a function that the CPU of this process can run.
    ///
    /// # Safety
    ///
    /// The CPU has all features that the function is compiled for.
    #[cfg(target_arch = "x86_64")]
    pub(super) unsafe fn new(answer: Answer<T, A>) -> Self {
        Self(answer)
    }

    #[inline(always)]
    pub(crate) fn ask(self, of: &T, hash: KeyHash) -> A {
        // SAFETY: the CPU has all features that the function is compiled for: `any` takes functions for every CPU,
        // and the caller of `new` guarantees it.
        unsafe { (self.0)(of, hash) }
    }
}

impl<T, A> Clone for Chosen<T, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A> Copy for Chosen<T, A> {}

impl<T, A> fmt::Debug for Chosen<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chosen")
    }
}
