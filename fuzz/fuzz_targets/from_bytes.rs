//! Bytes as they come: refused, or put to all uses.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = malkoha::testing::provoke(bytes);
});
