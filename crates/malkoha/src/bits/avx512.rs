//! A block as one vector of 512 bits.
#![expect(unsafe_code, reason = "instructions of a CPU that was asked")]

#[cfg(not(target_feature = "avx512f"))]
use core::arch::asm;
use core::arch::x86_64::{
    __m256i, __m512i, _mm_setr_epi32, _mm256_castsi128_si256, _mm256_inserti128_si256, _mm256_loadu_si256,
    _mm256_set1_epi32, _mm256_storeu_si256, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512,
    _mm512_andnot_si512, _mm512_broadcast_i32x4, _mm512_castsi256_si512, _mm512_cmplt_epu64_mask,
    _mm512_cvtepi64_epi32, _mm512_cvtepu16_epi32, _mm512_inserti64x4, _mm512_loadu_si512,
    _mm512_mask_blend_epi32, _mm512_mask_i32gather_epi32, _mm512_mask_i64gather_epi64, _mm512_mask_sub_epi32,
    _mm512_mask_sub_epi64, _mm512_mask_testn_epi32_mask, _mm512_min_epu32, _mm512_min_epu64,
    _mm512_movepi32_mask, _mm512_movepi64_mask, _mm512_mul_epu32, _mm512_mullo_epi32, _mm512_or_si512,
    _mm512_permutex2var_epi32, _mm512_permutexvar_epi8, _mm512_permutexvar_epi32, _mm512_rolv_epi64,
    _mm512_rorv_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32, _mm512_setr_epi64,
    _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_shuffle_epi32, _mm512_slli_epi32, _mm512_slli_epi64,
    _mm512_sllv_epi32, _mm512_sllv_epi64, _mm512_srli_epi32, _mm512_srli_epi64, _mm512_srlv_epi32,
    _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi32, _mm512_sub_epi64, _mm512_ternarylogic_epi32,
    _mm512_test_epi32_mask, _mm512_test_epi64_mask, _mm512_testn_epi32_mask, _mm512_testn_epi64_mask,
    _mm512_xor_si512,
};

use crate::key::KeyHash;
use crate::key::draw::Narrow;

#[cfg(not(malkoha_bytes))]
use super::avx2::shifted_pair;
use super::avx2::{shifted, some_lane_is_zero};
use super::block::{BLOCK_WORDS, Block};
use super::chosen::{Chosen, Question};
use super::cpu::{Vectors, Work};
use super::drawn::NarrowBits;
#[cfg(not(target_feature = "avx512f"))]
use super::drawn::{BlockTable, Blocks, FLIPS, STEP};
use super::lanes::Lanes;
use super::pair::Pair;
use super::placed::Placed;
use super::prefix_table::{Approach, OFFSET_BITS, PrefixTable, SECOND_SIDE};
use super::prefixes::{HALF_WINDOW, NARROW_BITS, WIDE_HALF, second_half};
#[cfg(not(malkoha_bytes))]
use super::shared;
use super::words::SURE_BITS;

