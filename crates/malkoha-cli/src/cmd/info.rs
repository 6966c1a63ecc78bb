//! `malkoha info`: shows what filters are and how full they are.

use std::path::Path;

use anyhow::Result;
use malkoha::{Filter, GrowthStats, KeyFormat};
use malkoha_metrics::Exposition;
use serde_json::Value;

use crate::cli::InfoArgs;
use crate::cmd::Outcome;
use crate::message::note;
use crate::output::Output;
use crate::report::Report;
use crate::units::{counted, grouped, rate_in_words, short_bytes};
use crate::{filter_file, key_format, text};

/// Runs the subcommand. A file that is no filter is reported, and the others are shown.
pub(crate) fn run(args: &InfoArgs) -> Result<Outcome> {
    let (mut out, mut page, mut objects) = (Output::new(), Exposition::new(), Vec::new());
    let mut outcome = Outcome::Done;
    let mut shown = false;
    for path in &args.filters {
        let filter = match filter_file::open_with_care(path) {
            Ok(filter) => filter,
            Err(error) => {
                note(format_args!("{error:#}"));
                outcome = Outcome::Failed;
                continue;
            }
        };
        if args.metrics {
            let (file, kind) = (path.display().to_string(), filter.geometry().kind().to_string());
            page.add(&[("filter", &file), ("kind", &kind)], &filter.stats())?;
        } else if args.json {
            objects.push(report(path, &filter).into_json());
        } else {
            let gap = if shown { "\n" } else { "" };
            out.line(format_args!("{gap}{}", report(path, &filter).for_output()))?;
        }
        shown = true;
    }
    if args.metrics {
        out.write(page.to_string().as_bytes())?;
    }
    if args.json {
        match objects.as_slice() {
            [only] if args.filters.len() == 1 => out.line(format_args!("{only:#}"))?,
            // Where an object is expected, no list comes.
            [] if args.filters.len() == 1 => {}
            _ => out.line(format_args!("{:#}", Value::Array(objects)))?,
        }
    }
    out.finish()?;
    Ok(outcome)
}

fn report(path: &Path, filter: &Filter) -> Report {
    let (geometry, stats) = (filter.geometry(), filter.stats());
    let mut report = Report::default();
    report.fact("file", filter_file::name(path)).data("file", path.display().to_string());
    let format = key_format::of(filter);
    if let Some(texts) = text::held(filter) {
        report.fact("holds", texts);
    } else if format != KeyFormat::Any {
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
    if let Some(why) = filter_file::broken_promise(filter, &stats) {
        report.fact("warning", why);
    }
    if let Some(growth) = stats.growth {
        let (regions, overflow) = (counted(growth.regions, "region"), counted(growth.overflow, "key"));
        report.fact("regions", format_args!("{regions}, and {overflow} in their overflow"));
        report.fact("steps", steps(&growth));
        report.fact("lengths", lengths(filter));
    }
    for link in &stats.links {
        let keys = counted(link.keys, "key");
        report.fact(
            "link",
            format_args!("{} of {keys}, {}", grouped(link.items), short_bytes(link.memory_bytes)),
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
