//! Reads raw bytes: they are refused, or the filter is put to every use.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = malkoha::testing::provoke(bytes);
});
