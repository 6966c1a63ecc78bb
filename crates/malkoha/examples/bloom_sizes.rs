//! Prints the sizes of the Bloom kinds, relative to an optimal plain filter: 1.443 k bits per key.
//!
//! ```text
//! cargo run --release --example bloom_sizes
//! ```
#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use malkoha::{Error, Kind, Pattern, Spec};

const KEYS: u64 = 10_000_000;

fn main() -> Result<(), Error> {
    for (kind, pattern) in [
        (Kind::Bloom, None),
        (Kind::Blocked(1), Some(Pattern::Spread)),
        (Kind::Blocked(1), Some(Pattern::Random)),
        (Kind::Blocked(1), Some(Pattern::Distinct)),
        (Kind::Blocked(2), Some(Pattern::Random)),
        (Kind::Blocked(2), Some(Pattern::Distinct)),
        (Kind::Blocked(3), Some(Pattern::Random)),
        (Kind::Blocked(3), Some(Pattern::Distinct)),
        (Kind::Blocked(4), Some(Pattern::Random)),
        (Kind::Blocked(4), Some(Pattern::Distinct)),
    ] {
        print!("| `{kind}`{} ", pattern.map_or(String::new(), |pattern| format!(" {pattern}")));
        for k in [4, 7, 10, 14, 17, 20] {
            let spec = Spec::new(KEYS, 2f64.powi(-k)).kind(kind);
            let geometry = pattern.map_or(spec, |pattern| spec.pattern(pattern)).plan()?;
            print!("| {:.3} ", geometry.bits_per_key() / (f64::from(k) * std::f64::consts::LOG2_E));
        }
        println!("|");
    }
    Ok(())
}
