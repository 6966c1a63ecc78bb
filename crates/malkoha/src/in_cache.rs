//! Many keys at once, where the table is so small that it stays in the cache.
//!
//! There is no memory to wait for, so nothing is asked for beforehand. What is left to gain is in the hashes:
//! those of several keys are computed together, for which a CPU has vectors. (Cuckoo kinds go on in vectors, to the
//! places: `cuckoo/batch.rs`.)

use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::key::KeyHash;

/// Bytes of a table that a second-level cache holds, where lookups that follow each other hide its delay.
const CACHE_BYTES: usize = 1 << 20;

/// How many keys are hashed together.
const TOGETHER: usize = 64;

/// Whether a table of so many bytes stays in the cache.
#[inline(always)]
pub(crate) const fn stays_in_cache(bytes: usize) -> bool {
    bytes <= CACHE_BYTES
}

/// Answers for every key of a slice what `holds` says of its hash; as many answers as keys.
#[inline(always)]
pub(crate) fn answer_each<K>(
    keys: &[K],
    hash: &impl Fn(&K) -> KeyHash,
    answers: &mut [bool],
    cpu: Cpu,
    holds: impl Fn(KeyHash) -> bool,
) {
    let mut hashes = [KeyHash::from_raw(0); TOGETHER];
    for (keys, answers) in keys.chunks(TOGETHER).zip(answers.chunks_mut(TOGETHER)) {
        cpu.run(HashAll { keys, hash, hashes: &mut hashes });
        for (answer, hash) in answers.iter_mut().zip(&hashes) {
            *answer = holds(*hash);
        }
    }
}

/// Hashes keys; at least as many hashes as keys.
struct HashAll<'a, K, H> {
    keys: &'a [K],
    hash: &'a H,
    hashes: &'a mut [KeyHash],
}

impl<K, H: Fn(&K) -> KeyHash> Work for HashAll<'_, K, H> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        for (hash, key) in self.hashes.iter_mut().zip(self.keys) {
            *hash = (self.hash)(key);
        }
    }
}
