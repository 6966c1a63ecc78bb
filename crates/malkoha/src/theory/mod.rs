//! What the papers predict, as functions without state.
//!
//! Symbols follow the papers: n keys, rate 2^-k, l slots per place, q bits per slot, F fingerprints,
//! T load threshold. The sources:
//!
//! - \[SZR\] Schmitz, Zentgraf, Rahmann: Smaller and More Flexible Cuckoo Filters, 2025.
//! - \[FAKM\] Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo Filter, Practically Better Than Bloom, 2014.
//! - \[E\] Eppstein: Cuckoo Filter, Simplification and Analysis, 2016.

use crate::kind::Kind;

pub mod bloom;
pub(crate) mod occupancy;
pub(crate) mod search;
mod shards;

pub use shards::{fullest_shard, mean_shard};

/// The load up to which all keys find a place, as the table grows without bound: \[SZR\] Table 2, with the
/// known values for buckets of 5 to 8 slots.
///
/// ```
/// use malkoha::{Kind, theory};
/// assert_eq!(theory::threshold(Kind::Windowed(2)), 0.9649949234);
/// assert_eq!(theory::threshold(Kind::Sorted), theory::threshold(Kind::Flexible(4)));
/// ```
///
/// Bloom filters are never full: theirs is 1.
///
/// # Panics
///
/// If the kind does not exist with that number of slots.
#[must_use]
pub fn threshold(kind: Kind) -> f64 {
    const BUCKETS: [f64; 8] =
        [0.5, 0.897_011_868_2, 0.959_154_268_6, 0.980_369_774_3, 0.989_55, 0.994_07, 0.996_49, 0.997_85];
    const WINDOWS: [f64; 3] = [0.964_994_923_4, 0.994_422_753_8, 0.998_951_593_2];
    if kind.is_bloom() {
        return 1.0;
    }
    let l = usize::from(kind.slots_per_place());
    if kind.is_windowed() { WINDOWS[l - 2] } else { BUCKETS[l - 1] }
}

/// The default load of a filter: 0.98 of the threshold, as in \[SZR\] section 5.2. With one slot per place it
/// is 0.9 of it, because there some keys find no place long before the threshold, in tables of every size.
///
/// ```
/// use malkoha::{Kind, theory};
/// assert_eq!(theory::planned_load(Kind::Sorted), 0.98 * theory::threshold(Kind::Sorted));
/// ```
#[must_use]
pub fn planned_load(kind: Kind) -> f64 {
    let fraction = if kind.slots_per_place() == 1 { 0.9 } else { 0.98 };
    fraction * threshold(kind)
}

/// The load that a [dense](crate::Spec::dense) filter is planned for: closer to the threshold than
/// [`planned_load`], as far as tables of 10^8 keys were observed to fill. `None` where the threshold is not
/// sharp.
#[must_use]
pub fn dense_load(kind: Kind) -> Option<f64> {
    let fraction = match (kind.slots_per_place(), kind.is_windowed()) {
        (1, _) => return None,
        (2, _) => 0.99,
        (3, true) => 0.992,
        _ => 0.995,
    };
    kind.is_signed().then(|| fraction * threshold(kind))
}

/// The rate of a filter that holds n keys in `places` places with F fingerprints: `1 - (1 - c p)^n`, where p,
/// about 1/(places F), is the chance that two keys have the same place and fingerprint.
///
/// A query is a false positive if some key has the same fingerprint and the same pair of places. With signed
/// offsets that is one value of (place, fingerprint), c = 1; with XOR a pair of places has two names, c = 2,
/// and the union bound gives \[E\] Theorem 5.1.
///
/// ```
/// use malkoha::{Kind, theory};
/// // Windows of 2 slots of 10 bits at load 0.9457: a rate just below 2^-8.
/// let rate = theory::rate(Kind::Windowed(2), 945_700, 1_000_000, 255);
/// assert!((0.94 / 256.0..1.0 / 256.0).contains(&rate));
/// ```
#[must_use]
pub fn rate(kind: Kind, n: u64, places: u64, fingerprints: u64) -> f64 {
    let names = if kind.is_signed() { 1.0 } else { 2.0 };
    let equal = (names * equal_draws(places as f64 * fingerprints as f64)).min(1.0);
    -(n as f64 * (-equal).ln_1p()).exp_m1()
}

