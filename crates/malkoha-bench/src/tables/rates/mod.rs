//! The chapter on rates: what a lookup, an insert and a key cost at the rates that people use.

mod figure;

use std::error::Error;
use std::fmt::Write as _;

use malkoha::Kind;

use crate::contestants::Way;
use crate::operation::Operation;
use crate::rates::{PRESENT, Rate};
use crate::record::{Record, Row};
use crate::table::{Cell, Table};
use crate::tables::{Document, Folders, distinct, markdown, origin};

/// The records of this chapter, and what their sections are called.
const RECORDS: [(&str, &str); 2] =
    [("rates-cache", "Tables in the second-level cache"), ("rates-memory", "Tables of 256 MB")];

const HEAD: &str = "\
## What a rate costs

One thread. All tables of a section take about the same number of bytes, so a lower rate means fewer keys. Only \
`qfilter` can be up to 1.4 times larger or smaller, because its number of slots is a power of two. Half of the keys \
looked up are present. `+typed` is the same filter used through its own type instead of `Filter`. A filter that has \
only one rate is listed under the lowest rate that it meets.

";

const LEGEND: &str = "Lines with dots are our filters: solid for slices, dashed for keys one by one. Dashed \
                      lines without dots are the same filters through their own types, and rings are filters \
                      by other authors; both are queried one key at a time.";

/// A rate is not shown if fewer false positives than this were counted.
const FEWEST_COUNTED: f64 = 10.0;

/// Returns the chapter and its figures; both are empty if none of its runs was made.
pub(super) fn chapter(folders: &Folders) -> Result<(String, Vec<Document>), Box<dyn Error>> {
    let (mut text, mut figures) = (String::new(), Vec::new());
    for (name, title) in RECORDS {
        if !folders.records.join(name).with_extension("csv").exists() {
            continue;
        }
        let record = Record::read(&folders.records, name)?;
        text.extend(["### ", title, "\n\n", &origin(&record, record.fact("parameters"))]);
        let [view] = &View::all(&record)[..] else {
            return Err(format!("{name} has several sizes; record each by a run of its own").into());
        };
        let file = format!("{name}.svg");
        let _ = write!(text, "![{title}: lookups per second by rate](figures/{file})\n\n{LEGEND}\n\n");
        figures.push((folders.docs.join("figures").join(file), view.figure().draw()));
        for table in view.tables() {
            text.extend([&table.title[..], ":\n\n", &markdown(&table)]);
        }
    }
    if !text.is_empty() {
        text.insert_str(0, HEAD);
    }
    Ok((text, figures))
}

/// Returns the tables of a run that people read.
pub(crate) fn tables(record: &Record) -> Vec<Table> {
    let of_size = |view: &View<'_>| {
        let title = |table: Table| Table { title: format!("{} slots: {}", view.slots, table.title), ..table };
        view.tables().into_iter().map(title).collect::<Vec<_>>()
    };
    View::all(record).iter().flat_map(of_size).collect()
}

/// The rows of one size.
struct View<'a> {
    slots: &'a str,
    rows: Vec<Row<'a>>,
    filters: Vec<&'a str>,
    /// As the record has them, the highest first.
    rates: Vec<&'a str>,
}

impl<'a> View<'a> {
    /// Returns one view for each size of a record.
    fn all(record: &'a Record) -> Vec<Self> {
        let of_size = |slots: &'a str| {
            let rows: Vec<_> = record.rows().filter(|row| row.is("slots", slots)).collect();
            let mut rates = distinct(rows.iter().copied(), "asked");
            rates.sort_by(|a, b| number(b).total_cmp(&number(a)));
            let mut filters = distinct(rows.iter().copied(), "filter");
            filters.sort_by_key(|filter| place_among_peers(filter));
            Self { slots, rows, filters, rates }
        };
        distinct(record.rows(), "slots").into_iter().map(of_size).collect()
    }

    /// Returns the row of a filter at a rate, if it was measured.
    fn row(&self, filter: &str, rate: &str, operation: &str) -> Option<&Row<'a>> {
        self.rows.iter().find(|row| {
            row.text("filter") == filter && row.text("asked") == rate && row.text("operation") == operation
        })
    }

    fn tables(&self) -> Vec<Table> {
        let finds = |filter: &str, rate: &str, column: &str| {
            let ways = [one_by_one(), slices()].map(|operation| self.row(filter, rate, &operation));
            let ways = ways.iter().flatten().map(|row| short(row.number(column)));
            ways.collect::<Vec<_>>().join(" / ")
        };
        let size = |filter: &str, rate: &str| {
            self.row(filter, rate, &one_by_one()).map_or(String::new(), |row| {
                let (bits, measured) = (row.number("bits_per_key"), row.number("rate"));
                let counted = measured * row.number("strangers") >= FEWEST_COUNTED;
                if counted { format!("{bits:.2} ({measured:.1e})") } else { format!("{bits:.2}") }
            })
        };
        let inserts = |filter: &str, rate: &str| {
            self.row(filter, rate, "insert").map_or(String::new(), |row| short(row.number("mkeys_per_s")))
        };
        let asked: Vec<&str> = self.filters.iter().copied().filter(|filter| !is_loaded(filter)).collect();
        vec![
            self.pivot(
                "Million lookups per second, one by one / in slices",
                &asked,
                |filter, rate| finds(filter, rate, "mkeys_per_s"),
            ),
            self.pivot(
                "The same as shares of what the machine allows: random lines for filters that read one line \
                 per key, random pairs of lines for the others",
                &asked,
                |filter, rate| finds(filter, rate, "fraction"),
            ),
            self.pivot(
                "Bits per key, and in brackets the measured rate where there were enough false positives to count",
                &asked,
                size,
            ),
            self.pivot(
                "Million inserts per second, one by one, until the table reaches its planned load. `+load0.95` \
                 stops at a load of 0.95, as `cuckoofilter` does",
                &self.filters,
                inserts,
            ),
        ]
    }

    /// Tabulates filters by rates. Filters without any value are left out.
    fn pivot(&self, title: &str, filters: &[&str], cell: impl Fn(&str, &str) -> String) -> Table {
        let mut table = Table::new(title, &["filter"]);
        table.columns.extend(self.rates.iter().map(|rate| Rate(number(rate)).to_string()));
        for filter in filters {
            let cells: Vec<_> = self.rates.iter().map(|rate| cell(filter, rate)).collect();
            if cells.iter().any(|text| !text.is_empty()) {
                let cells = cells.into_iter().map(|text| match &text[..] {
                    "" => Cell::Missing,
                    _ => Cell::Text(text),
                });
                table.push([Cell::text(filter)].into_iter().chain(cells).collect());
            }
        }
        table
    }
}

