//! From a geometry to the engine that serves it: the one list of engines.

use super::Body;

use crate::bits::Words;
use crate::bloom::{Blocked, BlockedLayout, Bloom, Distinct, Random, Spread};
use crate::cuckoo::{
    ClassicCuckoo, CuckooLayout, SemiSortedCuckoo, SignedCuckoo, SimplifiedCuckoo, SortedCuckoo,
};
use crate::engine::{BloomEngine, CuckooEngine};
use crate::error::Error;
use crate::kind::{Kind, Pattern};
use crate::plan::{Geometry, Layout};

/// Builds the filter that a geometry describes, in the words that it needs.
pub(super) fn body(geometry: &Geometry, words: Words) -> Result<Body, Error> {
    Ok(match geometry.layout() {
        Layout::Cuckoo(layout) => Body::Cuckoo(cuckoo(layout, words)?),
        Layout::Elastic(_) => return Err(Error::Growing { operation: "be made in one table" }),
        Layout::Bloom(layout) => Body::Bloom(Box::new(Bloom::in_words(layout, words))),
        Layout::Blocked(layout) => Body::Bloom(blocked(layout, words)?),
    })
}

/// Blocked Bloom filters, by pattern: the query loop has it compiled in.
fn blocked(layout: &BlockedLayout, words: Words) -> Result<Box<dyn BloomEngine>, Error> {
    Ok(match layout.pattern {
        Pattern::Random => Box::new(Blocked::<Random>::in_words(layout, words)?),
        Pattern::Distinct => Box::new(Blocked::<Distinct>::in_words(layout, words)?),
        Pattern::Spread => Box::new(Blocked::<Spread>::in_words(layout, words)?),
    })
}

/// Cuckoo filters, by placement and table. Widths are numbers in fields; `docs/NOTEBOOK.md`, "One kernel for
/// every width", says what compiling them in would gain.
fn cuckoo(layout: &CuckooLayout, words: Words) -> Result<Box<dyn CuckooEngine>, Error> {
    Ok(match layout.kind {
        Kind::Classic(_) => Box::new(ClassicCuckoo::in_words(layout, words)?),
        Kind::SemiSorted => Box::new(SemiSortedCuckoo::in_words(layout, words)?),
        Kind::Simplified(_) => Box::new(SimplifiedCuckoo::in_words(layout, words)?),
        Kind::Sorted => Box::new(SortedCuckoo::in_words(layout, words)?),
        _ => Box::new(SignedCuckoo::in_words(layout, words)?),
    })
}
