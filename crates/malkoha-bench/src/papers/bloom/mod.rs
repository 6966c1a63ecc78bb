//! Schmitz, Zentgraf, Rahmann: Blocked Bloom Filters with Choices.

mod dna;
mod family;
mod figure_1;
mod figure_3;
mod figure_4;
mod figure_5;
mod figure_7;
mod figure_8;
mod table_1;

use super::Exhibit;

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![
        figure_1::EXHIBIT,
        figure_3::EXHIBIT,
        figure_4::EXHIBIT,
        figure_5::EXHIBIT,
        table_1::EXHIBIT,
        figure_7::EXHIBIT,
        figure_8::EXHIBIT,
    ]
}
