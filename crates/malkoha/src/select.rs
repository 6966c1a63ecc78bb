//! From a geometry to the engine that serves it: the one list of specialised engines.
//!
//! Shapes that are asked for often have their numbers compiled in; all others are served by the same code
//! with the numbers in fields. A line more or less here changes speed, never answers.

use crate::bits::Words;
use crate::bloom::{Blocked, BlockedLayout, Bloom, Distinct, Pattern, Random, Spread};
use crate::cuckoo::{
    ClassicCuckoo, Cuckoo, CuckooLayout, Doubled, Dynamic, Fixed, Placement, SemiSortedCuckoo, Signed,
    SimplifiedCuckoo, Slots, SortedBuckets, Subtables, Xor,
};
use crate::engine::Engine;
use crate::error::Error;
use crate::geometry::{Geometry, Layout};
use crate::kind::Kind;

/// Builds the filter that a geometry describes, in words that are as many as it needs.
pub(crate) fn engine(geometry: &Geometry, words: Words) -> Result<Box<dyn Engine>, Error> {
    match geometry.layout() {
        Layout::Cuckoo(layout) => cuckoo(layout, words),
        Layout::Bloom(layout) => Ok(Box::new(Bloom::in_words(layout, words))),
        Layout::Blocked(layout) => blocked(layout, words),
    }
}

/// Blocked Bloom filters, by pattern: the query loop has it compiled in.
fn blocked(layout: &BlockedLayout, words: Words) -> Result<Box<dyn Engine>, Error> {
    Ok(match layout.pattern {
        Pattern::Random => Box::new(Blocked::<Random>::in_words(layout, words)?),
        Pattern::Distinct => Box::new(Blocked::<Distinct>::in_words(layout, words)?),
        Pattern::Spread => Box::new(Blocked::<Spread>::in_words(layout, words)?),
    })
}

fn cuckoo(layout: &CuckooLayout, words: Words) -> Result<Box<dyn Engine>, Error> {
    if layout.doublings() > 0 {
        return if layout.value_bits() > 0 {
            valued::<Doubled>(layout, words)
        } else if layout.kind.is_sorted() {
            Ok(Box::new(Cuckoo::<Doubled, SortedBuckets>::in_words(layout, words)?))
        } else {
            Ok(Box::new(Cuckoo::<Doubled, Slots<Dynamic>>::in_words(layout, words)?))
        };
    }
    if layout.value_bits() > 0 {
        return match layout.kind {
            Kind::Classic(_) | Kind::SemiSorted => valued::<Xor>(layout, words),
            Kind::Simplified(_) => valued::<Subtables>(layout, words),
            _ if layout.ring.near_share > 0 => valued::<Signed<true>>(layout, words),
            _ => valued::<Signed<false>>(layout, words),
        };
    }
    Ok(match layout.kind {
        Kind::Classic(_) => Box::new(ClassicCuckoo::in_words(layout, words)?),
        Kind::SemiSorted => Box::new(SemiSortedCuckoo::in_words(layout, words)?),
        Kind::Simplified(_) => Box::new(SimplifiedCuckoo::in_words(layout, words)?),
        _ if layout.ring.near_share > 0 => signed::<Signed<true>>(layout, words)?,
        _ => signed::<Signed<false>>(layout, words)?,
    })
}

/// Tags with values, of any shape.
fn valued<P: Placement>(layout: &CuckooLayout, words: Words) -> Result<Box<dyn Engine>, Error> {
    Ok(if layout.kind.is_sorted() {
        Box::new(Cuckoo::<P, SortedBuckets<0, true>>::in_words(layout, words)?)
    } else {
        Box::new(Cuckoo::<P, Slots<Dynamic<true>>>::in_words(layout, words)?)
    })
}

/// Buckets, windows and sorted buckets with signed offsets: the shapes of slots (bits, slots of a place, windows or
/// not) and the bits of the tags of sorted buckets that have their numbers compiled in.
fn signed<P: Placement>(layout: &CuckooLayout, words: Words) -> Result<Box<dyn Engine>, Error> {
    macro_rules! choose {
        (slots $(($bits:literal, $l:literal, $windowed:literal)),*; sorted $($sorted:literal),*) => {
            match (layout.kind, layout.tag_bits(), layout.slots_per_place, layout.kind.is_windowed()) {
                $((Kind::Sorted, $sorted, ..) => Box::new(Cuckoo::<P, SortedBuckets<$sorted>>::in_words(layout, words)?),)*
                (Kind::Sorted, ..) => Box::new(Cuckoo::<P, SortedBuckets>::in_words(layout, words)?),
                $((_, $bits, $l, $windowed) => {
                    Box::new(Cuckoo::<P, Slots<Fixed<$bits, $l, $windowed>>>::in_words(layout, words)?)
                })*
                _ => Box::new(Cuckoo::<P, Slots<Dynamic>>::in_words(layout, words)?),
            }
        };
    }
    Ok(choose![
        slots
            (8, 4, false), (12, 4, false), (16, 4, false),
            (8, 2, true), (12, 2, true), (16, 2, true), (16, 4, true);
        sorted 10, 11, 13, 17
    ])
}
