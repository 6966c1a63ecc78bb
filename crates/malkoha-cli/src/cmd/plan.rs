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
use crate::units::{
    brief_count, counted, grouped, rate_in_words, rounded_up, short_bytes, short_count, short_rate,
};
use crate::width::{self, paragraph, wrapped};

/// The plan of every kind.
struct Plan {
    offers: Vec<Geometry>,
    /// Kinds that cannot do it, and why.
    impossible: Vec<(Kind, String)>,
    recommended: Geometry,
    why: String,
}

/// The rate above which a filter is of no use: more than half of its positive answers would be wrong even if half of
/// the keys looked up were present.
const USELESS: f64 = 0.5;

/// Characters of the bars of the staircase.
const BAR: u64 = 18;

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
        out.line(paragraph(&wish(args), 0))?;
        out.line(paragraph(&format!("Recommended: {}", plan.why), 0))?;
        out.line(paragraph(&plan.outcome(args), 0))?;
        out.line(plan.how(&args.needs))?;
        out.line(format_args!("\n{}", plan.table(args).to_string().trim_end()))?;
        for kinds in plan.impossible.chunk_by(|one, other| one.1 == other.1) {
            let names: Vec<_> = kinds.iter().map(|(kind, _)| kind.to_string()).collect();
            let text = format!("not possible: {}: {}", names.join(", "), kinds[0].1);
            out.line(format_args!("  {}", paragraph(&text, 4)))?;
        }
        out.line(format_args!("\n{}", plan.legend()))?;
        if args.staircase {
            out.line(plan.staircase())?;
        }
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
            let mut able = Kind::USUAL.iter().filter(|kind| kind.meets(&args.needs));
            match able.next() {
                Some(_) if args.memory.is_some() && args.keys.is_some() => bail!("{}", too_little(args)),
                Some(&kind) => spec.kind(kind).plan()?,
                // It can, but not like this: its own refusal says why.
                None if Kind::Elastic.meets(&args.needs) => spec.kind(Kind::Elastic).plan()?,
                None => bail!("no kind can {}; give up one of these needs", needs::verbs(&args.needs)),
            };
            bail!("no filter can do this; ask for less");
        };
        let useless = |plan: &Geometry| args.memory.is_some() && plan.predicted_rate(plan.keys()) > USELESS;
        if useless(&advice.geometry) {
            bail!("{}", too_little(args));
        }
        let (mut offers, mut impossible) = (Vec::new(), Vec::new());
        for &kind in Kind::USUAL {
            match spec.kind(kind).plan() {
                Ok(plan) if useless(&plan) => {
                    let rate = short_rate(plan.predicted_rate(plan.keys()));
                    impossible.push((kind, format!("its rate would be {rate}")));
                }
                Ok(geometry) => offers.push(geometry),
                Err(malkoha::Error::Memory { least, .. }) => {
                    impossible.push((kind, format!("it takes at least {}", short_bytes(rounded_up(least)))));
                }
                Err(why) => impossible.push((kind, why.to_string())),
            }
        }
        let why = needs::sentence(&advice, &args.needs);
        Ok(Self { offers, impossible, recommended: advice.geometry, why })
    }

    /// States what the recommended filter would be, beyond what was requested.
    fn outcome(&self, args: &PlanArgs) -> String {
        let best = &self.recommended;
        let (memory, bits) = (short_bytes(best.bytes()), best.bits_per_key());
        let rate = rate_in_words(best.predicted_rate(best.keys()));
        match (args.keys, args.memory) {
            (None, _) => format!("{}, {bits:.2} bits per key", counted(best.keys(), "key")),
            (_, None) => format!("{memory}, {bits:.2} bits per key, rate {rate}"),
            _ => format!("rate {rate}, {memory}, {bits:.2} bits per key"),
        }
    }

    /// Returns the table of all kinds. Keys are shown only where they are what differs.
    fn table(&self, args: &PlanArgs) -> Table {
        let last = if args.keys.is_some() { "rate" } else { "keys" };
        let mut table = Table::new(&["kind", "bits/key", "memory", last, "lines", "can"], Style::of_output());
        for offer in &self.offers {
            let can = Need::ALL.iter().filter(|need| offer.kind().meets(&[**need]));
            let row = [
                offer.kind().to_string(),
                format!("{:.2}", offer.bits_per_key()),
                short_bytes(offer.bytes()),
                if args.keys.is_some() {
                    short_rate(offer.predicted_rate(offer.keys()))
                } else {
                    column_of_keys(offer.keys())
                },
                format!("{:.2}", offer.lines_per_lookup()),
                can.map(|need| letter(*need)).collect(),
            ];
            if *offer == self.recommended { table.push_marked(row) } else { table.push(row) }
        }
        table
    }

    /// Explains the table.
    fn legend(&self) -> String {
        let limit = theory::information_limit(-self.recommended.rate().log2());
        [
            "can: d delete, g grow (not with v), o overfill, v values".to_owned(),
            "lines: cache lines read to look up an absent key".to_owned(),
            format!("limit: {limit:.2} bits per key, for any filter that deletes"),
        ]
        .map(|line| paragraph(&line, 2))
        .join("\n")
    }

    /// Says how to build the recommended filter.
    fn how(&self, needs: &[Need]) -> String {
        let best = &self.recommended;
        let (kind, keys) = (best.kind(), best.keys());
        let (count, rate) = (brief_count(keys), brief_rate(best.rate()));
        if needs.contains(&Need::Values) {
            let rate = best.rate();
            format!(
                "Spec::new({keys}, {rate}).kind(Kind::{kind:?}).values(bits)\n{}",
                paragraph("In Rust only. The bits of the values come on top of the bits per key.", 0)
            )
        } else if needs.contains(&Need::Grow) {
            command(&format!("... | malkoha build -o FILE --kind {kind} -r {rate} -"))
        } else {
            command(&format!("malkoha build -o FILE --kind {kind} -n {count} -r {rate} IN"))
        }
    }

    /// Shows the memory of the classic filter around the planned number of keys, beside the recommended one.
    fn staircase(&self) -> String {
        let steps = self.steps();
        let most = steps.iter().map(|step| step.1.max(step.2)).max().unwrap_or(1);
        let marks =
            |bytes: u64| usize::try_from(u128::from(bytes) * u128::from(BAR) / u128::from(most)).unwrap_or(0);
        let head = format!("{:>15}  {:>9}  {:>12}", "keys", "classic:4", self.recommended.kind());
        let line = |(keys, classic, best): (u64, u64, u64)| {
            let more = marks(classic).saturating_sub(marks(best));
            let bar = ["#".repeat(marks(best)), "-".repeat(more)].concat();
            let (classic, best) = (short_bytes(classic), short_bytes(best));
            format!("{:>15}  {classic:>9}  {best:>12}  {bar}", grouped(keys))
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
                json!({ "kind": kind.to_string(), "why": why })
            }).collect::<Vec<_>>(),
            "recommended": best.kind().to_string(),
            "why": self.why,
            "information_limit": theory::information_limit(-best.rate().log2()),
            "staircase": self.steps().into_iter().map(step).collect::<Vec<_>>(),
        })
    }
}

