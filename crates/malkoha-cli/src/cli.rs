//! The arguments: declarations only. Help, shell completions and the man page all come from here.

use std::path::PathBuf;

use clap::builder::styling::AnsiColor;
use clap::builder::{RangedI64ValueParser, RangedU64ValueParser, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use malkoha::{KeyFormat, Kind, Need};

use crate::needs;
use crate::units;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

const UNITS: &str = "\
Counts and bytes: k, M, G, T are powers of ten in either case, Ki, Mi, Gi, Ti powers of two; also 1e8 and 2^27.
Rates: 0.001, 0.1%, 1/1000, 2^-10, 1e-3.
Kinds: classic, semisorted, simplified, flexible, windowed, sorted, bloom, blocked, with slots or choices behind
a colon where they vary: windowed:2, flexible:4, blocked:3.
Input: gz, zst, xz and bz2 are recognised by their content; - is standard input.
Exit status: 0 success, for `query` something matched; 1 `query` found nothing; 2 an error. An interrupted program
dies of its signal, which shells show as 130 or 143.";

/// The most threads that can be asked for.
pub(crate) const MOST_THREADS: usize = 64;

/// Reads a number of threads.
fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MOST_THREADS as u64)
}

/// Reads a length of DNA words.
fn word_length() -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=i64::from(KeyFormat::MOST_K))
}

/// Membership filters that never lose a key: plan, build, query, deduplicate, inspect.
///
/// A filter answers "is this key in the set?" from about 12 bits per key: no is certain, yes is wrong with a
/// rate that you choose.
#[derive(Debug, Parser)]
#[command(name = "malkoha", version, styles = STYLES, after_help = UNITS, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put ten million keys through every kind of filter and show what was predicted beside what is measured.
    Demo(DemoArgs),
    /// Show what every kind of filter needs, from two of keys, rate and memory.
    #[command(after_help = UNITS)]
    Plan(PlanArgs),
    /// Store the keys of files in a new filter.
    #[command(after_help = UNITS)]
    Build(BuildArgs),
    /// Print the keys that a filter may hold.
    Query(QueryArgs),
    /// Store more keys in a filter.
    Add(AddArgs),
    /// Remove keys from a filter. Only keys that are stored may be removed: another one may take the place of
    /// a stored key that looks the same, and that key is then no longer found.
    ///
    /// Of a filter made by build, add or merge without --copies, about half the rate of the keys share the
    /// entry of another key; removing one of the two makes both disappear. Give every key once.
    Remove(ChangeArgs),
    /// Unite filters of equal geometry into a new one; a filter merged without --copies is not safe for
    /// removals.
    Merge(MergeArgs),
    /// Show what a filter is and how full it is.
    Info(InfoArgs),
    /// Check every byte of filters.
    Verify(VerifyArgs),
    /// Print the first occurrence of every line.
    #[command(after_help = UNITS)]
    Dedup(DedupArgs),
    /// Print the completions of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page.
    Man,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keys that every filter takes.
    #[arg(long, default_value = "10M", value_parser = units::count)]
    pub(crate) keys: u64,

    /// The rate that every filter is planned for.
    #[arg(long, default_value = "2^-10", value_parser = units::rate)]
    pub(crate) rate: f64,

    /// Threads, 1 to 64; as many as there are cores unless told.
    #[arg(long, short = 'j', value_parser = threads())]
    pub(crate) threads: Option<usize>,

    /// Print only the table, as Markdown.
    #[arg(long)]
    pub(crate) markdown: bool,

    /// The folder for the filter file and the figure, made if it is not there.
    #[arg(long, short, default_value = "malkoha-demo")]
    pub(crate) out: PathBuf,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct PlanArgs {
    /// Keys to store.
    #[arg(long, short = 'n', value_parser = units::count)]
    pub(crate) keys: Option<u64>,

    /// The rate of false positives.
    #[arg(long, short, visible_alias = "fpr", value_parser = units::rate)]
    pub(crate) rate: Option<f64>,

    /// Bytes of memory.
    #[arg(long, short, value_parser = units::bytes)]
    pub(crate) memory: Option<u64>,

    /// What the filter must be able to do.
    #[arg(long, value_delimiter = ',', value_parser = needs::parser())]
    pub(crate) needs: Vec<Need>,

    /// Print a JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw bits per key against rate for all kinds, with the information limit.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// What separates keys from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines of text; a carriage return before the line end is not part of the key.
    Lines,
    /// Strings of bytes that each end with a zero byte, as `find -print0` writes them.
    Nul,
    /// Integers of 8 bytes, least significant byte first.
    U64,
    /// The sequences of FASTA records.
    Fasta,
    /// The sequences of FASTQ records.
    Fastq,
}

