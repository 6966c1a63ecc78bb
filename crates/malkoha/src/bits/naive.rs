//! One bit at a time: the oracles that the fast versions are tested against.

/// Reads a field from a list of bits, lowest bit first; bits beyond the list are zero.
pub(crate) fn read(bits: &[bool], at: u64, width: u32) -> u64 {
    (0..width).map(|i| u64::from(bits.get(at as usize + i as usize) == Some(&true)) << i).sum()
}

/// Writes a field into a list of bits, lowest bit first.
pub(crate) fn write(bits: &mut [bool], at: u64, width: u32, value: u64) {
    for i in 0..width {
        bits[at as usize + i as usize] = value >> i & 1 == 1;
    }
}

/// Returns the index of the first of `lanes` lanes of `width` bits that is zero.
pub(crate) fn first_zero_lane(word: u64, width: u32, lanes: u32) -> Option<u32> {
    (0..lanes).find(|lane| word >> (lane * width) & (u64::MAX >> (64 - width)) == 0)
}
