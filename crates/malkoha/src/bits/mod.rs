//! Words, bit fields and lanes: the memory under every filter.
//!
//! Everything above this module is safe code. It may rely on this: [`Words`] is zeroed, aligned to a cache line and
//! ends in spare words, so that a field that begins inside the table can always be read with one load; [`lanes`] are
//! exact for the two questions they answer; a [`Block`] is one cache line; every [`Cpu`](cpu::Cpu) gives the same
//! results, some of them faster.

mod arena;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod block;
pub(crate) mod chosen;
pub(crate) mod cpu;
pub(crate) mod drawn;
pub(crate) mod lanes;
pub(crate) mod loops;
#[cfg(test)]
pub(crate) mod naive;
pub(crate) mod pair;
pub(crate) mod placed;
pub(crate) mod prefix_table;
pub(crate) mod prefixes;
pub(crate) mod shared;
pub(crate) mod shared_arena;
pub(crate) mod shared_directory;
pub(crate) mod slices;
pub(crate) mod source;
pub(crate) mod words;

pub(crate) use block::{BLOCK_BITS, BLOCK_WORDS, Block, WORD_BITS, WORDS};
pub(crate) use words::Words;