/// Proof that the CPU has the features `compiled` is compiled for: only `detect` makes one.
///
/// Inserts with choices gain most from `VPOPCNTDQ`: 17 % (`docs/NOTEBOOK.md`, "Single keys of the Bloom family").
/// CPUs with AVX-512 but without it are those that slow down while they use 512 bits; they get AVX2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vpopcntdq")
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

    /// Returns whether the block that a fraction draws has the bit in each word that the draw after the fraction
    /// names. This is for code that is compiled for every CPU: a function that needs special features cannot be
    /// inlined there, and for these thirteen instructions the call would cost more than the work.
    ///
    /// All of it is assembly, with named registers and constants in memory: the compiler's version was ten
    /// instructions of 43 longer, because it had no registers left for the constants of the hash. It uses only vector
    /// registers that AVX-512 adds, so that no code has to wait for the others to be cleared.
    #[inline(always)]
    #[cfg(not(target_feature = "avx512f"))]
    #[expect(clippy::unused_self, reason = "the proof that the CPU has these instructions")]
    pub(super) fn drawn_block_has_bits(self, blocks: Blocks<'_>, fraction: u64) -> bool {
        let missing: u64;
        // SAFETY: the CPU has AVX-512F, AVX-512DQ and BMI2, as `self` proves; it reads the constants and the eight
        // words of the block that the fraction draws, whose index is below the number of blocks because that is not
        // 0; all registers it writes are named, and it writes no memory.
        unsafe {
            asm!(
                "mulx rax, rcx, {count}",
                "shl rax, 6",
                "add rdx, qword ptr [{constants} + 72]",
                "mov rcx, rdx",
                "xor rdx, qword ptr [{constants} + 80]",
                "mulx rcx, rdx, rcx",
                "xor rdx, rcx",
                "vpbroadcastq zmm16, rdx",
                "vpsrlvq zmm16, zmm16, zmmword ptr [{constants}]",
                "vmovdqu64 zmm17, zmmword ptr [{blocks} + rax]",
                "vprorvq zmm17, zmm17, zmm16",
                "vptestnmq k1, zmm17, qword ptr [{constants} + 64]{{1to8}}",
                "kmovb edx, k1",
                constants = in(reg) &raw const CONSTANTS,
                count = in(reg) blocks.all().len() as u64,
                blocks = in(reg) blocks.all().as_ptr(),
                out("rax") _,
                out("rcx") _,
                inout("rdx") fraction => missing,
                out("zmm16") _,
                out("zmm17") _,
                out("k1") _,
                options(pure, readonly, nostack),
            );
        }
        missing == 0
    }

    /// Sets the bits that `drawn_block_has_bits` tests, in the same way.
    #[inline(always)]
    #[cfg(not(target_feature = "avx512f"))]
    #[expect(clippy::unused_self, reason = "the proof that the CPU has these instructions")]
    pub(super) fn add_bits_to_drawn_block(self, table: &mut BlockTable, fraction: u64) {
        let blocks = table.all_mut();
        // SAFETY: the CPU has AVX-512F and BMI2, as `self` proves; it reads the constants, and reads and writes the
        // eight words of the block that the fraction draws, whose index is below the number of blocks because that is
        // not 0; all registers it writes are named.
        unsafe {
            asm!(
                "mulx rax, rcx, {count}",
                "shl rax, 6",
                "add rdx, qword ptr [{constants} + 72]",
                "mov rcx, rdx",
                "xor rdx, qword ptr [{constants} + 80]",
                "mulx rcx, rdx, rcx",
                "xor rdx, rcx",
                "vpbroadcastq zmm16, rdx",
                "vpsrlvq zmm16, zmm16, zmmword ptr [{constants}]",
                "vpbroadcastq zmm17, qword ptr [{constants} + 64]",
                "vprolvq zmm16, zmm17, zmm16",
                "vporq zmm16, zmm16, zmmword ptr [{blocks} + rax]",
                "vmovdqu64 zmmword ptr [{blocks} + rax], zmm16",
                constants = in(reg) &raw const CONSTANTS,
                count = in(reg) blocks.len() as u64,
                blocks = in(reg) blocks.as_mut_ptr(),
                out("rax") _,
                out("rcx") _,
                inout("rdx") fraction => _,
                out("zmm16") _,
                out("zmm17") _,
                options(nostack),
            );
        }
    }
}

/// Constants of the assembly above, aligned to cache lines: a vector that crosses a line takes two reads.
#[cfg(not(target_feature = "avx512f"))]
#[repr(C, align(64))]
struct Constants {
    /// The distances of `six_bits_each`.
    distances: [u64; BLOCK_WORDS],
    /// At byte 64.
    one: u64,
    /// At byte 72.
    step: u64,
    /// At byte 80.
    flips: u64,
}

