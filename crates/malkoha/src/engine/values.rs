//! `Values`: what a filter with values returns for a key.

use core::fmt;
use core::ops::Deref;

/// The number of values kept in place. More than one candidate is as rare as a false positive; more than this
/// many are copies of one key.
const FEW: usize = 6;

/// The values of all stored copies that look like a key, ascending, one for each copy.
///
/// It dereferences to a slice. Up to six values need no allocation.
///
/// ```
/// let mut filter = malkoha::Spec::new(1000, 1e-6).values(8).build()?;
/// filter.insert_value("egg", 7)?;
/// filter.insert_value("egg", 3)?;
/// let values = filter.get("egg")?;
/// assert_eq!(*values, [3, 7]);
/// assert!(filter.get("stone")?.is_empty());
/// # Ok::<(), malkoha::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Values {
    few: [u16; FEW],
    len: u8,
    /// All of them, once there are more than a few.
    all: Vec<u16>,
}

impl Values {
    pub(crate) fn push(&mut self, value: u16) {
        if usize::from(self.len) < FEW {
            self.few[usize::from(self.len)] = value;
            self.len += 1;
            return;
        }
        if self.all.is_empty() {
            self.all.extend(self.few);
        }
        self.all.push(value);
    }

    pub(crate) fn sort(&mut self) {
        if self.all.is_empty() {
            self.few[..usize::from(self.len)].sort_unstable();
        } else {
            self.all.sort_unstable();
        }
    }
}

impl Deref for Values {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        if self.all.is_empty() { &self.few[..usize::from(self.len)] } else { &self.all }
    }
}

impl<'a> IntoIterator for &'a Values {
    type Item = &'a u16;
    type IntoIter = core::slice::Iter<'a, u16>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Values {}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_values_are_a_sorted_slice() {
        for len in 0..20u16 {
            let mut values = Values::default();
            (0..len).rev().for_each(|value| values.push(value / 2));
            values.sort();
            let expected: Vec<u16> = (0..len).map(|value| value / 2).collect();
            assert_eq!(*values, *expected);
            assert_eq!(format!("{values:?}"), format!("{expected:?}"));
            assert_eq!(
                values.all.capacity() > 0,
                usize::from(len) > FEW,
                "only many need memory of their own"
            );
        }
    }
}
