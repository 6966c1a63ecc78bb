//! Binary search for a number.

/// The largest number for which `fits` holds, given that it holds up to some number and not beyond.
pub(crate) fn most(fits: impl Fn(u64) -> bool) -> u64 {
    let mut beyond = 1u64;
    while beyond < 1 << 62 && fits(beyond) {
        beyond *= 2;
    }
    let mut below = beyond / 2;
    while beyond - below > 1 {
        let middle = below + (beyond - below) / 2;
        if fits(middle) { below = middle } else { beyond = middle }
    }
    below.max(1)
}
