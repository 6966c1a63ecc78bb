//! `Words`: a zeroed, cache-line aligned buffer of 64-bit words, read and written by bit field.
//!
//! ```text
//!   word    0                1                ...   last used        spare words
//!          +----------------+----------------+----+----------------+--------+--------+
//!   bits   | 0 ..        63 | 64 ..      127 |    |                | zeros  | zeros  |
//!          +----------------+----------------+----+----------------+--------+--------+
//! ```
//!
//! The spare words let every field be read by one load of 8 bytes from the byte it begins in, with no check of where
//! it ends. Large buffers use 2 MiB pages where the system has them.
#![expect(unsafe_code, reason = "chosen alignment and pages, loads across words, and prefetching")]

use core::fmt;
use core::ops::{Deref, DerefMut, Range};
use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::Arc;

use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::error::Error;

use super::arena::{self, Block, PAGE_BYTES, Taken};
use super::shared::{self, Shared};
use super::shared_arena::SharedArena;
use super::source::Source;

/// Bytes per cache line, and the alignment of every table.
pub(crate) const LINE_BYTES: usize = 64;

/// The fewest bytes of a buffer that shares large pages with others.
const POOLED_BYTES: usize = 32 << 10;

/// Whether all memory comes from the program's allocator.
const HEAP: bool = cfg!(feature = "heap");

/// Words beyond the last used one.
const SPARE: u64 = 2;

/// Bytes of one load.
pub(super) const LOAD_BYTES: usize = 8;

/// The widest field that one load always holds, at whichever bit of its first byte the field begins.
pub(crate) const SURE_BITS: u32 = 57;

/// A bit that always lies in the last byte of a load, counted from the bit where the field begins.
pub(crate) const LAST_BYTE: u32 = 56;

/// The number of fields that are read together.
pub(crate) const ROW: usize = 64;

/// A fixed number of words, initially zero.
#[repr(C)]
pub struct Words {
    first: NonNull<u64>,
    /// The bytes at which a load of 8 bytes may begin, counted from the first.
    loads: usize,
    memory: Memory,
    /// Other threads may read the words at any time (`shared.rs`).
    shared: bool,
}

/// How the memory is freed. (Boxes keep this small: a filter that grows has many tables.)
enum Memory {
    /// By the `Drop` of this type.
    Heap,
    /// By the `Drop` of the mapping.
    Mapped { _map: Box<MmapMut> },
    /// By the mapping of a file, which may hold more than these words. They are only read.
    #[cfg_attr(not(target_endian = "little"), expect(dead_code, reason = "there maps are refused"))]
    File { _map: Arc<Mmap> },
    /// By the `Drop` of this type, which gives it back to the arena.
    Pooled(Box<Block>),
    /// By the `Drop` of this type, which gives it back to the arena of its filter. Others may read it at any time.
    Lent(Box<(Arc<SharedArena>, Block)>),
    /// Not at all: this buffer is about to be dropped.
    Nobody,
    /// By the buffer that this one is a part of, whose words are read and written only through its parts.
    Part { whole: Arc<Words> },
}

impl Words {
    /// Returns the bytes that a buffer for `bits` bits occupies: whole cache lines, spare words included.
    pub(crate) const fn bytes_for(bits: u64) -> u64 {
        let words = bits.div_ceil(64) + SPARE;
        words.div_ceil(LINE_BYTES as u64 / 8) * LINE_BYTES as u64
    }

    /// Returns the most bits that a buffer of at most `bytes` bytes holds, perhaps 0; `None` if the number overflows.
    pub(crate) const fn bits_in(bytes: u64) -> Option<u64> {
        (bytes / LINE_BYTES as u64 * (LINE_BYTES as u64 / 8)).saturating_sub(SPARE).checked_mul(64)
    }

    /// Allocates a zeroed buffer for `bits` bits. Large buffers are mapped, aligned to large pages, and request them.
    pub(crate) fn zeroed(bits: u64) -> Result<Self, Error> {
        let bytes = Self::bytes_for(bits);
        usize::try_from(bytes)
            .ok()
            .and_then(
                |size| if HEAP || size < 2 * PAGE_BYTES { Self::on_heap(size) } else { Self::mapped(size) },
            )
            .ok_or(Error::Allocation { bytes })
    }

