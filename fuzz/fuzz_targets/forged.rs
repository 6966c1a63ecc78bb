//! Corrects the lengths and checksums of bytes first, as an attacker would, to reach the checks behind them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut forged = bytes.to_vec();
    malkoha::testing::seal(&mut forged);
    let _ = malkoha::testing::provoke(&forged);
});
