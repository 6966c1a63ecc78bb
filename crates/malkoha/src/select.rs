//! From a geometry to the engine that serves it: the one list of specialised engines.
//!
//! Shapes that are asked for often have their numbers compiled in; all others are served by the same code with
//! the numbers in fields. A line more or less here changes speed, never answers.

use crate::bloom::{Blocked, BlockedLayout, Bloom, Distinct, Pattern, Random, Spread};
use crate::cuckoo::{
    ClassicCuckoo, Cuckoo, CuckooLayout, Dynamic, Fixed, SemiSortedCuckoo, Signed, SimplifiedCuckoo, Slots,
    SortedBuckets, SortedCuckoo,
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
    Ok(match layout.kind {
        Kind::Classic(_) => Box::new(ClassicCuckoo::new(layout)?),
        Kind::SemiSorted => Box::new(SemiSortedCuckoo::new(layout)?),
        Kind::Simplified(_) => Box::new(SimplifiedCuckoo::new(layout)?),
        Kind::Sorted => return sorted(layout),
        Kind::Flexible(_) | Kind::Windowed(_) => return slots(layout),
        Kind::Bloom | Kind::Blocked(_) => unreachable!("Bloom kinds have layouts of their own"),
    })
}

/// Buckets and windows with signed offsets.
fn slots(layout: &CuckooLayout) -> Result<Box<dyn Engine>, Error> {
    macro_rules! choose {
        ($(($bits:literal, $l:literal, $windowed:literal)),* $(,)?) => {
            match (layout.tag_bits(), layout.slots_per_place, layout.kind.is_windowed()) {
                $(($bits, $l, $windowed) => {
                    Box::new(Cuckoo::<Signed, Slots<Fixed<$bits, $l, $windowed>>>::new(layout)?)
                })*
                _ => Box::new(Cuckoo::<Signed, Slots<Dynamic>>::new(layout)?),
            }
        };
    }
    Ok(choose![
        (8, 4, false),
        (12, 4, false),
        (16, 4, false),
        (8, 2, true),
        (12, 2, true),
        (16, 2, true),
        (16, 4, true),
    ])
}

/// Sorted buckets with signed offsets.
fn sorted(layout: &CuckooLayout) -> Result<Box<dyn Engine>, Error> {
    macro_rules! choose {
        ($($bits:literal),*) => {
            match layout.tag_bits() {
                $($bits => Box::new(Cuckoo::<Signed, SortedBuckets<$bits>>::new(layout)?),)*
                _ => Box::new(SortedCuckoo::new(layout)?),
            }
        };
    }
    Ok(choose![10, 11, 13, 17])
}
