//! Genomes as sets of words of 31 letters, each the smaller of itself and its reverse complement.

use malkoha::KeyHasher;

/// Letters of a word: the paper's 31-grams.
pub(super) const WORD: usize = 31;

/// Returns the letters of a FASTA file, with a line end between sequences.
pub(super) fn letters(fasta: &[u8]) -> Vec<u8> {
    let mut letters = Vec::with_capacity(fasta.len());
    for line in fasta.split(|byte| *byte == b'\n') {
        if line.first() == Some(&b'>') {
            letters.push(b'\n');
        } else {
            letters.extend_from_slice(line.trim_ascii_end());
        }
    }
    letters
}

/// Calls `found` with every word, as a number with two bits per letter. Words with letters other than ACGT
/// are left out.
pub(super) fn each_word(letters: &[u8], mut found: impl FnMut(u64)) {
    const MASK: u64 = (1 << (2 * WORD)) - 1;
    let (mut forward, mut reverse, mut good) = (0u64, 0u64, 0usize);
    for letter in letters {
        let code = match letter.to_ascii_uppercase() {
            b'A' => 0,
            b'C' => 1,
            b'G' => 2,
            b'T' => 3,
            _ => {
                good = 0;
                continue;
            }
        };
        forward = ((forward << 2) | code) & MASK;
        reverse = (reverse >> 2) | ((3 - code) << (2 * (WORD - 1)));
        good += 1;
        if good >= WORD {
            found(forward.min(reverse));
        }
    }
}

/// Splits a genome into parts that together contain each of its words once.
pub(super) fn parts(letters: &[u8], count: usize) -> impl Iterator<Item = &[u8]> {
    let part = letters.len().div_ceil(count).max(1);
    let end = move |start: usize| (start + part + WORD - 1).min(letters.len());
    (0..letters.len()).step_by(part).map(move |start| &letters[start..end(start)])
}

/// Returns the distinct words of a genome, sorted.
pub(super) fn distinct(letters: &[u8]) -> Vec<u64> {
    let mut words = Vec::with_capacity(letters.len());
    each_word(letters, |word| words.push(word));
    words.sort_unstable();
    words.dedup();
    words
}

/// Makes up a genome in FASTA: random letters, of which a tenth are repeats and a few are unknown.
pub(super) fn synthetic(count: usize) -> Vec<u8> {
    const LINE: usize = 60;
    let draws = KeyHasher::new(31);
    let draw = |at: usize| draws.number(at as u64).to_raw();
    let mut fasta = b">synthetic".to_vec();
    for at in 0..count {
        if at.is_multiple_of(LINE) {
            fasta.push(b'\n');
        }
        // Every tenth stretch of a thousand letters repeats the first one.
        let source = if at / 1000 % 10 == 9 { at % 1000 } else { at };
        let letter =
            if draw(at).is_multiple_of(5000) { b'N' } else { b"ACGT"[(draw(source) >> 62) as usize] };
        fasta.push(letter);
    }
    fasta.push(b'\n');
    fasta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_words_of_the_whole() {
        let letters = letters(&synthetic(20_000));
        let whole = distinct(&letters);
        assert!(
            (15_000..19_500).contains(&whole.len()),
            "{} words: some repeat, some are unknown",
            whole.len()
        );
        let mut words = Vec::new();
        parts(&letters, 7).for_each(|part| each_word(part, |word| words.push(word)));
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words, whole);
        let mut once = 0;
        each_word(&letters, |_| once += 1);
        assert_eq!(all, once, "no word twice");
    }

    #[test]
    fn both_strands_have_the_same_words() {
        let strand = b"ACGTTGCAACCGGTATATCGGCTAAGCTTAGGACCATA";
        let complement = |letter: &u8| b"TGCA"[b"ACGT".iter().position(|other| other == letter).unwrap()];
        let other: Vec<u8> = strand.iter().rev().map(complement).collect();
        assert_eq!(distinct(strand), distinct(&other));
        assert_eq!(distinct(strand).len(), strand.len() - WORD + 1);
    }

    #[test]
    fn sequences_do_not_touch() {
        let one = ">a\r\nACGTACGTACGTACGTACGTACGT\r\n>b\nACGTACGTACGTACGTACGTACG\n";
        assert!(distinct(&letters(one.as_bytes())).is_empty());
    }
}
