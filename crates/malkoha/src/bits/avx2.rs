//! A block as two vectors of 256 bits.
#![expect(unsafe_code, reason = "instructions of a CPU that was asked")]

use core::arch::x86_64::{
    __m256i, _mm_srlv_epi64, _mm_testz_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32,
    _mm256_loadu_si256, _mm256_movemask_ps, _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set_m128i,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_sllv_epi64,
    _mm256_srli_epi32, _mm256_srlv_epi32, _mm256_srlv_epi64, _mm256_storeu_si256, _mm256_sub_epi64,
    _mm256_testc_si256, _mm256_testz_si256, _mm256_xor_si256,
};

use crate::key::KeyHash;
use crate::key::draw::Narrow;

use super::block::{BLOCK_WORDS, Block};
use super::chosen::{Chosen, Question};
use super::cpu::{Vectors, Work};
use super::lanes::Lanes;
use super::pair::Pair;
use super::placed::Placed;
use super::prefix_table::Approach;
use super::prefixes::{NARROW_BITS, second_half};
#[cfg(not(malkoha_bytes))]
use super::shared;

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

    pub(super) fn choose<T, Q: Question<T>>(self) -> Chosen<T> {
        let Self(()) = self;
        // SAFETY: the CPU has all features of `ask`, as `self` proves.
        unsafe { Chosen::new(ask::<T, Q>) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn compiled<W: Work>(work: W, avx2: Avx2) -> W::Output {
    work.run(avx2)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn ask<T, Q: Question<T>>(of: &T, hash: KeyHash) -> bool {
    // The caller has these features, so the proof may be made here.
    Q::ask(of, hash, Avx2(()))
}

impl Vectors for Avx2 {
    const WORDS: usize = 4;
    type Multiply = Narrow;
    const DRAWS_TOGETHER: bool = false;

    #[inline(always)]
    fn shifted(self, words: [u64; 2], by: [u64; 2]) -> Pair {
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { shifted(words, by) }
    }

    #[inline(always)]
    #[cfg(not(malkoha_bytes))]
    unsafe fn read_two(self, from: *const u8, bytes: [usize; 2]) -> Pair {
        // SAFETY: the caller answers for the words, and AVX2 includes AVX; the CPU has AVX2, as `self` proves.
        unsafe { shared::read_pair(from, bytes) }
    }

    #[inline(always)]
    #[cfg(not(malkoha_bytes))]
    unsafe fn read_two_shifted(self, from: *const u8, bytes: [usize; 2], by: [u64; 2]) -> Pair {
        // SAFETY: the caller answers for the words, and AVX2 includes AVX; the CPU has AVX2, as `self` proves.
        let pair = unsafe { shared::read_pair(from, bytes) };
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { shifted_pair(pair, by) }
    }

    #[inline(always)]
    fn some_lane_is_zero(self, pair: Pair, lanes: Lanes) -> bool {
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { some_lane_is_zero(pair, lanes) }
    }

    #[inline(always)]
    fn hits(self, key: &Approach<'_>) -> u32 {
        if !key.table.form().is_narrow() {
            return wide_hits(key);
        }
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { hits(key) }
    }

    #[inline(always)]
    fn holds_narrow(self, key: &impl Placed) -> bool {
        debug_assert!(key.width() <= NARROW_BITS, "the caller has seen that slots are narrow");
        // SAFETY: the CPU has these features, as `self` proves.
        unsafe { hits(key) != 0 }
    }

    #[inline(always)]
    fn others_with_room(self, key: &Approach<'_>) -> ([u32; 16], u32) {
        key.others_with_room_one_by_one()
    }

    #[inline(always)]
    fn vacant(self, key: &Approach<'_>) -> u32 {
        if !key.table.form().is_narrow() {
            return wide_vacant(key);
        }
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { vacant(key) }
    }

    #[inline(always)]
    fn bit_in_each_word(self, bits: u64) -> Block {
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { bit_in_each_word(bits) }
    }

    #[inline(always)]
    fn has_bit_in_each_word(self, block: &[u64; BLOCK_WORDS], bits: u64) -> bool {
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { has_bit_in_each_word(block, bits) }
    }

    #[inline(always)]
    fn set(self, block: &mut Block, at: u64) {
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { set(block, at) }
    }

    #[inline(always)]
    fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool {
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { covers(block, pattern) }
    }

    #[inline(always)]
    fn missing_bits<const C: usize>(
        self,
        blocks: [&[u64; BLOCK_WORDS]; C],
        numbers: [u64; 2],
        count: u32,
    ) -> [u64; C] {
        // SAFETY: the CPU has AVX2, as `self` proves.
        unsafe { missing_bits(blocks, numbers, count) }
    }
}

/// Splits `bits` into eight numbers of six bits.
#[inline]
#[target_feature(enable = "avx2")]
fn six_bits_each(bits: u64) -> [__m256i; 2] {
    let bits = _mm256_set1_epi64x(bits.cast_signed());
    [_mm256_setr_epi64x(0, 6, 12, 18), _mm256_setr_epi64x(24, 30, 36, 42)]
        .map(|distances| _mm256_and_si256(_mm256_srlv_epi64(bits, distances), _mm256_set1_epi64x(63)))
}

/// Returns one bit in each of eight words.
#[inline]
#[target_feature(enable = "avx2")]
fn bits_of_words(bits: u64) -> [__m256i; 2] {
    six_bits_each(bits).map(|numbers| _mm256_sllv_epi64(_mm256_set1_epi64x(1), numbers))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn shifted(words: [u64; 2], by: [u64; 2]) -> Pair {
    shifted_pair(Pair::new(words), by)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn shifted_pair(words: Pair, by: [u64; 2]) -> Pair {
    Pair(_mm_srlv_epi64(words.0, Pair::new(by).0))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn some_lane_is_zero(pair: Pair, lanes: Lanes) -> bool {
    _mm_testz_si128(pair.loose_marks(lanes.ones).0, Pair::both(lanes.highs).0) == 0
}

/// For every narrow width, where each slot begins in its half of the window if the place begins with a byte. (A power
/// of two of rows, so that no index has to be checked.)
#[expect(clippy::cast_possible_truncation, reason = "less than a place")]
static BEGINS: [[u32; 8]; 32] = {
    let mut all = [[0; 8]; 32];
    let mut i = 0;
    while i < (NARROW_BITS as usize + 1) * 8 {
        let (width, slot) = (i / 8, i % 8);
        all[width][slot] = (slot * width - if slot < 4 { 0 } else { 8 * second_half(width) }) as u32;
        i += 1;
    }
    all
};

/// Brings the tags of a place with narrow slots into the highest bits of lanes of 32 bits. Lanes that are no slots are
/// arbitrary.
#[inline]
#[target_feature(enable = "avx2")]
fn tags(key: &impl Placed, side: usize) -> __m256i {
    let width = key.width() as usize % 32;
    // SAFETY: AVX2 includes AVX.
    let [first, second] = unsafe { key.halves(side) };
    // SAFETY: there are 32 bytes, and this load needs no alignment.
    let begins = unsafe { _mm256_loadu_si256(BEGINS[width].as_ptr().cast()) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "below 8")]
    let begins = _mm256_add_epi32(begins, _mm256_set1_epi32(key.phase(side) as i32));
    // The number of its first byte in every byte of a lane, and 0, 1, 2, 3 more.
    let first_byte =
        _mm256_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0C0C_0C0C, 0, 0x0404_0404, 0x0808_0808, 0x0C0C_0C0C);
    let order = _mm256_shuffle_epi8(_mm256_srli_epi32::<3>(begins), first_byte);
    let order = _mm256_add_epi32(order, _mm256_set1_epi32(0x0302_0100));
    let slots = _mm256_shuffle_epi8(_mm256_set_m128i(second, first), order);
    let shifts = _mm256_and_si256(begins, _mm256_set1_epi32(7));
    _mm256_sllv_epi32(_mm256_srlv_epi32(slots, shifts), _mm256_set1_epi32(key.shift().cast_signed()))
}

/// The highest bit of every lane of both places, of those that are slots.
#[inline]
#[target_feature(enable = "avx2")]
fn marks(key: &impl Placed, marked: impl Fn(__m256i, usize) -> __m256i) -> u32 {
    let [first, second] = [0, 1]
        .map(|side| _mm256_movemask_ps(_mm256_castsi256_ps(marked(tags(key, side), side))).cast_unsigned());
    (first | second << 8) & u32::from(key.lanes())
}

#[inline]
#[target_feature(enable = "avx2")]
fn hits(key: &impl Placed) -> u32 {
    let sought = (key.sought() >> 32) as i32;
    marks(key, |tags, side| {
        let sought = _mm256_set1_epi32(if side == 0 { sought } else { sought | i32::MIN });
        // `prefixes::matches` in every lane: no difference above the mark, and a mark.
        let upto_mark = _mm256_xor_si256(tags, _mm256_add_epi32(tags, _mm256_set1_epi32(-1)));
        let differing = _mm256_andnot_si256(upto_mark, _mm256_xor_si256(tags, sought));
        let zero = _mm256_setzero_si256();
        _mm256_andnot_si256(_mm256_cmpeq_epi32(tags, zero), _mm256_cmpeq_epi32(differing, zero))
    })
}

#[inline]
#[target_feature(enable = "avx2")]
fn vacant(key: &Approach<'_>) -> u32 {
    marks(key, |tags, _| _mm256_cmpeq_epi32(tags, _mm256_setzero_si256()))
}

/// `Vectors::hits` for wide slots. (Not inlined, so that narrow slots have the registers.)
#[cold]
#[inline(never)]
fn wide_hits(key: &Approach<'_>) -> u32 {
    key.hits_one_by_one()
}

/// `Vectors::vacant` for wide slots.
#[cold]
#[inline(never)]
fn wide_vacant(key: &Approach<'_>) -> u32 {
    key.vacant_one_by_one()
}

#[inline]
#[target_feature(enable = "avx2")]
fn bit_in_each_word(bits: u64) -> Block {
    let [low_bits, high_bits] = bits_of_words(bits);
    let mut block = Block::default();
    let (low, high) = block.0.split_at_mut(4);
    store(low, low_bits);
    store(high, high_bits);
    block
}

/// Tests the bits of `bits_of_words`.
///
/// (To shift each word down to its bit and compare with 1 should save two instructions. But once the compiler knew
/// that all other bits are 0, it emitted five more.)
#[inline]
#[target_feature(enable = "avx2")]
fn has_bit_in_each_word(block: &[u64; BLOCK_WORDS], bits: u64) -> bool {
    let [low_bits, high_bits] = bits_of_words(bits);
    let (low, high) = block.split_at(4);
    let missing =
        _mm256_or_si256(_mm256_andnot_si256(load(low), low_bits), _mm256_andnot_si256(load(high), high_bits));
    _mm256_testz_si256(missing, missing) == 1
}

/// Shifts a 1 in every word by the distance from the word's first bit to bit `at`. Only in the word of that bit is
/// this below 64; in all others the shift leaves 0.
#[inline]
#[target_feature(enable = "avx2")]
fn set(block: &mut Block, at: u64) {
    let (at, one) = (_mm256_set1_epi64x(at.cast_signed()), _mm256_set1_epi64x(1));
    let (low, high) = block.0.split_at_mut(4);
    let low_bit = _mm256_sllv_epi64(one, _mm256_sub_epi64(at, _mm256_setr_epi64x(0, 64, 128, 192)));
    let high_bit = _mm256_sllv_epi64(one, _mm256_sub_epi64(at, _mm256_setr_epi64x(256, 320, 384, 448)));
    store(low, _mm256_or_si256(load(low), low_bit));
    store(high, _mm256_or_si256(load(high), high_bit));
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

/// Tests seven numbers at a time, one in each 32-bit lane: the upper four bits of a number choose one of the sixteen
/// halves of words, the lower five a bit in it.
#[inline]
#[target_feature(enable = "avx2")]
fn missing_bits<const C: usize>(blocks: [&[u64; BLOCK_WORDS]; C], numbers: [u64; 2], count: u32) -> [u64; C] {
    let mut missing = seven_missing_bits(blocks, numbers[0], count);
    if count > 7 {
        let more = seven_missing_bits(blocks, numbers[1], count - 7);
        for (missing, more) in missing.iter_mut().zip(more) {
            *missing |= more;
        }
    }
    missing
}

#[inline]
#[target_feature(enable = "avx2")]
fn seven_missing_bits<const C: usize>(
    blocks: [&[u64; BLOCK_WORDS]; C],
    numbers: u64,
    count: u32,
) -> [u64; C] {
    let numbers = _mm256_set1_epi64x(numbers.cast_signed());
    let low = _mm256_srlv_epi64(numbers, _mm256_setr_epi64x(0, 9, 18, 27));
    let high = _mm256_srlv_epi64(numbers, _mm256_setr_epi64x(36, 45, 54, 63));
    // The lower half of every word; `order` below gives the number in each lane.
    let low_halves = _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    let lanes = _mm256_castps_si256(low_halves);
    let order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    // The eighth lane holds no number.
    let wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32(count.min(7).cast_signed()), order);
    let bit = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_and_si256(lanes, _mm256_set1_epi32(31)));
    let bit = _mm256_and_si256(bit, wanted);
    // A permutation uses three bits of an index, a blend the sign.
    let half = _mm256_srli_epi32::<5>(lanes);
    let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(lanes));
    let mut missing = [0; C];
    for (missing, block) in missing.iter_mut().zip(blocks) {
        let (first, second) = block.split_at(4);
        let first = _mm256_permutevar8x32_epi32(load(first), half);
        let second = _mm256_permutevar8x32_epi32(load(second), half);
        let chosen = _mm256_blendv_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), upper);
        *missing = u64::from(_mm256_testc_si256(_mm256_castps_si256(chosen), bit) == 0);
    }
    missing
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
