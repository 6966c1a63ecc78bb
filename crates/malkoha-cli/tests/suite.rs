//! All tests of the program in one test program, which is compiled once. Every file is a module: `cargo test
//! -p malkoha-cli --test suite dedup::` runs those of `dedup.rs`.

mod common;

mod at_once;
mod blocks;
mod build_and_query;
mod dedup;
mod failures;
mod files;
mod formats;
mod hostile;
mod interrupts;
mod key_formats;
mod notes;
mod outputs;
mod plan_and_demo;
mod readme;
mod reads;
mod reads_classify;
mod tables;
mod text;
mod text_files;
mod text_model;
mod wording;

/// A file that is not declared here or in the manifest would never be run.
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
