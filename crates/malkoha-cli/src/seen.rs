//! What `dedup` remembers: all lines, or those of a sliding window.

use anyhow::{Context, Result};
use malkoha::{Filter, Generations, Inserted, KeyHash, KeyHasher, Kind, Spec};

use crate::cli::DedupArgs;
use crate::cmd::FIRST_LINK;
use crate::tally::Rated;
use crate::units::grouped;

/// The parts of a window, each of which expires at once: the memory is that of 8 / 7 of the window.
const GENERATIONS: u32 = 8;

/// The chance that a new line is dropped and the kind of filter, unless others are given.
const RATE: f64 = 1e-6;
pub(crate) const KIND: Kind = Kind::Sorted;

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
                let growing = spec(FIRST_LINK).growing().build();
                Self::All(growing.context("without --keys the filter grows; give --keys or another --kind")?)
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

    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Self::All(filter) => filter.stats().memory_bytes,
            Self::Window(window) => window.stats().memory_bytes,
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
