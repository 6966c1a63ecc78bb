//! Compares the tables with naive tables that look at one slot at a time.

use super::audit::audit;
use super::layout::CuckooLayout;
use super::place::{Homes, Place};
use super::row::{Row, look_up_row};
use super::slots::Slots;
use super::sorted::SortedBuckets;
use super::table::{Entry, Swap, Table};
use super::tag::{Fingerprint, Side};
use crate::bits::Words;
use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::bits::words::ROW;
use crate::engine::Flaw;
use crate::filter::Filter;
use crate::key::KeyHash;
use crate::kind::Kind;
use crate::plan::Spec;
use crate::testing::Stream;

/// The content of a naive slot: the entry, and its rank in its place.
type Held = Option<(Entry, u64)>;

/// A row of slots, one element each.
struct Naive {
    slots: Vec<Held>,
    l: u64,
    windowed: bool,
    balanced: bool,
}

impl Naive {
    fn slot(&self, place: Place, rank: u64) -> usize {
        (if self.windowed { place.0 + rank } else { place.0 * self.l + rank }) as usize
    }

    fn ranks(&self, entry: Entry, wanted: impl Fn(Held, u64) -> bool) -> Vec<u64> {
        (0..self.l).filter(|&rank| wanted(self.slots[self.slot(entry.place, rank)], rank)).collect()
    }

    fn holding(&self, entry: Entry) -> Vec<u64> {
        self.ranks(entry, |held, rank| held == Some((entry, rank)))
    }

    /// Returns the values of all copies of an entry, ascending.
    fn values(&self, entry: Entry) -> Vec<u16> {
        let held = (0..self.l).filter_map(|rank| {
            let (held, own_rank) = self.slots[self.slot(entry.place, rank)]?;
            (same_key(held, entry) && own_rank == rank).then_some(held.value)
        });
        let mut values: Vec<u16> = held.collect();
        values.sort_unstable();
        values
    }

    fn update(&mut self, entry: Entry, value: u16) -> bool {
        let Some(&rank) = self.holding(entry).first() else { return false };
        let slot = self.slot(entry.place, rank);
        self.slots[slot] = Some((Entry { value, ..entry }, rank));
        true
    }

    fn put(&mut self, entry: Entry) -> bool {
        let Some(&rank) = self.ranks(entry, |held, _| held.is_none()).first() else { return false };
        let slot = self.slot(entry.place, rank);
        self.slots[slot] = Some((entry, rank));
        true
    }

    /// Puts an entry into the emptier of two places if that is the way of the table, otherwise into the first that has
    /// room.
    fn put_in_either(&mut self, [first, second]: [Entry; 2]) -> bool {
        let rank = |entry| self.ranks(entry, |held, _| held.is_none()).first().copied().unwrap_or(self.l);
        let second_first = self.balanced && rank(second) < rank(first);
        let [one, other] = if second_first { [second, first] } else { [first, second] };
        self.put(one) || self.put(other)
    }

    fn take(&mut self, entry: Entry) -> bool {
        let Some(&rank) = self.holding(entry).first() else { return false };
        let slot = self.slot(entry.place, rank);
        self.slots[slot] = None;
        true
    }
}

/// Returns whether two entries differ at most in their values.
fn same_key(one: Entry, other: Entry) -> bool {
    one == Entry { value: one.value, ..other }
}

/// Returns the values that a table reports, ascending.
fn values<T: Table>(table: &T, entry: Entry) -> Vec<u16> {
    let mut values = Vec::new();
    table.values(entry, |value| values.push(value));
    values.sort_unstable();
    values
}

/// What a model of a table returns for an entry: the values of its copies, ascending.
type Model<'a> = &'a dyn Fn(Entry) -> Vec<u16>;

/// Compares the answers of a table about a key with the model.
fn check<T: Table>(table: &T, homes: Homes, model: Model) {
    let mut copies = 0;
    for probe in homes.both(0) {
        let expected = model(probe);
        assert_eq!(table.count(probe), expected.len() as u32, "{probe:?}");
        assert_eq!(values(table, probe), expected, "{probe:?}");
        copies += expected.len();
    }
    assert_eq!(table.holds(homes), copies > 0, "{homes:?}");
    if table.is_plain() {
        for cpu in Cpu::all() {
            assert_eq!(cpu.run(PlainlyHolds(table, homes)), copies > 0, "{homes:?} on {cpu:?}");
        }
    }
}

