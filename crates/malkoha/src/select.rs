//! From a geometry to the engine that serves it: the one list of engines.

use crate::bits::Words;
use crate::bloom::{Blocked, BlockedLayout, Bloom, Distinct, Pattern, Random, Spread};
use crate::cuckoo::{
    ClassicCuckoo, CuckooLayout, FlexibleCuckoo, SemiSortedCuckoo, SimplifiedCuckoo, SortedCuckoo,
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

/// Cuckoo filters, by placement and table. Widths are numbers in fields; `docs/DESIGN.md` says what it would be
/// worth to compile them in.
fn cuckoo(layout: &CuckooLayout, words: Words) -> Result<Box<dyn Engine>, Error> {
    Ok(match layout.kind {
        Kind::Classic(_) => Box::new(ClassicCuckoo::in_words(layout, words)?),
        Kind::SemiSorted => Box::new(SemiSortedCuckoo::in_words(layout, words)?),
        Kind::Simplified(_) => Box::new(SimplifiedCuckoo::in_words(layout, words)?),
        Kind::Sorted => Box::new(SortedCuckoo::in_words(layout, words)?),
        _ => Box::new(FlexibleCuckoo::in_words(layout, words)?),
    })
}
