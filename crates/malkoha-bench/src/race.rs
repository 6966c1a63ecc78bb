//! A race: contestants of one size, measured in turns, each turn beside the limit of the machine.
//!
//! ```text
//!   fill     turn 1: limit, A one by one, A slice; limit, B one by one, B slice; ...   turn 2: ...
//!   find     turn 1: limit, A; limit, B; ... 0 % present; limit, A; ... 50 % present   turn 2: ...
//!   remove   turn 1: limit, A, B, ...                                                  turn 2: ...
//! ```
//!
//! Filters are full when they are queried, and in the caches as far as they fit. If one of ours refuses a key
//! or does not find a stored one, the run ends; if a peer does, a warning goes to standard error.

use std::error::Error;
use std::time::Duration;

use malkoha::KeyHasher;

use crate::access::{Access, Ruler, reduce};
use crate::contestants::{Contestant, Entry, Size, Way};
use crate::measure::{self, Series};
use crate::memory;
use crate::operation::Operation;

/// Where the keys start that are never stored: those that are looked up, and those that measure the rate.
const ABSENT: u64 = 1 << 40;
pub(crate) const STRANGERS: u64 = 1 << 41;

/// How a race is run.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// Ways of filling our filters.
    pub(crate) fill_by: Vec<Way>,
    /// Turns of filling, of our filters and of peers.
    pub(crate) fills: usize,
    pub(crate) peer_fills: usize,
    /// Turns of finds and removes.
    pub(crate) repeats: usize,
    /// Per cent of the keys looked up that are present.
    pub(crate) present: Vec<u64>,
    /// Keys that are looked up in one turn.
    pub(crate) queries: usize,
    /// Keys that were never stored, to measure the rate with.
    pub(crate) strangers: usize,
    /// Slices are also found, and filters also built, with this many threads.
    pub(crate) threads: usize,
    /// Whether only finds count: filters are filled once, in the fastest way.
    pub(crate) finds_only: bool,
    /// Whether keys are removed at the end.
    pub(crate) removes: bool,
}

impl Course {
    /// Returns the number of turns in which an entry is filled.
    fn fills_of(&self, entry: &Entry) -> usize {
        match entry {
            _ if self.finds_only => 1,
            Entry::Ours { .. } => self.fills,
            Entry::Peer { .. } => self.peer_fills,
        }
    }
}

/// One operation of one contestant, and the limit beside it, turn by turn, in million keys per second.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) operation: Operation,
    pub(crate) speeds: Series,
    pub(crate) limit: Access,
    pub(crate) limits: Series,
}

/// All that is known of a contestant after the race.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) size: Size,
    pub(crate) name: String,
    pub(crate) keys: u64,
    pub(crate) bytes: u64,
    pub(crate) rate: f64,
    pub(crate) outcomes: Vec<Outcome>,
}

impl Standing {
    pub(crate) fn bits_per_key(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.keys as f64
    }

    /// Returns C: bits per key divided by those of the information limit at the measured rate.
    pub(crate) fn overhead(&self) -> f64 {
        self.bits_per_key() / -self.rate.log2()
    }

    pub(crate) fn outcome(&self, operation: Operation) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.operation == operation)
    }

    fn push(&mut self, operation: Operation, speed: f64, (limit, limit_speed): (Access, f64)) {
        let at = self.outcomes.iter().position(|outcome| outcome.operation == operation);
        let at = at.unwrap_or_else(|| {
            let (speeds, limits) = (Series::default(), Series::default());
            self.outcomes.push(Outcome { operation, speeds, limit, limits });
            self.outcomes.len() - 1
        });
        self.outcomes[at].speeds.push(speed);
        self.outcomes[at].limits.push(limit_speed);
    }
}

/// A contestant and what is known of it so far.
struct Lane {
    entry: Entry,
    filter: Box<dyn Contestant>,
    standing: Standing,
}

impl Lane {
    fn lost(&self) -> Result<(), Box<dyn Error>> {
        failed(&self.entry, &format!("{} lost a key", self.standing.name))
    }
}

/// Ends the run if one of ours breaks a promise. If a peer does, this is reported and the run goes on.
fn failed(entry: &Entry, what: &str) -> Result<(), Box<dyn Error>> {
    match entry {
        Entry::Ours { .. } => Err(what.into()),
        Entry::Peer { .. } => {
            eprintln!("  WARNING: the numbers of this peer are for a filter that is not full: {what}");
            Ok(())
        }
    }
}