/// Puts an entry into its place, in one of the ways of the table.
fn put<T: Table>(table: &mut T, entry: Entry, stream: &mut Stream) -> bool {
    let simply = table.is_simple() && stream.below(2) == 0;
    if simply { table.put::<true>(entry) } else { table.put::<false>(entry) }
}

/// Replaces the entry at `rank`, in one of the ways of the table.
fn swap<T: Table>(table: &mut T, entry: Entry, rank: u32, stream: &mut Stream) -> (Entry, Swap) {
    let victim = table.resident::<false>(entry.place, rank);
    if !table.is_simple() || stream.below(2) == 0 {
        return table.swap::<false>(entry, rank);
    }
    assert_eq!(table.resident::<true>(entry.place, rank), victim);
    table.swap::<true>(entry, rank)
}

/// Whether a plain table holds a single key.
struct PlainlyHolds<'a, T>(&'a T, Homes);

impl<T: Table> Work for PlainlyHolds<'_, T> {
    const WIDE: bool = true;
    type Output = bool;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> bool {
        let answer = self.0.plainly_holds::<false>(self.1, vectors);
        if self.0.has_whole_bytes() {
            assert_eq!(self.0.plainly_holds::<true>(self.1, vectors), answer, "{:?}", self.1);
        }
        answer
    }
}

/// Compares the answers of a table about a row of keys, on every CPU, with the model.
fn check_row<T: Table>(table: &T, layout: &CuckooLayout, stream: &mut Stream, model: Model) {
    let all: [Homes; ROW] = core::array::from_fn(|_| homes(layout, stream));
    let mut row = Row::default();
    for (i, homes) in all.into_iter().enumerate() {
        row.set(i, homes);
    }
    for cpu in Cpu::all() {
        let mut answers = [false; ROW];
        look_up_row(cpu, table, &row, &mut answers);
        for (homes, answer) in all.iter().zip(answers) {
            let expected = homes.both(0).into_iter().any(|probe| !model(probe).is_empty());
            assert_eq!(answer, expected, "{homes:?} on {cpu:?} in {layout:?}");
        }
    }
}

fn layout(kind: Kind, bits: u32, places: u64) -> CuckooLayout {
    valued_layout(kind, bits, 0, places)
}

/// Returns the layout of tags of `bits` bits below a value.
fn valued_layout(kind: Kind, bits: u32, value_bits: u32, places: u64) -> CuckooLayout {
    let mut layout = CuckooLayout::with_tags(kind, bits).with_values(value_bits);
    layout.set_places(places).unwrap();
    layout
}

fn words_for(layout: &CuckooLayout) -> Words {
    Words::zeroed(layout.table_bits().unwrap()).unwrap()
}

/// Returns the homes of a random key, from few fingerprints so that equal ones occur.
fn homes(layout: &CuckooLayout, stream: &mut Stream) -> Homes {
    let fingerprint = Fingerprint(match stream.below(4) {
        0 => layout.fingerprints,
        1 => 1 + stream.below(layout.fingerprints.min(3)),
        _ => 1 + stream.below(layout.fingerprints),
    });
    let [first, second] = [(); 2].map(|()| Place(stream.below(layout.places)));
    Homes { first, second, fingerprint }
}

/// Returns a random entry.
fn entry(layout: &CuckooLayout, stream: &mut Stream) -> Entry {
    let side = if layout.kind.is_signed() && stream.below(2) == 1 { Side::Second } else { Side::First };
    homes(layout, stream).with(side, value(layout, stream))
}

/// Returns an entry as a model keeps it: if tags do not store a side, all are on the first.
fn plain(layout: &CuckooLayout, entry: Entry) -> Entry {
    if layout.kind.is_signed() { entry } else { Entry { side: Side::First, ..entry } }
}

/// Returns a random value, from few so that equal ones occur.
fn value(layout: &CuckooLayout, stream: &mut Stream) -> u16 {
    let most = (1u64 << layout.value_bits()) - 1;
    [0, most, most / 2][stream.below(3) as usize] as u16
}

