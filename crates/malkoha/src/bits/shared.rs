//! Words that one thread writes while others read them.
//!
//! A field begins at any bit, so it is read and written by 8 bytes that begin at any byte, and the language has no
//! atomic for that. But it has atomic bytes. Everything that concerns threads at work on the same words goes through
//! `read` and `write` below, and both are, to the language, eight relaxed atomic accesses of one byte each. A reader
//! may therefore see some bytes from before a store and others from after it, but there is no data race. Whoever
//! reads must find out by other means that what it read is whole, as `engine/version.rs` does.
//!
//! On x86-64 and on 64-bit ARM, eight such accesses are one instruction, which is written here in assembly: compilers
//! do not join atomic accesses. Other CPUs access one byte after the other, and so do builds with the flag
//! `malkoha_bytes`, for sanitizers, which cannot see into assembly.
#![expect(unsafe_code, reason = "accesses that other threads may meet")]

use core::fmt;
use core::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::cpu::Vectors;
use super::pair::Pair;
use super::source::Source;
use super::words::{Words, prefetch_line, split};

/// Whether `write` is one instruction.
pub(super) const IS_ONE_INSTRUCTION: bool =
    cfg!(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(malkoha_bytes)));

/// Reads 8 bytes, each of them as a relaxed atomic; returns them as a little-endian number.
///
/// # Safety
///
/// The bytes are readable, and while other threads write them, they do so by [`write`].
#[inline(always)]
pub(super) unsafe fn read(from: *const u8) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(malkoha_bytes)))]
    {
        let number: u64;
        // SAFETY: the 8 bytes are readable, as the caller guarantees, and nothing else is accessed.
        unsafe {
            core::arch::asm!("mov {number}, qword ptr [{from}]", number = lateout(reg) number, from = in(reg) from,
                options(nostack, preserves_flags));
        }
        u64::from_le(number)
    }
    #[cfg(all(target_arch = "aarch64", not(malkoha_bytes)))]
    {
        let number: u64;
        // SAFETY: the 8 bytes are readable, as the caller guarantees, and nothing else is accessed.
        unsafe {
            core::arch::asm!("ldr {number}, [{from}]", number = lateout(reg) number, from = in(reg) from,
                options(nostack, preserves_flags));
        }
        u64::from_le(number)
    }
    #[cfg(any(malkoha_bytes, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        use std::sync::atomic::{AtomicU8, Ordering};
        u64::from_le_bytes(core::array::from_fn(|i| {
            // SAFETY: the byte is one of those that the caller guarantees.
            let byte = unsafe { from.cast_mut().add(i) };
            // SAFETY: it is readable, and threads that access it at the same time do so by atomics of one byte, here
            // and in `write`.
            unsafe { AtomicU8::from_ptr(byte) }.load(Ordering::Relaxed)
        }))
    }
}

/// Does [`read`] at two bytes counted from an address.
///
/// # Safety
///
/// That of [`read`], for both.
#[inline(always)]
pub(super) unsafe fn read_two(from: *const u8, bytes: [usize; 2]) -> [u64; 2] {
    bytes.map(|byte| {
        // SAFETY: the byte is one of those that the caller guarantees.
        let from = unsafe { from.add(byte) };
        // SAFETY: the obligation is that of the caller.
        unsafe { read(from) }
    })
}

/// Does the same into a vector.
///
/// # Safety
///
/// That of [`read_two`], and the CPU has AVX.
#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(malkoha_bytes)))]
pub(super) unsafe fn read_pair(from: *const u8, [first, second]: [usize; 2]) -> Pair {
    let pair;
    // SAFETY: both words are readable, as the caller guarantees, and nothing else is accessed.
    unsafe {
        core::arch::asm!(
            "vmovq {pair}, qword ptr [{from} + {first}]",
            "vmovhps {pair}, {pair}, qword ptr [{from} + {second}]",
            pair = out(xmm_reg) pair, from = in(reg) from, first = in(reg) first, second = in(reg) second,
            options(nostack, preserves_flags)
        );
    }
    Pair(pair)
}

/// Reads 16 bytes, each of them as a relaxed atomic, into a vector.
///
/// # Safety
///
/// That of [`read`], for 16 bytes, and the CPU has AVX.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn read_vector(from: *const u8) -> core::arch::x86_64::__m128i {
    #[cfg(not(malkoha_bytes))]
    {
        let vector;
        // SAFETY: the 16 bytes are readable, as the caller guarantees, and nothing else is accessed.
        unsafe {
            core::arch::asm!("vmovdqu {vector}, xmmword ptr [{from}]", vector = lateout(xmm_reg) vector,
                from = in(reg) from, options(nostack, preserves_flags));
        }
        vector
    }
    #[cfg(malkoha_bytes)]
    {
        // SAFETY: the obligation is that of the caller.
        let words = unsafe { read_two(from, [0, 8]) };
        Pair::new(words).0
    }
}

