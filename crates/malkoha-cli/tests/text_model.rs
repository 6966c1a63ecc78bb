//! `dedup --jsonl` against a naive model: sets of texts and of n-grams as strings, one unit after the other,
//! as docs/TEXT.md defines it.

use std::collections::HashSet;

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::common::Scene;

/// What the program is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) paragraphs: bool,
    pub(crate) ngram: Option<usize>,
    /// Percent of n-grams.
    pub(crate) overlap: usize,
    pub(crate) min_words: usize,
    pub(crate) rules: &'static str,
}

impl Options {
    pub(crate) fn args(&self) -> String {
        let paragraphs = if self.paragraphs { "--paragraphs" } else { "" };
        let ngram = self.ngram.map(|n| format!("--ngram {n} --overlap {}%", self.overlap));
        let ngram = ngram.unwrap_or_default();
        format!("--min-words {} --normalize {} {paragraphs} {ngram}", self.min_words, self.rules)
    }

    fn normal(&self, text: &str) -> String {
        let has = |rule: &str| self.rules == "all" || self.rules.split(',').any(|name| name == rule);
        let mut text = text.to_owned();
        if self.rules == "all" || has("nfkc") {
            text = text.nfkc().collect();
        } else if has("nfc") {
            text = text.nfc().collect();
        }
        if has("case") {
            text = text.chars().flat_map(char::to_lowercase).collect();
        }
        if has("punctuation") {
            let kept = |c: char| c.is_alphanumeric() || is_combining_mark(c) || c.is_whitespace();
            text = text.chars().map(|c| if kept(c) { c } else { ' ' }).collect();
        }
        if has("space") {
            text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        text
    }
}

/// Returns the words of a text: Chinese characters, of the scripts without spaces the one that the tests use,
/// are words of their own.
fn words(text: &str) -> Vec<String> {
    let spaced: String = text
        .chars()
        .flat_map(|c| if ('\u{4e00}'..='\u{9fff}').contains(&c) { vec![' ', c, ' '] } else { vec![c] })
        .collect();
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// The paragraphs of a text, and what is before them.
fn paragraphs(text: &str) -> (String, Vec<String>) {
    let (mut before, mut all) = (String::new(), Vec::<String>::new());
    for line in text.split_inclusive('\n') {
        match all.last_mut() {
            _ if !line.trim().is_empty() => all.push(line.to_owned()),
            Some(paragraph) => *paragraph += line,
            None => before += line,
        }
    }
    (before, all)
}

/// What is known of a unit: keys that were seen, all keys, and whether it is a duplicate.
type Found = (usize, usize, bool);

/// The model: what was seen, as text.
pub(crate) struct Model {
    options: Options,
    seen: HashSet<String>,
}

impl Model {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, seen: HashSet::new() }
    }

    /// Decides a unit, and remembers it if it is kept.
    fn unit(&mut self, unit: &str) -> Found {
        let Options { ngram, overlap, min_words, .. } = self.options;
        let normal = self.options.normal(unit);
        let words = words(&normal);
        if words.is_empty() || words.len() < min_words {
            return (0, 0, false);
        }
        let keys: Vec<String> = match ngram {
            None => vec![normal],
            Some(n) if words.len() < n => vec![words.join(" ")],
            Some(n) => words.windows(n).map(|words| words.join(" ")).collect(),
        };
        let seen = keys.iter().filter(|key| self.seen.contains(*key)).count();
        let duplicate = seen * 100 >= keys.len() * if ngram.is_some() { overlap } else { 100 };
        if !duplicate {
            self.seen.extend(keys.iter().cloned());
        }
        (seen, keys.len(), duplicate)
    }

    /// Returns the text of a document without its duplicates, and the note for it.
    pub(crate) fn document(&mut self, text: &str) -> (Option<String>, Value) {
        let share = |(seen, keys, _): Found| seen as f64 / keys.max(1) as f64;
        if !self.options.paragraphs {
            let found = self.unit(text);
            let note = json!({"duplicate": found.2, "share": share(found), "seen": found.0, "of": found.1});
            return (Some(text.to_owned()).filter(|_| !found.2), note);
        }
        let (mut left, units) = paragraphs(text);
        let (mut list, mut last) = (Vec::new(), false);
        let mut at = left.chars().count();
        for unit in &units {
            let found = self.unit(unit.split('\n').next().unwrap());
            let end = at + unit.chars().count();
            list.push(json!([at, end, share(found), found.2]));
            at = end;
            last = found.2;
            if !found.2 {
                left += unit;
            }
        }
        if last {
            left.truncate(left.trim_end().len());
        }
        let nothing = !list.is_empty() && list.iter().all(|unit| unit[3] == json!(true));
        (Some(left).filter(|_| !nothing), json!({"duplicate": nothing, "paragraphs": list}))
    }
}

