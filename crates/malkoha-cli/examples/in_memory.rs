//! Measures the engine on the lines of a file that are already in memory, as the reference for
//! `scripts/throughput`.
//!
//! ```text
//! cargo run --release -p malkoha-cli --example in_memory -- FILE THREADS
//! ```
//!
//! Prints the operation, million lines per second and seconds of CPU time, separated by tabs.
#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::error::Error;
use std::time::{Duration, Instant};

use malkoha::{Filter, Spec};

const RATE: f64 = 0.001;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(threads)) = (args.next(), args.next()) else {
        return Err("give a file and a number of threads".into());
    };
    let threads: usize = threads.parse()?;
    let text = std::fs::read(path)?;
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let spec = Spec::new(lines.len() as u64, RATE).threads(threads);

    let start = Start::now();
    let filter = spec.build_from(&lines)?;
    report("`build_from` in memory", lines.len(), &start);

    let start = Start::now();
    let found = ask(&filter, &lines, threads);
    report("`contains_slice` in memory", lines.len(), &start);
    assert_eq!(found, lines.len(), "every line is found");
    Ok(())
}

/// Looks up all lines on several threads, a batch at a time.
fn ask(filter: &Filter, lines: &[&[u8]], threads: usize) -> usize {
    let found = |share: &[&[u8]]| {
        let batches = share.chunks(1 << 14).map(|batch| filter.contains_slice(batch));
        batches.flatten().filter(|found| *found).count()
    };
    std::thread::scope(|scope| {
        let shares = lines.chunks(lines.len().div_ceil(threads).max(1));
        let counts: Vec<_> = shares.map(|share| scope.spawn(move || found(share))).collect();
        counts.into_iter().map(|count| count.join().expect("asking does not panic")).sum()
    })
}

/// When something began, in wall-clock time and in CPU time of this program.
struct Start(Instant, Option<Duration>);

impl Start {
    fn now() -> Self {
        Self(Instant::now(), cpu_time())
    }
}

/// Returns the CPU time of all threads, if /proc has it, in ticks of a hundredth of a second.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may contain spaces; user and system time are the 12th and 13th
    // fields after it.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
}

fn report(what: &str, lines: usize, start: &Start) {
    let millions = lines as f64 / start.0.elapsed().as_secs_f64() / 1e6;
    let cpu = start
        .1
        .zip(cpu_time())
        .map_or(f64::NAN, |(before, after)| after.saturating_sub(before).as_secs_f64());
    println!("{what}\t{millions:.2}\t{cpu:.2}");
}
