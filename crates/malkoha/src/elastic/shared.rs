//! Lookups while another thread changes the filter, and lets it grow.
//!
//! Readers see a directory of their own (`bits/shared_directory.rs`), which leads from a hash to a table in one step.
//! At the end of every change, under the lock of the shard, it is told which tables have moved. A reader that is led to
//! a table that is no more reads memory that is still there, and then sees that the version of the shard has changed.
//!
//! A region with entries in its overflow, and one for whose table the arena of the shards had no room, is marked as
//! elsewhere: keys that its table does not have are asked for under the lock.
//!
//! Slices are looked up in one pass, in rows as in `batch.rs`, whichever shards their keys are in.

use std::sync::Arc;

use crate::bits::chosen::{Answerer, Chosen, Question};
use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::drawn::Choices;
use crate::bits::shared_arena::SharedArena;
use crate::bits::shared_directory::{SharedApproach, SharedDirectory};
use crate::bits::words::stays_in_cache;
use crate::engine::reader::{Closer, Front, Locked, Reader, alone, look_again};
use crate::engine::rows::{Keys, ROW};
use crate::engine::version::{Seen, Version};
use crate::key::KeyHash;

use super::directory::Elastic;
use super::shape::Shape;

/// The smallest range that contains all hashes whose tables have moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    first: u64,
    last: u64,
}

impl Moved {
    pub(super) const ALL: Self = Self { first: 0, last: u64::MAX };
    const NONE: Self = Self { first: u64::MAX, last: 0 };

    /// Adds the hashes of a region.
    pub(super) fn add(&mut self, shape: &Shape) {
        self.first = self.first.min(shape.prefix);
        self.last = self.last.max(shape.prefix | u64::MAX >> shape.depth);
    }
}

impl Elastic {
    /// Moves all tables to where readers without locks can see them.
    pub(super) fn open_front(&mut self, arena: &mut Option<Arc<SharedArena>>) -> Front {
        let arena = arena.get_or_insert_with(SharedArena::new);
        self.regions.iter_mut().for_each(|region| region.move_into(arena));
        self.moved = Moved::ALL;
        let front = Front::of_directory(SharedDirectory::new(arena));
        self.show(&front);
        front
    }

    /// Shows readers where the tables that have moved are now.
    pub(super) fn show(&mut self, front: &Front) {
        let Moved { first, last } = self.moved;
        if first > last {
            return;
        }
        self.moved = Moved::NONE;
        let directory = front.directory().expect("readers of a filter that grows have a directory");
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the directory")]
        let index = |hash: u64| (hash >> (64 - self.bits)) as usize;
        directory.lead(self.bits, index(first)..index(last) + 1, |at| {
            let region = &self.regions[self.directory[at] as usize];
            (region.shown(), self.range(&region.shape()).end)
        });
    }
}

/// Looks keys up in shards that grow.
#[derive(Debug)]
pub(super) struct ElasticReader {
    fronts: Choices<Front>,
    cpu: Cpu,
    locks: Arc<dyn Locked>,
}

/// A key at its places in the shard that it draws.
#[inline(always)]
fn approach(front: &Front, hash: KeyHash) -> SharedApproach<'_> {
    front.directory().expect("readers of a filter that grows have a directory").approach(hash)
}

/// Whether the table that a key was led to holds it.
#[inline(always)]
fn holds(key: &SharedApproach<'_>, vectors: impl Vectors) -> bool {
    if key.is_narrow() { vectors.holds_narrow(key) } else { holds_wide(key) }
}

#[cold]
#[inline(never)]
fn holds_wide(key: &SharedApproach<'_>) -> bool {
    use crate::bits::placed::Placed;
    key.holds_one_by_one()
}

impl ElasticReader {
    pub(super) fn new(cpu: Cpu, fronts: Box<[Front]>, locks: Arc<dyn Locked>) -> Self {
        Self { fronts: Choices::new(fronts), cpu, locks }
    }

    /// Looks up a key that was not clear to see.
    #[cold]
    #[inline(never)]
    fn look_again(&self, hash: KeyHash) -> bool {
        look_again(self, &*self.locks, hash)
    }

    /// The function that looks up a single key.
    fn choose(&self) -> Chosen<Self> {
        self.cpu.choose::<Self, SharedHolds>()
    }

    /// Whether the tables of all shards are together beyond the cache, so that prefetching helps.
    fn is_in_memory(&self) -> bool {
        let arena = self.fronts.all().first().and_then(Front::directory).map(SharedDirectory::arena);
        arena.is_some_and(|arena| !stays_in_cache(arena.bytes()))
    }
}

/// The question whether a shard holds a key.
struct SharedHolds;

impl Question<ElasticReader> for SharedHolds {
    const WIDE: bool = true;

