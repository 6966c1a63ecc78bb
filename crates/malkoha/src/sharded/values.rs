//! Sharded filters with values.

use super::Sharded;
use crate::engine::{Inserted, Values};
use crate::error::Error;
use crate::key::Key;

/// Values, for filters planned with [`Spec::values`](crate::Spec::values): as for a
/// [`Filter`](crate::Filter), from many threads at once.
impl Sharded {
    /// Stores one copy of a key with a value. If there is no room in its shard, or the value is wider than
    /// planned, the filter stays as it was, bit for bit.
    ///
    /// ```
    /// use malkoha::Spec;
    /// let filter = Spec::new(1000, 1e-6).values(4).sharded(4).build()?;
    /// filter.insert_value("egg", 9)?;
    /// assert_eq!(*filter.get("egg")?, [9]);
    /// assert!(filter.update_value("egg", 9, 8)? && filter.remove_value("egg", 8)?);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn insert_value<K: Key + ?Sized>(&self, key: &K, value: u16) -> Result<(), Error> {
        let (shard, hash) = self.locate(key);
        self.shards.valued()?.write(shard).insert_value(&hash, value)
    }

    /// Returns the values of all stored copies that look like this key, ascending; those stored with the key
    /// are among them.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Values, Error> {
        let (shard, hash) = self.locate(key);
        self.shards.valued()?.read(shard).get(&hash)
    }

    /// Stores a key with a value or, if the filter already reports the key as present, adds the bits of the value to
    /// those that are stored with it: as [`Filter::or_value`](crate::Filter::or_value).
    pub fn or_value<K: Key + ?Sized>(&self, key: &K, value: u16) -> Result<Inserted, Error> {
        let (shard, hash) = self.locate(key);
        self.shards.valued()?.write(shard).or_value(&hash, value)
    }

    /// Returns the bits of the values of all stored copies that look like this key, together.
    pub fn union<K: Key + ?Sized>(&self, key: &K) -> Result<u16, Error> {
        let (shard, hash) = self.locate(key);
        self.shards.valued()?.read(shard).union(&hash)
    }

    /// Changes the value of one stored copy of a key from `old` to `new`. Returns `false`, and changes
    /// nothing, if there is none.
    pub fn update_value<K: Key + ?Sized>(&self, key: &K, old: u16, new: u16) -> Result<bool, Error> {
        let (shard, hash) = self.locate(key);
        self.shards.valued()?.write(shard).update_value(&hash, old, new)
    }

    /// Removes one copy of a key that is stored with this value. Returns `false`, and changes nothing, if
    /// there is none.
    pub fn remove_value<K: Key + ?Sized>(&self, key: &K, value: u16) -> Result<bool, Error> {
        let (shard, hash) = self.locate(key);
        self.shards.valued()?.write(shard).remove_value(&hash, value)
    }
}
