//! The DNA words of one sequence after another as numbers, all of them or only minimizers: `kmers.rs` for many reads.
//!
//! ```text
//!   letters    a run of ACGT becomes words, both strands rolled along together: no branch but the end of the run;
//!              or where vectors are wide, all words that begin in 32 letters are shifted out of 64 at once
//!   ranks      words in an order that is as good as random: a bijection, so that a rank tells its word
//!   windows    the smallest rank of w neighbours, by doubling the width of windows: no branch either
//!   changes    one minimizer for all neighbouring windows that have it
//! ```

use malkoha::{Loops, Widest};

use super::kmers::{CODES, MOST_PACKED, OTHER, Rule};

/// The rank of a word is (word ^ FLIP) * SPREAD modulo 2^62. It must not change: files have minimizers by it.
const FLIP: u64 = 0x2D35_8DCC_AA6C_78A5 & MASK;
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
const MASK: u64 = (1 << (2 * MOST_PACKED)) - 1;

/// What undoes the multiplication.
const GATHER: u64 = {
    // Newton's method doubles the number of right bits: 3, 6, 12, 24, 48, 96.
    let (mut inverse, mut steps) = (SPREAD, 0);
    while steps < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(SPREAD.wrapping_mul(inverse)));
        steps += 1;
    }
    inverse
};

const fn rank(word: u64) -> u64 {
    (word ^ FLIP).wrapping_mul(SPREAD) & MASK
}

/// The word with this rank.
const fn word(rank: u64) -> u64 {
    rank.wrapping_mul(GATHER) & MASK ^ FLIP
}

/// The smaller of two ranks. They have 62 bits, so they are in the same order as the floating-point numbers with the
/// same bits, which all CPUs compare in vectors.
#[inline(always)]
fn smaller(one: u64, other: u64) -> u64 {
    let (one, other) = (f64::from_bits(one), f64::from_bits(other));
    (if one < other { one } else { other }).to_bits()
}

/// The value of the complement of every letter, in the upper two bits.
const COMPLEMENTS: [u64; 256] = {
    let (mut values, mut letter) = ([0; 256], 0);
    while letter < 256 {
        if CODES[letter] < OTHER {
            values[letter] = ((OTHER - 1 - CODES[letter]) as u64) << (u64::BITS - 2);
        }
        letter += 1;
    }
    values
};

/// Letters that are examined, or of which words are made, at a time.
const STRIDE: usize = 32;

/// Words of sequences of at most 31 letters. The buffer is kept when it is emptied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// The words are the first `len` of these.
    buffer: Vec<u64>,
    len: usize,
    /// A buffer for minimizers of windows of half the width.
    half: Vec<u64>,
    cpu: Widest,
}

impl Words {
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the words.
    pub(crate) fn get(&self) -> &[u64] {
        &self.buffer[..self.len]
    }

    /// Adds all words of a sequence that has no letters but ACGT.
    ///
    /// # Panics
    ///
    /// If words are longer than 31 letters.
    pub(crate) fn add_run(&mut self, run: &[u8], k: u32) {
        assert!((1..=MOST_PACKED).contains(&k), "words are numbers");
        self.reserve(run.len());
        let words = &mut self.buffer[self.len..];
        self.len += self.cpu.run(Run { letters: run, k, words });
    }

    /// Makes room for so many more words, and for those that are made of a block in vain.
    fn reserve(&mut self, words: usize) {
        let needed = self.len + words + STRIDE;
        if self.buffer.len() < needed {
            self.buffer.resize(needed.next_power_of_two(), 0);
        }
    }

    /// Returns the number of words of a sequence of one line.
    pub(crate) fn count(&self, sequence: &[u8], k: u32) -> usize {
        self.cpu.run(Counting(sequence, k))
    }

    /// Adds the words of a sequence of one line. If it is `continued`, the sequence began before, and the block before
    /// ended with the overlap that this one begins with; if it is `cut`, it goes on after this block.
    ///
    /// # Panics
    ///
    /// If words are longer than 31 letters.
    pub(crate) fn add(&mut self, sequence: &[u8], rule: Rule, continued: bool, cut: bool) {
        assert!((1..=MOST_PACKED).contains(&rule.k), "words are numbers");
        self.reserve(sequence.len());
        let Self { buffer, len, half, cpu } = self;
        let words = &mut buffer[*len..];
        *len += cpu.run(Sequence { letters: sequence, rule, continued, cut, words, half });
    }
}

/// A run of letters ACGT whose words are made.
struct Run<'a> {
    letters: &'a [u8],
    k: u32,
    words: &'a mut [u64],
}

impl Loops for Run<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, vector: usize) -> usize {
        of_run(self.letters, self.k, self.words, vector, |word| word)
    }
}

