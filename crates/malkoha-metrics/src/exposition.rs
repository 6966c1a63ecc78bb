//! `Exposition`: the figures of several filters as one OpenMetrics text.
//!
//! The names are those that operators of cuckoo filters know: `cf_load_factor`, `cf_insert_failures_total`
//! and so on. OpenMetrics requires all samples of one name to be together, so the filters are collected first
//! and then written name by name.

use core::fmt;

use malkoha::{GrowthStats, Stats};

use crate::{LabelError, Meter, Readings};

/// A figure that every filter has.
struct Figure {
    name: &'static str,
    kind: &'static str,
    unit: Option<&'static str>,
    help: &'static str,
    /// What follows the name in a sample.
    suffix: &'static str,
    read: fn(&Stats) -> f64,
}

const fn gauge(name: &'static str, help: &'static str, read: fn(&Stats) -> f64) -> Figure {
    Figure { name, kind: "gauge", unit: None, help, suffix: "", read }
}

const fn counter(name: &'static str, help: &'static str, read: fn(&Stats) -> f64) -> Figure {
    Figure { kind: "counter", suffix: "_total", ..gauge(name, help, read) }
}

/// A figure of how a filter has grown; 0 for those that do not grow by regions.
fn of_growth(stats: &Stats, read: impl Fn(&GrowthStats) -> f64) -> f64 {
    stats.growth.as_ref().map_or(0.0, read)
}

const FIGURES: [Figure; 19] = [
    gauge("cf_items", "Copies of keys stored.", |stats| stats.items as f64),
    gauge("cf_slots", "Slots of the table; bits for Bloom kinds.", |stats| stats.slots as f64),
    gauge(
        "cf_load_factor",
        "Occupied slots over all slots; set bits over all bits for Bloom kinds.",
        |stats| stats.load,
    ),
    gauge("cf_load_threshold", "The load factor that no insert can exceed; 1 for Bloom kinds.", |stats| {
        stats.threshold
    }),
    gauge("cf_head_room", "Keys that can still be stored as reliably as planned.", |stats| {
        stats.head_room as f64
    }),
    gauge("cf_grows", "1 if the filter takes more memory when no head-room is left, else 0.", |stats| {
        f64::from(u8::from(stats.grows))
    }),
    gauge("cf_stash_size", "Keys kept outside the table.", |stats| stats.stash_size as f64),
    gauge("cf_relocation_kicks_avg", "Steps of walks per insert that had to walk.", |stats| stats.steps_mean),
    gauge("cf_relocation_kicks_max", "Steps of the longest walk.", |stats| stats.steps_max as f64),
    gauge("cf_false_positive_target", "The rate of false positives that was promised.", |stats| {
        stats.promised_rate
    }),
    gauge("cf_links", "Tables of a chain, all of which a lookup searches; 0 for others.", |stats| {
        stats.links.len() as f64
    }),
    gauge("cf_regions", "Regions of a growing filter; 0 for others.", |stats| {
        of_growth(stats, |growth| growth.regions as f64)
    }),
    counter(
        "cf_growth_steps",
        "Regions that were made larger, since the filter was made or read.",
        |stats| of_growth(stats, |growth| growth.steps as f64),
    ),
    counter(
        "cf_shrink_steps",
        "Regions that were made smaller, since the filter was made or read.",
        |stats| of_growth(stats, |growth| growth.shrinks as f64),
    ),
    Figure {
        unit: Some("seconds"),
        ..gauge(
            "cf_longest_growth_step_seconds",
            "The longest time that a key had to wait for such a step.",
            |stats| of_growth(stats, |growth| growth.longest_step.as_secs_f64()),
        )
    },
    gauge("cf_overflow", "Copies of keys without a slot in a growing filter; 0 for others.", |stats| {
        of_growth(stats, |growth| growth.overflow as f64)
    }),
    gauge(
        "cf_promised_keys",
        "Keys up to which a growing filter promises its rate; 0 for others.",
        |stats| of_growth(stats, |growth| growth.promised_keys as f64),
    ),
    Figure {
        unit: Some("bytes"),
        ..gauge("cf_memory_bytes", "Memory of the table.", |stats| stats.memory_bytes as f64)
    },
    counter("cf_insert_failures", "Inserts refused because there was no room.", |stats| {
        stats.insert_failures as f64
    }),
];

