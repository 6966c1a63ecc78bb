//! The tables against tables that look at one slot at a time.

use super::layout::CuckooLayout;
use super::place::Place;
use super::slots::{Dynamic, Fixed, Shape, Slots};
use super::sorted::SortedBuckets;
use super::table::{Entry, Table};
use super::tag::{Fingerprint, Side};
use crate::bits::Words;
use crate::filter::Filter;
use crate::key::KeyHash;
use crate::kind::Kind;
use crate::spec::Spec;
use crate::testing::Stream;

/// What a naive slot holds: the entry and which slot of its place it is.
type Held = Option<(Entry, u64)>;

/// Slots in a row, one by one.
struct Naive {
    slots: Vec<Held>,
    l: u64,
    windowed: bool,
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

    fn put(&mut self, entry: Entry) -> bool {
        let Some(&rank) = self.ranks(entry, |held, _| held.is_none()).first() else { return false };
        let slot = self.slot(entry.place, rank);
        self.slots[slot] = Some((entry, rank));
        true
    }

    fn take(&mut self, entry: Entry) -> bool {
        let Some(&rank) = self.holding(entry).first() else { return false };
        let slot = self.slot(entry.place, rank);
        self.slots[slot] = None;
        true
    }
}

fn layout(kind: Kind, bits: u32, places: u64) -> CuckooLayout {
    let mut layout = CuckooLayout::with_tags(kind, bits);
    layout.set_places(places).unwrap();
    layout
}

fn words_for(layout: &CuckooLayout) -> Words {
    Words::zeroed(layout.table_bits().unwrap()).unwrap()
}

/// A random entry, from few fingerprints so that equal ones meet.
fn entry(layout: &CuckooLayout, stream: &mut Stream) -> Entry {
    let fingerprint = match stream.below(4) {
        0 => layout.fingerprints,
        1 => 1 + stream.below(layout.fingerprints.min(3)),
        _ => 1 + stream.below(layout.fingerprints),
    };
    let side = if layout.kind.is_signed() && stream.below(2) == 1 { Side::Second } else { Side::First };
    Entry { place: Place(stream.below(layout.places)), fingerprint: Fingerprint(fingerprint), side }
}

/// Random operations on a table of slots and on the naive one, compared after each.
fn slots_against_naive<S: Shape>(layout: &CuckooLayout) {
    let mut table = Slots::<S>::new(layout, words_for(layout));
    let l = u64::from(layout.slots_per_place);
    let windowed = layout.kind.is_windowed();
    let mut naive = Naive { slots: vec![None; layout.slots as usize], l, windowed };
    let mut stream = Stream::new(u64::from(layout.tag_bits()) << 8 | l);
    for _ in 0..400 {
        let entry = entry(layout, &mut stream);
        match stream.below(4) {
            0 | 1 => assert_eq!(table.put(entry), naive.put(entry)),
            2 => assert_eq!(table.take(entry), naive.take(entry)),
            _ => {
                let rank = stream.below(l);
                let slot = naive.slot(entry.place, rank);
                if let Some((victim, _)) = naive.slots[slot] {
                    let before = table.words().to_vec();
                    let (evicted, swap) = table.swap(entry, rank as u32);
                    assert_eq!(evicted, victim, "{layout:?}");
                    assert!(table.holds(entry));
                    if stream.below(2) == 0 {
                        table.undo(swap);
                        assert_eq!(table.words().to_vec(), before);
                    } else {
                        naive.slots[slot] = Some((entry, rank));
                    }
                }
            }
        }
        for _ in 0..4 {
            let probe = self::entry(layout, &mut stream);
            for probe in [probe, entry] {
                let expected = naive.holding(probe).len() as u32;
                assert_eq!(table.count(probe), expected, "{probe:?} in {layout:?}");
                assert_eq!(table.holds(probe), expected > 0, "{probe:?} in {layout:?}");
            }
        }
    }
    table.clear();
    assert!(table.words().iter().all(|word| *word == 0));
}

#[test]
fn slots_of_every_shape_agree_with_one_slot_at_a_time() {
    for kind in Kind::cuckoos().filter(|kind| !kind.is_sorted()) {
        for bits in 4..=60 {
            slots_against_naive::<Dynamic>(&layout(kind, bits, 13));
        }
    }
}

