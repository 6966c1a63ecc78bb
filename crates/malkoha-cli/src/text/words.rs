//! Words, and sequences of n words as hashes.

use malkoha::{KeyHash, KeyHasher};

/// The base of the polynomial that joins the hashes of words. It leaves a remainder of 5 modulo 8, so the
/// powers of it differ in many of the upper bits even where they agree in the lower ones.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Scripts without spaces between words: Thai and Lao, Myanmar, Khmer, Kana, Chinese characters.
const WITHOUT_SPACES: [(u32, u32); 8] = [
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x2_0000, 0x3_FFFF),
];

/// Returns whether a character is a word by itself.
fn is_word(character: char) -> bool {
    let code = u32::from(character);
    code >= 0x0E00 && WITHOUT_SPACES.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Calls `found` with every word: characters of scripts without spaces one by one, and between them and white
/// space all other characters together.
pub(super) fn each_word(text: &str, mut found: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let (mut begin, mut at) = (0, 0);
    while at < bytes.len() {
        let (length, white, alone) = if bytes[at] < 128 {
            // Nine to thirteen are the line and page ends and the tabulators.
            (1, bytes[at] == b' ' || (9..=13).contains(&bytes[at]), false)
        } else {
            let character = text[at..].chars().next().expect("a character begins here");
            (character.len_utf8(), character.is_whitespace(), is_word(character))
        };
        if white || alone {
            if begin < at {
                found(&text[begin..at]);
            }
            begin = at + length;
            if alone {
                found(&text[at..begin]);
            }
        }
        at += length;
    }
    if begin < at {
        found(&text[begin..]);
    }
}

/// Turns texts into hashes of n consecutive words.
pub(super) struct Ngrams {
    n: usize,
    hasher: KeyHasher,
    /// The base to the power of n.
    power: u64,
    /// The hashes of the words of one text.
    words: Vec<u64>,
}

impl Ngrams {
    pub(super) fn new(n: u32, hasher: KeyHasher) -> Self {
        Self { n: n as usize, hasher, power: BASE.wrapping_pow(n), words: Vec::new() }
    }

    /// Appends the hashes of all n-grams, in order; one hash of all words if there are fewer than n, and none
    /// if there are fewer than `least`.
    pub(super) fn append(&mut self, text: &str, least: u64, hashes: &mut Vec<KeyHash>) {
        let Self { n, hasher, power, words } = self;
        words.clear();
        each_word(text, |word| words.push(hasher.bytes(word.as_bytes()).to_raw()));
        if words.is_empty() || (words.len() as u64) < least {
            return;
        }
        let (first, rest) = words.split_at(words.len().min(*n));
        let mut sum = first.iter().fold(0u64, |sum, word| sum.wrapping_mul(BASE).wrapping_add(*word));
        hashes.reserve(rest.len() + 1);
        hashes.push(hasher.number(sum));
        hashes.extend(rest.iter().zip(words.iter()).map(|(enters, leaves)| {
            sum = sum.wrapping_mul(BASE).wrapping_add(*enters).wrapping_sub(leaves.wrapping_mul(*power));
            hasher.number(sum)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_separated_by_white_space() {
        assert_eq!(words(" a bird\u{a0}in\u{2003}the\r\nhand, "), ["a", "bird", "in", "the", "hand,"]);
        assert!(words(" \n\t\u{3000}").is_empty());
        assert_eq!(words("na\u{ef}ve \u{1f426}"), ["na\u{ef}ve", "\u{1f426}"]);
    }

    #[test]
    fn scripts_without_spaces_have_words_of_one_character() {
        assert_eq!(words("\u{9ce5}\u{306f}bird!\u{9ce5}"), ["\u{9ce5}", "\u{306f}", "bird!", "\u{9ce5}"]);
        assert_eq!(words("\u{ac00}\u{b098} \u{430}\u{431}"), ["\u{ac00}\u{b098}", "\u{430}\u{431}"]);
    }

    /// Returns the hash of some words by its definition in docs/TEXT.md.
    fn by_definition(words: &[String], hasher: &KeyHasher) -> KeyHash {
        let mut sum = 0u64;
        for (at, word) in words.iter().rev().enumerate() {
            let power = BASE.wrapping_pow(u32::try_from(at).unwrap());
            sum = sum.wrapping_add(hasher.bytes(word.as_bytes()).to_raw().wrapping_mul(power));
        }
        hasher.number(sum)
    }

    #[test]
    fn hashes_roll_along_as_defined() {
        let text = "the early bird catches the worm and the second mouse gets the cheese";
        let (all, hasher) = (words(text), KeyHasher::new(3));
        for n in 1..=20 {
            let mut hashes = vec![];
            Ngrams::new(n, hasher).append(text, 13, &mut hashes);
            let expected: Vec<_> = if all.len() < n as usize {
                vec![by_definition(&all, &hasher)]
            } else {
                all.windows(n as usize).map(|words| by_definition(words, &hasher)).collect()
            };
            assert_eq!(hashes, expected, "n = {n}");
            hashes.clear();
            Ngrams::new(n, hasher).append(text, 14, &mut hashes);
            assert!(hashes.is_empty(), "a short text has none");
        }
    }

    #[test]
    fn the_order_of_words_counts() {
        let hash = |text: &str| {
            let mut hashes = Vec::new();
            Ngrams::new(3, KeyHasher::new(0)).append(text, 0, &mut hashes);
            hashes
        };
        assert_eq!(hash("a b c"), hash("a  b\tc"));
        let all = ["a b c", "a c b", "b a c", "b c a", "c a b", "c b a", "a a b", "ab c", "a b"].map(hash);
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| one != other), "{at}");
        }
    }

    /// The hashes are part of files, so they never change.
    #[test]
    fn hashes_are_pinned() {
        let mut hashes = Vec::new();
        Ngrams::new(2, KeyHasher::new(1)).append("a bird \u{9ce5}", 0, &mut hashes);
        let raw: Vec<_> = hashes.iter().map(|hash| hash.to_raw()).collect();
        assert_eq!(raw, [2_802_018_567_729_033_877, 1_869_905_966_425_864_092]);
    }
}