    /// Does the same for one of many buffers of middle size, which share large pages.
    pub(crate) fn pooled(bits: u64) -> Result<Self, Error> {
        let bytes = Self::bytes_for(bits);
        let size = match usize::try_from(bytes) {
            Ok(size @ POOLED_BYTES..PAGE_BYTES) if !HEAP => size,
            _ => return Self::zeroed(bits),
        };
        let Taken { block, first, is_zero } = arena::take(size).ok_or(Error::Allocation { bytes })?;
        let mut words = Self::new(first.cast(), size / 8, Memory::Pooled(Box::new(block)));
        if !is_zero {
            words.fill(0);
        }
        Ok(words)
    }

    /// Refuses buffers that together take more memory than the system can provide, before any of it is used.
    pub(crate) fn expect_room(bytes: u64) -> Result<(), Error> {
        if bytes < PAGE_BYTES as u64 {
            return Ok(());
        }
        Self::zeroed(bytes.saturating_mul(8)).map(drop).map_err(|_| Error::Allocation { bytes })
    }

    /// Allocates a zeroed buffer for `bits` bits that other threads may read at any time, in an arena.
    pub(crate) fn lent(arena: &Arc<SharedArena>, bits: u64) -> Result<Self, Error> {
        let bytes = Self::bytes_for(bits);
        let taken = usize::try_from(bytes).ok().and_then(|size| Some((size, arena.take(size)?)));
        let (size, (block, first)) = taken.ok_or(Error::Allocation { bytes })?;
        let memory = Memory::Lent(Box::new((Arc::clone(arena), block)));
        let mut words = Self::new(first.cast(), size / 8, memory);
        words.shared = true;
        words.clear();
        Ok(words)
    }

    /// Allocates a zeroed buffer for `bits` bits where this one is: in the same arena, if it is in one that other
    /// threads read.
    pub(crate) fn beside(&self, bits: u64) -> Result<Self, Error> {
        match self.arena() {
            Some(arena) => Self::lent(arena, bits).or_else(|_| Self::pooled(bits)),
            None => Self::pooled(bits),
        }
    }

    /// Returns the arena that other threads read, if this buffer is in one.
    pub(crate) fn arena(&self) -> Option<&Arc<SharedArena>> {
        match &self.memory {
            Memory::Lent(lent) => Some(&lent.0),
            _ => None,
        }
    }

    /// Returns the block of this buffer in such an arena.
    pub(super) fn lent_block(&self) -> Option<Block> {
        match &self.memory {
            Memory::Lent(lent) => Some(lent.1),
            _ => None,
        }
    }

    /// Allocates a chunk of an arena: on large pages, if it is large.
    pub(super) fn chunk(bytes: usize) -> Option<Self> {
        if HEAP || bytes < PAGE_BYTES { Self::on_heap(bytes) } else { Self::mapped(bytes) }
    }

    /// Makes a buffer of the `len` words from `first` on, which are readable as long as `memory` lives.
    fn new(first: NonNull<u64>, len: usize, memory: Memory) -> Self {
        Self { first, loads: (8 * len).saturating_sub(LOAD_BYTES - 1), memory, shared: false }
    }

