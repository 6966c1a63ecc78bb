//! Many keys at once through a blocked filter, with the memory of later ones on its way.
//!
//! ```text
//!   key i + AHEAD   hash, candidate blocks, ask for their memory
//!   key i           pattern, compare or set
//! ```
//!
//! Where the table stays in the cache nothing is asked for: lookups go through `in_cache.rs`, inserts one after the
//! other.
//!
//! The number of choices is compiled in, and the whole loop is compiled for several CPUs.

use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::in_cache::answer_each;
use crate::key::KeyHash;

use super::blocked::{Blocked, Homes, View};
use super::pattern::Scatter;

/// How many keys ahead of the one that is looked at the memory is asked for.
const AHEAD: usize = 64;

/// What is done with each of many keys. Methods and not closures, which cannot be told to be inlined.
trait Step<const C: usize> {
    /// The number of keys.
    fn keys(&self) -> usize;
    /// The homes of a key, whose memory is asked for.
    fn approach(&self, key: usize) -> Homes<C>;
    /// What is done when the memory is there.
    fn act(&mut self, key: usize, homes: Homes<C>, vectors: impl Vectors);
}

/// Takes every key through its step, in order.
#[inline(always)]
fn each<const C: usize>(mut step: impl Step<C>, vectors: impl Vectors) {
    let mut ring = [Homes::NOWHERE; AHEAD];
    for (key, homes) in ring.iter_mut().enumerate().take(step.keys()) {
        *homes = step.approach(key);
    }
    for key in 0..step.keys() {
        let homes = &mut ring[key % AHEAD];
        step.act(key, *homes, vectors);
        if key + AHEAD < step.keys() {
            *homes = step.approach(key + AHEAD);
        }
    }
}

/// Lookups of keys with `C` candidate blocks each; as many answers as keys.
pub(super) struct LookUp<'a, P, K, H, const C: usize> {
    pub(super) view: View<'a, P>,
    pub(super) cpu: Cpu,
    pub(super) keys: &'a [K],
    pub(super) hash: H,
    pub(super) answers: &'a mut [bool],
}

impl<P: Scatter, K, H: Fn(&K) -> KeyHash, const C: usize> Step<C> for LookUp<'_, P, K, H, C> {
    #[inline(always)]
    fn keys(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    fn approach(&self, key: usize) -> Homes<C> {
        self.view.approach((self.hash)(&self.keys[key]))
    }

    #[inline(always)]
    fn act(&mut self, key: usize, homes: Homes<C>, vectors: impl Vectors) {
        self.answers[key] = self.view.holds(homes, vectors);
    }
}

impl<P: Scatter, K, H: Fn(&K) -> KeyHash, const C: usize> Work for LookUp<'_, P, K, H, C> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(mut self, vectors: impl Vectors) {
        if !self.view.stays_in_cache() {
            // As many as keys: said here, it need not be asked in the loop.
            self.answers = &mut self.answers[..self.keys.len()];
            return each::<C>(self, vectors);
        }
        let Self { view, cpu, keys, hash, answers } = self;
        answer_each(keys, &hash, answers, cpu, |hash| view.holds(view.homes::<C>(hash), vectors));
    }
}

/// Inserts of keys with `C` candidate blocks each.
pub(super) struct Insert<'a, P, const C: usize> {
    pub(super) filter: &'a mut Blocked<P>,
    pub(super) hashes: &'a [KeyHash],
}

impl<P: Scatter, const C: usize> Step<C> for Insert<'_, P, C> {
    #[inline(always)]
    fn keys(&self) -> usize {
        self.hashes.len()
    }

    #[inline(always)]
    fn approach(&self, key: usize) -> Homes<C> {
        self.filter.view().approach(self.hashes[key])
    }

    #[inline(always)]
    fn act(&mut self, _: usize, homes: Homes<C>, vectors: impl Vectors) {
        self.filter.add(homes, vectors);
    }
}

impl<P: Scatter, const C: usize> Work for Insert<'_, P, C> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        if !self.filter.view().stays_in_cache() {
            return each::<C>(self, vectors);
        }
        for hash in self.hashes {
            self.filter.add(self.filter.view().homes::<C>(*hash), vectors);
        }
    }
}
