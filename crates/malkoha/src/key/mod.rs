//! Keys, and how a key becomes 64 bits.
//!
//! Equal keys have equal hashes on every platform and in every version: what a key hashes to is part of the
//! format. Bytes and strings go through XXH3-64 with a seed; integers go by value through a seeded bijection
//! of the 64-bit numbers, so that two different integers never share a hash; a [`KeyHash`] made by the caller
//! is taken as it is. `docs/DESIGN.md`, "Hash", explains the choice; the test vectors below pin it.

pub(crate) mod draw;
mod format;

pub use format::KeyFormat;

use core::hash::BuildHasher;
use std::borrow::Cow;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The 64 seeded bits of a key, from which its places and its fingerprint are drawn.
///
/// If you already have good 64-bit hashes, you can use them as keys. They are taken as they are, without the
/// seed, so all 64 bits must be well mixed.
///
/// ```
/// use malkoha::{KeyHash, Spec};
/// let mut filter = Spec::new(100, 0.01).build()?;
/// filter.insert(&KeyHash::from_raw(0x9E37_79B9_7F4A_7C15))?;
/// assert!(filter.contains(&KeyHash::from_raw(0x9E37_79B9_7F4A_7C15)));
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Wraps 64 bits that are already a good hash of a key.
    #[must_use]
    #[inline(always)]
    pub const fn from_raw(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits.
    #[must_use]
    #[inline(always)]
    pub const fn to_raw(self) -> u64 {
        self.0
    }
}

/// The hash function of a filter. A filter can only be read or merged under the one that filled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashId {
    /// XXH3-64 for bytes, the two-round mixer of [`KeyHasher`] for integers.
    Xxh3Mix = 1,
}

/// Turns keys into hashes under one seed.
///
/// ```
/// use malkoha::{Key, KeyHasher};
/// let hasher = KeyHasher::new(7);
/// assert_eq!(5u32.key_hash(&hasher), 5i64.key_hash(&hasher), "integers count by value");
/// assert_eq!("cuckoo".key_hash(&hasher), b"cuckoo".key_hash(&hasher), "text counts by its bytes");
/// assert_ne!("cuckoo".key_hash(&hasher), "cuckoo".key_hash(&KeyHasher::new(8)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    seed: u64,
    /// Two words derived from the seed. The second enters between the rounds, so that a different seed does
    /// more than renumber the keys.
    before: u64,
    between: u64,
    /// The constant factors of the two rounds. Kept in memory, they occupy no CPU registers, which a lookup runs out of
    /// first (`docs/DESIGN.md`).
    factors: [u64; 2],
}

/// The factors that mix numbers.
const FACTORS: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

impl KeyHasher {
    /// The hash function that this type computes.
    pub const ID: HashId = HashId::Xxh3Mix;

    /// Creates a hasher with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let before = mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15));
        let between = mix(before.wrapping_add(0x9E37_79B9_7F4A_7C15));
        Self { seed, before, between, factors: FACTORS }
    }

    /// Creates a hasher with an unpredictable seed from the operating system.
    ///
    /// ```
    /// # use malkoha::KeyHasher;
    /// assert_ne!(KeyHasher::random().seed(), KeyHasher::random().seed());
    /// ```
    #[must_use]
    pub fn random() -> Self {
        Self::new(std::hash::RandomState::new().hash_one(0u64))
    }

    /// The seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash of a string of bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self, bytes: &[u8]) -> KeyHash {
        KeyHash(xxh3_64_with_seed(bytes, self.seed))
    }

    /// The hash of a number below 2^64. A bijection: different numbers have different hashes.
    #[must_use]
    #[inline(always)]
    pub const fn number(&self, number: u64) -> KeyHash {
        self.number_by(number, self.factors)
    }

    /// [`number`](Self::number) with factors that are known when it is compiled, for vectors.
    #[inline(always)]
    pub(crate) const fn number_in_vectors(&self, number: u64) -> KeyHash {
        self.number_by(number, FACTORS)
    }

    #[inline(always)]
    const fn number_by(&self, number: u64, factors: [u64; 2]) -> KeyHash {
        let mut z = number ^ self.before;
        z = (z ^ (z >> 32)).wrapping_mul(factors[0]) ^ self.between;
        z = (z ^ (z >> 29)).wrapping_mul(factors[1]);
        KeyHash(z ^ (z >> 32))
    }

    /// The hash of an integer outside 0 to 2^64: its sign and its upper half select another seed.
    #[inline]
    const fn wide(&self, negative: bool, magnitude: u128) -> KeyHash {
        let upper = Self::new(self.seed ^ 0xD6E8_FEB8_6659_FD93).number((magnitude >> 64) as u64);
        let sign = if negative { 0xA5A5_A5A5_A5A5_A5A5 } else { 0 };
        #[expect(clippy::cast_possible_truncation, reason = "the lower half; the upper half is in the seed")]
        let lower = magnitude as u64;
        Self::new(upper.0 ^ sign).number(lower)
    }
}

/// A bijection of the 64-bit numbers that spreads every input bit over all output bits.
#[inline(always)]
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(FACTORS[0]);
    z = (z ^ (z >> 27)).wrapping_mul(FACTORS[1]);
    z ^ (z >> 31)
}

