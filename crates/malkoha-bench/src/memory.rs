//! Large memory on pages of a chosen size, and the two instructions that safe Rust lacks: prefetch, and the
//! store that bypasses the caches.
//!
//! The program's allocator is [`Pages`]: every allocation of at least a 2 MiB page gets its own mapping,
//! aligned to 2 MiB, with the advice that [`use_pages`] last chose. So the tables of all contestants, those
//! of other crates included, are on the same kind of pages, and all pages are present before the clock
//! starts.
#![expect(unsafe_code, reason = "an allocator, system calls, prefetching and streaming stores")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;
use std::fs;
use std::hint::black_box;
use std::ptr;

use clap::ValueEnum;

/// Bytes of a large page.
const PAGE: usize = 2 << 20;

/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = 8;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// A cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) [u64; LINE_WORDS]);

/// The size of the pages under large memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageSize {
    /// Pages of 2 MiB, where the system grants them.
    Huge,
    /// Pages of 4 KiB, even where the system would choose larger ones.
    Small,
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Huge => "2 MiB",
            Self::Small => "4 KiB",
        })
    }
}

thread_local! {
    static HUGE: Cell<bool> = const { Cell::new(true) };
}

/// Chooses the pages of large memory that this thread allocates from now on.
///
/// `Small` also forbids larger pages in the process, so that advice given by a filter itself has no effect;
/// `Huge` allows them again.
pub(crate) fn use_pages(size: PageSize) {
    HUGE.set(size == PageSize::Huge);
    let forbid = libc::c_ulong::from(size == PageSize::Small);
    let unused: libc::c_ulong = 0;
    // SAFETY: this prctl takes a flag and three zeros, and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, forbid, unused, unused, unused) };
}

/// The allocator of this program.
pub(crate) struct Pages;

// SAFETY: large layouts (as decided by `is_large` from the layout alone, so that `alloc` and `dealloc` agree)
// get their own private mapping, aligned to 2 MiB, hence to every smaller alignment, and unmapped with the
// length it was mapped with; all others belong to the system allocator throughout.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(mapped_bytes(layout));
        }
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(mapped_bytes(layout)); // fresh mappings are zero
        }
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: `map` returned this address for this length, and the caller has given the memory up.
            unsafe { libc::munmap(memory.cast(), mapped_bytes(layout)) };
            return;
        }
        // SAFETY: the memory is the system allocator's, because its layout is not large.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn is_large(layout: Layout) -> bool {
    layout.size() >= PAGE && layout.align() <= PAGE
}

fn mapped_bytes(layout: Layout) -> usize {
    layout.size().next_multiple_of(PAGE)
}

/// Returns a mapping of whole large pages, aligned to them, advised and present; null if there is no memory.
fn map(bytes: usize) -> *mut u8 {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: an anonymous mapping at an address of the system's choice overlaps nothing.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes + PAGE, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return ptr::null_mut();
    }
    let before = start.cast::<u8>().align_offset(PAGE);
    let memory = start.cast::<u8>().wrapping_add(before);
    if before > 0 {
        // SAFETY: these bytes are the part of the new mapping in front of the aligned address; nobody uses
        // them.
        unsafe { libc::munmap(start, before) };
    }
    if before < PAGE {
        // SAFETY: these bytes are the part of the new mapping behind the aligned pages; nobody uses them.
        unsafe { libc::munmap(memory.wrapping_add(bytes).cast(), PAGE - before) };
    }
    let advice = if HUGE.get() { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
    // SAFETY: the range is exactly the mapping that is left. Unknown advice has no effect.
    unsafe { libc::madvise(memory.cast(), bytes, advice) };
    // SAFETY: as above; brings all pages in, so that no page fault disturbs a measurement.
    unsafe { libc::madvise(memory.cast(), bytes, libc::MADV_POPULATE_WRITE) };
    memory
}

/// Takes this much memory from the system and gives it back, so that what is taken next has been in use.
pub(crate) fn touch(bytes: usize) {
    drop(black_box(vec![1u8; bytes]));
}

