//! Schmitz, Zentgraf, Rahmann: Smaller and More Flexible Cuckoo Filters.

mod table_2;

use super::Exhibit;

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![table_2::EXHIBIT]
}
