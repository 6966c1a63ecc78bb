//! Items of commands as keys of the engine: an item is read as the filter's key format says.

use malkoha::{KeyFormat, KeyHash, KeyHasher};

use crate::server::Refusal;

/// The hash of an item. Items are bytes as they are, unless the filter was made elsewhere with another key format: then
/// they are decimal numbers, or DNA words of k letters.
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
        _ => Err(Refusal::of("ERR the keys of this filter have a format that this version does not know")),
    }
}

/// The most letters of a word that is hashed as a number.
const LETTERS_IN_NUMBER: usize = 31;

/// The hash of a DNA word, or of its reverse complement if that is smaller.
fn word(hasher: &KeyHasher, k: usize, item: &[u8]) -> Option<KeyHash> {
    let forward = item.to_ascii_uppercase();
    if forward.len() != k || !forward.iter().all(|letter| b"ACGT".contains(letter)) {
        return None;
    }
    let reverse: Vec<u8> = forward.iter().rev().map(|letter| complement(*letter)).collect();
    let smaller = forward.min(reverse);
    if k > LETTERS_IN_NUMBER {
        return Some(hasher.bytes(&smaller));
    }
    let digit = |letter: &u8| b"ACGT".iter().position(|other| other == letter).unwrap_or(0) as u64;
    Some(hasher.number(smaller.iter().fold(0, |number, letter| number * 4 + digit(letter))))
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
        let long = "ACGT".repeat(7) + "AACC";
        assert_eq!(
            hash(&hasher, KeyFormat::Kmers { k: 32 }, long.as_bytes()),
            Ok(hasher.bytes(long.as_bytes()))
        );
    }
}
