//! Memory: everything that the module allocates comes from the server, which counts it.
#![expect(unsafe_code, reason = "an allocator")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;
use std::alloc::System;

use super::api::{Api, api_if_met};

/// The alignment that every allocation of the server has. Some servers put their own word in front of what the system's
/// allocator returns, so more than that of a word is not taken for granted.
const SURE_ALIGNMENT: usize = 8;

/// Zeroed blocks from this size on are asked of the server as such: the system hands out large blocks as pages that
/// become zero when they are first used, instead of writing all of them now.
const LARGE: usize = 1 << 20;

/// The allocator of the module: the server's, and without a server, in tests, the system's.
///
/// The server is met before the module allocates anything, so no block is freed by another allocator than its own.
pub struct ServerAllocator;

#[global_allocator]
static ALLOCATOR: ServerAllocator = ServerAllocator;

thread_local! {
    /// Bytes that this thread has allocated and not freed, as the server counts them. Negative if it has freed what
    /// others have allocated.
    static BALANCE: Cell<isize> = const { Cell::new(0) };
}

/// Adds the size of a block of the server to the balance of this thread, or takes it off.
fn account(api: &Api, block: *mut u8, sign: isize) {
    if block.is_null() {
        return;
    }
    // SAFETY: the block came from the server and has not been freed.
    let size = unsafe { (api.malloc_size)(block.cast()) };
    BALANCE.set(BALANCE.get().wrapping_add_unsigned(size.wrapping_mul(sign.cast_unsigned())));
}

/// Returns what `work` returns, and by how many bytes it has changed the memory that is allocated.
pub fn measured<R>(work: impl FnOnce() -> R) -> (R, isize) {
    let before = BALANCE.get();
    let result = work();
    (result, BALANCE.get().wrapping_sub(before))
}

/// Bytes to ask for, so that a block of this layout fits at any address that the server returns. Blocks of a larger
/// alignment keep the address of the server's block in the word before them.
fn padded(layout: Layout) -> Option<usize> {
    if layout.align() <= SURE_ALIGNMENT {
        return Some(layout.size().max(1));
    }
    layout.size().checked_add(layout.align())?.checked_add(size_of::<usize>())
}

/// The first aligned address of a block of `padded(layout)` bytes.
///
/// # Safety
///
/// `block` is null, or has that many bytes and nobody else uses it.
unsafe fn align(block: *mut u8, layout: Layout) -> *mut u8 {
    if block.is_null() || layout.align() <= SURE_ALIGNMENT {
        return block;
    }
    let word = size_of::<usize>();
    let first = (block.addr() + word).next_multiple_of(layout.align());
    // SAFETY: `first` is at most a word and an alignment after the start of the block, which is that much longer.
    let aligned = unsafe { block.add(first - block.addr()) };
    // SAFETY: at least a word lies between the start of the block and `aligned`.
    let before = unsafe { aligned.sub(word) };
    #[expect(clippy::cast_ptr_alignment, reason = "`aligned` is aligned to more than a word")]
    // SAFETY: `before` is inside the block, and aligned to a word because `aligned` is to more.
    unsafe {
        before.cast::<*mut u8>().write(block);
    };
    aligned
}

/// The block that the server returned for an address made by [`align`].
///
/// # Safety
///
/// `aligned` was returned by [`align`] for this layout.
unsafe fn block_of(aligned: *mut u8, layout: Layout) -> *mut u8 {
    if layout.align() <= SURE_ALIGNMENT {
        return aligned;
    }
    // SAFETY: the word before is inside the same block.
    let before = unsafe { aligned.sub(size_of::<usize>()) };
    #[expect(clippy::cast_ptr_alignment, reason = "`aligned` is aligned to more than a word")]
    // SAFETY: `align` has written it.
    unsafe {
        before.cast::<*mut u8>().read()
    }
}

/// A block of the server; null if there is no memory, where the server can say so instead of ending itself.
fn take(api: &Api, bytes: usize) -> *mut u8 {
    // SAFETY: no obligations; the size is not zero.
    unsafe { api.try_alloc.unwrap_or(api.alloc)(bytes) }.cast()
}

/// A block of the server that is zero.
fn take_zeroed(api: &Api, bytes: usize) -> *mut u8 {
    if let Some(try_calloc) = api.try_calloc {
        // SAFETY: no obligations.
        return unsafe { try_calloc(1, bytes) }.cast();
    }
    let probe = take(api, bytes);
    if probe.is_null() || bytes < LARGE {
        if !probe.is_null() {
            // SAFETY: the block has that many bytes.
            unsafe { probe.write_bytes(0, bytes) };
        }
        return probe;
    }
    // `Calloc` ends the server if there is no memory, so it is asked only after the same size was to be had.
    // SAFETY: the block was just returned by the server.
    unsafe { (api.free)(probe.cast()) };
    // SAFETY: no obligations.
    unsafe { (api.calloc)(1, bytes) }.cast()
}

