//! One source, compiled twice: for every CPU of the family, and for those with AVX2.
//!
//! A [`Work`] is written once, over a [`Vectors`] that it is given. Where the compiler finds the vectors in plain
//! loops by itself, nothing else is needed; where it does not, `Vectors` has a method, in portable code and in
//! instructions. All of them give the same results, and tests compare them.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "instructions of a CPU that was asked"))]

use super::block::{BLOCK_BITS, BLOCK_WORDS, Block, bit_of};

/// What a CPU does with all words of a block at once.
pub trait Vectors: Copy {
    /// A block with one bit in each word: bits 0 to 5 of `bits` say which in the first, 6 to 11 in the second,
    /// and so on.
    fn bit_in_each_word(self, bits: u64) -> Block;

    /// Whether all bits of `pattern` are set in `block`.
    fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool;

    /// Whether the bits that the lowest `count` numbers of nine bits in `numbers` name, at most seven, are set in
    /// each of several blocks.
    fn named_bits<const C: usize>(
        self,
        blocks: [&[u64; BLOCK_WORDS]; C],
        numbers: u64,
        count: u32,
    ) -> [bool; C];
}

/// Work that is worth compiling for several CPUs. All that it calls in its loops is `#[inline(always)]`: what is
/// called and not inlined is compiled once, for every CPU.
pub(crate) trait Work {
    type Output;
    fn run(self, vectors: impl Vectors) -> Self::Output;
}

/// Portable code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Vectors for Portable {
    #[inline(always)]
    fn bit_in_each_word(self, bits: u64) -> Block {
        Block(core::array::from_fn(|word| 1 << (bits >> (6 * word) & 63)))
    }

    #[inline(always)]
    fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool {
        Block(*block).covers(pattern)
    }

    #[inline(always)]
    fn named_bits<const C: usize>(
        self,
        blocks: [&[u64; BLOCK_WORDS]; C],
        mut numbers: u64,
        count: u32,
    ) -> [bool; C] {
        let mut all = [1; C];
        for _ in 0..count {
            for (all, block) in all.iter_mut().zip(blocks) {
                *all &= bit_of(block, numbers % u64::from(BLOCK_BITS));
            }
            numbers >>= 9;
        }
        all.map(|all| all == 1)
    }
}

/// The CPU that this runs on, asked once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<x86::Avx2>,
}

