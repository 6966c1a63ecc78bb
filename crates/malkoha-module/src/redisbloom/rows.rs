//! Many items at once, in rows: all items of a row are hashed before the first table is read. Then what one item needs
//! of a table does not wait for another, and the processor fetches the memory of many of them at the same time.

/// The most items of a row.
pub(super) const ROW: usize = 64;

/// Hashes items, and hands them on in rows.
pub(super) fn in_rows<'a, H: Copy + Default>(
    mut items: impl ExactSizeIterator<Item = &'a [u8]>,
    hash: impl Fn(&'a [u8]) -> H,
    mut work: impl FnMut(&[H]),
) {
    if items.len() == 1 {
        // A row for one item would take longer than the item.
        return items.for_each(|item| work(&[hash(item)]));
    }
    let mut row = [H::default(); ROW];
    while items.len() > 0 {
        let row = &mut row[..items.len().min(ROW)];
        for (hashed, item) in row.iter_mut().zip(items.by_ref()) {
            *hashed = hash(item);
        }
        work(row);
    }
}

/// Positions in a row, in order. Which of them stay cannot be predicted, so nothing here branches on it.
#[derive(Clone)]
pub(super) struct Positions {
    list: [u8; ROW],
    len: usize,
}

impl Positions {
    /// The first `len` positions.
    pub(super) fn first(len: usize) -> Self {
        assert!(len <= ROW, "a row has at most {ROW} items");
        let mut list = [0; ROW];
        (0..).zip(&mut list).for_each(|(position, slot)| *slot = position);
        Self { list, len }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.list[..self.len].iter().map(|position| usize::from(*position))
    }

    /// Keeps those positions of which `keep` says so.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let mut kept = 0;
        for at in 0..self.len {
            let position = self.list[at];
            self.list[kept] = position;
            kept += usize::from(keep(position.into()));
        }
        self.len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_in_one_row() {
        for count in [0, 1, ROW - 1, ROW, ROW + 1, 3 * ROW + 5] {
            let items = vec![b"xx".as_slice(); count];
            let mut rows = Vec::new();
            in_rows(items.iter().copied(), <[u8]>::len, |row| rows.push(row.to_vec()));
            assert_eq!(rows.concat(), vec![2; count]);
            assert!(rows.iter().rev().skip(1).all(|row| row.len() == ROW));
        }
    }

    #[test]
    fn positions_stay_in_order() {
        let mut positions = Positions::first(10);
        positions.retain(|position| position % 3 != 0);
        assert_eq!(positions.iter().collect::<Vec<_>>(), [1, 2, 4, 5, 7, 8]);
        positions.retain(|position| position > 5);
        assert_eq!(positions.iter().collect::<Vec<_>>(), [7, 8]);
        positions.retain(|_| false);
        assert!(positions.is_empty() && Positions::first(0).is_empty());
        assert_eq!(Positions::first(ROW).iter().count(), ROW);
    }
}
