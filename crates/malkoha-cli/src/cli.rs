//! The arguments, as declarations only. Help, shell completions and the man page are all generated from them.
#![expect(clippy::struct_excessive_bools, reason = "every flag is one")]

use std::path::PathBuf;

use clap::builder::styling::AnsiColor;
use clap::builder::{RangedI64ValueParser, RangedU64ValueParser, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use malkoha::{KeyFormat, Kind, Need};

use crate::input::column::{self, Column, Which};
use crate::needs;
use crate::reads::threshold::Threshold;
use crate::text::TextArgs;
use crate::units;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// One line per paragraph: clap wraps them.
const UNITS: &str = "\
Counts and bytes: k, M, G, T are powers of ten, Ki, Mi, Gi, Ti powers of two, in either case; also 1e8 and 2^27.\n\
Rates: 0.001, 0.1%, 1/1000, 2^-10, 1e-3.\n\
Kinds: classic, semisorted, simplified, flexible, windowed, sorted, bloom, blocked, followed by a colon and the slots \
or choices where they vary: windowed:2, flexible:4, blocked:3.\n\
Input: gz, zst, xz and bz2 are recognised by their content; - is standard input.\n\
Exit status: 0 on success (for `query`: something matched), 1 if `query` found nothing, 2 on error. A program ended \
by a signal has the usual status, which shells show as 130 or 143.";

/// The largest number of threads that can be requested.
pub(crate) const MOST_THREADS: usize = 64;

/// Parses a number of threads.
fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MOST_THREADS as u64)
}

/// Parses a length of DNA words.
fn word_length() -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=i64::from(KeyFormat::MOST_K))
}

