//! `malkoha info`: shows what a filter is and how full it is.

use anyhow::Result;
use malkoha::{Filter, GrowthStats, KeyFormat};
use malkoha_metrics::Exposition;
use serde_json::{Value, json};

use crate::cli::InfoArgs;
use crate::cmd::Outcome;
use crate::output::Output;
use crate::report::Report;
use crate::units::{grouped, rate_in_words, short_bytes};
use crate::{filter_file, key_format};

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
        out.line(text(args, &filter))?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

fn text(args: &InfoArgs, filter: &Filter) -> Report {
    let (geometry, stats) = (filter.geometry(), filter.stats());
    let mut report = Report::default();
    report.fact("file", args.filter.display());
    let format = key_format::of(filter);
    if format != KeyFormat::Any {
        report.fact("holds", key_format::in_words(format));
    }
    match stats.growth {
        Some(growth) => {
            let promised = grouped(growth.promised_keys);
            report.fact("keys", format_args!("{}; the promise is for up to {promised}", grouped(stats.items)))
        }
        None => report
            .fact("keys", format_args!("{} of {} planned", grouped(stats.items), grouped(geometry.keys()))),
    };
    report.fact("promise", rate_in_words(geometry.rate()));
    filter_file::describe(&mut report, filter);
    if let Some(growth) = stats.growth {
        let (regions, overflow) = (grouped(growth.regions), grouped(growth.overflow));
        report.fact("regions", format_args!("{regions}, and {overflow} keys in their overflow"));
        report.fact("steps", steps(&growth));
        report.fact("lengths", lengths(filter));
    }
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

/// How a filter has grown since it was read.
fn steps(growth: &GrowthStats) -> String {
    let (grown, shrunk) = (grouped(growth.steps), grouped(growth.shrinks));
    let longest = growth.longest_step.as_secs_f64() * 1e3;
    format!("{grown} of growth and {shrunk} of shrinking since it was opened, {longest:.3} ms at most")
}

/// How many fingerprints have which length.
fn lengths(filter: &Filter) -> String {
    let lengths = filter.fingerprint_lengths();
    let lengths = lengths.iter().map(|(bits, copies)| format!("{} of {bits} bits", grouped(*copies)));
    lengths.collect::<Vec<_>>().join(", ")
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
        "growth": stats.growth.map(|growth| json!({
            "regions": growth.regions,
            "steps": growth.steps,
            "shrinks": growth.shrinks,
            "longest_step_seconds": growth.longest_step.as_secs_f64(),
            "overflow": growth.overflow,
            "promised_keys": growth.promised_keys,
            "fingerprint_lengths": filter.fingerprint_lengths().into_iter()
                .map(|(bits, copies)| json!({ "bits": bits, "copies": copies })).collect::<Vec<_>>(),
        })),
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
