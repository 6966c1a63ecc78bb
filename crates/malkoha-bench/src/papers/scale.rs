//! How the cost of a key grows with the number of keys: measured as far as memory allows, extrapolated
//! beyond.

use std::error::Error;

use malkoha::{Kind, Spec};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::{Exhibit, Paper, Piece, Size};
use crate::cli::ScaleArgs;
use crate::memory::PageSize;
use crate::record::{Record, Row};
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "scale-cost",
    paper: Paper::Scale,
    number: "Cost per key",
    title: "from 10^5 to 10^9 keys, and beyond",
    minutes: (1.0, 20.0),
    run,
    show,
    check,
};

/// Filters that are built as large as memory allows.
const FAR: [&str; 4] = ["sorted@14", "windowed:2@14", "flexible:4@13", "blocked:2@11"];

/// Filters that are built up to a tenth of that.
const NEAR: [&str; 5] = ["windowed:3@13", "windowed:4@13", "sorted@14+dense", WHOLE, "bloom@11"];

/// The filter whose keys cannot be sorted by place first: it shows the cost of a key that misses the caches.
const WHOLE: &str = "sorted@14+whole";

/// How many sizes a line is fitted to, and the sizes that it is extended to.
const FITTED: usize = 3;
const BEYOND: [u32; 3] = [10, 11, 12];

/// The most regions that a table is split into when it is built, as in `cuckoo/bulk.rs`.
const REGIONS: f64 = 4096.0;

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let powers =
        |range: std::ops::RangeInclusive<u32>| range.map(|power| 10u64.pow(power)).collect::<Vec<_>>();
    let most = size.pick(5, 7, 9);
    let least = size.pick(2, 5, 5);
    let parts = [
        (&FAR[..], powers(least..=most - 1), size.pick(1, 2, 3)),
        (&FAR[..], powers(most..=most), 1),
        (&NEAR[..], powers(least..=size.pick(4, 7, 8)), size.pick(1, 2, 2)),
    ];
    let mut all: Option<Table> = None;
    for (kinds, keys, repeats) in parts {
        let args = ScaleArgs {
            kinds: kinds.iter().map(|kind| kind.parse()).collect::<Result<_, _>>()?,
            keys,
            threads: size.pick(vec![1], vec![1, 2], vec![1, 2]),
            memory: 4.0,
            queries: size.pick(1 << 12, 1 << 21, 1 << 23),
            pages: PageSize::Huge,
            repeats,
        };
        let table = crate::scale::run(&args)?;
        match &mut all {
            Some(all) => all.rows.extend(table.rows),
            None => all = Some(table),
        }
    }
    all.ok_or_else(|| "nothing was measured".into())
}

fn rows<'a>(record: &'a Record, filter: &str, threads: &str) -> Vec<Row<'a>> {
    let here = |row: &Row<'_>| row.text("filter") == filter && row.text("threads") == threads;
    let mut rows: Vec<_> = record.rows().filter(here).filter(|row| row.number("ns/key") > 0.0).collect();
    rows.sort_by(|a, b| a.number("keys").total_cmp(&b.number("keys")));
    rows
}

/// Returns the points of a column against the number of keys, on one thread.
fn points(record: &Record, filter: &str, column: &str) -> Vec<(f64, f64)> {
    rows(record, filter, "1").iter().map(|row| (row.number("keys"), row.number(column))).collect()
}

/// A line fitted to points over the logarithm of the number of keys, by least squares.
#[derive(Clone, Copy, Debug)]
struct Line {
    at_one: f64,
    per_decade: f64,
}

impl Line {
    /// Fits a line to the last points; `None` if there are too few.
    fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let last = points.get(points.len().checked_sub(FITTED)?..)?;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| last.iter().map(of).sum::<f64>() / last.len() as f64;
        let (x, y) = (mean(&|point| point.0.log10()), mean(&|point| point.1));
        let spread = mean(&|point| (point.0.log10() - x).powi(2));
        let per_decade = mean(&|point| (point.0.log10() - x) * (point.1 - y)) / spread;
        // A cost that falls with the size is noise, or a cost of small filters: it does not keep falling.
        let per_decade = per_decade.max(0.0);
        Some(Self { at_one: y - per_decade * x, per_decade })
    }

    fn at(self, keys: f64) -> f64 {
        self.at_one + self.per_decade * keys.log10()
    }
}

/// Returns the cost at the largest size, and the prediction of a line through the sizes before it.
fn hindsight(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (last, before) = points.split_last()?;
    Some((last.1, Line::fit(before)?.at(last.0)))
}

