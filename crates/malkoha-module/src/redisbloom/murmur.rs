//! `MurmurHash64A`, which is in the public domain: the hash of RedisBloom's filters.

const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;

/// The 64-bit hash of bytes, with a seed.
#[must_use]
pub fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mix = |word: u64| {
        let word = word.wrapping_mul(MULTIPLIER);
        (word ^ (word >> 47)).wrapping_mul(MULTIPLIER)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    for word in words {
        state = (state ^ mix(u64::from_le_bytes(*word))).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let last = match bytes.last_chunk() {
            // The bytes before are shifted out: quicker than to copy a few.
            Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        state = (state ^ last).wrapping_mul(MULTIPLIER);
    }
    state = (state ^ (state >> 47)).wrapping_mul(MULTIPLIER);
    state ^ (state >> 47)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verification value of the SMHasher test suite for this hash: a hash of the hashes of the strings 0, 1, ..,
    /// of every length up to 255, with seeds 256 to 1.
    #[test]
    fn the_verification_value_of_smhasher() {
        let key: Vec<u8> = (0..=255).collect();
        let hashes: Vec<u8> =
            (0..256).flat_map(|len| hash(&key[..len], 256 - len as u64).to_le_bytes()).collect();
        assert_eq!(hash(&hashes, 0) & 0xffff_ffff, 0x1f0d_3804);
    }
}
