//! Places whose slots hold prefixes of different lengths.
//!
//! ```text
//!   slot   value | side | fingerprint | 1 | 0 .. 0        all zeros: empty
//! ```
//!
//! The lowest set bit is the *mark*: it ends the fingerprint. A slot matches a key if both agree above the mark. The
//! slots of a place are consecutive fields of equal width, and places follow one another without gaps, so that a place
//! can begin at any bit.
//!
//! Vectors read a *window* of bytes from the byte in which a place begins, and bring every slot into a lane of its own.

use super::lanes::{first, ones, zero_marks};
use super::words::{SURE_BITS, Words, mask};

/// The widest slots that are compared in lanes of 32 bits: at any bit of a byte, a slot lies within four bytes.
pub(crate) const NARROW_BITS: u32 = 25;

/// The most slots of a place.
pub(crate) const MOST_SLOTS: u32 = 8;

/// Bytes of a window over narrow slots, and over others.
pub(super) const NARROW_WINDOW: usize = 32;
pub(super) const WIDE_WINDOW: usize = 64;

/// Returns whether the entry `tag` matches a key whose side and fingerprint are `sought`, both in the same number of
/// bits, below 64. Bits of the key from the mark of the entry on do not matter. An empty slot matches nothing.
#[inline(always)]
pub(crate) const fn matches(tag: u64, sought: u64) -> bool {
    (tag ^ sought) < (tag & tag.wrapping_neg()) << 1
}

/// A key at its two places with narrow slots: everything that a comparison needs.
#[derive(Clone, Copy, Debug)]
pub struct Approach<'a> {
    /// The bytes from those on in which the places begin.
    pub(super) windows: [&'a [u8; NARROW_WINDOW]; 2],
    /// What is sought in the first place, and above it what is sought in the second.
    pub(super) sought: u64,
    /// The bits of a slot that are its tag.
    pub(super) tag: u32,
    /// Bits of a slot.
    pub(super) width: u8,
    /// Slots of a place.
    pub(super) slots: u8,
    /// The bits of their first bytes at which the places begin.
    pub(super) phases: [u8; 2],
}

impl Approach<'_> {
    /// Returns whether a slot matches what is sought in its place, one slot at a time.
    #[inline(always)]
    pub(super) fn holds(&self) -> bool {
        let sought = [self.sought & u64::from(u32::MAX), self.sought >> 32];
        (0..2).any(|i| {
            (0..usize::from(self.slots)).any(|slot| {
                let begin = usize::from(self.phases[i]) + slot * usize::from(self.width);
                let bytes =
                    self.windows[i][begin / 8..].first_chunk().expect("a slot lies inside its window");
                matches((u32::from_le_bytes(*bytes) >> (begin % 8) & self.tag).into(), sought[i])
            })
        })
    }
}

/// The form of the places of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Bits of a slot: value, side, fingerprint and mark.
    width: u8,
    /// Bits of a slot below the value.
    tag_bits: u8,
    /// Slots of a place.
    slots: u8,
}

impl Form {
    /// The form of places of up to 8 slots, each of a value and a tag, together at most 64 bits.
    #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
    pub(crate) const fn new(value_bits: u32, tag_bits: u32, slots: u32) -> Self {
        let width = value_bits + tag_bits;
        debug_assert!(1 <= tag_bits && tag_bits < 64 && width <= 64, "such slots exist");
        debug_assert!(1 <= slots && slots <= MOST_SLOTS, "such places exist");
        Self { width: width as u8, tag_bits: tag_bits as u8, slots: slots as u8 }
    }

    /// Whether slots are narrow, so that keys can [approach](Self::approach) their places.
    #[inline(always)]
    pub(crate) const fn is_narrow(self) -> bool {
        cfg!(target_endian = "little") && self.width as u32 <= NARROW_BITS
    }

    #[inline(always)]
    pub(crate) const fn width(self) -> u32 {
        self.width as u32
    }

    #[inline(always)]
    pub(crate) const fn tag_bits(self) -> u32 {
        self.tag_bits as u32
    }

    #[inline(always)]
    pub(crate) const fn slots(self) -> u32 {
        self.slots as u32
    }

    /// The first bit of a place.
    #[inline(always)]
    pub(crate) const fn bit(self, place: u32) -> u64 {
        place as u64 * (self.width as u32 * self.slots as u32) as u64
    }

    /// The first bit of a slot of the place that begins at bit `at`.
    #[inline(always)]
    pub(crate) const fn slot(self, at: u64, slot: u32) -> u64 {
        at + (slot * self.width()) as u64
    }

    /// Bits beyond the last slot that a buffer must have so that the window of its last place is inside.
    pub(crate) const fn spare_bits(self) -> u64 {
        // The same on every machine, because it decides the length of tables in files.
        8 * if self.width as u32 <= NARROW_BITS { NARROW_WINDOW } else { WIDE_WINDOW } as u64
    }

    /// Returns the first empty slot of the place that begins at bit `at`.
    #[inline(always)]
    pub(crate) fn first_empty(self, words: &Words, at: u64) -> Option<u32> {
        let (width, slots) = (self.width(), self.slots());
        if width > SURE_BITS {
            return (0..slots).find(|slot| words.read(self.slot(at, *slot), width) == 0);
        }
        // As many slots at a time as one load always holds.
        let group = SURE_BITS / width;
        let mut begin = 0;
        while begin < slots {
            let all = ONES[width as usize];
            let lanes = group.min(slots - begin);
            let ones = all & mask(lanes * width);
            let marks = zero_marks(words.load(self.slot(at, begin)), ones, ones << (width - 1));
            if marks != 0 {
                return Some(begin + first(marks, width) / width);
            }
            begin += group;
        }
        None
    }

