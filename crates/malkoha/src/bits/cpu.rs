//! One source, compiled several times: for every CPU of the family, and for those with AVX2 or AVX-512.
//!
//! A [`Work`] is written once, over a [`Vectors`] that it is given. Where the compiler vectorises plain loops by
//! itself, nothing else is needed; where it does not, `Vectors` has a method, in portable code and in intrinsics. All
//! versions give the same results, and tests compare them.
#![expect(unsafe_code, reason = "reads of shared words, which the caller answers for")]

use crate::key::KeyHash;
use crate::key::draw::{Multiply, Whole};

use super::block::{BLOCK_BITS, BLOCK_WORDS, Block, bit_of};
use super::chosen::{Chosen, Question};
use super::drawn::{BlockTable, Blocks, NarrowBits, fold};
use super::lanes::Lanes;
use super::pair::Pair;
use super::placed::Placed;
use super::prefix_table::Approach;
use super::shared;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// Operations on several words, lanes or slots at once.
pub trait Vectors: Copy {
    /// The words of the vectors that the compiler makes of loops.
    const WORDS: usize;

    /// The draws that are fastest for many fractions together.
    type Multiply: Multiply;

    /// Shifts two words down, each by fewer than 64 bits.
    fn shifted(self, words: [u64; 2], by: [u64; 2]) -> Pair;

    /// Reads two words, at these bytes from an address, by [`shared::read`](super::shared::read).
    ///
    /// # Safety
    ///
    /// That of [`shared::read`](super::shared::read), for both words.
    #[inline(always)]
    unsafe fn read_two(self, from: *const u8, bytes: [usize; 2]) -> Pair {
        // SAFETY: the obligation is that of the caller.
        Pair::new(unsafe { shared::read_two(from, bytes) })
    }

    /// Does the same, and shifts the words down, each by fewer than 64 bits.
    ///
    /// # Safety
    ///
    /// That of [`read_two`](Self::read_two).
    #[inline(always)]
    unsafe fn read_two_shifted(self, from: *const u8, bytes: [usize; 2], by: [u64; 2]) -> Pair {
        // SAFETY: the obligation is that of the caller.
        self.shifted(unsafe { shared::read_two(from, bytes) }, by)
    }

    /// Returns whether a lane of either word is zero.
    fn some_lane_is_zero(self, pair: Pair, lanes: Lanes) -> bool;

    /// Returns the slots that match a key at its two places: bit i for slot i of the first, bit 8 + i of the second.
    fn hits(self, key: &Approach<'_>) -> u32;

    /// Returns whether any slot matches, in a table with narrow slots.
    fn holds_narrow(self, key: &impl Placed) -> bool;

    /// Returns the bits at which the other places of all tags begin, in the same order, and the slots whose other places
    /// have an empty last slot. What is returned for other lanes and empty slots is some bit of the table.
    fn others_with_room(self, key: &Approach<'_>) -> ([u32; 16], u32);

    /// Returns the slots of the two places that are empty, in the same way.
    fn vacant(self, key: &Approach<'_>) -> u32;

    /// Whether `missing_drawn` is faster for eight bits together than for one after the other.
    const DRAWS_TOGETHER: bool;

    /// Returns a block with one bit in each word: bits 0 to 5 of `bits` are its number in the first word, 6 to 11 in
    /// the second, and so on.
    fn bit_in_each_word(self, bits: u64) -> Block;

    /// Returns whether all of these bits are set in `block`.
    fn has_bit_in_each_word(self, block: &[u64; BLOCK_WORDS], bits: u64) -> bool;

    /// Sets bit `at`, below 512. (In a register: a vector load stalls on bits that were just set in memory.)
    fn set(self, block: &mut Block, at: u64);

    /// Returns whether all bits of `pattern` are set in `block`.
    fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool;

    /// Returns a number for each of several blocks, 0 if and only if all bits are set that the first `count` of
    /// fourteen numbers name. Each word of `numbers` has seven of them, of nine bits, the first in its lowest bits.
    /// (Numbers and not `bool`s: the compiler turns those into branches, and which block holds a key cannot be
    /// predicted.)
    fn missing_bits<const C: usize>(
        self,
        blocks: [&[u64; BLOCK_WORDS]; C],
        numbers: [u64; 2],
        count: u32,
    ) -> [u64; C];

    /// Returns 0 if and only if the first `count` of eight bits of a table are set. The folded products
    /// (`drawn::fold`) of the factors draw the bits.
    #[inline(always)]
    fn missing_drawn(self, bits: NarrowBits<'_>, factors: [[u64; 2]; 8], count: u32) -> u64 {
        let mut all = 1;
        // Usually there are eight, and then the compiler knows the number of iterations.
        if count >= 8 {
            for factors in factors {
                all &= bits.all().draw(fold(factors));
            }
        } else {
            for factors in factors.into_iter().take(count as usize) {
                all &= bits.all().draw(fold(factors));
            }
        }
        all & 1 ^ 1
    }
}

/// Work that is worth compiling for several CPUs. Everything it calls in its loops is `#[inline(always)]`: a function
/// that is not inlined is compiled once, for every CPU.
pub(crate) trait Work {
    /// Whether the work gains from vectors of 512 bits, a whole block, and is compiled for them too.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "other CPUs have one form of the code")
    )]
    const WIDE: bool;
    type Output;
    fn run(self, vectors: impl Vectors) -> Self::Output;
}

/// Portable code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Vectors for Portable {
    const WORDS: usize = 2;
    type Multiply = Whole;
    const DRAWS_TOGETHER: bool = false;