    #[inline(always)]
    fn ask(of: &ElasticReader, hash: KeyHash, vectors: impl Vectors) -> bool {
        let (front, rest) = of.fronts.draw(hash);
        let seen = front.look();
        let key = approach(front, rest);
        let held = holds(&key, vectors);
        Version::look_back();
        // Regions are rarely marked, and writers rarely in the way; whether a key is found cannot be predicted.
        if key.is_elsewhere() && !held || front.changes(seen) != 0 { of.look_again(hash) } else { held }
    }
}

/// Keys in their shards, which were looked at before the keys were located.
struct SharedRow<'a> {
    fronts: [&'a Front; ROW],
    seen: [Seen; ROW],
    keys: [SharedApproach<'a>; ROW],
}

/// Locates a row of hashes.
struct Locate<'a, 'b, const PREFETCH: bool> {
    from: &'a Choices<Front>,
    hashes: &'b mut [KeyHash; ROW],
    row: &'b mut SharedRow<'a>,
}

impl<const PREFETCH: bool> Locate<'_, '_, PREFETCH> {
    #[inline(always)]
    fn by<V: Vectors>(self, _: V) {
        let Self { from, hashes, row } = self;
        from.draw_row::<V::Multiply>(hashes, &mut row.fronts);
        for (seen, front) in row.seen.iter_mut().zip(&row.fronts) {
            *seen = front.look();
        }
        for ((key, front), hash) in row.keys.iter_mut().zip(&row.fronts).zip(hashes.iter()) {
            *key = approach(front, *hash);
            if PREFETCH {
                key.prefetch();
            }
        }
    }
}

impl<const PREFETCH: bool> Work for Locate<'_, '_, PREFETCH> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        self.by(vectors);
    }
}

/// Compares a row that was located. Returns a bit for each key that has to be asked again.
struct Compare<'a, 'b>(&'b SharedRow<'a>, &'b mut [bool]);

impl Work for Compare<'_, '_> {
    const WIDE: bool = true;
    type Output = u64;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> u64 {
        let Self(row, answers) = self;
        for (key, answer) in row.keys.iter().zip(answers.iter_mut()) {
            *answer = holds(key, vectors);
        }
        Version::look_back();
        let mut unclear = 0;
        for (i, answer) in answers.iter().enumerate() {
            let is_clear = row.fronts[i].is_still(row.seen[i]) && (*answer || !row.keys[i].is_elsewhere());
            unclear |= u64::from(!is_clear) << i;
        }
        unclear
    }
}

impl ElasticReader {
    fn look_up_rows<const PREFETCH: bool>(&self, keys: Keys, answers: &mut [bool]) {
        let front = &self.fronts.all()[0];
        let key = approach(front, KeyHash::from_raw(0));
        let new = || SharedRow { fronts: [front; ROW], seen: [Seen::default(); ROW], keys: [key; ROW] };
        let (mut hashes, mut rows) = ([KeyHash::from_raw(0); ROW], [new(), new()]);
        let mut locate = |number: usize, row: &mut _| {
            keys.row(number, self.cpu, &mut hashes);
            self.cpu.run(Locate::<PREFETCH> { from: &self.fronts, hashes: &mut hashes, row });
        };
        // With prefetching, the rows are located one row ahead.
        let ahead = usize::from(PREFETCH);
        if PREFETCH {
            locate(0, &mut rows[0]);
        }
        for (i, answers) in answers.chunks_mut(ROW).enumerate() {
            if (i + ahead) * ROW < keys.len() {
                locate(i + ahead, &mut rows[(i + ahead) % 2]);
            }
            let mut again = self.cpu.run(Compare(&rows[i % 2], answers));
            while again != 0 {
                let at = again.trailing_zeros() as usize;
                answers[at] = self.look_again(keys.get(i * ROW + at));
                again &= again - 1;
            }
        }
    }
}

impl Reader for ElasticReader {
    fn fronts(&self) -> &[Front] {
        self.fronts.all()
    }

    fn into_fronts(self: Arc<Self>) -> Box<[Front]> {
        alone(self).fronts.into_all()
    }

    fn look_up(self: Arc<Self>) -> Answerer {
        let chosen = self.choose();
        Answerer::new(self, chosen)
    }

    #[cold]
    fn look_closely(&self, hash: KeyHash) -> Closer {
        let (front, hash) = self.fronts.draw(hash);
        let seen = front.look();
        let key = approach(front, hash);
        let held = self.cpu.run(HoldsOne(key));
        Version::look_back();
        if !front.is_still(seen) {
            Closer::Blurred
        } else if key.is_elsewhere() && !held {
            Closer::Aside
        } else {
            Closer::Answer(held)
        }
    }

    fn contains_keys(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        if self.is_in_memory() {
            self.look_up_rows::<true>(keys, answers);
        } else {
            self.look_up_rows::<false>(keys, answers);
        }
    }
}

/// Whether a table holds a key.
struct HoldsOne<'a>(SharedApproach<'a>);

