//! The arguments: declarations only.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::contestants::{Size, Way};
use crate::memory::PageSize;
use crate::rates::{Rate, without_rate};
use crate::wish::Choice;

/// Measures what malkoha's filters cost, beside the limits of this machine and the cost of other filters.
///
/// Tables go to standard output, progress to standard error. What is compared is measured in turns within one
/// run; do not compare numbers of different runs.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Also writes the results to records/NAME.csv of this crate.
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) record: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measures what the machine allows: random lines, bandwidth, hashing, partitioning.
    Limits(LimitsArgs),
    /// Measures inserts, finds and removes per second, as numbers and as fractions of the limit.
    Speed(SpeedArgs),
    /// Measures what a rate costs: inserts and finds per second at common rates, in tables of equal bytes.
    Rates(RatesArgs),
    /// Measures what a key costs as filters grow.
    Scale(ScaleArgs),
    /// Measures what growing costs: memory at every size, and speed beside a planned filter.
    Growth(GrowthArgs),
    /// Measures what several threads get of one filter: lookups, a mix with changes, and builds.
    Threads(ThreadsArgs),
    /// Measures saving, opening and mapping, beside a plain copy of the same bytes.
    Store(StoreArgs),
    /// Measures the tables and figures of the papers again, all of them or those named.
    All(AllArgs),
    /// Writes docs/TABLES.md and its figures from the committed records.
    Tables(TablesArgs),
}