/// The figures of one filter.
#[derive(Clone, Debug)]
struct Entry {
    /// The labels as they are written, without braces.
    labels: String,
    stats: Stats,
    readings: Option<Readings>,
}

/// The figures of any number of filters, distinguished by labels. Its `Display` is the text of an OpenMetrics
/// page.
///
/// | name | type | what it is |
/// | --- | --- | --- |
/// | `cf_items`, `cf_slots` | gauge | copies of keys, slots |
/// | `cf_load_factor`, `cf_load_threshold` | gauge | how full, and how full at most |
/// | `cf_head_room` | gauge | keys that still fit |
/// | `cf_grows` | gauge | 1 for growing filters and sliding windows, which need no head-room |
/// | `cf_stash_size` | gauge | keys outside the table |
/// | `cf_insert_failures_total` | counter | refused inserts |
/// | `cf_relocation_kicks_avg`, `cf_relocation_kicks_max` | gauge | steps of walks |
/// | `cf_links` | gauge | tables of a chain: a growing filter of a Bloom kind, one from an old file, or a result of `merge_into_chain` |
/// | `cf_regions`, `cf_overflow` | gauge | regions of a growing filter of a cuckoo kind, copies without a slot |
/// | `cf_growth_steps_total`, `cf_shrink_steps_total` | counter | regions made larger, made smaller |
/// | `cf_longest_growth_step_seconds` | gauge | the longest that a key waited for such a step |
/// | `cf_promised_keys` | gauge | keys up to which a growing filter promises its rate |
/// | `cf_memory_bytes` | gauge | memory |
/// | `cf_false_positive_target` | gauge | the promised rate |
/// | `cf_false_positive_estimate` | gauge | the current rate: from theory with `source="predicted"`, from a [`Meter`] with `source="sampled"` |
/// | `cf_lookups_total` | counter | lookups that a [`Meter`] saw |
/// | `cf_lookup_latency_p99` | gauge | seconds within which 99 of 100 sampled lookups were answered |
/// | `cf_lookup_latency_seconds` | histogram | the same in full |
///
/// ```
/// use malkoha::Spec;
/// use malkoha_metrics::{Exposition, Meter};
///
/// let (users, events) = (Spec::new(1000, 0.001).build()?, Spec::new(5000, 0.01).sharded(4).build()?);
/// let meter = Meter::new(64);
/// let mut exposition = Exposition::new();
/// exposition.add(&[("filter", "users"), ("zone", "a")], &users.stats())?;
/// exposition.add_metered(&[("filter", "events"), ("zone", "a")], &events.stats(), &meter)?;
/// assert!(exposition.to_string().contains("cf_false_positive_target{filter=\"events\",zone=\"a\"} 0.01\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    entries: Vec<Entry>,
}

impl Exposition {
    /// Returns a page without filters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a filter. Labels distinguish filters: names of letters, digits and underscores, and any text as
    /// values.
    pub fn add(&mut self, labels: &[(&str, &str)], stats: &Stats) -> Result<(), LabelError> {
        self.push(labels, stats, None)
    }

    /// Adds a filter and what a meter saw of its lookups.
    pub fn add_metered(
        &mut self,
        labels: &[(&str, &str)],
        stats: &Stats,
        meter: &Meter,
    ) -> Result<(), LabelError> {
        self.push(labels, stats, Some(meter.readings()))
    }

    fn push(
        &mut self,
        labels: &[(&str, &str)],
        stats: &Stats,
        readings: Option<Readings>,
    ) -> Result<(), LabelError> {
        let mut sorted = labels.to_vec();
        sorted.sort_unstable();
        for (at, (name, _)) in sorted.iter().enumerate() {
            check_name(name)?;
            if sorted[..at].iter().any(|(other, _)| other == name) {
                return Err(LabelError { name: (*name).to_owned(), what: "occurs twice; give it once" });
            }
        }
        let texts: Vec<String> =
            sorted.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = texts.join(",");
        if self.entries.iter().any(|entry| entry.labels == labels) {
            let what = "does not distinguish this filter from another; give each filter labels of its own";
            return Err(LabelError { name: labels, what });
        }
        self.entries.push(Entry { labels, stats: stats.clone(), readings });
        Ok(())
    }

