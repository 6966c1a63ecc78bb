//! Schmitz, Zentgraf, Rahmann: Smaller and More Flexible Cuckoo Filters.

mod appendix_b;
mod figure_1;
mod figure_3;
mod figure_4;
mod figure_5;
mod figure_6;
mod formulas;
mod layouts;
mod races;
mod rejected;
mod section_3_1;
mod table_1;
mod table_2;
mod table_3;
mod trials;

use super::Exhibit;

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![
        table_1::EXHIBIT,
        figure_1::EXHIBIT,
        table_2::EXHIBIT,
        section_3_1::EXHIBIT,
        figure_3::EXHIBIT,
        figure_4::EXHIBIT,
        table_3::EXHIBIT,
        figure_5::EXHIBIT,
        figure_6::EXHIBIT,
        appendix_b::EXHIBIT,
    ]
}
