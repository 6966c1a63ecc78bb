//! `malkoha completions`: prints completions for a shell, generated from the declarations of the arguments.

use anyhow::Result;
use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::cmd::Outcome;
use crate::output::Output;

/// Runs the subcommand.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "malkoha", &mut script);
    let mut out = Output::new();
    out.write(&script)?;
    out.finish()?;
    Ok(Outcome::Done)
}
