//! Figure 3: time and memory against the load.

use std::error::Error;
use std::time::Duration;

use malkoha::{Kind, Spec, theory};
use malkoha_figure::{Curve, Figure, Panel, Scale};

use super::layouts::{self, Layout, NAMES};
use crate::contestants::lookup_and_insert;
use crate::measure;
use crate::papers::{Exhibit, Paper, Piece, Size};
use crate::record::Record;
use crate::table::{Cell, Table};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    name: "cuckoo-figure-3",
    paper: Paper::Cuckoo,
    number: "Figure 3",
    title: "time and memory against the load",
    minutes: (0.7, 12.0),
    run,
    show,
    check,
};

const K: u32 = 10;
const LOADS: [f64; 7] = [0.80, 0.84, 0.88, 0.90, 0.92, 0.94, 0.96];

/// The times for a billion keys in section 5.1: layout, load, seconds. It gives "at most 94" for windows of
/// four.
const PUBLISHED: [(&str, f64, f64); 4] =
    [("(w, 2)", 0.80, 85.0), ("(w, 2)", 0.90, 140.0), ("(b, 4)", 0.80, 65.0), ("(b, 4)", 0.90, 94.0)];

fn run(size: Size) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "time and memory",
        &["layout", "load", "keys", "ns_per_key", "bulk_ns_per_key", "steps_per_walk", "bytes"],
    );
    let keys: u64 = size.pick(1 << 14, 2_000_000, 30_000_000);
    let numbers: Vec<u64> = (0..keys).collect();
    for layout in layouts::of_any_load() {
        if size != Size::Tiny {
            eprintln!("  {}", layout.name);
        }
        for (load, spec) in specs(layout, keys)? {
            let mut filter = spec.build()?;
            let (time, stored) = measure::time(|| lookup_and_insert(&mut filter, &numbers));
            let stats = filter.stats();
            drop(filter);
            let (bulk, built) = measure::time(|| spec.build_from(&numbers));
            // If a key finds no place, there is no time to show.
            let each = |time: Duration, fits: bool| {
                Cell::number(if fits { time.as_secs_f64() * 1e9 / keys as f64 } else { f64::NAN }, 1)
            };
            table.push(vec![
                Cell::text(layout.name),
                Cell::number(load, 2),
                Cell::Count(keys),
                each(time, stored.is_ok()),
                each(bulk, built.is_ok()),
                Cell::number(stats.steps_mean, 2),
                Cell::Count(stats.memory_bytes),
            ]);
        }
    }
    Ok(table)
}

/// Returns filters for this many keys at the loads of the figure, the planned load, and the load of dense
/// filters.
fn specs(layout: Layout, keys: u64) -> Result<Vec<(f64, Spec)>, Box<dyn Error>> {
    let spec = layout.wish(K)?.for_keys(keys);
    let planned = layout.planned_load();
    let mut specs: Vec<(f64, Spec)> =
        LOADS.into_iter().filter(|load| *load < planned).map(|load| (load, spec.load(load))).collect();
    specs.push((planned, spec));
    specs.extend(theory::dense_load(layout.kind).map(|load| (load, spec.dense())));
    Ok(specs)
}

fn at(record: &Record, layout: Layout, load: f64, column: &str) -> f64 {
    let mut rows = layout.rows(record);
    rows.find(|row| (row.number("load") - load).abs() < 1e-9).map_or(f64::NAN, |row| row.number(column))
}

fn show(record: &Record) -> Vec<Piece> {
    let most = |column: &str| record.rows().map(|row| row.number(column)).fold(0.0, f64::max);
    let x = || Scale::linear("load").between(0.8, 1.0);
    let published = PUBLISHED.map(|(name, load, seconds)| (layouts::named(name), (load, seconds)));
    let rings = |name: &str| {
        let layout = layouts::named(name);
        let points =
            published.iter().filter(|(other, _)| *other == layout).map(|(_, point)| *point).collect();
        Curve::hollow(format!("{name}, published"), layout.colour, points)
    };
    let thresholds = |column: &str| {
        let top = most(column);
        layouts::PAPERS.iter().map(move |layout| {
            let threshold = theory::threshold(layout.kind);
            Curve::dashed("thresholds", 7, vec![(threshold, 0.0), (threshold, top)])
        })
    };
    let curves = |column: &'static str| {
        layouts::of_any_load().map(move |layout| layout.curve(layout.rows(record), "load", column))
    };
    let time = Panel::new("lookup and insert, one thread", x(), Scale::linear("seconds for 10^9 keys"))
        .with(thresholds("ns_per_key"))
        .with(curves("ns_per_key"))
        .with(["(w, 2)", "(b, 4)"].map(rings));
    let bulk = Panel::new("bulk build, one thread", x(), Scale::linear("seconds for 10^9 keys"))
        .with(thresholds("bulk_ns_per_key"))
        .with(curves("bulk_ns_per_key"));
    let bytes = |layout: Layout| {
        let rows = layout.rows(record);
        let points = rows.map(|row| (row.number("load"), row.number("bytes") / row.number("keys"))).collect();
        Curve::points(layout.name, layout.colour, points)
    };
    let memory =
        Panel::new("memory", x(), Scale::linear("GB for 10^9 keys")).with(layouts::of_any_load().map(bytes));
    vec![
        Piece::Text(format!(
            "Keys are inserted if the filter does not report them; at most 10 000 steps, rate 2^-{K}, {} keys. \
             The times are per key, drawn as seconds for the paper's 10^9 keys. The paper's text gives four \
             points, measured on another machine with an unstated number of threads. {NAMES}",
            record.fact("keys")
        )),
        Piece::Figure(Figure::new(vec![time, bulk, memory])),
        Piece::Text(remarks(record)),
        Piece::Table(steps(record)),
    ]
}

