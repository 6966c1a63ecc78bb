//! Ascending quadruples of numbers below 16, and their numbers.

use std::sync::OnceLock;

/// Bits of the number of a quadruple.
pub(super) const NUMBER_BITS: u32 = 12;

/// The number of ascending quadruples of numbers below 16.
pub(super) const QUADRUPLES: u64 = 3876;

/// The number of different values of [`NUMBER_BITS`] bits.
pub(super) const NUMBERS: usize = 1 << NUMBER_BITS;

/// The widest lanes of which four fit in a word.
pub(super) const MOST_LANE: u32 = 16;

/// The amount that each position of a quadruple adds to its number.
static BINOMIALS: [[u16; 16]; 4] = {
    let mut table = [[0; 16]; 4];
    let mut n = 0;
    while n < 16 {
        let value = n as usize;
        table[0][value] = n;
        table[1][value] = n * (n + 1) / 2;
        table[2][value] = n * (n + 1) * (n + 2) / 6;
        table[3][value] = (n * (n + 1) / 2) * ((n + 2) * (n + 3) / 2) / 6;
        n += 1;
    }
    table
};

/// The quadruples by number, four bits for each part, the smallest part lowest. Numbers beyond the last decode as the
/// first, so that no bytes can do harm.
static DECODED: [u16; NUMBERS] = {
    let mut table = [0; NUMBERS];
    let mut number = 0;
    let mut d = 0;
    while d < 16 {
        let mut c = 0;
        while c <= d {
            let mut b = 0;
            while b <= c {
                let mut a = 0;
                while a <= b {
                    table[number] = a | b << 4 | c << 8 | d << 12;
                    number += 1;
                    a += 1;
                }
                b += 1;
            }
            c += 1;
        }
        d += 1;
    }
    table
};

/// Returns the number of an ascending quadruple.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "numbers below 16")]
pub(super) fn encode(quadruple: [u64; 4]) -> u64 {
    (0..4).map(|i| u64::from(BINOMIALS[i][quadruple[i] as usize & 15])).sum()
}

/// Returns the quadruple with a number, four bits for each part. Only the lowest 12 bits of the number count.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "numbers below 2^12")]
pub(super) fn decode(number: u64) -> u64 {
    u64::from(DECODED[number as usize % NUMBERS])
}

/// Moves four fields of four bits apart, into lanes of 4 to 16 bits.
#[inline(always)]
const fn spread(fields: u64, width: u32) -> u64 {
    let pairs = fields & 0xFF | (fields & 0xFF00) << (2 * width - 8);
    let low = 0xF | 0xF << (2 * width);
    pairs & low | (pairs & low << 4) << (width - 4)
}

/// Returns all quadruples by number, spread into lanes of 4 to 16 bits: 32 KiB for each width that this process uses,
/// made on first use.
pub(super) fn spread_into(width: u32) -> &'static [u64; NUMBERS] {
    const WIDTHS: usize = MOST_LANE as usize - 3;
    static TABLES: [OnceLock<Box<[u64; NUMBERS]>>; WIDTHS] = [const { OnceLock::new() }; WIDTHS];
    TABLES[width as usize - 4].get_or_init(|| {
        let all: Box<[u64]> = DECODED.iter().map(|fields| spread(u64::from(*fields), width)).collect();
        all.try_into().expect("as many quadruples as numbers")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadruples_are_numbered_without_gaps() {
        for number in 0..QUADRUPLES {
            let packed = decode(number);
            let quadruple: [u64; 4] = core::array::from_fn(|i| packed >> (4 * i) & 15);
            assert!(quadruple.is_sorted());
            assert_eq!(encode(quadruple), number);
        }
        assert_eq!(encode([15; 4]), QUADRUPLES - 1);
        const { assert!(QUADRUPLES < 1 << NUMBER_BITS) };
    }

    #[test]
    fn numbers_beyond_the_last_are_harmless() {
        for number in QUADRUPLES..1 << NUMBER_BITS {
            assert_eq!(decode(number), 0);
        }
    }

    #[test]
    fn quadruples_are_spread_into_lanes() {
        for width in 4..=MOST_LANE {
            for (number, lanes) in (0..).zip(spread_into(width)) {
                let expected: u64 = (0..4).map(|i| (decode(number) >> (4 * i) & 15) << (i * width)).sum();
                assert_eq!(*lanes, expected, "number {number} in lanes of {width}");
            }
        }
    }
}