    #[inline(always)]
    fn shifted(self, words: [u64; 2], by: [u64; 2]) -> Pair {
        Pair::new([words[0] >> by[0], words[1] >> by[1]])
    }

    #[inline(always)]
    fn some_lane_is_zero(self, pair: Pair, lanes: Lanes) -> bool {
        pair.has_zero_lane(lanes)
    }

    #[inline(always)]
    fn hits(self, key: &Approach<'_>) -> u32 {
        key.hits_one_by_one()
    }

    #[inline(always)]
    fn holds_narrow(self, key: &impl Placed) -> bool {
        key.holds_one_by_one()
    }

    #[inline(always)]
    fn others_with_room(self, key: &Approach<'_>) -> ([u32; 16], u32) {
        key.others_with_room_one_by_one()
    }

    #[inline(always)]
    fn vacant(self, key: &Approach<'_>) -> u32 {
        key.vacant_one_by_one()
    }

    #[inline(always)]
    fn bit_in_each_word(self, bits: u64) -> Block {
        Block(core::array::from_fn(|word| 1 << (bits >> (6 * word) & 63)))
    }

    #[inline(always)]
    fn has_bit_in_each_word(self, block: &[u64; BLOCK_WORDS], bits: u64) -> bool {
        let shifted = (0..).step_by(6).zip(block).map(|(at, word)| word >> (bits >> at & 63));
        shifted.fold(1, |all, word| all & word) == 1
    }

    #[inline(always)]
    fn set(self, block: &mut Block, at: u64) {
        block.set(at);
    }

    #[inline(always)]
    fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool {
        Block(*block).covers(pattern)
    }

    #[inline(always)]
    fn missing_bits<const C: usize>(
        self,
        blocks: [&[u64; BLOCK_WORDS]; C],
        [mut numbers, next]: [u64; 2],
        count: u32,
    ) -> [u64; C] {
        let mut missing = [0; C];
        for number in 0..count {
            if number == 7 {
                numbers = next;
            }
            for (missing, block) in missing.iter_mut().zip(blocks) {
                *missing |= bit_of(block, numbers % u64::from(BLOCK_BITS)) ^ 1;
            }
            numbers >>= 9;
        }
        missing
    }
}

/// The features of the CPU that this runs on, detected once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<avx2::Avx2>,
    #[cfg(target_arch = "x86_64")]
    avx512: Option<avx512::Avx512>,
}