impl Work for HoldsOne<'_> {
    const WIDE: bool = true;
    type Output = bool;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> bool {
        holds(&self.0, vectors)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::elastic::ElasticLayout;
    use crate::engine::{CuckooEngine, Engine};
    use crate::key::mix;

    fn hash(i: u64) -> KeyHash {
        KeyHash::from_raw(mix(i))
    }

    /// Counts the keys that are asked for under the lock, which it says are there.
    #[derive(Debug, Default)]
    struct Asked(AtomicUsize);

    impl Locked for Asked {
        fn contains(&self, _: KeyHash) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            true
        }
    }

    impl Asked {
        /// How many keys were asked for since the last call.
        fn count(&self) -> usize {
            self.0.swap(0, Ordering::Relaxed)
        }
    }

    /// Readers on every CPU see what the filter has, in tables with narrow and wide slots, with and without values.
    #[test]
    fn readers_on_every_cpu_see_what_the_filter_has() {
        for (rate, value_bits) in [(1e-3, 0), (1e-3, 4), (1e-5, 2), (1e-9, 0), (1e-4, 16)] {
            let layout = ElasticLayout::new(rate, 0, None, value_bits).unwrap();
            let mut elastic = Elastic::new(&layout).unwrap();
            let front = elastic.open_front(&mut None);
            let locks = Arc::new(Asked::default());
            let mut reader = ElasticReader::new(elastic.cpu, Box::new([front]), locks.clone());
            let (mut stored, mut yes, mut no) = (0..0, 0, 0);
            for step in 0..12u64 {
                // It grows, shrinks and grows again.
                let change =
                    if step % 4 == 3 { stored.start..stored.end - 50 } else { stored.end..stored.end + 6000 };
                for i in change.clone() {
                    reader.fronts()[0].begin();
                    if step % 4 == 3 {
                        assert!(elastic.remove(hash(i)));
                    } else {
                        elastic.insert(hash(i)).unwrap();
                    }
                    elastic.end_change(&reader.fronts()[0]);
                }
                stored = if step % 4 == 3 { change.end..stored.end } else { stored.start..change.end };
                let asked: Vec<KeyHash> = (stored.end - 50..stored.end + 1000).map(hash).collect();
                for cpu in Cpu::all() {
                    reader.cpu = cpu;
                    let look_up = reader.choose();
                    let mut answers = vec![false; asked.len()];
                    reader.look_up_rows::<true>(Keys::Hashes(&asked), &mut answers);
                    let mut again = vec![false; asked.len()];
                    reader.look_up_rows::<false>(Keys::Hashes(&asked), &mut again);
                    assert_eq!(answers, again);
                    for (hash, answer) in asked.iter().zip(answers) {
                        assert_eq!(answer, elastic.contains(*hash), "{rate} {value_bits} {step} {cpu:?}");
                        assert_eq!(look_up.ask(&reader, *hash), answer);
                        assert_eq!(reader.look_closely(*hash), Closer::Answer(answer));
                        *(if answer { &mut yes } else { &mut no }) += 1;
                    }
                    assert_eq!(locks.count(), 0, "nobody is in the way");
                }
            }
            assert!(yes > 500 && no > 5000, "{yes} {no}");
        }
    }

    /// While a region has an overflow, keys that its table does not have are asked for under the lock; no longer.
    #[test]
    fn an_overflow_marks_its_region_as_long_as_it_has_entries() {
        let layout = ElasticLayout::new(0.001, 0, None, 0).unwrap();
        let mut elastic = Elastic::new(&layout).unwrap();
        (0..50_000).for_each(|i| elastic.insert(hash(i)).unwrap());
        let front = elastic.open_front(&mut None);
        let locks = Arc::new(Asked::default());
        let reader = Arc::new(ElasticReader::new(elastic.cpu, Box::new([front]), locks.clone()));
        let (front, look_up) = (&reader.fronts()[0], Arc::clone(&reader).look_up());
        let unclear = || {
            (1 << 40..(1 << 40) + 2000).for_each(|i| _ = look_up.ask(hash(i)));
            locks.count()
        };
        assert_eq!(unclear(), 0);
        for _ in 0..60 {
            front.begin();
            elastic.insert(hash(7)).unwrap();
            assert!(look_up.ask(hash(7)));
            assert_eq!(locks.count(), 1, "a change is going on");
            assert_eq!(reader.look_closely(hash(7)), Closer::Blurred);
            elastic.end_change(front);
        }
        let share = unclear();
        assert!((1..1000).contains(&share), "{share} of 2000 keys are in the region of the overflow");
        assert!(look_up.ask(hash(7)));
        assert_eq!(locks.count(), 0, "what the table has needs no lock");
        for _ in 0..60 {
            front.begin();
            assert!(elastic.remove(hash(7)));
            elastic.end_change(front);
        }
        assert_eq!(unclear(), 0);
    }
}
