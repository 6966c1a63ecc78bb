//! From decisions to output lines.

use std::fmt::Write;

use super::args::Bad;
use super::document::{Content, Document, Line, Parsed, Recipe, Unit};
use super::field;

/// Appends what is written for a piece of a batch. Lines stay as they are, except for texts that lose
/// paragraphs and, if a name for notes is given, for the notes.
pub(super) fn render(batch: &[u8], parsed: &Parsed, recipe: &Recipe, bad: Bad, out: &mut Vec<u8>) {
    // Neighbours that stay as they are, to be copied at once.
    let mut same = 0..0;
    for Line { range, content } in &parsed.lines {
        let line = &batch[range.clone()];
        let changed = match content {
            Content::Blank => None,
            Content::Flawed(_) => Some(Vec::new()).filter(|_| bad != Bad::Keep),
            Content::Document(document) => {
                let units = &parsed.units[document.units.clone()];
                match &recipe.note {
                    Some(name) => Some(annotated(line, document, units, name, recipe.paragraphs)),
                    None if units.iter().all(|unit| !unit.duplicate) => None,
                    None if is_dropped(units) => Some(Vec::new()),
                    None => Some(shortened(line, document, units)),
                }
            }
        };
        match changed {
            None if same.end == range.start => same.end = range.end + 1,
            None => {
                out.extend_from_slice(&batch[std::mem::replace(&mut same, range.start..range.end + 1)]);
            }
            Some(changed) => {
                out.extend_from_slice(&batch[std::mem::take(&mut same)]);
                if !changed.is_empty() {
                    out.extend_from_slice(&changed);
                    out.push(b'\n');
                }
            }
        }
    }
    out.extend_from_slice(&batch[same]);
}

/// Returns whether nothing is left of a document.
pub(super) fn is_dropped(units: &[Unit]) -> bool {
    !units.is_empty() && units.iter().all(|unit| unit.duplicate)
}

/// Returns a line without the duplicate paragraphs of its text.
fn shortened(line: &[u8], document: &Document, units: &[Unit]) -> Vec<u8> {
    let text = text(line, document);
    let first = units.first().map_or(text.len(), |unit| unit.range.start);
    let mut left = text[..first].to_owned();
    for unit in units.iter().filter(|unit| !unit.duplicate) {
        left += &text[unit.range.clone()];
    }
    if units.last().is_some_and(|unit| unit.duplicate) {
        left.truncate(left.trim_end().len());
    }
    let value = serde_json::to_string(&left).expect("a string can always be written");
    let (before, after) = (&line[..document.value.start], &line[document.value.end..]);
    [before, value.as_bytes(), after].concat()
}

/// Returns the text of a document, which was read before.
fn text<'a>(line: &'a [u8], document: &Document) -> std::borrow::Cow<'a, str> {
    let value = std::str::from_utf8(&line[document.value.clone()]).expect("the line is UTF-8");
    field::text(value).expect("the text was read before")
}

/// Returns a line with a note: in place of the one that it has, or at the end.
fn annotated(line: &[u8], document: &Document, units: &[Unit], name: &str, paragraphs: bool) -> Vec<u8> {
    let note = describe(line, document, units, paragraphs);
    if let Some(old) = &document.note {
        return [&line[..old.start], note.as_bytes(), &line[old.end..]].concat();
    }
    let end = line.iter().rposition(|byte| *byte == b'}').expect("an object ends with a brace");
    let name = serde_json::to_string(name).expect("a string can always be written");
    [&line[..end], b",", name.as_bytes(), b":", note.as_bytes(), &line[end..]].concat()
}

/// Returns the note for a document.
fn describe(line: &[u8], document: &Document, units: &[Unit], paragraphs: bool) -> String {
    let mut note = format!("{{\"duplicate\":{}", is_dropped(units));
    let written = match units {
        [unit] if !paragraphs => {
            write!(note, ",\"share\":{:?},\"seen\":{},\"of\":{}}}", share(unit), unit.seen, unit.keys)
        }
        units => paragraph_list(&mut note, &text(line, document), units),
    };
    written.expect("a string takes everything");
    note
}

/// Returns the share of the keys of a unit that were seen; 0 if it has none.
fn share(unit: &Unit) -> f64 {
    unit.seen as f64 / unit.keys.max(1) as f64
}

/// Appends the paragraphs: where each begins and ends, counted in characters, its share, and whether it is a
/// duplicate.
fn paragraph_list(note: &mut String, text: &str, units: &[Unit]) -> std::fmt::Result {
    note.push_str(",\"paragraphs\":[");
    let (mut bytes, mut characters) = (0, 0);
    for (at, unit) in units.iter().enumerate() {
        characters += text[bytes..unit.range.start].chars().count();
        let begin = characters;
        characters += text[unit.range.clone()].chars().count();
        bytes = unit.range.end;
        let comma = if at > 0 { "," } else { "" };
        write!(note, "{comma}[{begin},{characters},{:?},{}]", share(unit), unit.duplicate)?;
    }
    note.push_str("]}");
    Ok(())
}