// SAFETY: blocks come from the server's allocator or the system's, are large enough and aligned (`padded`, `align`),
// and return to the allocator that they came from, because which one it is never changes after the first allocation.
unsafe impl GlobalAlloc for ServerAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(api) = api_if_met() else {
            // SAFETY: the same obligations as ours.
            return unsafe { System.alloc(layout) };
        };
        let Some(bytes) = padded(layout) else { return ptr::null_mut() };
        let block = take(api, bytes);
        account(api, block, 1);
        // SAFETY: the block is new and has the padded size.
        unsafe { align(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(api) = api_if_met() else {
            // SAFETY: the same obligations as ours.
            return unsafe { System.alloc_zeroed(layout) };
        };
        let Some(bytes) = padded(layout) else { return ptr::null_mut() };
        let block = take_zeroed(api, bytes);
        account(api, block, 1);
        // SAFETY: the block is new and has the padded size.
        unsafe { align(block, layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let Some(api) = api_if_met() else {
            // SAFETY: the same obligations as ours.
            return unsafe { System.dealloc(pointer, layout) };
        };
        // SAFETY: the caller's pointer was returned by `align` for this layout.
        let block = unsafe { block_of(pointer, layout) };
        account(api, block, -1);
        // SAFETY: the block came from the server, and the caller does not use it any more.
        unsafe { (api.free)(block.cast()) }
    }
}

/// Bytes of zeros; `None` if there is no memory for them. Pages of large blocks are taken when they are first written.
pub fn zeroed(len: usize) -> Option<Box<[u8]>> {
    if len == 0 {
        return Some(Box::default());
    }
    let layout = Layout::array::<u8>(len).ok()?;
    // SAFETY: the size is not zero.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    if memory.is_null() {
        return None;
    }
    // SAFETY: the allocator of all boxes returned this block of `len` bytes, which are initialised.
    Some(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(memory, len)) })
}

/// Asks the processor to fetch the memory of a byte that is needed soon. Only a hint: there need not be such a byte.
#[inline]
pub fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch reads nothing: any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast()) };
    }
    // Elsewhere the byte is read: nobody waits for what it is.
    #[cfg(not(target_arch = "x86_64"))]
    core::hint::black_box(bytes.get(at).copied());
}

/// A copy of bytes; `None` if there is no memory for it.
pub fn copy(bytes: &[u8]) -> Option<Box<[u8]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).ok()?;
    copy.extend_from_slice(bytes);
    Some(copy.into_boxed_slice())
}

/// The memory that the server counts for a box: the bytes of its content in tests without one.
#[expect(clippy::borrowed_box, reason = "only a box is sure to be a block of the allocator")]
pub fn allocated<T: ?Sized>(block: &Box<T>) -> usize {
    let size = size_of_val(&**block);
    if size == 0 {
        return 0;
    }
    match api_if_met() {
        // A block of a larger alignment begins somewhere before its content.
        Some(api) if align_of_val(&**block) <= SURE_ALIGNMENT => {
            // SAFETY: the box is a block that the server's allocator returned (`align` changes nothing here).
            unsafe { (api.malloc_size)(ptr::from_ref(&**block).cast_mut().cast()) }
        }
        _ => size,
    }
}

/// The memory that the server counts for a vector's block, as [`allocated`].
pub fn allocated_vec<T>(vec: &Vec<T>) -> usize {
    if vec.capacity() == 0 || size_of::<T>() == 0 {
        return 0;
    }
    match api_if_met() {
        Some(api) if align_of::<T>() <= SURE_ALIGNMENT => {
            // SAFETY: a vector with room for something begins where its block does.
            unsafe { (api.malloc_size)(vec.as_ptr().cast_mut().cast()) }
        }
        _ => vec.capacity() * size_of::<T>(),
    }
}

/// Makes the server's block its own: it is freed like any box.
///
/// # Safety
///
/// The server's allocator has returned `block` with at least `len` bytes, all initialised, and nobody else uses it.
pub unsafe fn adopt(block: *mut u8, len: usize) -> Box<[u8]> {
    if len > 0 {
        // SAFETY: blocks of alignment 1 are the server's blocks themselves (`padded`, `align`).
        return unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(block, len)) };
    }
    if let Some(api) = api_if_met() {
        // SAFETY: the block came from the server; an empty box would not free it.
        unsafe { (api.free)(block.cast()) };
    }
    Box::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_alignment_lead_back_to_what_was_allocated() {
        for shift in 0..13 {
            let layout = Layout::from_size_align(100, 1 << shift).unwrap();
            let mut memory = vec![0u64; padded(layout).unwrap().div_ceil(8) + 1];
            let block = memory.as_mut_ptr().cast::<u8>();
            // SAFETY: the vector has the padded size.
            let aligned = unsafe { align(block, layout) };
            assert!(aligned.addr().is_multiple_of(layout.align()));
            assert!(aligned.addr() + 100 <= block.addr() + padded(layout).unwrap());
            // SAFETY: `aligned` was just made by `align`.
            assert_eq!(unsafe { block_of(aligned, layout) }, block);
        }
        assert_eq!(
            padded(Layout::from_size_align(isize::MAX as usize - 63, 64).unwrap()),
            Some(isize::MAX as usize + 9)
        );
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(zeroed(usize::MAX).is_none());
        assert!(zeroed(isize::MAX as usize).is_none());
        assert_eq!(zeroed(3).unwrap()[..], [0, 0, 0]);
    }
}
