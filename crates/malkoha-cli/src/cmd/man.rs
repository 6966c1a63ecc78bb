//! `malkoha man`: prints the manual page, generated from the declarations of the arguments.

use anyhow::Result;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::cmd::Outcome;
use crate::output::Output;

/// Runs the subcommand: the page of the program, followed by the options of every subcommand.
pub(crate) fn run() -> Result<Outcome> {
    let command = Cli::command();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let heading = format!("malkoha {}", sub.get_name());
        page.extend(format!(".SH {}\n", heading.to_uppercase()).bytes());
        let man = Man::new(sub.clone().bin_name(heading));
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    let mut out = Output::new();
    out.write(&page)?;
    out.finish()?;
    Ok(Outcome::Done)
}
