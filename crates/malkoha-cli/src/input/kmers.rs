//! DNA words of length k, each as the smaller of itself and its reverse complement.
//!
//! Letters have the values A 0, C 1, G 2, T 3, in either case. Up to k = 31 a word is a number of two bits
//! per letter, the first letter highest, and is hashed as a number; longer words are hashed as upper-case
//! text. The smaller word by number is also the smaller by letters.

use malkoha::{KeyFormat, KeyHash, KeyHasher};

/// The longest word that is a number.
pub(crate) const MOST_PACKED: u32 = 31;

/// The value of letters other than ACGT, and of the end of a sequence.
pub(super) const OTHER: u8 = 4;
const END: u8 = 5;

/// The value of every letter.
pub(super) const CODES: [u8; 256] = {
    let mut codes = [OTHER; 256];
    let letters = *b"ACGTacgt";
    let mut i = 0u8;
    while i < 8 {
        codes[letters[i as usize] as usize] = i % 4;
        i += 1;
    }
    codes[b'\n' as usize] = END;
    codes
};

/// The upper half of the seed of a filter of DNA words in a file of version 1, which has no other field for
/// k; the lower half is k.
const SEED: u64 = (u32::from_le_bytes(*b"kmer") as u64) << 32;

/// Returns the k of such a filter from its seed; `None` if its keys are not DNA words.
pub(crate) fn of_seed(seed: u64) -> Option<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    let k = seed as u32;
    (seed & !0xFFFF_FFFF == SEED && (1..=KeyFormat::MOST_K).contains(&k)).then_some(k)
}

/// Which words of a sequence are keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The letters of a word.
    pub(crate) k: u32,
    /// If only minimizers are keys, the words of which each is the first: docs/FORMAT.md defines them.
    pub(crate) window: Option<u32>,
}

impl Rule {
    /// The letters at the end of a block that the next one must begin with, so that no word and no window is lost.
    pub(super) fn overlap(self) -> usize {
        // A window that both have tells the next block which minimizer is known.
        self.window.map_or(self.k - 1, |window| self.k + window - 1) as usize
    }
}

/// Calls `found` with the hash of every word of sequences that each end with a line end, and with the
/// position after the word. Returns the number of words that were skipped because of other letters.
pub(crate) fn each(
    sequences: &[u8],
    k: u32,
    hasher: &KeyHasher,
    mut found: impl FnMut(KeyHash, usize),
) -> u64 {
    if k <= MOST_PACKED {
        return each_packed(sequences, k, |word, end| found(hasher.number(word), end));
    }
    let (mut forward, mut reverse) = (Vec::new(), Vec::new());
    let size = k as usize;
    each_run(sequences, k, |end| {
        forward.clear();
        forward.extend(sequences[end - size..end].iter().map(u8::to_ascii_uppercase));
        reverse.clear();
        reverse.extend(forward.iter().rev().map(|letter| complement(*letter)));
        found(hasher.bytes((&forward[..]).min(&reverse[..])), end);
    })
}

fn complement(letter: u8) -> u8 {
    match letter {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        _ => b'A',
    }
}

/// Finds words as numbers, rolling both strands along one letter at a time.
fn each_packed(sequences: &[u8], k: u32, mut found: impl FnMut(u64, usize)) -> u64 {
    let mask = (1u64 << (2 * k)) - 1;
    let top = 2 * (k - 1);
    let (mut forward, mut reverse) = (0u64, 0u64);
    // Letters since the sequence began, and since the last one other than ACGT.
    let (mut letters, mut good) = (0u64, 0u64);
    let mut skipped = 0;
    for (at, &letter) in sequences.iter().enumerate() {
        let code = CODES[usize::from(letter)];
        if code < OTHER {
            let code = u64::from(code);
            forward = ((forward << 2) | code) & mask;
            reverse = (reverse >> 2) | ((3 - code) << top);
            letters += 1;
            good += 1;
            if good >= u64::from(k) {
                found(forward.min(reverse), at + 1);
            } else {
                skipped += u64::from(letters >= u64::from(k));
            }
        } else if code == END {
            (letters, good) = (0, 0);
        } else {
            letters += 1;
            good = 0;
            skipped += u64::from(letters >= u64::from(k));
        }
    }
    skipped
}