/// The chance that two keys have the same 64-bit hash.
pub const HASHES_EQUAL: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// The chance that two 64-bit hashes draw the same of this many choices: 1 / choices, and never less than
/// 2^-64, the chance that the hashes are equal. Hence no filter of n keys has a rate below n 2^-64.
///
/// Each choice is drawn by floor(m) or ceil(m) hashes, m = 2^64 / choices; the sum of the squares of their
/// shares is exact on both sides of 2^64.
///
/// ```
/// use malkoha::theory::equal_draws;
/// assert!((equal_draws(1e6) * 1e6 - 1.0).abs() < 1e-9);
/// assert_eq!(equal_draws(1e30), malkoha::theory::HASHES_EQUAL);
/// ```
#[must_use]
pub fn equal_draws(choices: f64) -> f64 {
    let hashes_per_choice = 1.0 / (HASHES_EQUAL * choices);
    let fraction = hashes_per_choice.fract();
    let square = hashes_per_choice * hashes_per_choice + fraction * (1.0 - fraction);
    square / hashes_per_choice * HASHES_EQUAL
}

/// Bits per key in the limit of large tables: bits per slot for rate 2^-k, over the load.
///
/// | kind | bits per slot |
/// | --- | --- |
/// | windows and buckets of l slots | k + 1 + log2 l |
/// | sorted buckets | k + 2 |
///
/// \[SZR\] section 3.2 for windows and buckets, \[FAKM\] section 5.2 for sorting. The formula allows slots of
/// fractional width and ignores the one fingerprint that means empty.
///
/// ```
/// use malkoha::{Kind, theory};
/// let sorted = theory::bits_per_key(Kind::Sorted, 14.0, 0.98 * theory::threshold(Kind::Sorted));
/// assert!((sorted - 16.65).abs() < 0.01);
/// ```
#[must_use]
pub fn bits_per_key(kind: Kind, k: f64, load: f64) -> f64 {
    let slot = k + 1.0 + f64::from(kind.slots_per_place()).log2();
    (if kind.is_sorted() { slot - 1.0 } else { slot }) / load
}

/// The fewest bits per key that any filter with inserts and deletes can have at rate 2^-k: `k + log2 e`, for
/// small rates.
#[must_use]
pub fn information_limit(k: f64) -> f64 {
    k + core::f64::consts::LOG2_E
}

/// The expected number of keys beyond the room of their group: n keys fall at random into `groups` groups,
/// each with room for `room` keys.
///
/// More than 2l keys that the filter cannot tell apart cannot all be stored. From this event \[FAKM\] section
/// 4.2 and \[E\] section 4.2 derive how long a fingerprint must be.
///
/// ```
/// use malkoha::theory;
/// // A million keys, pairs of places of 2 slots, rate 2^-8: no key is left over. With 2^-2, some are.
/// assert!(theory::overfull(1_000_000, 256e6, 4) < 1e-5);
/// assert!(theory::overfull(1_000_000, 4e6, 4) > 10.0);
/// ```
#[must_use]
pub fn overfull(n: u64, groups: f64, room: u32) -> f64 {
    let mean = n as f64 / groups;
    // Sum of (x - room) P(x), x above room, for a Poisson variable. Where this is used, the mean is well
    // below the room, so the terms fall quickly.
    let mut probability = (1..=room).fold((-mean).exp(), |p, x| p * mean / f64::from(x));
    let mut excess = 0.0;
    for x in room + 1..room + 60 {
        probability *= mean / f64::from(x);
        excess += f64::from(x - room) * probability;
    }
    groups * excess
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_collides_once_in_all_pairs() {
        let rate = rate(Kind::Flexible(4), 1, 1 << 20, 1 << 10);
        assert!((rate * f64::from(1 << 30) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_rate_never_falls_below_equal_hashes() {
        let rate = rate(Kind::Sorted, 1 << 32, u64::MAX, u64::MAX);
        assert!((rate / 2f64.powi(-32) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn numbers_of_the_papers() {
        // [SZR] Table 1: 1.057 (1 + 2/k) for windows of 2, given 0.98 of the threshold.
        let windowed = bits_per_key(Kind::Windowed(2), 8.0, 0.98 * threshold(Kind::Windowed(2))) / 8.0;
        assert!((windowed - 1.3217).abs() < 1e-3);
        // The same paper's abstract: 1.365 k bits at k = 10 for the classic filter at 0.952 load.
        let classic = bits_per_key(Kind::Classic(4), 10.0, 1.0 / 1.05) / 10.0;
        assert!((classic - 1.365).abs() < 1e-3);
    }
}
