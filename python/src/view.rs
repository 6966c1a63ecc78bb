//! Filters as text and as a picture in notebooks.

use std::fmt::Write;

use malkoha::{Level, Stats};

use crate::facts::Facts;

/// What `repr` shows.
pub(crate) fn text(class: &str, facts: &Facts, stats: &Stats) -> String {
    format!("<malkoha.{class} {}>", summary(facts, stats))
}

fn summary(facts: &Facts, stats: &Stats) -> String {
    let mut text = format!("{}: {} of {} keys", facts.kind, grouped(stats.items), grouped(facts.keys));
    if facts.growing {
        text = format!("{}, growing: {} keys", facts.kind, grouped(stats.items));
    }
    let _ = write!(text, ", rate {}, {}", rate(facts.rate), bytes(stats.memory_bytes));
    if let Some(shards) = facts.shards {
        let _ = write!(text, ", {shards} shards");
    }
    if facts.value_bits > 0 {
        let _ = write!(text, ", values of {} bits", facts.value_bits);
    }
    if facts.key_format != "any" {
        let _ = write!(text, ", keys {}", facts.key_format);
    }
    text
}

/// What a notebook shows: a bar that is as full as the filter, and its numbers.
pub(crate) fn html(class: &str, facts: &Facts, stats: &Stats) -> String {
    let share = (stats.load / stats.threshold).clamp(0.0, 1.0);
    let colour = match stats.level {
        Level::Room => "#4a8",
        Level::NearlyFull => "#da4",
        Level::Full => "#c55",
    };
    let [keys, level] = if facts.growing {
        [grouped(stats.items), "grows".to_owned()]
    } else {
        [format!("{} of {}", grouped(stats.items), grouped(facts.keys)), stats.level.to_string()]
    };
    let rows = [
        ("keys", keys),
        ("level", level),
        ("rate", format!("{} now, {} promised", rate(stats.predicted_rate), rate(facts.rate))),
        ("memory", bytes(stats.memory_bytes)),
        ("load", format!("{:.1} % of at most {:.1} %", 100.0 * stats.load, 100.0 * stats.threshold)),
    ];
    let mut table = String::new();
    for (name, value) in rows {
        let _ = write!(table, "<tr><th style=\"text-align:left\">{name}</th><td>{value}</td></tr>");
    }
    format!(
        "<div><b>malkoha.{class}</b> {}\
         <svg width=\"240\" height=\"14\" style=\"display:block\" role=\"img\" aria-label=\"{:.0} % full\">\
         <rect width=\"240\" height=\"14\" rx=\"3\" fill=\"#8883\"/>\
         <rect width=\"{:.1}\" height=\"14\" rx=\"3\" fill=\"{colour}\"/></svg>\
         <table>{table}</table></div>",
        facts.kind,
        100.0 * share,
        240.0 * share,
    )
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let groups: Vec<_> =
        [head.to_owned()].into_iter().filter(|head| !head.is_empty()).chain(groups).collect();
    groups.join(",")
}

/// A rate as people write it.
fn rate(rate: f64) -> String {
    if rate >= 1e-3 { format!("{:.3} %", 100.0 * rate) } else { format!("{rate:.2e}") }
}

/// Bytes with a unit.
fn bytes(bytes: u64) -> String {
    let mut number = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if number < 1000.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{number:.3} {unit}") };
        }
        number /= 1000.0;
    }
    format!("{number:.3} TB")
}
