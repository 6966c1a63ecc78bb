//! Schmitz, Zentgraf, Rahmann: Blocked Bloom Filters with Choices.

mod family;
mod figure_3;
mod figure_4;
mod figure_7;
mod figure_8;

use super::Exhibit;

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![figure_3::EXHIBIT, figure_4::EXHIBIT, figure_7::EXHIBIT, figure_8::EXHIBIT]
}
