//! Eppstein: Cuckoo Filter, Simplification and Analysis.

mod cells;
mod lemma_4_1;
mod theorem_4_3;
mod theorem_5_1;

use super::Exhibit;

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![lemma_4_1::EXHIBIT, theorem_4_3::EXHIBIT, theorem_5_1::EXHIBIT]
}

/// Returns delta from the relation that the analysis assumes between the block size b and the load 1 - delta
/// that it reaches: `b = 1 + ln(1/delta) / (1 - ln 2)`.
fn delta(block: u32) -> f64 {
    ((1.0 - f64::from(block)) * (1.0 - std::f64::consts::LN_2)).exp()
}

/// Returns the load for which Theorem 4.3 promises success, `1 - delta - delta^2`: none at all for blocks of
/// one and two.
fn promised_load(block: u32) -> f64 {
    1.0 - delta(block) - delta(block).powi(2)
}

/// Returns how many bits of fingerprint make subtables large enough by Lemma 4.1: the chance that any is
/// overfull is at most 1/n^s.
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
