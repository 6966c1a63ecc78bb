//! Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo Filter, and two texts that explain it.

mod crossover;
mod fingerprints;
mod modulo;
mod power_of_two;
mod sizing;
mod table_3;

use super::Exhibit;

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![fingerprints::EXHIBIT, table_3::EXHIBIT, power_of_two::EXHIBIT, sizing::EXHIBIT, crossover::EXHIBIT]
}
