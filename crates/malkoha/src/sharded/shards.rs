//! The shards of a filter, by family.

use core::ops::{Deref, DerefMut};
use std::sync::RwLockReadGuard;

use super::bits::Bits;
use super::tags::Tags;
use crate::engine::rows::Keys;
use crate::error::Error;
use crate::filter::Filter;
use crate::key::KeyHash;
use crate::kind::Kind;

/// All shards of a filter.
pub(super) enum Shards {
    Tags(Tags),
    Bits(Bits),
}

impl Shards {
    /// Makes shards of filters of equal geometry.
    pub(super) fn new(filters: Vec<Filter>) -> Self {
        Bits::new(filters).map_or_else(|filters| Self::Tags(Tags::new(filters)), Self::Bits)
    }

    fn into_filters(self) -> Vec<Filter> {
        match self {
            Self::Tags(tags) => tags.into_filters(),
            Self::Bits(bits) => bits.into_filters(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Tags(tags) => tags.len(),
            Self::Bits(bits) => bits.len(),
        }
    }

    /// The shards of a cuckoo kind; others do not support the operation.
    pub(super) fn tags(&self, kind: Kind, operation: &'static str) -> Result<&Tags, Error> {
        match self {
            Self::Tags(tags) => Ok(tags),
            Self::Bits(_) => Err(Error::Unsupported { kind, operation }),
        }
    }

    /// The shards of a filter that may have values.
    pub(super) fn valued(&self) -> Result<&Tags, Error> {
        match self {
            Self::Tags(tags) => Ok(tags),
            Self::Bits(_) => Err(Error::NoValues),
        }
    }

    #[inline]
    pub(super) fn contains(&self, hash: KeyHash) -> bool {
        match self {
            Self::Tags(tags) => tags.contains(hash),
            Self::Bits(bits) => bits.contains(hash),
        }
    }

    pub(super) fn contains_keys(&self, keys: Keys, answers: &mut [bool]) {
        match self {
            Self::Tags(tags) => tags.contains_keys(keys, answers),
            Self::Bits(bits) => bits.contains_keys(keys, answers),
        }
    }

    /// The number of copies in a shard.
    pub(super) fn copies(&self, shard: usize) -> u64 {
        match self {
            Self::Tags(tags) => tags.read(shard).len(),
            Self::Bits(bits) => bits.added(shard),
        }
    }

    /// Bytes of memory that shards which grow have at hand.
    pub(super) fn spare_bytes(&self) -> u64 {
        match self {
            Self::Tags(tags) => tags.spare_bytes(),
            Self::Bits(_) => 0,
        }
    }

    /// Empties a shard.
    pub(super) fn clear(&self, shard: usize) {
        match self {
            Self::Tags(tags) => tags.write(shard).clear(),
            Self::Bits(bits) => bits.clear(shard),
        }
    }

    /// The filter of a shard as it is at one moment.
    pub(super) fn show(&self, shard: usize) -> Shown<'_> {
        match self {
            Self::Tags(tags) => Shown::Locked(tags.read(shard)),
            Self::Bits(bits) => Shown::Copied(Box::new(bits.copy(shard))),
        }
    }

    /// All filters, for a thread that has them to itself.
    pub(super) fn exclusive(&mut self) -> Exclusive<'_> {
        if let Self::Tags(tags) = self {
            tags.check();
        }
        let filters = core::mem::replace(self, Self::Tags(Tags::new(Vec::new()))).into_filters();
        Exclusive { shards: self, filters }
    }
}

/// The filter of a shard as it is at one moment: kept so by a lock, or copied.
pub(crate) enum Shown<'a> {
    Locked(RwLockReadGuard<'a, Filter>),
    Copied(Box<Filter>),
}

impl Deref for Shown<'_> {
    type Target = Filter;

    fn deref(&self) -> &Filter {
        match self {
            Self::Locked(filter) => filter,
            Self::Copied(filter) => filter,
        }
    }
}

/// All filters, for a thread that has them to itself. They become shards again when this is dropped.
pub(super) struct Exclusive<'a> {
    shards: &'a mut Shards,
    filters: Vec<Filter>,
}

impl Deref for Exclusive<'_> {
    type Target = [Filter];

    fn deref(&self) -> &[Filter] {
        &self.filters
    }
}

impl DerefMut for Exclusive<'_> {
    fn deref_mut(&mut self) -> &mut [Filter] {
        &mut self.filters
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        *self.shards = Shards::new(core::mem::take(&mut self.filters));
    }
}
