//! Tests of the public interface in one program, which compiles and links the engine once. Every file is a
//! module: `cargo test -p malkoha --test suite chains::` runs the tests of `chains.rs`.
//!
//! `absurd_headers.rs` and `scarce_memory.rs` are separate programs because they watch the memory of the process,
//! and `crash.rs` because it is killed.

mod common;
#[path = "common/golden.rs"]
mod golden_files;

mod bad_input;
mod bloom_keys;
mod bloom_model;
mod bloom_rates;
mod bloom_sizing;
mod bulk;
mod chains;
mod elastic;
mod elastic_histories;
mod false_positive_rate;
mod generations;
mod golden;
mod hash_quality;
mod hazards;
mod hostile_bytes;
mod key_formats;
mod labels;
mod larger;
mod layers;
mod load;
mod merge;
mod neighbours;
mod no_lost_keys;
mod patterns;
mod sharded;
mod sharded_files;
mod sharded_growth;
mod sharded_sizes;
mod space;
mod store;
mod threads;
mod unions;
mod values;
mod values_kept;

/// A file that is not named here or in the manifest would never be run.
#[test]
fn every_file_beside_this_one_is_run() {
    let (suite, manifest) = (include_str!("suite.rs"), include_str!("../Cargo.toml"));
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs") {
            let run =
                suite.contains(&format!("mod {module};\n")) || manifest.contains(&format!("tests/{name}"));
            assert!(run, "{name} is not part of tests/suite.rs");
        }
    }
}