impl Cpu {
    pub(crate) fn detect() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: avx2::Avx2::detect(),
            #[cfg(target_arch = "x86_64")]
            avx512: avx512::Avx512::detect(),
        }
    }

    /// Returns this CPU, and versions of it with fewer features.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        let cpu = Self::detect();
        #[cfg(target_arch = "x86_64")]
        return vec![cpu, Self { avx512: None, ..cpu }, Self { avx512: None, avx2: None }];
        #[cfg(not(target_arch = "x86_64"))]
        vec![cpu]
    }

    /// Returns this CPU if it has instructions that are better inlined than called.
    pub(crate) fn inlined(self) -> Option<Inlined> {
        #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))]
        return self.avx512.map(Inlined);
        #[cfg(not(all(target_arch = "x86_64", not(target_feature = "avx512f"))))]
        {
            let _ = self;
            None
        }
    }

    /// Returns the function that answers a question on this CPU.
    pub(crate) fn choose<T, Q: Question<T>>(self) -> Chosen<T> {
        #[cfg(target_arch = "x86_64")]
        {
            if Q::WIDE
                && let Some(avx512) = self.avx512
            {
                return avx512.choose::<T, Q>();
            }
            if let Some(avx2) = self.avx2 {
                return avx2.choose::<T, Q>();
            }
        }
        Chosen::any(ask_portably::<T, Q>)
    }

    /// Runs the version of `work` for this CPU.
    #[inline(always)]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        {
            // The constant comes first: where it is false, nothing is compiled for vectors of 512 bits.
            if W::WIDE
                && let Some(avx512) = self.avx512
            {
                return avx512.run(work);
            }
            if let Some(avx2) = self.avx2 {
                return avx2.run(work);
            }
            portable(work)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = self;
            work.run(Portable)
        }
    }
}

/// Answers a question in portable code.
fn ask_portably<T, Q: Question<T>>(of: &T, hash: KeyHash) -> bool {
    Q::ask(of, hash, Portable)
}

/// A CPU with instructions that are better inlined into code for every CPU than called. If all code is compiled for a
/// CPU that has them, or for another architecture, this type has no value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inlined(
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))] avx512::Avx512,
    #[cfg(not(all(target_arch = "x86_64", not(target_feature = "avx512f"))))] core::convert::Infallible,
);

impl Inlined {
    /// Returns whether the block that a fraction draws has the bit in each word that the draw after the fraction
    /// names.
    #[inline(always)]
    pub(crate) fn drawn_block_has_bits(self, blocks: Blocks<'_>, fraction: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))]
        return self.0.drawn_block_has_bits(blocks, fraction);
        #[cfg(not(all(target_arch = "x86_64", not(target_feature = "avx512f"))))]
        match (self.0, blocks, fraction) {}
    }

    /// Sets the bits that `drawn_block_has_bits` tests.
    #[inline(always)]
    pub(crate) fn add_bits_to_drawn_block(self, table: &mut BlockTable, fraction: u64) {
        #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))]
        self.0.add_bits_to_drawn_block(table, fraction);
        #[cfg(not(all(target_arch = "x86_64", not(target_feature = "avx512f"))))]
        match (self.0, table, fraction) {}
    }
}