/// A sequence whose words are made.
struct Sequence<'a> {
    letters: &'a [u8],
    rule: Rule,
    continued: bool,
    cut: bool,
    words: &'a mut [u64],
    half: &'a mut Vec<u64>,
}

impl Loops for Sequence<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, vector: usize) -> usize {
        let Self { letters, rule, continued, cut, words, half } = self;
        let (mut rest, mut len) = (letters, 0);
        let mut first = true;
        loop {
            let (run, after) = rest.split_at(run(rest));
            let is_known = first && continued;
            len += match rule.window {
                None => of_run(run, rule.k, &mut words[len..], vector, |word| word),
                Some(window) => {
                    let count = of_run(run, rule.k, &mut words[len..], vector, rank);
                    let is_whole = !(is_known || cut && after.is_empty());
                    let ranks = &mut words[len..len + count];
                    minimizers(ranks, half, window as usize, is_known, is_whole)
                }
            };
            first = false;
            match after {
                [] => return len,
                [_, after @ ..] => rest = after,
            }
        }
    }
}

/// Returns the number of letters ACGT that a text begins with.
#[inline(always)]
fn run(text: &[u8]) -> usize {
    // Comparisons without branches, which become vectors.
    let is_letter =
        |byte: &u8| b"acgt".map(|letter| letter == byte | 0x20).into_iter().fold(false, |any, is| any | is);
    let are_letters = |bytes: &[u8]| bytes.iter().fold(true, |all, byte| all & is_letter(byte));
    let whole = text.chunks_exact(STRIDE).take_while(|stride| are_letters(stride)).count() * STRIDE;
    // Most reads have no other letter.
    let rest = &text[whole..];
    if rest.len() < STRIDE && are_letters(rest) {
        return text.len();
    }
    whole + rest.iter().position(|byte| !is_letter(byte)).unwrap_or(rest.len())
}

/// A sequence of one line whose words are counted.
struct Counting<'a>(&'a [u8], u32);

impl Loops for Counting<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, _: usize) -> usize {
        let Self(mut rest, k) = self;
        let mut words = 0;
        loop {
            let run = run(rest);
            words += (run + 1).saturating_sub(k as usize);
            match &rest[run..] {
                [] => return words,
                [_, after @ ..] => rest = after,
            }
        }
    }
}

/// Returns the values of eight letters, the first in the lowest two bits.
#[inline(always)]
fn values(letters: u64) -> u64 {
    // These bits of A, C, G and T in either case are 0, 1, 2 and 3.
    let pairs = (letters >> 1 ^ letters >> 2) & 0x0303_0303_0303_0303;
    let fours = (pairs | pairs >> 6) & 0x000F_000F_000F_000F;
    let eights = (fours | fours >> 12) & 0x0000_00FF_0000_00FF;
    (eights | eights >> 24) & 0xFFFF
}

/// Returns values of two bits in the opposite order.
#[inline(always)]
fn reversed(values: u64) -> u64 {
    const FOURS: u64 = 0x0F0F_0F0F_0F0F_0F0F;
    const TWOS: u64 = 0x3333_3333_3333_3333;
    let bytes = values.swap_bytes();
    let fours = (bytes & FOURS) << 4 | bytes >> 4 & FOURS;
    (fours & TWOS) << 2 | fours >> 2 & TWOS
}

/// The last 32 letters of a strand and of the other one; shorter words are at the lower and at the upper end.
#[derive(Clone, Copy)]
struct Strands {
    forward: u64,
    reverse: u64,
}

impl Strands {
    /// Returns the strands after some letters, eight of which are taken at a time.
    #[inline(always)]
    fn after(letters: &[u8]) -> Self {
        let (eights, rest) = letters.as_chunks();
        let mut reverse = 0;
        for eight in eights {
            reverse = reverse >> 16 | !values(u64::from_le_bytes(*eight)) << 48;
        }
        for letter in rest {
            reverse = reverse >> 2 | COMPLEMENTS[usize::from(*letter)];
        }
        Self { forward: reversed(!reverse), reverse }
    }

    #[inline(always)]
    fn next(&mut self, letter: u8) {
        debug_assert!(CODES[usize::from(letter)] < OTHER, "a letter of a run");
        self.forward = self.forward << 2 | u64::from(CODES[usize::from(letter)]);
        self.reverse = self.reverse >> 2 | COMPLEMENTS[usize::from(letter)];
    }

    /// Returns the word of all but so many of the 64 bits.
    #[inline(always)]
    fn word(self, spare: u32) -> u64 {
        // What is below the word on the other strand matters only if the words are equal.
        (self.forward << spare).min(self.reverse) >> spare
    }
}

