//! Keys from files: decompressed, split into blocks of whole keys, hashed.
//!
//! ```text
//!   idle.rs     terminals and pipes, which may be idle
//!   decode.rs   gz, zst, xz, bz2 by content
//!   fastx.rs    FASTA and FASTQ to sequences; records.rs leaves their records whole
//!   source.rs   inputs to blocks of whole keys or records; pairs.rs for two inputs side by side
//!   block.rs    blocks to hashes, with ends.rs for strings, kmers.rs and words.rs for DNA words and column.rs for tables
//! ```

mod block;
pub(crate) mod column;
mod decode;
mod ends;
mod fastx;
mod idle;
pub(crate) mod kmers;
pub(crate) mod pairs;
pub(crate) mod records;
mod source;
pub(crate) mod words;

use std::path::PathBuf;

pub(crate) use block::{Keying, Keys};
pub(crate) use idle::Stop;
pub(crate) use source::{Origin, Source, is_standard_input, name, open};

/// Returns the inputs; no input means standard input.
pub(crate) fn or_standard_input(inputs: &[PathBuf]) -> Vec<PathBuf> {
    if inputs.is_empty() { vec![PathBuf::from("-")] } else { inputs.to_vec() }
}

/// Returns whether all inputs can be read a second time.
pub(crate) fn can_be_read_again(inputs: &[PathBuf]) -> bool {
    inputs.iter().all(|path| !is_standard_input(path) && path.is_file())
}

/// Returns the bytes of all inputs together; `None` if unknown.
pub(crate) fn bytes(inputs: &[PathBuf]) -> Option<u64> {
    if !can_be_read_again(inputs) {
        return None;
    }
    inputs.iter().map(|path| path.metadata().ok().map(|metadata| metadata.len())).sum()
}
