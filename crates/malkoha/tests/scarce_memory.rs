//! Many keys at once where there is no memory to sort them: they are stored one by one instead.
#![expect(unsafe_code, reason = "an allocator that can be told to refuse")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use malkoha::testing::Stream;
use malkoha::{Kind, Spec};

/// Memory as from the system, but for buffers that are aligned to cache lines while these are scarce.
struct Scarce;

static SCARCE: AtomicBool = AtomicBool::new(false);
static REFUSED: AtomicU64 = AtomicU64::new(0);

// SAFETY: the methods do what those of `System` do, or return null, which says that there is no memory.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if SCARCE.load(Ordering::Relaxed) && layout.align() == 64 {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; all memory is from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Scarce = Scarce;

/// What `work` gives while memory is scarce. It must have asked for some.
fn scarce<T>(work: impl FnOnce() -> T) -> T {
    let before = REFUSED.load(Ordering::Relaxed);
    SCARCE.store(true, Ordering::Relaxed);
    let result = work();
    SCARCE.store(false, Ordering::Relaxed);
    assert!(REFUSED.load(Ordering::Relaxed) > before, "memory was asked for");
    result
}

/// One test, because others would find memory scarce too.
#[test]
fn keys_that_cannot_be_sorted_are_stored_one_by_one() {
    let mut stream = Stream::new(1);
    for (kind, count) in [(Kind::Windowed(2), 2_000_000), (Kind::Sorted, 5_000_000)] {
        let keys: Vec<u64> = (0..count).map(|_| stream.draw()).collect();
        let values: Vec<u16> = keys.iter().map(|key| (key % 16) as u16).collect();
        let spec = Spec::new(count, 0.01).kind(kind);

        let mut filter = spec.build().unwrap();
        scarce(|| filter.extend(&keys, 2)).unwrap();
        assert_eq!(filter.len(), count);
        assert!(filter.contains_slice(&keys).into_iter().all(|found| found), "{kind}");
        let mut one_by_one = spec.build().unwrap();
        one_by_one.insert_slice(&keys).unwrap();
        assert!(filter == one_by_one, "{kind}");

        let mut filter = spec.build().unwrap();
        let stored = scarce(|| filter.extend_unique(&keys, 2)).unwrap();
        assert_eq!(filter.len(), stored);
        assert!(filter.contains_slice(&keys).into_iter().all(|found| found), "{kind}");

        if kind != Kind::Sorted {
            let mut filter = spec.values(4).build().unwrap();
            scarce(|| filter.extend_with(&keys, &values, 2)).unwrap();
            let missing = |(key, value): (&u64, &u16)| !filter.get(key).unwrap().contains(value);
            assert_eq!(keys.iter().zip(&values).filter(|pair| missing(*pair)).count(), 0, "{kind}");
        }
    }
}