/// How large the runs are.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SizeArgs {
    /// Tiny sizes: all of them together take seconds, and prove only that they work.
    #[arg(long, conflicts_with_all = ["quick", "full"])]
    pub(crate) tiny: bool,

    /// Reduced sizes, the default: all of them together take about ten minutes on two cores.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,

    /// The sizes of the committed records.
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct AllArgs {
    /// Names of tables and figures, such as cuckoo-table-2; all of them if none is given.
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) sizes: SizeArgs,

    /// The folder for records, TABLES.md and figures. Without it, --full replaces the committed ones, and
    /// anything else goes to target/tables.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,

    /// Only lists the names, and how long each takes.
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TablesArgs {
    /// Writes nothing, and fails if the files would change.
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct LimitsArgs {
    /// Sizes of the table, in MiB.
    #[arg(long, value_delimiter = ',', default_value = "256")]
    pub(crate) mib: Vec<usize>,

    /// Sizes of the pages under the table.
    #[arg(long, value_delimiter = ',', default_value = "huge,small")]
    pub(crate) pages: Vec<PageSize>,

    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    pub(crate) threads: Vec<usize>,

    /// Keys per thread, scheme and turn.
    #[arg(long, default_value_t = 4 << 20)]
    pub(crate) keys: usize,

    /// Turns.
    #[arg(long, default_value_t = 5)]
    pub(crate) repeats: usize,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SpeedArgs {
    /// Filters: a kind, optionally followed by @k for rate 2^-k or @ and the rate itself, such as @1e-4
    /// (without it, slots have 16 bits); one of +near (96 of 256 other places in the same cache line), +nearN
    /// (N of 256, in more lines if needed), +whole, +dense, +random, +distinct or +spread; +loadF (filled to
    /// the share F of the slots); and +typed (used through its own type, one key at a time). `all` means
    /// every kind.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "flexible:4,windowed:2,windowed:4,sorted,classic:4,semisorted,simplified:4"
    )]
    pub(crate) kinds: Vec<Choice>,

    /// Sizes: l2, l3, dram, or slots of 16 bits, such as 1000000 or 2^27.
    #[arg(long, value_delimiter = ',', default_value = "l2,l3,dram")]
    pub(crate) sizes: Vec<Size>,

    /// Turns of finds and removes.
    #[arg(long, default_value_t = 5)]
    pub(crate) repeats: usize,

    /// Turns of filling, which takes much longer [default: as --repeats]. Peers, which take longest, are
    /// filled once.
    #[arg(long)]
    pub(crate) fills: Option<usize>,

    /// Ways of filling our filters.
    #[arg(long, value_delimiter = ',', default_value = "one-by-one,slice,build")]
    pub(crate) fill_by: Vec<Way>,

    /// Per cent of the keys looked up that are present.
    #[arg(long, value_delimiter = ',', default_value = "0,50,100")]
    pub(crate) present: Vec<u64>,

    /// Keys that are looked up in one turn.
    #[arg(long, default_value_t = 4 << 20)]
    pub(crate) queries: usize,

    /// Keys that were never stored, to measure the rate with.
    #[arg(long, default_value_t = 16 << 20)]
    pub(crate) strangers: usize,

    /// Also measures finds of slices, and building, with this many threads.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,

    /// Pages under all tables, those of peers and of the ruler included.
    #[arg(long, default_value = "huge")]
    pub(crate) pages: PageSize,

    /// Includes published filters by other authors in the same run.
    #[arg(long)]
    pub(crate) peers: bool,

    /// Measures only finds: filters are filled once, in the fastest way.
    #[arg(long)]
    pub(crate) finds_only: bool,

    /// GiB for all tables that are compared in turns; tables that do not fit are measured in several groups.
    #[arg(long, default_value_t = 8.0)]
    pub(crate) memory: f64,

    /// Takes two minutes: fewer kinds, turns and keys, and a table of 32 MiB for memory.
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RatesArgs {
    /// Filters, written as for `speed`, but without a rate.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = without_rate,
        default_value = "sorted,windowed:2,flexible:4,flexible:4+typed,flexible:4+load0.95,\
                         flexible:4+load0.95+typed,blocked:1,blocked:1+spread,blocked:1+spread+typed,bloom"
    )]
    pub(crate) kinds: Vec<Choice>,

    /// Rates of false positives, such as 0.1% or 1e-6.
    #[arg(long, value_delimiter = ',', default_value = "10%,5%,1%,0.1%,1e-4,1e-6,1e-9")]
    pub(crate) rates: Vec<Rate>,

    /// Sizes, written as for `speed`.
    #[arg(long, value_delimiter = ',', default_value = "l2,dram")]
    pub(crate) sizes: Vec<Size>,

    /// Turns of finds.
    #[arg(long, default_value_t = 5)]
    pub(crate) repeats: usize,

    /// Turns of filling, which takes much longer [default: as --repeats].
    #[arg(long)]
    pub(crate) fills: Option<usize>,

    /// Keys that are looked up in one turn.
    #[arg(long, default_value_t = 4 << 20)]
    pub(crate) queries: usize,

    /// Keys that were never stored, to measure the rate with.
    #[arg(long, default_value_t = 16 << 20)]
    pub(crate) strangers: usize,

    /// Pages under all tables, those of peers and of the ruler included.
    #[arg(long, default_value = "huge")]
    pub(crate) pages: PageSize,

    /// Leaves out published filters by other authors.
    #[arg(long)]
    pub(crate) no_peers: bool,

    /// GiB for all tables that are compared in turns; tables that do not fit are measured in several groups,
    /// without splitting a rate.
    #[arg(long, default_value_t = 8.0)]
    pub(crate) memory: f64,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ScaleArgs {
    /// Filters, written as for `speed`.
    #[arg(long, value_delimiter = ',', default_value = "flexible:4,windowed:2,windowed:4,sorted")]
    pub(crate) kinds: Vec<Choice>,

    /// Numbers of keys.
    #[arg(long, value_delimiter = ',', default_value = "100000,1000000,10000000,100000000,1000000000")]
    pub(crate) keys: Vec<u64>,

    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    pub(crate) threads: Vec<usize>,

    /// GiB for the filters; larger ones are left out and marked in the table.
    #[arg(long, default_value_t = 4.0)]
    pub(crate) memory: f64,

    /// Keys that are looked up in one turn.
    #[arg(long, default_value_t = 4 << 20)]
    pub(crate) queries: usize,

    /// Pages under the tables.
    #[arg(long, default_value = "huge")]
    pub(crate) pages: PageSize,

    /// Turns.
    #[arg(long, default_value_t = 3)]
    pub(crate) repeats: usize,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct GrowthArgs {
    /// The rate of all filters.
    #[arg(long, default_value = "0.1%")]
    pub(crate) rate: Rate,

    /// Keys that a filter grows to, from 1000, with a point every tenth of a doubling [default: 10,000,000].
    #[arg(long)]
    pub(crate) keys: Option<u64>,

    /// Numbers of keys at which growing filters are compared with planned ones [default: 100,000 and 10,000,000].
    #[arg(long, value_delimiter = ',')]
    pub(crate) speeds: Option<Vec<u64>>,

    /// Keys of the smallest and the largest of the filters that are merged [default: 10,000 and 1,000,000].
    #[arg(long, value_delimiter = ',', num_args = 1)]
    pub(crate) merged: Option<Vec<u64>>,

    /// Filters that are merged.
    #[arg(long, default_value_t = 64)]
    pub(crate) parts: usize,

    /// Keys that are looked up in one turn.
    #[arg(long, default_value_t = 4 << 20)]
    pub(crate) queries: usize,

    /// Keys that were never stored, to measure the rate with at every point.
    #[arg(long, default_value_t = 1 << 20)]
    pub(crate) strangers: u64,

    /// Pages under all tables.
    #[arg(long, default_value = "huge")]
    pub(crate) pages: PageSize,

    /// Turns [default: 5].
    #[arg(long)]
    pub(crate) repeats: Option<usize>,

    /// A tenth of the keys and fewer turns, unless they are given: a minute, and numbers that are worth little.
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ThreadsArgs {
    /// The kind of all filters.
    #[arg(long, default_value = "windowed:2")]
    pub(crate) kind: malkoha::Kind,

    /// The rate of all filters.
    #[arg(long, default_value = "0.1%")]
    pub(crate) rate: Rate,

    /// Keys in each filter [default: 50,000,000].
    #[arg(long)]
    pub(crate) keys: Option<u64>,

    /// Numbers of shards.
    #[arg(long, value_delimiter = ',', default_value = "1,64,1024")]
    pub(crate) shards: Vec<u32>,

    /// The most threads; powers of two below it are measured too [default: as many as there are cores].
    #[arg(long)]
    pub(crate) threads: Option<usize>,

    /// Keys that each thread looks up in one turn.
    #[arg(long, default_value_t = 1 << 20)]
    pub(crate) queries: usize,

    /// Pages under the tables.
    #[arg(long, default_value = "huge")]
    pub(crate) pages: PageSize,

    /// Turns of lookups and mixes.
    #[arg(long, default_value_t = 7)]
    pub(crate) repeats: usize,

    /// Turns of builds.
    #[arg(long, default_value_t = 3)]
    pub(crate) builds: usize,

    /// A tenth of the keys, unless their number is given.
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    /// Filters, written as for `speed`.
    #[arg(long, value_delimiter = ',', default_value = "sorted,windowed:2,flexible:4,classic:4,blocked:1")]
    pub(crate) kinds: Vec<Choice>,

    /// Keys in each filter.
    #[arg(long, default_value_t = 50_000_000)]
    pub(crate) keys: u64,

    /// Where the files are written [default: the folder for temporary files].
    #[arg(long)]
    pub(crate) folder: Option<PathBuf>,

    /// Turns.
    #[arg(long, default_value_t = 5)]
    pub(crate) repeats: usize,
}
