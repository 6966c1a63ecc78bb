//! A question about one key, and the function that answers it. The function is chosen once, for the question and the
//! CPU, so that no lookup has to make the choice again.
#![expect(unsafe_code, reason = "functions for a CPU that was asked")]

use core::any::Any;
use core::fmt;
use core::ptr::NonNull;
use std::sync::Arc;

use crate::key::KeyHash;

use super::cpu::Vectors;

/// A question to a `T` about one key. It is compiled for every CPU of the family and for those with AVX2; everything it
/// calls is `#[inline(always)]`, as in a [`Work`](super::cpu::Work).
pub(crate) trait Question<T> {
    /// Whether the question gains from AVX-512, and is compiled for it too.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "other CPUs have one form of the code")
    )]
    const WIDE: bool = false;

    fn ask(of: &T, hash: KeyHash, vectors: impl Vectors) -> bool;
}

/// The type of a function that answers a question to a `T`, for any CPU.
pub(super) type Answer<T> = unsafe fn(&T, KeyHash) -> bool;

/// The function that answers a question. A call is one jump, with no branch before it.
pub(crate) struct Chosen<T>(Answer<T>);

impl<T> Chosen<T> {
    /// Wraps a function that any CPU can run.
    pub(crate) fn any(answer: fn(&T, KeyHash) -> bool) -> Self {
        Self(answer)
    }

    /// Wraps a function that the CPU of this process can run.
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
        // SAFETY: the CPU has all features that the function is compiled for: `any` takes functions for every CPU,
        // and the caller of `new` guarantees it.
        unsafe { (self.0)(of, hash) }
    }
}

impl<T> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Chosen<T> {}

/// Something that answers a question about one key. Only its maker knows its type: a lookup goes straight to the chosen
/// function, not through a table of methods to one that goes there.
pub(crate) struct Answerer {
    of: NonNull<()>,
    answer: unsafe fn(NonNull<()>, KeyHash) -> bool,
    /// Keeps `of`.
    _owner: Arc<dyn Any + Send + Sync>,
}

impl Answerer {
    /// Makes one of an object and the function that was chosen for it.
    pub(crate) fn new<T: Send + Sync + 'static>(of: Arc<T>, chosen: Chosen<T>) -> Self {
        // SAFETY: the functions differ only in their first parameter, `&T` or `NonNull<()>`. Both are passed as the
        // address of a sized type.
        let answer =
            unsafe { core::mem::transmute::<Answer<T>, unsafe fn(NonNull<()>, KeyHash) -> bool>(chosen.0) };
        let address = Arc::as_ptr(&of).cast_mut().cast();
        Self { of: NonNull::new(address).expect("an object has an address"), answer, _owner: of }
    }

    #[inline(always)]
    pub(crate) fn ask(&self, hash: KeyHash) -> bool {
        // SAFETY: `of` is the address of the `T` that `answer` takes by reference. `_owner` keeps it, and nobody can
        // borrow it mutably while there are two owners or only this one, which never does. The CPU has all features
        // that the function is compiled for, as `Chosen` guarantees.
        unsafe { (self.answer)(self.of, hash) }
    }
}

// SAFETY: it is an `Arc` of something that is `Send` and `Sync`, which is only borrowed, and a function.
unsafe impl Send for Answerer {}
// SAFETY: the same.
unsafe impl Sync for Answerer {}

impl fmt::Debug for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answerer")
    }
}

impl<T> fmt::Debug for Chosen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chosen")
    }
}
