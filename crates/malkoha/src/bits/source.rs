//! `Source`: words that fields are read from, by one thread or while another thread writes.
//!
//! A search in a table is written once, over a `Source`. [`Words`](super::Words) are read by plain loads;
//! [`Shared`](super::shared::Shared) words by loads that may meet a store of another thread.
#![expect(unsafe_code, reason = "loads at a byte that was compared with the end")]

use super::cpu::Vectors;
use super::pair::Pair;
use super::words::{LOAD_BYTES, SURE_BITS, mask, split};

/// Words that fields are read from.
pub trait Source {
    /// Returns the number of bytes at which a load of 8 bytes may begin, counted from the first.
    fn loads(&self) -> usize;

    /// Reads the 8 bytes from `byte` on as a little-endian number.
    ///
    /// # Safety
    ///
    /// `byte` is below [`loads`](Self::loads).
    unsafe fn bytes_at(&self, byte: usize) -> u64;

    /// Prefetches the cache line that holds bit `at`. Only a hint; never faults.
    fn prefetch(&self, at: u64);

    /// Returns the bits from bit `at` on, lowest first, to the end of the 8 bytes that begin with the byte of that
    /// bit: 64 bits if `at` is the first bit of a byte, and at least [`SURE_BITS`].
    ///
    /// # Panics
    ///
    /// If the bit is beyond the end of the buffer.
    #[inline(always)]
    fn load(&self, at: u64) -> u64 {
        let (word, shift) = self.load_one(at);
        word >> shift
    }

    /// Does [`load`](Self::load) without the shift: returns the loaded word and the distance to shift it down.
    #[inline(always)]
    fn load_one(&self, at: u64) -> (u64, u64) {
        if cfg!(target_endian = "big") {
            return (self.load_words(at), 0);
        }
        let (byte, shift) = split::<8>(at);
        (self.load_at(byte), u64::from(shift))
    }

    /// Does the same for two fields.
    #[inline(always)]
    fn load_two(&self, first: u64, second: u64) -> ([u64; 2], [u64; 2]) {
        if cfg!(target_endian = "big") {
            return ([self.load_words(first), self.load_words(second)], [0, 0]);
        }
        let ((first, first_shift), (second, second_shift)) = (split::<8>(first), split::<8>(second));
        (self.load_two_at(first, second), [u64::from(first_shift), u64::from(second_shift)])
    }

    /// Returns the 64 bits from each of two bytes on.
    #[inline(always)]
    fn load_two_bytes(&self, first: u64, second: u64) -> [u64; 2] {
        if cfg!(target_endian = "big") {
            return [self.load_words(8 * first), self.load_words(8 * second)];
        }
        self.load_two_at(address(first), address(second))
    }

    /// Does [`load_two_bytes`](Self::load_two_bytes) into a pair.
    #[inline(always)]
    fn load_pair_of_bytes(&self, first: u64, second: u64, vectors: impl Vectors) -> Pair {
        if cfg!(target_endian = "big") {
            return Pair::new(self.load_two_bytes(first, second));
        }
        self.pair_at([address(first), address(second)], None, vectors)
    }

    /// Does [`load`](Self::load) for two fields, into a pair.
    #[inline(always)]
    fn load_pair(&self, first: u64, second: u64, vectors: impl Vectors) -> Pair {
        if cfg!(target_endian = "big") {
            return Pair::new([self.load_words(first), self.load_words(second)]);
        }
        let ((first, first_shift), (second, second_shift)) = (split::<8>(first), split::<8>(second));
        self.pair_at([first, second], Some([u64::from(first_shift), u64::from(second_shift)]), vectors)
    }

    /// Reads the bytes from two bytes on as little-endian numbers, and shifts them down.
    #[inline(always)]
    fn pair_at(&self, bytes: [usize; 2], by: Option<[u64; 2]>, vectors: impl Vectors) -> Pair {
        let words = self.load_two_at(bytes[0], bytes[1]);
        match by {
            None => Pair::new(words),
            Some(by) => vectors.shifted(words, by),
        }
    }

    /// Reads the `width` bits (1 to 64) that begin at bit `at`.
    ///
    /// # Panics
    ///
    /// If the field begins beyond the end of the buffer.
    #[inline(always)]
    fn read(&self, at: u64, width: u32) -> u64 {
        debug_assert!((1..=64).contains(&width), "a field is 1 to 64 bits wide");
        let bits = if width <= SURE_BITS { self.load(at) } else { self.load_words(at) };
        bits & mask(width)
    }

    /// Returns the 64 bits from bit `at` on, by whole words: for fields wider than one load, and for big-endian
    /// machines.
    fn load_words(&self, at: u64) -> u64 {
        let (word, shift) = split::<64>(at);
        // The second shift is split in two because a shift by 64 is not defined.
        self.word(word) >> shift | (self.word(word + 1) << 1) << (63 - shift)
    }

    /// Returns a whole word.
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        let byte = index * LOAD_BYTES;
        assert!(byte < self.loads(), "a word is inside the buffer");
        // SAFETY: `byte` is below the number of loads, as asserted.
        u64::from_le(unsafe { self.bytes_at(byte) })
    }

    /// Reads the bytes from `byte` on as a little-endian number.
    #[inline(always)]
    fn load_at(&self, byte: usize) -> u64 {
        assert!(byte < self.loads(), "a field begins inside the buffer");
        // SAFETY: `byte` is below the number of loads, as asserted.
        unsafe { self.bytes_at(byte) }
    }

    #[inline(always)]
    fn load_two_at(&self, first: usize, second: usize) -> [u64; 2] {
        let loads = self.loads();
        // Two branches that are never taken cost less than finding the larger of the two.
        assert!(first < loads && second < loads, "fields begin inside the buffer");
        // SAFETY: `first` is below the number of loads, as asserted.
        let first = unsafe { self.bytes_at(first) };
        // SAFETY: so is `second`.
        let second = unsafe { self.bytes_at(second) };
        [first, second]
    }
}

/// Returns the number of a byte as an address has it.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: held against the end before")]
fn address(byte: u64) -> usize {
    if cfg!(not(target_pointer_width = "64")) {
        assert!(usize::try_from(byte).is_ok(), "fields begin inside the buffer");
    }
    byte as usize
}
