//! Plain slices of words: their bytes, and their pages.
#![expect(unsafe_code, reason = "words as bytes")]

/// Returns the bytes of words, in native byte order.
pub(crate) fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: the bytes of initialised words are initialised, there are eight to a word, and bytes need no
    // alignment.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Returns the same bytes, mutable.
pub(crate) fn bytes_of_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`; any bytes are valid words; and the words are borrowed mutably for as long as their
    // bytes are.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Writes to every page of words that are zero, so that the system allocates their memory now.
pub(crate) fn touch_pages(words: &mut [u64]) {
    const SMALLEST_PAGE: usize = 4096;
    words.iter_mut().step_by(SMALLEST_PAGE / 8).for_each(|word| *word = core::hint::black_box(0));
}
