//! `Geometry`: the exact numbers of a filter.

use super::growth::{Growth, share};
use crate::bloom::{BlockedLayout, BloomLayout};
use crate::cuckoo::CuckooLayout;
use crate::elastic::ElasticLayout;
use crate::key::KeyFormat;
use crate::kind::Kind;
use crate::theory;

/// The exact numbers of a filter: what was planned, and the memory that follows. Plain data.
///
/// Filters with equal geometries and equal histories have equal content.
///
/// ```
/// use malkoha::Spec;
/// let geometry = Spec::new(1_000_000, 0.01).plan()?;
/// assert!(geometry.predicted_rate(1_000_000) <= 0.01);
/// assert!(geometry.bits_per_key() < 9.7);
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    keys: u64,
    rate: f64,
    seed: u64,
    key_format: KeyFormat,
    layout: Layout,
    growth: Option<Growth>,
}

/// The memory of a filter, by family.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Layout {
    /// A table of tags.
    Cuckoo(CuckooLayout),
    /// Regions of tags that grow.
    Elastic(ElasticLayout),
    /// Bits.
    Bloom(BloomLayout),
    /// Blocks of bits.
    Blocked(BlockedLayout),
}

impl Geometry {
    pub(crate) fn new(keys: u64, rate: f64, seed: u64, layout: Layout) -> Self {
        Self { keys, rate, seed, key_format: KeyFormat::Any, layout, growth: None }
    }

    /// The same geometry for keys of this format.
    pub(crate) fn with_key_format(self, key_format: KeyFormat) -> Self {
        Self { key_format, ..self }
    }

    /// The geometry of a chain that begins with this one, at a promised rate that leaves room for all later
    /// links.
    pub(crate) fn growing(self, growth: Growth) -> Self {
        self.growing_at(growth, self.rate / share(0))
    }

    /// The geometry of a chain that begins with this one, at this promised rate.
    pub(crate) fn growing_at(self, growth: Growth, rate: f64) -> Self {
        Self { rate, growth: Some(growth), ..self }
    }

    /// The geometry of a table with twice the places and half the fingerprints, for twice the keys at twice
    /// the rate; `None` if there is none.
    pub(crate) fn doubled(&self) -> Option<Self> {
        let layout = self.cuckoo().filter(|_| !self.is_growing())?.doubled(self.load())?;
        let keys = self.keys.checked_mul(2)?.min(layout.slots);
        let rate = (2.0 * self.rate).max(layout.rate(keys)).min(1.0);
        Some(Self { keys, rate, layout: Layout::Cuckoo(layout), ..*self })
    }

    /// How the filter grows, if it does.
    pub(crate) fn growth(&self) -> Option<&Growth> {
        self.growth.as_ref()
    }

    /// The geometry of the first link of a chain; other filters are their own only link.
    pub(crate) fn first_link(&self) -> Self {
        match self.growth {
            Some(_) => Self { rate: self.rate * share(0), growth: None, ..*self },
            None => *self,
        }
    }

