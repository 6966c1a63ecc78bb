//! `malkoha man`: the manual, generated from the declarations of the arguments.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::cmd::Outcome;
use crate::output::Output;

/// Runs the subcommand: all of the manual as one page, or pages that refer to each other in a folder.
pub(crate) fn run(args: &ManArgs) -> Result<Outcome> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    if let Some(folder) = &args.out {
        write_pages(&command, folder).with_context(|| {
            format!("cannot write the manual to {}; give another --out", folder.display())
        })?;
        return Ok(Outcome::Done);
    }
    let mut out = Output::new();
    out.write(&page(&command)?)?;
    out.finish()?;
    Ok(Outcome::Done)
}

/// Returns the page of the program, followed by the options of every subcommand. It refers to no other page.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let (man, mut page) = (Man::new(command.clone()), Vec::new());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for sub in command.get_subcommands() {
        let heading = format!("malkoha {}", sub.get_name());
        writeln!(page, ".SH {}", heading.to_uppercase())?;
        let man = Man::new(sub.clone().bin_name(heading));
        // As paragraphs under one heading: a section of its own for each would not say which command it belongs to.
        let mut text = Vec::new();
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
        let text =
            String::from_utf8_lossy(&text).replace(".SH DESCRIPTION\n", "").replace(".SH OPTIONS\n", ".PP\n");
        page.extend(text.bytes());
    }
    man.render_extra_section(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// Writes a page for the program and one for each subcommand.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let write = |name: &str, command: Command| {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        fs::write(folder.join(format!("{name}.1")), page)
    };
    write("malkoha", command.clone())?;
    command.get_subcommands().try_for_each(|sub| write(&format!("malkoha-{}", sub.get_name()), sub.clone()))
}
