//! Throughput of the layouts, measured by the race of `speed`.

use std::error::Error;

use clap::Parser;

use super::layouts::Layout;
use crate::cli::{Cli, Command};
use crate::operation::Operation;
use crate::race::Standing;
use crate::speed;

/// Races layouts at rate 2^-k, with the arguments of `speed`.
pub(super) fn run(
    layouts: &[Layout],
    k: u32,
    arguments: &str,
) -> Result<Vec<(Layout, Standing)>, Box<dyn Error>> {
    let kinds: Vec<String> = layouts.iter().map(|layout| layout.choice(k)).collect();
    let line = format!("malkoha-bench speed --kinds {} {arguments}", kinds.join(","));
    let Command::Speed(args) = Cli::try_parse_from(line.split_whitespace())?.command else {
        return Err("these are the arguments of speed".into());
    };
    let standings = speed::run(&args)?;
    let layout =
        |standing: &Standing| layouts.iter().find(|layout| layout.choice(k) == standing.name).copied();
    Ok(standings
        .into_iter()
        .filter_map(|standing| layout(&standing).map(|layout| (layout, standing)))
        .collect())
}

/// Returns million keys per second, the median of the turns.
pub(super) fn speed(standing: &Standing, operation: Operation) -> f64 {
    standing.outcome(operation).map_or(f64::NAN, |outcome| outcome.speeds.median())
}
