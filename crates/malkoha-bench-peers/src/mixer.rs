//! The hash that all peers share: the 64-bit finaliser of `MurmurHash3`, which costs as much as the engine's.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`Mixer`]s.
pub(crate) type BuildMixer = BuildHasherDefault<Mixer>;

/// Mixes one integer. Several writes are folded without mixing, which is enough for the length that the
/// standard library writes before the bytes of an array.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(32) ^ number;
    }

    #[inline(always)]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        mix(self.0)
    }
}

/// Applies the finaliser of `MurmurHash3`, which is a bijection.
#[inline(always)]
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    z = (z ^ (z >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    z ^ (z >> 33)
}
