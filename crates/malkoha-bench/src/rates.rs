//! `rates`: what a rate costs. Every filter at every rate, in tables of equal bytes, beside the limit of the
//! machine.
//!
//! All filters of a rate are measured in the same turns, and so are all rates, as far as their tables fit in
//! memory together. How many keys a table holds follows from the rate. Half of the keys looked up are
//! present. Our filters are queried one by one and in slices; peers, and our filters through their own types,
//! only one by one: no peer has a call for slices.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::cli::RatesArgs;
use crate::contestants::{Entry, Size, Way, groups};
use crate::memory::use_pages;
use crate::race::{Course, Race, Standing};
use crate::speed;
use crate::table::{Cell, Table};
use crate::wish::Choice;

/// Per cent of the keys looked up that are present.
pub(crate) const PRESENT: u64 = 50;

/// A rate of false positives, as people write it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Rate(pub(crate) f64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
            None => text.parse(),
        };
        rate.ok()
            .filter(|rate| *rate > 0.0 && *rate < 1.0)
            .map(Self)
            .ok_or_else(|| format!("{text:?} is not a rate; write one between 0 and 1, such as 0.1% or 1e-6"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&if self.0 < 1e-3 {
            format!("{:e}", self.0)
        } else {
            // Ten digits, so that 5 percent is not 5.000000000000001.
            format!("{} %", (self.0 * 1e12).round() / 1e10)
        })
    }
}

/// Parses a filter for this command: a kind with options, but without a rate.
pub(crate) fn without_rate(text: &str) -> Result<Choice, String> {
    if text.contains('@') {
        return Err("rates are given by --rates; leave out @ and what follows".to_owned());
    }
    text.parse()
}

/// A filter at the requested rate.
#[derive(Clone, Debug)]
pub(crate) struct Priced {
    pub(crate) asked: f64,
    pub(crate) standing: Standing,
}

impl From<&RatesArgs> for Course {
    fn from(args: &RatesArgs) -> Self {
        let fills = args.fills.unwrap_or(args.repeats);
        Self {
            fill_by: vec![Way::OneByOne],
            fills,
            peer_fills: fills,
            repeats: args.repeats,
            present: vec![PRESENT],
            queries: args.queries,
            strangers: args.strangers,
            threads: 1,
            finds_only: false,
            removes: false,
        }
    }
}

/// Measures everything.
pub(crate) fn run(args: &RatesArgs) -> Result<Vec<Priced>, Box<dyn Error>> {
    use_pages(args.pages);
    let course = Course::from(args);
    let mut all = Vec::new();
    for size in &args.sizes {
        for group in groups(entries(args, *size)?, *size, args.memory) {
            eprintln!("rates: {} slots, {} filters on {} pages", size.0, group.len(), args.pages);
            let standings = Race::new(&course, *size, &group)?.run()?;
            all.extend(group.iter().zip(standings).map(|(entry, standing)| Priced {
                asked: entry.rate(),
                standing: Standing { name: entry.name_at_any_rate(), ..standing },
            }));
        }
    }
    Ok(all)
}

/// Returns the filters of each rate, the highest rate first.
fn entries(args: &RatesArgs, size: Size) -> Result<Vec<Vec<Entry>>, Box<dyn Error>> {
    let mut rates: Vec<f64> = args.rates.iter().map(|rate| rate.0).collect();
    rates.sort_by(|a, b| b.total_cmp(a));
    rates.dedup();
    let wishes = Choice::expand(&args.kinds);
    let peers = if args.no_peers { Vec::new() } else { malkoha_bench_peers::at_rates() };
    let of_rate = |rate: f64| {
        let ours = wishes.iter().map(|wish| {
            let wish = wish.at_rate(rate);
            Entry::ours(wish, size).map_err(|error| format!("{wish}: {error}"))
        });
        let theirs = peers.iter().filter(|offer| offer.rates_among(&rates).contains(&rate));
        let theirs = theirs.map(|offer| Ok(Entry::peer_at_rate(*offer, rate, size)));
        Ok(ours.chain(theirs).collect::<Result<_, String>>()?)
    };
    rates.iter().map(|rate| of_rate(*rate)).collect()
}

/// Returns one row for each operation of each filter at each rate, for the record. The number of strangers
/// shows which of the measured rates are more than luck.
pub(crate) fn table(all: &[Priced], strangers: usize) -> Table {
    let mut table = Table::new("rates", &[]);
    for Priced { asked, standing } in all {
        let rows = speed::table(std::slice::from_ref(standing));
        table.columns = [vec!["asked".to_owned(), "strangers".to_owned()], rows.columns].concat();
        for row in rows.rows {
            table.push([vec![Cell::Rate(*asked), Cell::Count(strangers as u64)], row].concat());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_written_as_people_do() {
        for (text, rate, shown) in [
            ("10%", 0.1, "10 %"),
            ("5 %", 0.05, "5 %"),
            ("0.01", 0.01, "1 %"),
            ("0.1%", 0.001, "0.1 %"),
            ("1e-4", 1e-4, "1e-4"),
            ("0.000000001", 1e-9, "1e-9"),
        ] {
            let read: Rate = text.parse().unwrap();
            assert!((read.0 / rate - 1.0).abs() < 1e-12, "{text}");
            assert_eq!(read.to_string(), shown);
        }
        for text in ["", "%", "0", "100%", "1", "-1e-3", "rare"] {
            assert!(text.parse::<Rate>().is_err(), "{text:?}");
        }
    }
}