#[cfg(not(target_feature = "avx512f"))]
static CONSTANTS: Constants =
    Constants { distances: [0, 6, 12, 18, 24, 30, 36, 42], one: 1, step: STEP, flips: FLIPS };

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512vbmi,avx512vpopcntdq,bmi1,bmi2,popcnt")]
fn compiled<W: Work>(work: W, avx512: Avx512) -> W::Output {
    work.run(avx512)
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512vbmi,avx512vpopcntdq,bmi1,bmi2,popcnt")]
fn ask<T, Q: Question<T>>(of: &T, hash: KeyHash) -> bool {
    // The caller has these features, so the proof may be made here.
    Q::ask(of, hash, Avx512(()))
}

/// How the slots of a place are brought into lanes of 32 bits, for one width and one bit of a byte at which the place
/// begins: the bytes of each lane, and the distance to shift it down.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Spread {
    bytes: [u8; 32],
    shifts: [u32; 8],
}

/// The spreads of every narrow width for the first and for the second of two places. The two halves of the window of
/// the first are followed by those of the second. (Tables have a power of two of rows, so that no index has to be
/// checked.)
#[expect(clippy::cast_possible_truncation, reason = "bits and bytes of two windows")]
static SPREADS: [[[Spread; 8]; 2]; 32] = {
    let mut all = [[[Spread { bytes: [0; 32], shifts: [0; 8] }; 8]; 2]; 32];
    let mut i = 0;
    while i < (NARROW_BITS as usize + 1) * 2 * 8 * 8 {
        let (width, second, phase, slot) = (i / 128, i / 64 % 2, i / 8 % 8, i % 8);
        let begin = phase + slot * width;
        let spread = &mut all[width][second][phase];
        spread.shifts[slot] = (begin % 8) as u32;
        let in_half = if slot < 4 { begin / 8 } else { HALF_WINDOW + begin / 8 - second_half(width) };
        let mut byte = 0;
        while byte < 4 {
            spread.bytes[4 * slot + byte] = (in_half + byte + second * 2 * HALF_WINDOW) as u8;
            byte += 1;
        }
        i += 1;
    }
    all
};

/// Where a tag and a key differ above the mark of the tag, given also the tag minus 1.
const DIFFER_ABOVE: i32 = 0b0100_0010;

/// The two halves of the window of a place with narrow slots.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn window(key: &impl Placed, side: usize) -> __m256i {
    // SAFETY: AVX-512 includes AVX.
    let [first, second] = unsafe { key.halves(side) };
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second)
}

/// Brings the tags of two places with narrow slots into the highest bits of lanes of 32 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn tags(key: &impl Placed) -> __m512i {
    let spreads = &SPREADS[key.width() as usize % 32];
    let (first, second) = (&spreads[0][key.phase(0)], &spreads[1][key.phase(1)]);
    let bytes = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(window(key, 0)), window(key, 1));
    // SAFETY: both have 32 bytes.
    let order = unsafe { both_halves(first.bytes.as_ptr().cast(), second.bytes.as_ptr().cast()) };
    // SAFETY: both have 32 bytes.
    let shifts = unsafe { both_halves(first.shifts.as_ptr().cast(), second.shifts.as_ptr().cast()) };
    let slots = _mm512_srlv_epi32(_mm512_permutexvar_epi8(order, bytes), shifts);
    _mm512_sllv_epi32(slots, _mm512_set1_epi32(key.shift().cast_signed()))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn hits(key: &impl Placed) -> u16 {
    let tags = tags(key);
    let sides = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, S, S, S, S, S, S, S, S);
    let sought = _mm512_or_si512(_mm512_set1_epi32((key.sought() >> 32) as i32), sides);
    // `prefixes::matches` in every lane.
    let below = _mm512_add_epi32(tags, _mm512_set1_epi32(-1));
    let differing = _mm512_ternarylogic_epi32::<DIFFER_ABOVE>(tags, below, sought);
    let hits = _mm512_mask_testn_epi32_mask(_mm512_test_epi32_mask(tags, tags), differing, differing);
    hits & key.lanes()
}

