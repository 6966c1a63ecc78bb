//! Lookups and inserts of a blocked filter, compiled for several CPUs.
//!
//! A single key is one call, which reads what it needs from the filter with the instructions of the CPU. Many keys are
//! hashed a row at a time. If the table does not fit in the cache, the memory of the next row is prefetched, key by
//! key, while this row is looked up:
//!
//! ```text
//!   key i of the next row   candidate blocks, prefetch them
//!   key i of this row       candidate blocks again, pattern, compare
//! ```
//!
//! Candidate blocks are computed twice: this costs a multiplication each, and nothing has to be kept.
//!
//! The number of choices is compiled into lookups, but not into inserts: a lookup in two blocks is a tenth faster than
//! one that loops over them, and an insert, which counts bits, does much more work than that.

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

/// The parts of a filter that lookups need, by value: behind a reference, the compiler could not know that
/// writing answers leaves the filter unchanged, and would reload all of this for every key.
#[derive(Clone, Copy, Debug)]
struct BlockedView<'a, P> {
    scatter: P,
    blocks: Blocks<'a>,
}

impl<P: Scatter> BlockedView<'_, P> {
    /// Whether the table is small enough to stay in the cache.
    #[inline(always)]
    fn stays_in_cache(&self) -> bool {
        stays_in_cache(self.blocks.bytes())
    }

    /// Prefetches the memory of a key.
    #[inline(always)]
    fn approach<const C: usize>(&self, hash: KeyHash) {
        for fraction in fractions::<C>(hash) {
            self.blocks.prefetch(fraction);
        }
    }

    /// Whether a candidate block has all bits of a key. All blocks are examined, because it cannot be predicted
    /// which of them holds the key.
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

/// The words that make the pattern of a key with `choices` candidate blocks: those that were not used to draw
/// a block.
#[inline(always)]
fn pattern_draws(hash: KeyHash, choices: u64) -> Draws {
    Draws::after(hash, choices - 1)
}

/// Evaluates an expression with the number of choices of a filter as a constant.
macro_rules! with_choices {
    ($pattern:ty, $choices:expr, $c:ident => $act:expr) => {
        // The constant comes first: where it is false, the rest is not compiled.
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
                // The maximum: `BlockedLayout::check`.
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
    fn view(&self) -> BlockedView<'_, P> {
        BlockedView { scatter: self.scatter, blocks: self.table.blocks() }
    }

    /// Prefetches the memory of a key.
    #[inline(always)]
    pub(super) fn approach(&self, hash: KeyHash) {
        with_choices!(P, self.layout.choices, C => self.view().approach::<C>(hash));
    }

    /// The CPU, if it has instructions for this layout that are better inlined than called: those for the spread
    /// pattern with one bit in each word.
    pub(super) fn inlined(layout: &BlockedLayout, cpu: Cpu) -> Option<Inlined> {
        if P::CHOOSES || layout.key_bits != WORDS { None } else { cpu.inlined() }
    }

    /// Looks up a key, inlined into the caller where that is faster.
    #[inline(always)]
    pub(super) fn look_up_one(&self, hash: KeyHash) -> bool {
        if !P::CHOOSES
            && let Some(inlined) = self.inlined
        {
            return inlined.drawn_block_has_bits(self.table.blocks(), hash.to_raw());
        }
        self.call_look_up(hash)
    }

    /// Not inlined: the caller would have two calls and fewer registers for its inlined code.
    #[inline(never)]
    fn call_look_up(&self, hash: KeyHash) -> bool {
        self.cpu.run(LookUpOneBlocked { filter: self, hash })
    }

    /// Stores a key, inlined into the caller where that is faster. There is always room; the result type is that of
    /// an engine, so that the call can be a tail call.
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
        self.cpu.run(InsertOneBlocked { filter: self, hash })
    }

    /// Looks up all keys.
    pub(super) fn look_up(&self, keys: Keys, answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        let (view, cpu) = (self.view(), self.cpu);
        with_choices!(P, self.layout.choices, C => cpu.run(LookUpBlocked::<_, C> { view, cpu, keys, answers }));
    }

    /// Stores a key in its only block, or in the block where it costs least, the first in case of a tie. If a
    /// block already holds the key, no bit changes.
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
pub(super) struct LookUpOneBlocked<'a, P> {
    pub(super) filter: &'a Blocked<P>,
    pub(super) hash: KeyHash,
}

impl<P: Scatter> Work for LookUpOneBlocked<'_, P> {
    const WIDE: bool = true;
    type Output = bool;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> bool {
        let Self { filter, hash } = self;
        with_choices!(P, filter.layout.choices, C => filter.view().holds::<C>(hash, vectors))
    }
}

/// One insert.
pub(super) struct InsertOneBlocked<'a, P> {
    pub(super) filter: &'a mut Blocked<P>,
    pub(super) hash: KeyHash,
}

impl<P: Scatter> Work for InsertOneBlocked<'_, P> {
    const WIDE: bool = true;
    /// The result type of an engine, which makes this a tail call.
    type Output = Result<(), Full>;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Result<(), Full> {
        self.filter.add(self.hash, vectors);
        Ok(())
    }
}

/// Lookups of keys with `C` candidate blocks each. There are as many answers as keys.
struct LookUpBlocked<'a, P, const C: usize> {
    view: BlockedView<'a, P>,
    cpu: Cpu,
    keys: Keys<'a>,
    answers: &'a mut [bool],
}

impl<P: Scatter, const C: usize> Work for LookUpBlocked<'_, P, C> {
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
pub(super) struct InsertBlocked<'a, P> {
    pub(super) filter: &'a mut Blocked<P>,
    pub(super) hashes: &'a [KeyHash],
}

impl<P: Scatter> Work for InsertBlocked<'_, P> {
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
