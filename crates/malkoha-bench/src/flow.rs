//! The ruler for streams: bandwidth, hashing, and the partitioning of keys that starts a bulk build.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Duration;

use malkoha::KeyHasher;

use crate::measure;
use crate::memory::{LINE_WORDS, Line, stream, streamed};

/// Gigabytes per second.
fn giga_bytes(lines: usize, time: Duration) -> f64 {
    measure::mega_per_second(lines * size_of::<Line>(), time) / 1e3
}

/// Runs one job for each thread's part of a table, and returns gigabytes per second.
fn over_parts(lines: &mut [Line], threads: usize, job: impl Fn(&mut [Line]) + Sync) -> f64 {
    let (all, part) = (lines.len(), lines.len().div_ceil(threads));
    let job = &job;
    giga_bytes(all, measure::time_together(lines.chunks_mut(part).map(|part| || job(part)).collect()))
}

/// Returns gigabytes read per second, in order.
pub(crate) fn read(lines: &mut [Line], threads: usize) -> f64 {
    over_parts(lines, threads, |part| {
        let mut sums = [0u64; LINE_WORDS];
        for line in &*part {
            for (sum, word) in sums.iter_mut().zip(line.0) {
                *sum = sum.wrapping_add(word);
            }
        }
        black_box(sums);
    })
}

/// Returns gigabytes written per second, in order, through the caches.
pub(crate) fn write(lines: &mut [Line], threads: usize) -> f64 {
    over_parts(lines, threads, |part| {
        part.fill(black_box(Line([3; LINE_WORDS])));
        black_box(part);
    })
}

/// Returns gigabytes written per second, in order, past the caches.
pub(crate) fn write_past(lines: &mut [Line], threads: usize) -> f64 {
    over_parts(lines, threads, |part| {
        let line = black_box(Line([5; LINE_WORDS]));
        for target in part {
            stream(target, &line);
        }
        streamed();
    })
}

/// Returns million integers hashed per second by the engine's own hash.
pub(crate) fn hash(keys: usize, threads: usize) -> f64 {
    let hasher = black_box(KeyHasher::new(1));
    let job = move || {
        black_box((0..keys as u64).fold(0, |sum: u64, key| sum.wrapping_add(hasher.number(key).to_raw())));
    };
    measure::mega_per_second(threads * keys, measure::time_together(vec![job; threads]))
}

/// Partitions keys by the upper bits of their hashes. One pass hashes, collects a cache line for each part,
/// and writes full lines to the part's own region, which has room for eight standard deviations more than the
/// mean.
pub(crate) struct Partition {
    keys: Vec<u64>,
    ways: usize,
    region_lines: usize,
    target: Vec<Line>,
}

impl Partition {
    /// Prepares to partition this many keys into this many parts, a power of two.
    pub(crate) fn new(keys: usize, ways: usize) -> Self {
        let mean = keys.div_ceil(ways);
        let region_lines = (mean + 8 * mean.isqrt() + 16) / LINE_WORDS + 1;
        Self {
            keys: (0..keys as u64).collect(),
            ways,
            region_lines,
            target: vec![Line([1; 8]); ways * region_lines],
        }
    }

    /// Returns million keys per second with writes through the caches or past them, whichever is faster.
    pub(crate) fn speed(&mut self) -> f64 {
        let (through, _) = measure::time(|| self.run(|target, line| *target = *line));
        let (past, ()) = measure::time(|| {
            self.run(stream);
            streamed();
        });
        measure::mega_per_second(self.keys.len(), through.min(past))
    }

    /// Partitions once; returns how many keys each part has.
    fn run(&mut self, write: impl Fn(&mut Line, &Line)) -> Vec<usize> {
        let hasher = KeyHasher::new(1);
        let mut held = vec![Line::default(); self.ways];
        let mut sizes = vec![0usize; self.ways];
        for key in &self.keys {
            let hash = hasher.number(*key).to_raw();
            let way = crate::access::reduce(hash, self.ways);
            let size = sizes[way];
            held[way].0[size % LINE_WORDS] = hash;
            if size % LINE_WORDS == LINE_WORDS - 1 {
                write(&mut self.target[way * self.region_lines + size / LINE_WORDS], &held[way]);
            }
            sizes[way] = size + 1;
        }
        for (way, size) in sizes.iter().enumerate() {
            write(&mut self.target[way * self.region_lines + size / LINE_WORDS], &held[way]);
        }
        black_box(&self.target);
        sizes
    }
}

/// Returns how many million keys per second all threads together partition, each its own keys.
pub(crate) fn partition(parts: &mut [Partition]) -> f64 {
    let sum = Mutex::new(0.0);
    let job = |partition: &mut Partition| {
        let speed = partition.speed();
        *sum.lock().expect("no thread panics") += speed;
    };
    measure::time_together(parts.iter_mut().map(|part| || job(part)).collect());
    sum.into_inner().expect("no thread panics")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitioning_loses_no_key_and_mixes_no_part() {
        let mut partition = Partition::new(100_000, 64);
        let sizes = partition.run(|target, line| *target = *line);
        assert_eq!(sizes.iter().sum::<usize>(), 100_000);
        let mut found: Vec<u64> = Vec::new();
        for (way, size) in sizes.into_iter().enumerate() {
            let region = &partition.target[way * partition.region_lines..][..partition.region_lines];
            let hashes = region.iter().flat_map(|line| line.0).take(size);
            found.extend(hashes.inspect(|hash| assert_eq!(hash >> 58, way as u64)));
        }
        let mut expected: Vec<u64> = (0..100_000).map(|key| KeyHasher::new(1).number(key).to_raw()).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
