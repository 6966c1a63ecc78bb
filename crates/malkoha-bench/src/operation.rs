//! The measured operations, and their names in tables.

use std::fmt;

use crate::contestants::Way;

/// A measured operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Filling an empty filter to the planned load.
    Insert { way: Way, threads: usize },
    /// Lookups of keys, a percentage of which are present.
    Find { way: Way, percent: u64, threads: usize },
    /// Removing stored keys from a full filter, as a slice.
    Remove,
}

impl Operation {
    /// Returns its position in tables.
    pub(crate) fn order(self) -> impl Ord {
        match self {
            Self::Insert { way, threads } => (0, threads, way as usize, 0),
            Self::Find { way, percent, threads } => (1, threads, way as usize, percent),
            Self::Remove => (2, 0, 0, 0),
        }
    }

    /// Returns the same operation with another number of threads; removing has one.
    pub(crate) fn with_threads(self, threads: usize) -> Self {
        match self {
            Self::Insert { way, .. } => Self::Insert { way, threads },
            Self::Find { way, percent, .. } => Self::Find { way, percent, threads },
            Self::Remove => Self::Remove,
        }
    }

    pub(crate) fn threads(self) -> usize {
        match self {
            Self::Insert { threads, .. } | Self::Find { threads, .. } => threads,
            Self::Remove => 1,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slice = |way: &Way| if *way == Way::OneByOne { "" } else { "[]" };
        let name = match self {
            Self::Insert { way: Way::Build, .. } => "build".to_owned(),
            Self::Insert { way: Way::Unique, .. } => "unique[]".to_owned(),
            Self::Insert { way, .. } => format!("insert{}", slice(way)),
            Self::Find { way, percent, .. } => format!("find{} {percent}", slice(way)),
            Self::Remove => "remove[]".to_owned(),
        };
        f.pad(&match self.threads() {
            1 => name,
            threads => format!("{name} x{threads}"),
        })
    }
}
