//! Loops of other crates of this workspace, compiled for several CPUs like those of the engine. Such crates need no
//! `unsafe` for it.

use super::cpu::{Cpu, Vectors, Work};

/// Loops that the compiler turns into vectors. What they call is `#[inline(always)]`: a function that is not inlined
/// is compiled once, for every CPU.
#[doc(hidden)]
pub trait Loops {
    /// What they return.
    type Output;
    /// Runs them on a CPU whose vectors have so many words. The number is a constant of each version.
    fn run(self, words: usize) -> Self::Output;
}

/// The widest vectors of the CPU that this runs on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Widest(Cpu);

impl Default for Widest {
    fn default() -> Self {
        Self(Cpu::detect())
    }
}

impl Widest {
    /// Runs the version of some loops for this CPU.
    #[inline(always)]
    pub fn run<L: Loops>(self, loops: L) -> L::Output {
        self.0.run(Versions(loops))
    }
}

struct Versions<L>(L);

impl<L: Loops> Work for Versions<L> {
    const WIDE: bool = true;
    type Output = L::Output;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> L::Output {
        self.0.run(words_of(vectors))
    }
}

#[inline(always)]
fn words_of<V: Vectors>(_: V) -> usize {
    V::WORDS
}
