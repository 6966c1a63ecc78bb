//! What was read, kept and dropped, and the summary of it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::args::Bad;
use super::document::{Content, Parsed, Recipe, Unit};
use super::field::Flaw;
use super::remember::Memory;
use super::render::is_dropped;
use crate::report::Report;
use crate::units::{counted, grouped, rate_in_words, short_bytes, short_count};

/// Counts over all inputs.
#[derive(Debug, Default)]
pub(super) struct Tally {
    files: u64,
    bytes: u64,
    documents: Count,
    paragraphs: Count,
    keys: Count,
    /// Lines with flaws, by what they are.
    flaws: [u64; FLAWS.len()],
    /// Units expected to be dropped although they should not be.
    wrongly: f64,
}

/// How many there were, and how many of them were duplicates or seen.
#[derive(Debug, Default)]
struct Count {
    all: u64,
    seen: u64,
}

impl Count {
    fn add(&mut self, all: usize, seen: usize) {
        self.all += all as u64;
        self.seen += seen as u64;
    }

    fn json(&self) -> Value {
        json!({ "read": self.all, "duplicates": self.seen })
    }
}

/// The flaws of lines, as names and in words.
const FLAWS: [(&str, &str); 4] = [
    ("not_utf8", "not UTF-8"),
    ("broken_json", "broken JSON"),
    ("absent_field", "without the field"),
    ("not_a_string", "with a field that is not a string"),
];

fn number(flaw: &Flaw) -> usize {
    match flaw {
        Flaw::Encoding(_) => 0,
        Flaw::Broken(_) | Flaw::Incomplete(_) | Flaw::NoObject => 1,
        Flaw::Absent => 2,
        Flaw::NotText => 3,
    }
}

impl Tally {
    /// Counts bytes and the end of files.
    pub(super) fn read(&mut self, bytes: usize, files: usize) {
        self.bytes += bytes as u64;
        self.files += files as u64;
    }

    /// Counts a piece whose units are decided.
    pub(super) fn add(&mut self, parsed: &Parsed, recipe: &Recipe) {
        for line in &parsed.lines {
            match &line.content {
                Content::Blank => {}
                Content::Flawed(flaw) => self.flaws[number(flaw)] += 1,
                Content::Document(document) => {
                    let units = &parsed.units[document.units.clone()];
                    self.documents.add(1, usize::from(is_dropped(units)));
                }
            }
        }
        if recipe.paragraphs {
            let duplicates = parsed.units.iter().filter(|unit| unit.duplicate).count();
            self.paragraphs.add(parsed.units.len(), duplicates);
        }
        let sum = |of: fn(&Unit) -> u64| parsed.units.iter().map(of).sum::<u64>();
        self.keys.all += sum(|unit| unit.keys);
        self.keys.seen += sum(|unit| unit.seen);
    }

    pub(super) fn expect_wrongly(&mut self, units: f64) {
        self.wrongly += units;
    }

    fn flawed(&self) -> u64 {
        self.flaws.iter().sum()
    }

    /// Returns the summary for people.
    pub(super) fn report(&self, about: &About) -> Report {
        let About { recipe, bad, memory, time, .. } = about;
        let mut report = Report::default();
        let found = if recipe.note.is_some() { "marked" } else { "dropped" };
        let count = |count: &Count| {
            format!("{} read, {} {found} as duplicates", grouped(count.all), grouped(count.seen))
        };
        report.fact("documents", count(&self.documents));
        if recipe.paragraphs {
            report.fact("paragraphs", count(&self.paragraphs));
        }
        if recipe.ngram.is_some() {
            let share = 100.0 * self.keys.seen as f64 / self.keys.all.max(1) as f64;
            report.fact("n-grams", format_args!("{} read, {share:.1} % seen before", grouped(self.keys.all)));
        }
        let flaws: Vec<_> = self.flaws.iter().zip(FLAWS).filter(|(count, _)| **count > 0).collect();
        if !flaws.is_empty() {
            let list: Vec<_> =
                flaws.iter().map(|(count, (_, words))| format!("{} {words}", grouped(**count))).collect();
            let done = if *bad == Bad::Keep { "kept" } else { "dropped" };
            report.fact("bad lines", format_args!("{} {done}: {}", grouped(self.flawed()), list.join(", ")));
        }
        let unit = if recipe.paragraphs { "paragraphs" } else { "documents" };
        let wrongly =
            if self.wrongly < 10.0 { format!("{:.1}", self.wrongly) } else { short_count(self.wrongly) };
        report.fact("wrongly", format_args!("{wrongly} {unit} expected to be {found} by false positives"));
        let stats = memory.filter.stats();
        report
            .fact(
                "filter",
                format_args!(
                    "{}, {}, {}",
                    memory.filter.geometry().kind(),
                    short_bytes(stats.memory_bytes),
                    counted(memory.filter.len(), "key")
                ),
            )
            .fact("rate", format_args!("{} at the end", rate_in_words(memory.rate())))
            .fact(
                "time",
                format_args!("{:.2} seconds, {}/s", time.as_secs_f64(), short_bytes(self.speed(*time))),
            );
        report
    }

    fn speed(&self, time: Duration) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes in a second")]
        let speed = (self.bytes as f64 / time.as_secs_f64().max(1e-9)) as u64;
        speed
    }

    /// Returns the summary for programs.
    pub(super) fn data(&self, about: &About) -> Map<String, Value> {
        let About { recipe, bad, memory, time, threads, filter } = about;
        let stats = memory.filter.stats();
        let flaws: Map<_, _> =
            self.flaws.iter().zip(FLAWS).map(|(count, (name, _))| (name.to_owned(), json!(count))).collect();
        let data = json!({
            "files": self.files,
            "bytes": self.bytes,
            "documents": self.documents.json(),
            "paragraphs": recipe.paragraphs.then(|| self.paragraphs.json()),
            "keys": json!({ "read": self.keys.all, "seen": self.keys.seen }),
            "bad_lines": json!({ "handled": format!("{bad:?}").to_lowercase(), "all": self.flawed(), "by_flaw": flaws }),
            "annotated": recipe.note,
            "expected_wrongly": self.wrongly,
            "options": json!({
                "field": recipe.field.to_string(),
                "ngram": recipe.ngram,
                "min_words": recipe.min_words,
                "normalize": recipe.rules.to_string(),
                "threads": threads,
            }),
            "filter": json!({
                "file": filter.map(|path| path.display().to_string()),
                "read_only": memory.read_only,
                "kind": memory.filter.geometry().kind().to_string(),
                "keys": memory.filter.len(),
                "planned_keys": memory.filter.geometry().keys(),
                "promised_rate": memory.filter.geometry().rate(),
                "predicted_rate": memory.rate(),
                "bytes": stats.memory_bytes,
            }),
            "seconds": time.as_secs_f64(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        let Value::Object(data) = data else { unreachable!("it is an object") };
        data
    }
}

/// What a summary is about.
pub(super) struct About<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) bad: Bad,
    pub(super) memory: &'a Memory,
    pub(super) filter: Option<&'a Path>,
    pub(super) threads: usize,
    pub(super) time: Duration,
}