/// Returns the name of the operation in records.
fn one_by_one() -> String {
    Operation::Find { way: Way::OneByOne, percent: PRESENT, threads: 1 }.to_string()
}

fn slices() -> String {
    Operation::Find { way: Way::Slice, percent: PRESENT, threads: 1 }.to_string()
}

/// Returns the kind of one of our filters, or `None` for a peer.
fn kind(filter: &str) -> Option<Kind> {
    filter.split('+').next()?.parse().ok()
}

/// Returns the sort key of a filter: ours first, in record order, then peers in the order of their crate.
fn place_among_peers(filter: &str) -> usize {
    let peers = malkoha_bench_peers::at_rates();
    peers.iter().position(|offer| offer.name == filter).map_or(0, |at| at + 1)
}

/// Returns whether a filter is measured for its inserts only. Its lookups are those at the planned load.
fn is_loaded(filter: &str) -> bool {
    filter.contains("+load")
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// Formats a number with three digits.
fn short(number: f64) -> String {
    let decimals = match number {
        _ if number < 10.0 => 2,
        _ if number < 100.0 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Origin;

    /// Two of ours, one of them filled less, and a peer with one rate.
    fn made_up(sizes: &[u64]) -> Record {
        let columns = [
            "asked",
            "strangers",
            "slots",
            "filter",
            "bits_per_key",
            "rate",
            "operation",
            "mkeys_per_s",
            "fraction",
        ];
        let mut table = Table::new("", &columns);
        let rows = [
            (0.01, "sorted", 9.37, 0.008, "insert", 12.34, 0.1),
            (0.01, "sorted", 9.37, 0.008, "find 50", 99.5, 0.25),
            (0.01, "sorted", 9.37, 0.008, "find[] 50", 199.5, 0.5),
            (1e-9, "sorted", 33.31, 1e-4, "find 50", 9.876, 0.2),
            (0.01, "sorted+load0.9", 10.0, 0.008, "insert", 20.0, 0.1),
            (0.01, "sorted+load0.9", 10.0, 0.008, "find 50", 1.0, 0.1),
            (0.01, "xorf fuse8", 9.0, 0.0039, "find 50", 230.0, 0.4),
        ];
        for slots in sizes {
            for (asked, filter, bits, rate, operation, speed, fraction) in rows {
                table.push(vec![
                    Cell::Rate(asked),
                    Cell::Count(10_000),
                    Cell::Count(*slots),
                    Cell::text(filter),
                    Cell::number(bits, 2),
                    Cell::Rate(rate),
                    Cell::text(operation),
                    Cell::number(speed, 1),
                    Cell::number(fraction, 2),
                ]);
            }
        }
        Record::of(&table, &Origin::here()).unwrap()
    }

    #[test]
    fn cells_have_both_ways_where_there_are_both() {
        let record = made_up(&[1 << 18]);
        let shown: Vec<String> = tables(&record).iter().map(markdown).collect();
        let head = "| filter | 1 % | 1e-9 |\n| --- | --- | --- |\n";
        assert_eq!(
            shown,
            [
                format!("{head}| sorted | 99.5 / 200 | 9.88 |\n| xorf fuse8 | 230 | - |\n\n"),
                format!("{head}| sorted | 0.25 / 0.50 | 0.20 |\n| xorf fuse8 | 0.40 | - |\n\n"),
                format!("{head}| sorted | 9.37 (8.0e-3) | 33.31 |\n| xorf fuse8 | 9.00 (3.9e-3) | - |\n\n"),
                format!("{head}| sorted | 12.3 | - |\n| sorted+load0.9 | 20.0 | - |\n\n"),
            ]
        );
        assert_eq!(tables(&made_up(&[1 << 18, 1 << 27])).len(), 8, "each size has its own tables");
    }

    #[test]
    fn figures_tell_ways_and_peers_apart() {
        let record = made_up(&[1 << 18]);
        let svg = View::all(&record)[0].figure().draw();
        for name in ["sorted, slices", "sorted, one by one", "xorf fuse8", "With deletes"] {
            assert_eq!(svg.matches(&format!(">{name}<")).count(), 1, "{name}");
        }
        assert!(!svg.contains("load"), "lookups of filters that are filled less are not drawn");
    }
}
