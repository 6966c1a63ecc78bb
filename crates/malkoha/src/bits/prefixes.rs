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

use super::words::SURE_BITS;

/// The widest slots that are compared in lanes of 32 bits: at any bit of a byte, a slot lies within four bytes.
pub(crate) const NARROW_BITS: u32 = 25;

/// The most slots of a place.
pub(crate) const MOST_SLOTS: u32 = 7;

/// Bytes beyond the last place, for windows over narrow slots and over others. (They decide the length of tables in
/// files, so they are the same on every machine.)
const NARROW_SPARE: usize = 32;
const WIDE_SPARE: usize = 64;

/// Bytes of one half of a window over narrow slots. The halves overlap: slots 0 to 3 are in the first, the others in
/// the second.
pub(super) const HALF_WINDOW: usize = 16;

/// Bytes of one half of a window over wide slots, which holds four of them at any bit of a byte.
pub(super) const WIDE_HALF: usize = 32;

/// Where the second half of a window over narrow slots begins, so that it ends with the four bytes of the last slot. A
/// window is no longer than necessary, because a byte in the next cache line costs as much as the whole line.
#[inline(always)]
pub(super) const fn second_half(width: usize) -> usize {
    // The byte in which the last slot begins, if the place begins with the last bit of a byte.
    let last = ((MOST_SLOTS as usize - 1) * width).div_ceil(8);
    (last + 4).saturating_sub(HALF_WINDOW)
}

/// Returns whether the entry `tag` matches a key whose side and fingerprint are `sought`, both from the highest bit
/// of a word down. Bits of the key from the mark of the entry on do not matter. An empty slot matches nothing.
#[inline(always)]
pub(crate) const fn matches(tag: u64, sought: u64) -> bool {
    (tag ^ sought) < (tag & tag.wrapping_neg()) << 1
}

/// The form of the places of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Bits of a slot: value, side, fingerprint and mark.
    width: u8,
    /// Bits of a slot below the value.
    tag_bits: u8,
    /// Slots of a place.
    slots: u8,
}

impl Form {
    /// The form of places of up to 7 slots, each of a value and a tag, together at most 64 bits.
    #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
    pub(crate) const fn new(value_bits: u32, tag_bits: u32, slots: u32) -> Self {
        let width = value_bits + tag_bits;
        debug_assert!(1 <= tag_bits && tag_bits < 64 && width <= 64, "such slots exist");
        debug_assert!(1 <= slots && slots <= MOST_SLOTS, "such places exist");
        Self { width: width as u8, tag_bits: tag_bits as u8, slots: slots as u8 }
    }

    /// Whether slots are narrow.
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

    /// Bytes of a window.
    #[inline(always)]
    pub(super) const fn window_bytes(self) -> usize {
        let width = self.width as usize;
        if self.is_narrow() {
            return second_half(width) + HALF_WINDOW;
        }
        // To the end of the last slot, if the place begins with the last bit of a byte.
        let bytes = (MOST_SLOTS as usize * width + 7).div_ceil(8);
        if bytes > WIDE_HALF { bytes } else { WIDE_HALF }
    }

    /// Bits beyond the last slot that a buffer must have so that the window of its last place is inside.
    pub(crate) const fn spare_bits(self) -> u64 {
        8 * if self.width as u32 <= NARROW_BITS { NARROW_SPARE } else { WIDE_SPARE } as u64
    }

    /// As many slots as one load always holds, or one.
    pub(super) const fn slots_per_load(self) -> u32 {
        if self.width as u32 > SURE_BITS { 1 } else { SURE_BITS / self.width as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Words;
    use crate::bits::cpu::{Cpu, Vectors, Work};
    use crate::bits::prefix_table::{Approach, PrefixTable, SECOND_SIDE};
    use crate::bits::words::mask;
    use crate::key::mix;

    struct Marks<'a>(Approach<'a>);

    impl Work for Marks<'_> {
        const WIDE: bool = true;
        type Output = ([u32; 2], ([u32; 16], u32));

        #[inline(always)]
        fn run(self, vectors: impl Vectors) -> Self::Output {
            let key = &self.0;
            let hits = vectors.hits(key);
            if key.table.form().is_narrow() {
                assert_eq!(vectors.holds_narrow(key), hits != 0);
            }
            ([hits, vectors.vacant(key)], vectors.others_with_room(key))
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
        const PLACES: u32 = 9;
        let (mut random, mut found) = (0, [0; 2]);
        let mut next = || {
            random = mix(random + 1);
            random
        };
        for tag_bits in 2..=63 {
            for value_bits in [0, 1, 5, 16].into_iter().filter(|bits| tag_bits + bits <= 64) {
                for slots in 1..=MOST_SLOTS {
                    let form = Form::new(value_bits, tag_bits, slots);
                    let words = Words::zeroed(form.bit(PLACES) + form.spare_bits()).unwrap();
                    let mut table = PrefixTable::new(words, PLACES, form);
                    for bit in (0..PLACES).flat_map(|place| (0..slots).map(move |slot| (place, slot))) {
                        // Tags of all lengths, and empty slots.
                        let tag = next() & mask(tag_bits) & (u64::MAX << (next() % 64)).max(1);
                        // A mark is below the side.
                        let tag = if tag & mask(tag_bits - 1) == 0 { 0 } else { tag };
                        let value = if tag == 0 { 0 } else { next() & mask(16) & !(u64::MAX << value_bits) };
                        table.write(form.slot(form.bit(bit.0), bit.1), value << 1 << (tag_bits - 1) | tag);
                    }
                    for place in 0..PLACES {
                        // Something near to what is stored.
                        let near = table
                            .tag(table.read(form.slot(form.bit(place), (next() % u64::from(slots)) as u32)));
                        let sought = (near ^ next() >> (next() % 64)) & !SECOND_SIDE;
                        for key in [table.approach(next()), table.approach_at(place, sought)] {
                            let mut expected = [0; 2];
                            for number in (0..slots).chain(8..8 + slots) {
                                let tag = table.tag(table.read(key.bit(number)));
                                let side = u64::from(number / 8) << 63;
                                expected[0] |= u32::from(matches(tag, key.sought | side)) << number;
                                expected[1] |= u32::from(tag == 0) << number;
                            }
                            found[usize::from(expected[0] != 0)] += 1;
                            for cpu in Cpu::all() {
                                let (marks, (others, with_room)) = cpu.run(Marks(key));
                                assert_eq!(marks, expected, "{cpu:?}, {key:x?}");
                                for number in (0..slots).chain(8..8 + slots) {
                                    let tag = table.tag(table.read(key.bit(number)));
                                    let other = table.other(key.at()[number as usize / 8], tag);
                                    assert_eq!(others[number as usize], other, "{cpu:?}, {key:x?}");
                                    let last = table.read(form.slot(other.into(), slots - 1));
                                    let has_room = with_room >> number & 1 == 1;
                                    assert_eq!(has_room, table.tag(last) == 0, "{cpu:?}, {key:x?}");
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(found.iter().all(|count| *count > 1000), "{found:?} of both answers");
    }
}