    fn on_heap(size: usize) -> Option<Self> {
        let layout = Layout::from_size_align(size, LINE_BYTES).ok()?;
        // SAFETY: the layout's size is not zero, because `bytes_for` counts at least the spare words.
        let memory = unsafe { alloc_zeroed(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is aligned to a cache line")]
        let first = NonNull::new(memory.cast::<u64>())?;
        Some(Self::new(first, size / 8, Memory::Heap))
    }

    fn mapped(size: usize) -> Option<Self> {
        // One page more than needed, so that the buffer can begin on a large page.
        let mut map = MmapOptions::new().len(size.checked_add(PAGE_BYTES)?).map_anon().ok()?;
        // A hint: without large pages the buffer is slower and otherwise the same.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let begin = map.as_ptr().align_offset(PAGE_BYTES);
        let first = NonNull::from(map.get_mut(begin..begin.checked_add(size)?)?).cast::<u64>();
        Some(Self::new(first, size / 8, Memory::Mapped { _map: Box::new(map) }))
    }

    /// Returns the buffer of `bytes` bytes that a file holds from byte `begin` on; `None` if the file is shorter, or
    /// if the words would not begin on a cache line. Little-endian machines only: the words are the bytes.
    ///
    /// Such a buffer must not be written to: the caller keeps it behind shared references.
    #[cfg(target_endian = "little")]
    pub(crate) fn in_file(map: Arc<Mmap>, begin: usize, bytes: usize) -> Option<Self> {
        let content = map.get(begin..begin.checked_add(bytes)?)?;
        if [content.as_ptr().addr(), bytes].iter().any(|at| !at.is_multiple_of(LINE_BYTES)) || bytes == 0 {
            return None;
        }
        let first = NonNull::from(content).cast::<u64>();
        Some(Self::new(first, bytes / 8, Memory::File { _map: map }))
    }

    /// Splits the buffer before each of the words `cuts`, which ascend. The parts can go to different threads.
    ///
    /// # Panics
    ///
    /// If the cuts do not ascend inside the buffer.
    pub(crate) fn into_parts(self, cuts: &[usize]) -> Vec<Self> {
        let whole = Arc::new(self);
        let begins = core::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([whole.count()]);
        begins
            .zip(ends)
            .map(|(begin, end)| {
                assert!(begin <= end && end <= whole.count(), "cuts ascend inside the buffer");
                // SAFETY: `begin` is at most the length of the buffer.
                let first = unsafe { whole.first.add(begin) };
                let mut part = Self::new(first, end - begin, Memory::Part { whole: Arc::clone(&whole) });
                part.shared = whole.shared;
                part
            })
            .collect()
    }

    /// Joins the parts of a buffer.
    ///
    /// # Panics
    ///
    /// If these are not all parts of one buffer.
    pub(crate) fn join(parts: Vec<Self>) -> Self {
        let mut whole: Option<Arc<Self>> = None;
        for mut part in parts {
            let Memory::Part { whole: same } = core::mem::replace(&mut part.memory, Memory::Nobody) else {
                panic!("only parts can be joined")
            };
            assert!(whole.is_none_or(|whole| Arc::ptr_eq(&whole, &same)), "parts of one buffer");
            whole = Some(same);
        }
        whole.and_then(Arc::into_inner).expect("all parts of one buffer come together")
    }

    /// Returns the number of words. (It is computed, so that what a lookup needs of a table fits into a cache line.)
    #[inline(always)]
    fn count(&self) -> usize {
        self.loads.div_ceil(LOAD_BYTES)
    }

    /// Returns the number of bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.count() * 8
    }

    /// Does [`Source::load`].
    #[inline(always)]
    pub(crate) fn load(&self, at: u64) -> u64 {
        Source::load(self, at)
    }

    /// Does [`Source::load_one`].
    #[inline(always)]
    pub(crate) fn load_one(&self, at: u64) -> (u64, u64) {
        Source::load_one(self, at)
    }

    /// Does [`Source::load_two`].
    #[inline(always)]
    pub(crate) fn load_two(&self, first: u64, second: u64) -> ([u64; 2], [u64; 2]) {
        Source::load_two(self, first, second)
    }

    /// Does [`Source::read`].
    #[inline(always)]
    pub(crate) fn read(&self, at: u64, width: u32) -> u64 {
        Source::read(self, at, width)
    }

    /// Lets other threads read the words at any time: returns the way to do so. From now on the words are written by
    /// field, or all at once by [`clear`](Self::clear).
    pub(crate) fn share(&mut self) -> Shared {
        let memory = core::mem::replace(&mut self.memory, Memory::Nobody);
        let mut whole = Self::new(self.first, self.count(), memory);
        whole.shared = true;
        let whole = Arc::new(whole);
        self.memory = Memory::Part { whole: Arc::clone(&whole) };
        self.shared = true;
        Shared::new(whole)
    }

    /// Takes back what [`share`](Self::share) gave away. The words are those of one thread again.
    pub(crate) fn take_back(&mut self, shared: Shared) {
        drop(shared);
        let Memory::Part { whole } = core::mem::replace(&mut self.memory, Memory::Nobody) else {
            panic!("only shared words are taken back")
        };
        let mut whole = Arc::into_inner(whole).expect("what was given away has come back");
        self.memory = core::mem::replace(&mut whole.memory, Memory::Nobody);
        self.shared = false;
    }

    /// Copies the words of another buffer of this length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub(crate) fn copy_words(&mut self, from: &[u64]) {
        assert_eq!(self.count(), from.len(), "as many words");
        for (index, word) in from.iter().enumerate() {
            self.put_word(index, *word);
        }
    }

    /// Sets all words to zero.
    pub(crate) fn clear(&mut self) {
        if !self.shared {
            return self.fill(0);
        }
        for word in 0..self.count() {
            self.put_word(word, 0);
        }
    }

