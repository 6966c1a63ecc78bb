//! Reads the OpenMetrics text with a strict parser, and checks the alert rules against the existing names.

use std::collections::{BTreeMap, BTreeSet};

use malkoha::{Generations, Kind, Level, Spec, Stats};
use malkoha_metrics::{Exposition, Meter};

/// One line of a page that carries a value.
#[derive(Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// All samples of one name.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    unit: Option<String>,
    help: Option<String>,
    samples: Vec<Sample>,
}

/// Reads a page, and panics at anything that OpenMetrics 1.0 does not allow, naming the line.
fn parse(page: &str) -> BTreeMap<String, Family> {
    let body = page.strip_suffix("# EOF\n").expect("a page ends with # EOF");
    let mut families = BTreeMap::<String, Family>::new();
    let mut current = String::new();
    for line in body.lines() {
        if let Some(words) = line.strip_prefix("# ") {
            let mut words = words.splitn(3, ' ');
            let (key, name, text) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            if name != current {
                assert_eq!(key, "TYPE", "{line}: a family begins with its type");
                assert!(!families.contains_key(name), "{line}: the samples of a family stand together");
                assert!(is_name(name, true), "{line}");
                name.clone_into(&mut current);
            }
            let family = families.entry(name.to_owned()).or_default();
            assert!(family.samples.is_empty(), "{line}: what is said of a family stands before its samples");
            match key {
                "TYPE" => {
                    assert!(
                        family.kind.is_empty() && ["gauge", "counter", "histogram"].contains(&text),
                        "{line}"
                    );
                    text.clone_into(&mut family.kind);
                }
                "UNIT" => {
                    assert!(name.ends_with(&format!("_{text}")), "{line}: the unit ends the name");
                    assert!(family.unit.replace(text.to_owned()).is_none(), "{line}");
                }
                "HELP" => assert!(family.help.replace(text.to_owned()).is_none(), "{line}"),
                _ => panic!("{line}: what is this?"),
            }
        } else {
            let sample = sample(line);
            let family = families.get_mut(&current).expect("a sample belongs to a family");
            let suffix =
                sample.name.strip_prefix(&current).unwrap_or_else(|| panic!("{line}: not of {current}"));
            let allowed: &[&str] = match family.kind.as_str() {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_count", "_sum"],
                _ => &[""],
            };
            assert!(allowed.contains(&suffix), "{line}: no sample of a {}", family.kind);
            assert_eq!(sample.labels.contains_key("le"), suffix == "_bucket", "{line}");
            let same = |other: &Sample| (&other.name, &other.labels) == (&sample.name, &sample.labels);
            assert!(!family.samples.iter().any(same), "{line}: twice");
            family.samples.push(sample);
        }
    }
    families
}

fn is_name(name: &str, colons: bool) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || colons && c == ':';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}: no value"));
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name, true), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}: no label"));
            assert!(is_name(label, false), "{line}");
            let mut value = String::new();
            let mut chars = after.char_indices();
            let closed = loop {
                match chars.next().unwrap_or_else(|| panic!("{line}: no closing quotation mark")) {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match chars.next().unwrap().1 {
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        c => panic!("{line}: \\{c}"),
                    }),
                    (_, c) => value.push(c),
                }
            };
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}: {label} twice");
            rest = &after[closed + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap_or_else(|| panic!("{line}: no closing brace"));
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}: no value"));
    assert!(!value.contains(' ') && !value.contains("inf"), "{line}");
    let value =
        if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap_or_else(|_| panic!("{line}")) };
    Sample { name: name.to_owned(), labels, value }
}

/// Returns the value of one sample.
fn value(families: &BTreeMap<String, Family>, name: &str, labels: &[(&str, &str)]) -> f64 {
    let wanted: BTreeMap<_, _> =
        labels.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let mut samples = families.values().flat_map(|family| &family.samples);
    let found = samples.find(|sample| sample.name == name && sample.labels == wanted);
    found.unwrap_or_else(|| panic!("no {name} {labels:?}")).value
}

fn names(families: &BTreeMap<String, Family>) -> BTreeSet<String> {
    families.values().flat_map(|family| &family.samples).map(|sample| sample.name.clone()).collect()
}

