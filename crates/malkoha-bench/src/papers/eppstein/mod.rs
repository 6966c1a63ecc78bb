//! Eppstein: Cuckoo Filter, Simplification and Analysis.

mod cells;
mod lemma_4_1;
mod theorem_4_3;
mod theorem_5_1;

use super::Exhibit;

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![lemma_4_1::EXHIBIT, theorem_4_3::EXHIBIT, theorem_5_1::EXHIBIT]
}

/// The relation that the analysis assumes between the size b of a block and the load 1 - delta that it
/// reaches: `b = 1 + ln(1/delta) / (1 - ln 2)`.
fn delta(block: u32) -> f64 {
    ((1.0 - f64::from(block)) * (1.0 - std::f64::consts::LN_2)).exp()
}

/// The load for which Theorem 4.3 promises success, `1 - delta - delta^2`: none at all for blocks of one and
/// two.
fn promised_load(block: u32) -> f64 {
    1.0 - delta(block) - delta(block).powi(2)
}

/// Lemma 4.1: fingerprints of so many bits make subtables so large that none is overfull, but with chance
/// 1/n^s.
fn balanced(n: f64, block: u32, s: f64) -> f64 {
    (3.0 * (s + 1.0) * n.ln() / (delta(block).powi(4) * f64::from(block))).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_blocks_reach_higher_loads() {
        for block in 2..16 {
            assert!(promised_load(block) < promised_load(block + 1));
            let again = 1.0 - delta(block).ln() / (1.0 - std::f64::consts::LN_2);
            assert!((again - f64::from(block)).abs() < 1e-9, "the relation holds with equality");
        }
        assert!(promised_load(2) < 0.0 && promised_load(3) > 0.0);
    }
}