    /// Returns whether other threads may read the words at any time.
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Returns the words, which are not shared, without a check.
    ///
    /// # Safety
    ///
    /// The words are not [shared](Self::is_shared).
    #[inline(always)]
    pub(super) unsafe fn unshared_mut(&mut self) -> &mut [u64] {
        debug_assert!(!self.shared && !matches!(self.memory, Memory::File { .. }), "words of one thread");
        // SAFETY: as in `deref_mut`; the caller guarantees that nobody else reads.
        unsafe { core::slice::from_raw_parts_mut(self.first.as_ptr(), self.count()) }
    }

    /// Returns the address of the first word.
    pub(super) fn first(&self) -> NonNull<u64> {
        self.first
    }

    /// Does [`load`](Self::load) for a row of bits. A plain loop without a branch: on a CPU with the instructions, it
    /// reads several fields at once.
    #[inline(always)]
    pub(crate) fn load_row(&self, at: &[u64; ROW]) -> [u64; ROW] {
        if cfg!(target_endian = "big") {
            return at.map(|at| self.load_words(at));
        }
        let last = at.iter().fold(0, |last, at| last.max(*at));
        // Compared before it is truncated to the width of an address: after that it might not be the last.
        assert!(last / 8 < self.loads as u64, "all fields begin inside the buffer");
        let mut fields = [0; ROW];
        for (field, at) in fields.iter_mut().zip(at) {
            let (byte, shift) = split::<8>(*at);
            // SAFETY: the last `byte` is below `self.loads`, as asserted.
            *field = unsafe { self.bytes_at(byte) } >> shift;
        }
        fields
    }

    /// Replaces the bits in `mask`, of those that [`load`](Self::load) returns, by `bits`. Neither has bits beyond
    /// that load.
    #[inline(always)]
    pub(crate) fn store(&mut self, at: u64, mask: u64, bits: u64) {
        debug_assert!(bits & !mask == 0, "the bits are in their mask");
        let (byte, shift) = split::<8>(at);
        debug_assert!(mask.leading_zeros() >= shift, "the field is within one load");
        if cfg!(target_endian = "big") {
            return self.store_words(at, mask, bits);
        }
        assert!(byte < self.loads, "a field begins inside the buffer");
        // SAFETY: `byte` is below `self.loads`, as asserted.
        let old = unsafe { self.bytes_at(byte) };
        let new = (old & !(mask << shift)) | (bits << shift);
        // SAFETY: `byte` is below `self.loads`, as asserted.
        unsafe { self.put_bytes_at(byte, new) };
    }

    /// Writes back a changed word that [`load_one`](Self::load_one) loaded at the same bit. Nothing else may have
    /// changed in between.
    #[inline(always)]
    pub(crate) fn store_back(&mut self, at: u64, word: u64) {
        if cfg!(target_endian = "big") {
            return self.store_words(at, u64::MAX, word);
        }
        let (byte, _) = split::<8>(at);
        assert!(byte < self.loads, "a field begins inside the buffer");
        // SAFETY: `byte` is below `self.loads`, as asserted.
        unsafe { self.put_bytes_at(byte, word) };
    }

    /// Writes a little-endian number to the 8 bytes from `byte` on.
    ///
    /// # Safety
    ///
    /// `byte` is below `self.loads`.
    #[inline(always)]
    unsafe fn put_bytes_at(&mut self, byte: usize, number: u64) {
        debug_assert!(!matches!(self.memory, Memory::File { .. }), "a mapped file is only read");
        // SAFETY: below `self.loads` is inside the buffer.
        let to = unsafe { self.first.as_ptr().cast::<u8>().add(byte) };
        // Where it takes no more time, all words are written as shared ones are.
        if shared::IS_ONE_INSTRUCTION || self.shared {
            // SAFETY: from below `self.loads` on, `LOAD_BYTES` bytes are writable, and nobody else writes to them,
            // because `self` is borrowed mutably. Others read shared words by `shared::read`. Buffers in files are
            // never reached by `&mut`, as in `deref_mut`.
            unsafe { shared::write(to, number) };
        } else {
            // SAFETY: as above, and nobody else reads; an array of bytes needs no alignment.
            unsafe { to.cast::<[u8; LOAD_BYTES]>().write(number.to_le_bytes()) };
        }
    }

