//! Bulk builds without memory for sorting: keys are stored one by one instead.
#![expect(unsafe_code, reason = "an allocator that can be told to refuse")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

use malkoha::testing::Stream;
use malkoha::{Filter, Kind, Spec};

/// Allocates from the system until [`LEFT`] zeroed buffers aligned to cache lines have been handed out. (Buffers of
/// 4 MiB and more are mapped and do not come here; lists of keys are smaller.)
struct Scarce;

static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

// SAFETY: the methods do what those of `System` do, or return null, which means that there is no memory.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() == 64 && LEFT.fetch_sub(1, Ordering::Relaxed) <= 0 {
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

/// Runs `work` with `buffers` buffers, after which requests are refused. It must have requested more.
fn with_buffers<T>(buffers: i64, work: impl FnOnce() -> T) -> T {
    LEFT.store(buffers, Ordering::Relaxed);
    let result = work();
    assert!(LEFT.swap(i64::MAX, Ordering::Relaxed) < 0, "more than {buffers} buffers were requested");
    result
}

/// Asserts that two filters hold the same copies of these keys, and in the same slots unless buckets are sorted:
/// those are filled in another form, where keys choose their places differently.
fn assert_same(filter: &Filter, one_by_one: &Filter, keys: &[u64]) {
    let kind = filter.geometry().kind();
    assert!(filter == one_by_one || kind == Kind::Sorted, "{kind}");
    assert_eq!(filter.len(), one_by_one.len(), "{kind}");
    assert!(filter.count_slice(keys).unwrap() == one_by_one.count_slice(keys).unwrap(), "{kind}");
    assert!(filter.contains_slice(keys).into_iter().all(|found| found), "{kind}");
}

/// The only test here, because memory would be scarce for others too.
#[test]
fn keys_that_cannot_be_sorted_are_stored_one_by_one() {
    let mut stream = Stream::new(1);
    for (kind, count) in [(Kind::Windowed(2), 2_000_000), (Kind::Sorted, 5_000_000)] {
        let mut keys: Vec<u64> = (0..count).map(|_| stream.draw()).collect();
        let values: Vec<u16> = keys.iter().map(|key| (key % 16) as u16).collect();
        let spec = Spec::new(count, 0.01).kind(kind);
        for buffers in [0, 7] {
            let mut filter = spec.build().unwrap();
            with_buffers(buffers, || filter.extend(&keys, 2)).unwrap();
            let mut one_by_one = spec.build().unwrap();
            for key in &keys {
                one_by_one.insert(key).unwrap();
            }
            assert_same(&filter, &one_by_one, &keys);

            let mut filter = spec.values(4).build().unwrap();
            with_buffers(buffers, || filter.extend_values(&keys, &values, 2)).unwrap();
            let mut one_by_one = spec.values(4).build().unwrap();
            for (key, value) in keys.iter().zip(&values) {
                one_by_one.insert_value(key, *value).unwrap();
            }
            assert_same(&filter, &one_by_one, &keys);
            assert!(filter.get_slice(&keys).unwrap() == one_by_one.get_slice(&keys).unwrap(), "{kind}");
        }
        // Half of them twice.
        keys.truncate(keys.len() / 2);
        keys.extend_from_within(..);
        let mut filter = spec.build().unwrap();
        with_buffers(3, || filter.extend_unique(&keys, 2)).unwrap();
        let mut one_by_one = spec.build().unwrap();
        assert!(one_by_one.insert_unique_slice(&keys).iter().all(Result::is_ok));
        assert_same(&filter, &one_by_one, &keys);
        assert!(filter.len() <= count / 2, "{kind}");
    }
}