/// States what was requested.
fn wish(args: &PlanArgs) -> String {
    let keys = args.keys.map(|keys| counted(keys, "key"));
    let rate = args.rate.map(|rate| format!("a rate of at most {}", rate_in_words(rate)));
    let memory = args.memory.map(|bytes| format!("{} of memory", short_bytes(bytes)));
    let wish: Vec<_> = [keys, rate, memory].into_iter().flatten().collect();
    wish.join(", ")
}

/// Returns the letter that stands for a need in the table.
fn letter(need: Need) -> char {
    need.name().chars().next().unwrap_or(' ')
}

/// Formats a number of keys so that a table with it fits 60 columns.
fn column_of_keys(keys: u64) -> String {
    if keys < 10_000_000_000 { grouped(keys) } else { short_count(keys as f64) }
}

/// Returns a command that fits standard output, indented, and continued as in a shell.
fn command(text: &str) -> String {
    let width = width::of_output().unwrap_or(usize::MAX);
    let room = if text.len() + 2 > width { width.saturating_sub(6) } else { usize::MAX };
    format!("  {}", wrapped(text, room).join(" \\\n      "))
}

/// Writes a rate briefly: exactly, or with three digits and a little higher, which takes no more memory.
fn brief_rate(rate: f64) -> String {
    let exact = [format!("{rate}"), format!("{rate:e}")];
    if let Some(exact) = exact.into_iter().find(|exact| exact.len() <= 7) {
        return exact;
    }
    let magnitude = rate.log10().floor();
    let step = 10f64.powf(magnitude - 2.0);
    let rounded = (rate / step).ceil() * step;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate from 0.0001 to 1")]
    if magnitude >= -4.0 {
        format!("{rounded:.0$}", (2.0 - magnitude) as usize)
    } else {
        format!("{rounded:.2e}")
    }
}

/// Says how much more memory a filter would need to be of use.
fn too_little(args: &PlanArgs) -> String {
    if let Some(rate) = args.rate.filter(|rate| *rate > USELESS) {
        return format!("at a rate of {rate}, most answers would be wrong; give a rate of at most {USELESS}");
    }
    let memory = short_bytes(args.memory.unwrap_or(0));
    let keys = args.keys.unwrap_or(1);
    let enough = Spec::new(keys, USELESS).recommend(&args.needs);
    let give = match enough {
        Ok(Some(advice)) => format!("give at least {}", short_bytes(rounded_up(advice.geometry.bytes()))),
        _ => "give more memory".to_owned(),
    };
    format!(
        "{memory} for {} is too little: most answers would be wrong; {give}, or fewer keys",
        counted(keys, "key")
    )
}