/// Writes what `of` makes of the words of a run of letters ACGT, and returns how many there are. `words` has room for
/// as many as the run has letters, and for 32 more.
#[inline(always)]
fn of_run(run: &[u8], k: u32, words: &mut [u64], vector: usize, of: impl Fn(u64) -> u64) -> usize {
    // Narrower vectors do not gain from it.
    if vector < 4 { roll(run, k, words, of) } else { shift_out(run, k, words, of) }
}

/// A block of letters as two bits each: the first letter highest, and the first lowest.
#[derive(Clone, Copy)]
struct Packed {
    up: u64,
    down: u64,
}

impl Packed {
    /// Returns a block of a run; what is behind the run does not matter.
    #[inline(always)]
    fn of(run: &[u8], block: usize) -> Self {
        let down = |letters: &[u8; STRIDE]| {
            let eights = letters.as_chunks().0.iter().map(|eight| values(u64::from_le_bytes(*eight)));
            (0..).step_by(16).zip(eights).fold(0, |all, (at, values)| all | values << at)
        };
        let down = if let Some(whole) = run.as_chunks().0.get(block) {
            down(whole)
        } else if let Some(last) = run.last_chunk() {
            // It has some of the letters before the block too.
            let before = (block + 1) * STRIDE - run.len();
            if before < STRIDE { down(last) >> (2 * before) } else { 0 }
        } else {
            let mut padded = [0; STRIDE];
            padded[..run.len()].copy_from_slice(run);
            down(&padded)
        };
        Self { up: reversed(down), down }
    }
}

/// `of_run` by blocks, whose words do not depend on one another.
#[inline(always)]
fn shift_out(run: &[u8], k: u32, words: &mut [u64], of: impl Fn(u64) -> u64) -> usize {
    let count = (run.len() + 1).saturating_sub(k as usize);
    let spare = u64::BITS - 2 * k;
    let mut next = Packed::of(run, 0);
    let blocks = words.as_chunks_mut::<STRIDE>().0.iter_mut();
    for (block, words) in blocks.take(count.div_ceil(STRIDE)).enumerate() {
        let this = next;
        next = Packed::of(run, block + 1);
        for (letter, word) in (0..).zip(words) {
            // Letter by letter, one block is shifted out and the next one in.
            let by = 2 * letter;
            let up = this.up << by | next.up >> 1 >> (u64::BITS - 1 - by);
            let down = this.down >> by | next.down << 1 << (u64::BITS - 1 - by);
            *word = of(smaller(up >> spare, !down << spare >> spare));
        }
    }
    count
}

/// `of_run` letter by letter.
#[inline(always)]
fn roll(run: &[u8], k: u32, words: &mut [u64], of: impl Fn(u64) -> u64) -> usize {
    let Some((head, tail)) = run.split_at_checked(k as usize - 1) else { return 0 };
    let mut strands = Strands::after(head);
    for (word, letter) in words.iter_mut().zip(tail) {
        strands.next(*letter);
        *word = of(strands.word(u64::BITS - 2 * k));
    }
    tail.len()
}

