//! Filters with values: a small number stored beside every key.

use super::Filter;
use crate::engine::Again;
use crate::error::{Error, Full};
use crate::key::{Key, KeyHash};
use crate::values::Values;

/// # Values
///
/// A filter that was planned with [`Spec::values`](crate::Spec::values) stores a number of 1 to 16 bits
/// beside every key. A stored copy is then a key *with* a value: [`insert`](Self::insert) stores one with
/// value 0, and [`remove`](Self::remove) removes one with value 0 and no other. [`contains`](Self::contains),
/// [`count`](Self::count) and [`insert_unique`](Self::insert_unique) look at keys whatever their values.
///
/// The hazards of removal are those of keys: removing or updating a key with a value that it was not stored
/// with may take or change what belongs to another key that looks the same and has that value.
impl Filter {
    /// Stores one copy of a key with a value. If there is no room, or the value is wider than planned, the
    /// filter stays as it was, bit for bit.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let mut shelves = Spec::new(1000, 1e-6).values(10).build()?;
    /// shelves.insert_with("malkoha", 712)?;
    /// assert_eq!(*shelves.get("malkoha")?, [712]);
    /// assert!(shelves.update("malkoha", 712, 713)?);
    /// assert!(!shelves.remove("malkoha")?, "there is none with value 0");
    /// assert!(shelves.remove_with("malkoha", 713)?);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[inline]
    pub fn insert_with<K: Key + ?Sized>(&mut self, key: &K, value: u16) -> Result<(), Error> {
        self.engine.insert_with(key.hash(&self.hasher), value)
    }

    /// The values of all stored copies that look like this key, ascending. Those that were stored with the
    /// key are always among them. Another one comes along with about the rate's probability, and for a key
    /// that is not stored there is one with the rate's probability and none otherwise.
    #[inline]
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Values, Error> {
        self.engine.get(key.hash(&self.hasher))
    }

    /// Gives one copy of a key that is stored with the value `old` the value `new`; `false` if there is none,
    /// and then nothing has changed. Needs no room.
    #[inline]
    pub fn update<K: Key + ?Sized>(&mut self, key: &K, old: u16, new: u16) -> Result<bool, Error> {
        self.engine.update(key.hash(&self.hasher), old, new)
    }

    /// Removes one copy of a key that is stored with this value; `false` if there is none, and then nothing
    /// has changed.
    #[inline]
    pub fn remove_with<K: Key + ?Sized>(&mut self, key: &K, value: u16) -> Result<bool, Error> {
        self.engine.remove_with(key.hash(&self.hasher), value)
    }

    /// Stores every key of a slice with its value, in order, and stops at the first for which there is no
    /// room. If a value is wider than planned, nothing is stored.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn insert_slice_with<K: Key>(&mut self, keys: &[K], values: &[u16]) -> Result<(), Error> {
        self.check_values(keys, values)?;
        let mut done = self.insert_sorted((keys, values));
        self.each_mut(&keys[done..], |engine, hash| {
            engine.insert_with(hash, values[done]).map_err(|error| at(error, done))?;
            done += 1;
            Ok(())
        })
    }

    /// The candidate values of every key of a slice, in order.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(1000, 1e-6).values(3).build()?;
    /// filter.insert_slice_with(&["a", "b"], &[1, 2])?;
    /// let values = filter.get_slice(&["b", "c", "a"])?;
    /// assert_eq!((&*values[0], &*values[1], &*values[2]), (&[2][..], &[][..], &[1][..]));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn get_slice<K: Key>(&self, keys: &[K]) -> Result<Vec<Values>, Error> {
        let mut answers = Vec::with_capacity(keys.len());
        let mut hashes = [KeyHash::from_raw(0); 32];
        for keys in keys.chunks(hashes.len()) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = key.hash(&self.hasher);
                self.engine.prefetch(*hash);
            }
            for hash in &hashes[..keys.len()] {
                answers.push(self.engine.get(*hash)?);
            }
        }
        Ok(answers)
    }

    /// Removes one copy of every key of a slice with its value; returns how many were there.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn remove_slice_with<K: Key>(&mut self, keys: &[K], values: &[u16]) -> Result<usize, Error> {
        self.check_values(keys, values)?;
        let mut values = values.iter();
        let mut removed = 0;
        self.each_mut(keys, |engine, hash| {
            let value = *values.next().expect("as many values as keys");
            removed += usize::from(engine.remove_with(hash, value)?);
            Ok(())
        })?;
        Ok(removed)
    }

    /// Stores every key of a slice with its value, all or none, in the order that suits the memory, on so
    /// many threads: [`extend`](Self::extend) for filters with values.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).values(4).build()?;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// let values: Vec<u16> = keys.iter().map(|key| (key % 16) as u16).collect();
    /// filter.extend_with(&keys, &values, 2)?;
    /// assert!(filter.get(&77u64)?.contains(&13));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend_with<K: Key + Sync>(
        &mut self,
        keys: &[K],
        values: &[u16],
        threads: usize,
    ) -> Result<(), Error> {
        self.check_values(keys, values)?;
        let stored = self.all_or_nothing(|filter| filter.store_many((keys, values), Again::Store, threads));
        stored.map_err(|Full| Error::Full { done: 0 })
    }

    /// Refuses values that are too wide, before anything is stored.
    fn check_values<K>(&self, keys: &[K], values: &[u16]) -> Result<(), Error> {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        match self.geometry.value_bits() {
            0 => Err(Error::NoValues),
            bits => match values.iter().find(|value| u32::from(**value) >> bits != 0) {
                Some(&got) => Err(Error::Value { got, bits }),
                None => Ok(()),
            },
        }
    }
}

/// The same error, of the key at an index.
fn at(error: Error, done: usize) -> Error {
    match error {
        Error::Full { .. } => Error::Full { done },
        other => other,
    }
}