/// `Vectors::others_with_room` for narrow slots.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn others_with_room(key: &Approach<'_>) -> ([u32; 16], u32) {
    let (table, form) = (key.table, key.table.form());
    let tags = tags(key);
    let numbers = _mm512_srli_epi32::<{ u32::BITS - OFFSET_BITS }>(_mm512_slli_epi32::<1>(tags));
    let distances = _mm512_permutexvar_epi32(numbers, distances(key));
    let distances = _mm512_mullo_epi32(distances, _mm512_set1_epi32(table.stride().cast_signed()));
    let bits = _mm512_set1_epi32(table.bits().cast_signed());
    let steps = _mm512_mask_sub_epi32(distances, _mm512_movepi32_mask(tags), bits, distances);
    let [first, second] = key.at();
    let first = _mm512_castsi256_si512(_mm256_set1_epi32(first.cast_signed()));
    let at = _mm512_inserti64x4::<1>(first, _mm256_set1_epi32(second.cast_signed()));
    let sums = _mm512_add_epi32(at, steps);
    // Around the table: the smaller one, because a difference below 0 is a large number.
    let others = _mm512_min_epu32(sums, _mm512_sub_epi32(sums, bits));
    let mut array = [0; 16];
    // SAFETY: the array has 64 bytes, and this store needs no alignment.
    unsafe { _mm512_storeu_si512(array.as_mut_ptr().cast(), others) };
    let last = (form.width() * (form.slots() - 1)).cast_signed();
    let last = _mm512_add_epi32(others, _mm512_set1_epi32(last));
    let (bytes, phases) = (_mm512_srli_epi32::<3>(last), _mm512_and_si512(last, _mm512_set1_epi32(7)));
    let words = table.words().as_ptr().cast();
    // SAFETY: all of these are slots of the table, and four bytes from each are inside the words, which have more than
    // that beyond the last slot.
    let slots = unsafe { _mm512_mask_i32gather_epi32::<1>(bits, table.lanes, bytes, words) };
    let tags =
        _mm512_sllv_epi32(_mm512_srlv_epi32(slots, phases), _mm512_set1_epi32(table.shift.cast_signed()));
    (array, u32::from(_mm512_testn_epi32_mask(tags, tags) & table.lanes))
}

/// The numbers of places from the first to the second place, by the first bits of a fingerprint.
#[inline]
#[target_feature(enable = "avx512f")]
fn distances(key: &Approach<'_>) -> __m512i {
    // SAFETY: there are 32 bytes, and this load needs no alignment.
    let distances = unsafe { _mm256_loadu_si256(key.table.distances().as_ptr().cast()) };
    _mm512_cvtepu16_epi32(distances)
}

/// The second side in a lane of 32 bits.
const S: i32 = i32::MIN;

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn vacant(key: &Approach<'_>) -> u32 {
    let tags = tags(key);
    u32::from(_mm512_testn_epi32_mask(tags, tags) & key.table.lanes)
}

/// Loads two halves of a vector.
///
/// # Safety
///
/// There are 32 readable bytes at each address.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn both_halves(first: *const __m256i, second: *const __m256i) -> __m512i {
    // SAFETY: there are 32 bytes, as the caller guarantees; this load needs no alignment.
    let first = unsafe { _mm256_loadu_si256(first) };
    // SAFETY: as above.
    let second = unsafe { _mm256_loadu_si256(second) };
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
}

/// Bytes of a vector: both halves of a window over wide slots.
const VECTOR_BYTES: u8 = 64;