#[test]
fn compiled_shapes_agree_with_one_slot_at_a_time() {
    slots_against_naive::<Fixed<8, 4, false>>(&layout(Kind::Flexible(4), 8, 13));
    slots_against_naive::<Fixed<12, 4, false>>(&layout(Kind::Flexible(4), 12, 13));
    slots_against_naive::<Fixed<16, 4, false>>(&layout(Kind::Flexible(4), 16, 13));
    slots_against_naive::<Fixed<8, 2, true>>(&layout(Kind::Windowed(2), 8, 13));
    slots_against_naive::<Fixed<12, 2, true>>(&layout(Kind::Windowed(2), 12, 13));
    slots_against_naive::<Fixed<16, 2, true>>(&layout(Kind::Windowed(2), 16, 13));
    slots_against_naive::<Fixed<16, 4, true>>(&layout(Kind::Windowed(4), 16, 13));
}

/// Random operations on sorted buckets and on plain lists, compared after each.
fn sorted_against_lists<const TAG_BITS: u32>(layout: &CuckooLayout) {
    let bits = layout.tag_bits();
    let mut table = SortedBuckets::<TAG_BITS>::new(layout, words_for(layout));
    let mut buckets: Vec<Vec<Entry>> = vec![Vec::new(); 7];
    let mut stream = Stream::new(u64::from(bits));
    for _ in 0..600 {
        let entry = entry(layout, &mut stream);
        let bucket = &mut buckets[entry.place.0 as usize];
        let at = bucket.iter().position(|held| *held == entry);
        match (stream.below(3), at) {
            (0, Some(at)) => {
                bucket.swap_remove(at);
                assert!(table.take(entry));
            }
            (0, None) => assert!(!table.take(entry)),
            (1, _) if bucket.len() == 4 => {
                let before = table.words().to_vec();
                let (victim, swap) = table.swap(entry, stream.below(4) as u32);
                let at = bucket.iter().position(|held| *held == victim).expect("a victim was there");
                if stream.below(2) == 0 {
                    table.undo(swap);
                    assert_eq!(table.words().to_vec(), before);
                } else {
                    bucket[at] = entry;
                }
            }
            _ => {
                assert_eq!(table.put(entry), bucket.len() < 4);
                if bucket.len() < 4 {
                    bucket.push(entry);
                }
            }
        }
        for probe in [entry, self::entry(layout, &mut stream)] {
            let copies = buckets[probe.place.0 as usize].iter().filter(|held| **held == probe).count();
            assert_eq!(table.count(probe), copies as u32, "{probe:?} with {bits} bits");
            assert_eq!(table.holds(probe), copies > 0);
        }
    }
}

#[test]
fn sorted_buckets_of_every_width_agree_with_lists() {
    for bits in 4..=60 {
        sorted_against_lists::<0>(&layout(Kind::Sorted, bits, 7));
        sorted_against_lists::<0>(&layout(Kind::SemiSorted, bits, 7));
    }
}

#[test]
fn compiled_widths_of_sorted_buckets_agree_with_lists() {
    sorted_against_lists::<10>(&layout(Kind::Sorted, 10, 7));
    sorted_against_lists::<11>(&layout(Kind::Sorted, 11, 7));
    sorted_against_lists::<13>(&layout(Kind::Sorted, 13, 7));
    sorted_against_lists::<17>(&layout(Kind::Sorted, 17, 7));
}

/// A filter of every kind, tight enough that some keys are in the stash, poured into an empty one.
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
        let hashes: Vec<_> = filter.engine().hashes().unwrap().collect();
        assert_eq!(hashes.len() as u64, filter.len(), "{kind}");
        for hash in hashes {
            // What one order of inserts fits in, another order fits in with more keys in the stash at worst.
            copy.insert(&hash).unwrap();
        }
        for key in keys.into_iter().chain((0..50_000).map(|_| KeyHash::from_raw(stream.draw()))) {
            assert_eq!(copy.count(&key), filter.count(&key), "{kind}");
        }
    }
}
