//! `malkoha`: plan, build, query, deduplicate and inspect membership filters.
//!
//! ```text
//! malkoha demo                                    every kind of filter, predicted beside measured
//! malkoha plan --keys 100M --rate 0.1%            what every kind would need
//! malkoha build -o words.malkoha words.txt.gz     a filter of the lines of a file
//! malkoha query words.malkoha candidates.txt      the lines that may be among them
//! ```

mod adjustable;
mod cli;
mod cmd;
mod figure;
mod filling;
mod filter_file;
mod hyperloglog;
mod input;
mod interrupt;
mod key_format;
mod lock;
mod message;
mod needs;
mod output;
mod parse;
mod pipeline;
mod progress;
mod reads;
mod report;
mod seen;
mod table;
mod tally;
mod target;
mod text;
mod units;
mod width;
mod written;

use std::process::ExitCode;

use crate::cmd::Outcome;

fn main() -> ExitCode {
    let ended = interrupt::install().and_then(|()| match parse::arguments()? {
        Ok(cli) => cmd::run(&cli.command),
        Err(outcome) => Ok(outcome),
    });
    match ended {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Nothing) => ExitCode::from(1),
        Ok(Outcome::Failed) => ExitCode::from(2),
        Err(error) => {
            message::note(format_args!("{error:#}"));
            ExitCode::from(2)
        }
    }
}