/// The numbers of the slots of a place.
const SLOTS: [u64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Brings the tags of a place with wide slots, of up to 57 bits, into the highest bits of lanes of 64 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn wide_tags(key: &Approach<'_>, side: usize) -> __m512i {
    let table = key.table;
    let second = usize::from(table.window_bytes()) - WIDE_HALF;
    let first = key.window(side);
    // SAFETY: both halves are inside the window.
    let bytes = unsafe { both_halves(first.cast(), first.wrapping_add(second).cast()) };
    // SAFETY: there are 64 bytes, and this load needs no alignment.
    let slots = unsafe { _mm512_loadu_si512(SLOTS.as_ptr().cast()) };
    let begins = _mm512_mul_epu32(slots, _mm512_set1_epi64(i64::from(table.form().width())));
    // The first four slots are in the first half, the others in the second.
    let phase = i64::from(key.at()[side] % 8);
    let moved = phase + 8 * (i64::from(VECTOR_BYTES) - i64::from(table.window_bytes()));
    let phases = _mm512_setr_epi64(phase, phase, phase, phase, moved, moved, moved, moved);
    let begins = _mm512_add_epi64(begins, phases);
    let repeat = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0, 0x0808_0808, 0x0808_0808));
    let order = _mm512_shuffle_epi8(_mm512_srli_epi64::<3>(begins), repeat);
    let order = _mm512_add_epi64(order, _mm512_set1_epi64(0x0706_0504_0302_0100));
    let shifts = _mm512_and_si512(begins, _mm512_set1_epi64(7));
    let slots = _mm512_srlv_epi64(_mm512_permutexvar_epi8(order, bytes), shifts);
    _mm512_sllv_epi64(slots, _mm512_set1_epi64(i64::from(table.shift)))
}

/// `Vectors::hits` for wide slots. (Not inlined, so that narrow slots have the registers. What a key consists of comes in
/// registers too: a key in memory would be read in other parts than it was just written in, for which a CPU waits.)
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn wide_hits(table: &PrefixTable, first: u32, second: u32, sought: u64) -> u32 {
    let key = &table.both([first, second], sought);
    if key.table.form().width() > SURE_BITS {
        return key.hits_one_by_one();
    }
    let hits = |side: usize, sought: u64| {
        let tags = wide_tags(key, side);
        let differing = _mm512_xor_si512(tags, _mm512_set1_epi64(sought.cast_signed()));
        let marks = _mm512_and_si512(tags, _mm512_sub_epi64(_mm512_setzero_si512(), tags));
        u32::from(_mm512_cmplt_epu64_mask(differing, _mm512_add_epi64(marks, marks)))
    };
    (hits(0, key.sought) | hits(1, key.sought | SECOND_SIDE) << 8) & u32::from(key.table.lanes)
}

/// `Vectors::others_with_room` for wide slots.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn wide_others_with_room(table: &PrefixTable, first: u32, second: u32, sought: u64) -> ([u32; 16], u32) {
    let key = &table.both([first, second], sought);
    let (table, form) = (key.table, key.table.form());
    let (mut others, mut with_room) = ([0; 16], 0);
    for side in 0..2 {
        let tags = wide_tags(key, side);
        let numbers = _mm512_srli_epi64::<{ u64::BITS - OFFSET_BITS }>(_mm512_slli_epi64::<1>(tags));
        // Only the lower halves of lanes count.
        let distances = _mm512_permutexvar_epi32(numbers, distances(key));
        let distances = _mm512_mul_epu32(distances, _mm512_set1_epi64(table.stride().into()));
        let bits = _mm512_set1_epi64(table.bits().into());
        let steps = _mm512_mask_sub_epi64(distances, _mm512_movepi64_mask(tags), bits, distances);
        let sums = _mm512_add_epi64(_mm512_set1_epi64(key.at()[side].into()), steps);
        let at = _mm512_min_epu64(sums, _mm512_sub_epi64(sums, bits));
        let (halves, of_side) = (_mm512_cvtepi64_epi32(at), &mut others[8 * side..][..8]);
        // SAFETY: this part of the array has 32 bytes, and this store needs no alignment.
        unsafe { _mm256_storeu_si256(of_side.as_mut_ptr().cast(), halves) };
        let last = _mm512_set1_epi64((form.width() * (form.slots() - 1)).into());
        let last = _mm512_add_epi64(at, last);
        let (bytes, phases) = (_mm512_srli_epi64::<3>(last), _mm512_and_si512(last, _mm512_set1_epi64(7)));
        let (lanes, words) = ((1u8 << form.slots()) - 1, table.words().as_ptr().cast());
        // SAFETY: all of these are slots of the table, and eight bytes from each are inside the words, which have more
        // than that beyond the last slot.
        let slots = unsafe { _mm512_mask_i64gather_epi64::<1>(bits, lanes, bytes, words) };
        let tags = _mm512_sllv_epi64(_mm512_srlv_epi64(slots, phases), _mm512_set1_epi64(table.shift.into()));
        with_room |= u32::from(_mm512_testn_epi64_mask(tags, tags) & lanes) << (8 * side);
    }
    (others, with_room)
}

