//! The chapter on growth: what a filter costs that is not told how many keys it will hold.

use std::error::Error;
use std::fmt::Write as _;

use malkoha_figure::{Curve, Figure, Panel, Scale};

use crate::record::Record;
use crate::table::{Cell, Table};

use super::speed::Goal;
use super::{Document, Folders, markdown, origin};

/// The record of this chapter.
const RECORD: &str = "growth";

const HEAD: &str = "\
## Growth

A filter of `Spec::rate`, which is told no number of keys, beside filters that are planned for the right number. One \
thread.

";

const LEGEND: &str = "\
Every point is a tenth of a doubling after the one before. The chain is what growing filters were before: a list of \
tables, each twice as large as the one before, all of which a lookup searches. It begins with 1000 keys. The planned \
filter is the default kind, `sorted`, planned anew for every number of keys.";

/// What the authors of other filters publish.
const PUBLISHED: &str = "\
Other filters that grow, by the code that their authors publish. They were not run here. Their papers draw bits per key \
as curves, of which no numbers were found for a rate of 0.1 %. So the last column is only what slots and loads imply:

| filter | grows by | load | bits of a slot | bits per key |
| --- | --- | --- | --- | --- |
| InfiniFilter (Dayan et al. 2023), Aleph (2024) | doubling all at once | 0.4 to 0.8 | a fingerprint and 3 | 1.25 to 2.5 slots |
| Taffy cuckoo (Apple 2022) | doubling all at once | 0.45 to 0.9 | 16, for a rate of about 3 % | 17.8 to 35.6 |

Sources: `filters/QuotientFilter.java` in nivdayan/FilterLibrary, commit 0f63cb5, whose filters expand at a load of 0.8; \
`cpp/include/filter/taffy-cuckoo.hpp` in jbapple/libfilter, commit 075bae4, where the rate is a comment.

";

/// Numbers of keys from which on the price of growth is judged.
const JUDGED: f64 = 1e5;

/// Returns the chapter and its figure; both are empty if its run was not made.
pub(super) fn chapter(folders: &Folders) -> Result<(String, Vec<Document>), Box<dyn Error>> {
    if !folders.records.join(RECORD).with_extension("csv").exists() {
        return Ok((String::new(), Vec::new()));
    }
    let record = Record::read(&folders.records, RECORD)?;
    let view = View(&record);
    let mut text = HEAD.to_owned() + &origin(&record, record.fact("parameters"));
    let file = format!("{RECORD}.svg");
    let _ = write!(text, "![Bits per key over the number of keys](figures/{file})\n\n{LEGEND}\n\n");
    for table in tables(&record) {
        text.extend([&table.title[..], ":\n\n", &markdown(&table)]);
    }
    text.push_str(PUBLISHED);
    Ok((text, vec![(folders.docs.join("figures").join(file), view.figure().draw())]))
}

/// Returns the tables of a run that people read.
pub(crate) fn tables(record: &Record) -> Vec<Table> {
    let view = View(record);
    vec![view.goals(), view.curve(), view.speed(), view.latency(), view.merge()]
}

struct View<'a>(&'a Record);

