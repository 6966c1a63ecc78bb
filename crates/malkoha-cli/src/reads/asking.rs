//! How many words of each read or pair a filter holds, and whether it matches.
//!
//! All units of a block are open at first. In every turn, each open unit puts forward some of its words; those of many
//! units are looked up together. If nobody wants to know how many words were found, a unit leaves as soon as it is
//! decided: a few words are enough for most reads of what the filter holds.

use malkoha::{Filter, KeyHash};

use super::block::{Sequences, Unit};
use super::threshold::Threshold;
use crate::input::kmers::{self, MOST_PACKED, Rule};
use crate::input::words::Words;

/// The words from which they are looked up: enough to keep the memory busy, and few enough for the L1 and L2 caches.
pub(super) const TOGETHER: usize = 8 << 10;

/// The words that a unit puts forward first if a few may decide it.
const FEW: u64 = 16;

/// The words that a read puts forward in a turn at most, which bounds the memory for long ones.
const MANY: usize = 64 << 10;

/// What is asked.
pub(crate) struct Question<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) rule: Rule,
    pub(crate) threshold: Threshold,
    /// Whether somebody wants to know how many words were found, so that all are looked up.
    pub(crate) totals: bool,
}

impl Question<'_> {
    /// Returns whether reads may put forward some of their words at a time. Minimizers depend on their neighbours, and
    /// there are few of them.
    fn in_parts(&self) -> bool {
        self.rule.window.is_none() && self.rule.k <= MOST_PACKED
    }

    fn is_early(&self) -> bool {
        self.in_parts() && !self.totals
    }
}

/// What is known of a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) words: u64,
    /// The words found among those that were looked up.
    pub(crate) found: u64,
    pub(crate) matches: bool,
}

/// A unit that is not decided.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its number in the block.
    number: usize,
    /// The read that goes on, and from which letter; `None` after the last.
    at: Option<(usize, usize)>,
    /// Its words, if they were counted beforehand.
    words: u64,
    /// Whether it is known to have no letters but ACGT.
    is_pure: bool,
    asked: u64,
    found: u64,
}

/// Buffers that are used again for the next block.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    open: Vec<Open>,
    /// Words of up to 31 letters are numbers, longer ones only hashes.
    words: Words,
    hashes: Vec<KeyHash>,
    /// Where the words of each unit end, and whether each word was found.
    ends: Vec<usize>,
    found: Vec<bool>,
}

impl Asking {
    /// Asks about all units of a block.
    pub(super) fn ask(
        &mut self,
        question: &Question<'_>,
        units: &[Unit],
        sequences: &Sequences<'_>,
        answers: &mut Vec<Answer>,
    ) {
        answers.clear();
        answers.resize(units.len(), Answer::default());
        self.open.clear();
        for (number, unit) in units.iter().enumerate() {
            let (words, is_pure) = if question.is_early() {
                count(&self.words, question.rule.k, *unit, sequences)
            } else {
                (0, false)
            };
            let open = Open { number, at: Some((unit.0, 0)), words, is_pure, asked: 0, found: 0 };
            match open.answer(question) {
                // It has too few words.
                Some(answer) => answers[number] = answer,
                None => self.open.push(open),
            }
        }
        while !self.open.is_empty() {
            let (mut begin, mut kept) = (0, 0);
            while begin < self.open.len() {
                let end = self.put_forward(question, units, sequences, begin);
                self.look_up(question.filter);
                let mut from = 0;
                for (i, to) in (begin..end).zip(&self.ends) {
                    let open = &mut self.open[i];
                    open.asked += (*to - from) as u64;
                    open.found += count_found(&self.found[from..*to]);
                    from = *to;
                    if let Some(answer) = open.answer(question) {
                        answers[open.number] = answer;
                    } else {
                        self.open[kept] = *open;
                        kept += 1;
                    }
                }
                begin = end;
            }
            self.open.truncate(kept);
        }
    }

    /// Makes words of open units from `begin` on until there are enough; returns the unit after the last.
    fn put_forward(
        &mut self,
        question: &Question<'_>,
        units: &[Unit],
        sequences: &Sequences<'_>,
        begin: usize,
    ) -> usize {
        let Self { open, words, hashes, ends, .. } = self;
        words.clear();
        hashes.clear();
        ends.clear();
        let rule = question.rule;
        for (i, open) in open.iter_mut().enumerate().skip(begin) {
            if words.len() + hashes.len() >= TOGETHER {
                return i;
            }
            if let Some((read, from)) = open.at {
                let sequence = &sequences.get(read)[from..];
                let part = question.in_parts().then(|| open.wanted(question) + rule.k as usize - 1);
                let letters = part.unwrap_or(sequence.len()).min(sequence.len());
                if open.is_pure {
                    words.add_run(&sequence[..letters], rule.k);
                } else if rule.k <= MOST_PACKED {
                    words.add(&sequence[..letters], rule, false, false);
                } else {
                    kmers::each(sequence, rule.k, question.filter.hasher(), |hash, _| hashes.push(hash));
                }
                let mate = units[open.number].1.filter(|mate| *mate != read);
                open.at = if letters < sequence.len() {
                    Some((read, from + letters + 1 - rule.k as usize))
                } else {
                    mate.map(|mate| (mate, 0))
                };
            }
            ends.push(words.len() + hashes.len());
        }
        open.len()
    }

    fn look_up(&mut self, filter: &Filter) {
        self.found.resize(self.words.len() + self.hashes.len(), false);
        if self.hashes.is_empty() {
            filter.contains_slice_into(self.words.get(), &mut self.found);
        } else {
            filter.contains_slice_into(&self.hashes, &mut self.found);
        }
    }
}

impl Open {
    /// Returns how many more words are wanted in this turn.
    fn wanted(&self, question: &Question<'_>) -> usize {
        if !question.is_early() {
            return MANY;
        }
        let missing = question.threshold.of(self.words) - self.found;
        // So many absent ones decide it too.
        let to_refuse = self.words + 1 - self.asked - missing;
        let wanted = missing.max(FEW).max(2 * self.asked).min(to_refuse.max(missing));
        usize::try_from(wanted).map_or(MANY, |wanted| wanted.min(MANY))
    }

    /// Returns the answer if there is one.
    fn answer(&self, question: &Question<'_>) -> Option<Answer> {
        if question.is_early() {
            let needed = question.threshold.of(self.words);
            let matches = self.found >= needed;
            let is_decided = matches || self.found + (self.words - self.asked) < needed;
            return is_decided.then_some(Answer { words: self.words, found: self.found, matches });
        }
        let matches = self.found >= question.threshold.of(self.asked);
        self.at.is_none().then_some(Answer { words: self.asked, found: self.found, matches })
    }
}

/// Returns how many words a read or pair has, and whether every place of it has one: then it has no other letters.
fn count(words: &Words, k: u32, (first, second): Unit, sequences: &Sequences<'_>) -> (u64, bool) {
    let of = |read| {
        let sequence = sequences.get(read);
        let count = words.count(sequence, k);
        (count as u64, count > 0 && count + k as usize == sequence.len() + 1)
    };
    let (count, is_pure) = of(first);
    second.map_or((count, is_pure), |second| {
        let (more, is_too) = of(second);
        (count + more, is_pure && is_too)
    })
}

fn count_found(found: &[bool]) -> u64 {
    // Few enough at a time that their sum is a byte, which is summed in vectors.
    let few = |few: &[bool]| u64::from(few.iter().map(|found| u8::from(*found)).sum::<u8>());
    found.chunks(255).map(few).sum()
}