/// `Vectors::vacant` for wide slots.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn wide_vacant(table: &PrefixTable, first: u32, second: u32, sought: u64) -> u32 {
    let key = &table.both([first, second], sought);
    if key.table.form().width() > SURE_BITS {
        return key.vacant_one_by_one();
    }
    let vacant = |side: usize| {
        let tags = wide_tags(key, side);
        u32::from(_mm512_testn_epi64_mask(tags, tags))
    };
    (vacant(0) | vacant(1) << 8) & u32::from(key.table.lanes)
}

impl Vectors for Avx512 {
    const WORDS: usize = 8;
    type Multiply = Narrow;
    const DRAWS_TOGETHER: bool = true;

    #[inline(always)]
    fn shifted(self, words: [u64; 2], by: [u64; 2]) -> Pair {
        // SAFETY: AVX-512VL includes AVX2, and the CPU has it, as `self` proves.
        unsafe { shifted(words, by) }
    }

    #[inline(always)]
    #[cfg(not(malkoha_bytes))]
    unsafe fn read_two(self, from: *const u8, bytes: [usize; 2]) -> Pair {
        // SAFETY: the caller answers for the words, and AVX2 includes AVX; AVX-512VL includes AVX2, and the CPU has
        // it, as `self` proves.
        unsafe { shared::read_pair(from, bytes) }
    }

    #[inline(always)]
    #[cfg(not(malkoha_bytes))]
    unsafe fn read_two_shifted(self, from: *const u8, bytes: [usize; 2], by: [u64; 2]) -> Pair {
        // SAFETY: the caller answers for the words, and AVX2 includes AVX; AVX-512VL includes AVX2, and the CPU has
        // it, as `self` proves.
        let pair = unsafe { shared::read_pair(from, bytes) };
        // SAFETY: AVX-512VL includes AVX2, and the CPU has it, as `self` proves.
        unsafe { shifted_pair(pair, by) }
    }

    #[inline(always)]
    fn some_lane_is_zero(self, pair: Pair, lanes: Lanes) -> bool {
        // SAFETY: AVX-512VL includes AVX2, and the CPU has it, as `self` proves.
        unsafe { some_lane_is_zero(pair, lanes) }
    }

    #[inline(always)]
    fn hits(self, key: &Approach<'_>) -> u32 {
        if !key.table.form().is_narrow() {
            let [first, second] = key.at();
            // SAFETY: the CPU has these features, as `self` proves.
            return unsafe { wide_hits(key.table, first, second, key.sought) };
        }
        // SAFETY: as above.
        u32::from(unsafe { hits(key) })
    }

    #[inline(always)]
    fn holds_narrow(self, key: &impl Placed) -> bool {
        debug_assert!(key.width() <= NARROW_BITS, "the caller has seen that slots are narrow");
        // SAFETY: the CPU has these features, as `self` proves.
        unsafe { hits(key) != 0 }
    }

    #[inline(always)]
    fn others_with_room(self, key: &Approach<'_>) -> ([u32; 16], u32) {
        let form = key.table.form();
        if form.is_narrow() {
            // SAFETY: the CPU has these features, as `self` proves.
            return unsafe { others_with_room(key) };
        }
        if form.width() > SURE_BITS {
            return key.others_with_room_one_by_one();
        }
        let [first, second] = key.at();
        // SAFETY: as above.
        unsafe { wide_others_with_room(key.table, first, second, key.sought) }
    }

    #[inline(always)]
    fn vacant(self, key: &Approach<'_>) -> u32 {
        if !key.table.form().is_narrow() {
            let [first, second] = key.at();
            // SAFETY: the CPU has these features, as `self` proves.
            return unsafe { wide_vacant(key.table, first, second, key.sought) };
        }
        // SAFETY: as above.
        unsafe { vacant(key) }
    }

