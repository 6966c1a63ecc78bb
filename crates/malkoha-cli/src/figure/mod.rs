//! The figures of `plan` and `demo`.

pub(crate) mod demo;
pub(crate) mod plan;

/// Moves heights apart, keeping their order, until neighbours are at least `gap` apart.
fn spread(heights: &mut [f64], gap: f64) {
    for at in 1..heights.len() {
        heights[at] = heights[at].max(heights[at - 1] + gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_moved_apart() {
        let mut heights = [10.0, 12.0, 40.0];
        spread(&mut heights, 14.0);
        assert_eq!(heights, [10.0, 24.0, 40.0]);
    }
}