    /// Writes a whole word.
    #[inline(always)]
    pub(super) fn put_word(&mut self, index: usize, word: u64) {
        let byte = index * LOAD_BYTES;
        assert!(byte < self.loads, "a word is inside the buffer");
        // SAFETY: `byte` is below `self.loads`, as asserted.
        unsafe { self.put_bytes_at(byte, word.to_le()) };
    }

    /// Writes the low `width` bits (1 to 64) of `value` at bit `at`.
    #[inline(always)]
    pub(crate) fn write(&mut self, at: u64, width: u32, value: u64) {
        debug_assert!(value & !mask(width) == 0, "the value fits its field");
        if width <= SURE_BITS {
            self.store(at, mask(width), value);
        } else {
            self.store_words(at, mask(width), value);
        }
    }

    /// Replaces the bits in `mask`, of the 64 bits from bit `at` on, by `bits`, by whole words.
    fn store_words(&mut self, at: u64, mask: u64, bits: u64) {
        let (word, shift) = split::<64>(at);
        self.put_word(word, (self[word] & !(mask << shift)) | (bits << shift));
        let above = |bits: u64| (bits >> 1) >> (63 - shift);
        if above(mask) != 0 {
            self.put_word(word + 1, (self[word + 1] & !above(mask)) | above(bits));
        }
    }

    /// Returns the words of a range of bits that begins and ends with a word.
    #[allow(clippy::cast_possible_truncation, reason = "32-bit targets: what was allocated can be counted")]
    pub(crate) fn words(&self, bits: Range<u64>) -> &[u64] {
        debug_assert!(bits.start.is_multiple_of(64) && bits.end.is_multiple_of(64), "the range is words");
        &self[(bits.start / 64) as usize..(bits.end / 64) as usize]
    }

    /// Does [`Source::prefetch`].
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: u64) {
        Source::prefetch(self, at);
    }
}

impl Source for Words {
    #[inline(always)]
    fn loads(&self) -> usize {
        self.loads
    }

    #[inline(always)]
    unsafe fn bytes_at(&self, byte: usize) -> u64 {
        // SAFETY: below `self.loads` is inside the buffer.
        let from = unsafe { self.first.as_ptr().cast::<u8>().add(byte) };
        // SAFETY: from below `self.loads` on, `LOAD_BYTES` bytes are readable, and nobody writes to them while `self`
        // is borrowed; an array of bytes needs no alignment.
        u64::from_le_bytes(unsafe { from.cast::<[u8; LOAD_BYTES]>().read() })
    }

    /// It goes to the second-level cache, which can wait for more lines at a time than the first level: twice as many
    /// on the machine where this was measured.
    #[inline(always)]
    fn prefetch(&self, at: u64) {
        let (word, _) = split::<64>(at);
        prefetch_line(self.first.as_ptr().wrapping_add(word).cast_const().cast());
    }
}

/// Returns whether a table of this size stays in the cache, so that prefetching gains nothing: a second-level cache
/// holds it, and consecutive lookups hide its latency.
#[inline(always)]
pub(crate) const fn stays_in_cache(bytes: usize) -> bool {
    bytes <= 1 << 20
}

/// Prefetches the cache line at an address. Only a hint; never faults.
#[inline(always)]
pub(super) fn prefetch_line(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch reads nothing: any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Returns the index of the unit of `BITS` bits that holds bit `at`, and the bit within it.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "32-bit targets: what was allocated can be counted")]
pub(super) const fn split<const BITS: u64>(at: u64) -> (usize, u32) {
    ((at / BITS) as usize, (at % BITS) as u32)
}

/// Returns a word with the lowest `width` bits set, `width` from 1 to 64.
#[inline(always)]
pub(crate) const fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

impl Deref for Words {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        // SAFETY: `first` points to `len` initialised words that this value owns, or that lie in a file that it keeps
        // mapped.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.count()) }
    }
}

impl DerefMut for Words {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64] {
        debug_assert!(!matches!(self.memory, Memory::File { .. }), "a mapped file is only read");
        assert!(!self.shared, "shared words are written by field");
        // SAFETY: as in `deref`, and `&mut self` makes this the only reference. Buffers in files, which must not be
        // written to, are never reached by `&mut`: `store::Mapped` owns them and offers none.
        unsafe { core::slice::from_raw_parts_mut(self.first.as_ptr(), self.count()) }
    }
}