/// Returns a page of two filters, the first with a meter that saw 1000 lookups.
fn page() -> (String, Stats, Stats) {
    let mut users = Spec::new(500, 0.01).build().unwrap();
    while users.stats().insert_failures < 3 {
        let _ = users.insert(&users.len());
    }
    let events = Spec::new(5000, 0.001).kind(Kind::Blocked(2)).sharded(4).build().unwrap();
    events.insert_slice(&(0..4000u64).collect::<Vec<_>>()).unwrap();
    let meter = Meter::new(2);
    for key in 0..1000u64 {
        if meter.lookup(|| users.contains(&(key * 100))) {
            if key * 100 < users.len() { meter.confirm() } else { meter.refute() }
        }
    }
    let mut exposition = Exposition::new();
    exposition.add_metered(&[("filter", "users")], &users.stats(), &meter).unwrap();
    exposition.add(&[("zone", "a \"b\" \\ c\nd"), ("filter", "events")], &events.stats()).unwrap();
    (exposition.to_string(), users.stats(), events.stats())
}

#[test]
fn a_page_of_two_filters_is_what_openmetrics_allows_and_says_what_they_say() {
    let (page, users, events) = page();
    let families = parse(&page);
    for (name, family) in &families {
        assert!(family.help.as_ref().is_some_and(|help| help.ends_with('.')), "{name} is explained");
        assert!(!family.samples.is_empty(), "{name}");
    }
    let first = [("filter", "users")];
    let second = [("filter", "events"), ("zone", "a \"b\" \\ c\nd")];
    for (stats, labels) in [(&users, &first[..]), (&events, &second[..])] {
        let value = |name| value(&families, name, labels);
        assert_eq!(value("cf_items"), stats.items as f64);
        assert_eq!(value("cf_slots"), stats.slots as f64);
        assert_eq!(value("cf_load_factor"), stats.load);
        assert_eq!(value("cf_load_threshold"), stats.threshold);
        assert_eq!(value("cf_head_room"), stats.head_room as f64);
        assert_eq!(value("cf_memory_bytes"), stats.memory_bytes as f64);
        assert_eq!(value("cf_stash_size"), stats.stash_size as f64);
        assert_eq!(value("cf_insert_failures_total"), stats.insert_failures as f64);
        assert_eq!(value("cf_relocation_kicks_avg"), stats.steps_mean);
        assert_eq!(value("cf_relocation_kicks_max"), stats.steps_max as f64);
        assert_eq!(value("cf_false_positive_target"), stats.promised_rate);
    }
    assert_eq!(users.insert_failures, 3);
    let predicted =
        value(&families, "cf_false_positive_estimate", &[("filter", "users"), ("source", "predicted")]);
    assert_eq!(predicted, users.predicted_rate);
    let sampled =
        value(&families, "cf_false_positive_estimate", &[("filter", "users"), ("source", "sampled")]);
    assert!((0.0..0.05).contains(&sampled), "{sampled}");
}

#[test]
fn the_histogram_adds_up() {
    let families = parse(&page().0);
    let family = &families["cf_lookup_latency_seconds"];
    assert_eq!((family.kind.as_str(), family.unit.as_deref()), ("histogram", Some("seconds")));
    let buckets: Vec<_> = family.samples.iter().filter(|sample| sample.name.ends_with("_bucket")).collect();
    assert!(buckets.is_sorted_by_key(|bucket| bucket.value), "buckets count all that is not longer");
    let ends: Vec<f64> =
        buckets.iter().map(|bucket| bucket.labels["le"].replace("+Inf", "inf").parse().unwrap()).collect();
    assert!(ends.is_sorted() && ends.last() == Some(&f64::INFINITY));
    let users = [("filter", "users")];
    let count = value(&families, "cf_lookup_latency_seconds_count", &users);
    assert_eq!(buckets.last().unwrap().value, count);
    assert_eq!(count, 500.0, "every other of 1000 lookups");
    assert_eq!(value(&families, "cf_lookups_total", &users), 1000.0);
    let p99 = value(&families, "cf_lookup_latency_p99", &users);
    let within = buckets.iter().zip(&ends).find(|(_, end)| **end == p99).unwrap().0.value;
    assert!(within >= 0.99 * count);
    assert!(value(&families, "cf_lookup_latency_seconds_sum", &users) > 0.0);
}

#[test]
fn pages_without_filters_meters_or_labels_are_pages_too() {
    assert!(names(&parse(&Exposition::new().to_string())).is_empty());
    let mut exposition = Exposition::new();
    exposition.add(&[], &Spec::new(10, 0.1).build().unwrap().stats()).unwrap();
    let families = parse(&exposition.to_string());
    assert_eq!(value(&families, "cf_items", &[]), 0.0);
    assert!(!families.contains_key("cf_lookups"));
}

