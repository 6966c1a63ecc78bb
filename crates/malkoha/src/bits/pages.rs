//! Large pages for buffers that are vectors.
#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "advice to the system about memory"))]

/// Bytes of a large page.
pub(crate) const PAGE_BYTES: usize = 2 << 20;

/// Makes a buffer as long as asked, on large pages if it is new and they are worth it. What an earlier use
/// has left in it stays: everything is going to be written.
pub(crate) fn resize<T: Copy>(buffer: &mut Vec<T>, len: usize, fill: T) {
    if buffer.capacity() < len {
        *buffer = Vec::with_capacity(len);
        ask_for_large_pages(buffer);
    }
    buffer.resize(len, fill);
}

/// A wish: without them a buffer is slower and otherwise the same.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(buffer: &mut Vec<T>) {
    let memory = buffer.spare_capacity_mut();
    let begin = memory.as_mut_ptr().cast::<u8>();
    let before = begin.align_offset(PAGE_BYTES);
    let whole = size_of_val(memory).saturating_sub(before) / PAGE_BYTES * PAGE_BYTES;
    if whole > 0 {
        // SAFETY: the pages lie inside memory that the vector owns, and this advice changes nothing that can
        // be read there.
        unsafe { libc::madvise(begin.wrapping_add(before).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::resize;

    #[test]
    fn buffers_are_as_long_as_asked_and_keep_their_memory() {
        let mut buffer = vec![7u64; 3];
        resize(&mut buffer, 2, 0);
        assert_eq!(buffer, [7, 7]);
        resize(&mut buffer, 1 << 20, 5);
        assert!(buffer.len() == 1 << 20 && buffer.iter().all(|&word| word == 5));
        let first = buffer.as_ptr();
        resize(&mut buffer, 10, 0);
        resize(&mut buffer, 1 << 20, 9);
        assert_eq!(buffer.as_ptr(), first);
    }
}
