//! `malkoha plan`: shows what every kind of filter needs, given two of keys, rate and memory.

use std::fs;

use anyhow::{Context, Result, bail};
use malkoha::{Geometry, Kind, Need, Spec, theory};
use serde_json::{Value, json};

use crate::cli::PlanArgs;
use crate::cmd::Outcome;
use crate::figure;
use crate::needs;
use crate::output::Output;
use crate::table::{Style, Table};
use crate::units::{grouped, rate_in_words, short_bytes, short_rate};

/// The plan of every kind.
struct Plan {
    offers: Vec<Geometry>,
    impossible: Vec<(Kind, malkoha::Error)>,
    recommended: Geometry,
    why: String,
}

/// Runs the subcommand.
pub(crate) fn run(args: &PlanArgs) -> Result<Outcome> {
    let plan = Plan::new(args)?;
    let best = &plan.recommended;
    if let Some(path) = &args.svg {
        fs::write(path, figure::plan::draw(best.keys(), best.rate()))
            .with_context(|| format!("cannot write the figure to {}", path.display()))?;
    }
    let mut out = Output::new();
    if args.json {
        out.line(format_args!("{:#}", plan.json()))?;
    } else {
        out.line(plan.wish(args))?;
        out.line(plan.table())?;
        for (kind, why) in &plan.impossible {
            out.line(format_args!("  {kind} is not possible: {why}"))?;
        }
        out.line("Lines are the cache lines read to look up an absent key.\n")?;
        out.line(format_args!("Recommended is {}", plan.why))?;
        out.line(plan.how(&args.needs))?;
        out.line(plan.staircase())?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

impl Plan {
    fn new(args: &PlanArgs) -> Result<Self> {
        let spec = match (args.keys, args.rate, args.memory) {
            (Some(keys), Some(rate), None) => Spec::new(keys, rate),
            (Some(keys), None, Some(bytes)) => Spec::keys_in_memory(keys, bytes),
            (None, Some(rate), Some(bytes)) => Spec::rate_in_memory(rate, bytes),
            (Some(_), Some(_), Some(_)) => {
                bail!("--keys, --rate and --memory leave nothing to plan; give two of them")
            }
            _ => {
                bail!("give two of --keys, --rate and --memory, as in: malkoha plan --keys 100M --rate 0.1%")
            }
        };
        let Some(advice) = spec.recommend(&args.needs)? else {
            bail!("no kind can {}; give up one of these needs", needs::verbs(&args.needs));
        };
        let (mut offers, mut impossible) = (Vec::new(), Vec::new());
        for &kind in Kind::USUAL {
            match spec.kind(kind).plan() {
                Ok(geometry) => offers.push(geometry),
                Err(why) => impossible.push((kind, why)),
            }
        }
        let why = needs::sentence(&advice, &args.needs);
        Ok(Self { offers, impossible, recommended: advice.geometry, why })
    }

    /// States what was requested, and the information limit.
    fn wish(&self, args: &PlanArgs) -> String {
        let keys = args.keys.map(|keys| format!("{} keys", grouped(keys)));
        let rate = args.rate.map(|rate| format!("a rate of at most {}", rate_in_words(rate)));
        let memory = args.memory.map(|bytes| format!("{} of memory", short_bytes(bytes)));
        let wish: Vec<_> = [keys, rate, memory].into_iter().flatten().collect();
        let limit = theory::information_limit(-self.recommended.rate().log2());
        format!(
            "{}; no filter with inserts and deletes can use less than {limit:.2} bits per key{}\n",
            wish.join(", "),
            if args.rate.is_some() { "" } else { " at the recommended one's rate" }
        )
    }

    fn table(&self) -> Table {
        let columns = ["kind", "bits/key", "memory", "keys", "rate", "load", "lines", "can"];
        let mut table = Table::new(&columns, Style::of_output());
        for offer in &self.offers {
            let can = Need::ALL.iter().filter(|need| offer.kind().meets(&[**need])).map(ToString::to_string);
            let row = [
                offer.kind().to_string(),
                format!("{:.2}", offer.bits_per_key()),
                short_bytes(offer.bytes()),
                grouped(offer.keys()),
                short_rate(offer.predicted_rate(offer.keys())),
                format!("{:.3}", offer.load()),
                format!("{:.2}", offer.lines_per_lookup()),
                can.collect::<Vec<_>>().join(" "),
            ];
            if *offer == self.recommended { table.push_marked(row) } else { table.push(row) }
        }
        table
    }

    /// Says how to build the recommended filter.
    fn how(&self, needs: &[Need]) -> String {
        let best = &self.recommended;
        let (kind, keys, rate) = (best.kind(), best.keys(), best.rate());
        if needs.contains(&Need::Values) {
            format!(
                "Build it in Rust: Spec::new({keys}, {rate}).kind(Kind::{kind:?}).values(bits)\n\
                 The bits of the values come on top of the bits per key."
            )
        } else if needs.contains(&Need::Grow) {
            format!(
                "Build it from a stream, with which it grows: ... | malkoha build -o FILE --kind {kind} --rate \
                 {rate} -"
            )
        } else {
            format!("Build it: malkoha build -o FILE --kind {kind} --keys {keys} --rate {rate} INPUT")
        }
    }

    /// Shows the memory of the classic filter around the planned number of keys, beside the recommended one.
    fn staircase(&self) -> String {
        let steps = self.steps();
        let most = steps.iter().map(|step| step.1.max(step.2)).max().unwrap_or(1);
        let marks = |bytes: u64| usize::try_from(u128::from(bytes) * 40 / u128::from(most)).unwrap_or(40);
        let head = format!("{:>15}  {:>10}  {:>10}", "keys", "classic:4", self.recommended.kind());
        let line = |(keys, classic, best): (u64, u64, u64)| {
            let more = marks(classic).saturating_sub(marks(best));
            let bar = ["#".repeat(marks(best)), "-".repeat(more)].concat();
            let (classic, best) = (short_bytes(classic), short_bytes(best));
            format!("{:>15}  {classic:>10}  {best:>10}  {bar}", grouped(keys))
        };
        let lines: Vec<_> = steps.into_iter().map(line).collect();
        format!(
            "\nThe staircase: classic:4 comes in powers of two.\n\n{head}\n{}\n\n# {}, - what classic:4 takes beyond it",
            lines.join("\n"),
            self.recommended.kind()
        )
    }

    /// Returns numbers of keys, each with the bytes of the classic and of the recommended filter.
    fn steps(&self) -> Vec<(u64, u64, u64)> {
        let best = &self.recommended;
        let bytes = |keys, kind| Spec::new(keys, best.rate()).kind(kind).plan().map(|plan| plan.bytes()).ok();
        let steps = (4..=16u64).map(|eighths| (best.keys() / 8).max(1) * eighths);
        steps
            .filter_map(|keys| Some((keys, bytes(keys, Kind::Classic(4))?, bytes(keys, best.kind())?)))
            .collect()
    }

    fn json(&self) -> Value {
        let best = &self.recommended;
        let kind = |offer: &Geometry| {
            let can = |need: Need| offer.kind().meets(&[need]);
            json!({
                "kind": offer.kind().to_string(),
                "bits_per_key": offer.bits_per_key(),
                "bytes": offer.bytes(),
                "keys": offer.keys(),
                "load": offer.load(),
                "rate": offer.predicted_rate(offer.keys()),
                "lines_per_lookup": offer.lines_per_lookup(),
                "delete": can(Need::Delete),
                "grow": can(Need::Grow),
                "overfill": can(Need::Overfill),
                "values": can(Need::Values),
                "recommended": offer == best,
            })
        };
        let step = |(keys, classic, best): (u64, u64, u64)| json!({ "keys": keys, "classic_bytes": classic, "recommended_bytes": best });
        json!({
            "kinds": self.offers.iter().map(kind).collect::<Vec<_>>(),
            "impossible": self.impossible.iter().map(|(kind, why)| {
                json!({ "kind": kind.to_string(), "why": why.to_string() })
            }).collect::<Vec<_>>(),
            "recommended": best.kind().to_string(),
            "why": self.why,
            "information_limit": theory::information_limit(-best.rate().log2()),
            "staircase": self.steps().into_iter().map(step).collect::<Vec<_>>(),
        })
    }
}
