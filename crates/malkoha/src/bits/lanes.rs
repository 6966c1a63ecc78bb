//! Lanes: several fields of equal width side by side in one word, tested together.
//!
//! ```text
//!   lane        2   |   1   |   0
//!   highs     1000  | 1000  | 1000      the highest bit of every lane
//!   ones      0001  | 0001  | 0001      the lowest bit of every lane
//!   word      0110  | 0000  | 1011      lane 1 is zero
//!   (word - ones) & !word & highs       a borrow ripples out of a zero lane into its highest bit
//! ```
//!
//! The borrow of a zero lane may carry into the lane above it and mark that lane too. So the mark of the *lowest*
//! zero lane is always right, and there is a mark if and only if there is a zero lane, but higher marks may be wrong.
//! The marks answer "is there any" and "which is first"; [`nonzero_marks`] is exact for all lanes and takes one more
//! operation.

/// The lowest and the highest bit of every lane of a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lanes {
    pub(crate) ones: u64,
    pub(crate) highs: u64,
}

/// Returns the lowest bit of each of `lanes` lanes of `width` bits.
pub(crate) const fn ones(width: u32, lanes: u32) -> u64 {
    let mut word = 0;
    let mut lane = 0;
    while lane < lanes {
        word |= 1 << (lane * width);
        lane += 1;
    }
    word
}

/// Marks the highest bit of the first zero lane, and perhaps of lanes above it; returns 0 if no lane is zero.
///
/// `ones` comes from [`ones`], `highs` is `ones << (width - 1)`. Bits above the lanes do not matter.
#[inline(always)]
pub(crate) const fn zero_marks(word: u64, ones: u64, highs: u64) -> u64 {
    word.wrapping_sub(ones) & !word & highs
}

/// Marks the highest bit of every lane that is not zero. Unlike [`zero_marks`], it is exact for all lanes, and takes
/// one more operation.
#[inline(always)]
pub(crate) const fn nonzero_marks(word: u64, ones: u64, highs: u64) -> u64 {
    // Added to the bits below the highest bit, this carries into the highest bit unless they are all zero.
    let below = highs - ones;
    (((word & below) + below) | word) & highs
}

/// Returns the lowest bit of the first zero lane, given the marks of lanes of `width` bits. There is at least one
/// mark.
#[inline(always)]
pub(crate) const fn first(marks: u64, width: u32) -> u32 {
    marks.trailing_zeros() - (width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::naive;

    fn check(word: u64, width: u32, lanes: u32) {
        let ones = ones(width, lanes);
        let marks = zero_marks(word, ones, ones << (width - 1));
        let found = (marks != 0).then(|| first(marks, width) / width);
        assert_eq!(found, naive::first_zero_lane(word, width, lanes), "{word:#x} in lanes of {width}");
        let marks = nonzero_marks(word, ones, ones << (width - 1));
        for lane in 0..lanes {
            let content = word >> (lane * width) & (u64::MAX >> (64 - width));
            let mark = marks >> (lane * width) & (u64::MAX >> (64 - width));
            let expected = if content == 0 { 0 } else { 1 << (width - 1) };
            assert_eq!(mark, expected, "lane {lane} of {word:#x} in lanes of {width}");
        }
    }

    #[test]
    fn small_words_agree_with_the_oracle_exhaustively() {
        for width in 1..=8 {
            for lanes in 1..=16 / width {
                for word in 0..1u64 << (width * lanes) {
                    check(word, width, lanes);
                }
            }
        }
    }

    #[test]
    fn all_widths_agree_with_the_oracle_on_sparse_words() {
        for width in 1..=64 {
            for lanes in 1..=64 / width {
                let used = if width * lanes == 64 { u64::MAX } else { (1 << (width * lanes)) - 1 };
                for zeroed in 0..lanes {
                    let hole = (u64::MAX >> (64 - width)) << (zeroed * width);
                    check(used & !hole, width, lanes);
                    check((ones(width, lanes) & !hole) & used, width, lanes);
                }
                check(used, width, lanes);
                check(0, width, lanes);
            }
        }
    }
}