/// Replaces the ranks of the words of a run by the minimizers, one for all neighbouring windows that have it, and
/// returns how many there are. The first is left out if it `is_known`. If there are fewer words than a window has,
/// they are one window if the run `is_whole`.
#[inline(always)]
fn minimizers(
    ranks: &mut [u64],
    half: &mut Vec<u64>,
    window: usize,
    is_known: bool,
    is_whole: bool,
) -> usize {
    if ranks.len() < window && !is_whole || ranks.is_empty() {
        return 0;
    }
    if half.len() < ranks.len() {
        half.resize(ranks.len(), 0);
    }
    let window = window.min(ranks.len());
    let (mut width, mut len) = (1, ranks.len());
    // Two windows with a step between them are together a wider one.
    let widen = |from: &[u64], to: &mut [u64], step: usize| {
        for ((to, one), other) in to.iter_mut().zip(from).zip(&from[step..]) {
            *to = smaller(*one, *other);
        }
    };
    while width < window {
        let step = width.min(window - width);
        widen(&ranks[..len], &mut half[..len - step], step);
        (width, len) = (width + step, len - step);
        let step = width.min(window - width);
        widen(&half[..len], &mut ranks[..len - step], step);
        (width, len) = (width + step, len - step);
    }
    let mut count = 0;
    let mut last = if is_known { ranks[0] } else { !ranks[0] };
    for at in 0..len {
        let rank = ranks[at];
        ranks[count] = rank;
        count += usize::from(rank != last);
        last = rank;
    }
    for rank in &mut ranks[..count] {
        *rank = word(*rank);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequences of pseudo-random letters, some of which are N.
    fn sequence(length: usize, mut state: u64) -> Vec<u8> {
        let letters = (0..length).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 57 == 0 { b'N' } else { b"ACGTacgt"[(state >> 61) as usize] }
        });
        letters.collect()
    }

    /// The words by definition, run by run.
    fn naive_words(sequence: &[u8], k: usize) -> Vec<Vec<u64>> {
        let number =
            |word: &[u8]| word.iter().fold(0, |n, letter| 4 * n + u64::from(CODES[usize::from(*letter)]));
        let runs = sequence.split(|letter| CODES[usize::from(*letter)] >= OTHER);
        let words = |run: &[u8]| {
            let both = run.windows(k).map(|word| {
                let reverse =
                    word.iter().rev().map(|letter| b"TGCA"[usize::from(CODES[usize::from(*letter)])]);
                number(word).min(number(&reverse.collect::<Vec<_>>()))
            });
            both.collect::<Vec<_>>()
        };
        runs.map(words).collect()
    }

    /// The minimizers by definition.
    fn naive_minimizers(sequence: &[u8], k: usize, w: usize) -> Vec<u64> {
        let mut all = Vec::new();
        for run in naive_words(sequence, k).into_iter().filter(|run| !run.is_empty()) {
            let firsts = run
                .windows(w.min(run.len()))
                .map(|window| *window.iter().min_by_key(|word| rank(**word)).unwrap());
            let mut firsts: Vec<u64> = firsts.collect();
            firsts.dedup();
            all.extend(firsts);
        }
        all
    }

    fn words(sequence: &[u8], rule: Rule) -> Vec<u64> {
        let mut words = Words::default();
        // What was there before must not matter.
        words.add(b"ACGTACGT", Rule { k: 3, window: None }, false, false);
        words.clear();
        words.add(sequence, rule, false, false);
        words.get().to_vec()
    }

    #[test]
    fn words_and_minimizers_are_those_of_the_definition() {
        assert_eq!(SPREAD.wrapping_mul(GATHER), 1);
        assert!([0, 1, 77, MASK].into_iter().all(|n| word(rank(n)) == n));
        for length in [0, 1, 5, 30, 31, 32, 45, 64, 100, 700] {
            let text = sequence(length, length as u64);
            for k in [1, 2, 3, 11, 27, 31] {
                assert_eq!(
                    words(&text, Rule { k, window: None }),
                    naive_words(&text, k as usize).concat(),
                    "k = {k}"
                );
                for w in [1, 2, 3, 7, 8, 15, 16, 31, 200] {
                    let minimizers = words(&text, Rule { k, window: Some(w) });
                    assert_eq!(
                        minimizers,
                        naive_minimizers(&text, k as usize, w as usize),
                        "k = {k}, w = {w}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_width_of_vectors_gives_the_same_words() {
        for length in [0, 1, 2, 30, 31, 32, 33, 63, 64, 65, 95, 150, 301] {
            let mut run = sequence(2 * length + 20, length as u64);
            run.retain(|letter| *letter != b'N');
            run.truncate(length);
            for k in [1, 2, 16, 30, 31] {
                let words = |width| {
                    let mut words = vec![0; length + STRIDE];
                    let count = of_run(&run, k, &mut words, width, |word| word);
                    words.truncate(count);
                    words
                };
                let expected = naive_words(&run, k as usize).concat();
                assert!([2, 4, 8].into_iter().all(|width| words(width) == expected), "{length}, k = {k}");
            }
        }
    }

    #[test]
    fn both_strands_have_the_same_minimizers() {
        let text = sequence(2000, 5);
        let code = |letter: &u8| usize::from(CODES[usize::from(*letter)]);
        let reverse: Vec<u8> = text.iter().rev().map(|letter| b"TGCAN"[code(letter)]).collect();
        let rule = Rule { k: 21, window: Some(11) };
        let mut other = words(&reverse, rule);
        other.reverse();
        assert_eq!(words(&text, rule), other);
    }

    #[test]
    fn a_sequence_in_blocks_has_the_same_words() {
        for (k, window) in [(5, Some(4)), (3, Some(9)), (5, None), (1, Some(1)), (2, Some(2))] {
            let (rule, text) = (Rule { k, window }, sequence(500, 9));
            let whole = words(&text, rule);
            for size in [1, 2, 7, 20, 100] {
                let (mut words, mut kept, mut continued) = (Words::default(), Vec::new(), false);
                for (i, piece) in text.chunks(size).enumerate() {
                    kept.extend_from_slice(piece);
                    let last = (i + 1) * size >= text.len();
                    words.add(&kept, rule, continued, !last);
                    let drop = kept.len().saturating_sub(rule.overlap());
                    kept.drain(..drop);
                    continued |= drop > 0;
                    if !last && !continued {
                        words.clear();
                    }
                }
                assert_eq!(words.get(), whole, "k = {k}, w = {window:?}, blocks of {size}");
            }
        }
    }
}