/// Describes what the record shows.
fn remarks(record: &Record) -> String {
    let ratios = PUBLISHED.map(|(name, load, seconds)| {
        let ours = at(record, layouts::named(name), load, "ns_per_key");
        format!("{name} at {load:.2}: {ours:.0} s, published {seconds:.0} s")
    });
    let slowing = |name: &str| {
        at(record, layouts::named(name), 0.90, "ns_per_key")
            / at(record, layouts::named(name), 0.80, "ns_per_key")
    };
    format!(
        "Ours beside the published times: {}. From load 0.80 to 0.90 the time grows by a factor of {:.2} for \
         windows of two (published 1.65) and {:.2} for buckets of four (published 1.45). Memory depends only \
         on the slots of a place and the load, except that sorted buckets of four need no more than places of \
         two. Steps per walk:",
        ratios.join("; "),
        slowing("(w, 2)"),
        slowing("(b, 4)")
    )
}

fn steps(record: &Record) -> Table {
    let loads: Vec<String> = LOADS.iter().map(|load| format!("{load:.2}")).collect();
    let heads = ["layout"].into_iter().chain(loads.iter().map(String::as_str)).chain(["planned", "dense"]);
    let heads: Vec<&str> = heads.collect();
    let mut table = Table::new("", &heads);
    for layout in layouts::of_any_load() {
        let ends = [layout.planned_load(), theory::dense_load(layout.kind).unwrap_or(f64::NAN)];
        let loads = LOADS.into_iter().chain(ends);
        let cells = loads.map(|load| Cell::number(at(record, layout, load, "steps_per_walk"), 2));
        table.push([Cell::text(layout.name)].into_iter().chain(cells).collect());
    }
    table
}

/// Checks that memory is (k + 1 + log2 l) / load bits per key, that windows walk less than buckets, and that
/// walks lengthen with the load.
fn check(record: &Record) -> Result<(), String> {
    for row in record.rows() {
        let layout = layouts::named(row.text("layout"));
        let predicted = theory::bits_per_key(layout.kind, f64::from(K), row.number("load"));
        let share = row.number("bytes") * 8.0 / row.number("keys") / predicted;
        // Windows of three have whole bits; small tables have spare slots.
        let most = if row.number("keys") < 1e6 { 1.06 } else { 1.01 }
            + if layout.kind == Kind::Windowed(3) { 0.04 } else { 0.0 };
        if !(0.999..most).contains(&share) {
            return Err(format!(
                "{} at load {}: {share:.4} of the predicted memory",
                layout.name,
                row.text("load")
            ));
        }
        let refused = row.number("ns_per_key").is_nan() || row.number("bulk_ns_per_key").is_nan();
        if refused && row.number("load") < layout.planned_load() + 1e-9 {
            return Err(format!(
                "{} at load {}: a planned key found no place",
                layout.name,
                row.text("load")
            ));
        }
    }
    let steps = |name: &str, load| at(record, layouts::named(name), load, "steps_per_walk");
    if steps("(w, 2)", 0.84) >= steps("(b, 2)", 0.84) || steps("(w, 4)", 0.94) >= steps("(b, 4)", 0.94) {
        return Err("at the same load windows do not walk less than buckets".to_owned());
    }
    let longer = |layout: &Layout| steps(layout.name, 0.80) < steps(layout.name, 0.84);
    match layouts::of_any_load().find(|layout| !longer(layout)) {
        Some(layout) => Err(format!("{}: walks do not lengthen with the load", layout.name)),
        None => Ok(()),
    }
}