    /// The key for which `sought` is sought in the places that begin at the bits `at`, in a table with narrow slots.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "narrow tags, and bits of a byte")]
    pub(crate) fn approach(self, words: &Words, at: [u64; 2], sought: [u64; 2]) -> Approach<'_> {
        Approach {
            windows: [words.window(at[0] / 8), words.window(at[1] / 8)],
            sought: sought[0] | sought[1] << 32,
            tag: mask(self.tag_bits()) as u32,
            width: self.width,
            slots: self.slots,
            phases: [(at[0] % 8) as u8, (at[1] % 8) as u8],
        }
    }

    /// Returns whether a slot of one of two places with wide slots matches, one slot at a time.
    #[inline(always)]
    pub(super) fn holds_either(self, words: &Words, at: [u64; 2], sought: [u64; 2]) -> bool {
        self.holds(words, at[0], sought[0]) || self.holds(words, at[1], sought[1])
    }

    /// Returns whether a slot of the place that begins at bit `at` matches a key, one slot at a time.
    #[inline(always)]
    pub(crate) fn holds(self, words: &Words, at: u64, sought: u64) -> bool {
        let tag = mask(self.tag_bits());
        (0..self.slots()).any(|slot| matches(words.read(self.slot(at, slot), self.width()) & tag, sought))
    }
}

/// For every width up to `SURE_BITS`, the lowest bit of each lane that fits.
static ONES: [u64; SURE_BITS as usize + 1] = {
    let mut all = [0; SURE_BITS as usize + 1];
    let mut width = 1;
    while width <= SURE_BITS {
        all[width as usize] = ones(width, SURE_BITS / width);
        width += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::{Cpu, Vectors, Work};
    use crate::key::mix;

    struct Holds<'a>(&'a Words, Form, [u64; 2], [u64; 2]);

    impl Work for Holds<'_> {
        const WIDE: bool = true;
        type Output = bool;

        #[inline(always)]
        fn run(self, vectors: impl Vectors) -> bool {
            let Self(words, form, at, sought) = self;
            if form.is_narrow() {
                vectors.holds_narrow(&form.approach(words, at, sought))
            } else {
                vectors.holds_wide(words, form, at, sought)
            }
        }
    }

    /// One bit at a time, from the definition.
    fn matches_naively(tag: u64, sought: u64) -> bool {
        let Some(mark) = (0..64).find(|bit| tag >> bit & 1 == 1) else { return false };
        (mark + 1..64).all(|bit| tag >> bit & 1 == sought >> bit & 1)
    }

    #[test]
    fn entries_match_the_keys_that_agree_above_the_mark() {
        for tag in 0..1 << 9 {
            for sought in 0..1 << 9 {
                assert_eq!(matches(tag, sought), matches_naively(tag, sought), "{tag:b} and {sought:b}");
            }
        }
    }

    /// Every width, number of slots and phase; every CPU against one slot at a time.
    #[test]
    fn all_cpus_find_the_same_entries() {
        let (mut random, mut found) = (0, [0; 2]);
        let mut next = || {
            random = mix(random + 1);
            random
        };
        for tag_bits in 2..=63 {
            for value_bits in [0, 1, 5, 16].into_iter().filter(|bits| tag_bits + bits <= 64) {
                for slots in 1..=MOST_SLOTS {
                    let form = Form::new(value_bits, tag_bits, slots);
                    let places = 9;
                    let mut words = Words::zeroed(form.bit(places) + form.spare_bits()).unwrap();
                    for place in 0..places {
                        for slot in 0..slots {
                            // Tags of all lengths, and empty slots.
                            let tag = next() & mask(tag_bits) & (u64::MAX << (next() % 64)).max(1);
                            let value =
                                if tag == 0 { 0 } else { next() & mask(16) & !(u64::MAX << value_bits) };
                            words.write(
                                form.slot(form.bit(place), slot),
                                form.width(),
                                value << 1 << (tag_bits - 1) | tag,
                            );
                        }
                        let empty = (0..slots)
                            .find(|slot| words.read(form.slot(form.bit(place), *slot), form.width()) == 0);
                        assert_eq!(form.first_empty(&words, form.bit(place)), empty, "{form:?}");
                    }
                    for place in 0..places {
                        let at = [form.bit(place), form.bit(places - 1 - place)];
                        // Something near to what is stored.
                        let stored =
                            words.read(form.slot(at[0], (next() % u64::from(slots)) as u32), form.width());
                        let sought =
                            [next() & mask(tag_bits), (stored ^ next() >> (next() % 64)) & mask(tag_bits)];
                        for sought in [sought, [sought[1], sought[0]]] {
                            let expected = (0..2).any(|i| form.holds(&words, at[i], sought[i]));
                            found[usize::from(expected)] += 1;
                            for cpu in Cpu::all() {
                                let got = cpu.run(Holds(&words, form, at, sought));
                                assert_eq!(got, expected, "{cpu:?}, {form:?}, {at:?}, {sought:x?}");
                            }
                        }
                    }
                }
            }
        }
        assert!(found.iter().all(|count| *count > 1000), "{found:?} of both answers");
    }
}
