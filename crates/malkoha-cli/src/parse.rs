//! Arguments, or what clap says about them: help like any other output, errors like any other error.

use std::io::{self, IsTerminal};

use anyhow::Result;
use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::cmd::Outcome;
use crate::message::say;
use crate::output::Output;
use crate::width;

/// Parses the arguments. If there is nothing to run, the answer has been given.
pub(crate) fn arguments() -> Result<Result<Cli, Outcome>> {
    let error = match Cli::try_parse() {
        Ok(cli) => return Ok(Ok(cli)),
        Err(error) => error,
    };
    let said = error.render();
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let terminal = if asked_for { io::stdout().is_terminal() } else { io::stderr().is_terminal() };
    let plain = !terminal || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let said = if plain { said.to_string() } else { said.ansi().to_string() };
    if asked_for {
        let mut out = Output::new();
        out.write(said.as_bytes())?;
        out.finish()?;
        return Ok(Err(Outcome::Done));
    }
    // All errors begin with the name of the program.
    let said = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        said
    } else {
        said.replacen("error:", "malkoha:", 1)
    };
    let width = width::of_errors().unwrap_or(usize::MAX);
    let lines: Vec<_> = said.trim_end().lines().flat_map(|line| width::wrapped(line, width)).collect();
    say(lines.join("\n"));
    Ok(Err(Outcome::Failed))
}