/// Finds only the positions after words.
fn each_run(sequences: &[u8], k: u32, mut found: impl FnMut(usize)) -> u64 {
    let (mut letters, mut good, mut skipped) = (0u32, 0u32, 0);
    for (at, &letter) in sequences.iter().enumerate() {
        let code = CODES[usize::from(letter)];
        if code == END {
            (letters, good) = (0, 0);
            continue;
        }
        letters = letters.saturating_add(1);
        good = if code == OTHER { 0 } else { good.saturating_add(1) };
        if good >= k {
            found(at + 1);
        } else {
            skipped += u64::from(letters >= k);
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words by definition, one window at a time.
    fn naive(sequences: &str, k: usize) -> (Vec<String>, u64) {
        let (mut words, mut skipped) = (Vec::new(), 0);
        for sequence in sequences.lines() {
            for window in sequence.to_uppercase().as_bytes().windows(k) {
                if window.iter().all(|letter| b"ACGT".contains(letter)) {
                    let reverse: Vec<u8> = window.iter().rev().map(|letter| complement(*letter)).collect();
                    words.push(String::from_utf8(window.min(&reverse[..]).to_vec()).unwrap());
                } else {
                    skipped += 1;
                }
            }
        }
        (words, skipped)
    }

    fn number(word: &str) -> u64 {
        word.bytes().fold(0, |number, letter| number * 4 + u64::from(CODES[usize::from(letter)]))
    }

    /// Returns sequences of pseudo-random letters, some of which are N.
    fn sequences() -> String {
        let mut state = 1u64;
        let letters = (0..2000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match state >> 57 {
                0..=1 => 'N',
                2..=3 => '\n',
                high => ['A', 'c', 'G', 't'][(high % 4) as usize],
            }
        });
        letters.chain(['\n']).collect()
    }

    #[test]
    fn words_are_those_of_the_definition_for_every_k() {
        let text = sequences();
        let hasher = KeyHasher::new(5);
        for k in (1..=40).chain([61, 100]) {
            let (words, skipped) = naive(&text, k as usize);
            let expected: Vec<KeyHash> = words
                .iter()
                .map(|word| if k <= 31 { hasher.number(number(word)) } else { hasher.bytes(word.as_bytes()) })
                .collect();
            let mut hashes = Vec::new();
            let got = each(text.as_bytes(), k, &hasher, |hash, end| {
                assert!(end >= k as usize && end <= text.len());
                hashes.push(hash);
            });
            assert_eq!(hashes, expected, "k = {k}");
            assert_eq!(got, skipped, "k = {k}");
        }
    }

    #[test]
    fn both_strands_have_the_same_words() {
        let hasher = KeyHasher::new(0);
        for k in [3, 31, 33] {
            let words = |text: &str| {
                let mut hashes = Vec::new();
                each(text.as_bytes(), k, &hasher, |hash, _| hashes.push(hash));
                hashes.sort_unstable();
                hashes
            };
            let forward = "ACGTTGCAACCGGTATATCGGCTAAGCTTAGGACCATA";
            let reverse: String =
                forward.bytes().rev().map(|letter| char::from(complement(letter))).collect();
            assert_eq!(words(forward), words(&reverse));
        }
    }

    #[test]
    fn the_seeds_of_version_1_tell_k() {
        assert_eq!(of_seed(0x7265_6D6B_0000_001F), Some(31), "kmer and 31");
        for other in [0, 31, 12345, SEED, SEED | 0x1001, SEED | 0xFFFF_FFFF] {
            assert_eq!(of_seed(other), None);
        }
    }
}
