//! `Words`: a zeroed, cache-line aligned buffer of 64-bit words, read and written by bit field.
//!
//! ```text
//!   word    0                1                ...   last used        spare
//!          +----------------+----------------+----+----------------+--------+
//!   bits   | 0 ..        63 | 64 ..      127 |    |                | zeros  |
//!          +----------------+----------------+----+----------------+--------+
//! ```
//!
//! The spare word lets every field be read as two words without asking whether it straddles them.
#![expect(unsafe_code, reason = "fallible zeroed allocation with a chosen alignment, and prefetching")]

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};

use crate::error::Error;

/// Bytes of a cache line, and the alignment of every table.
pub(crate) const LINE_BYTES: usize = 64;

/// A fixed number of words, zero at birth.
pub struct Words {
    first: NonNull<u64>,
    len: usize,
}

impl Words {
    /// The number of bytes that a buffer for `bits` bits occupies: whole cache lines, spare word included.
    pub(crate) const fn bytes_for(bits: u64) -> u64 {
        let words = bits.div_ceil(64) + 1;
        words.div_ceil(LINE_BYTES as u64 / 8) * LINE_BYTES as u64
    }

    /// A zeroed buffer for `bits` bits.
    pub(crate) fn zeroed(bits: u64) -> Result<Self, Error> {
        let bytes = Self::bytes_for(bits);
        let refused = Error::Allocation { bytes };
        let size = usize::try_from(bytes).map_err(|_| refused.clone())?;
        let layout = Layout::from_size_align(size, LINE_BYTES).map_err(|_| refused.clone())?;
        // SAFETY: the layout's size is not zero, because `bytes_for` counts at least the spare word.
        let memory = unsafe { alloc_zeroed(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is aligned to a cache line")]
        let first = NonNull::new(memory.cast::<u64>()).ok_or(refused)?;
        Ok(Self { first, len: size / 8 })
    }

    /// The layout this buffer was allocated with.
    fn layout(&self) -> Layout {
        Layout::from_size_align(self.len * 8, LINE_BYTES).expect("the layout was valid when it was allocated")
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.len * 8
    }

    /// Reads the `width` bits (1 to 64) that begin at bit `at`.
    #[inline(always)]
    pub(crate) fn read(&self, at: u64, width: u32) -> u64 {
        debug_assert!((1..=64).contains(&width), "a field is 1 to 64 bits wide");
        let (word, shift) = split(at);
        // The second shift is done in two parts because shifting by 64 is not defined.
        let low = self[word] >> shift;
        let high = (self[word + 1] << 1) << (63 - shift);
        (low | high) & mask(width)
    }

    /// Writes the low `width` bits (1 to 64) of `value` at bit `at`.
    #[inline(always)]
    pub(crate) fn write(&mut self, at: u64, width: u32, value: u64) {
        debug_assert!(value & !mask(width) == 0, "the value fits its field");
        let (word, shift) = split(at);
        self[word] = (self[word] & !(mask(width) << shift)) | (value << shift);
        if shift + width > 64 {
            let spilled = 64 - shift;
            self[word + 1] = (self[word + 1] & !(mask(width) >> spilled)) | (value >> spilled);
        }
    }

    /// Asks the CPU to fetch the cache line that holds bit `at`. Never faults; a hint and nothing more.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: u64) {
        let (word, _) = split(at);
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let address = self.first.as_ptr().wrapping_add(word).cast::<i8>();
            // SAFETY: SSE is part of x86-64, and a prefetch reads nothing: any address is allowed.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = word;
    }
}

/// Word index and bit within the word.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: what was allocated can be counted")]
const fn split(at: u64) -> (usize, u32) {
    ((at / 64) as usize, (at % 64) as u32)
}

/// The lowest `width` bits set, `width` from 1 to 64.
#[inline(always)]
pub(crate) const fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

impl Deref for Words {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        // SAFETY: `first` points to `len` initialised words that this value owns.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl DerefMut for Words {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `deref`, and `&mut self` makes this the only reference.
        unsafe { core::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Clone for Words {
    /// # Panics
    ///
    /// Like every clone of a collection, when memory runs out.
    fn clone(&self) -> Self {
        let mut copy =
            Self::zeroed(self.len as u64 * 64 - 64).expect("memory for a second table of this size");
        copy.copy_from_slice(self);
        copy
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({} bytes)", self.bytes())
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let layout = self.layout();
        // SAFETY: `first` came from `alloc_zeroed` with this very layout and is not used again.
        unsafe { dealloc(self.first.as_ptr().cast(), layout) };
    }
}

// SAFETY: the words are owned, plain integers; moving them to another thread moves the ownership.
unsafe impl Send for Words {}
// SAFETY: shared references only read.
unsafe impl Sync for Words {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::naive;

    #[test]
    fn fields_agree_with_one_bit_at_a_time() {
        for width in 1..=64 {
            let mut words = Words::zeroed(64 * 20).unwrap();
            let mut model = vec![false; 64 * 20];
            let mut state = 1u64;
            for at in (0..64 * 18).step_by(7) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let value = state & mask(width);
                words.write(at, width, value);
                naive::write(&mut model, at, width, value);
                for probe in at.saturating_sub(70)..at + 70 {
                    assert_eq!(words.read(probe, width), naive::read(&model, probe, width));
                }
            }
        }
    }

    #[test]
    fn the_last_field_can_be_read() {
        let mut words = Words::zeroed(512).unwrap();
        words.write(511, 1, 1);
        assert_eq!(words.read(511, 1), 1);
        assert_eq!(words.read(448, 64), 1 << 63);
        assert_eq!(words.as_ptr() as usize % LINE_BYTES, 0);
    }

    #[test]
    fn absurd_sizes_are_an_error() {
        assert!(matches!(Words::zeroed(u64::MAX / 2), Err(Error::Allocation { .. })));
    }

    #[test]
    fn clones_are_equal_and_debug_is_short() {
        let mut words = Words::zeroed(1000).unwrap();
        words.write(900, 50, 0x1234);
        let copy = words.clone();
        assert_eq!(words, copy);
        assert_eq!(copy.bytes() as u64, Words::bytes_for(1000));
        assert_eq!(format!("{words:?}"), "Words(192 bytes)");
    }
}