/// The contestants, the ruler beside them and the keys.
pub(crate) struct Race<'a> {
    course: &'a Course,
    ruler: Ruler,
    lanes: Vec<Lane>,
    keys: Vec<u64>,
    answers: Vec<bool>,
}

impl<'a> Race<'a> {
    pub(crate) fn new(course: &'a Course, size: Size, entries: &[Entry]) -> Result<Self, Box<dyn Error>> {
        let lane = |entry: &Entry| {
            let filter = entry.make()?;
            let (name, keys) = (entry.name(), entry.keys());
            let standing = Standing { size, name, keys, bytes: 0, rate: f64::NAN, outcomes: Vec::new() };
            Ok::<_, Box<dyn Error>>(Lane { entry: *entry, filter, standing })
        };
        Ok(Self {
            course,
            ruler: Ruler::new(usize::try_from(size.bytes())?),
            lanes: entries.iter().map(lane).collect::<Result<_, _>>()?,
            keys: (0..entries.iter().map(Entry::keys).max().unwrap_or(0)).collect(),
            answers: vec![false; course.queries],
        })
    }

    pub(crate) fn run(mut self) -> Result<Vec<Standing>, Box<dyn Error>> {
        let (huge, all) = (memory::huge_mebibytes(), memory::resident_mebibytes());
        eprintln!("  {huge} of {all} MiB of this process are on 2 MiB pages");
        self.fill()?;
        self.rates();
        self.find()?;
        if self.course.removes {
            self.remove()?;
        }
        Ok(self.lanes.into_iter().map(|lane| lane.standing).collect())
    }

    /// Measures the limit now, with as many keys as are looked up in one turn.
    fn limit(&mut self, access: Access, threads: usize) -> (Access, f64) {
        (access, self.ruler.limit(access, self.course.queries / threads, threads))
    }

    fn fill(&mut self) -> Result<(), Box<dyn Error>> {
        let turns_of = |lane: &Lane| self.course.fills_of(&lane.entry);
        for turn in 1..=self.lanes.iter().map(turns_of).max().unwrap_or(0) {
            for at in 0..self.lanes.len() {
                let turns = self.course.fills_of(&self.lanes[at].entry);
                if turn > turns {
                    continue;
                }
                let mut limits = vec![(1, self.limit(Access::Modify, 1))];
                if self.course.threads > 1 && !self.course.finds_only {
                    limits.push((self.course.threads, self.limit(Access::Modify, self.course.threads)));
                }
                let Lane { entry, filter, standing } = &mut self.lanes[at];
                eprintln!("  fill {turn} of {turns}: {}", standing.name);
                let ways = entry.insert_ways(&self.course.fill_by);
                let keys = &self.keys[..usize::try_from(entry.keys())?];
                // Small filters are filled several times, or the time would be mostly noise.
                let rounds = u32::try_from((self.course.queries / keys.len().max(1)).clamp(1, 16))?;
                let quickest = ways.len() - 1;
                let ways = &ways[if self.course.finds_only { quickest } else { 0 }..];
                for (way, (threads, limit)) in
                    ways.iter().flat_map(|way| limits.iter().map(move |limit| (way, *limit)))
                {
                    if threads > 1 && !entry.builds_in_threads(*way) {
                        continue;
                    }
                    let mut time = Duration::ZERO;
                    for _ in 0..rounds {
                        *filter = entry.make()?;
                        let (once, result) = measure::time(|| filter.insert(*way, keys, threads));
                        result.or_else(|error| failed(entry, &format!("{}: {error}", standing.name)))?;
                        time += once;
                    }
                    let time = time / rounds;
                    let operation = Operation::Insert { way: *way, threads };
                    standing.push(operation, measure::mega_per_second(keys.len(), time), limit);
                }
            }
        }
        Ok(())
    }

    /// Measures the rate of every full filter.
    fn rates(&mut self) {
        const CHUNK: u64 = 1 << 16;
        for Lane { entry, filter, standing } in &mut self.lanes {
            eprintln!("  rate: {}", standing.name);
            let (mut strangers, mut answers) = (Vec::new(), Vec::new());
            let (mut hits, count) = (0usize, self.course.strangers as u64);
            let way = *entry.find_ways().last().expect("every filter can be asked");
            for start in (0..count).step_by(usize::try_from(CHUNK).unwrap_or(usize::MAX)) {
                strangers.clear();
                strangers.extend(STRANGERS + start..STRANGERS + (start + CHUNK).min(count));
                answers.resize(strangers.len(), false);
                filter.find(way, &strangers, &mut answers);
                hits += answers.iter().filter(|found| **found).count();
            }
            standing.rate = hits as f64 / count as f64;
            standing.bytes = filter.bytes();
        }
    }

