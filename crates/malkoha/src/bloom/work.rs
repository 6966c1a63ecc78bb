//! Lookups and inserts of a blocked filter: what is compiled for several CPUs.
//!
//! A single key is one call: what it needs of the filter is read there, with the instructions of the CPU. Of many keys a row
//! is hashed at a time. In tables beyond the cache the memory of the next row is asked for, key by key, while this
//! one is looked at:
//!
//! ```text
//!   key i of the next row   candidate blocks, ask for their memory
//!   key i of this row       candidate blocks again, pattern, compare
//! ```
//!
//! Candidate blocks are computed twice: a multiplication each, and nothing has to be kept.
//!
//! Lookups have the number of choices compiled in, inserts do not: between a lookup with two blocks and one with a loop
//! over them there is a tenth, and an insert, which counts bits, has more to do than that.

use crate::bits::cpu::{Cpu, Inlined, Vectors, Work};
use crate::bits::drawn::Blocks;
use crate::bits::words::stays_in_cache;
use crate::bits::{Block, WORDS};
use crate::error::Full;
use crate::key::KeyHash;
use crate::kind::MOST_CHOICES;

use super::blocked::Blocked;
use super::layout::BlockedLayout;
use super::pattern::{Draws, Scatter};
use crate::engine::rows::{Keys, ROW};

/// What lookups need of a filter, by value: where answers are written the compiler cannot know that the
/// filter behind a reference stays as it is, and would read all of this again for every key.
#[derive(Clone, Copy, Debug)]
struct View<'a, P> {
    scatter: P,
    blocks: Blocks<'a>,
}

impl<P: Scatter> View<'_, P> {
    /// Whether the table is so small that it stays in the cache.
    #[inline(always)]
    fn stays_in_cache(&self) -> bool {
        stays_in_cache(self.blocks.bytes())
    }

    /// Asks for the memory of a key.
    #[inline(always)]
    fn approach<const C: usize>(&self, hash: KeyHash) {
        for fraction in fractions::<C>(hash) {
            self.blocks.prefetch(fraction);
        }
    }

    /// Whether a candidate block has all bits of a key. All are looked at: which of them holds the key cannot
    /// be foreseen.
    #[inline(always)]
    fn holds<const C: usize>(&self, hash: KeyHash, vectors: impl Vectors) -> bool {
        let blocks = fractions::<C>(hash).map(|fraction| self.blocks.draw(fraction));
        self.scatter.lies_in(pattern_draws(hash, C as u64), blocks, vectors)
    }
}

/// The fractions that draw the candidate blocks of a key.
#[inline(always)]
fn fractions<const C: usize>(hash: KeyHash) -> [u64; C] {
    let mut draws = Draws::new(hash);
    let mut fractions = [hash.to_raw(); C];
    for fraction in &mut fractions[1..] {
        *fraction = draws.next();
    }
    fractions
}

/// The words of which the pattern of a key with so many candidate blocks is made: those that have not drawn
/// one.
#[inline(always)]
fn pattern_draws(hash: KeyHash, choices: u64) -> Draws {
    Draws::after(hash, choices - 1)
}

/// Evaluates an expression with the number of choices of a filter as a constant.
macro_rules! with_choices {
    ($pattern:ty, $choices:expr, $c:ident => $act:expr) => {
        // The constant is asked first: where it says no, nothing more is compiled.
        if <$pattern as Scatter>::CHOOSES && $choices > 1 {
            match $choices {
                2 => {
                    const $c: usize = 2;
                    $act
                }
                3 => {
                    const $c: usize = 3;
                    $act
                }
                // The most there are: `BlockedLayout::check`.
                _ => {
                    const $c: usize = MOST_CHOICES as usize;
                    $act
                }
            }
        } else {
            const $c: usize = 1;
            $act
        }
    };
}

