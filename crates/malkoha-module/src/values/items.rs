//! Items of commands as keys of the engine: an item is read as the filter's key format says.

use malkoha::{KeyFormat, KeyHash, KeyHasher};

use crate::server::Refusal;

/// The hash of an item. Items are bytes as they are, unless the filter was made elsewhere with another key format: then
/// they are decimal numbers, DNA words of k letters, or windows of w such words, whose minimizer is the key.
pub(crate) fn hash(hasher: &KeyHasher, format: KeyFormat, item: &[u8]) -> Result<KeyHash, Refusal> {
    match format {
        KeyFormat::Any | KeyFormat::Bytes => Ok(hasher.bytes(item)),
        KeyFormat::U64 => {
            let number = str::from_utf8(item).ok().and_then(|text| text.parse().ok());
            number.map(|number| hasher.number(number)).ok_or_else(|| {
                Refusal::of(
                    "ERR the keys of this filter are integers: items must be numbers from 0 to 2^64 - 1",
                )
            })
        }
        KeyFormat::Kmers { k } => word(hasher, k as usize, item).ok_or_else(|| {
            format!("ERR the keys of this filter are DNA words: items must be {k} letters of ACGT").into()
        }),
        KeyFormat::Minimizers { k, w } => minimizer(hasher, k as usize, w as usize, item).ok_or_else(|| {
            let letters = k + w - 1;
            format!(
                "ERR the keys of this filter are minimizers: items must be windows of {w} DNA words of {k} letters, \
                 so {letters} letters of ACGT"
            )
            .into()
        }),
        _ => Err(Refusal::of("ERR the keys of this filter have a format that this version does not know")),
    }
}

/// The most letters of a word that is hashed as a number.
const LETTERS_IN_NUMBER: usize = 31;

/// The hash of a DNA word, or of its reverse complement if that is smaller.
fn word(hasher: &KeyHasher, k: usize, item: &[u8]) -> Option<KeyHash> {
    let letters = letters(k, item)?;
    let smaller = smaller_strand(&letters);
    Some(if k > LETTERS_IN_NUMBER { hasher.bytes(&smaller) } else { hasher.number(number(&smaller)) })
}

/// The hash of the word of a window that is first in the order of docs/FORMAT.md.
fn minimizer(hasher: &KeyHasher, k: usize, w: usize, item: &[u8]) -> Option<KeyHash> {
    let rank = |word: &u64| (word ^ 0x2D35_8DCC_AA6C_78A5).wrapping_mul(0x9E37_79B9_7F4A_7C15) % (1 << 62);
    let letters = letters((k + w).checked_sub(1)?, item)?;
    let words = letters.windows(k).map(|word| number(&smaller_strand(word)));
    words.min_by_key(rank).map(|first| hasher.number(first))
}

/// An item in upper case, if it is so many letters of DNA.
fn letters(count: usize, item: &[u8]) -> Option<Vec<u8>> {
    let letters = item.to_ascii_uppercase();
    let is_dna = letters.len() == count && letters.iter().all(|letter| b"ACGT".contains(letter));
    is_dna.then_some(letters)
}

/// A word or its reverse complement, whichever is smaller.
fn smaller_strand(forward: &[u8]) -> Vec<u8> {
    let reverse: Vec<u8> = forward.iter().rev().map(|letter| complement(*letter)).collect();
    reverse.min(forward.to_vec())
}

/// The letters of a word as digits to the base 4.
fn number(word: &[u8]) -> u64 {
    let digit = |letter: &u8| b"ACGT".iter().position(|other| other == letter).unwrap_or(0) as u64;
    word.iter().fold(0, |number, letter| number * 4 + digit(letter))
}

fn complement(letter: u8) -> u8 {
    match letter {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        _ => b'A',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_by_the_key_format() {
        let hasher = KeyHasher::new(7);
        assert_eq!(hash(&hasher, KeyFormat::Any, b"x"), Ok(hasher.bytes(b"x")));
        assert_eq!(hash(&hasher, KeyFormat::Bytes, b""), Ok(hasher.bytes(b"")));
        assert_eq!(hash(&hasher, KeyFormat::U64, b"17"), Ok(hasher.number(17)));
        assert!(hash(&hasher, KeyFormat::U64, b"-1").is_err());
        assert!(hash(&hasher, KeyFormat::U64, b"18446744073709551616").is_err());
    }

    /// As docs/FORMAT.md has it.
    fn ranks(word: u64) -> u128 {
        (u128::from(word ^ 0x2D35_8DCC_AA6C_78A5) * 0x9E37_79B9_7F4A_7C15) & ((1 << 62) - 1)
    }

    #[test]
    fn words_and_their_reverse_complements_are_the_same() {
        let hasher = KeyHasher::new(7);
        let format = KeyFormat::Kmers { k: 4 };
        // AACG is 0 0 1 2, and smaller than its reverse complement CGTT.
        assert_eq!(hash(&hasher, format, b"AACG"), Ok(hasher.number(6)));
        assert_eq!(hash(&hasher, format, b"cgtt"), Ok(hasher.number(6)));
        for bad in ["AAC", "AACGA", "AACN", ""] {
            assert!(hash(&hasher, format, bad.as_bytes()).is_err(), "{bad}");
        }
        // Of these words, 0 0 1 and 0 1 2 of one strand are smaller.
        let window = KeyFormat::Minimizers { k: 3, w: 2 };
        let first = if ranks(1) < ranks(6) { 1 } else { 6 };
        assert_eq!(hash(&hasher, window, b"AACG"), Ok(hasher.number(first)));
        assert_eq!(hash(&hasher, window, b"cgtt"), Ok(hasher.number(first)));
        assert_eq!(hash(&hasher, KeyFormat::Minimizers { k: 4, w: 1 }, b"AACG"), Ok(hasher.number(6)));
        for bad in ["AAC", "AACGA", "AACN", ""] {
            assert!(hash(&hasher, window, bad.as_bytes()).is_err(), "{bad}");
        }
        let long = "ACGT".repeat(7) + "AACC";
        assert_eq!(
            hash(&hasher, KeyFormat::Kmers { k: 32 }, long.as_bytes()),
            Ok(hasher.bytes(long.as_bytes()))
        );
    }
}