/// Membership filters that never lose a key: plan, build, query, deduplicate, inspect.
///
/// A filter answers "is this key in the set?" from about 12 bits per key. A no is certain; a yes is wrong at
/// a rate that you choose.
#[derive(Debug, Parser)]
#[command(name = "malkoha", version, styles = STYLES, after_help = UNITS, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run ten million keys through every kind of filter and show predicted beside measured values.
    Demo(DemoArgs),
    /// Show what every kind of filter needs, given two of keys, rate and memory.
    #[command(after_help = UNITS)]
    Plan(PlanArgs),
    /// Store the keys of files in a new filter.
    #[command(after_help = UNITS)]
    Build(BuildArgs),
    /// Print the keys that a filter may hold.
    Query(QueryArgs),
    /// Store more keys in a filter.
    Add(AddArgs),
    /// Remove keys from a filter. Remove only keys that are stored: removing another key may remove a stored
    /// key that looks the same, which is then no longer found.
    ///
    /// In a filter made by build, add or merge without --copies, some keys (a share of about half the rate)
    /// share the entry of another key; removing one of the two makes both disappear. Give every key once.
    Remove(ChangeArgs),
    /// Merge filters of equal geometry into a new one. A filter merged without --copies is not safe for
    /// removals.
    Merge(MergeArgs),
    /// Show what a filter is and how full it is.
    Info(InfoArgs),
    /// Check every byte of filters.
    Verify(VerifyArgs),
    /// Print the first occurrence of every line, or drop duplicate texts from JSON lines.
    #[command(after_help = UNITS)]
    Dedup(DedupArgs),
    /// Keep or discard whole FASTA and FASTQ records by how many of their DNA words a filter holds.
    ///
    /// A record, or a pair of them, matches if enough of its words are found. The order is kept. Input and output may
    /// be compressed.
    Reads(ReadsArgs),
    /// Sort FASTA and FASTQ records by origin, with a filter whose words have labels (build --label).
    ///
    /// For two labels such as host and graft, the classes are host, graft, both, neither and ambiguous, by the rules of
    /// xengsort; for more, both is called several. Input and output may be compressed.
    Classify(ClassifyArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page.
    Man(ManArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keys to store in every filter.
    #[arg(long, default_value = "10M", value_parser = units::count)]
    pub(crate) keys: u64,

    /// The rate of false positives that every filter is planned for.
    #[arg(long, default_value = "2^-10", value_parser = units::rate)]
    pub(crate) rate: f64,

    /// Threads, 1 to 64; by default one per core.
    #[arg(long, short = 'j', value_parser = threads())]
    pub(crate) threads: Option<usize>,

    /// Print only the table, as Markdown.
    #[arg(long)]
    pub(crate) markdown: bool,

    /// The folder for the filter file and the figure, created if missing.
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

    /// Also show how memory grows with the number of keys, beside a classic filter, which comes in powers of two.
    #[arg(long)]
    pub(crate) staircase: bool,

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
    /// Lines of text. A carriage return before the line end is not part of the key.
    Lines,
    /// Strings of bytes, each ending with a zero byte, as `find -print0` writes them.
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
    /// Files with keys; - or no file means standard input.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// What separates keys. By default lines; u64 for a filter of integers; for DNA words, fasta or fastq,
    /// depending on the first letter of the input.
    #[arg(long, short, value_enum, conflicts_with = "column")]
    pub(crate) format: Option<Format>,

    /// Use all DNA words of this length, each as the smaller of itself and its reverse complement. Only
    /// `build` needs this; the other commands read it from the filter.
    #[arg(long, short, value_name = "K", value_parser = word_length(), conflicts_with = "column")]
    pub(crate) kmer: Option<u32>,

    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Threads that read, hash and look up keys, 1 to 64; by default one per core. The result does not depend
    /// on it. Large filter files are always read and written by several threads.
    #[arg(long, short = 'j', value_parser = threads())]
    pub(crate) threads: Option<usize>,

    /// No progress bar and no summary. With `query` no keys either, as with grep: only the exit status tells whether
    /// one matched, and the first that does ends the program.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print the summary as a JSON object: on standard error if keys or a filter go to standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which column of tables has the keys.
#[derive(Clone, Debug, Args)]
pub(crate) struct TableArgs {
    /// Take one column of CSV or TSV as the key: its number, from 1 on, or its name in the first record of every
    /// input. Whole records are printed.
    #[arg(long, value_name = "NAME|N", value_parser = column::which)]
    column: Option<Which>,

    /// What separates the columns: one letter, or tab. By default the tab in *.tsv and *.tab, and otherwise the comma.
    #[arg(long, value_name = "LETTER", value_parser = column::delimiter, requires = "column")]
    delimiter: Option<u8>,

    /// The first record of every input has the names of the columns, and is no key. A column given by its name implies
    /// this.
    #[arg(long, requires = "column")]
    header: bool,
}

impl TableArgs {
    /// Returns the column, if keys are one.
    pub(crate) fn column(&self) -> Option<Column> {
        let which = self.column.clone()?;
        Some(Column { which, delimiter: self.delimiter, header: self.header })
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BuildArgs {
    /// The file to write, which is replaced only when the filter is complete; - is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// The rate of false positives.
    #[arg(long, short, visible_alias = "fpr", default_value = "0.1%", value_parser = units::rate)]
    pub(crate) rate: f64,

    /// The kind of filter.
    #[arg(long, default_value = "sorted")]
    pub(crate) kind: Kind,

    /// Distinct keys to plan for. By default, files are read twice, the first time to estimate this number,
    /// and a filter of a stream grows.
    #[arg(long, short = 'n', value_parser = units::count)]
    pub(crate) keys: Option<u64>,

    /// Store every key that is read, even if it looks like a stored one, so that all can be removed again.
    /// Safe for removals if no key is read twice.
    #[arg(long, conflicts_with = "label")]
    pub(crate) copies: bool,

    /// Store only minimizers, the first of every W consecutive DNA words in a pseudo-random order: about 2 of W + 1
    /// words. For `reads` and `classify`.
    #[arg(long, value_name = "W", value_parser = window(), requires = "kmer")]
    pub(crate) minimizers: Option<u32>,

    /// Read this file, and store with its keys that they come from NAME. Give it once for each file; up to 16 names. A
    /// key of several files has all of their names. For `classify`.
    #[arg(long, value_name = "NAME=FILE", value_parser = label, conflicts_with = "inputs")]
    pub(crate) label: Vec<Label>,

    #[command(flatten)]
    pub(crate) input: KeyArgs,
}

/// A file whose keys have a label.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) input: PathBuf,
}

/// Parses a name and a file.
fn label(text: &str) -> Result<Label, String> {
    match text.split_once('=') {
        Some((name, input)) if !name.is_empty() && !input.is_empty() => {
            Ok(Label { name: name.to_owned(), input: PathBuf::from(input) })
        }
        _ => Err("a name, =, and a file, such as host=human.fa".to_owned()),
    }
}

/// Parses a number of words, of which one is a minimizer.
fn window() -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=i64::from(KeyFormat::MOST_WINDOW))
}

/// Records that are compared with a filter.
#[derive(Clone, Debug, Args)]
pub(crate) struct RecordArgs {
    /// FASTA or FASTQ files; - or no file means standard input.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// The mates of the records of an input, in the same order: one file for each input. The words of both count
    /// together, and pairs stay together.
    #[arg(long, short = '2', value_name = "FILE", conflicts_with = "interleaved")]
    pub(crate) mates: Vec<PathBuf>,

    /// The mate of every record follows it.
    #[arg(long)]
    pub(crate) interleaved: bool,

    /// Look up only minimizers, the first of every W consecutive words in a pseudo-random order, which is faster. A
    /// filter that was built with --minimizers knows W.
    #[arg(long, value_name = "W", value_parser = window())]
    pub(crate) minimizers: Option<u32>,

    /// Threads, 1 to 64; by default one per core. The result does not depend on it.
    #[arg(long, short = 'j', value_parser = threads())]
    pub(crate) threads: Option<usize>,

    /// No progress bar and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print the summary as a JSON object: on standard error if records go to standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ReadsArgs {
    /// The filter, built with --kmer.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// How many of its words must be found for a record to match: a number such as 3, or a share such as 0.25 or 25%,
    /// which is rounded up and at least one word.
    #[arg(long, short = 'a', value_name = "N|SHARE", default_value = "10%")]
    pub(crate) at_least: Threshold,

    /// Discard records that match, and keep the others.
    #[arg(long, short = 'v')]
    pub(crate) invert: bool,

    /// Print only the number of records that are kept.
    #[arg(long, short, conflicts_with_all = ["out", "out_mates"])]
    pub(crate) count: bool,

    /// Look up all words, and tell how many were found. By default, no more words of a record are looked up when it is
    /// decided, which is faster.
    #[arg(long)]
    pub(crate) totals: bool,

    /// Write to this file, compressed if it is named .gz, .zst, .bz2 or .xz; - is standard output, the default.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Write the mates of pairs to this file. By default each follows its record.
    #[arg(long, short = 'O', value_name = "FILE", requires = "out")]
    pub(crate) out_mates: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) records: RecordArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ClassifyArgs {
    /// The filter, built with --kmer and --label.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// Write a file for each class, with its name in place of {}, such as sorted/{}.fq.gz. Compressed if it is named
    /// .gz, .zst, .bz2 or .xz. By default, classes are only counted.
    #[arg(long, short, value_name = "FILES")]
    pub(crate) out: Option<String>,

    /// Write the mates of pairs to these files. By default each follows its record.
    #[arg(long, short = 'O', value_name = "FILES", requires = "out")]
    pub(crate) out_mates: Option<String>,

    /// Write only this class; may be given several times.
    #[arg(long, value_name = "CLASS", requires = "out")]
    pub(crate) only: Vec<String>,

    #[command(flatten)]
    pub(crate) records: RecordArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct QueryArgs {
    /// The filter.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// Print the keys that are certainly absent instead. As the difference of two sets this is not exact: the filter
    /// takes some absent keys for present ones, at its rate, and they are missing.
    #[arg(long, short = 'v')]
    pub(crate) invert: bool,

    /// Print only the number of keys.
    #[arg(long, short)]
    pub(crate) count: bool,

    /// Print the number of keys for every input, as INPUT:NUMBER.
    #[arg(long)]
    pub(crate) by_file: bool,

    /// No notes, and no messages about inputs that cannot be read; the exit status is still 2.
    #[arg(long, short = 's')]
    pub(crate) no_messages: bool,

    #[command(flatten)]
    pub(crate) input: KeyArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct AddArgs {
    /// Store every key that is read, even if it looks like a stored one, so that all can be removed again.
    /// Safe for removals if the filter was also built with --copies and no key is stored twice.
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
    /// The file to write, which is replaced only when the filter is complete; - is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Keep every copy of a key that is in several filters, so that each can be removed; otherwise the key is
    /// stored once. Growing filters always keep every copy.
    #[arg(long)]
    pub(crate) copies: bool,

    /// The filters. They must have the same kind, rate and planned number of keys: build them with the same options
    /// and --keys. Filters that grow, such as those of streams, may have any sizes and rates; their rates add up.
    #[arg(value_name = "FILTER", required = true, num_args = 2..)]
    pub(crate) filters: Vec<PathBuf>,

    /// No summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print the summary as a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct InfoArgs {
    /// The filters; - is standard input.
    #[arg(value_name = "FILTER", required = true)]
    pub(crate) filters: Vec<PathBuf>,

    /// Print a JSON object for one filter, and a list of objects for several.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print OpenMetrics text.
    #[arg(long, conflicts_with = "json")]
    pub(crate) metrics: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The filters; - is standard input.
    #[arg(value_name = "FILTER", required = true)]
    pub(crate) filters: Vec<PathBuf>,

    /// Print nothing but errors: the exit status tells whether all are sound.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print a list of JSON objects, one for each file, sound or not.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DedupArgs {
    /// Files with lines; - or no file means standard input.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Distinct lines, texts or n-grams expected; memory is then constant. By default, the filter grows.
    #[arg(long, short = 'n', value_parser = units::count)]
    pub(crate) keys: Option<u64>,

    /// Print a line unless it is among the last N lines printed, or somewhat older: lines are forgotten a third of N at
    /// a time. Memory is then constant for any input. Seeing a line again does not renew it.
    #[arg(long, short, value_name = "N", value_parser = units::count, conflicts_with = "keys")]
    pub(crate) window: Option<u64>,

    /// The chance that a new line, text or n-gram seems to have been seen; by default 1e-6, and 1e-3 for
    /// n-grams.
    #[arg(long, short, visible_alias = "fpr", value_parser = units::rate)]
    pub(crate) rate: Option<f64>,

    /// The kind of filter; by default sorted, and blocked:2 with --memory.
    #[arg(long)]
    pub(crate) kind: Option<Kind>,

    /// Lines end with a zero byte instead of a line end.
    #[arg(long, short = 'z', conflicts_with = "column")]
    pub(crate) nul: bool,

    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Print only the number of lines that would be printed.
    #[arg(long, short)]
    pub(crate) count: bool,

    /// Print only lines that occur more than once: each once, when it comes for the second time.
    #[arg(long, short = 'd')]
    pub(crate) repeated: bool,

    /// Threads, 1 to 64; by default one per core.
    #[arg(long, short = 'j', value_parser = threads())]
    pub(crate) threads: Option<usize>,

    /// No progress bar and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print the summary as a JSON object, on standard error.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) text: TextArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for the program and one for each command into this folder, which is created if missing.
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}
