//! The chapter on counting and deleting: the bits per key of filters that can do both, by formula and as planned.

use std::error::Error;
use std::f64::consts::{E, LN_2, LOG2_E};

use malkoha::{Kind, Spec, theory};

use crate::rates::Rate;
use crate::table::{Cell, Table};
use crate::tables::markdown;

const KEYS: u64 = 1_000_000;
const RATES: [f64; 5] = [0.05, 0.01, 1e-3, 1e-4, 1e-6];
const OURS: [Kind; 3] = [Kind::Sorted, Kind::Windowed(2), Kind::Flexible(4)];

/// Bits per key of a plain Bloom filter at its best, and the counters per key of one that counts.
fn bloom_bits(rate: f64) -> f64 {
    -rate.log2() * LOG2_E
}

/// The counting Bloom filter of Fan, Cao, Almeida and Broder: Summary Cache, 2000.
mod counting_bloom {
    use super::{E, LN_2, bloom_bits};

    /// Bits of a counter, of which they find that they suffice.
    const COUNTER_BITS: i32 = 4;

    pub(super) fn bits_per_key(rate: f64) -> f64 {
        f64::from(COUNTER_BITS) * bloom_bits(rate)
    }

    /// Their bound of the chance that one of this many counters overflows, if every key is stored once.
    pub(super) fn overflow(counters: f64) -> f64 {
        let most = 1 << COUNTER_BITS;
        counters * (E * LN_2 / f64::from(most)).powi(most)
    }
}

/// The filter of Bonomi, Mitzenmacher, Panigrahy, Singh and Varghese: An Improved Construction for Counting
/// Bloom Filters, ESA 2006, with the parameters that they compare it with.
mod d_left {
    pub(super) const SUBTABLES: u32 = 4;
    pub(super) const CELLS: u32 = 8;
    /// Keys per bucket, on average.
    pub(super) const LOAD: u32 = 6;
    const COUNTER_BITS: u32 = 2;

    /// The rate with fingerprints of this many bits: one chance for every key in the buckets of a lookup.
    pub(super) fn rate(fingerprint_bits: u32) -> f64 {
        f64::from(SUBTABLES * LOAD) * (-f64::from(fingerprint_bits)).exp2()
    }

    pub(super) fn bits_per_key(fingerprint_bits: u32) -> f64 {
        f64::from(CELLS * (fingerprint_bits + COUNTER_BITS)) / f64::from(LOAD)
    }

    /// The shortest fingerprint that keeps a rate.
    pub(super) fn fingerprint_bits(most: f64) -> u32 {
        (1..u64::BITS).find(|bits| rate(*bits) <= most).unwrap_or(u64::BITS)
    }
}

/// Bits per key, and the rate that they give.
type Size = (f64, f64);

fn d_left_size(rate: f64) -> Size {
    let bits = d_left::fingerprint_bits(rate);
    (d_left::bits_per_key(bits), d_left::rate(bits))
}

fn planned(kind: Kind, rate: f64) -> Result<Size, Box<dyn Error>> {
    let geometry = Spec::new(KEYS, rate).kind(kind).plan()?;
    Ok((geometry.bits_per_key(), geometry.predicted_rate(KEYS)))
}

fn sizes(kind: Kind) -> Result<Vec<Size>, Box<dyn Error>> {
    RATES.into_iter().map(|rate| planned(kind, rate)).collect()
}

fn table() -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new("", &["filter"]);
    table.columns.extend(RATES.map(|rate| Rate(rate).to_string()));
    let mut push = |name: &str, cells: &[String]| {
        table.push([name].into_iter().chain(cells.iter().map(String::as_str)).map(Cell::text).collect());
    };
    let exact = |bits: fn(f64) -> f64| RATES.map(|rate| format!("{:.2}", bits(rate)));
    let whole = |(bits, rate): Size| format!("{bits:.2} ({rate:.1e})");
    push("information limit, k + 1.443", &exact(|rate| theory::information_limit(-rate.log2())));
    for kind in OURS {
        push(&kind.to_string(), &sizes(kind)?.into_iter().map(whole).collect::<Vec<_>>());
    }
    push("d-left counting Bloom filter", &RATES.map(d_left_size).map(whole));
    push("counting Bloom filter, counters of 4 bits", &exact(counting_bloom::bits_per_key));
    push("plain Bloom filter, which does neither", &exact(bloom_bits));
    Ok(table)
}

