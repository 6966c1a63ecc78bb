//! Runs every subcommand at a tiny size. No test depends on times.

use std::{env, fs, process};

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::contestants::Way;
use crate::operation::Operation;
use crate::record::Origin;
use crate::table::{Cell, Table};
use crate::tables::{Folders, documents};
use crate::{growth, limits, rates, record, scale, speed, store};

fn command(line: &str) -> Command {
    Cli::try_parse_from(line.split_whitespace()).unwrap().command
}

fn column(table: &Table, name: &str) -> Vec<Cell> {
    let at = table.columns.iter().position(|column| column == name).unwrap();
    table.rows.iter().map(|row| row[at].clone()).collect()
}

fn number(cell: &Cell) -> f64 {
    cell.exact().parse().unwrap_or(f64::NAN)
}

#[test]
fn limits_measure_everything_everywhere() {
    let Command::Limits(args) = command("bench limits --mib 1,4 --keys 1000 --repeats 2") else { panic!() };
    let table = limits::run(&args);
    let limits_per_measurement = 4 + 6;
    assert_eq!(table.rows.len(), limits_per_measurement * 2 * 2 * 2);
    assert!(column(&table, "median").iter().all(|cell| number(cell) > 0.0));
    for (pages, share) in column(&table, "pages").iter().zip(column(&table, "on 2 MiB")) {
        assert!(*pages == Cell::text("2 MiB") || number(&share).abs() < 1e-9, "small pages are small");
    }
}

#[test]
fn speed_loses_no_key_and_meets_the_rate() {
    let line = "bench speed --sizes 2^13 --kinds all --peers --repeats 2 --fills 1 --queries 2000 --strangers 400000";
    let Command::Speed(args) = command(&format!("{line} --threads 2")) else { panic!() };
    let standings = speed::run(&args).unwrap();
    assert_eq!(standings.len(), malkoha::Kind::all().count() + malkoha_bench_peers::all().len());
    for standing in &standings {
        assert!(standing.rate < 0.04, "{} has a rate of {}", standing.name, standing.rate);
        if standing.rate > 0.0 {
            assert!(standing.overhead() > 1.0, "{} beats the information limit", standing.name);
        }
        let finds = |outcome: &&crate::race::Outcome| matches!(outcome.operation, Operation::Find { .. });
        assert!(standing.outcomes.iter().filter(finds).count() >= 3, "{}", standing.name);
    }
    let rows: usize = standings.iter().map(|standing| standing.outcomes.len()).sum();
    assert_eq!(speed::table(&standings).rows.len(), rows);
    assert_eq!(speed::summary(&standings).len(), 2);
}

#[test]
fn a_small_memory_makes_several_groups() {
    let line = "bench speed --sizes 2^13 --kinds sorted,flexible --repeats 1 --queries 500 --strangers 1000";
    let Command::Speed(args) = command(&format!("{line} --memory 0.00001 --finds-only")) else { panic!() };
    let standings = speed::run(&args).unwrap();
    assert_eq!(
        standings.iter().map(|standing| &standing.name[..]).collect::<Vec<_>>(),
        ["sorted@14", "flexible:4@13"]
    );
}

#[test]
fn typed_filters_race_beside_the_others() {
    let line =
        "bench speed --sizes 2^13 --kinds flexible:4,flexible:4+typed,blocked:1@8+spread+typed --repeats 2";
    let Command::Speed(args) = command(&format!("{line} --queries 2000 --strangers 1000 --threads 2")) else {
        panic!()
    };
    for standing in speed::run(&args).unwrap() {
        let slices = Operation::Find { way: Way::Slice, percent: 50, threads: 1 };
        let single = Operation::Find { way: Way::OneByOne, percent: 50, threads: 1 };
        assert!(standing.outcome(single).is_some(), "{}", standing.name);
        assert_eq!(
            standing.outcome(slices).is_none(),
            standing.name.ends_with("+typed"),
            "{}",
            standing.name
        );
        let removes = standing.outcome(Operation::Remove).is_some();
        assert_eq!(removes, standing.name.starts_with("flexible"), "{}", standing.name);
    }
}

const RATES: &str = "bench rates --sizes 2^13 --repeats 2 --queries 2000 --strangers 200000";

#[test]
fn every_rate_is_asked_of_every_filter_that_can_have_it() {
    let Command::Rates(args) = command(RATES) else { panic!() };
    let all = rates::run(&args).unwrap();
    let ours = args.kinds.len() * args.rates.len();
    assert_eq!(
        all.len(),
        ours + 3 * args.rates.len() + 6 + 3,
        "three peers take any rate, one six, three have one"
    );
    for rates::Priced { asked, standing } in &all {
        let (name, share) = (&standing.name, standing.bytes as f64 / f64::from(1 << 14));
        // Four standard deviations of what 200000 strangers find, plus some for small tables, which vary
        // more.
        assert!(
            standing.rate <= 1.2 * asked + 4.0 * (asked / 2e5).sqrt(),
            "{name} at {asked}: {}",
            standing.rate
        );
        let range = if name == "qfilter" { 0.7..1.45 } else { 0.9..1.15 };
        assert!(range.contains(&share), "{name} at {asked} has {share} of the bytes");
        assert!(standing.outcome(Operation::Remove).is_none());
    }
}

