//! Which filters can be links of one chain.

use super::Filter;
use crate::plan::{Geometry, Layout};

/// Whether a link has more keys than its share of the rate allows.
pub(crate) fn overfull(link: &Filter) -> bool {
    link.len() > link.geometry().keys()
}

/// Whether a filter of this geometry can be a link: its pairs are the hash scaled down, and it has nothing
/// that other links would not have.
pub(crate) fn grows(geometry: &Geometry) -> bool {
    geometry.cuckoo().is_none_or(|layout| {
        let plain = layout.ring.near_share == 0 && layout.doublings == 0 && layout.value_bits() == 0;
        layout.kind.is_signed() && plain
    })
}

/// Why a link cannot follow another, however they came together: removals would lose keys.
pub(crate) fn stranger(last: &Geometry, link: &Geometry) -> Option<&'static str> {
    let follows = match (last.layout(), link.layout()) {
        (Layout::Cuckoo(last), Layout::Cuckoo(link)) => {
            link.kind == last.kind && link.pairs().is_multiple_of(last.pairs())
        }
        (Layout::Bloom(_), Layout::Bloom(_)) => true,
        (Layout::Blocked(last), Layout::Blocked(link)) => {
            (link.choices, link.pattern, link.cost) == (last.choices, last.pattern, last.cost)
        }
        _ => false,
    };
    let checks = [
        (grows(link), "this filter cannot be a link"),
        (follows, "its places times fingerprints are no multiple of the last, or it is of another kind"),
        (link.seed() == last.seed(), "it has another seed"),
    ];
    checks.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
}