    /// Returns the entries that have a meter.
    fn metered(&self) -> impl Iterator<Item = (&Entry, &Readings)> {
        self.entries.iter().filter_map(|entry| entry.readings.as_ref().map(|readings| (entry, readings)))
    }
}

impl fmt::Display for Exposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for figure in &FIGURES {
            header(f, figure.name, figure.kind, figure.unit, figure.help)?;
            for entry in &self.entries {
                entry.sample(f, figure.name, figure.suffix, None, (figure.read)(&entry.stats))?;
            }
        }
        self.estimates(f)?;
        if self.metered().next().is_some() {
            self.lookups(f)?;
        }
        f.write_str("# EOF\n")
    }
}

impl Exposition {
    fn estimates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = "cf_false_positive_estimate";
        header(
            f,
            name,
            "gauge",
            None,
            "The current rate of false positives, by theory or by sampled lookups.",
        )?;
        for entry in &self.entries {
            entry.sample(f, name, "", Some(("source", "predicted")), entry.stats.predicted_rate)?;
            if let Some(sampled) = entry.readings.and_then(|readings| readings.false_positive_estimate()) {
                entry.sample(f, name, "", Some(("source", "sampled")), sampled)?;
            }
        }
        Ok(())
    }

    fn lookups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = "cf_lookups";
        header(f, name, "counter", None, "Lookups that were metered.")?;
        for (entry, readings) in self.metered() {
            entry.sample(f, name, "_total", None, readings.lookups as f64)?;
        }
        let name = "cf_lookup_latency_p99";
        header(f, name, "gauge", None, "Seconds within which 99 of 100 sampled lookups were answered.")?;
        for (entry, readings) in self.metered().filter(|(_, readings)| readings.latency.count() > 0) {
            let p99 = readings.latency.quantile(0.99);
            entry.sample(f, name, "", None, p99.map_or(f64::INFINITY, |p99| p99.as_secs_f64()))?;
        }
        let name = "cf_lookup_latency_seconds";
        header(f, name, "histogram", Some("seconds"), "How long sampled lookups took.")?;
        for (entry, readings) in self.metered() {
            let mut within = 0;
            for (longest, count) in readings.latency.buckets() {
                within += count;
                let le = number(longest.map_or(f64::INFINITY, |longest| longest.as_secs_f64()));
                entry.sample(f, name, "_bucket", Some(("le", &le)), within as f64)?;
            }
            entry.sample(f, name, "_count", None, within as f64)?;
            entry.sample(f, name, "_sum", None, readings.latency.sum().as_secs_f64())?;
        }
        Ok(())
    }
}

impl Entry {
    fn sample(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        suffix: &str,
        label: Option<(&str, &str)>,
        value: f64,
    ) -> fmt::Result {
        let more = label.map(|(name, value)| format!("{name}=\"{value}\""));
        let labels: Vec<&str> = [self.labels.as_str(), more.as_deref().unwrap_or("")]
            .into_iter()
            .filter(|labels| !labels.is_empty())
            .collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        writeln!(f, "{name}{suffix}{labels} {}", number(value))
    }
}

fn header(f: &mut fmt::Formatter<'_>, name: &str, kind: &str, unit: Option<&str>, help: &str) -> fmt::Result {
    writeln!(f, "# TYPE {name} {kind}")?;
    if let Some(unit) = unit {
        writeln!(f, "# UNIT {name} {unit}")?;
    }
    writeln!(f, "# HELP {name} {help}")
}

/// Formats a number as OpenMetrics does.
fn number(value: f64) -> String {
    if value == f64::INFINITY { "+Inf".to_owned() } else { value.to_string() }
}

/// Escapes a value between quotation marks.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Refuses names that OpenMetrics or this page gives another meaning.
fn check_name(name: &str) -> Result<(), LabelError> {
    let refuse = |what| Err(LabelError { name: name.to_owned(), what });
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(word) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return refuse("is not a valid label name; use letters, digits and underscores, not a digit first");
    }
    if name.starts_with("__") || matches!(name, "le" | "source") {
        return refuse("has a special meaning; use another name");
    }
    Ok(())
}
