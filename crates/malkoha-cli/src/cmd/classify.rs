//! `malkoha classify`: puts reads into classes by the labels of their words.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::cli::ClassifyArgs;
use crate::cmd::Outcome;
use crate::input::Origin;
use crate::reads::classes::{Class, Counts};
use crate::reads::outputs::Outputs;
use crate::reads::{Job, Pairing, ReadBlock};
use crate::report::Audience;
use crate::units::grouped;

/// What a class takes the place of in the name of a file.
const HOLE: &str = "{}";

/// Runs the subcommand.
pub(crate) fn run(args: &ClassifyArgs) -> Result<Outcome> {
    let job = Job::new(&args.filter, &args.records, args.out_mates.is_some())?;
    let labels = job.filter.labels();
    if labels.is_empty() {
        bail!("{} has no labels; build it with --label NAME=FILE", args.filter.display());
    }
    for label in labels {
        Class::check_label(label).with_context(|| format!("cannot use {}", args.filter.display()))?;
    }
    let names = Class::names(labels);
    let plan = Plan::new(args, &names)?;
    let outputs = Outputs::new(&plan.paths, &job.read())?;
    let aside = outputs.has_standard();
    let work = |block: &[u8], origin: &Origin, reads: &mut ReadBlock| {
        reads.read(block, origin);
        reads.begin_pieces(plan.paths.len());
        reads.classes.clear();
        reads.classes.resize(names.len(), 0);
        let (mut counts, mut of_units) = (Counts::new(labels.len()), Vec::with_capacity(reads.units.len()));
        let (mut wordless, of_unit) = (0, if job.pairing == Pairing::Single { 1 } else { 2 });
        reads.each_labels(block, &job.filter, job.rule, |sets| {
            wordless += if sets.is_empty() { of_unit } else { 0 };
            counts.clear();
            for set in sets {
                counts.add(*set);
            }
            of_units.push(counts.class().number(labels.len()));
        });
        reads.tally.wordless = wordless;
        for (at, class) in of_units.into_iter().enumerate() {
            let unit = reads.units[at];
            reads.classes[class] += 1;
            if let Some(file) = plan.files[class] {
                reads.keep(unit);
                reads.write(block, unit, file, job.pairing);
            }
        }
    };
    let mut classes = vec![0; names.len()];
    let tally = job.run(outputs, &work, &mut |reads| {
        classes.iter_mut().zip(&reads.classes).for_each(|(all, more)| *all += more);
    })?;
    let mut report = job.report(&tally);
    let units: u64 = classes.iter().sum();
    let what = if job.pairing == Pairing::Single { "records" } else { "pairs" };
    report.fact(what, grouped(units)).data("labels", labels).data("classified", units);
    let mut counts = Map::new();
    for (name, count) in names.iter().zip(&classes) {
        let share = 100.0 * *count as f64 / units.max(1) as f64;
        report.fact(name.clone(), format_args!("{} ({share:.2} %)", grouped(*count)));
        counts.insert(name.clone(), Value::from(*count));
    }
    report.fact("words", format_args!("{} {} asked", grouped(tally.words), job.words_in_words()));
    report.data("classes", Value::Object(counts)).data("records_written", tally.records_kept);
    job.report_time(&mut report, &tally);
    report.show(Audience { json: args.records.json, quiet: args.records.quiet, aside })?;
    Ok(Outcome::Done)
}

/// Which classes are written to which files.
struct Plan {
    /// All files; that of the mates is behind that of the reads.
    paths: Vec<PathBuf>,
    /// The number of the file for each class, if it is written.
    files: Vec<Option<usize>>,
}

impl Plan {
    fn new(args: &ClassifyArgs, names: &[String]) -> Result<Self> {
        let nothing = Self { paths: Vec::new(), files: vec![None; names.len()] };
        let Some(out) = &args.out else { return Ok(nothing) };
        if let Some(unknown) = args.only.iter().find(|class| !names.contains(class)) {
            bail!("there is no class {unknown}; the classes are {}", names.join(", "));
        }
        let patterns: Vec<&str> = [out].into_iter().chain(&args.out_mates).map(String::as_str).collect();
        let has_hole = out.contains(HOLE);
        if patterns.iter().any(|pattern| pattern.contains(HOLE) != has_hole) {
            bail!("either both -o and -O have {HOLE} in their names, or none of them");
        }
        if !has_hole && args.only.is_empty() {
            bail!(
                "all classes would go to {out}; put {HOLE} into the name for the class, or choose classes with --only"
            );
        }
        let mut plan = nothing;
        for (class, name) in names.iter().enumerate() {
            if !args.only.is_empty() && !args.only.contains(name) {
                continue;
            }
            if has_hole && name.contains(['/', '\\']) {
                bail!("the label {name} cannot be part of the name of a file; build the filter with another");
            }
            plan.files[class] = Some(if has_hole { plan.paths.len() } else { 0 });
            if has_hole || plan.paths.is_empty() {
                plan.paths.extend(patterns.iter().map(|pattern| PathBuf::from(pattern.replace(HOLE, name))));
            }
        }
        Ok(plan)
    }
}
