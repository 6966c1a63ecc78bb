//! Filters with values: a small number stored beside every key.

use core::convert::Infallible;

use super::{Body, Filter};
use crate::engine::rows::Keys;
use crate::engine::{Again, CuckooEngine, Inserted, Many, Values, for_each_ahead};
use crate::error::{Error, Full, Refused};
use crate::key::Key;

/// # Values
///
/// A filter that was planned with [`Spec::values`](crate::Spec::values) stores a number of 1 to 16 bits
/// beside every key. A stored copy is then a key *with* a value: [`insert`](Self::insert) stores one with
/// value 0, and [`remove`](Self::remove) removes one with value 0 and no other. [`contains`](Self::contains),
/// [`count`](Self::count) and [`insert_unique`](Self::insert_unique) ignore values.
///
/// The hazards of removal apply here too: removing or updating a key with a value that it was not stored with
/// may remove or change the copy of another key that looks the same and has that value.
impl Filter {
    /// Stores one copy of a key with a value. If there is no room, or the value is wider than planned, the
    /// filter stays as it was, bit for bit.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let mut shelves = Spec::new(1000, 1e-6).values(10).build()?;
    /// shelves.insert_value("malkoha", 712)?;
    /// assert_eq!(*shelves.get("malkoha")?, [712]);
    /// assert!(shelves.update_value("malkoha", 712, 713)?);
    /// assert!(!shelves.remove("malkoha")?, "there is none with value 0");
    /// assert!(shelves.remove_value("malkoha", 713)?);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[inline]
    pub fn insert_value<K: Key + ?Sized>(&mut self, key: &K, value: u16) -> Result<(), Error> {
        let hash = key.key_hash(&self.hasher);
        Ok(self.valued_mut(&[value])?.insert_value(hash, value)?)
    }

    /// Returns the values of all stored copies that look like this key, ascending. Those stored with the key
    /// are always among them; another one appears with about the rate's probability. For a key that is not
    /// stored there is one with the rate's probability, and none otherwise.
    #[inline]
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Values, Error> {
        Ok(self.valued()?.values(key.key_hash(&self.hasher)))
    }

    /// Stores a key with a value or, if the filter already reports the key as present, adds the bits of the value to
    /// those that are stored with it: values as sets of up to 16 labels. If there is no room, or the value is wider
    /// than planned, the filter stays as it was, bit for bit.
    ///
    /// No bit is lost: [`union`](Self::union) has every bit that was ever given for a key. With about the rate's
    /// probability it also has those of another key that looks the same, because both then share one copy. So such a
    /// key must not be removed.
    ///
    /// ```
    /// use malkoha::{Inserted, Spec};
    /// let mut origins = Spec::new(1000, 1e-6).values(2).build()?;
    /// let (host, graft) = (0b01, 0b10);
    /// assert_eq!(origins.or_value("GATTACA", host)?, Inserted::Stored);
    /// assert_eq!(origins.or_value("GATTACA", graft)?, Inserted::Seen);
    /// assert_eq!(origins.union("GATTACA")?, host | graft);
    /// assert_eq!((origins.len(), origins.union("CATTAG")?), (1, 0));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    #[inline]
    pub fn or_value<K: Key + ?Sized>(&mut self, key: &K, value: u16) -> Result<Inserted, Error> {
        let hash = key.key_hash(&self.hasher);
        Ok(self.valued_mut(&[value])?.or_value(hash, value)?)
    }

    /// Returns the bits of the values of all stored copies that look like this key, together. 0 if there is none, or if
    /// all of them are 0.
    pub fn union<K: Key + ?Sized>(&self, key: &K) -> Result<u16, Error> {
        let mut union = [0];
        self.valued()?.unions(Keys::Hashes(&[key.key_hash(&self.hasher)]), &mut union);
        Ok(union[0])
    }

