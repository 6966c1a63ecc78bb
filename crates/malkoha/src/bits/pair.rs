//! Two words that are processed together: those of the two places of a key.
//!
//! On x86-64 a pair is a vector, which every CPU of the family has. The gain is less in the number of instructions
//! than in the room inside the CPU: a lookup is one long chain of multiplications, and more keys are in flight if the
//! ends of their chains wait with the vectors, in a separate queue (`docs/NOTEBOOK.md`, "What bounds a single
//! lookup").

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions that every CPU of the family has")]
mod imp {
    use core::arch::x86_64::{
        __m128i, _mm_add_epi64, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cvtsi64_si128,
        _mm_movemask_epi8, _mm_mul_epu32, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi64x, _mm_setzero_si128,
        _mm_sll_epi64, _mm_srl_epi64, _mm_srli_epi64, _mm_sub_epi64, _mm_xor_si128,
    };

    use crate::bits::lanes::Lanes;

    /// One instruction of SSE2.
    macro_rules! sse2 {
        ($instruction:expr) => {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { $instruction }
        };
    }

    /// Two words.
    #[derive(Clone, Copy, Debug)]
    pub struct Pair(pub(in crate::bits) __m128i);

    impl Pair {
        #[inline(always)]
        pub(crate) fn new([low, high]: [u64; 2]) -> Self {
            Self(sse2!(_mm_set_epi64x(high.cast_signed(), low.cast_signed())))
        }

        /// Returns the same word twice.
        #[inline(always)]
        pub(crate) fn both(word: u64) -> Self {
            Self(sse2!(_mm_set1_epi64x(word.cast_signed())))
        }

        #[inline(always)]
        pub(crate) fn xor(self, other: Self) -> Self {
            Self(sse2!(_mm_xor_si128(self.0, other.0)))
        }

        #[inline(always)]
        pub(crate) fn or(self, other: Self) -> Self {
            Self(sse2!(_mm_or_si128(self.0, other.0)))
        }

        #[inline(always)]
        pub(crate) fn plus(self, other: Self) -> Self {
            Self(sse2!(_mm_add_epi64(self.0, other.0)))
        }

        #[inline(always)]
        pub(crate) fn and(self, other: Self) -> Self {
            Self(sse2!(_mm_and_si128(self.0, other.0)))
        }

        /// Multiplies the lower halves of the words.
        #[inline(always)]
        pub(crate) fn times(self, other: Self) -> Self {
            Self(sse2!(_mm_mul_epu32(self.0, other.0)))
        }

        #[inline(always)]
        pub(crate) fn shifted_down<const BY: i32>(self) -> Self {
            Self(sse2!(_mm_srli_epi64::<BY>(self.0)))
        }

        /// Shifts both words down by fewer than 64 bits.
        #[inline(always)]
        pub(crate) fn shifted_down_by(self, by: u64) -> Self {
            Self(sse2!(_mm_srl_epi64(self.0, _mm_cvtsi64_si128(by.cast_signed()))))
        }

        /// Shifts both words up by fewer than 64 bits.
        #[inline(always)]
        pub(crate) fn shifted_up_by(self, by: u64) -> Self {
            Self(sse2!(_mm_sll_epi64(self.0, _mm_cvtsi64_si128(by.cast_signed()))))
        }

        /// Returns the marks of `zero_marks`, with other bits that are not marks.
        #[inline(always)]
        pub(in crate::bits) fn loose_marks(self, ones: u64) -> Self {
            let less = sse2!(_mm_sub_epi64(self.0, Self::both(ones).0));
            Self(sse2!(_mm_andnot_si128(self.0, less)))
        }