/// Something that can be stored in a filter.
///
/// Bytes and text are equal if their bytes are; integers of all types are equal if their values are. Text and
/// integers are different keys: `"5"` is not `5`.
///
/// For a type of your own, hash the bytes or the number that identify it:
///
/// ```
/// use malkoha::{Key, KeyHash, KeyHasher, Spec};
///
/// struct User { id: u64, name: String }
///
/// impl Key for User {
///     fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
///         hasher.number(self.id)
///     }
/// }
///
/// let ada = User { id: 1, name: "Ada".into() };
/// let mut filter = Spec::new(100, 0.01).build()?;
/// filter.insert(&ada)?;
/// assert!(filter.contains(&1u32), "{} has number 1", ada.name);
/// # Ok::<(), malkoha::Error>(())
/// ```
pub trait Key {
    /// The hash of this key under the hasher's seed.
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash;

    /// The keys as numbers, if that is what they are. Filters hash numbers in vectors, or while they wait for memory.
    #[doc(hidden)]
    fn as_numbers(keys: &[Self]) -> Option<&[u64]>
    where
        Self: Sized,
    {
        let _ = keys;
        None
    }
}

impl Key for KeyHash {
    #[inline(always)]
    fn key_hash(&self, _: &KeyHasher) -> KeyHash {
        *self
    }
}

macro_rules! keys_by_bytes {
    ($($(#[$generic:meta])? ($($lt:tt)*) $type:ty => $bytes:expr;)*) => {$(
        impl<$($lt)*> Key for $type {
            #[inline]
            fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
                let bytes: fn(&Self) -> &[u8] = $bytes;
                hasher.bytes(bytes(self))
            }
        }
    )*};
}

keys_by_bytes! {
    () [u8] => |key| key;
    () str => |key| key.as_bytes();
    () String => |key| key.as_bytes();
    () Vec<u8> => |key| key;
    (const N: usize) [u8; N] => |key| key;
}

macro_rules! keys_by_reference {
    ($($type:ty),*) => {$(
        impl<T: Key + ?Sized> Key for $type {
            #[inline]
            fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
                (**self).key_hash(hasher)
            }
        }
    )*};
}

keys_by_reference!(&T, &mut T, Box<T>, Arc<T>);

impl<T: Key + ToOwned + ?Sized> Key for Cow<'_, T> {
    #[inline]
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
        (**self).key_hash(hasher)
    }
}

macro_rules! keys_by_value {
    ($($type:ty $({ $as_numbers:item })?),*) => {$(
        impl Key for $type {
            #[inline(always)]
            #[allow(
                unused_comparisons,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_possible_wrap,
                clippy::cast_lossless,
                reason = "one body for all integer types: the branches that a type cannot take vanish"
            )]
            fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
                let value = *self;
                if value < 0 {
                    hasher.wide(true, !(value as i128) as u128)
                } else if <$type>::BITS > 64 && (value as u128) >> 64 != 0 {
                    hasher.wide(false, value as u128)
                } else {
                    hasher.number(value as u64)
                }
            }

            $($as_numbers)?
        }
    )*};
}

keys_by_value!(
    u8,
    u16,
    u32,
    u64 {
        fn as_numbers(keys: &[u64]) -> Option<&[u64]> {
            Some(keys)
        }
    },
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_never_change() {
        let plain = KeyHasher::new(0);
        let seeded = KeyHasher::new(42);
        assert_eq!(plain.bytes(b"").to_raw(), 0x2D06_8005_38D3_94C2, "the published value of XXH3-64");
        assert_eq!(plain.bytes(b"a").to_raw(), 0xE6C6_32B6_1E96_4E1F, "the published value of XXH3-64");
        let pinned = [0u64, 1, 2, 1 << 32, u64::MAX].map(|n| seeded.number(n).to_raw());
        assert_eq!(
            pinned,
            [
                0x21A8_CCA4_EF40_9B6A,
                0x90BA_C2B5_88AF_576D,
                0x939F_FC79_EC12_2A77,
                0x026E_5D87_9B4D_6117,
                0x7BB5_DEC6_6055_95A0
            ],
            "integer hashes are part of the format"
        );
    }

    #[test]
    fn integers_count_by_value() {
        let hasher = KeyHasher::new(3);
        for hash in
            [5u8.key_hash(&hasher), 5i16.key_hash(&hasher), 5u128.key_hash(&hasher), 5usize.key_hash(&hasher)]
        {
            assert_eq!(hash, 5u64.key_hash(&hasher));
        }
        for hash in [(-7i8).key_hash(&hasher), (-7i32).key_hash(&hasher), (-7i64).key_hash(&hasher)] {
            assert_eq!(hash, (-7i128).key_hash(&hasher));
        }
        assert_ne!((-1i64).key_hash(&hasher), u64::MAX.key_hash(&hasher));
        assert_ne!((-1i128).key_hash(&hasher), u128::MAX.key_hash(&hasher));
        assert_ne!((1u128 << 64).key_hash(&hasher), 0u64.key_hash(&hasher));
        assert_ne!("5".key_hash(&hasher), 5u64.key_hash(&hasher));
    }

    #[test]
    fn every_way_to_hold_bytes_is_the_same_key() {
        let hasher = KeyHasher::new(3);
        let expected = hasher.bytes(b"cuckoo");
        assert_eq!("cuckoo".key_hash(&hasher), expected);
        assert_eq!("cuckoo".to_owned().key_hash(&hasher), expected);
        assert_eq!(b"cuckoo".key_hash(&hasher), expected);
        assert_eq!(b"cuckoo".to_vec().key_hash(&hasher), expected);
        assert_eq!(Cow::Borrowed("cuckoo").key_hash(&hasher), expected);
        assert_eq!(Arc::<str>::from("cuckoo").key_hash(&hasher), expected);
        assert_eq!(Box::<[u8]>::from(*b"cuckoo").key_hash(&hasher), expected);
    }
}
