//! The format of keys: what the options say, what a file says, and whether the two agree.

use std::path::Path;

use anyhow::{Result, bail};
use malkoha::{Filter, KeyFormat};

use crate::cli::{BuildArgs, Format, KeyArgs};
use crate::input::kmers::{self, Rule};
use crate::text;

/// How to read an input: what separates keys, if that is known, and which DNA words are keys.
pub(crate) type Reading = (Option<Format>, Option<Rule>);

/// Returns the format of a filter's keys. Files of version 1 do not store it, except for k, which was in the
/// seed.
pub(crate) fn of(filter: &Filter) -> KeyFormat {
    let geometry = filter.geometry();
    match (geometry.key_format(), kmers::of_seed(geometry.seed())) {
        (KeyFormat::Any, Some(k)) => KeyFormat::Kmers { k },
        (said, _) => said,
    }
}

/// Returns the format of the keys of a new filter.
pub(crate) fn of_new(args: &BuildArgs) -> KeyFormat {
    match (args.input.kmer, args.input.format) {
        (Some(k), _) => args.minimizers.map_or(KeyFormat::Kmers { k }, |w| KeyFormat::Minimizers { k, w }),
        (None, Some(Format::U64)) => KeyFormat::U64,
        (None, _) => KeyFormat::Bytes,
    }
}

/// Returns how inputs are read as keys of a filter: as for its build. Options that contradict this are
/// refused.
pub(crate) fn reading(filter: &Filter, path: &Path, args: &KeyArgs) -> Result<Reading> {
    let (held, path) = (of(filter), path.display());
    if let Some(texts) = text::held(filter) {
        bail!("{path} holds {texts}; use it with dedup --jsonl --filter");
    }
    let (option, asked) = match (args.kmer, args.format) {
        _ if args.table.column().is_some() => ("--column", Some(KeyFormat::Bytes)),
        (Some(k), _) => ("--kmer", Some(words_like(held, k))),
        (None, Some(Format::U64)) => ("--format", Some(KeyFormat::U64)),
        (None, Some(Format::Lines | Format::Nul)) => ("--format", Some(KeyFormat::Bytes)),
        // Sequences are keys themselves, or consist of words.
        (None, Some(Format::Fasta | Format::Fastq)) => {
            let words = matches!(held, KeyFormat::Kmers { .. } | KeyFormat::Minimizers { .. });
            ("--format", Some(if words { held } else { KeyFormat::Bytes }))
        }
        (None, None) => ("", None),
    };
    match (held, asked) {
        (KeyFormat::Any, Some(KeyFormat::Kmers { .. })) => {
            bail!("{path} was not built with --kmer; leave it out")
        }
        (KeyFormat::Any, _) => {}
        (_, Some(asked)) if asked != held => {
            let (held, asked) = (in_words(held), in_words(asked));
            bail!("{path} holds {held}, but {option} asks for {asked}; leave out {option}")
        }
        _ => {}
    }
    Ok(match held {
        KeyFormat::Any | KeyFormat::Bytes => (args.format, None),
        KeyFormat::U64 => (Some(Format::U64), None),
        KeyFormat::Kmers { k } => (args.format, Some(Rule { k, window: None })),
        KeyFormat::Minimizers { k, w } => (args.format, Some(Rule { k, window: Some(w) })),
        _ => bail!("{path} holds {held}, which this program does not know; use a newer version"),
    })
}

/// Returns the format of words of k letters, which are minimizers if those that are held are.
fn words_like(held: KeyFormat, k: u32) -> KeyFormat {
    match held {
        KeyFormat::Minimizers { w, .. } => KeyFormat::Minimizers { k, w },
        _ => KeyFormat::Kmers { k },
    }
}

/// Returns whether nothing tells what the keys of a filter are. Those of integers would never be found among lines.
pub(crate) fn is_guessed(filter: &Filter, args: &KeyArgs) -> bool {
    of(filter) == KeyFormat::Any && args.format.is_none() && args.table.column().is_none()
}

/// Refuses to merge DNA words with other keys, although the file with those does not store its format.
pub(crate) fn check_merge(one: (&Filter, &Path), other: (&Filter, &Path)) -> Result<()> {
    let (words, silent) = match (of(one.0), of(other.0)) {
        (KeyFormat::Kmers { .. } | KeyFormat::Minimizers { .. }, KeyFormat::Any) => (one, other),
        (KeyFormat::Any, KeyFormat::Kmers { .. } | KeyFormat::Minimizers { .. }) => (other, one),
        _ => return Ok(()),
    };
    let (words, silent, held) = (words.1.display(), silent.1.display(), in_words(of(words.0)));
    bail!("{words} holds {held}, but {silent} was not built with --kmer; merge filters whose keys match")
}

/// Returns the name of a key format in messages.
pub(crate) fn in_words(format: KeyFormat) -> String {
    match format {
        KeyFormat::Bytes => "strings of bytes".to_owned(),
        KeyFormat::U64 => "integers of 8 bytes".to_owned(),
        KeyFormat::Kmers { k } => format!("DNA words of length {k}"),
        KeyFormat::Minimizers { k, w } => {
            format!("minimizers: DNA words of length {k}, each the first of {w}")
        }
        _ => format!("keys of the format {format}"),
    }
}
