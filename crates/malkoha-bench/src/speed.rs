//! `speed`: every filter at every size, beside the limit of the machine.

use std::error::Error;

use crate::access::Access;
use crate::cli::SpeedArgs;
use crate::contestants::{Entry, Size, groups};
use crate::memory::use_pages;
use crate::operation::Operation;
use crate::race::{Course, Outcome, Race, Standing};
use crate::table::{Cell, Table};
use crate::wish::Choice;

/// Returns the arguments with `--quick` applied.
pub(crate) fn settled(mut args: SpeedArgs) -> SpeedArgs {
    if args.quick {
        args.kinds.truncate(4);
        for size in &mut args.sizes {
            size.0 = size.0.min(1 << 24);
        }
        args.repeats = args.repeats.min(3);
        args.fills = Some(1);
        args.queries = args.queries.min(1 << 20);
        args.strangers = args.strangers.min(1 << 22);
    }
    args
}

impl From<&SpeedArgs> for Course {
    fn from(args: &SpeedArgs) -> Self {
        Self {
            fill_by: args.fill_by.clone(),
            fills: args.fills.unwrap_or(args.repeats),
            // Peers take longest.
            peer_fills: 1,
            repeats: args.repeats,
            present: args.present.clone(),
            queries: args.queries,
            strangers: args.strangers,
            threads: args.threads,
            finds_only: args.finds_only,
            removes: true,
        }
    }
}

/// Measures everything.
pub(crate) fn run(args: &SpeedArgs) -> Result<Vec<Standing>, Box<dyn Error>> {
    use_pages(args.pages);
    let course = Course::from(args);
    let mut standings = Vec::new();
    for size in &args.sizes {
        let each = entries(args, *size)?.into_iter().map(|entry| vec![entry]).collect();
        for group in groups(each, *size, args.memory) {
            eprintln!("speed: {} slots, {} filters on {} pages", size.0, group.len(), args.pages);
            standings.extend(Race::new(&course, *size, &group)?.run()?);
        }
    }
    Ok(standings)
}

fn entries(args: &SpeedArgs, size: Size) -> Result<Vec<Entry>, Box<dyn Error>> {
    let ours = Choice::expand(&args.kinds).into_iter().map(|wish| Entry::ours(wish, size));
    let mut entries = ours.collect::<Result<Vec<_>, _>>()?;
    if args.peers {
        entries.extend(malkoha_bench_peers::all().into_iter().map(|offer| Entry::peer(offer, size)));
    }
    Ok(entries)
}

/// Returns one row for each operation of each filter, for the record.
pub(crate) fn table(standings: &[Standing]) -> Table {
    let mut table = Table::new(
        "speed",
        &[
            "slots",
            "filter",
            "keys",
            "bits_per_key",
            "rate",
            "C",
            "operation",
            "threads",
            "mkeys_per_s",
            "mkeys_per_s_best",
            "limit",
            "limit_mkeys_per_s",
            "fraction",
        ],
    );
    for standing in standings {
        for outcome in &standing.outcomes {
            table.push(vec![
                Cell::Count(standing.size.0),
                Cell::text(&standing.name),
                Cell::Count(standing.keys),
                Cell::number(standing.bits_per_key(), 2),
                Cell::Rate(standing.rate),
                Cell::number(standing.overhead(), 3),
                Cell::text(outcome.operation),
                Cell::Count(outcome.operation.threads() as u64),
                Cell::number(outcome.speeds.median(), 1),
                Cell::number(outcome.speeds.best(), 1),
                Cell::text(outcome.limit),
                Cell::number(outcome.limits.median(), 1),
                Cell::number(fraction(outcome), 2),
            ]);
        }
    }
    table
}

/// Returns the median over turns of the fraction of the limit.
fn fraction(outcome: &Outcome) -> f64 {
    outcome.speeds.over(&outcome.limits).median()
}

/// Returns two tables for each size, for people: million keys per second, and fractions of the limit.
pub(crate) fn summary(standings: &[Standing]) -> Vec<Table> {
    let mut sizes: Vec<Size> = Vec::new();
    for standing in standings {
        if !sizes.contains(&standing.size) {
            sizes.push(standing.size);
        }
    }
    let of = |size: Size| standings.iter().filter(|standing| standing.size == size).collect::<Vec<_>>();
    sizes.into_iter().flat_map(|size| [speeds(size, &of(size)), fractions(size, &of(size))]).collect()
}

fn operations(standings: &[&Standing]) -> Vec<Operation> {
    let mut operations = Vec::new();
    for outcome in standings.iter().flat_map(|standing| &standing.outcomes) {
        if !operations.contains(&outcome.operation) {
            operations.push(outcome.operation);
        }
    }
    operations.sort_by_key(|operation| operation.order());
    operations
}

fn heads(first: &[&str], operations: &[Operation]) -> Vec<String> {
    first.iter().map(ToString::to_string).chain(operations.iter().map(ToString::to_string)).collect()
}

fn speeds(size: Size, standings: &[&Standing]) -> Table {
    let operations = operations(standings);
    let mut table = Table::new(
        format!("{} slots: million keys per second, medians ([] slices, find N: N % present)", size.0),
        &[],
    );
    table.columns = heads(&["filter", "bits/key", "rate", "C"], &operations);
    for standing in standings {
        let speed = |operation: &Operation| {
            Cell::number(standing.outcome(*operation).map_or(f64::NAN, |outcome| outcome.speeds.median()), 1)
        };
        let mut row = vec![
            Cell::text(&standing.name),
            Cell::number(standing.bits_per_key(), 2),
            Cell::Rate(standing.rate),
            Cell::number(standing.overhead(), 3),
        ];
        row.extend(operations.iter().map(speed));
        table.push(row);
    }
    for access in [Access::OneLine, Access::TwoLines, Access::Modify] {
        let limit = |operation: &Operation| {
            let all = standings.iter().filter_map(|standing| standing.outcome(*operation));
            let limit = all.into_iter().find(|outcome| outcome.limit == access);
            Cell::number(limit.map_or(f64::NAN, |outcome| outcome.limits.median()), 1)
        };
        let limits: Vec<Cell> = operations.iter().map(limit).collect();
        if limits.iter().any(|cell| *cell != Cell::Missing) {
            let mut row =
                vec![Cell::text(format!("limit: {access}")), Cell::Missing, Cell::Missing, Cell::Missing];
            row.extend(limits);
            table.push(row);
        }
    }
    table
}

fn fractions(size: Size, standings: &[&Standing]) -> Table {
    let operations = operations(standings);
    let mut table = Table::new(format!("{} slots: fractions of the limit, medians over turns", size.0), &[]);
    table.columns = heads(&["filter"], &operations);
    for standing in standings {
        let share =
            |operation: &Operation| Cell::number(standing.outcome(*operation).map_or(f64::NAN, fraction), 2);
        let name = [Cell::text(&standing.name)];
        table.push(name.into_iter().chain(operations.iter().map(share)).collect());
    }
    table
}