/// The chapter. It needs no record.
pub(super) fn chapter() -> Result<String, Box<dyn Error>> {
    let paragraphs = [on_counting_bloom(), on_d_left(), on_ours()?, on_copies()?];
    Ok([HEAD, &markdown(&table()?), &paragraphs.concat()].concat())
}

/// The highest rate of the table and the lowest.
const ENDS: [f64; 2] = [RATES[0], RATES[RATES.len() - 1]];

/// How many times the bits of a plain Bloom filter these are, at both ends of the table.
fn over_bloom([highest, lowest]: [f64; 2]) -> String {
    let [high, low] = ENDS.map(Rate);
    let [over_high, over_low] = [highest / bloom_bits(high.0), lowest / bloom_bits(low.0)];
    format!(
        "{over_high:.2} times the bits of a plain Bloom filter at {high} and {over_low:.2} times at {low}"
    )
}

fn on_counting_bloom() -> String {
    let [high, low] = ENDS.map(Rate);
    let [at_high, at_low] = ENDS.map(|rate| counting_bloom::overflow(KEYS as f64 * bloom_bits(rate)));
    format!(
        "- The counting Bloom filter (Fan, Cao, Almeida, Broder: Summary Cache, 2000) is a plain one at its best with a \
         counter of 4 bits for every bit, so it takes four times the bits. By the bound of that paper, \
         m (e ln 2 / 16)^16 for m counters, one of them overflows with a chance of at most {at_high:.0e} at {high} and \
         {at_low:.0e} at {low}, if every key is stored once. A key that is stored sixteen times overflows its counters \
         for certain.\n"
    )
}

fn on_d_left() -> String {
    let (subtables, cells, load) = (d_left::SUBTABLES, d_left::CELLS, d_left::LOAD);
    let compared = subtables * load;
    let over_bloom = over_bloom(ENDS.map(|rate| d_left_size(rate).0));
    format!(
        "- The d-left counting Bloom filter (Bonomi, Mitzenmacher, Panigrahy, Singh, Varghese: An Improved Construction \
         for Counting Bloom Filters, ESA 2006) has the parameters of its paper: {subtables} subtables, buckets of {cells} \
         cells with {load} keys on average, and in each cell a fingerprint of r bits and a counter of 2 bits. A lookup \
         compares {compared} fingerprints on average, so the rate is {compared} / 2^r, and a key takes 4 (r + 2) / 3 \
         bits. The table has the least r that keeps the rate. A full bucket refuses its next key; at this load that is \
         so rare that it is left out here. The filter takes {over_bloom}.\n"
    )
}

fn on_ours() -> Result<String, Box<dyn Error>> {
    let [high, low] = ENDS;
    let over_bloom = over_bloom([planned(Kind::Sorted, high)?.0, planned(Kind::Sorted, low)?.0]);
    Ok(format!(
        "- Our filters are planned for their default load. They keep every copy of a key in a slot of its own: `count` \
         says how many slots look like the key, and `remove` empties one of them. `sorted` takes {over_bloom}.\n\n"
    ))
}

/// Where counters are better.
fn on_copies() -> Result<String, Box<dyn Error>> {
    let sorted = sizes(Kind::Sorted)?;
    let over_sorted = |bits: fn(f64) -> f64| {
        let ratios = RATES.into_iter().zip(&sorted).map(|(rate, (ours, _))| bits(rate) / ours);
        let (least, most) = ratios.fold((f64::MAX, f64::MIN), |(least, most), x| (x.min(least), x.max(most)));
        format!("{least:.1} to {most:.1}")
    };
    let counting = over_sorted(counting_bloom::bits_per_key);
    let d_left = over_sorted(|rate| d_left_size(rate).0);
    let copies = OURS.map(|kind| {
        format!(
            "`{kind}` has room for {} copies",
            2 * u32::from(kind.slots_per_place()) + Spec::DEFAULT_STASH
        )
    });
    Ok(format!(
        "Counters are better where the same keys are stored again and again: to them a further copy costs nothing, to \
         our filters as much as the first. With {counting} copies of a key on average, depending on the rate, a counting \
         Bloom filter is as large as `sorted`, and with {d_left} copies a d-left one is, whose counters go up to four. \
         Our filters also refuse a key when its two places and the stash are full of it: {}. A growing filter \
         (`Spec::growing`) takes more.\n\n",
        copies.join(", "),
    ))
}

const HEAD: &str = "\
## Counting and deleting

