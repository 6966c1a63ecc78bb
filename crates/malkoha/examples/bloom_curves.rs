//! Computes the curves of the blocked Bloom filters, and prints the file that holds them.
//!
//! ```text
//! cargo run --release --example bloom_curves > curves.rs
//! mv curves.rs crates/malkoha/src/bloom/table.rs
//! ```
//!
//! Takes half a minute and gives the same file every time: the model has no chance in it.
//! `tests/bloom_model.rs` compares some rows of the file with the model.
#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use malkoha::bloom::Curve;
use malkoha::{Cost, Pattern};

const HEAD: &str = "\
//! The curves of the blocked Bloom filters with the default cost: `-log2 rate` at the nodes, in thousandths.
//!
//! Written by `cargo run --release --example bloom_curves`; see there. A row for every number of bits that a
//! key sets, from 1 to 32 (spread patterns: 8, 16, 24, 32).

use super::curve::NODES;
use super::pattern::Pattern;

type Row = [u32; NODES];

/// The row for blocks with these properties, if there is one.
pub(crate) fn nodes(choices: u8, pattern: Pattern, key_bits: u32) -> Option<Row> {
    let index = key_bits.checked_sub(1)? as usize;
    let rows = usize::from(choices).checked_sub(1)?;
    match pattern {
        Pattern::Random => RANDOM.get(rows)?.get(index).copied(),
        Pattern::Distinct => DISTINCT.get(rows)?.get(index).copied(),
        Pattern::Spread if rows == 0 && key_bits.is_multiple_of(8) => SPREAD.get(index / 8).copied(),
        Pattern::Spread => None,
    }
}
";

fn main() {
    println!("{HEAD}");
    for (name, pattern) in [("RANDOM", Pattern::Random), ("DISTINCT", Pattern::Distinct)] {
        println!("#[rustfmt::skip]\nconst {name}: [[Row; 32]; 4] = [");
        for choices in 1..=4 {
            println!("    [ // {choices}");
            (1..=32).for_each(|key_bits| println!("        {}", row(choices, pattern, key_bits)));
            println!("    ],");
        }
        println!("];\n");
    }
    println!("#[rustfmt::skip]\nconst SPREAD: [Row; 4] = [");
    (8..=32).step_by(8).for_each(|key_bits| println!("    {}", row(1, Pattern::Spread, key_bits)));
    println!("];");
}

fn row(choices: u8, pattern: Pattern, key_bits: u32) -> String {
    let curve = Curve::from_model(choices, pattern, Cost::default(), key_bits);
    let thousandths = curve.nodes().iter().map(|k| format!("{:.0}", k * 1000.0));
    let grouped = thousandths.map(|text| match text.len() {
        6.. => format!("{}_{}", &text[..text.len() - 3], &text[text.len() - 3..]),
        _ => text,
    });
    format!("[{}],", grouped.collect::<Vec<_>>().join(", "))
}