        /// Returns whether a lane of either word is zero.
        #[inline(always)]
        pub(crate) fn has_zero_lane(self, lanes: Lanes) -> bool {
            let marks = sse2!(_mm_and_si128(self.loose_marks(lanes.ones).0, Self::both(lanes.highs).0));
            let zero = sse2!(_mm_setzero_si128());
            let none = sse2!(_mm_cmpeq_epi8(marks, zero));
            sse2!(_mm_movemask_epi8(none)) != 0xFFFF
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use crate::bits::lanes::{Lanes, zero_marks};

    /// Two words.
    #[derive(Clone, Copy, Debug)]
    pub struct Pair([u64; 2]);

    impl Pair {
        #[inline(always)]
        pub(crate) fn new(words: [u64; 2]) -> Self {
            Self(words)
        }

        /// Returns the same word twice.
        #[inline(always)]
        pub(crate) fn both(word: u64) -> Self {
            Self([word; 2])
        }

        #[inline(always)]
        fn zip(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
            Self([join(self.0[0], other.0[0]), join(self.0[1], other.0[1])])
        }

        #[inline(always)]
        pub(crate) fn xor(self, other: Self) -> Self {
            self.zip(other, |one, other| one ^ other)
        }

        #[inline(always)]
        pub(crate) fn or(self, other: Self) -> Self {
            self.zip(other, |one, other| one | other)
        }

        #[inline(always)]
        pub(crate) fn plus(self, other: Self) -> Self {
            self.zip(other, u64::wrapping_add)
        }

        #[inline(always)]
        pub(crate) fn and(self, other: Self) -> Self {
            self.zip(other, |one, other| one & other)
        }

        /// Multiplies the lower halves of the words.
        #[inline(always)]
        pub(crate) fn times(self, other: Self) -> Self {
            self.zip(other, |one, other| u64::from(one as u32) * u64::from(other as u32))
        }

        #[inline(always)]
        pub(crate) fn shifted_down<const BY: i32>(self) -> Self {
            Self(self.0.map(|word| word >> BY))
        }

        /// Shifts both words down by fewer than 64 bits.
        #[inline(always)]
        pub(crate) fn shifted_down_by(self, by: u64) -> Self {
            Self(self.0.map(|word| word >> by))
        }

        /// Shifts both words up by fewer than 64 bits.
        #[inline(always)]
        pub(crate) fn shifted_up_by(self, by: u64) -> Self {
            Self(self.0.map(|word| word << by))
        }

        /// Returns whether a lane of either word is zero.
        #[inline(always)]
        pub(crate) fn has_zero_lane(self, lanes: Lanes) -> bool {
            let [low, high] = self.0.map(|word| zero_marks(word, lanes.ones, lanes.highs));
            low | high != 0
        }
    }
}

pub(crate) use imp::Pair;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::{Cpu, Vectors, Work};
    use crate::bits::lanes::{Lanes, ones};
    use crate::bits::naive;
    use crate::key::mix;

    /// Compares pairs with words, one lane at a time.
    struct Check;

    impl Work for Check {
        const WIDE: bool = true;
        type Output = ();

        fn run(self, vectors: impl Vectors) {
            let mut zeros = [0; 2];
            for seed in 0..20_000 {
                let (width, shifts) = (1 + (seed % 16) as u32, [seed % 8, seed / 8 % 8]);
                let lanes = 57 / width;
                let ones = ones(width, lanes);
                // Sparse words, some with zero lanes.
                let words = [mix(seed) | mix(!seed), mix(seed << 20) | mix(seed << 40)];
                let others = [mix(seed + 7) & mix(seed + 8) & words[0], mix(seed + 9) & words[1]];
                let shifted = [words[0] >> shifts[0], words[1] >> shifts[1]];
                let pair = vectors.shifted(words, shifts).xor(Pair::new(others)).or(Pair::both(ones & seed));
                let expected = [0, 1].map(|i| (shifted[i] ^ others[i]) | ones & seed);
                let zero = |word| naive::first_zero_lane(word, width, lanes).is_some();
                let some = expected.into_iter().any(zero);
                let lanes = Lanes { ones, highs: ones << (width - 1) };
                assert_eq!(vectors.some_lane_is_zero(pair, lanes), some, "{expected:x?} in lanes of {width}");
                assert_eq!(pair.has_zero_lane(lanes), some);
                zeros[usize::from(some)] += 1;
                let sum = Pair::new(words).plus(Pair::new(others)).shifted_down::<12>();
                let sums = [0, 1].map(|i: usize| words[i].wrapping_add(others[i]) >> 12);
                let same = Lanes { ones: 1, highs: 1 << 63 };
                let equal = |one: Pair, [low, high]: [u64; 2]| {
                    assert!(vectors.some_lane_is_zero(one.xor(Pair::new([low, !high])), same));
                    assert!(vectors.some_lane_is_zero(one.xor(Pair::new([!low, high])), same));
                };
                let products = [0, 1].map(|i: usize| (words[i] & 0xFFFF_FFFF) * (others[i] & 0xFFFF_FFFF));
                equal(Pair::new(words).times(Pair::new(others)), products);
                equal(Pair::new(words).and(Pair::new(others)), [words[0] & others[0], words[1] & others[1]]);
                equal(Pair::new(words).shifted_down_by(seed % 64), words.map(|word| word >> (seed % 64)));
                equal(Pair::new(words).shifted_up_by(seed % 64), words.map(|word| word << (seed % 64)));
                assert!(vectors.some_lane_is_zero(sum.xor(Pair::new([sums[0], !sums[1]])), same));
                assert!(vectors.some_lane_is_zero(sum.xor(Pair::new([!sums[0], sums[1]])), same));
                assert!(!vectors.some_lane_is_zero(sum.xor(Pair::new([!sums[0], !sums[1]])), same));
            }
            assert!(zeros.iter().all(|&count| count > 2000), "{zeros:?} of both answers");
        }
    }

    #[test]
    fn all_cpus_agree_with_one_lane_at_a_time() {
        for cpu in Cpu::all() {
            cpu.run(Check);
        }
    }
}