/// Runs random operations on a table of slots and on the naive one, and compares them after each.
fn slots_against_naive(layout: &CuckooLayout) {
    let table = Slots::new(layout, words_for(layout));
    if !table.is_windowed() {
        table_against_naive(layout, table.clone().balanced(), true);
    }
    table_against_naive(layout, table, false);
}

fn table_against_naive(layout: &CuckooLayout, mut table: Slots, balanced: bool) {
    let l = u64::from(layout.slots_per_place);
    let windowed = layout.kind.is_windowed();
    let mut naive = Naive { slots: vec![None; layout.slots as usize], l, windowed, balanced };
    let mut stream = Stream::new(u64::from(layout.tag_bits()) << 8 | l);
    for step in 0..400 {
        let entry = entry(layout, &mut stream);
        let homes = homes(layout, &mut stream);
        let both = homes.both(entry.value).map(|entry| plain(layout, entry));
        match stream.below(7) {
            0 | 1 => assert_eq!(put(&mut table, entry, &mut stream), naive.put(entry)),
            2 => assert_eq!(table.put_in_either(homes, entry.value), naive.put_in_either(both)),
            3 | 4 => {
                let expected = naive.take(both[0]) || naive.take(both[1]);
                assert_eq!(table.take_from_either(homes, entry.value), expected);
            }
            5 => {
                let value = value(layout, &mut stream);
                assert_eq!(table.update(entry, value), naive.update(entry, value));
            }
            _ => {
                let rank = stream.below(l);
                let slot = naive.slot(entry.place, rank);
                if let Some((victim, _)) = naive.slots[slot] {
                    let before = table.words().to_vec();
                    let (evicted, swap) = swap(&mut table, entry, rank as u32, &mut stream);
                    assert_eq!(evicted, victim, "{layout:?}");
                    assert!(table.count(entry) > 0);
                    if stream.below(2) == 0 {
                        table.undo(swap);
                        assert_eq!(table.words().to_vec(), before);
                    } else {
                        naive.slots[slot] = Some((entry, rank));
                    }
                }
            }
        }
        let model = |probe| naive.values(plain(layout, probe));
        for _ in 0..4 {
            check(&table, self::homes(layout, &mut stream), &model);
        }
        check(&table, Homes { first: entry.place, fingerprint: entry.fingerprint, ..homes }, &model);
        if step % 40 == 39 {
            check_row(&table, layout, &mut stream, &model);
        }
    }
    table.clear();
    assert!(table.words().iter().all(|word| *word == 0));
}

#[test]
fn slots_of_every_shape_agree_with_one_slot_at_a_time() {
    for kind in Kind::cuckoos().filter(|kind| !kind.is_sorted()) {
        for bits in 4..=60 {
            slots_against_naive(&layout(kind, bits, 13));
        }
    }
}

/// Returns widths of tags and values, up to a whole word.
fn valued_widths() -> impl Iterator<Item = (u32, u32)> {
    let widths = [4, 5, 8, 13, 16, 24, 32, 48, 60];
    let pairs = widths.into_iter().flat_map(|bits| [1, 4, 5, 16].map(|value_bits| (bits, value_bits)));
    pairs.filter(|(bits, value_bits)| bits + value_bits <= 64)
}

#[test]
fn slots_with_values_agree_with_one_slot_at_a_time() {
    for kind in Kind::cuckoos().filter(|kind| !kind.is_sorted()) {
        for (bits, value_bits) in valued_widths() {
            slots_against_naive(&valued_layout(kind, bits, value_bits, 13));
        }
    }
}

