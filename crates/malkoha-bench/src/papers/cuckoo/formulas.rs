//! The paper's formulas for filters: Table 1.

/// A filter of Table 1.
pub(super) struct Formula {
    pub(super) name: &'static str,
    /// C(k) in the best case.
    pub(super) best: fn(f64) -> f64,
    /// The formula as printed.
    pub(super) text: &'static str,
    /// C(8) in the worst case, as printed.
    pub(super) worst: f64,
    /// Cache misses of inserts and of lookups, as printed.
    pub(super) misses: (&'static str, &'static str),
}

pub(super) const FORMULAS: [Formula; 6] = [
    Formula { name: "Bloom", best: |_| 1.443, text: "1.443", worst: 1.443, misses: ("k", "k") },
    Formula {
        name: "standard cuckoo",
        best: |k| 1.050 * (1.0 + 3.0 / k),
        text: "1.050 (1 + 3/k)",
        worst: 2.887,
        misses: ("1 to M", "2"),
    },
    Formula {
        name: "improved cuckoo",
        best: |k| 1.057 * (1.0 + 2.0 / k),
        text: "1.057 (1 + 2/k)",
        worst: 1.321,
        misses: ("1 to M", "2"),
    },
    Formula {
        name: "quotient",
        best: |k| 1.053 * (1.0 + 2.125 / k),
        text: "1.053 (1 + 2.125/k)",
        worst: 2.665,
        misses: ("some", "some"),
    },
    Formula {
        name: "vector quotient",
        best: |k| 1.075 * (1.0 + 2.914 / k),
        text: "1.075 (1 + 2.914/k)",
        worst: 2.933,
        misses: ("2", "2"),
    },
    Formula {
        name: "prefix",
        best: |k| (1.0 + gamma()) * (1.0 + 2.0 / k) + gamma() / k,
        text: "(1 + g)(1 + 2/k) + g/k, g = 1/sqrt(50 pi)",
        worst: 1.359,
        misses: ("1 or more", "1 or more"),
    },
];

/// The parameter of prefix filters that the paper uses.
fn gamma() -> f64 {
    1.0 / (50.0 * std::f64::consts::PI).sqrt()
}

/// Returns how many buckets of four the original filter needs for n keys at a load of 1 / 1.05: a power of
/// two.
pub(super) fn staircase(n: f64) -> f64 {
    (1.05 * n / 4.0).log2().ceil().exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_cases_are_the_best_or_twice_that() {
        for formula in FORMULAS {
            let best = (formula.best)(8.0);
            let doubled = if formula.worst > 2.0 { 2.0 * best } else { best };
            assert!(
                (doubled - formula.worst).abs() < 1.5e-3,
                "{}: {doubled} and {}",
                formula.name,
                formula.worst
            );
        }
    }

    #[test]
    fn stairs_are_never_too_low_and_at_most_twice_too_high() {
        for n in [1e6, 3.9e6, 4e6, 7.7e6] {
            let needed = 1.05 * n / 4.0;
            assert!((needed..2.0 * needed).contains(&staircase(n)));
        }
    }
}