    #[inline(always)]
    fn bit_in_each_word(self, bits: u64) -> Block {
        // SAFETY: the CPU has AVX-512F, as `self` proves.
        unsafe { bit_in_each_word(bits) }
    }

    #[inline(always)]
    fn has_bit_in_each_word(self, block: &[u64; BLOCK_WORDS], bits: u64) -> bool {
        // SAFETY: the CPU has AVX-512F, as `self` proves.
        unsafe { has_bit_in_each_word(block, bits) }
    }

    #[inline(always)]
    fn set(self, block: &mut Block, at: u64) {
        // SAFETY: the CPU has AVX-512F, as `self` proves.
        unsafe { set(block, at) }
    }

    #[inline(always)]
    fn covers(self, block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool {
        // SAFETY: the CPU has AVX-512F, as `self` proves.
        unsafe { covers(block, pattern) }
    }

    #[inline(always)]
    fn missing_bits<const C: usize>(
        self,
        blocks: [&[u64; BLOCK_WORDS]; C],
        numbers: [u64; 2],
        count: u32,
    ) -> [u64; C] {
        // SAFETY: the CPU has AVX-512F, as `self` proves.
        unsafe { missing_bits(blocks, numbers, count) }
    }

    #[inline(always)]
    fn missing_drawn(self, bits: NarrowBits<'_>, factors: [[u64; 2]; 8], count: u32) -> u64 {
        // SAFETY: the CPU has AVX-512F, as `self` proves.
        unsafe { missing_drawn(bits, factors, count) }
    }
}

/// Returns eight numbers; only their lowest six bits count.
#[inline]
#[target_feature(enable = "avx512f")]
fn six_bits_each(bits: u64) -> __m512i {
    let distances = _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42);
    _mm512_srlv_epi64(_mm512_set1_epi64(bits.cast_signed()), distances)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn bit_in_each_word(bits: u64) -> Block {
    let mut block = Block::default();
    // A rotation, unlike a shift, uses only the lowest six bits of a distance.
    store(&mut block.0, _mm512_rolv_epi64(_mm512_set1_epi64(1), six_bits_each(bits)));
    block
}

#[inline]
#[target_feature(enable = "avx512f")]
fn has_bit_in_each_word(block: &[u64; BLOCK_WORDS], bits: u64) -> bool {
    let rotated = _mm512_rorv_epi64(load(block), six_bits_each(bits));
    _mm512_testn_epi64_mask(rotated, _mm512_set1_epi64(1)) == 0
}

/// Shifts a 1 in every word by the distance from the word's first bit to bit `at`. Only in the word of that bit is
/// this below 64; in all others the shift leaves 0.
#[inline]
#[target_feature(enable = "avx512f")]
fn set(block: &mut Block, at: u64) {
    let firsts = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    let distances = _mm512_sub_epi64(_mm512_set1_epi64(at.cast_signed()), firsts);
    let bit = _mm512_sllv_epi64(_mm512_set1_epi64(1), distances);
    let fuller = _mm512_or_si512(load(&block.0), bit);
    store(&mut block.0, fuller);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn covers(block: &[u64; BLOCK_WORDS], pattern: &Block) -> bool {
    let missing = _mm512_andnot_si512(load(block), load(&pattern.0));
    _mm512_test_epi64_mask(missing, missing) == 0
}

/// Tests all numbers at once, one in each 32-bit lane: the upper four bits of a number choose one of the sixteen
/// halves of words, the lower five a bit in it.
#[inline]
#[target_feature(enable = "avx512f")]
fn missing_bits<const C: usize>(blocks: [&[u64; BLOCK_WORDS]; C], numbers: [u64; 2], count: u32) -> [u64; C] {
    let distances = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63);
    let first = _mm512_srlv_epi64(_mm512_set1_epi64(numbers[0].cast_signed()), distances);
    let second = _mm512_srlv_epi64(_mm512_set1_epi64(numbers[1].cast_signed()), distances);
    // The lower halves of seven words of each, in order.
    let order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 16, 18, 20, 22, 24, 26, 28, 28, 28);
    let lanes = _mm512_permutex2var_epi32(first, order, second);
    let wanted = (1u16 << count) - 1;
    let bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(lanes, _mm512_set1_epi32(31)));
    // A permutation uses four bits of an index.
    let half = _mm512_and_si512(_mm512_srli_epi32::<5>(lanes), _mm512_set1_epi32(15));
    let mut missing = [0; C];
    for (missing, block) in missing.iter_mut().zip(blocks) {
        let chosen = _mm512_permutexvar_epi32(half, load(block));
        *missing = u64::from(_mm512_mask_testn_epi32_mask(wanted, chosen, bit));
    }
    missing
}