impl Cpu {
    pub(crate) fn detect() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: x86::Avx2::detect(),
        }
    }

    /// Does work with what this CPU can do.
    #[inline(always)]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.run(work);
        }
        work.run(Portable)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
        _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
        _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_shuffle_ps, _mm256_slli_epi32,
        _mm256_sllv_epi32, _mm256_sllv_epi64, _mm256_srli_epi32, _mm256_srlv_epi64, _mm256_storeu_si256,
        _mm256_testc_si256,
    };

    use super::{BLOCK_WORDS, Block, Vectors, Work};

    /// Proof that the CPU has AVX2, BMI1, BMI2 and POPCNT: only `detect` makes one.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Avx2(());

    impl Avx2 {
        pub(super) fn detect() -> Option<Self> {
            let all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            all.then_some(Self(()))
        }

        #[inline(always)]
        pub(super) fn run<W: Work>(self, work: W) -> W::Output {
            // SAFETY: the CPU has all features of `compiled`, as `self` proves.
            unsafe { compiled(work, self) }
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn compiled<W: Work>(work: W, avx2: Avx2) -> W::Output {
        work.run(avx2)
    }

    impl Vectors for Avx2 {
        #[inline(always)]
        fn bit_in_each_word(self, bits: u64) -> Block {
            // SAFETY: the CPU has AVX2, as `self` proves.
            unsafe { bit_in_each_word(bits) }
        }

        #[inline(always)]
        fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool {
            // SAFETY: the CPU has AVX2, as `self` proves.
            unsafe { covers(block, pattern) }
        }

        #[inline(always)]
        fn named_bits<const C: usize>(
            self,
            blocks: [&[u64; BLOCK_WORDS]; C],
            numbers: u64,
            count: u32,
        ) -> [bool; C] {
            // SAFETY: the CPU has AVX2, as `self` proves.
            unsafe { named_bits(blocks, numbers, count) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn bit_in_each_word(bits: u64) -> Block {
        let bits = _mm256_set1_epi64x(bits.cast_signed());
        let (sixes, one) = (_mm256_set1_epi64x(63), _mm256_set1_epi64x(1));
        let half =
            |distances| _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srlv_epi64(bits, distances), sixes));
        let mut block = Block::default();
        let (low, high) = block.0.split_at_mut(4);
        store(low, half(_mm256_setr_epi64x(0, 6, 12, 18)));
        store(high, half(_mm256_setr_epi64x(24, 30, 36, 42)));
        block
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn covers(block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool {
        let (low, high) = block.split_at(4);
        let (pattern_low, pattern_high) = pattern.0.split_at(4);
        let low = _mm256_testc_si256(load(low), load(pattern_low));
        let high = _mm256_testc_si256(load(high), load(pattern_high));
        low & high == 1
    }

    /// All numbers at once, one in each 32-bit lane: its upper four bits choose one of the sixteen halves of words,
    /// its lower five a bit in there.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn named_bits<const C: usize>(blocks: [&[u64; BLOCK_WORDS]; C], numbers: u64, count: u32) -> [bool; C] {
        let numbers = _mm256_set1_epi64x(numbers.cast_signed());
        let low = _mm256_srlv_epi64(numbers, _mm256_setr_epi64x(0, 9, 18, 27));
        let high = _mm256_srlv_epi64(numbers, _mm256_setr_epi64x(36, 45, 54, 63));
        // The lower half of every word; which number comes to lie in which lane is written in the next line.
        let low_halves =
            _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
        let lanes = _mm256_castps_si256(low_halves);
        let wanted = _mm256_cmpgt_epi32(
            _mm256_set1_epi32(count.cast_signed()),
            _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7),
        );
        let bit = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_and_si256(lanes, _mm256_set1_epi32(31)));
        let bit = _mm256_and_si256(bit, wanted);
        // A permutation looks at three bits of an index, a blend at the sign.
        let half = _mm256_srli_epi32::<5>(lanes);
        let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(lanes));
        blocks.map(|block| {
            let (first, second) = block.split_at(4);
            let first = _mm256_permutevar8x32_epi32(load(first), half);
            let second = _mm256_permutevar8x32_epi32(load(second), half);
            let chosen = _mm256_blendv_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), upper);
            _mm256_testc_si256(_mm256_castps_si256(chosen), bit) == 1
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(words: &[u64]) -> __m256i {
        assert_eq!(words.len(), 4, "four words are a vector");
        // SAFETY: the four words are readable, as asserted; the load needs no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(words: &mut [u64], vector: __m256i) {
        assert_eq!(words.len(), 4, "four words are a vector");
        // SAFETY: the four words are writable, as asserted; the store needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::mix;

    /// What vectors say of blocks, bit by bit.
    struct Check;

    impl Work for Check {
        type Output = ();

        fn run(self, vectors: impl Vectors) {
            let mut yes = 0;
            for seed in 0..2000u64 {
                let bits = mix(seed);
                let pattern = vectors.bit_in_each_word(bits);
                for word in 0..8 {
                    assert_eq!(pattern.0[word as usize], 1 << (bits >> (6 * word) & 63));
                }
                let mut block = core::array::from_fn(|word| mix(bits ^ word as u64) | pattern.0[word]);
                assert!(vectors.covers(&block, &pattern));
                let taken = (seed % 8) as usize;
                block[taken] &= !pattern.0[taken];
                assert!(!vectors.covers(&block, &pattern));
                for count in 0..=7 {
                    let named = |block: &[u64; BLOCK_WORDS]| {
                        (0..count).all(|i| bit_of(block, bits >> (9 * i) & 511) == 1)
                    };
                    // Mostly ones, so that both answers occur.
                    let other = block.map(|word| word | mix(word) | mix(!word));
                    let answers = vectors.named_bits([&block, &other], bits, count);
                    assert_eq!(answers, [named(&block), named(&other)]);
                    yes += u32::from(answers[1]);
                }
            }
            assert!((4000..14_000).contains(&yes), "{yes} of 16,000 answers are yes");
        }
    }

    #[test]
    fn all_cpus_agree_with_one_bit_at_a_time() {
        Check.run(Portable);
        Cpu::detect().run(Check);
    }
}