/// Where keys come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct KeyArgs {
    /// Files with keys; - or nothing is standard input.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// What separates keys. Unless told: lines; for a filter of integers, u64; for DNA words, fasta or fastq by
    /// the first letter of the input.
    #[arg(long, short, value_enum)]
    pub(crate) format: Option<Format>,

    /// Take all DNA words of this length, each as the smaller of itself and its reverse complement. For `build`:
    /// the other commands find it in the filter.
    #[arg(long, short, value_name = "K", value_parser = word_length())]
    pub(crate) kmer: Option<u32>,

    /// Threads that read, hash and look up keys, 1 to 64; as many as there are cores unless told. The result
    /// does not depend on it. Large filter files are read and written by several in any case.
    #[arg(long, short = 'j', value_parser = threads())]
    pub(crate) threads: Option<usize>,

    /// No progress bar and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BuildArgs {
    /// The file to write; replaced only when the filter is complete.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// The rate of false positives.
    #[arg(long, short, visible_alias = "fpr", default_value = "0.1%", value_parser = units::rate)]
    pub(crate) rate: f64,

    /// The kind of filter.
    #[arg(long, default_value = "sorted")]
    pub(crate) kind: Kind,

    /// Different keys to plan for. Unless told, files are read twice, first to estimate it; a filter of a
    /// stream grows.
    #[arg(long, short = 'n', value_parser = units::count)]
    pub(crate) keys: Option<u64>,

    /// Store every key that is read, also those that look like stored ones, so that all can be removed again.
    /// Safe for removals if no key is read twice.
    #[arg(long)]
    pub(crate) copies: bool,

    #[command(flatten)]
    pub(crate) input: KeyArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct QueryArgs {
    /// The filter.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// Print the keys that are certainly absent instead.
    #[arg(long, short = 'v')]
    pub(crate) invert: bool,

    /// Print only how many there are.
    #[arg(long, short)]
    pub(crate) count: bool,

    #[command(flatten)]
    pub(crate) input: KeyArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct AddArgs {
    /// Store every key that is read, also those that look like stored ones, so that all can be removed again.
    /// Safe for removals if the filter was built so too and no key is stored twice.
    #[arg(long)]
    pub(crate) copies: bool,

    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ChangeArgs {
    /// The filter; replaced only when the change is complete.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    #[command(flatten)]
    pub(crate) input: KeyArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MergeArgs {
    /// The file to write; replaced only when the filter is complete.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Keep every copy of a key that is in several filters, so that it can be removed as often; otherwise it
    /// is stored once.
    #[arg(long)]
    pub(crate) copies: bool,

    /// The filters: of the same kind, rate, seed and planned number of keys, so build them with equal options
    /// and --keys.
    #[arg(value_name = "FILTER", required = true, num_args = 2..)]
    pub(crate) filters: Vec<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct InfoArgs {
    /// The filter.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print OpenMetrics text.
    #[arg(long, conflicts_with = "json")]
    pub(crate) metrics: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The filters.
    #[arg(value_name = "FILTER", required = true)]
    pub(crate) filters: Vec<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DedupArgs {
    /// Files with lines; - or nothing is standard input.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Different lines expected: the memory is then constant. Unless told, the filter grows.
    #[arg(long, short = 'n', value_parser = units::count)]
    pub(crate) keys: Option<u64>,

    /// Only lines that are not among the last N lines printed: the memory is then constant, whatever comes. A
    /// line that is seen again is not renewed.
    #[arg(long, short, value_name = "N", value_parser = units::count, conflicts_with = "keys")]
    pub(crate) window: Option<u64>,

    /// The chance that a line is dropped though it is new.
    #[arg(long, short, visible_alias = "fpr", default_value = "1e-6", value_parser = units::rate)]
    pub(crate) rate: f64,

    /// The kind of filter.
    #[arg(long, default_value = "sorted")]
    pub(crate) kind: Kind,

    /// Strings end with a zero byte instead of a line end.
    #[arg(long, short = 'z')]
    pub(crate) nul: bool,

    /// Threads, 1 to 64; as many as there are cores unless told.
    #[arg(long, short = 'j', value_parser = threads())]
    pub(crate) threads: Option<usize>,

    /// No progress bar and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}