/// Pseudo-random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Returns texts with many duplicates: copies, copies with changes, common paragraphs, and oddities.
pub(crate) fn texts(count: usize, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let vocabulary: Vec<String> = (0..60).map(|word| format!("w{word}")).collect();
    let odd = [
        "Na\u{ef}ve",
        "nai\u{308}ve",
        "\u{9ce5}\u{9ce5}",
        "don't,",
        "DON'T",
        "\u{fb01}",
        "\u{1f426}",
        "\"q\\",
    ];
    let mut all: Vec<String> = vec![String::new(), "\n\n".to_owned(), " \u{a0}".to_owned()];
    while all.len() < count {
        let text = match random.below(5) {
            // A copy, possibly with other white space and case.
            0 => all[random.below(all.len())].clone(),
            1 => all[random.below(all.len())].to_uppercase().replace(' ', "  "),
            // A copy with some words replaced.
            2 => {
                let copied = all[random.below(all.len())].clone();
                let change = |word: &str| match random.below(8) {
                    0 => vocabulary[random.below(60)].clone(),
                    _ => word.to_owned(),
                };
                copied.split(' ').map(change).collect::<Vec<_>>().join(" ")
            }
            // Paragraphs, some of them of other texts.
            3 => {
                let parts: Vec<_> = (0..random.below(5))
                    .map(|_| {
                        let text = &all[random.below(all.len())];
                        text.lines().next().unwrap_or_default().to_owned()
                    })
                    .collect();
                parts.join(["\n", "\n\n", "\r\n", "\n \n"][random.below(4)])
            }
            _ => {
                let words: Vec<_> = (0..random.below(40))
                    .map(|_| match random.below(12) {
                        0 => odd[random.below(odd.len())].to_owned(),
                        1 => format!("{}\n", vocabulary[random.below(60)]),
                        _ => vocabulary[random.below(60)].clone(),
                    })
                    .collect();
                words.join(" ")
            }
        };
        all.push(text);
    }
    all
}

#[test]
fn every_mode_does_what_the_model_does() {
    let scene = Scene::new("text-model");
    let texts = texts(1500, 3);
    let line = |at: usize, text: &str| json!({"id": at, "text": text, "n": {"x": [1.5, null]}});
    let input: String =
        texts.iter().enumerate().map(|(at, text)| line(at, text).to_string() + "\n").collect();
    scene.write("in.jsonl", input);
    let mut dropped = Vec::new();
    for paragraphs in [false, true] {
        for (ngram, overlap) in [(None, 100), (Some(1), 80), (Some(3), 50), (Some(3), 100), (Some(13), 80)] {
            for (rules, min_words) in
                [("none", 1), ("all", 1), ("nfc,case", 4), ("space", 0), ("punctuation", 2)]
            {
                let options = Options { paragraphs, ngram, overlap, min_words, rules };
                let mut model = Model::new(options);
                let (mut kept, mut notes) = (String::new(), String::new());
                for (at, text) in texts.iter().enumerate() {
                    let (left, note) = model.document(text);
                    if let Some(left) = &left {
                        kept += &(line(at, left).to_string() + "\n");
                    }
                    let mut noted = line(at, text);
                    noted["dedup"] = note;
                    notes += &(noted.to_string() + "\n");
                }
                dropped.push(texts.len() - kept.lines().count());
                let args = format!("dedup -q --rate 1e-12 --jsonl text {} in.jsonl", options.args());
                for (threads, batch) in [(1, "8000000"), (2, "20000"), (3, "1")] {
                    let run = |more: &str| {
                        let mut command = scene.command(&format!("{args} -j {threads} {more}"));
                        command.env("MALKOHA_TEXT_BATCH", batch).env("MALKOHA_TEXT_PIECE", "3000");
                        let output = command.output().unwrap();
                        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                        String::from_utf8(output.stdout).unwrap()
                    };
                    same(&run(""), &kept, &format!("{options:?}, {threads} threads"));
                    same(&run("--annotate"), &notes, &format!("{options:?}, {threads} threads, annotated"));
                }
            }
        }
    }
    let (least, most) = (dropped.iter().min().unwrap(), dropped.iter().max().unwrap());
    assert!(*least > 50 && *most < 1400, "{dropped:?}: nothing to find, or nothing to keep");
}

/// Compares lines as JSON, because members may be in another order.
#[track_caller]
fn same(got: &str, expected: &str, what: &str) {
    assert_eq!(got.lines().count(), expected.lines().count(), "{what}");
    for (got, expected) in got.lines().zip(expected.lines()) {
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        assert_eq!(read(got), read(expected), "{what}");
    }
}