#[test]
fn labels_that_mean_something_else_are_refused() {
    let stats = Spec::new(10, 0.1).build().unwrap().stats();
    let mut exposition = Exposition::new();
    for name in ["", "9lives", "with space", "with-dash", "umlaut\u{e4}", "__name__", "le", "source"] {
        let refused = exposition.add(&[(name, "x")], &stats).unwrap_err();
        assert_eq!(refused.name, name, "{refused}");
    }
    assert!(exposition.add(&[("a", "1"), ("a", "2")], &stats).is_err(), "twice");
    exposition.add(&[("a", "1"), ("b", "2")], &stats).unwrap();
    let refused = exposition.add(&[("b", "2"), ("a", "1")], &stats).unwrap_err();
    assert!(refused.to_string().contains("give each filter labels of its own"), "{refused}");
    assert_eq!(parse(&exposition.to_string())["cf_items"].samples.len(), 1, "what was refused is not there");
}

#[test]
fn a_growing_filter_says_how_it_has_grown() {
    let mut growing = Spec::rate(0.001).build().unwrap();
    (0..20_000u64).for_each(|key| growing.insert(&key).unwrap());
    (0..100).for_each(|_| growing.insert(&7u64).unwrap());
    (1000..20_000u64).for_each(|key| assert!(growing.remove(&key).unwrap()));
    let mut exposition = Exposition::new();
    exposition.add(&[("filter", "growing")], &growing.stats()).unwrap();
    exposition.add(&[("filter", "planned")], &Spec::new(10, 0.1).build().unwrap().stats()).unwrap();
    let families = parse(&exposition.to_string());
    let figures = |filter: &str| {
        [
            "cf_regions",
            "cf_growth_steps_total",
            "cf_shrink_steps_total",
            "cf_longest_growth_step_seconds",
            "cf_overflow",
            "cf_promised_keys",
        ]
        .map(|name| value(&families, name, &[("filter", filter)]))
    };
    let growth = growing.stats().growth.unwrap();
    assert!(growth.steps > 10 && growth.shrinks > 10 && growth.overflow > 0, "{growth:?}");
    let counts = [growth.regions, growth.steps, growth.shrinks].map(|count| count as f64);
    let [regions, steps, shrinks, longest, overflow, promised] = figures("growing");
    assert_eq!([regions, steps, shrinks], counts);
    assert_eq!(longest, growth.longest_step.as_secs_f64());
    assert_eq!([overflow, promised], [growth.overflow, growth.promised_keys].map(|count| count as f64));
    assert_eq!(figures("planned"), [0.0; 6]);
}

/// Returns the names of metrics in a text.
fn names_in(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("cf_"))
        .collect()
}

#[test]
fn rules_and_handbook_use_only_names_that_there_are() {
    let there_are = names(&parse(&page().0));
    let alerts = include_str!("../../../docs/alerts.yml");
    let handbook = include_str!("../../../docs/OPERATIONS.md");
    for (text, least) in [(alerts, 6), (handbook, 10)] {
        let used = names_in(text);
        assert!(used.len() >= least, "{used:?}");
        for name in used {
            let family =
                there_are.iter().any(|there_is| there_is == name || *there_is == format!("{name}_bucket"));
            assert!(family, "{name} is not exported");
        }
    }
    // The six well-known names of the handbook.
    for name in [
        "cf_load_factor",
        "cf_insert_failures_total",
        "cf_stash_size",
        "cf_false_positive_estimate",
        "cf_lookup_latency_p99",
        "cf_relocation_kicks_avg",
    ] {
        assert!(there_are.contains(name) && alerts.contains(name) && handbook.contains(name), "{name}");
    }
}

/// Returns the rule of an alert as written in the file.
fn rule(alert: &str) -> &'static str {
    let alerts = include_str!("../../../docs/alerts.yml");
    let (_, after) = alerts.split_once(&format!("- alert: {alert}\n")).expect("there is such an alert");
    after.trim_start().strip_prefix("expr: ").and_then(|rest| rest.lines().next()).expect("it has a rule")
}

