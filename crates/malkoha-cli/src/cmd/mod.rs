//! The subcommands, one file each.

mod add;
mod build;
mod classify;
mod completions;
mod dedup;
mod demo;
mod info;
mod man;
mod merge;
mod plan;
mod query;
mod reads;
mod remove;
mod verify;

pub(crate) use build::growing;
pub(crate) use demo::Measured;

use anyhow::Result;

use crate::cli::{Command, MOST_THREADS};

/// How a subcommand ended, if not with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was done; for `query`, something matched.
    Done,
    /// `query` found nothing.
    Nothing,
    /// Something failed, and has been reported.
    Failed,
}

/// Runs a subcommand.
pub(crate) fn run(command: &Command) -> Result<Outcome> {
    match command {
        Command::Demo(args) => demo::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Build(args) => build::run(args),
        Command::Query(args) => query::run(args),
        Command::Add(args) => add::run(args),
        Command::Remove(args) => remove::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Info(args) => info::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Dedup(args) => dedup::run(args),
        Command::Reads(args) => reads::run(args),
        Command::Classify(args) => classify::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// Returns the requested number of threads, or the number of cores.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(|| cores().min(MOST_THREADS))
}
