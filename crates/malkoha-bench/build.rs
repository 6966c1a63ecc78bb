//! Hands the program the compiler and the flags that it is built with, for its records.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().map(|output| output.stdout);
    let version = version.ok().and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    println!("cargo::rustc-env=MALKOHA_COMPILER={}", format!("{} {flags}", version.trim()).trim());
    println!("cargo::rerun-if-changed=build.rs");
}
