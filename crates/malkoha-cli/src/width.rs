//! The width of the terminal, and text that fits it.

use std::io;

use terminal_size::{Height, Width, terminal_size_of};

/// The least width for which text is wrapped; a narrower terminal breaks lines itself.
const LEAST: usize = 40;

/// The width of text if nobody says how wide it may be.
const USUAL: usize = 80;

/// Returns the columns of the terminal behind standard output.
pub(crate) fn of_output() -> Option<usize> {
    or_said(terminal_size_of(io::stdout()))
}

/// Returns the columns of the terminal behind standard error.
pub(crate) fn of_errors() -> Option<usize> {
    or_said(terminal_size_of(io::stderr()))
}

/// Returns the columns of a terminal, or those that `COLUMNS` says where there is none.
fn or_said(terminal: Option<(Width, Height)>) -> Option<usize> {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.map(|(width, _)| usize::from(width.0)).or_else(said).map(|width| width.max(LEAST))
}

/// The columns of a word, which may have colours.
fn columns(word: &str) -> usize {
    let colours: usize = word
        .split("\x1b[")
        .skip(1)
        .filter_map(|rest| rest.split_once('m'))
        .map(|(colour, _)| "\x1b[m".len() + colour.chars().count())
        .sum();
    word.chars().count() - colours
}

/// Breaks text into lines of at most this many columns, between words.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for word in text.split(' ') {
        let length = columns(word);
        match lines.last_mut() {
            Some(line) if length < room => {
                *line += " ";
                *line += word;
                room -= length + 1;
            }
            _ => {
                lines.push(word.to_owned());
                room = width.saturating_sub(length);
            }
        }
    }
    lines
}

/// Returns a paragraph that fits standard output, all but its first line indented.
pub(crate) fn paragraph(text: &str, indent: usize) -> String {
    let width = of_output().unwrap_or(USUAL);
    let lines = wrapped(text, width.saturating_sub(indent));
    lines.join(&format!("\n{:indent$}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_long_as_allowed_and_keep_every_word() {
        let text = "a cuckoo lays its eggs into the nests of others";
        for width in 0..60 {
            let lines = wrapped(text, width);
            assert_eq!(lines.join(" "), text, "{width}");
            for pair in lines.windows(2) {
                let first = pair[1].split(' ').next().unwrap();
                assert!(pair[0].len() + 1 + first.len() > width, "{width}: {pair:?}");
            }
            assert!(
                lines.iter().all(|line| line.len() <= width || !line.contains(' ')),
                "{width}: {lines:?}"
            );
        }
        assert_eq!(wrapped("", 10), [""]);
        let coloured = "\x1b[1m\x1b[31mred\x1b[0m or not";
        assert_eq!(wrapped(coloured, 6), ["\x1b[1m\x1b[31mred\x1b[0m or", "not"]);
        assert_eq!(columns("\x1b[cut off"), 9);
    }
}