impl View<'_> {
    /// Returns a number; NaN if it was not measured.
    fn number(&self, part: &str, keys: &str, what: &str) -> f64 {
        let mut rows = self.0.rows();
        let row = rows.find(|row| row.is("part", part) && row.is("keys", keys) && row.is("what", what));
        row.map_or(f64::NAN, |row| row.number("number"))
    }

    /// Returns keys and numbers of everything of this name in a part.
    fn points(&self, part: &str, what: &str) -> Vec<(f64, f64)> {
        let rows = self.0.rows().filter(|row| row.is("part", part) && row.is("what", what));
        rows.map(|row| (row.number("keys"), row.number("number"))).collect()
    }

    /// Returns the numbers of keys of a part, as the record has them.
    fn sizes(&self, part: &str) -> Vec<&str> {
        super::distinct(self.0.rows().filter(|row| row.is("part", part)), "keys")
    }

    fn goals(&self) -> Table {
        let mut table = Table::new("Goals, at a rate of 0.1 %", &["goal", "bound", "measured", "met"]);
        let bits: Vec<f64> =
            self.points("curve", "bits").into_iter().filter(|at| at.0 >= JUDGED).map(|at| at.1).collect();
        let mean = bits.iter().sum::<f64>() / bits.len() as f64;
        let mut goals = vec![
            Goal::at_most("bits per key beyond 10^5 keys, in the mean", 20.5, mean),
            Goal::at_most("bits per key beyond 10^5 keys, at worst", 22.0, highest(&bits)),
        ];
        let rates = self.points("curve", "predicted rate");
        let rates: Vec<f64> = rates.into_iter().map(|at| at.1).collect();
        goals.push(Goal::at_most("predicted rate over the promise, at worst", 1.0, highest(&rates) / 0.001));
        for keys in self.sizes("speed") {
            let small = keys.parse().is_ok_and(|keys: f64| keys <= JUDGED);
            for (what, least) in [
                ("find in slices", if small { 0.45 } else { 0.6 }),
                ("find one by one", 0.6),
                ("insert one by one", 0.5),
                ("bulk", 0.4),
            ] {
                let ratio = self.number("speed", keys, &format!("{what}, ratio"));
                goals.push(Goal::at_least(
                    format!("{what} at {keys} keys, over planned flexible:4"),
                    least,
                    ratio,
                ));
            }
        }
        let inserts = self.points("curve", "longest insert in us");
        let inserts: Vec<f64> = inserts.into_iter().map(|at| at.1 / 1e3).collect();
        goals.push(Goal::at_most("longest insert, growth included, in milliseconds", 2.0, highest(&inserts)));
        for goal in &goals {
            table.push(goal.cells());
        }
        table
    }

    /// What a key costs, decade by decade.
    fn curve(&self) -> Table {
        let title = "Bits per key while a filter grows one key at a time: the lowest, the mean and the highest of all \
                     points from so many keys up to ten times as many. The longest insert is the longest between two \
                     points, in the run in which that was shortest: growth does the same work every time, and the \
                     system interrupts some inserts for longer than they take";
        let columns = [
            "keys",
            "lowest",
            "mean",
            "highest",
            "chain, mean",
            "planned, mean",
            "highest predicted rate",
            "highest measured rate",
            "longest insert, ms",
        ];
        let mut table = Table::new(title, &columns);
        let last = self.points("curve", "bits").last().map_or(0.0, |at| at.0);
        let mut first = 1e3;
        while first < last {
            let within = |what: &str| -> Vec<f64> {
                let points = self.points("curve", what).into_iter();
                points.filter(|at| at.0 >= first && at.0 <= 10.0 * first).map(|at| at.1).collect()
            };
            let mean = |what: &str| within(what).iter().sum::<f64>() / within(what).len() as f64;
            let bits = within("bits");
            table.push(vec![
                Cell::number(first, 0),
                Cell::number(bits.iter().copied().fold(f64::INFINITY, f64::min), 1),
                Cell::number(mean("bits"), 1),
                Cell::number(highest(&bits), 1),
                Cell::number(mean("chain bits"), 1),
                Cell::number(mean("planned bits"), 1),
                Cell::Rate(highest(&within("predicted rate"))),
                Cell::Rate(highest(&within("measured rate"))),
                Cell::number(highest(&within("longest insert in us")) / 1e3, 3),
            ]);
            first *= 10.0;
        }
        table
    }

    fn speed(&self) -> Table {
        let title = "Million keys per second, medians of turns, and the median of their ratios. Half of the keys looked \
                     up are present. The growing filter took its keys one by one, except in the last row of each size. \
                     The planned filter of equal bytes has as many bytes as the one grown one by one, for the same keys \
                     and at most the same rate: what it loses to the other is the price of a larger table";
        let columns = [
            "keys",
            "operation",
            "growing",
            "planned flexible:4",
            "ratio",
            "planned, of equal bytes",
            "ratio to that",
        ];
        let mut table = Table::new(title, &columns);
        for keys in self.sizes("speed") {
            for what in [
                "find in slices",
                "find one by one",
                "insert one by one",
                "bulk",
                "find in slices after bulk",
            ] {
                let number = |of: &str| self.number("speed", keys, &format!("{what}, {of}"));
                table.push(vec![
                    Cell::text(keys),
                    Cell::text(what),
                    Cell::number(number("growing"), 1),
                    Cell::number(number("planned"), 1),
                    Cell::number(number("ratio"), 2),
                    Cell::number(number("planned of equal bytes"), 1),
                    Cell::number(number("ratio to equal bytes"), 2),
                ]);
            }
        }
        table
    }

    fn latency(&self) -> Table {
        let title = "Microseconds of single inserts: within which 9999 of 10,000 are done, the median of turns, and the \
                     longest, in the turn in which that was shortest";
        let columns =
            ["keys", "99.99 %, growing", "99.99 %, planned", "longest, growing", "longest, planned"];
        let mut table = Table::new(title, &columns);
        for keys in self.sizes("latency") {
            let cell = |what: &str| Cell::number(self.number("latency", keys, what), 1);
            table.push(
                [vec![Cell::text(keys)], columns[1..].iter().map(|what| cell(what)).collect()].concat(),
            );
        }
        table
    }

    fn merge(&self) -> Table {
        let keys = self.sizes("merge").first().copied().unwrap_or("0");
        let number = |what: &str| self.number("merge", keys, what);
        let filters = number("filters");
        let title = format!(
            "{filters} growing filters with {keys} keys together, the largest with a hundred times as many as the \
             smallest, each with an equal share of the rate"
        );
        let mut table =
            Table::new(title, &["", "seconds", "bits per key", "promised rate", "predicted", "measured"]);
        table.push(vec![
            Cell::text("merged"),
            Cell::number(number("seconds merging"), 2),
            Cell::number(number("bits"), 1),
            Cell::Rate(number("promised rate")),
            Cell::Rate(number("predicted rate")),
            Cell::Rate(number("measured rate")),
        ]);
        let missing = || vec![Cell::Missing; 3];
        let again = vec![
            Cell::text("all keys inserted again, one by one"),
            Cell::number(number("seconds inserting again"), 2),
            Cell::number(number("bits inserting again"), 1),
        ];
        table.push([again, missing()].concat());
        let bulk = vec![
            Cell::text("all keys inserted again, at once"),
            Cell::number(number("seconds in bulk"), 2),
            Cell::Missing,
        ];
        table.push([bulk, missing()].concat());
        table
    }

    fn figure(&self) -> Figure {
        let keys = Scale::logarithmic("keys", 10);
        let bits = Scale::linear("bits per key").between(0.0, 40.0);
        let curve = |what: &str| self.points("curve", what);
        let panel = Panel::new("Bits per key at a rate of 0.1 %", keys, bits).with([
            Curve::line("growing", 0, curve("bits")),
            Curve::dashed("chain", 1, curve("chain bits")),
            Curve::line("planned", 2, curve("planned bits")),
        ]);
        Figure::new(vec![panel])
    }
}

fn highest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NAN, f64::max)
}
