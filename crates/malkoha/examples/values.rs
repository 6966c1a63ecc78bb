//! Measures what values cost: memory, and the speed of building, of key lookups and of value lookups.
//!
//! ```text
//! cargo run --release -p malkoha --example values
//! ```
#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::error::Error;
use std::time::Instant;

use malkoha::{Kind, Spec};

const KEYS: u64 = 1_000_000;
const RATE: f64 = 1.0 / 1024.0;

/// Rounds, of which the fastest counts.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{KEYS} keys, rate at most {RATE:.6}; million keys per second, one thread, half of the keys present\n"
    );
    println!("               value  bits     keys with  rate");
    println!("kind           bits   per key  two       predicted  build  contains    get");
    let kinds = [Kind::Classic(4), Kind::Flexible(4), Kind::Windowed(2), Kind::Windowed(4), Kind::Sorted];
    for kind in kinds {
        for bits in [0, 1, 4, 8, 16] {
            row(kind, bits)?;
        }
    }
    Ok(())
}

fn row(kind: Kind, bits: u32) -> Result<(), Box<dyn Error>> {
    let keys: Vec<u64> = (0..KEYS).collect();
    let mask = (1u64 << bits) - 1;
    #[expect(clippy::cast_possible_truncation, reason = "at most 16 bits")]
    let values: Vec<u16> = keys.iter().map(|key| (key.wrapping_mul(40_503) >> 7 & mask) as u16).collect();
    let mut spec = Spec::new(KEYS, RATE).kind(kind);
    if bits > 0 {
        spec = spec.values(bits);
    }
    let mut filter = spec.build()?;
    let start = Instant::now();
    if bits > 0 {
        filter.extend_values(&keys, &values, 1)?;
    } else {
        filter.extend(&keys, 1)?;
    }
    let build = KEYS as f64 / start.elapsed().as_secs_f64() / 1e6;

    let asked: Vec<u64> = (KEYS / 2..KEYS / 2 + KEYS).collect();
    let contains = quickest(|| filter.contains_slice(&asked));
    let (mut get, mut several) = ("-".to_owned(), "-".to_owned());
    if bits > 0 {
        get = format!("{:.1}", quickest(|| filter.get_slice(&asked)));
        let candidates = filter.get_slice(&keys)?;
        assert!(
            candidates.iter().zip(&values).all(|(all, value)| all.contains(value)),
            "{kind} lost a value"
        );
        let share = candidates.iter().filter(|all| all.len() > 1).count() as f64 / KEYS as f64;
        several = format!("{share:.6}");
    }
    println!(
        "{kind:14} {bits:5} {:9.2} {several:>10} {:10.6} {build:6.1} {contains:9.1} {get:>6}",
        filter.geometry().bits_per_key(),
        filter.stats().predicted_rate,
    );
    Ok(())
}

/// Million keys per second in the fastest of several rounds.
fn quickest<T>(ask: impl Fn() -> T) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        std::hint::black_box(ask());
        KEYS as f64 / start.elapsed().as_secs_f64() / 1e6
    });
    rounds.fold(0.0, f64::max)
}