fn show(record: &Record) -> Vec<Piece> {
    let measured_keys = record.rows().filter(|row| row.number("ns/key") > 0.0);
    let largest = measured_keys.filter_map(|row| row.text("keys").parse::<u64>().ok()).max().unwrap_or(0);
    let gibibytes =
        |keys: u64| (8.0 * keys as f64 + planned(FAR[0], keys).unwrap_or(f64::NAN)) / f64::from(1 << 30);
    vec![
        Piece::Text(format!(
            "Filters are built from all of their keys at once, and slices of keys are looked up, half of them \
             present; nanoseconds per key on one thread. Measured up to {:.0e} keys, which take {:.1} GiB: 8 \
             bytes per key, and the filter. Ten times as many would take {:.1}. {}",
            largest as f64,
            gibibytes(largest),
            gibibytes(10 * largest),
            growth(record),
        )),
        Piece::Figure(figure(record)),
        Piece::Table(measured(record)),
        Piece::Text(
            "Beyond that, a line is fitted to the last three sizes, over the logarithm of the number of keys. \
             To show how far it can be trusted, a line fitted to the three sizes before the largest predicts \
             the largest, which was measured:"
                .to_owned(),
        ),
        Piece::Table(tested(record)),
        Piece::Table(extrapolated(record)),
        Piece::Text(format!(
            "The line leaves something out. Keys are sorted into at most {REGIONS} regions of the table before \
             they are stored, and a region must stay in a cache. From about 10^11 keys on, a region fits in no \
             cache (see the region column). A key then costs about as much as with offsets over the whole \
             table, where sorting does not help ({WHOLE}, {:.0} ns at the largest size measured); this is the \
             last column. The address translation of larger memories comes on top. Many shards of a measured \
             size avoid both: a key costs as much as in one of them, plus the routing. Rate and load do not \
             change with the number of keys, as long as 64 bits of hash suffice for place and fingerprint.",
            points(record, WHOLE, "ns/key").last().map_or(f64::NAN, |point| point.1),
        )),
    ]
}

/// Says how much more a key costs in the largest filter than in the smallest.
fn growth(record: &Record) -> String {
    let share = |filter: &&str, column| {
        let points = points(record, filter, column);
        points.last().zip(points.first()).map_or(f64::NAN, |(last, first)| last.1 / first.1)
    };
    let words = FAR.iter().map(|filter| {
        format!("{filter} {:.2} and {:.2}", share(filter, "ns/key"), share(filter, "find ns/key"))
    });
    format!(
        "Cost in the largest filter divided by cost in the smallest, for storing and for finding a key: {}.",
        words.collect::<Vec<_>>().join(", ")
    )
}