Counting Bloom filters are the usual answer where keys must be deleted or counted. Cuckoo filters do both jobs with fewer \
bits. The table has the bits per key of filters for a million keys. Nothing in it is measured: our filters have the exact \
size of their plan, the others that of their formula. Where a key takes whole bits, the rate that they give is in \
brackets.

";

#[cfg(test)]
mod tests {
    use super::*;
    use malkoha::KeyHasher;

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 5e-3
    }

    /// What the papers say of themselves.
    #[test]
    fn formulas_give_the_numbers_of_the_papers() {
        // Summary Cache: at most 1.37e-15 times the number of counters.
        assert!(close(counting_bloom::overflow(1.0), 1.37e-15));
        // 9.585 counters per key at 1 %, as a plain filter has bits.
        assert!(close(counting_bloom::bits_per_key(0.01), 4.0 * 9.585));
        // Bonomi et al.: the rate is 24 / 2^r in 4 n (r + 2) / 3 bits.
        assert!(close(d_left::rate(14), 24.0 / 16384.0) && close(d_left::bits_per_key(14), 64.0 / 3.0));
        // With as many bits, a counting Bloom filter has a higher rate from r = 7 on, and not before.
        for r in 1..40 {
            let counters = d_left::bits_per_key(r) / 4.0;
            assert_eq!((-LN_2 * counters).exp2() > d_left::rate(r), r >= 7, "r = {r}");
        }
        // Their abstract: generally a factor of two or more.
        for rate in &RATES[1..] {
            assert!(counting_bloom::bits_per_key(*rate) > 2.0 * d_left_size(*rate).0, "{rate}");
        }
    }

    #[test]
    fn fingerprints_are_the_shortest_that_keep_the_rate() {
        assert_eq!(RATES.map(d_left::fingerprint_bits), [9, 12, 15, 18, 25]);
        assert_eq!(d_left::fingerprint_bits(24.0 / 512.0), 9);
    }

    /// A table of the paper's shape: the buckets hold their keys, and the rate is the formula's.
    #[test]
    fn a_d_left_table_has_room_and_the_rate_of_the_formula() {
        const BUCKETS: u64 = 4096;
        const BITS: u32 = 10;
        let mut table = vec![Vec::new(); (u64::from(d_left::SUBTABLES) * BUCKETS) as usize];
        let hasher = KeyHasher::new(1);
        let mut drawn = 0u64;
        let mut below = |bound: u64| {
            drawn += 1;
            hasher.number(drawn).to_raw() % bound
        };
        let mut homes = || {
            let fingerprint = below(1 << BITS);
            let buckets: Vec<usize> = (0..u64::from(d_left::SUBTABLES))
                .map(|subtable| (subtable * BUCKETS + below(BUCKETS)) as usize)
                .collect();
            (fingerprint, buckets)
        };
        for _ in 0..u64::from(d_left::SUBTABLES * d_left::LOAD) * BUCKETS {
            let (fingerprint, buckets) = homes();
            // The emptiest, and of several the leftmost.
            let bucket = buckets.into_iter().min_by_key(|bucket| table[*bucket].len()).unwrap();
            table[bucket].push(fingerprint);
        }
        assert!(table.iter().all(|bucket| bucket.len() <= d_left::CELLS as usize));
        let strangers = 200_000;
        let found = (0..strangers).map(|_| homes()).filter(|(fingerprint, buckets)| {
            buckets.iter().any(|bucket| table[*bucket].contains(fingerprint))
        });
        let (found, expected) = (found.count() as f64, f64::from(strangers) * d_left::rate(BITS));
        // Some strangers find two: 1 % fewer than the formula says. Four standard deviations are 6 %.
        assert!(found < expected + 4.0 * expected.sqrt(), "{found} of {expected}");
        assert!(found > 0.98 * expected - 4.0 * expected.sqrt(), "{found} of {expected}");
    }

    #[test]
    fn ours_are_smaller_than_every_filter_that_counts_and_above_the_limit() {
        for rate in RATES {
            let limit = theory::information_limit(-rate.log2());
            for kind in OURS {
                let (bits, reached) = planned(kind, rate).unwrap();
                assert!(bits > limit && reached <= rate, "{kind} at {rate}: {bits}, {reached}");
                assert!(
                    bits < d_left_size(rate).0 && bits < counting_bloom::bits_per_key(rate),
                    "{kind} at {rate}"
                );
            }
        }
    }
}
