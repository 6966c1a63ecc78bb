//! `malkoha info`: shows what a filter is and how full it is.

use anyhow::Result;
use malkoha::{Filter, KeyFormat};
use malkoha_metrics::Exposition;
use serde_json::{Value, json};

use crate::cli::InfoArgs;
use crate::cmd::Outcome;
use crate::output::Output;
use crate::report::Report;
use crate::units::{grouped, rate_in_words, short_bytes};
use crate::{filter_file, key_format, text};

/// Runs the subcommand.
pub(crate) fn run(args: &InfoArgs) -> Result<Outcome> {
    let filter = filter_file::open(&args.filter)?;
    let mut out = Output::new();
    if args.json {
        out.line(format_args!("{:#}", json(args, &filter)))?;
    } else if args.metrics {
        let mut page = Exposition::new();
        let (file, kind) = (args.filter.display().to_string(), filter.geometry().kind().to_string());
        page.add(&[("filter", &file), ("kind", &kind)], &filter.stats())?;
        out.write(page.to_string().as_bytes())?;
    } else {
        out.line(facts(args, &filter))?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

fn facts(args: &InfoArgs, filter: &Filter) -> Report {
    let (geometry, stats) = (filter.geometry(), filter.stats());
    let mut report = Report::default();
    report.fact("file", args.filter.display());
    let format = key_format::of(filter);
    if let Some(texts) = text::held(filter) {
        report.fact("holds", texts);
    } else if format != KeyFormat::Any {
        report.fact("holds", key_format::in_words(format));
    }
    report.fact("keys", format_args!("{} of {} planned", grouped(stats.items), grouped(geometry.keys())));
    report.fact("promise", rate_in_words(geometry.rate()));
    filter_file::describe(&mut report, filter);
    for link in &stats.links {
        report.fact(
            "link",
            format_args!(
                "{} of {} keys, {}",
                grouped(link.items),
                grouped(link.keys),
                short_bytes(link.memory_bytes)
            ),
        );
    }
    report.fact("stash", stats.stash_size);
    report
        .fact("bits/key", format_args!("{:.2}", stats.memory_bytes as f64 * 8.0 / stats.items.max(1) as f64));
    report.fact("seed", geometry.seed());
    report
}

fn json(args: &InfoArgs, filter: &Filter) -> Value {
    let (geometry, stats) = (filter.geometry(), filter.stats());
    let format = key_format::of(filter);
    json!({
        "file": args.filter.display().to_string(),
        "kind": geometry.kind().to_string(),
        "key_format": format.name(),
        "kmer": if let KeyFormat::Kmers { k } = format { Some(k) } else { None },
        "keys": stats.items,
        "planned_keys": geometry.keys(),
        "promised_rate": geometry.rate(),
        "predicted_rate": stats.predicted_rate,
        "bytes": stats.memory_bytes,
        "load": stats.load,
        "threshold": stats.threshold,
        "stash": stats.stash_size,
        "head_room": stats.head_room,
        "level": stats.level.to_string(),
        "links": stats.links.iter().map(|link| json!({
            "keys": link.items,
            "planned_keys": link.keys,
            "bytes": link.memory_bytes,
            "load": link.load,
            "predicted_rate": link.predicted_rate,
        })).collect::<Vec<_>>(),
        "seed": geometry.seed(),
    })
}