fn sizes(record: &Record) -> Vec<u64> {
    let mut sizes: Vec<u64> = record.rows().filter_map(|row| row.text("keys").parse().ok()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn measured(record: &Record) -> Table {
    let sizes = sizes(record);
    let mut table = Table::new("", &["filter", "what"]);
    table.columns.extend(sizes.iter().map(|keys| format!("{:.0e} keys", *keys as f64)));
    for filter in FAR.into_iter().chain(NEAR) {
        let cells = [
            ("stored, ns", "1", "ns/key"),
            ("stored by two threads, ns", "2", "ns/key"),
            ("found, ns", "1", "find ns/key"),
            ("steps per walk", "1", "steps per walk"),
        ];
        for (what, threads, column) in cells {
            let rows = rows(record, filter, threads);
            let at = |keys: &u64| rows.iter().find(|row| row.text("keys") == keys.to_string());
            let numbers = sizes.iter().map(|keys| at(keys).map_or(f64::NAN, |row| row.number(column)));
            let numbers: Vec<_> = numbers.collect();
            if numbers.iter().any(|number| number.is_finite() && *number > 0.0) {
                let head = [Cell::text(filter), Cell::text(what)];
                table.push(head.into_iter().chain(numbers.into_iter().map(|n| Cell::number(n, 1))).collect());
            }
        }
    }
    table
}

fn tested(record: &Record) -> Table {
    let mut table = Table::new("", &["filter", "what", "largest, measured", "from the line", "error"]);
    for filter in FAR.into_iter().chain(NEAR) {
        for (what, column) in [("stored, ns", "ns/key"), ("found, ns", "find ns/key")] {
            let Some((measured, line)) = hindsight(&points(record, filter, column)) else { continue };
            table.push(vec![
                Cell::text(filter),
                Cell::text(what),
                Cell::number(measured, 1),
                Cell::number(line, 1),
                Cell::text(format!("{:+.0} %", 100.0 * (line / measured - 1.0))),
            ]);
        }
    }
    table
}

fn extrapolated(record: &Record) -> Table {
    let mut table = Table::new(
        "",
        &[
            "filter",
            "keys",
            "GiB",
            "region, MiB",
            "stored, ns, by the line",
            "hours on one core",
            "found, ns, by the line",
            "stored, ns, outside the caches",
        ],
    );
    let outside = points(record, WHOLE, "ns/key").last().map_or(f64::NAN, |point| point.1);
    for filter in FAR {
        let line = |column| Line::fit(&points(record, filter, column));
        let (Some(stored), Some(found)) = (line("ns/key"), line("find ns/key")) else { continue };
        for power in BEYOND {
            let keys = 10f64.powi(power.cast_signed());
            let bytes = planned(filter, 10u64.pow(power)).unwrap_or(f64::NAN);
            let cost = stored.at(keys);
            // Blocks of bits are not sorted by region.
            let cuckoo = !filter.starts_with("blocked");
            table.push(vec![
                Cell::text(filter),
                Cell::text(format!("10^{power}")),
                Cell::number(bytes / f64::from(1 << 30), 1),
                Cell::number(if cuckoo { bytes / REGIONS / f64::from(1 << 20) } else { f64::NAN }, 1),
                Cell::number(cost, 0),
                Cell::number(cost * keys / 3.6e12, 2),
                Cell::number(found.at(keys), 0),
                Cell::number(if cuckoo { outside } else { f64::NAN }, 0),
            ]);
        }
    }
    table
}

/// Returns the bytes of one of these filters for this many keys.
fn planned(filter: &str, keys: u64) -> Option<f64> {
    let (kind, k) = filter.split_once('@')?;
    let k: f64 = k.split('+').next()?.parse().ok()?;
    let spec = Spec::new(keys, (-k).exp2()).kind(kind.parse::<Kind>().ok()?);
    spec.plan().ok().map(|geometry| geometry.bytes() as f64)
}

fn figure(record: &Record) -> Figure {
    let least = sizes(record).first().map_or(1.0, |keys| *keys as f64);
    let panel = |title: &str, column: &'static str| {
        let curves = FAR.into_iter().chain(NEAR).enumerate().flat_map(|(colour, filter)| {
            let points = points(record, filter, column);
            let line = Line::fit(&points).filter(|_| FAR.contains(&filter));
            let beyond = points.last().map(|last| last.0).zip(line).map(|(from, line)| {
                let to = 10f64.powi(BEYOND[BEYOND.len() - 1].cast_signed());
                Curve::dashed(
                    format!("{filter}, line"),
                    colour,
                    vec![(from, line.at(from)), (to, line.at(to))],
                )
            });
            [Some(Curve::points(filter, colour, points)), beyond].into_iter().flatten()
        });
        // A decade more than the lines need, or the last mark would be at the edge of the picture.
        let keys = Scale::logarithmic("keys", 10).between(least, 1e13);
        Panel::new(title, keys, Scale::linear("ns per key")).with(curves)
    };
    Figure::new(vec![panel("A key stored", "ns/key"), panel("A key found", "find ns/key")])
}

/// Checks that everything was measured, and that walks lengthen little: small tables have some spare slots.
/// Times are not checked.
fn check(record: &Record) -> Result<(), String> {
    for filter in FAR.into_iter().chain(NEAR) {
        let rows = rows(record, filter, "1");
        if rows.len() < FITTED {
            return Err(format!("{filter} was measured at {} sizes only", rows.len()));
        }
        if rows.iter().any(|row| row.number("find ns/key").is_nan()) {
            return Err(format!("{filter} was not asked"));
        }
        let steps: Vec<f64> = rows
            .iter()
            .filter(|row| row.number("keys") >= 1e5)
            .map(|row| row.number("steps per walk"))
            .collect();
        if let (Some(first), Some(last)) = (steps.first(), steps.last())
            && *last > 2.5 * first
        {
            return Err(format!("{filter}: walks of {last} steps in the largest, {first} in the smallest"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let points: Vec<_> = (3..8).map(|power| (10f64.powi(power), 5.0 + 2.0 * f64::from(power))).collect();
        let line = Line::fit(&points).unwrap();
        assert!((line.per_decade - 2.0).abs() < 1e-9 && (line.at(1e12) - 29.0).abs() < 1e-9);
        let (measured, from_line) = hindsight(&points).unwrap();
        assert!((measured - from_line).abs() < 1e-9);
        assert!(Line::fit(&points[..2]).is_none());
    }

    #[test]
    fn memory_is_planned_for_any_number_of_keys() {
        for filter in FAR {
            let bytes = planned(filter, 10u64.pow(12)).unwrap();
            assert!((1.5e12..2.6e12).contains(&bytes), "{filter}: {bytes}");
        }
    }
}
