//! The chapter on threads: what many of them get of one filter.

use std::error::Error;
use std::fmt::Write as _;

use malkoha_figure::{Curve, Figure, Panel, Scale};

use crate::record::Record;
use crate::table::{Cell, Table};
use crate::threads::LOOKUPS;

use super::speed::Goal;
use super::{Document, Folders, distinct, markdown, origin};

/// The record of this chapter.
const RECORD: &str = "threads";

const HEAD: &str = "\
## Threads

One filter that several threads use: a shared `&Filter`, which nobody can change, beside filters made of shards \
(`Sharded`), which every thread can look up in, insert into and remove from at the same time.

";

/// The filter that everything is compared with, and the one that the goals are for.
const SHARED: &str = "&Filter";
const JUDGED: &str = "sharded 64";

/// Returns the chapter and its figure; both are empty if its run was not made.
pub(super) fn chapter(folders: &Folders) -> Result<(String, Vec<Document>), Box<dyn Error>> {
    if !folders.records.join(RECORD).with_extension("csv").exists() {
        return Ok((String::new(), Vec::new()));
    }
    let record = Record::read(&folders.records, RECORD)?;
    let mut text = HEAD.to_owned() + &origin(&record, record.fact("parameters"));
    let file = format!("{RECORD}.svg");
    let _ = write!(text, "![Million lookups per second over threads](figures/{file})\n\n");
    for table in tables(&record) {
        text.extend([&table.title[..], ":\n\n", &markdown(&table)]);
    }
    Ok((text, vec![(folders.docs.join("figures").join(file), View(&record).figure().draw())]))
}

/// Returns the tables of a run that people read.
pub(crate) fn tables(record: &Record) -> Vec<Table> {
    let view = View(record);
    vec![view.goals(), view.speeds()]
}

struct View<'a>(&'a Record);

impl View<'_> {
    /// Returns a column of what was measured; NaN if it was not.
    fn number(&self, filter: &str, threads: &str, what: &str, column: &str) -> f64 {
        let mut rows = self.0.rows();
        let row =
            rows.find(|row| row.is("filter", filter) && row.is("threads", threads) && row.is("what", what));
        row.map_or(f64::NAN, |row| row.number(column))
    }

    fn threads(&self) -> Vec<&str> {
        distinct(self.0.rows(), "threads")
    }

    fn goals(&self) -> Table {
        let title = "Goals for 64 shards: lookups over those of as many threads in a shared filter";
        let mut table = Table::new(title, &["goal", "bound", "measured", "met"]);
        for threads in self.threads() {
            for what in LOOKUPS {
                let ratio = self.number(JUDGED, threads, what, "ratio");
                table.push(Goal::at_least(format!("{what}, threads: {threads}"), 0.85, ratio).cells());
            }
        }
        table
    }

    fn speeds(&self) -> Table {
        let title = "Million keys per second of all threads together, medians of turns, and in brackets the median of \
                     the ratios to the shared filter, for the mix to one thread. Half of the keys looked up are present; \
                     hot keys are eight that all threads look up; of 100 operations of a mix, 90 are lookups, 5 inserts \
                     and 5 removals";
        let columns = ["filter", "threads", "one by one", "in slices", "hot keys", "mix", "build"];
        let mut table = Table::new(title, &columns);
        for filter in distinct(self.0.rows(), "filter") {
            for threads in self.threads() {
                let cell = |what: &&str| {
                    let number = |column| self.number(filter, threads, what, column);
                    match (number("speed"), number("ratio")) {
                        (speed, _) if speed.is_nan() => Cell::Missing,
                        (speed, _) if filter == SHARED => Cell::number(speed, 1),
                        (speed, ratio) => Cell::text(format!("{speed:.1} ({ratio:.2})")),
                    }
                };
                let cells = columns[2..].iter().map(cell).collect();
                table.push([vec![Cell::text(filter), Cell::text(threads)], cells].concat());
            }
        }
        table
    }

    fn figure(&self) -> Figure {
        let panels = LOOKUPS.into_iter().map(|what| {
            let curve = |name: &str, style| {
                let points = self.threads().into_iter().map(|threads| {
                    (threads.parse().unwrap_or(f64::NAN), self.number(name, threads, what, "speed"))
                });
                Curve::line(name, style, points.collect())
            };
            let filters = distinct(self.0.rows(), "filter");
            let curves: Vec<Curve> =
                filters.into_iter().enumerate().map(|(i, name)| curve(name, i)).collect();
            let highest = self.0.rows().filter(|row| row.is("what", what)).map(|row| row.number("speed"));
            let highest = highest.fold(0.0, f64::max);
            let speed = Scale::linear("million lookups per second").between(0.0, highest * 1.05);
            let last = self.threads().last().and_then(|threads| threads.parse().ok()).unwrap_or(2.0);
            Panel::new(what, Scale::linear("threads").between(0.0, last), speed).with(curves)
        });
        Figure::new(panels.collect())
    }
}