/// Growing filters and windows often have little head-room, and need none.
#[test]
fn nobody_is_called_because_a_filter_grows() {
    assert_eq!(
        rule("FilterNearlyFull"),
        "cf_head_room < 0.1 * (cf_items + cf_head_room) and cf_grows == 0",
        "the rule that is followed below"
    );
    let mut exposition = Exposition::new();
    let mut growing = Spec::new(100, 0.01).growing().build().unwrap();
    let mut chain = Spec::new(100, 0.01).kind(Kind::Bloom).growing().build().unwrap();
    let mut window = Generations::of_keys(&Spec::new(300, 0.01), 4).unwrap();
    let mut single = Spec::new(100, 0.01).build().unwrap();
    while growing.stats().head_room * 10 >= growing.len() {
        growing.insert(&growing.len()).unwrap();
    }
    (0..99u64).for_each(|key| chain.insert(&key).unwrap());
    while single.stats().level == Level::Room {
        single.insert(&single.len()).unwrap();
    }
    (0..399u64).for_each(|key| window.insert(&key).unwrap());
    exposition.add(&[("filter", "growing")], &growing.stats()).unwrap();
    exposition.add(&[("filter", "chain")], &chain.stats()).unwrap();
    exposition.add(&[("filter", "window")], &window.stats()).unwrap();
    exposition.add(&[("filter", "single")], &single.stats()).unwrap();
    let families = parse(&exposition.to_string());
    for (filter, grows) in [("growing", true), ("chain", true), ("window", true), ("single", false)] {
        let value = |name| value(&families, name, &[("filter", filter)]);
        let little = value("cf_head_room") < 0.1 * (value("cf_items") + value("cf_head_room"));
        assert!(little, "{filter}: there is something to be silent about");
        assert_eq!(value("cf_grows"), f64::from(u8::from(grows)), "{filter}");
    }
    assert_eq!((growing.stats().level, window.stats().level), (Level::Room, Level::Room));
    assert_eq!(single.stats().level, Level::NearlyFull);
}

/// What the rules would say of a growing filter at any size: nothing, unless something is wrong with its keys.
#[test]
fn nobody_is_called_while_a_filter_grows_and_somebody_if_its_keys_are_chosen() {
    assert_eq!(
        rule("FilterAtTheCliff"),
        "cf_load_factor > 0.985 * cf_load_threshold and cf_load_threshold < 1 and cf_grows == 0"
    );
    assert_eq!(rule("FilterOverflows"), "cf_overflow > 100 and cf_overflow > 0.01 * cf_items");
    assert_eq!(rule("FilterBeyondPromise"), "cf_promised_keys > 0 and cf_items > cf_promised_keys");
    let overflows = |stats: &Stats| {
        let overflow = stats.growth.unwrap().overflow;
        overflow > 100 && overflow as f64 > 0.01 * stats.items as f64
    };
    let mut filter = Spec::rate(0.001).build().unwrap();
    for key in 0..300_000u64 {
        filter.insert(&key).unwrap();
        if key % 1000 == 0 {
            let stats = filter.stats();
            assert!(stats.grows && !overflows(&stats), "{stats}");
            assert!(stats.steps_mean < 12.0 && stats.predicted_rate <= stats.promised_rate, "{stats}");
        }
    }
    (0..5000).for_each(|_| filter.insert(&7u64).unwrap());
    assert!(overflows(&filter.stats()), "one key, stored again and again: {}", filter.stats());
    let mut small = Spec::rate(0.001).most_keys(1000).build().unwrap();
    let promised = small.stats().growth.unwrap().promised_keys;
    assert!((1000..20_000).contains(&promised), "{promised}");
    (0..=promised).for_each(|key| small.insert(&key).unwrap());
    assert!(small.stats().items > promised);
}

#[test]
fn thresholds_are_silent_at_the_plan_and_speak_before_a_refusal() {
    for kind in [
        Kind::Sorted,
        Kind::Windowed(2),
        Kind::Windowed(4),
        Kind::Flexible(2),
        Kind::Flexible(4),
        Kind::Classic(4),
        Kind::Simplified(4),
    ] {
        let mut filter = Spec::new(200_000, 0.001).kind(kind).build().unwrap();
        let cliff = |stats: &Stats| stats.load > 0.985 * stats.threshold;
        let mut keys = 0..u64::MAX;
        while filter.len() < filter.geometry().keys() {
            filter.insert(&keys.next().unwrap()).unwrap();
        }
        let plan = filter.stats();
        assert!(!cliff(&plan) && plan.stash_size == 0 && plan.steps_mean < 10.0, "{kind}: {plan}");
        // The first key in the stash, and the first refusal.
        let mut aside = None;
        while filter.insert(&keys.next().unwrap()).is_ok() {
            if aside.is_none() && filter.len().is_multiple_of(16) {
                aside = Some(filter.stats()).filter(|stats| stats.stash_size > 0);
            }
        }
        let (aside, end) = (aside.unwrap(), filter.stats());
        assert!(aside.load > 0.985 * aside.threshold, "{kind}: {aside}");
        assert!(cliff(&end) && end.stash_size > 0 && end.head_room == 0, "{kind}: {end}");
        println!(
            "{kind:<12} plan: {:.1} kicks, {:.3} of the threshold; stash from {:.4}; refusal: {:.1} kicks, {:.4}",
            plan.steps_mean,
            plan.load / plan.threshold,
            aside.load / aside.threshold,
            end.steps_mean,
            end.load / end.threshold
        );
    }
}