    fn find(&mut self) -> Result<(), Box<dyn Error>> {
        // All contestants look up the same keys, among those that the smallest holds.
        let stored = self.lanes.iter().map(|lane| lane.standing.keys).min().unwrap_or(0);
        let queries = self
            .course
            .present
            .iter()
            .map(|percent| (*percent, queries(self.course.queries, stored, *percent)));
        let queries: Vec<_> = queries.collect();
        let mut asked = [(Way::OneByOne, 1), (Way::Slice, 1), (Way::Slice, self.course.threads)].to_vec();
        asked.dedup();
        for turn in 1..=self.course.repeats {
            eprintln!("  find {turn} of {}", self.course.repeats);
            for (way, threads) in &asked {
                for (percent, keys) in &queries {
                    self.find_turn(
                        Operation::Find { way: *way, percent: *percent, threads: *threads },
                        keys,
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Runs one turn of one kind of lookup: every contestant, right after the limit.
    fn find_turn(&mut self, operation: Operation, keys: &[u64]) -> Result<(), Box<dyn Error>> {
        let Operation::Find { way, threads, .. } = operation else { return Ok(()) };
        for at in 0..self.lanes.len() {
            let entry = self.lanes[at].entry;
            if !entry.find_ways().contains(&way) {
                continue;
            }
            let limit = self.limit(entry.find_limit(), threads);
            let lane = &mut self.lanes[at];
            warm(&*lane.filter, way, &keys[..keys.len() / 4], &mut self.answers);
            let time = find_in_threads(&*lane.filter, operation, keys, &mut self.answers);
            if keys.iter().zip(&self.answers).any(|(key, found)| *key < ABSENT && !found) {
                lane.lost()?;
            }
            lane.standing.push(operation, measure::mega_per_second(keys.len(), time), limit);
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<(), Box<dyn Error>> {
        let stored = self.lanes.iter().map(|lane| lane.standing.keys).min().unwrap_or(0);
        let removed = self.course.queries.min(usize::try_from(stored)? / self.course.repeats.max(1));
        for turn in 0..self.course.repeats {
            eprintln!("  remove {} of {}", turn + 1, self.course.repeats);
            let limit = self.limit(Access::Modify, 1);
            let keys = &self.keys[turn * removed..][..removed];
            for lane in &mut self.lanes {
                // Keys that were seen and not stored cannot be removed.
                if lane.entry.insert_ways(&self.course.fill_by).last() == Some(&Way::Unique) {
                    continue;
                }
                warm(&*lane.filter, Way::OneByOne, keys, &mut self.answers);
                let (time, count) = measure::time(|| lane.filter.remove(keys));
                let Some(count) = count else { continue };
                if count != removed {
                    lane.lost()?;
                }
                lane.standing.push(Operation::Remove, measure::mega_per_second(removed, time), limit);
            }
        }
        Ok(())
    }
}

/// Brings a table back into the caches after earlier measurements evicted it, as the ruler does for its own.
fn warm(filter: &dyn Contestant, way: Way, keys: &[u64], answers: &mut [bool]) {
    filter.find(way, keys, &mut answers[..keys.len()]);
}

/// Looks up parts of the keys in several threads at once.
fn find_in_threads(
    filter: &dyn Contestant,
    operation: Operation,
    keys: &[u64],
    answers: &mut [bool],
) -> Duration {
    let Operation::Find { way, threads, .. } = operation else { return Duration::ZERO };
    let part = keys.len().div_ceil(threads);
    let parts = keys.chunks(part).zip(answers.chunks_mut(part));
    measure::time_together(parts.map(|(keys, answers)| move || filter.find(way, keys, answers)).collect())
}

/// Returns keys to look up in random order: this percentage is below `stored`, the others were never stored.
pub(crate) fn queries(count: usize, stored: u64, percent: u64) -> Vec<u64> {
    let (coin, draw) = (KeyHasher::new(2), KeyHasher::new(3));
    let stored = usize::try_from(stored).unwrap_or(usize::MAX);
    let query = |at: u64| {
        let present = (reduce(coin.number(at).to_raw(), 100) as u64) < percent;
        if present { reduce(draw.number(at).to_raw(), stored) as u64 } else { ABSENT + at }
    };
    (0..count as u64).map(query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_per_cent_are_present() {
        for percent in [0, 50, 100] {
            let present = queries(100_000, 1000, percent).iter().filter(|key| **key < 1000).count();
            assert!(present.abs_diff(1000 * usize::try_from(percent).unwrap()) < 1000, "{present} of 100000");
        }
    }
}
