//! The options of `dedup --jsonl`.

use std::path::PathBuf;

use clap::builder::RangedI64ValueParser;
use clap::{Args, ValueEnum};

use super::field::Field;
use super::rules::Rules;
use crate::units;

/// The most words in an n-gram.
pub(super) const MOST_WORDS: u32 = 4096;

/// What to do with a line that has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bad {
    /// End with an error.
    Fail,
    /// Report it and write it as it is.
    Keep,
    /// Report it and leave it out.
    Drop,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Text corpora")]
pub(crate) struct TextArgs {
    /// Read JSON lines and compare the texts in this field (meta.text is the field text of the object meta).
    /// Inputs may be folders, of which all files named .jsonl, .json or .ndjson are read, also compressed.
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["window", "nul", "column", "count", "repeated"])]
    pub(crate) jsonl: Option<Field>,

    /// Compare paragraphs, which are lines of a text, instead of whole texts.
    #[arg(long, requires = "jsonl")]
    pub(crate) paragraphs: bool,

    /// Compare by sequences of N words instead of by whole texts or paragraphs.
    #[arg(long, value_name = "N", requires = "jsonl",
          value_parser = RangedI64ValueParser::<u32>::new().range(1..=i64::from(MOST_WORDS)))]
    pub(crate) ngram: Option<u32>,

    /// The share of n-grams that must have been seen for a duplicate, above 0 and up to 1; 0.8 by default.
    #[arg(long, value_name = "SHARE", requires = "ngram", value_parser = share)]
    pub(crate) overlap: Option<f64>,

    /// The number of n-grams that must have been seen for a duplicate, instead of a share.
    #[arg(long, value_name = "COUNT", requires = "ngram", conflicts_with = "overlap",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) at_least: Option<u64>,

    /// Always keep texts or paragraphs with fewer words, and do not remember them.
    #[arg(long, value_name = "COUNT", requires = "jsonl", default_value = "1")]
    pub(crate) min_words: u64,

    /// What to do before comparing: nfc, nfkc, case, punctuation, space, separated by commas; or none, or all.
    #[arg(long, value_name = "RULES", requires = "jsonl", default_value = "none")]
    pub(crate) normalize: Rules,

    /// Write all lines, with what was found in a field of this name ("dedup" by default), instead of dropping.
    #[arg(long, value_name = "NAME", requires = "jsonl", num_args = 0..=1, require_equals = true,
          default_missing_value = "dedup")]
    pub(crate) annotate: Option<String>,

    /// What to do with lines without such a field, with broken JSON or with bytes that are not UTF-8.
    #[arg(long, value_enum, requires = "jsonl", default_value = "fail")]
    pub(crate) bad: Bad,

    /// Continue with the filter in this file, and save it there at the end; created if missing.
    #[arg(long, value_name = "FILE", requires = "jsonl")]
    pub(crate) filter: Option<PathBuf>,

    /// Only look up, and do not change the filter: what is seen is what the filter holds.
    #[arg(long, requires = "filter", conflicts_with_all = ["keys", "memory"])]
    pub(crate) read_only: bool,

    /// Bytes of memory for a new filter; with more keys than fit at the rate, the rate rises, which is reported.
    #[arg(long, value_name = "BYTES", requires = "jsonl", conflicts_with = "keys", value_parser = units::bytes)]
    pub(crate) memory: Option<u64>,

    /// The folder to write to, with the same files as the inputs have, compressed according to their names. It
    /// must be new or empty. By default, everything goes to standard output.
    #[arg(long, short, value_name = "FOLDER", requires = "jsonl")]
    pub(crate) out: Option<PathBuf>,
}

/// Parses a share above 0 and up to 1.
fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "a share is above 0 and at most 1; write it as in 0.8 or 80%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_go_up_to_one() {
        assert_eq!(
            [share("0.8"), share("80%"), share("1"), share("1e-9")],
            [Ok(0.8), Ok(0.8), Ok(1.0), Ok(1e-9)]
        );
        for wrong in ["0", "-0.1", "1.01", "101%", "nan", "half", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
