//! The data types: filters as values of keys.
//!
//! ```text
//!   cuckoo.rs     RedisBloom's cuckoo filters        bloom.rs     RedisBloom's Bloom filters
//!   engine.rs     filters of the engine              items.rs     items as its keys
//!   engine_stream.rs   in files      transfer.rs   in chunks      pieces.rs  bytes in chunks
//!   plan.rs       what they are made with
//! ```

pub mod bloom;
pub mod cuckoo;
pub mod engine;
mod engine_stream;
mod items;
pub mod pieces;
pub mod plan;
pub mod transfer;

use core::ffi::CStr;
use core::ops::{Deref, DerefMut};

use crate::metrics::{Counted, Gauge};
use crate::server::stream::Rewriter;

/// A filter that a key holds, counted as long as it exists.
pub struct Kept<F> {
    filter: F,
    _counted: Counted,
}

impl<F> Kept<F> {
    fn new(filter: F, gauge: &'static Gauge) -> Self {
        Self { filter, _counted: Counted::new(gauge) }
    }
}

impl<F> Deref for Kept<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.filter
    }
}

impl<F> DerefMut for Kept<F> {
    fn deref_mut(&mut self) -> &mut F {
        &mut self.filter
    }
}

/// Writes a filter in RedisBloom's layout as the commands that load its dump: the header, and chunks that are not all
/// zeros, as new tables are.
fn rewrite_dump<'a>(
    to: &mut Rewriter,
    command: &CStr,
    header: &[u8],
    chunk: impl Fn(u64) -> Option<(u64, &'a [u8])>,
) {
    let mut position = 1;
    to.chunk(command, position, header);
    while let Some((next, bytes)) = chunk(position) {
        if bytes.iter().any(|byte| *byte != 0) {
            to.chunk(command, next, bytes);
        }
        position = next;
    }
}
