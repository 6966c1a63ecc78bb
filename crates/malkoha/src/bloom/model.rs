//! A model of the block load: how many blocks have how many bits set, and the rate that follows.
//!
//! The model is a distribution p over the numbers of set bits, 0 to 512, moved forward in time t, measured in
//! keys per block. A key looks at c blocks. In a large filter they are independent draws from p, and by
//! symmetry all blocks with j set bits are equally probable, so a pattern of d bits has a bits that are not yet
//! set with the hypergeometric probability
//!
//! ```text
//!   h(a | j, d) = C(512 - j, a) C(j, d - a) / C(512, d)
//! ```
//!
//! and the candidate at hand is of type (j, a) with probability q(j, a) = p(j) h(a | j, d). The key goes to
//! the cheapest candidate. With S(x) for the probability that a candidate costs at least x, the one chosen
//! has cost x with probability S(x)^c - S(next x)^c, shared among the types of that cost in proportion to q.
//! Each choice moves the block from j to j + a. Random patterns have d bits with the probability that d of
//! their bits are distinct; for distinct patterns d is fixed. These are 513 deterministic differential
//! equations. They become exact as the number of blocks grows, and for c = 1 they give the Poisson load of the
//! ordinary blocked filter. The rate at any time is `1 - (1 - sum of p(j) share(j))^c`.
//!
//! `tests/bloom_sizing.rs` compares the model with filters of 10^6 keys.

use crate::bits::BLOCK_BITS;
use crate::kind::Pattern;
use crate::theory::occupancy::{distinct_bits, distinct_share, random_share};

use super::choice::{Cost, Prices};

/// States of a block: 0 to 512 set bits.
const STATES: usize = BLOCK_BITS as usize + 1;

/// Probabilities below this count as zero. It is far below any rate that can be requested.
const NOTHING: f64 = 1e-22;

/// Types less probable than this among blocks with the same number of set bits are ignored.
const IMPROBABLE: f64 = 1e-11;

/// Random patterns with a number of distinct bits less probable than this are ignored.
const RARE: f64 = 1e-7;

/// The most keys per block in one step of the integration. Finer steps change no rate above 2^-40 by two
/// hundredths.
const STEP: f64 = 0.4;

/// The most keys that consider a block in one step: a cheap block takes all of them, and more than two would
/// make the integration unstable.
const LOOKS: f64 = 0.8;

/// The fewest steps from one time to the next: nearly empty blocks change quickly.
const LEAST_STEPS: f64 = 8.0;

/// The blocks of a filter with random or distinct patterns at a point in time.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    choices: u8,
    /// The shares of patterns by number of distinct bits, with their probabilities h.
    sizes: Vec<(f64, Hits)>,
    /// All types (j, a), cheapest first.
    types: Vec<Type>,
    /// The share of patterns that a block with j set bits covers.
    shares: Vec<f64>,
    /// The distribution p.
    blocks: Vec<f64>,
    key_bits: usize,
    time: f64,
}

/// A candidate block with `set` set bits, in which the key would set `new` more.
#[derive(Clone, Copy, Debug)]
struct Type {
    set: u16,
    new: u16,
    /// Types of equal cost have equal ranks.
    rank: u32,
}

impl Type {
    /// The set bits before the key is stored.
    fn before(self) -> usize {
        usize::from(self.set)
    }

    /// The set bits after the key is stored.
    fn after(self) -> usize {
        usize::from(self.set) + usize::from(self.new)
    }
}

/// A type, and the probability h that a block with its number of set bits is of this type.
#[derive(Clone, Copy, Debug)]
struct Move {
    kind: Type,
    hit: f64,
}

impl Model {
    /// A model of empty blocks.
    pub(crate) fn new(choices: u8, pattern: Pattern, cost: Cost, key_bits: u32) -> Self {
        debug_assert!(pattern != Pattern::Spread, "spread patterns have a closed form");
        let sizes = if pattern == Pattern::Distinct {
            vec![(1.0, Hits::new(key_bits))]
        } else {
            let sizes = distinct_bits(key_bits).into_iter().zip(0..);
            sizes.filter(|(share, _)| *share > RARE).map(|(share, d)| (share, Hits::new(d))).collect()
        };
        let share = if pattern == Pattern::Distinct { distinct_share } else { random_share };
        let mut blocks = vec![0.0; STATES];
        blocks[0] = 1.0;
        Self {
            choices,
            sizes,
            types: types(&Prices::new(cost, key_bits), key_bits),
            shares: (0..=BLOCK_BITS).map(|set| share(set, key_bits)).collect(),
            blocks,
            key_bits: key_bits as usize,
            time: 0.0,
        }
    }

    /// Advances to a later time, in keys per block.
    pub(crate) fn advance(&mut self, time: f64) {
        let longest = STEP.min(LOOKS / f64::from(self.choices));
        let steps = ((time - self.time) / longest).ceil().max(LEAST_STEPS);
        let step = (time - self.time) / steps;
        let mut done = 0.0;
        while done < steps {
            self.runge_kutta(step);
            done += 1.0;
        }
        self.time = time;
    }

    /// Takes one step of the classical fourth-order method.
    fn runge_kutta(&mut self, step: f64) {
        let moves = self.moves();
        let ahead = |slope: &[f64], step: f64| -> Vec<f64> {
            self.blocks.iter().zip(slope).map(|(p, dp)| p + step * dp).collect()
        };
        let one = self.slope(&self.blocks, &moves);
        let two = self.slope(&ahead(&one, step / 2.0), &moves);
        let three = self.slope(&ahead(&two, step / 2.0), &moves);
        let four = self.slope(&ahead(&three, step), &moves);
        for (j, p) in self.blocks.iter_mut().enumerate() {
            *p += step / 6.0 * (one[j] + 2.0 * two[j] + 2.0 * three[j] + four[j]);
        }
    }