impl Clone for Words {
    /// # Panics
    ///
    /// Like every clone of a collection, when memory runs out.
    fn clone(&self) -> Self {
        let bits = (self.count() as u64 - SPARE) * 64;
        let mut copy = Self::zeroed(bits).expect("memory for a second table of this size");
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
        match &self.memory {
            Memory::Pooled(block) => arena::give(**block),
            Memory::Lent(lent) => lent.0.give(lent.1),
            _ => {}
        }
        if matches!(self.memory, Memory::Heap) {
            let layout =
                Layout::from_size_align(self.count() * 8, LINE_BYTES).expect("a layout that was allocated");
            // SAFETY: `first` came from `alloc_zeroed` with this layout and is not used again.
            unsafe { dealloc(self.first.as_ptr().cast(), layout) };
        }
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
                    let expected = naive::read(&model, probe, width);
                    assert_eq!(words.read(probe, width), expected);
                    assert_eq!(words.load_words(probe) & mask(width), expected);
                    let sure = if probe.is_multiple_of(8) { 64 } else { SURE_BITS };
                    assert_eq!(words.load(probe) & mask(width.min(sure)), expected & mask(width.min(sure)));
                }
                // The same by whole words, and rows of fields.
                let mut other = words.clone();
                other.store_words(at, mask(width), value ^ mask(width));
                other.store_words(at, mask(width), value);
                assert_eq!(other, words);
                let row = core::array::from_fn(|i| (at + i as u64).min(64 * 18));
                assert_eq!(words.load_row(&row), row.map(|at| words.load(at)));
                for at in row {
                    let (field, bits) =
                        (mask(width.min(SURE_BITS)) & !1, state & mask(width.min(SURE_BITS)) & !1);
                    other.store(at, field, bits);
                    assert_eq!(other.load(at) & field, bits);
                    other.store(at, field, words.load(at) & field);
                    assert_eq!(other, words, "nothing else has changed");
                }
            }
        }
    }

    #[test]
    fn the_last_field_can_be_read_on_every_kind_of_memory() {
        for bits in [1, 63, 64, 384, 385, 512, 64 * 1_000_000 - 1] {
            let mut words = Words::zeroed(bits).unwrap();
            words.write(bits - 1, 1, 1);
            assert_eq!(words.read(bits - 1, 1), 1);
            assert_eq!(words.read(bits - 1, 64), 1);
            assert_eq!(words.as_ptr() as usize % LINE_BYTES, 0);
            assert!(words.clone() == words);
        }
    }

    #[test]
    fn parts_are_disjoint_and_come_together_again() {
        let mut words = Words::zeroed(64 * 100).unwrap();
        words[99] = 7;
        let mut parts = words.into_parts(&[10, 10, 64]);
        assert_eq!(parts.iter().map(|part| part.len()).sum::<usize>(), 104);
        std::thread::scope(|scope| {
            for (i, part) in parts.iter_mut().enumerate() {
                scope.spawn(move || part.fill(i as u64 + 1));
            }
        });
        let words = Words::join(parts);
        assert_eq!((words[0], words[9], words[10], words[63], words[64], words[103]), (1, 1, 3, 3, 4, 4));
    }

    #[test]
    #[should_panic(expected = "all parts of one buffer come together")]
    fn a_part_alone_is_not_the_whole() {
        let mut parts = Words::zeroed(640).unwrap().into_parts(&[5]);
        parts.pop().map(|kept| (Words::join(parts), kept));
    }

    #[test]
    fn absurd_sizes_are_an_error() {
        assert!(matches!(Words::expect_room(1 << 60), Err(Error::Allocation { bytes }) if bytes == 1 << 60));
        assert!(Words::expect_room(0).is_ok() && Words::expect_room(64 << 20).is_ok());
        assert!(matches!(Words::zeroed(u64::MAX / 2), Err(Error::Allocation { .. })));
    }

    #[test]
    fn clones_are_equal_and_debug_is_short() {
        let mut words = Words::zeroed(1000).unwrap();
        words.write(900, 50, 0x1234);
        let copy = words.clone();
        assert_eq!(words, copy);
        assert_eq!(copy.bytes() as u64, Words::bytes_for(1000));
        for bytes in 0..1000 {
            let bits = Words::bits_in(bytes).unwrap();
            assert!(bits == 0 || Words::bytes_for(bits) <= bytes);
            assert!(Words::bytes_for(bits + 1) > bytes, "{bytes}");
        }
        assert_eq!(format!("{words:?}"), "Words(192 bytes)");
        words.write(0, 1, 1);
        assert_ne!(words, copy);
    }
}
