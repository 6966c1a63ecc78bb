//! From lines to documents, and from documents to units with their keys.
//!
//! A *unit* is what is kept or dropped: a whole text, or a paragraph. Its *keys* are what is looked up: one
//! for the whole unit, or one for each of its n-grams.

use std::ops::Range;

use malkoha::{Filter, KeyHash};
use memchr::memchr_iter;

use super::batch::Piece;
use super::field::{Field, Flaw};
use super::rules::Rules;
use super::words::{Ngrams, each_word};

/// How lines become keys.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub(super) field: Field,
    pub(super) paragraphs: bool,
    /// The words of an n-gram; `None` to compare whole units.
    pub(super) ngram: Option<u32>,
    /// Units with fewer words have no keys.
    pub(super) min_words: u64,
    pub(super) rules: Rules,
    /// The name of the field for what was found.
    pub(super) note: Option<String>,
}

/// A text or a paragraph.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Where the text has it. A paragraph includes its line end and the blank lines after it.
    pub(super) range: Range<usize>,
    pub(super) keys: u64,
    /// Keys that were seen before.
    pub(super) seen: u64,
    pub(super) duplicate: bool,
}

/// A line of the input, without its line end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Where the batch has it.
    pub(super) range: Range<usize>,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Nothing but white space.
    Blank,
    Flawed(Flaw),
    Document(Document),
}

/// A line with a text.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// Where the line has the text, with its quotation marks.
    pub(super) value: Range<usize>,
    /// Where the line has the value of the field for what was found, if it is there.
    pub(super) note: Option<Range<usize>>,
    /// Which units of the piece belong to it.
    pub(super) units: Range<usize>,
}

/// A piece of a batch, with everything that is known about its lines.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) lines: Vec<Line>,
    pub(super) units: Vec<Unit>,
    /// The keys of all units, one after the other.
    pub(super) keys: Vec<KeyHash>,
    /// Whether the filter holds each key.
    pub(super) found: Vec<bool>,
}

/// Buffers of one thread.
pub(super) struct Parser<'a> {
    recipe: &'a Recipe,
    filter: &'a Filter,
    ngrams: Option<Ngrams>,
    normal: String,
}

impl<'a> Parser<'a> {
    pub(super) fn new(recipe: &'a Recipe, filter: &'a Filter) -> Self {
        let ngrams = recipe.ngram.map(|n| Ngrams::new(n, *filter.hasher()));
        Self { recipe, filter, ngrams, normal: String::new() }
    }

    /// Parses the lines of a piece, and looks their keys up in the filter.
    pub(super) fn parse(&mut self, batch: &[u8], piece: &Piece) -> Parsed {
        let mut parsed = Parsed::default();
        let mut begin = piece.range.start;
        for end in memchr_iter(b'\n', &batch[piece.range.clone()]).map(|at| piece.range.start + at) {
            let content = self.line(&batch[begin..end], &mut parsed);
            parsed.lines.push(Line { range: begin..end, content });
            begin = end + 1;
        }
        parsed.found.resize(parsed.keys.len(), false);
        self.filter.contains_slice_into(&parsed.keys, &mut parsed.found);
        let mut keys = parsed.found.iter();
        for unit in &mut parsed.units {
            unit.seen = (0..unit.keys).filter_map(|_| keys.next()).map(|found| u64::from(*found)).sum();
        }
        parsed
    }

    fn line(&mut self, line: &[u8], parsed: &mut Parsed) -> Content {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Content::Blank;
        }
        let recipe = self.recipe;
        let found = match recipe.field.locate(line, recipe.note.as_deref()) {
            Ok(found) => found,
            Err(flaw) => return Content::Flawed(flaw),
        };
        let first = parsed.units.len();
        let mut add = |range: Range<usize>| {
            let keys = self.keys(&found.text[range.clone()], &mut parsed.keys);
            parsed.units.push(Unit { range, keys, seen: 0, duplicate: false });
        };
        if recipe.paragraphs {
            paragraphs(&found.text, add);
        } else {
            add(0..found.text.len());
        }
        Content::Document(Document { value: found.value, note: found.note, units: first..parsed.units.len() })
    }

    /// Appends the keys of a unit, and returns how many there are.
    fn keys(&mut self, unit: &str, keys: &mut Vec<KeyHash>) -> u64 {
        let before = keys.len();
        let Recipe { paragraphs, min_words, rules, .. } = *self.recipe;
        // The blank lines after a paragraph belong to it, but do not distinguish it from others.
        let unit = if paragraphs { unit.split('\n').next().unwrap_or_default() } else { unit };
        let unit = rules.apply(unit, &mut self.normal);
        match &mut self.ngrams {
            Some(ngrams) => ngrams.append(unit, min_words, keys),
            None if has_words(unit, min_words) => keys.push(self.filter.hasher().bytes(unit.as_bytes())),
            None => {}
        }
        (keys.len() - before) as u64
    }
}

/// Returns whether a text has words, and at least this many.
fn has_words(text: &str, least: u64) -> bool {
    if least <= 1 {
        return text.chars().any(|character| !character.is_whitespace());
    }
    let mut words = 0;
    each_word(text, |_| words += 1);
    words >= least
}

/// Calls `found` with every paragraph: a line that is not blank, its line end, and all blank lines after it.
/// Blank lines before the first paragraph belong to none.
pub(super) fn paragraphs(text: &str, mut found: impl FnMut(Range<usize>)) {
    let mut paragraph: Option<Range<usize>> = None;
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let end = begin + line.len();
        if line.chars().all(char::is_whitespace) {
            if let Some(paragraph) = &mut paragraph {
                paragraph.end = end;
            }
        } else if let Some(before) = paragraph.replace(begin..end) {
            found(before);
        }
        begin = end;
    }
    paragraph.into_iter().for_each(found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_end_before_the_next_line_that_is_not_blank() {
        let split = |text: &str| {
            let mut parts = Vec::new();
            paragraphs(text, |range| parts.push(text[range].to_owned()));
            parts
        };
        assert_eq!(split("one\ntwo\n\n \nthree"), ["one\n", "two\n\n \n", "three"]);
        assert_eq!(split("\n\none\r\n\r\n"), ["one\r\n\r\n"]);
        assert!(split("").is_empty() && split(" \n\u{a0}\n").is_empty());
    }

    #[test]
    fn words_are_counted_up_to_a_limit() {
        assert!(has_words("a bird", 1) && has_words("a bird", 2) && !has_words("a bird", 3));
        assert!(has_words(" .", 0) && !has_words("\u{a0} \n", 0) && !has_words("", 1));
    }
}
