//! The filter that remembers keys: new, or from a file; growing, planned, or of a fixed size.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use malkoha::{Filter, KeyFormat, KeyHash, Kind, Spec};

use super::args::MOST_WORDS;
use super::rules::Rules;
use crate::cli::DedupArgs;
use crate::cmd::growing;
use crate::filter_file;
use crate::input::{self, is_standard_input};
use crate::lock::Lock;
use crate::target::Place;
use crate::units::counted;

/// The rate of false positives, unless another is given: of whole units, each of which is a loss, and of
/// n-grams, of which one alone decides nothing.
const RATE: f64 = 1e-6;
const NGRAM_RATE: f64 = 1e-3;

/// The kind of a filter of a fixed size: one that is never full.
const OVERFILLED: Kind = Kind::Blocked(2);

/// The upper half of the seed of a filter of texts. The lower half says what the keys are.
const SEED: u64 = (u32::from_le_bytes(*b"text") as u64) << 32;

/// What the keys of a filter are: n-grams of this many words, or whole units; and what was done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) ngram: Option<u32>,
    pub(super) rules: Rules,
}

impl Keys {
    /// Returns the seed of a filter of such keys.
    fn seed(self) -> u64 {
        SEED | u64::from(self.rules.to_bits()) << 16 | u64::from(self.ngram.unwrap_or(0))
    }

    /// Returns the keys of a filter with this seed; `None` if it is not one of texts.
    fn of_seed(seed: u64) -> Option<Self> {
        let [low, high, rules, 0, b't', b'e', b'x', b't'] = seed.to_le_bytes() else { return None };
        let ngram = u32::from(u16::from_le_bytes([low, high]));
        (ngram <= MOST_WORDS).then_some(())?;
        Some(Self { ngram: (ngram > 0).then_some(ngram), rules: Rules::from_bits(rules)? })
    }

    fn format(self) -> KeyFormat {
        if self.ngram.is_some() { KeyFormat::U64 } else { KeyFormat::Bytes }
    }

    fn in_words(self) -> String {
        let what =
            self.ngram.map_or("whole texts or paragraphs".to_owned(), |n| format!("n-grams of {n} words"));
        format!("{what} with --normalize {}", self.rules)
    }
}

/// Returns what a filter holds, if it is one of texts.
pub(crate) fn held(filter: &Filter) -> Option<String> {
    Keys::of_seed(filter.geometry().seed()).map(Keys::in_words)
}

/// The file that a filter belongs to.
struct Home {
    place: Place,
    path: PathBuf,
    /// Held until the filter is saved, if the file was there before.
    lock: Option<Lock>,
    is_new: bool,
}

/// A filter, and the file that it belongs to.
pub(super) struct Memory {
    pub(super) filter: Filter,
    home: Option<Home>,
    pub(super) read_only: bool,
    /// Whether the filter takes any number of keys at a rising rate.
    pub(super) overfilled: bool,
    /// What --keys said.
    planned: Option<u64>,
}

impl Memory {
    /// Returns the filter that the options ask for.
    pub(super) fn new(args: &DedupArgs, keys: Keys) -> Result<Self> {
        let text = &args.text;
        let memory = |filter: Filter, home| Self {
            overfilled: filter.geometry().kind().is_bloom() && !filter.geometry().is_growing(),
            filter,
            home,
            read_only: text.read_only,
            planned: args.keys,
        };
        let Some(path) = &text.filter else { return Ok(memory(new_filter(args, keys)?, None)) };
        if text.read_only {
            if is_standard_input(path) && input::or_standard_input(&args.inputs).contains(path) {
                bail!("standard input cannot be both the filter and the texts; give a file for one of them");
            }
            return Ok(memory(existing(args, path, keys)?, None));
        }
        filter_file::check_is_file(path)?;
        if path.exists() {
            let place = Place::of(path)?;
            let lock = place.lock()?;
            let filter = existing(args, path, keys)?;
            place.check_folder()?;
            return Ok(memory(filter, Some(Home { place, path: path.clone(), lock, is_new: false })));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("there is no folder {}; make it, or give another file with --filter", folder.display());
        }
        let place = Place::of(path)?;
        place.check_folder()?;
        let home = Home { place, path: path.clone(), lock: None, is_new: true };
        Ok(memory(new_filter(args, keys)?, Some(home)))
    }

