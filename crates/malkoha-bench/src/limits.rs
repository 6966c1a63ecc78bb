//! `limits`: what this machine allows, for any filter.

use crate::access::{Access, Ruler, Scheme};
use crate::cli::LimitsArgs;
use crate::flow::{self, Partition};
use crate::measure::Series;
use crate::memory::{PageSize, use_pages};
use crate::table::{Cell, Table};

const MEGA_KEYS: &str = "Mkeys/s";
const GIGA_BYTES: &str = "GB/s";

/// Measures everything and returns one row for each limit.
pub(crate) fn run(args: &LimitsArgs) -> Table {
    let mut table = Table::new(
        format!("what this machine allows: median and best of {} turns", args.repeats),
        &["limit", "MiB", "pages", "on 2 MiB", "threads", "plain", "median", "best", "scheme", "unit"],
    );
    for mib in &args.mib {
        for pages in &args.pages {
            use_pages(*pages);
            for threads in &args.threads {
                eprintln!("limits: {mib} MiB on {pages} pages, {threads} threads");
                Measurement { args, bytes: mib << 20, pages: *pages, threads: *threads }.rows(&mut table);
            }
        }
    }
    use_pages(PageSize::Huge);
    table
}

/// Everything that is measured with one size, one kind of page and one number of threads.
struct Measurement<'a> {
    args: &'a LimitsArgs,
    bytes: usize,
    pages: PageSize,
    threads: usize,
}

/// A limit before it becomes a row.
struct Limit {
    name: String,
    unit: &'static str,
    /// One series for each scheme; a single one where there is no choice.
    schemes: Vec<(Option<Scheme>, Series)>,
}

impl Limit {
    fn new(name: &impl ToString, unit: &'static str, schemes: &[Option<Scheme>]) -> Self {
        let schemes = schemes.iter().map(|scheme| (*scheme, Series::default())).collect();
        Self { name: name.to_string(), unit, schemes }
    }
}

impl Measurement<'_> {
    fn rows(&self, table: &mut Table) {
        let mut ruler = Ruler::new(self.bytes);
        let share = ruler.huge_share();
        for limit in self.random(&mut ruler).into_iter().chain(self.flows(&mut ruler)) {
            table.push(self.row(&limit, share));
        }
    }

    fn random(&self, ruler: &mut Ruler) -> Vec<Limit> {
        let schemes = Scheme::ALL.map(Some);
        let mut limits = Access::ALL.map(|access| Limit::new(&access, MEGA_KEYS, &schemes));
        for _ in 0..self.args.repeats {
            for (limit, access) in limits.iter_mut().zip(Access::ALL) {
                for ((_, series), scheme) in limit.schemes.iter_mut().zip(Scheme::ALL) {
                    series.push(ruler.speed(access, scheme, self.args.keys, self.threads));
                }
            }
        }
        limits.into()
    }

    fn flows(&self, ruler: &mut Ruler) -> Vec<Limit> {
        // As many keys as fill the measured size; several times over if that is too fast.
        let keys = (self.bytes / size_of::<u64>() / self.threads).max(1 << 10);
        let mut parts = [256, 1024]
            .map(|ways| (ways, (0..self.threads).map(|_| Partition::new(keys, ways)).collect::<Vec<_>>()));
        let one = |name: &str, unit| Limit::new(&name, unit, &[None]);
        let mut limits = vec![
            one("read in order", GIGA_BYTES),
            one("write in order", GIGA_BYTES),
            one("write in order, past the caches", GIGA_BYTES),
            one("hash an integer", MEGA_KEYS),
        ];
        limits.extend(
            parts.iter().map(|(ways, _)| one(&format!("hash and partition, {ways} ways"), MEGA_KEYS)),
        );
        for _ in 0..self.args.repeats {
            let (lines, threads) = (ruler.lines_mut(), self.threads);
            let mut results = vec![flow::read(lines, threads), flow::write(lines, threads)];
            results.push(flow::write_past(lines, threads));
            results.push(flow::hash(self.args.keys, threads));
            results.extend(parts.iter_mut().map(|(_, parts)| flow::partition(parts)));
            for (limit, result) in limits.iter_mut().zip(results) {
                limit.schemes[0].1.push(result);
            }
        }
        limits
    }

    fn row(&self, limit: &Limit, share: f64) -> Vec<Cell> {
        let best = limit.schemes.iter().max_by(|a, b| a.1.median().total_cmp(&b.1.median()));
        let (scheme, series) = best.expect("a limit has at least one scheme");
        let plain = limit.schemes.iter().find(|(scheme, _)| *scheme == Some(Scheme::Plain));
        vec![
            Cell::text(&limit.name),
            Cell::Count((self.bytes >> 20) as u64),
            Cell::text(self.pages),
            Cell::number(share, 2),
            Cell::Count(self.threads as u64),
            plain.map_or(Cell::Missing, |(_, series)| Cell::number(series.median(), 1)),
            Cell::number(series.median(), 1),
            Cell::number(series.best(), 1),
            scheme.map_or(Cell::Missing, Cell::text),
            Cell::text(limit.unit),
        ]
    }
}