impl<P: Scatter> Blocked<P> {
    #[inline(always)]
    fn view(&self) -> View<'_, P> {
        View { scatter: self.scatter, blocks: self.table.blocks() }
    }

    /// Asks for the memory of a key.
    #[inline(always)]
    pub(super) fn approach(&self, hash: KeyHash) {
        with_choices!(P, self.layout.choices, C => self.view().approach::<C>(hash));
    }

    /// The CPU, if it has instructions for the keys of this layout that are better inlined than called: those for the
    /// spread pattern of one bit in each word.
    pub(super) fn inlined(layout: &BlockedLayout, cpu: Cpu) -> Option<Inlined> {
        if P::CHOOSES || layout.key_bits != WORDS { None } else { cpu.inlined() }
    }

    /// Answers for a key, in code of the caller where that is better.
    #[inline(always)]
    pub(super) fn look_up_one(&self, hash: KeyHash) -> bool {
        if !P::CHOOSES
            && let Some(inlined) = self.inlined
        {
            return inlined.drawn_block_has_bits(self.table.blocks(), hash.to_raw());
        }
        self.call_look_up(hash)
    }

    /// Apart from its caller, who else had two calls and fewer registers for what is inlined.
    #[inline(never)]
    fn call_look_up(&self, hash: KeyHash) -> bool {
        self.cpu.run(LookUpOne { filter: self, hash })
    }

    /// Stores a key, in code of the caller where that is better. There is always room; the result is what an engine
    /// answers, so that it can jump to the call instead of making it.
    #[inline(always)]
    pub(super) fn insert_one(&mut self, hash: KeyHash) -> Result<(), Full> {
        if !P::CHOOSES
            && let Some(inlined) = self.inlined
        {
            inlined.add_bits_to_drawn_block(&mut self.table, hash.to_raw());
            self.len += 1;
            return Ok(());
        }
        self.call_insert(hash)
    }

    #[inline(never)]
    fn call_insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.cpu.run(InsertOne { filter: self, hash })
    }

    /// Answers for all keys.
    pub(super) fn look_up(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        let (view, cpu) = (self.view(), self.cpu);
        with_choices!(P, self.layout.choices, C => cpu.run(LookUp::<_, C> { view, cpu, keys, answers }));
    }

    /// Stores a key: in its only block, or in the one where it costs least, the first of several; if one
    /// holds it already, nothing changes.
    #[inline(always)]
    fn add(&mut self, hash: KeyHash, vectors: impl Vectors) {
        let choices = if P::CHOOSES { self.layout.choices } else { 1 };
        let pattern = self.scatter.pattern(pattern_draws(hash, choices.into()), vectors);
        let mut best = hash.to_raw();
        if P::CHOOSES
            && let Some(prices) = &self.prices
        {
            let (mut draws, mut fraction, mut least) = (Draws::new(hash), best, u64::MAX);
            for _ in 0..choices {
                let block = Block(*self.table.blocks().draw(fraction));
                let new = block.missing(&pattern);
                let rank = prices.rank(block.count() + new, new);
                (least, best) = if rank < least { (rank, fraction) } else { (least, best) };
                fraction = draws.next();
            }
        }
        let block = self.table.draw_mut(best);
        let mut fuller = Block(*block);
        fuller.add(&pattern);
        *block = fuller.0;
        self.len += 1;
    }
}

/// One lookup.
pub(super) struct LookUpOne<'a, P> {
    pub(super) filter: &'a Blocked<P>,
    pub(super) hash: KeyHash,
}

impl<P: Scatter> Work for LookUpOne<'_, P> {
    const WIDE: bool = true;
    type Output = bool;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> bool {
        let Self { filter, hash } = self;
        with_choices!(P, filter.layout.choices, C => filter.view().holds::<C>(hash, vectors))
    }
}

/// One insert.
pub(super) struct InsertOne<'a, P> {
    pub(super) filter: &'a mut Blocked<P>,
    pub(super) hash: KeyHash,
}

impl<P: Scatter> Work for InsertOne<'_, P> {
    const WIDE: bool = true;
    /// What an engine answers, so that it can jump here instead of calling.
    type Output = Result<(), Full>;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Result<(), Full> {
        self.filter.add(self.hash, vectors);
        Ok(())
    }
}

/// Lookups of keys with `C` candidate blocks each; as many answers as keys.
struct LookUp<'a, P, const C: usize> {
    view: View<'a, P>,
    cpu: Cpu,
    keys: Keys<'a>,
    answers: &'a mut [bool],
}

impl<P: Scatter, const C: usize> Work for LookUp<'_, P, C> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let Self { view, cpu, keys, answers } = self;
        let mut row = [KeyHash::from_raw(0); ROW];
        if view.stays_in_cache() {
            for (number, answers) in answers.chunks_mut(ROW).enumerate() {
                keys.row(number, cpu, &mut row);
                for (answer, hash) in answers.iter_mut().zip(&row) {
                    *answer = view.holds::<C>(*hash, vectors);
                }
            }
            return;
        }
        let mut next = row;
        let mut asked = keys.row(0, cpu, &mut next);
        for hash in &next[..asked] {
            view.approach::<C>(*hash);
        }
        for (number, answers) in answers.chunks_mut(ROW).enumerate() {
            row = next;
            asked = keys.row(number + 1, cpu, &mut next);
            for (i, answer) in answers.iter_mut().enumerate() {
                if i < asked {
                    view.approach::<C>(next[i]);
                }
                *answer = view.holds::<C>(row[i], vectors);
            }
        }
    }
}

/// Inserts.
pub(super) struct Insert<'a, P> {
    pub(super) filter: &'a mut Blocked<P>,
    pub(super) hashes: &'a [KeyHash],
}

impl<P: Scatter> Work for Insert<'_, P> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let Self { filter, hashes } = self;
        if filter.view().stays_in_cache() {
            for hash in hashes {
                filter.add(*hash, vectors);
            }
            return;
        }
        for hash in hashes.iter().take(ROW) {
            filter.approach(*hash);
        }
        for (i, hash) in hashes.iter().enumerate() {
            if let Some(later) = hashes.get(i + ROW) {
                filter.approach(*later);
            }
            filter.add(*hash, vectors);
        }
    }
}
