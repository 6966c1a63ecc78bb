//! Compares the model of the block load with exact sums, and the table with the model.
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes from positive numbers")]

use malkoha::bloom::{BlockedLayout, Curve};
use malkoha::{Cost, Kind, Pattern, Spec, theory};

fn layout(choices: u8, pattern: Pattern, key_bits: u32, blocks: u64) -> BlockedLayout {
    BlockedLayout { blocks, choices, key_bits, pattern, cost: Cost::default() }
}

/// The table holds what the model computes, to the last digit.
#[test]
fn the_table_agrees_with_the_model() {
    let long = std::env::var_os("MALKOHA_LONG").is_some();
    for choices in 1..=4u8 {
        for pattern in [Pattern::Random, Pattern::Distinct, Pattern::Spread] {
            if pattern == Pattern::Spread && choices > 1 {
                continue;
            }
            let some = [8, 16, 24];
            let all: Vec<u32> = (1..=32).filter(|b| pattern != Pattern::Spread || b % 8 == 0).collect();
            for &key_bits in if long { &all[..] } else { &some[..] } {
                let curve = Curve::from_model(choices, pattern, Cost::default(), key_bits);
                // At nodes and between them, from a tenth to twice the density of a plain filter.
                for step in 0..60 {
                    let density = 0.1 * 2f64.powf(f64::from(step) / 14.0);
                    let keys_per_block = density * 512.0 / f64::from(key_bits);
                    let table = layout(choices, pattern, key_bits, 1_000_000);
                    let (table, model) =
                        (table.rate((keys_per_block * 1e6) as u64), curve.rate(keys_per_block));
                    // Equal hashes hide lower rates.
                    assert!(
                        model < 1e-8 || (table.log2() - model.log2()).abs() < 0.002,
                        "c = {choices}, {pattern}, {key_bits} bits, {density}: {table} {model}"
                    );
                }
            }
        }
    }
}

/// The curve agrees with the model between its nodes too.
#[test]
fn one_choice_agrees_with_the_exact_sum() {
    for pattern in [Pattern::Random, Pattern::Distinct, Pattern::Spread] {
        for key_bits in [8, 16] {
            for density in [0.15, 0.55, 0.9] {
                let blocks = 1_000_000;
                let n = (density * 512.0 / f64::from(key_bits) * blocks as f64) as u64;
                let exact = theory::bloom::blocked_rate(n, blocks, key_bits, pattern);
                let model = layout(1, pattern, key_bits, blocks).rate(n);
                assert!(
                    (model / exact - 1.0).abs() < 0.004,
                    "{pattern}, {key_bits} bits, {density}: {model} {exact}"
                );
            }
        }
    }
}

#[test]
fn the_exact_sum_is_right_for_small_filters() {
    // One block: every key is in it.
    let one = theory::bloom::blocked_rate(10, 1, 8, Pattern::Distinct);
    assert!(one < (80.0f64 / 512.0).powi(8) && one > (60.0f64 / 512.0).powi(8));
    // Two blocks, one key of one bit: a lookup finds it if it has the same block and bit.
    let two = theory::bloom::blocked_rate(1, 2, 1, Pattern::Random);
    assert!((two - 1.0 / 1024.0).abs() < 1e-12);
    assert!(theory::bloom::blocked_rate(1_000_000, 2, 3, Pattern::Random) > 0.999);
}

/// Compares the exact formula with the usual one: equal for large tables, higher for small ones.
#[test]
fn plain_rates_are_exact() {
    for b in 1..=40u32 {
        let m = (1e7 * f64::from(b) * std::f64::consts::LOG2_E) as u64;
        let rate = theory::bloom::plain_rate(10_000_000, m, b);
        assert!((rate * 2f64.powi(b.cast_signed()) - 1.0).abs() < 1e-4, "{b}: {rate}");
    }
    // Three bits, two keys of two bits, by hand: all 3^4 throws and 3^2 lookups.
    let mut found = 0;
    for throws in 0..81u32 {
        let set = (0..4).fold(0u32, |set, i| set | 1 << (throws / 3u32.pow(i) % 3));
        found += (0..9u32).filter(|query| set >> (query / 3) & set >> (query % 3) & 1 == 1).count();
    }
    let by_hand = found as f64 / 729.0;
    assert!((theory::bloom::plain_rate(2, 3, 2) - by_hand).abs() < 1e-12);
}

#[test]
fn other_costs_are_planned_by_the_model() {
    let spec = Spec::new(300_000, 2f64.powi(-12)).kind(Kind::Blocked(2));
    for cost in [Cost::Mixed { sigma: 20.0 }, Cost::LookAhead { mu: 3.5 }, Cost::Exponential { beta: 3.0 }] {
        let mut filter = spec.cost(cost).build().unwrap();
        (0..300_000u64).for_each(|key| filter.insert(&key).unwrap());
        let ratio = filter.fill().unwrap().rate * 4096.0;
        assert!((0.90..=1.0).contains(&ratio), "{cost:?}: {ratio}");
        assert!(filter.geometry().bytes() > spec.plan().unwrap().bytes());
    }
}