/// Computes eight positions at a time but loads the words one by one: a gather is no faster.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(clippy::cast_possible_truncation, reason = "this target has 64 bits")]
fn missing_drawn(bits: NarrowBits<'_>, factors: [[u64; 2]; 8], count: u32) -> u64 {
    let fractions = fold(load(&factors.map(|[a, _]| a)), load(&factors.map(|[_, b]| b)));
    let at = narrow_draws(fractions, bits.count());
    let mut numbers = [0; 8];
    store(&mut numbers, _mm512_srli_epi64::<6>(at));
    let words = numbers.map(|number| {
        // SAFETY: a draw is below the number of bits, or 0 if there are none, and the words hold that many.
        unsafe { *bits.words().get_unchecked(number as usize) }
    });
    // A rotation uses only the lowest six bits of a distance.
    let rotated = _mm512_rorv_epi64(load(&words), at);
    let missing = _mm512_testn_epi64_mask(rotated, _mm512_set1_epi64(1));
    u64::from(missing) & ((1 << count.min(8)) - 1)
}

/// Computes `drawn::fold` of eight products, in four parts each.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold(a: __m512i, b: __m512i) -> __m512i {
    let (upper_a, upper_b) = (upper_halves(a), upper_halves(b));
    let low = _mm512_mul_epu32(a, b);
    let (cross, other_cross) = (_mm512_mul_epu32(a, upper_b), _mm512_mul_epu32(upper_a, b));
    let lower_half = _mm512_and_si512(cross, _mm512_set1_epi64(0xFFFF_FFFF));
    let middle = _mm512_add_epi64(_mm512_add_epi64(_mm512_srli_epi64::<32>(low), lower_half), other_cross);
    let high = _mm512_add_epi64(_mm512_mul_epu32(upper_a, upper_b), _mm512_srli_epi64::<32>(cross));
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(middle));
    let low = _mm512_mask_blend_epi32(0xAAAA, low, _mm512_slli_epi64::<32>(middle));
    _mm512_xor_si512(high, low)
}

/// Computes `Narrow::last_draw` of eight fractions.
#[inline]
#[target_feature(enable = "avx512f")]
fn narrow_draws(fractions: __m512i, choices: u32) -> __m512i {
    // In both halves of every word. (If the compiler knew that the upper halves are 0, it would use 64-bit products,
    // which take three times as long on some CPUs.)
    let choices = _mm512_set1_epi32(choices.cast_signed());
    let upper = _mm512_mul_epu32(upper_halves(fractions), choices);
    let lower = _mm512_mul_epu32(fractions, choices);
    _mm512_srli_epi64::<32>(_mm512_add_epi64(upper, _mm512_srli_epi64::<32>(lower)))
}

/// Moves the upper half of every word to its lower half, for products that use only lower halves. (With a shift, the
/// compiler would recognise the 128-bit product that this is a part of, and compute it in scalar code, word by word.)
#[inline]
#[target_feature(enable = "avx512f")]
fn upper_halves(words: __m512i) -> __m512i {
    _mm512_shuffle_epi32::<0b11_11_01_01>(words)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; BLOCK_WORDS]) -> __m512i {
    // SAFETY: the eight words are readable; the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [u64; BLOCK_WORDS], vector: __m512i) {
    // SAFETY: the eight words are writable; the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
}
