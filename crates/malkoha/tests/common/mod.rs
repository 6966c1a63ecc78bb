//! Helpers shared by several tests.
#![allow(dead_code, reason = "not every test uses everything")]

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;

use malkoha::{Error, Filter, Mapped};

pub(crate) mod readers;

/// Whether to run the long forms of statistical tests: `MALKOHA_LONG=1 cargo test --release`.
pub(crate) fn long() -> bool {
    std::env::var("MALKOHA_LONG").is_ok_and(|value| value != "0")
}

/// One of two numbers: the first in the short form, the second in the long one.
pub(crate) fn scale(short: u64, long_form: u64) -> u64 {
    if long() { long_form } else { short }
}

/// Runs `work` on every item, on as many threads as there are cores.
pub(crate) fn in_parallel<T: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync) {
    let queue = Mutex::new(items.into_iter().collect::<Vec<_>>());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    // The lock must be released before the work begins.
                    let Some(item) = queue.lock().unwrap().pop() else { break };
                    work(item);
                }
            });
        }
    });
}

/// Maps a file that only this test uses.
#[allow(unsafe_code, reason = "mapping a file")]
pub(crate) fn try_map(path: impl AsRef<Path>) -> Result<Mapped, Error> {
    // SAFETY: each test writes only to its own files, and never to a mapped one.
    unsafe { Filter::map(path) }
}

/// Maps a file that can be mapped. Returns `None` on big-endian machines, after checking how they refuse.
pub(crate) fn map(path: &Path) -> Option<Mapped> {
    let mapped = try_map(path);
    if cfg!(target_endian = "little") {
        return Some(mapped.unwrap());
    }
    let error =
        mapped.map(|_| ()).expect_err("only little-endian machines can use the bytes of a file as words");
    assert!(
        matches!(&error, Error::Io { operation: "map", source, .. } if source.kind() == ErrorKind::Unsupported),
        "{error} is not the error for unsupported maps"
    );
    None
}