/// Runs random operations on sorted buckets and on plain lists, and compares them after each.
fn sorted_against_lists(layout: &CuckooLayout) {
    let mut table = SortedBuckets::new(layout, words_for(layout));
    let mut buckets: Vec<Vec<Entry>> = vec![Vec::new(); 7];
    let mut stream = Stream::new(u64::from(layout.tag_bits()));
    for step in 0..600 {
        let entry = entry(layout, &mut stream);
        let homes = homes(layout, &mut stream);
        let both = homes.both(entry.value).map(|entry| plain(layout, entry));
        let bucket = &mut buckets[entry.place.0 as usize];
        let at = bucket.iter().position(|held| *held == entry);
        match stream.below(5) {
            0 => {
                let value = value(layout, &mut stream);
                assert_eq!(table.update(entry, value), at.is_some());
                if let Some(at) = at {
                    bucket[at].value = value;
                }
            }
            1 => {
                let held = |entry: &&Entry| buckets[entry.place.0 as usize].contains(entry);
                let taken = both.iter().find(held).copied();
                assert_eq!(table.take_from_either(homes, entry.value), taken.is_some());
                if let Some(taken) = taken {
                    let bucket = &mut buckets[taken.place.0 as usize];
                    bucket.swap_remove(bucket.iter().position(|held| *held == taken).unwrap());
                }
            }
            2 if bucket.len() == 4 => {
                let before = table.words().to_vec();
                let rank = stream.below(4) as u32;
                let (victim, swap) = swap(&mut table, entry, rank, &mut stream);
                let at = bucket.iter().position(|held| *held == victim).expect("a victim was there");
                if stream.below(2) == 0 {
                    table.undo(swap);
                    assert_eq!(table.words().to_vec(), before);
                } else {
                    bucket[at] = entry;
                }
            }
            3 => {
                let room = both.iter().find(|entry| buckets[entry.place.0 as usize].len() < 4);
                assert_eq!(table.put_in_either(homes, entry.value), room.is_some());
                if let Some(entry) = room {
                    buckets[entry.place.0 as usize].push(*entry);
                }
            }
            _ => {
                assert_eq!(put(&mut table, entry, &mut stream), bucket.len() < 4);
                if bucket.len() < 4 {
                    bucket.push(entry);
                }
            }
        }
        let model = |probe| {
            let probe = plain(layout, probe);
            let copies = buckets[probe.place.0 as usize].iter().filter(|held| same_key(**held, probe));
            let mut values: Vec<u16> = copies.map(|held| held.value).collect();
            values.sort_unstable();
            values
        };
        check(&table, self::homes(layout, &mut stream), &model);
        check(&table, Homes { first: entry.place, fingerprint: entry.fingerprint, ..homes }, &model);
        if step % 40 == 39 {
            check_row(&table, layout, &mut stream, &model);
        }
    }
}

#[test]
fn sorted_buckets_of_every_width_agree_with_lists() {
    for bits in 4..=60 {
        sorted_against_lists(&layout(Kind::Sorted, bits, 7));
        sorted_against_lists(&layout(Kind::SemiSorted, bits, 7));
    }
}

#[test]
fn sorted_buckets_with_values_agree_with_lists() {
    for (bits, value_bits) in valued_widths() {
        for kind in [Kind::Sorted, Kind::SemiSorted] {
            sorted_against_lists(&valued_layout(kind, bits, value_bits, 7));
        }
    }
}

/// Bits that no sequence of operations leaves: a value without a fingerprint, in the first slot and in the last.
#[test]
fn a_value_without_a_fingerprint_is_a_flaw() {
    for kind in Kind::cuckoos() {
        for (bits, value_bits) in [(5, 1), (8, 8), (13, 3)] {
            let layout = valued_layout(kind, bits, value_bits, 16);
            let tag = 1u64 << (bits + value_bits - 1);
            for slot in [0, layout.slots - 1] {
                let mut words = words_for(&layout);
                if kind.is_sorted() {
                    // Upper parts 0, 0, 0 and 8 have the number C(11, 4); all else is zero.
                    let bucket_bits = SortedBuckets::bucket_bits(layout.tag_bits());
                    words.write(slot / 4 * u64::from(bucket_bits), 12, 330);
                } else {
                    words.write(slot * u64::from(layout.tag_bits()), layout.tag_bits(), tag);
                }
                let flaw = audit(&words, &layout);
                assert!(
                    matches!(flaw, Err(Flaw::Table { what, .. }) if what.contains("value")),
                    "{layout:?}"
                );
            }
        }
    }
}