/// Writes a little-endian number to 8 bytes, each of them as a relaxed atomic.
///
/// # Safety
///
/// The bytes are writable, no other thread writes them, and while other threads read them, they do so by [`read`].
#[inline(always)]
pub(super) unsafe fn write(to: *mut u8, number: u64) {
    #[cfg(all(target_arch = "x86_64", not(malkoha_bytes)))]
    // SAFETY: the 8 bytes are writable, as the caller guarantees, and nothing else is accessed.
    unsafe {
        core::arch::asm!("mov qword ptr [{to}], {number}", number = in(reg) number.to_le(),
            to = in(reg) to, options(nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(malkoha_bytes)))]
    // SAFETY: the 8 bytes are writable, as the caller guarantees, and nothing else is accessed.
    unsafe {
        core::arch::asm!("str {number}, [{to}]", number = in(reg) number.to_le(), to = in(reg) to,
            options(nostack, preserves_flags));
    }
    #[cfg(any(malkoha_bytes, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    for (i, byte) in number.to_le_bytes().into_iter().enumerate() {
        use std::sync::atomic::{AtomicU8, Ordering};
        // SAFETY: the byte is one of those that the caller guarantees.
        let to = unsafe { to.add(i) };
        // SAFETY: it is writable, and threads that access it at the same time do so by atomics of one byte, in `read`.
        unsafe { AtomicU8::from_ptr(to) }.store(byte, Ordering::Relaxed);
    }
}

/// The words of a buffer whose owner may change them at any time. It keeps their memory, whatever becomes of the owner.
pub(crate) struct Shared {
    first: NonNull<u64>,
    loads: usize,
    whole: Option<Arc<Words>>,
}

impl Shared {
    /// Makes a way to read `whole`, which is written only as shared words are.
    pub(super) fn new(whole: Arc<Words>) -> Self {
        let (first, loads) = (whole.first(), whole.loads());
        Self { first, loads, whole: Some(whole) }
    }
}

impl Source for Shared {
    #[inline(always)]
    fn loads(&self) -> usize {
        self.loads
    }

    #[inline(always)]
    unsafe fn bytes_at(&self, byte: usize) -> u64 {
        // SAFETY: below `self.loads` is inside the buffer.
        let from = unsafe { self.first.as_ptr().cast::<u8>().add(byte) };
        // SAFETY: from below `self.loads` on, 8 bytes are readable as long as `whole` lives, and the owner
        // writes shared words only by `write`.
        unsafe { read(from) }
    }

    #[inline(always)]
    fn pair_at(&self, bytes: [usize; 2], by: Option<[u64; 2]>, vectors: impl Vectors) -> Pair {
        let ([first, second], loads) = (bytes, self.loads);
        assert!(first < loads && second < loads, "fields begin inside the buffer");
        let from = self.first.as_ptr().cast::<u8>().cast_const();
        match by {
            // SAFETY: both bytes are below `self.loads`, as asserted, and from there on 8 bytes are readable as long as
            // `whole` lives; the owner writes shared words only by `write`.
            None => unsafe { vectors.read_two(from, bytes) },
            // SAFETY: the same.
            Some(by) => unsafe { vectors.read_two_shifted(from, bytes, by) },
        }
    }

    #[inline(always)]
    fn prefetch(&self, at: u64) {
        let (word, _) = split::<64>(at);
        prefetch_line(self.first.as_ptr().wrapping_add(word).cast_const().cast());
    }
}

/// No words.
impl Default for Shared {
    fn default() -> Self {
        Self { first: NonNull::dangling(), loads: 0, whole: None }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.whole).finish()
    }
}

// SAFETY: what can be done with it from several threads is atomic.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

/// Words that several threads read and write, one word at a time.
#[derive(Debug)]
pub(crate) struct AtomicWords(Words);

impl AtomicWords {
    /// Takes words that one thread owns.
    ///
    /// # Panics
    ///
    /// If they are shared.
    pub(crate) fn new(mut words: Words) -> Self {
        // Words that can be borrowed mutably are those of one thread.
        let _: &mut [u64] = &mut words;
        Self(words)
    }

    /// Returns the words to one thread.
    pub(crate) fn into_words(self) -> Words {
        self.0
    }

    /// Returns the words.
    #[inline(always)]
    pub(crate) fn get(&self) -> &[AtomicU64] {
        // SAFETY: the words are aligned and belong to `self`, and nobody reaches them but through these atomics.
        unsafe {
            core::slice::from_raw_parts(self.0.first().as_ptr().cast::<AtomicU64>(), self.0.bytes() / 8)
        }
    }

    /// Prefetches a word.
    #[inline(always)]
    pub(crate) fn prefetch(&self, word: usize) {
        prefetch_line(self.0.first().as_ptr().wrapping_add(word).cast_const().cast());
    }
}