    /// The types that matter in the next step, cheapest first, for each number of distinct bits.
    fn moves(&self) -> Vec<(f64, Vec<Move>)> {
        let matters = |j: &usize| self.blocks[*j] > NOTHING;
        let first = (0..STATES).find(matters).unwrap_or(0);
        // Each of the four stages may add one key to a block.
        let last = (0..STATES).rfind(matters).unwrap_or(0) + 4 * self.key_bits;
        let active = || self.types.iter().filter(|kind| (first..=last).contains(&kind.before()));
        let probable = |hits: &Hits| {
            let moves = active().map(|kind| Move { kind: *kind, hit: hits.probability(*kind) });
            moves.filter(|it| it.hit > IMPROBABLE).collect()
        };
        self.sizes.iter().map(|(share, hits)| (*share, probable(hits))).collect()
    }

    /// The derivative of p by time.
    fn slope(&self, blocks: &[f64], moves: &[(f64, Vec<Move>)]) -> Vec<f64> {
        let mut slope = vec![0.0; STATES];
        for (share, moves) in moves {
            let q = |it: &Move| blocks[it.kind.before()].max(0.0) * it.hit;
            // The probability that a candidate costs at least as much as the types not yet visited.
            let mut above = 1.0f64;
            for equal in moves.chunk_by(|a, b| a.kind.rank == b.kind.rank) {
                let here: f64 = equal.iter().map(q).sum();
                if here == 0.0 {
                    continue;
                }
                let next = above - here;
                let chosen = share * difference_of_powers(above, next, self.choices);
                above = next;
                for it in equal {
                    let flow = chosen * q(it);
                    slope[it.kind.before()] -= flow;
                    slope[it.kind.after()] += flow;
                }
            }
        }
        slope
    }

    /// The rate now.
    pub(crate) fn rate(&self) -> f64 {
        let one: f64 = self.blocks.iter().zip(&self.shares).map(|(p, share)| p * share).sum();
        -(f64::from(self.choices) * (-one.min(1.0)).ln_1p()).exp_m1()
    }

    /// The share of set bits now.
    pub(crate) fn fill(&self) -> f64 {
        let set: f64 = self.blocks.iter().enumerate().map(|(j, p)| j as f64 * p).sum();
        set / f64::from(BLOCK_BITS)
    }
}

/// `(x^c - y^c) / (x - y)`, without dividing.
fn difference_of_powers(x: f64, y: f64, c: u8) -> f64 {
    match c {
        1 => 1.0,
        2 => x + y,
        3 => x * x + x * y + y * y,
        _ => (x + y) * (x * x + y * y),
    }
}

/// All types of candidates, cheapest first. A candidate that already has all bits costs nothing.
fn types(prices: &Prices, key_bits: u32) -> Vec<Type> {
    let most = u16::try_from(key_bits).expect("a key has few bits");
    let cost = |set: u32, new: u32| if new == 0 { f64::NEG_INFINITY } else { prices.cost(set + new, new) };
    let mut all: Vec<(f64, Type)> = (0..=512u16)
        .flat_map(|set| (0..=most.min(512 - set)).map(move |new| (set, new)))
        .map(|(set, new)| (cost(u32::from(set), u32::from(new)), Type { set, new, rank: 0 }))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut rank = 0;
    for i in 1..all.len() {
        rank += u32::from(all[i].0 > all[i - 1].0);
        all[i].1.rank = rank;
    }
    all.into_iter().map(|(_, kind)| kind).collect()
}

/// The probabilities h(a | j, d) for patterns of d distinct bits.
#[derive(Clone, Debug)]
struct Hits {
    width: usize,
    table: Vec<f64>,
}

impl Hits {
    fn new(d: u32) -> Self {
        let d = d as usize;
        let mut logs = vec![0.0f64; STATES];
        for i in 1..STATES {
            logs[i] = logs[i - 1] + (i as f64).ln();
        }
        let choose = |n: usize, k: usize| logs[n] - logs[k] - logs[n - k];
        let h = |(j, a): (usize, usize)| {
            let possible = a <= STATES - 1 - j && d - a <= j;
            if possible {
                (choose(STATES - 1 - j, a) + choose(j, d - a) - choose(STATES - 1, d)).exp()
            } else {
                0.0
            }
        };
        let table = (0..STATES).flat_map(|j| (0..=d).map(move |a| (j, a))).map(h).collect();
        Self { width: d + 1, table }
    }

    #[inline]
    fn probability(&self, kind: Type) -> f64 {
        let new = usize::from(kind.new);
        if new < self.width { self.table[kind.before() * self.width + new] } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probability_is_neither_made_nor_lost() {
        let costs = [Cost::default(), Cost::Mixed { sigma: 2.5 }, Cost::LookAhead { mu: 3.5 }];
        for choices in 1..=4 {
            for cost in costs {
                let mut model = Model::new(choices, Pattern::Random, cost, 9);
                for time in [1.0, 40.0, 100.0] {
                    model.advance(time);
                    let total: f64 = model.blocks.iter().sum();
                    assert!((total - 1.0).abs() < 1e-6, "c = {choices}, {cost:?} at {time}: {total}");
                    assert!(model.blocks.iter().all(|p| *p > -1e-7));
                }
            }
        }
    }

    #[test]
    fn one_choice_fills_as_a_poisson_stream_does() {
        let mut model = Model::new(1, Pattern::Distinct, Cost::default(), 8);
        model.advance(40.0);
        let expected = 1.0 - (-40.0f64 * 8.0 / 512.0).exp();
        assert!((model.fill() - expected).abs() < 1e-7, "{} {expected}", model.fill());
    }
}
