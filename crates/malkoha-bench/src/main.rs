//! `malkoha-bench`: measures what filters cost, beside what the machine allows.
//!
//! ```text
//! cargo run --release -p malkoha-bench -- limits
//! cargo run --release -p malkoha-bench -- speed --quick --peers
//! cargo run --release -p malkoha-bench -- rates --sizes l2
//! cargo run --release -p malkoha-bench -- scale
//! cargo run --release -p malkoha-bench -- growth --quick
//! cargo run --release -p malkoha-bench -- threads --quick
//! cargo run --release -p malkoha-bench -- store
//! ```

mod access;
mod cli;
mod contestants;
mod flow;
mod growth;
mod limits;
mod measure;
mod memory;
mod operation;
mod papers;
mod race;
mod rates;
mod record;
mod scale;
mod speed;
mod store;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod threads;
mod typed;
mod wish;

use std::error::Error;
use std::io::{self, Write};

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::record::{Origin, Record};
use crate::table::Table;

#[global_allocator]
static ALLOCATOR: memory::Pages = memory::Pages;

fn main() -> Result<(), Box<dyn Error>> {
    let cli = Cli::parse();
    match cli.command {
        Command::Tables(args) => return tables::run(args.check),
        Command::All(args) => return papers::run(&args),
        _ => {}
    }
    let origin = Origin::here();
    let (shown, recorded) = match cli.command {
        Command::Limits(args) => alike(limits::run(&args)),
        Command::Speed(args) => {
            let results = speed::run(&speed::settled(args))?;
            (speed::summary(&results), speed::table(&results))
        }
        Command::Rates(args) => {
            let recorded = rates::table(&rates::run(&args)?, args.strangers);
            (tables::rates::tables(&Record::of(&recorded, &origin)?), recorded)
        }
        Command::Scale(args) => alike(scale::run(&args)?),
        Command::Growth(args) => {
            let recorded = growth::run(&args)?;
            (tables::growth::tables(&Record::of(&recorded, &origin)?), recorded)
        }
        Command::Threads(args) => {
            let recorded = threads::run(&args)?;
            (tables::threads::tables(&Record::of(&recorded, &origin)?), recorded)
        }
        Command::Tables(_) | Command::All(_) => unreachable!("dealt with above"),
        Command::Store(args) => alike(store::run(&args)?),
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{origin}")?;
    for table in shown {
        writeln!(out, "{table}")?;
    }
    if let Some(name) = cli.record {
        let path = record::write(&record::committed(), &name, &recorded, &origin)?;
        eprintln!("recorded in {}", path.display());
    }
    Ok(())
}

/// A table that people and programs both read.
fn alike(table: Table) -> (Vec<Table>, Table) {
    (vec![table.clone()], table)
}
