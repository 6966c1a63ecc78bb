//! Bytes whose lengths and checksums are set right first, as an enemy would: what lies behind the checksums.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut forged = bytes.to_vec();
    malkoha::testing::seal(&mut forged);
    let _ = malkoha::testing::provoke(&forged);
});
