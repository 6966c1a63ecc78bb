//! What `dedup` remembers: all lines, or those of a sliding window.

use std::path::Path;

use anyhow::{Context, Result};
use malkoha::{Filter, Generations, Inserted, KeyHash, KeyHasher, Kind, Spec};

use crate::cli::DedupArgs;
use crate::cmd::growing;
use crate::filter_file;
use crate::tally::{Rated, Tally};
use crate::units::grouped;

/// The parts of a window, each of which expires at once. Every line is looked up in all of them, so more parts cost
/// time; fewer cost memory, which is that of 4 / 3 of the window.
const GENERATIONS: u32 = 4;

/// The chance that a new line is dropped and the kind of filter, unless others are given.
const RATE: f64 = 1e-6;
const KIND: Kind = Kind::Sorted;

/// The lines that were seen.
pub(crate) enum Seen {
    /// All lines.
    All(Filter),
    /// The most recent lines.
    Window(Generations),
}

impl Seen {
    pub(crate) fn new(args: &DedupArgs) -> Result<Self> {
        let spec = |keys| Spec::new(keys, args.rate.unwrap_or(RATE)).kind(args.kind.unwrap_or(KIND));
        Ok(match (args.keys, args.window) {
            (_, Some(window)) => Self::Window(
                Generations::of_keys(&spec(window), GENERATIONS)
                    .context("this window is not possible; give another --window, --rate or --kind")?,
            ),
            (Some(keys), None) => Self::All(spec(keys).build()?),
            (None, None) => {
                let filter = growing(args.rate.unwrap_or(RATE), args.kind.unwrap_or(KIND)).build();
                Self::All(
                    filter.context("without --keys the filter grows; give --keys, or leave out --kind")?,
                )
            }
        })
    }

    /// Returns the hasher for lines.
    pub(crate) fn hasher(&self) -> KeyHasher {
        match self {
            Self::All(filter) => *filter.hasher(),
            Self::Window(window) => *window.hasher(),
        }
    }

    /// Remembers lines, in order, and appends whether each is new.
    pub(crate) fn remember(&mut self, hashes: &[KeyHash], answers: &mut Vec<Inserted>) -> Result<()> {
        let became = match self {
            Self::All(filter) => filter.insert_unique_slice(hashes),
            Self::Window(window) => window.insert_unique_slice(hashes),
        };
        for inserted in became {
            answers.push(inserted.with_context(|| match self {
                Self::All(filter) => {
                    let planned = grouped(filter.geometry().keys());
                    format!(
                        "there are more different lines than --keys {planned}; give more, or leave it out"
                    )
                }
                Self::Window(_) => "the window has no room for more lines".to_owned(),
            })?);
        }
        Ok(())
    }

    /// The kind of the filter: that of the options, or the one that grows.
    pub(crate) fn kind(&self, asked: Option<Kind>) -> Kind {
        match self {
            Self::All(filter) => filter.geometry().kind(),
            Self::Window(_) => asked.unwrap_or(KIND),
        }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Self::All(filter) => filter.stats().memory_bytes,
            Self::Window(window) => window.stats().memory_bytes,
        }
    }
}

/// What was seen, and how often.
pub(crate) struct Once {
    pub(crate) seen: Seen,
    pub(crate) tally: Tally,
    /// The outcome for every line of the last block.
    answers: Vec<Inserted>,
}

impl Once {
    pub(crate) fn new(seen: Seen) -> Self {
        Self { seen, tally: Tally::default(), answers: Vec::new() }
    }

    /// Remembers lines, in order, and returns whether each is new.
    pub(crate) fn remember(&mut self, hashes: &[KeyHash]) -> Result<&[Inserted]> {
        self.answers.clear();
        self.seen.remember(hashes, &mut self.answers)?;
        let stored = self.answers.iter().filter(|answer| **answer == Inserted::Stored).count() as u64;
        self.tally.add(&self.seen, self.answers.len(), stored);
        Ok(&self.answers)
    }

    /// Remembers the lines that are not new, and replaces whether each is new by whether it is here for the first time.
    pub(crate) fn remember_again(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<()> {
        let again = hashes.iter().zip(&*new).filter(|(_, new)| !**new).map(|(hash, _)| *hash);
        let again: Vec<_> = again.collect();
        let mut answers = self.remember(&again)?.iter();
        for new in new {
            *new = !*new && answers.next() == Some(&Inserted::Stored);
        }
        Ok(())
    }

    /// Accounts for everything that was remembered.
    pub(crate) fn settle(&mut self) {
        self.tally.settle(&self.seen);
    }

    /// Warns if there were so many lines that more than expected were dropped.
    pub(crate) fn warn_of_broken_promise(&self) {
        if let Seen::All(filter) = &self.seen {
            filter_file::warn_of_broken_promise(filter, Path::new("-"));
        }
    }
}

impl Rated for Seen {
    fn mean_rate(&self, last: u64) -> f64 {
        match self {
            Self::All(filter) => filter.mean_rate(last),
            Self::Window(window) => window.mean_rate(last),
        }
    }
}