#[test]
fn a_stash_with_too_wide_a_value_is_a_flaw() {
    for kind in Kind::cuckoos() {
        let geometry = Spec::new(500, 0.01).kind(kind).values(3).plan().unwrap();
        let mut filter = Filter::new(geometry).unwrap();
        for value in [7, 8, u16::MAX] {
            filter.engine_mut().restore(1, vec![(0, 1, value)]);
            assert_eq!(filter.engine().audit().is_ok(), value == 7, "{kind} {value}");
        }
    }
}

/// A filter of every kind, so full that some keys are in the stash, copied into an empty one.
#[test]
fn the_hashes_of_a_filter_store_the_same_keys_elsewhere() {
    for kind in Kind::cuckoos() {
        let geometry = Spec::new(500, 0.01).kind(kind).plan().unwrap();
        let [mut filter, mut copy] = [(); 2].map(|()| Filter::new(geometry).unwrap());
        let mut stream = Stream::new(3);
        let keys: Vec<_> = core::iter::repeat_with(|| KeyHash::from_raw(stream.draw()))
            .take_while(|&hash| filter.engine().stash_len() < 8 && filter.insert(&hash).is_ok())
            .collect();
        assert!(keys.len() >= 500 && filter.engine().stash_len() > 0, "{kind}");
        let hashes: Vec<_> = filter.cuckoo("tell").unwrap().copies().map(|(hash, _)| hash).collect();
        assert_eq!(hashes.len() as u64, filter.len(), "{kind}");
        for hash in hashes {
            // If keys fit in one order, they fit in another, at worst with more keys in the stash.
            copy.insert(&hash).unwrap();
        }
        for key in keys.into_iter().chain((0..50_000).map(|_| KeyHash::from_raw(stream.draw()))) {
            assert_eq!(copy.count(&key), filter.count(&key), "{kind}");
        }
    }
}

/// Tables of every shape, filled at random, are sound and hold as many tags as were put in.
#[test]
fn audits_count_what_was_put_in() {
    for kind in Kind::cuckoos().filter(|kind| !kind.is_sorted()) {
        for bits in CuckooLayout::tag_widths(kind).filter(|bits| *bits >= 4 && *bits < 40) {
            let layout = layout(kind, bits, 64);
            let mut table = Slots::new(&layout, words_for(&layout));
            let mut stream = Stream::new(u64::from(bits));
            let put = (0..200).filter(|_| table.put::<false>(entry(&layout, &mut stream))).count();
            assert_eq!(audit(table.words(), &layout), Ok(put as u64), "{layout:?}");
        }
    }
    for bits in CuckooLayout::tag_widths(Kind::Sorted) {
        let layout = layout(Kind::Sorted, bits, 700);
        let mut table = SortedBuckets::new(&layout, words_for(&layout));
        let mut stream = Stream::new(u64::from(bits));
        let put = (0..2500).filter(|_| table.put::<false>(entry(&layout, &mut stream))).count();
        assert_eq!(audit(table.words(), &layout), Ok(put as u64), "{layout:?}");
    }
}

/// Several threads check a table: a tag that no key has is found wherever it is, and of two the first.
#[test]
fn audits_by_shares_find_what_one_would() {
    for (kind, bits) in [(Kind::Windowed(2), 16), (Kind::Flexible(4), 13), (Kind::Sorted, 17)] {
        let layout = layout(kind, bits, 3 << 20);
        let width = if kind.is_sorted() { SortedBuckets::bucket_bits(bits) } else { bits };
        let last = if kind.is_sorted() { layout.places } else { layout.slots } - 1;
        for (first, second) in [(0, last), (last / 2, last), (last / 2 + 64, last / 2 + 65), (last, last)] {
            let mut words = words_for(&layout);
            assert_eq!(audit(&words, &layout), Ok(0));
            // A number of a sorted bucket beyond the last, or a side and a rank without a fingerprint.
            let wrong = if kind.is_sorted() { 4095 } else { 1 << (bits - 1) };
            for at in [first, second].map(|unit| unit * u64::from(width)) {
                words.write(at, if kind.is_sorted() { 12 } else { bits }, wrong);
            }
            let flaw = audit(&words, &layout);
            let bit = first * u64::from(width);
            assert!(matches!(flaw, Err(Flaw::Table { bit: at, .. }) if at == bit), "{layout:?} {flaw:?}");
        }
    }
}
