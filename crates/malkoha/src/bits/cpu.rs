//! One source, compiled twice: for every CPU of the family, and for those with AVX2.
//!
//! A [`Work`] is written once, over a [`Vectors`] that it is given. Where the compiler finds the vectors in plain
//! loops by itself, nothing else is needed; where it does not, `Vectors` has a method, in portable code and in
//! instructions. All of them give the same results, and tests compare them.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "instructions of a CPU that was asked"))]

use super::block::{BLOCK_WORDS, Block};

/// What a CPU does with all words of a block at once.
pub trait Vectors: Copy {
    /// A block with one bit in each word: bits 0 to 5 of `bits` say which in the first, 6 to 11 in the second,
    /// and so on.
    fn bit_in_each_word(self, bits: u64) -> Block;

    /// Whether all bits of `pattern` are set in `block`.
    fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool;
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
        __m256i, _mm256_and_si256, _mm256_loadu_si256, _mm256_set1_epi64x, _mm256_setr_epi64x,
        _mm256_sllv_epi64, _mm256_srlv_epi64, _mm256_storeu_si256, _mm256_testc_si256,
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
            }
        }
    }

    #[test]
    fn all_cpus_agree_with_one_bit_at_a_time() {
        Check.run(Portable);
        Cpu::detect().run(Check);
    }
}
