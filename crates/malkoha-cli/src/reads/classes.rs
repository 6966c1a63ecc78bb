//! Where a read comes from, by the labels of its words: the classes and rules of xengsort, for any number of labels.

use anyhow::{Result, bail};

/// How many words a read has of each sort.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Words with exactly this label.
    only: Vec<u64>,
    /// Words with several labels.
    shared: u64,
    /// Words that the filter does not hold.
    none: u64,
}

/// Where a read comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The sequences with this label.
    Label(usize),
    /// Several of them.
    Both,
    /// None of them.
    Neither,
    /// There is no telling.
    Ambiguous,
}

impl Class {
    /// The names of classes that are no labels.
    const OTHERS: [&str; 4] = ["both", "several", "neither", "ambiguous"];

    /// Refuses a label that cannot be told from another class.
    pub(crate) fn check_label(label: &str) -> Result<()> {
        if Self::OTHERS.contains(&label) {
            bail!("{label} is the name of a class that `classify` has anyway; give the label another name");
        }
        Ok(())
    }

    /// Returns the class with this number among those of so many labels: the labels, both, neither, ambiguous.
    pub(crate) fn number(self, labels: usize) -> usize {
        match self {
            Self::Label(label) => label,
            Self::Both => labels,
            Self::Neither => labels + 1,
            Self::Ambiguous => labels + 2,
        }
    }

    /// Returns the names of all classes, by their numbers.
    pub(crate) fn names(labels: &[String]) -> Vec<String> {
        let both = if labels.len() > 2 { "several" } else { "both" };
        labels.iter().cloned().chain([both, "neither", "ambiguous"].map(str::to_owned)).collect()
    }
}

impl Counts {
    pub(crate) fn new(labels: usize) -> Self {
        Self { only: vec![0; labels], shared: 0, none: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.only.fill(0);
        (self.shared, self.none) = (0, 0);
    }

    /// Counts a word with this set of labels.
    #[inline]
    pub(crate) fn add(&mut self, set: u16) {
        match set.count_ones() {
            0 => self.none += 1,
            1 => self.only[set.trailing_zeros() as usize] += 1,
            _ => self.shared += 1,
        }
    }

    /// Returns the class. docs/READS.md has the same rules in words.
    pub(crate) fn class(&self) -> Class {
        let (label, top) =
            self.only.iter().copied().enumerate().rev().max_by_key(|(_, count)| *count).unwrap_or((0, 0));
        let others = self.only.iter().sum::<u64>() - top;
        let words = top + others + self.shared + self.none;
        if words == 0 {
            return Class::Ambiguous;
        }
        let little = (words / 20).max(1);
        let much = (words / 4).max(3);
        let shared = self.shared >= (words / 5).max(3);
        let neither = self.none >= (3 * words / 4 + 1).max(3);
        match others {
            0 if top >= 3 => Class::Label(label),
            0 if shared => Class::Both,
            0 if neither => Class::Neither,
            _ if top >= much && others <= little => Class::Label(label),
            _ if shared && top <= little && others <= little => Class::Both,
            _ if neither => Class::Neither,
            _ => Class::Ambiguous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(only: &[u64], shared: u64, none: u64) -> Class {
        Counts { only: only.to_vec(), shared, none }.class()
    }

    /// The rules of xengsort for a host and a graft, without weak k-mers, in its own order.
    fn of_two(host: u64, graft: u64, both: u64, none: u64) -> Class {
        let words = host + graft + both + none;
        let (little, much) = ((words / 20).max(1), (words / 4).max(3));
        let (most_both, most_none) = ((words / 5).max(3), (3 * words / 4 + 1).max(3));
        let (of_host, of_graft) = (Class::Label(0), Class::Label(1));
        if words == 0 {
            return Class::Ambiguous;
        }
        for (this, that, class) in [(host, graft, of_graft), (graft, host, of_host)] {
            if this == 0 {
                if that >= 3 {
                    return class;
                }
                if both >= most_both {
                    return Class::Both;
                }
                if none >= most_none {
                    return Class::Neither;
                }
                break;
            }
        }
        if graft >= much && host <= little {
            return of_graft;
        }
        if host >= much && graft <= little {
            return of_host;
        }
        if both >= most_both && graft <= little && host <= little {
            return Class::Both;
        }
        if none >= most_none { Class::Neither } else { Class::Ambiguous }
    }

    #[test]
    fn two_labels_have_the_rules_of_xengsort() {
        for host in 0..=24 {
            for graft in 0..=24 {
                for both in (0..=24).step_by(3) {
                    for none in (0..=90).step_by(5) {
                        let counts = (host, graft, both, none);
                        assert_eq!(
                            class(&[host, graft], both, none),
                            of_two(host, graft, both, none),
                            "{counts:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn more_labels_are_one_against_all_others() {
        assert_eq!(class(&[0, 90, 0], 10, 20), Class::Label(1));
        assert_eq!(class(&[2, 90, 2], 10, 20), Class::Label(1), "a little of others");
        assert_eq!(class(&[9, 90, 0], 10, 20), Class::Ambiguous);
        assert_eq!(class(&[50, 50, 0], 0, 0), Class::Ambiguous);
        assert_eq!(class(&[1, 1, 1], 90, 0), Class::Both);
        assert_eq!(class(&[0, 0, 0], 0, 90), Class::Neither);
        assert_eq!(class(&[0, 0, 0], 0, 0), Class::Ambiguous);
        assert_eq!(class(&[100], 0, 20), Class::Label(0));
    }
}