    /// Returns the chance that a key that was never stored is found.
    pub(super) fn rate(&self) -> f64 {
        self.filter.geometry().predicted_rate(self.filter.len())
    }

    /// Stores keys that are not stored yet.
    pub(super) fn store(&mut self, keys: &[KeyHash], threads: usize) -> Result<()> {
        let planned = self.planned.unwrap_or_else(|| self.filter.geometry().keys());
        self.filter.extend_unique(keys, threads).map(drop).with_context(|| {
            format!(
                "the filter is full: it was planned for {}; give more with --keys, or leave it out",
                counted(planned, "key")
            )
        })
    }

    /// Saves the filter, if it belongs to a file and may be changed.
    pub(super) fn save(&mut self) -> Result<()> {
        let Some(Home { place, path, lock, is_new }) = self.home.take() else { return Ok(()) };
        if is_new && path.exists() {
            bail!(
                "{} was made by another program meanwhile and is unchanged; the output is complete, but what it \
                 has is not remembered",
                path.display()
            );
        }
        place.save(&self.filter, lock)
    }
}

/// Opens a filter, and refuses one that does not fit the options.
fn existing(args: &DedupArgs, path: &Path, keys: Keys) -> Result<Filter> {
    let filter = check(filter_file::open(path)?, path, keys)?;
    if let Some(option) = contradicted(args, &filter) {
        let path = filter_file::name(path);
        bail!("{path} exists and was planned otherwise; leave out {option}, or give another file");
    }
    Ok(filter)
}

/// Returns the first option that does not fit a filter that is already there. The same command can be given
/// for every part of a corpus.
fn contradicted(args: &DedupArgs, filter: &Filter) -> Option<&'static str> {
    let geometry = filter.geometry();
    let fits = [
        (args.keys.is_none_or(|keys| keys == geometry.keys() && !geometry.is_growing()), "--keys"),
        (
            args.text.memory.is_none_or(|bytes| bytes >= geometry.bytes() && !geometry.is_growing()),
            "--memory",
        ),
        (args.rate.is_none_or(|rate| (rate / geometry.rate() - 1.0).abs() < 1e-9), "--rate"),
        (args.kind.is_none_or(|kind| kind == geometry.kind()), "--kind"),
    ];
    fits.into_iter().find_map(|(fits, option)| (!fits).then_some(option))
}

/// Builds an empty filter.
fn new_filter(args: &DedupArgs, keys: Keys) -> Result<Filter> {
    let rate = args.rate.unwrap_or(if keys.ngram.is_some() { NGRAM_RATE } else { RATE });
    let (spec, kind) = match (args.keys, args.text.memory) {
        (Some(planned), _) => (Spec::new(planned, rate), Kind::Sorted),
        (None, Some(bytes)) => (Spec::rate_in_memory(rate, bytes), OVERFILLED),
        (None, None) => {
            let kind = args.kind.unwrap_or(Kind::Elastic);
            (growing(rate, kind), kind)
        }
    };
    let spec = spec.kind(args.kind.unwrap_or(kind)).seed(keys.seed()).key_format(keys.format());
    spec.build().context("this filter is not possible; give another --keys, --memory, --rate or --kind")
}

/// Refuses a filter of other keys.
fn check(filter: Filter, path: &Path, keys: Keys) -> Result<Filter> {
    let path = path.display();
    match Keys::of_seed(filter.geometry().seed()) {
        Some(held) if held == keys => Ok(filter),
        Some(held) => bail!(
            "{path} holds {}, but the options ask for {}; give the options it was made with",
            held.in_words(),
            keys.in_words()
        ),
        None => bail!("{path} was not made by dedup --jsonl; give another file with --filter"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_tell_what_the_keys_are() {
        for ngram in [None, Some(1), Some(13), Some(MOST_WORDS)] {
            for rules in ["none", "all", "nfc,case"] {
                let keys = Keys { ngram, rules: rules.parse().unwrap() };
                assert_eq!(Keys::of_seed(keys.seed()), Some(keys));
            }
        }
        let some = Keys { ngram: Some(13), rules: "all".parse().unwrap() }.seed();
        assert_eq!(some, 0x7478_6574_001E_000D, "which is written into files");
        for other in [0, 1, some ^ 1 << 63, some | 0x8000, some | 1 << 24, some | 1 << 21] {
            assert_eq!(Keys::of_seed(other), None, "{other:x}");
        }
    }
}
