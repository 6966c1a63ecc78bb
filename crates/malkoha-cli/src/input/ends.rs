//! Finds where strings end: all positions of a byte, 64 bytes at a time.
//!
//! A search that is called for every line spends more time on calls than on lines of common length. Here a
//! 64-bit word tells for 64 bytes at once which of them are separators, and the set bits are the ends.

/// One in every byte, and all bits but the highest of every byte.
const ONES: u64 = u64::from_le_bytes([1; 8]);
const LOW: u64 = u64::from_le_bytes([0x7F; 8]);

/// Moves the lowest bits of eight bytes to the highest byte, in order.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// Calls `found` with the position after every `separator`, in order.
#[inline]
pub(super) fn each(separator: u8, data: &[u8], mut found: impl FnMut(usize)) {
    let (chunks, rest) = data.as_chunks::<64>();
    for (at, chunk) in chunks.iter().enumerate() {
        let mut marks = marks(separator, chunk);
        while marks != 0 {
            found(64 * at + marks.trailing_zeros() as usize + 1);
            marks &= marks - 1;
        }
    }
    let begin = data.len() - rest.len();
    for (at, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == separator) {
        found(begin + at + 1);
    }
}

/// Returns a bit for every byte: whether it is a separator.
#[inline]
fn marks(separator: u8, chunk: &[u8; 64]) -> u64 {
    let pattern = ONES * u64::from(separator);
    let mut marks = 0;
    for (at, word) in chunk.as_chunks::<8>().0.iter().enumerate() {
        let differences = u64::from_le_bytes(*word) ^ pattern;
        // No carry leaves a byte: the highest bit of each is set unless the byte is zero.
        let nonzero = ((differences & LOW) + LOW) | differences;
        let equal = !(nonzero | LOW) >> 7;
        marks |= equal.wrapping_mul(GATHER) >> 56 << (8 * at);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_those_that_one_byte_at_a_time_finds() {
        let mut state = 1u64;
        for separator in [b'\n', 0, 0x7F, 0x80, 0xFF] {
            // A wrong carry would mistake bytes that differ from the separator in one bit or by one.
            let near = [separator, separator ^ 0x80, separator ^ 1, separator.wrapping_add(1), 0x01, 0xFF];
            for length in (0..200).chain([1000]) {
                let data: Vec<u8> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        near[(state >> 33) as usize % near.len()]
                    })
                    .collect();
                let mut ends = Vec::new();
                each(separator, &data, |end| ends.push(end));
                let expected: Vec<_> =
                    (0..length).filter(|at| data[*at] == separator).map(|at| at + 1).collect();
                assert_eq!(ends, expected, "{separator} in {data:?}");
            }
        }
    }
}