/// Returns the share of a large allocation that is on 2 MiB pages, as the system reports it.
pub(crate) fn huge_share<T>(memory: &[T]) -> f64 {
    let (start, bytes) = (memory.as_ptr() as usize, size_of_val(memory));
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    huge_bytes(&smaps, start..start + bytes) as f64 / bytes.max(1) as f64
}

/// Sums `AnonHugePages` of the mappings that begin inside a range or contain its first byte, at most its
/// length.
fn huge_bytes(smaps: &str, range: std::ops::Range<usize>) -> usize {
    let (mut inside, mut kib) = (false, 0);
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("AnonHugePages:") if inside => {
                kib += words.next().and_then(|number| number.parse::<usize>().ok()).unwrap_or(0);
            }
            Some(word) => {
                let bounds = word.split_once('-').map(|(from, to)| (hex(from), hex(to)));
                if let Some((Some(from), Some(to))) = bounds {
                    inside = from < range.end && to > range.start;
                }
            }
            None => {}
        }
    }
    (kib * 1024).min(range.len())
}

/// Returns the MiB of this process on 2 MiB pages.
pub(crate) fn huge_mebibytes() -> usize {
    rollup("AnonHugePages:")
}

/// Returns the MiB of this process that are in memory.
pub(crate) fn resident_mebibytes() -> usize {
    rollup("Rss:")
}

fn rollup(name: &str) -> usize {
    let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or(0) / 1024
}

fn hex(digits: &str) -> Option<usize> {
    usize::from_str_radix(digits, 16).ok()
}

/// Prefetches a line into the first-level cache, or only into the second, where more requests can be in
/// flight.
#[inline(always)]
pub(crate) fn prefetch<const FAR: bool>(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let line = ptr::from_ref(line).cast();
        if FAR {
            // SAFETY: SSE is part of x86-64, and a prefetch reads nothing: any address is allowed.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(line) };
        } else {
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Writes a line past the caches, where the machine can.
#[inline(always)]
pub(crate) fn stream(target: &mut Line, source: &Line) {
    #[cfg(target_arch = "x86_64")]
    for (target, source) in target.0.iter_mut().zip(source.0) {
        // SAFETY: SSE2 is part of x86-64, and the address is that of an exclusive, aligned word. Streaming
        // stores are seen by this thread in order and by others after the fence of `streamed`.
        unsafe { std::arch::x86_64::_mm_stream_si64(ptr::from_mut(target).cast(), source.cast_signed()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        *target = *source;
    }
}

/// Waits until all streamed lines are in memory.
#[inline(always)]
pub(crate) fn streamed() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; a fence touches no memory of its own.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_zero_aligned_and_gives_itself_back() {
        for size in [PageSize::Huge, PageSize::Small] {
            use_pages(size);
            let lines = vec![Line::default(); 3 * PAGE / LINE_BYTES + 1];
            assert_eq!(lines.as_ptr() as usize % PAGE, 0);
            assert!(lines.iter().all(|line| *line == Line::default()));
            assert!((0.0..=1.0).contains(&huge_share(&lines)));
        }
        use_pages(PageSize::Huge);
        let mut grown: Vec<u64> = Vec::new();
        grown.extend(0..PAGE as u64);
        assert!(grown.iter().copied().eq(0..PAGE as u64), "growing across the border keeps the content");
    }

    #[test]
    fn the_account_counts_only_mappings_of_the_range() {
        let smaps =
            "1000-3000 rw-p 0 00:00 0\nAnonHugePages: 8 kB\n3000-9000 rw-p 0 00:00 0\nAnonHugePages: 4 kB\n";
        assert_eq!(huge_bytes(smaps, 0x3000..0x9000), 4096);
        assert_eq!(huge_bytes(smaps, 0x1000..0x9000), 12288);
        assert_eq!(huge_bytes(smaps, 0xA000..0xB000), 0);
    }

    #[test]
    fn a_streamed_line_arrives() {
        let mut target = [Line::default(); 2];
        stream(&mut target[1], &Line([1, 2, 3, 4, 5, 6, 7, 8]));
        streamed();
        assert_eq!(target, [Line::default(), Line([1, 2, 3, 4, 5, 6, 7, 8])]);
    }
}
