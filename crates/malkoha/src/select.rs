//! From a geometry to the engine that serves it: the one list of specialised engines.
//!
//! Shapes that are asked for often have their numbers compiled in; all others are served by the same code with
//! the numbers in fields. A line more or less here changes speed, never answers.

use crate::bloom::{Blocked, BlockedLayout, Bloom, Distinct, Pattern, Random, Spread};
use crate::cuckoo::{
    ClassicCuckoo, Cuckoo, CuckooLayout, Dynamic, Fixed, Placement, SemiSortedCuckoo, Signed,
    SimplifiedCuckoo, Slots, SortedBuckets, Subtables, Xor,
};
use crate::engine::Engine;
use crate::error::Error;
use crate::geometry::{Geometry, Layout};
use crate::kind::Kind;

/// Builds the empty filter that a geometry describes.
pub(crate) fn engine(geometry: &Geometry) -> Result<Box<dyn Engine>, Error> {
    match geometry.layout() {
        Layout::Cuckoo(layout) => cuckoo(layout),
        Layout::Bloom(layout) => Ok(Box::new(Bloom::new(layout)?)),
        Layout::Blocked(layout) => blocked(layout),
    }
}

/// Blocked Bloom filters, by pattern: the query loop has it compiled in.
fn blocked(layout: &BlockedLayout) -> Result<Box<dyn Engine>, Error> {
    Ok(match layout.pattern {
        Pattern::Random => Box::new(Blocked::<Random>::new(layout)?),
        Pattern::Distinct => Box::new(Blocked::<Distinct>::new(layout)?),
        Pattern::Spread => Box::new(Blocked::<Spread>::new(layout)?),
    })
}

fn cuckoo(layout: &CuckooLayout) -> Result<Box<dyn Engine>, Error> {
    if layout.value_bits() > 0 {
        return match layout.kind {
            Kind::Classic(_) | Kind::SemiSorted => valued::<Xor>(layout),
            Kind::Simplified(_) => valued::<Subtables>(layout),
            _ if layout.ring.near_share > 0 => valued::<Signed<true>>(layout),
            _ => valued::<Signed<false>>(layout),
        };
    }
    Ok(match layout.kind {
        Kind::Classic(_) => Box::new(ClassicCuckoo::new(layout)?),
        Kind::SemiSorted => Box::new(SemiSortedCuckoo::new(layout)?),
        Kind::Simplified(_) => Box::new(SimplifiedCuckoo::new(layout)?),
        _ if layout.ring.near_share > 0 => signed::<Signed<true>>(layout)?,
        _ => signed::<Signed<false>>(layout)?,
    })
}

/// Tags with values, of any shape.
fn valued<P: Placement>(layout: &CuckooLayout) -> Result<Box<dyn Engine>, Error> {
    Ok(if layout.kind.is_sorted() {
        Box::new(Cuckoo::<P, SortedBuckets<0, true>>::new(layout)?)
    } else {
        Box::new(Cuckoo::<P, Slots<Dynamic<true>>>::new(layout)?)
    })
}

/// Buckets, windows and sorted buckets with signed offsets.
fn signed<P: Placement>(layout: &CuckooLayout) -> Result<Box<dyn Engine>, Error> {
    macro_rules! choose {
        (slots $(($bits:literal, $l:literal, $windowed:literal)),*; sorted $($sorted:literal),*) => {
            match (layout.kind, layout.tag_bits(), layout.slots_per_place, layout.kind.is_windowed()) {
                $((Kind::Sorted, $sorted, ..) => Box::new(Cuckoo::<P, SortedBuckets<$sorted>>::new(layout)?),)*
                (Kind::Sorted, ..) => Box::new(Cuckoo::<P, SortedBuckets>::new(layout)?),
                $((_, $bits, $l, $windowed) => {
                    Box::new(Cuckoo::<P, Slots<Fixed<$bits, $l, $windowed>>>::new(layout)?)
                })*
                _ => Box::new(Cuckoo::<P, Slots<Dynamic>>::new(layout)?),
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