    /// Does what [`union`](Self::union) does for every key of a slice; writes the answers to a slice of equal length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn union_slice_into<K: Key>(&self, keys: &[K], unions: &mut [u16]) -> Result<(), Error> {
        assert_eq!(keys.len(), unions.len(), "as many answers as keys");
        let (engine, mut done) = (self.valued()?, 0);
        if let Some(numbers) = K::as_numbers(keys) {
            engine.unions(Keys::Numbers(numbers, &self.hasher), unions);
            return Ok(());
        }
        let all: Result<(), Infallible> = Many::own((keys, &[]), &self.hasher, |keys| {
            keys.each_chunk(|hashes, _| {
                engine.unions(Keys::Hashes(hashes), &mut unions[done..done + hashes.len()]);
                done += hashes.len();
                Ok(())
            })
        });
        let Ok(()) = all;
        Ok(())
    }

    /// Does what [`or_value`](Self::or_value) does for every key of a slice, in whatever order suits the memory, on
    /// `threads` threads; returns how many keys were stored. If one of them finds no place, those already stored
    /// stay. The content depends on the keys, the values and their order, not on the number of threads.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).values(2).build()?;
    /// let keys: Vec<u64> = (0..150_000).map(|key| key % 100_000).collect();
    /// let values: Vec<u16> = (0..150_000).map(|at| if at < 100_000 { 1 } else { 2 }).collect();
    /// assert!(filter.or_values(&keys, &values, 2)? <= 100_000, "every key once");
    /// assert_eq!(filter.union(&77u64)?, 3);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn or_values<K: Key + Sync>(
        &mut self,
        keys: &[K],
        values: &[u16],
        threads: usize,
    ) -> Result<u64, Error> {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        self.valued_mut(values)?;
        let before = self.len();
        self.insert_many((keys, values), Again::Unite, threads)?;
        Ok(self.len() - before)
    }

    /// Changes the value of one stored copy of a key from `old` to `new`. Returns `false`, and changes
    /// nothing, if there is none. Needs no room.
    #[inline]
    pub fn update_value<K: Key + ?Sized>(&mut self, key: &K, old: u16, new: u16) -> Result<bool, Error> {
        let hash = key.key_hash(&self.hasher);
        Ok(self.valued_mut(&[old, new])?.update_value(hash, old, new))
    }

    /// Removes one copy of a key that is stored with this value. Returns `false`, and changes nothing, if
    /// there is none.
    #[inline]
    pub fn remove_value<K: Key + ?Sized>(&mut self, key: &K, value: u16) -> Result<bool, Error> {
        let hash = key.key_hash(&self.hasher);
        Ok(self.valued_mut(&[value])?.remove_value(hash, value))
    }

    /// Stores every key of a slice with its value, in order, and stops at the first key without room. If a
    /// value is wider than planned, nothing is stored.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn insert_values<K: Key>(&mut self, keys: &[K], values: &[u16]) -> Result<(), Error> {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        self.valued_mut(values)?;
        let hasher = self.hasher;
        Many::own((keys, values), &hasher, |keys| {
            let (count, mut done) = (keys.len(), self.insert_first(keys));
            let engine = self.valued_mut(&[])?;
            keys.part(done..keys.len()).each_chunk(|hashes, values| {
                for_each_ahead(engine, hashes, values, |engine, hash, value| {
                    engine.insert_value(hash, value).map_err(|Full| Refused::all(done..count))?;
                    done += 1;
                    Ok(())
                })
            })
        })
    }

    /// Returns the candidate values of every key of a slice, in order.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(1000, 1e-6).values(3).build()?;
    /// filter.insert_values(&["a", "b"], &[1, 2])?;
    /// let values = filter.get_slice(&["b", "c", "a"])?;
    /// assert_eq!((&*values[0], &*values[1], &*values[2]), (&[2][..], &[][..], &[1][..]));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn get_slice<K: Key>(&self, keys: &[K]) -> Result<Vec<Values>, Error> {
        let engine = self.valued()?;
        let mut answers = Vec::with_capacity(keys.len());
        let done: Result<(), Infallible> = Many::own((keys, &[]), &self.hasher, |keys| {
            keys.each_chunk(|hashes, _| {
                for hashes in hashes.chunks(32) {
                    for hash in hashes {
                        engine.prefetch(*hash);
                    }
                    answers.extend(hashes.iter().map(|hash| engine.values(*hash)));
                }
                Ok(())
            })
        });
        let Ok(()) = done;
        Ok(answers)
    }

    /// Removes one copy of every key of a slice with its value; returns how many there were.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn remove_values<K: Key>(&mut self, keys: &[K], values: &[u16]) -> Result<usize, Error> {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        let (mut removed, hasher) = (0, self.hasher);
        let engine = self.valued_mut(values)?;
        let done: Result<(), Infallible> = Many::own((keys, values), &hasher, |keys| {
            keys.each_chunk(|hashes, values| {
                for_each_ahead(engine, hashes, values, |engine, hash, value| {
                    removed += usize::from(engine.remove_value(hash, value));
                    Ok(())
                })
            })
        });
        let Ok(()) = done;
        Ok(removed)
    }

    /// Stores every key of a slice with its value, all or none, in the order that suits the memory, on
    /// `threads` threads: [`extend`](Self::extend) for filters with values.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// ```
    /// let mut filter = malkoha::Spec::new(100_000, 0.001).values(4).build()?;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// let values: Vec<u16> = keys.iter().map(|key| (key % 16) as u16).collect();
    /// filter.extend_values(&keys, &values, 2)?;
    /// assert!(filter.get(&77u64)?.contains(&13));
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn extend_values<K: Key + Sync>(
        &mut self,
        keys: &[K],
        values: &[u16],
        threads: usize,
    ) -> Result<(), Error> {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        self.valued_mut(values)?;
        Ok(self.all_or_nothing(|filter| filter.insert_many((keys, values), Again::Store, threads))?)
    }

    /// The engine, if it has values.
    #[inline]
    fn valued(&self) -> Result<&dyn CuckooEngine, Error> {
        match &self.body {
            Body::Cuckoo(engine) if self.geometry.value_bits() > 0 => Ok(&**engine),
            _ => Err(Error::NoValues),
        }
    }

    /// The engine, if it has values and they are wide enough for these.
    #[inline]
    fn valued_mut(&mut self, values: &[u16]) -> Result<&mut dyn CuckooEngine, Error> {
        let bits = self.geometry.value_bits();
        match &mut self.body {
            Body::Cuckoo(engine) if bits > 0 => {
                match values.iter().find(|value| u32::from(**value) >> bits != 0) {
                    None => Ok(&mut **engine),
                    Some(&got) => Err(Error::Value { got, bits }),
                }
            }
            _ => Err(Error::NoValues),
        }
    }
}