#[test]
fn a_record_of_rates_reads_back_as_the_chapter() {
    let Command::Rates(args) = command(&format!("{RATES} --rates 5%,1e-4")) else { panic!() };
    let table = rates::table(&rates::run(&args).unwrap(), args.strangers);
    let folder = env::temp_dir().join(format!("malkoha-bench-rates-{}", process::id()));
    let folders = Folders { records: folder.join("records"), docs: folder.clone() };
    record::write(&folders.records, "rates-cache", &table, &Origin::here()).unwrap();
    let documents = documents(&folders).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let [(figure, svg), (_, text)] = &documents[..] else { panic!("a figure and a text") };
    assert!(figure.ends_with("figures/rates-cache.svg") && svg.contains("flexible:4+typed"));
    assert!(text.contains("## What a rate costs") && text.contains("| filter | 5 % | 1e-4 |"), "{text}");
    for name in ["sorted", "flexible:4+load0.95", "blocked:1+spread+typed", "cuckoofilter", "xorf fuse16"] {
        assert!(text.contains(&format!("| {name} | ")), "{name} is in no table");
    }
}

#[test]
fn filters_of_rates_have_no_rate_of_their_own() {
    assert!(Cli::try_parse_from(["bench", "rates", "--kinds", "sorted@14"]).is_err());
    assert!(Cli::try_parse_from(["bench", "rates", "--rates", "0"]).is_err());
}

#[test]
fn scale_says_where_it_stops() {
    let line =
        "bench scale --kinds sorted,windowed:2 --keys 1000,20000 --repeats 2 --memory 0.00001 --queries 1000";
    let Command::Scale(args) = command(line) else { panic!() };
    let table = scale::run(&args).unwrap();
    assert_eq!(table.rows.len(), 8);
    for (keys, cost) in column(&table, "keys").iter().zip(column(&table, "ns/key")) {
        assert_eq!(*keys == Cell::Count(20_000), cost == Cell::Missing, "only the large ones are left out");
    }
    for (built, found) in column(&table, "ns/key").iter().zip(column(&table, "find ns/key")) {
        assert_eq!(number(built) > 0.0, number(&found) > 0.0, "what was built was asked");
    }
}

#[test]
fn a_record_of_growth_reads_back_as_the_chapter() {
    let line = "bench growth --keys 20000 --speeds 3000,5000 --merged 100,2000 --parts 7 --repeats 2 --queries 2000 \
                --strangers 50000";
    let Command::Growth(args) = command(line) else { panic!() };
    let table = growth::run(&args).unwrap();
    let folder = env::temp_dir().join(format!("malkoha-bench-growth-{}", process::id()));
    let folders = Folders { records: folder.join("records"), docs: folder.clone() };
    record::write(&folders.records, "growth", &table, &Origin::here()).unwrap();
    let documents = documents(&folders).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let [(figure, svg), (_, text)] = &documents[..] else { panic!("a figure and a text") };
    assert!(figure.ends_with("figures/growth.svg") && svg.contains("chain"));
    for row in ["| 1000 | ", "| 3000 | find in slices | ", "| 5000 | bulk | ", "| merged | "] {
        assert!(text.contains(row), "{row} is in no table: {text}");
    }
    assert!(!text.contains("NaN"), "{text}");
    let equal = text.lines().filter(|line| line.contains("| find ") && line.starts_with("| "));
    let missing: Vec<_> = equal.filter(|line| line.ends_with(" - |")).collect();
    assert!(missing.is_empty(), "lookups beside a planned filter of equal bytes: {missing:?}");
    let bad = command("bench growth --merged 5");
    let Command::Growth(args) = bad else { panic!() };
    assert!(growth::run(&args).is_err());
}

#[test]
fn quick_is_small() {
    let Command::Speed(args) = command("bench speed --quick") else { panic!() };
    let args = speed::settled(args);
    assert_eq!(args.kinds.len(), 4);
    assert!(args.sizes.iter().all(|size| size.0 <= 1 << 24));
    assert_eq!(args.fills, Some(1));
}

#[test]
fn keeping_filters_is_measured_in_every_way() {
    let Command::Store(args) = command("bench store --keys 20000 --repeats 2") else { panic!() };
    let table = store::run(&args).unwrap();
    assert_eq!(table.rows.len(), store::WAYS.len() * 5);
    assert!(column(&table, "MB/s").iter().all(|cell| number(cell) > 0.0));
    assert!(column(&table, "share").iter().all(|cell| number(cell) > 0.0));
}