    /// Whether the filter grows when it is full: [`Spec::growing`](crate::Spec::growing). Keys, layout and
    /// memory are then those it begins with, and the rate is promised for any number of keys.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.growth.is_some() || self.elastic().is_some()
    }

    /// The same geometry at this promised rate.
    pub(crate) fn at_rate(self, rate: f64) -> Self {
        Self { rate, ..self }
    }

    /// The kind of filter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.layout {
            Layout::Cuckoo(layout) => layout.kind,
            Layout::Elastic(_) => Kind::Elastic,
            Layout::Bloom(_) => Kind::Bloom,
            Layout::Blocked(layout) => Kind::Blocked(layout.choices),
        }
    }

    /// The number of keys it is planned for; a growing filter begins with room for about as many.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The promised rate for that many keys.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The seed of its hashes.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The declared format of the keys.
    #[must_use]
    pub fn key_format(&self) -> KeyFormat {
        self.key_format
    }

    /// The memory, by family.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The layout of the table, for cuckoo filters.
    #[must_use]
    pub fn cuckoo(&self) -> Option<&CuckooLayout> {
        match &self.layout {
            Layout::Cuckoo(layout) => Some(layout),
            _ => None,
        }
    }

    /// The layout of the regions, for filters of the kind [`Elastic`](Kind::Elastic).
    #[must_use]
    pub fn elastic(&self) -> Option<&ElasticLayout> {
        match &self.layout {
            Layout::Elastic(layout) => Some(layout),
            _ => None,
        }
    }

    /// The layout of the table, for plain Bloom filters.
    #[must_use]
    pub fn bloom(&self) -> Option<&BloomLayout> {
        match &self.layout {
            Layout::Bloom(layout) => Some(layout),
            _ => None,
        }
    }

    /// The layout of the table, for blocked Bloom filters.
    #[must_use]
    pub fn blocked(&self) -> Option<&BlockedLayout> {
        match &self.layout {
            Layout::Blocked(layout) => Some(layout),
            _ => None,
        }
    }

    /// Bits of the value beside each key; 0 if there is none.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        match &self.layout {
            Layout::Cuckoo(layout) => layout.value_bits(),
            Layout::Elastic(layout) => layout.value_bits,
            _ => 0,
        }
    }

    /// Bytes of memory: the table as allocated; for growing filters, those that it begins with.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self.layout {
            Layout::Cuckoo(layout) => layout.bytes(),
            Layout::Elastic(layout) => layout.first_bytes(),
            Layout::Bloom(layout) => layout.bytes(),
            Layout::Blocked(layout) => layout.bytes(),
        }
    }

    /// Bits of the table, or `None` if there are too many to count, or no single table.
    pub(crate) fn table_bits(&self) -> Option<u64> {
        match self.layout {
            Layout::Cuckoo(layout) => layout.table_bits(),
            Layout::Elastic(_) => None,
            Layout::Bloom(layout) => Some(layout.bits).filter(|bits| *bits < u64::MAX / 2),
            Layout::Blocked(layout) => layout.table_bits(),
        }
    }

    /// Bits of memory per planned key.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.bytes() as f64 * 8.0 / self.keys as f64
    }

    /// The load with all planned keys stored; for Bloom kinds, the expected share of set bits.
    #[must_use]
    pub fn load(&self) -> f64 {
        match self.layout {
            Layout::Cuckoo(layout) => self.keys as f64 / layout.slots as f64,
            Layout::Elastic(layout) => self.keys as f64 / layout.first_slots(),
            Layout::Bloom(layout) => layout.fill(self.keys),
            Layout::Blocked(layout) => layout.fill(self.keys),
        }
    }

    /// The load that inserts cannot exceed, however long they walk; 1 for Bloom kinds, which are never full.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        theory::threshold(self.kind())
    }

    /// The number of keys that it takes reliably, which may be more than planned: up to 0.98 of the
    /// threshold, or in general [`theory::planned_load`]; for Bloom kinds, the planned number; for the kind
    /// [`Elastic`](Kind::Elastic), the number up to which the rate is promised.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        let layout = match self.layout {
            Layout::Cuckoo(layout) => layout,
            Layout::Elastic(layout) => return layout.promised_keys().max(self.keys),
            _ => return self.keys,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fewer than the slots")]
        let reliable = (layout.slots as f64 * theory::planned_load(layout.kind)) as u64;
        reliable.max(self.keys)
    }

    /// The rate that theory predicts with n keys stored; for growing filters, if they were inserted one at a
    /// time. Bloom kinds may hold more keys than planned.
    #[must_use]
    pub fn predicted_rate(&self, n: u64) -> f64 {
        if let Some(growth) = self.growth {
            return growth.predicted_rate(self, n);
        }
        match self.layout {
            Layout::Cuckoo(layout) => layout.rate(n),
            Layout::Elastic(layout) => layout.predicted_rate(n),
            Layout::Bloom(layout) => layout.rate(n),
            Layout::Blocked(layout) => layout.rate(n),
        }
    }

    /// The cache lines that a lookup of an absent key reads, on average; for growing filters, in the first
    /// table.
    ///
    /// Cuckoo kinds read both places, each of which may cross the border of a line. Plain Bloom filters read
    /// bits until one is not set. Blocked ones read a line for every choice.
    ///
    /// ```
    /// use malkoha::{Kind, Spec};
    /// let blocked = Spec::new(1_000_000, 0.001).kind(Kind::Blocked(1)).plan()?;
    /// assert_eq!(blocked.lines_per_lookup(), 1.0);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[must_use]
    pub fn lines_per_lookup(&self) -> f64 {
        match self.layout {
            Layout::Cuckoo(layout) => {
                let slot_bits = layout.slot_bits();
                let slots = f64::from(layout.kind.slots_per_place());
                let stride = if layout.kind.is_windowed() { slot_bits } else { slot_bits * slots };
                let lines = |place: u32| {
                    let begin = f64::from(place) * stride % LINE_BITS;
                    ((begin + slot_bits * slots - 1.0) / LINE_BITS).floor() + 1.0
                };
                2.0 * (0..512).map(lines).sum::<f64>() / 512.0
            }
            Layout::Elastic(layout) => {
                // A place of five or six slots, at any bit.
                let bits = f64::from(layout.tag_bits(layout.first(0).0) + layout.value_bits) * 5.5;
                2.0 * (1.0 + (bits - 1.0) / LINE_BITS)
            }
            Layout::Bloom(layout) => {
                // The first bit is always read, another one if all before it are set.
                let fill = layout.fill(self.keys);
                (0..layout.key_bits).map(|bit| fill.powi(bit.cast_signed())).sum()
            }
            Layout::Blocked(layout) => f64::from(layout.choices),
        }
    }
}

/// Bits of a cache line.
const LINE_BITS: f64 = 512.0;

#[cfg(test)]
mod tests {
    use crate::{Kind, Spec};

    #[test]
    fn lines_of_layouts_that_can_be_counted_by_hand() {
        let plan = |kind, rate| Spec::new(1_000_000, rate).kind(kind).plan().unwrap();
        // Four slots of 16 bits fill a word; eight words fill a line.
        let words = plan(Kind::Flexible(4), 2f64.powi(-13));
        assert_eq!(words.cuckoo().unwrap().slot_bits(), 16.0);
        assert!((words.lines_per_lookup() - 2.0).abs() < 1e-9);
        // Of 32 windows of two such slots, one crosses the border.
        let windows = plan(Kind::Windowed(2), 2f64.powi(-14));
        assert!((windows.lines_per_lookup() - 2.0 * 33.0 / 32.0).abs() < 1e-9);
        assert_eq!(plan(Kind::Blocked(3), 0.001).lines_per_lookup(), 3.0);
        let bloom = plan(Kind::Bloom, 0.001).lines_per_lookup();
        assert!((bloom - 2.0).abs() < 0.01, "half of the bits are set: {bloom}");
        let crowded = Spec::keys_in_memory(1_000_000, 64).kind(Kind::Bloom).plan().unwrap();
        let bits = f64::from(crowded.bloom().unwrap().key_bits);
        assert!((crowded.lines_per_lookup() - bits).abs() < 1e-9, "all bits are set");
    }
}
