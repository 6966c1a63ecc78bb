//! Keys as hashes, a row at a time.
//!
//! Integers are hashed here, in vectors where the CPU has them, by one body of code that all filters share.

use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::key::{KeyHash, KeyHasher};

pub(crate) use crate::bits::words::ROW;

/// Keys to be looked up.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    Hashes(&'a [KeyHash]),
    /// Integers and their hasher.
    Numbers(&'a [u64], &'a KeyHasher),
}

impl Keys<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Hashes(hashes) => hashes.len(),
            Self::Numbers(numbers, _) => numbers.len(),
        }
    }

    /// The hash of one key.
    pub(crate) fn get(&self, i: usize) -> KeyHash {
        match self {
            Self::Hashes(hashes) => hashes[i],
            Self::Numbers(numbers, hasher) => hasher.number(numbers[i]),
        }
    }

    /// Puts the hashes of the row with this number into `row`; returns how many there are. The last row may have fewer,
    /// and leaves the rest of `row` unchanged.
    pub(crate) fn row(&self, number: usize, cpu: Cpu, row: &mut [KeyHash; ROW]) -> usize {
        let (begin, end) = (self.len().min(number * ROW), self.len().min((number + 1) * ROW));
        match self {
            Self::Hashes(hashes) => row[..end - begin].copy_from_slice(&hashes[begin..end]),
            Self::Numbers(numbers, hasher) => {
                cpu.run(HashRow { numbers: &numbers[begin..end], hasher: **hasher, row });
            }
        }
        end - begin
    }
}

/// Hashes at most a row of integers.
struct HashRow<'a> {
    numbers: &'a [u64],
    hasher: KeyHasher,
    row: &'a mut [KeyHash; ROW],
}

impl Work for HashRow<'_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        for (hash, number) in self.row.iter_mut().zip(self.numbers) {
            *hash = self.hasher.number_in_vectors(*number);
        }
    }
}
