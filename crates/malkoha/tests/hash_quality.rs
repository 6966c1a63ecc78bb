//! The hash does what the filters rely on: places and fingerprints are uniform and independent, for realistic
//! keys.

use malkoha::{Key, KeyHash, KeyHasher};

/// Key sets that weak hashes fail on.
fn key_sets(hasher: &KeyHasher) -> Vec<(&'static str, Vec<KeyHash>)> {
    const KEYS: u64 = 1 << 16;
    let numbers = |make: fn(u64) -> u64| (0..KEYS).map(|i| hasher.number(make(i))).collect::<Vec<_>>();
    let texts = |make: fn(u64) -> String| (0..KEYS).map(|i| make(i).key_hash(hasher)).collect::<Vec<_>>();
    vec![
        ("sequential", numbers(|i| i)),
        ("sequential from the top", numbers(|i| u64::MAX - i)),
        ("multiples of 2^16", numbers(|i| i << 16)),
        ("multiples of 2^48", numbers(|i| i << 48)),
        ("one bit in four", numbers(|i| (0..16).map(|bit| (i >> bit & 1) << (4 * bit)).sum())),
        ("in blocks", numbers(|i| (i >> 8) << 40 | (i & 255))),
        ("squares", numbers(|i| i * i)),
        ("negative", (0..KEYS as i64).map(|i| (-1 - i).key_hash(hasher)).collect()),
        ("wide", (0..u128::from(KEYS)).map(|i| (i << 64 | 7).key_hash(hasher)).collect()),
        ("short strings", texts(|i| format!("{i:x}"))),
        ("long strings", texts(|i| format!("https://example.org/some/long/path/{i:08}/index.html"))),
        ("zeros of growing length", (0..4096).map(|i| vec![0u8; i].key_hash(hasher)).collect()),
    ]
}

/// The deviation of counts from uniform, in standard deviations of chi-square.
fn unevenness(counts: &[u32]) -> f64 {
    let total: u32 = counts.iter().sum();
    let expected = f64::from(total) / counts.len() as f64;
    let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let freedom = counts.len() as f64 - 1.0;
    (chi_square - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn every_byte_pair_of_a_hash_is_uniform_and_independent() {
    for seed in [0, 1, 0xDEAD_BEEF] {
        for (name, hashes) in key_sets(&KeyHasher::new(seed)) {
            for (high, low) in [(58, 52), (58, 26), (58, 0), (30, 0), (12, 6)] {
                let mut counts = vec![0; 1 << 12];
                for hash in &hashes {
                    let bits = |at: u32| (hash.to_raw() >> at & 63) as usize;
                    counts[bits(high) << 6 | bits(low)] += 1;
                }
                let deviation = unevenness(&counts);
                assert!(deviation.abs() < 6.0, "{name}, seed {seed}, bits {high} and {low}: {deviation:.1}");
            }
        }
    }
}

#[test]
fn every_input_bit_changes_every_output_bit_half_of_the_time() {
    const SAMPLES: u64 = 4096;
    let hasher = KeyHasher::new(5);
    for input in 0..64 {
        let mut flips = [0u32; 64];
        for sample in 0..SAMPLES {
            let number = sample.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let change = hasher.number(number).to_raw() ^ hasher.number(number ^ 1 << input).to_raw();
            for (output, count) in flips.iter_mut().enumerate() {
                *count += (change >> output & 1) as u32;
            }
        }
        for (output, count) in flips.into_iter().enumerate() {
            let share = f64::from(count) / SAMPLES as f64;
            // 64 x 64 comparisons: five and a half standard deviations of 1/128.
            assert!((share - 0.5).abs() < 0.043, "input {input}, output {output}: {share:.3}");
        }
    }
}

#[test]
fn seeds_give_unrelated_hashes() {
    // If seeds only renumbered the keys, pairs that collide in some bits under one seed would do so under another.
    let (one, other) = (KeyHasher::new(1), KeyHasher::new(2));
    let mut counts = vec![0; 1 << 12];
    for key in 0..1u64 << 16 {
        let bits = |hasher: &KeyHasher| (hasher.number(key).to_raw() >> 58) as usize;
        counts[bits(&one) << 6 | bits(&other)] += 1;
    }
    assert!(unevenness(&counts).abs() < 6.0);
}

#[test]
fn numbers_below_two_to_the_64_never_share_a_hash() {
    let hasher = KeyHasher::new(11);
    let mut hashes: Vec<u64> = (0..200_000u64)
        .flat_map(|i| [i, i << 44, u64::MAX - i])
        .map(|number| hasher.number(number).to_raw())
        .collect();
    let keys = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    // 0 is in two of the three lists.
    assert_eq!(hashes.len(), keys - 1);
}
