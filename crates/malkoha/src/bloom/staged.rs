//! Many keys at once in a plain filter.
//!
//! If the table fits in the cache, a row of keys is hashed together and looked up one by one. Where keys have many
//! bits, those that have the first eight are listed, and only they are looked up further: no branch depends on a key.
//! If the table does not fit, a key is looked up in two stages, each one row after its memory was prefetched:
//!
//! ```text
//!   row r + 1   prefetch the first bits
//!   row r       test the first bits; prefetch the others of the keys that have them
//!   row r - 1   test the others
//! ```
//!
//! Most absent keys do not get past the first stage: they fetch three lines out of eight.

use crate::bits::cpu::{Cpu, Vectors, Work};
use crate::key::KeyHash;

use super::pattern::Draws;
use super::plain::{Bloom, PlainView};
use crate::engine::rows::{Keys, ROW};

/// Bits of a key that the first stage tests.
const FIRST: u32 = 3;

/// Keys with more bits than this are looked up in two stages in the cache, too.
const MANY: u32 = 16;

/// How many keys ahead of an insert its memory is prefetched.
const AHEAD: usize = 16;

impl PlainView<'_> {
    /// The words that draw the first bits of a key, and how many there are.
    #[inline(always)]
    fn first(&self, hash: KeyHash) -> (Draws, u32) {
        (Draws::new(hash), self.key_bits.min(FIRST))
    }

    /// The words that draw the other bits, and how many there are.
    #[inline(always)]
    fn others(&self, hash: KeyHash) -> (Draws, u32) {
        (Draws::after(hash, u64::from(FIRST)), self.key_bits.saturating_sub(FIRST))
    }

    #[inline(always)]
    fn ask(&self, (mut draws, count): (Draws, u32)) {
        for _ in 0..count {
            self.bits.prefetch(draws.next());
        }
    }

    /// 1 if all of these bits are set, else 0.
    #[inline(always)]
    fn look(&self, (mut draws, count): (Draws, u32)) -> u64 {
        let mut all = 1;
        for _ in 0..count {
            all &= self.bits.draw(draws.next());
        }
        all
    }
}

/// Keys of a row that have passed the first stage.
#[derive(Clone, Copy)]
struct Passed {
    /// Which keys, and their hashes.
    keys: [(usize, KeyHash); ROW],
    count: usize,
}

/// Lookups. There are as many answers as keys.
pub(super) struct LookUpPlain<'a> {
    pub(super) view: PlainView<'a>,
    pub(super) cpu: Cpu,
    pub(super) keys: Keys<'a>,
    pub(super) answers: &'a mut [bool],
}

impl Work for LookUpPlain<'_> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        if !self.view.stays_in_cache {
            return self.in_stages();
        }
        let Self { view, cpu, keys, answers } = self;
        let mut row = [KeyHash::from_raw(0); ROW];
        if let Some(bits) = view.bits.narrow().filter(|_| view.key_bits > MANY) {
            for (number, answers) in answers.chunks_mut(ROW).enumerate() {
                keys.row(number, cpu, &mut row);
                let (mut passed, mut count) = ([0; ROW], 0);
                for (i, (answer, hash)) in answers.iter_mut().zip(&row).enumerate() {
                    *answer = view.first_missing(*hash, bits, vectors) == 0;
                    passed[count] = i;
                    count += usize::from(*answer);
                }
                for &i in &passed[..count] {
                    answers[i] = view.others_missing(row[i], bits, vectors) == 0;
                }
            }
            return;
        }
        for (number, answers) in answers.chunks_mut(ROW).enumerate() {
            keys.row(number, cpu, &mut row);
            for (answer, hash) in answers.iter_mut().zip(&row) {
                *answer = view.holds(*hash, vectors);
            }
        }
    }
}

impl LookUpPlain<'_> {
    #[inline(always)]
    fn in_stages(self) {
        let Self { view, cpu, keys, answers } = self;
        let mut next = [KeyHash::from_raw(0); ROW];
        let mut ahead = keys.row(0, cpu, &mut next);
        for hash in &next[..ahead] {
            view.ask(view.first(*hash));
        }
        let mut late = Passed { keys: [(0, KeyHash::from_raw(0)); ROW], count: 0 };
        let mut number = 0;
        // One extra row, in which the keys of the last row reach their second stage.
        while ahead > 0 || late.count > 0 {
            let (row, here) = (next, ahead);
            ahead = keys.row(number + 1, cpu, &mut next);
            let mut passed = Passed { count: 0, ..late };
            for i in 0..here {
                if i < ahead {
                    view.ask(view.first(next[i]));
                }
                let key = number * ROW + i;
                let yes = view.look(view.first(row[i])) & 1 == 1;
                answers[key] = yes;
                passed.keys[passed.count] = (key, row[i]);
                passed.count += usize::from(yes);
            }
            for i in 0..passed.count.max(late.count) {
                if i < passed.count {
                    view.ask(view.others(passed.keys[i].1));
                }
                if i < late.count {
                    let (key, hash) = late.keys[i];
                    answers[key] = view.look(view.others(hash)) & 1 == 1;
                }
            }
            late = passed;
            number += 1;
        }
    }
}

/// Inserts.
pub(super) struct InsertPlain<'a> {
    pub(super) filter: &'a mut Bloom,
    pub(super) hashes: &'a [KeyHash],
}

impl Work for InsertPlain<'_> {
    const WIDE: bool = false;
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        let Self { filter, hashes } = self;
        if filter.stays_in_cache() {
            for hash in hashes {
                filter.add(*hash);
            }
            return;
        }
        for hash in hashes.iter().take(AHEAD) {
            filter.approach(*hash);
        }
        for (i, hash) in hashes.iter().enumerate() {
            if let Some(later) = hashes.get(i + AHEAD) {
                filter.approach(*later);
            }
            filter.add(*hash);
        }
    }
}