/// Runs work in portable code, not inlined: otherwise callers would save registers for a path that few CPUs take.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn portable<W: Work>(work: W) -> W::Output {
    work.run(Portable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Words;
    use crate::bits::drawn::{BitTable, STEP, factors};
    use crate::key::draw::last_draw;
    use crate::key::mix;

    /// Checks operations on blocks, bit by bit.
    struct Check;

    impl Work for Check {
        const WIDE: bool = true;
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
                assert!(vectors.has_bit_in_each_word(&block, bits));
                let taken = (seed % 8) as usize;
                block[taken] &= !pattern.0[taken];
                assert!(!vectors.covers(&block, &pattern));
                assert!(!vectors.has_bit_in_each_word(&block, bits));
                let (mut set, mut expected) = (Block(block), Block(block));
                vectors.set(&mut set, bits % 512);
                expected.set(bits % 512);
                assert_eq!(set, expected);
                let numbers = [bits, mix(!seed)];
                for count in 0..=14 {
                    let number = |i: u32| numbers[(i / 7) as usize] >> (9 * (i % 7)) & 511;
                    let named =
                        |block: &[u64; BLOCK_WORDS]| (0..count).all(|i| bit_of(block, number(i)) == 1);
                    // Mostly ones, so that both answers occur.
                    let other = block.map(|word| word | mix(word) | mix(!word));
                    let missing = vectors.missing_bits([&block, &other], numbers, count);
                    let answers = missing.map(|missing| missing == 0);
                    assert_eq!(answers, [named(&block), named(&other)]);
                    yes += u32::from(answers[1]);
                }
            }
            assert!((6000..24_000).contains(&yes), "{yes} of 30,000 answers are yes");
        }
    }

    /// Checks operations on bits that are drawn from a table, bit by bit.
    struct CheckDraws;

    impl Work for CheckDraws {
        const WIDE: bool = true;
        type Output = ();

        fn run(self, vectors: impl Vectors) {
            let mut yes = 0;
            for bits in [1, 64, 1000, 100_000] {
                let mut table = BitTable::new(Words::zeroed(bits).unwrap(), bits);
                // Mostly ones, so that both answers occur.
                table
                    .words_mut()
                    .iter_mut()
                    .zip(0..)
                    .for_each(|(word, i)| *word = mix(i) | mix(!i) | mix(i << 9));
                for seed in 0..500u64 {
                    let edges = [[0, 0], [u64::MAX, u64::MAX], [1, u64::MAX], [1 << 63, 2]];
                    let factors = core::array::from_fn(|i| match edges.get(i) {
                        Some(edge) if seed == 0 => *edge,
                        _ => [mix(seed << 8 | i as u64), mix(!seed << 8 | i as u64)],
                    });
                    for count in 0..=9 {
                        let drawn = factors.into_iter().take(count as usize).map(fold);
                        let all = drawn
                            .map(|fraction| last_draw(fraction, bits))
                            .all(|at| table.words()[(at / 64) as usize] >> (at % 64) & 1 == 1);
                        let missing = vectors.missing_drawn(table.bits().narrow().unwrap(), factors, count);
                        assert_eq!(missing == 0, all, "{count} of {factors:?} in {bits}");
                        yes += u32::from(all);
                    }
                }
            }
            assert!((5000..15_000).contains(&yes), "{yes} of 20,000 answers are yes");
        }
    }

    #[test]
    fn all_cpus_draw_the_same_bits() {
        CheckDraws.run(Portable);
        for cpu in Cpu::all() {
            cpu.run(CheckDraws);
        }
    }

    #[test]
    fn what_is_inlined_agrees_with_what_is_called() {
        let Some(inlined) = Cpu::detect().inlined() else { return };
        let blocks = 3;
        let mut table = BlockTable::new(Words::zeroed(blocks * 512).unwrap(), blocks);
        let mut other = table.clone();
        let (mut yes, mut no) = (0, 0);
        let fractions = [0, 1, u64::MAX, u64::MAX - STEP].into_iter().chain((0..1000).map(mix));
        for (i, fraction) in fractions.enumerate() {
            let bits = fold(factors(fraction.wrapping_add(STEP)));
            let answer = inlined.drawn_block_has_bits(table.blocks(), fraction);
            assert_eq!(answer, Portable.has_bit_in_each_word(table.blocks().draw(fraction), bits));
            *(if answer { &mut yes } else { &mut no }) += 1;
            if i < 500 {
                inlined.add_bits_to_drawn_block(&mut table, fraction);
                let block = other.draw_mut(fraction);
                let mut fuller = Block(*block);
                fuller.add(&Portable.bit_in_each_word(bits));
                *block = fuller.0;
                assert_eq!(table.words(), other.words());
                assert!(inlined.drawn_block_has_bits(table.blocks(), fraction));
            }
        }
        assert!(yes > 100 && no > 100, "{yes} {no}");
    }

    #[test]
    fn all_cpus_agree_with_one_bit_at_a_time() {
        Check.run(Portable);
        for cpu in Cpu::all() {
            cpu.run(Check);
        }
    }
}
