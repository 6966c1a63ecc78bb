//! Filters of the engine: any rate, any capacity; they grow, merge, forget and carry values.

use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use malkoha::{Error, Filter, Full, Generations, Inserted, KeyFormat, KeyHash, KeyHasher, Stats};

use super::pieces::Pieces;
use super::{items, transfer};
use crate::metrics::{self, Counted};
use crate::server::{Refusal, memory};

/// A filter of the engine that a key holds.
pub struct EngineValue {
    body: Body,
    /// The memory of the body, as the server's allocator counts it.
    allocated: isize,
    /// The second in which the window was last told the time by a command of this server.
    told: u64,
    /// How often it may have changed.
    changes: u64,
    export: Mutex<Option<Export>>,
    _counted: Counted,
}

/// The bytes that are being exported, as they were when the export began.
struct Export {
    bytes: Vec<u8>,
    /// Tells it from others.
    snapshot: u8,
    /// The changes of the filter until then.
    changes: u64,
    /// How many have begun to read it, and have not read the last chunk.
    readers: usize,
}

/// A chunk of an export.
pub struct Exported {
    /// The bytes of the chunk.
    pub bytes: Vec<u8>,
    /// The number of bytes of all.
    pub total: u64,
    /// Which export it is of.
    pub snapshot: u8,
}

/// What a value is.
pub enum Body {
    /// A filter.
    Filter(Filter),
    /// A sliding window.
    Window(Generations),
    /// The first bytes of a filter that is being imported.
    Partial(Partial),
}

/// The first bytes of a filter that is being imported.
pub struct Partial {
    /// What has come so far.
    pub bytes: Pieces,
    /// How many bytes there will be; 0 if the last chunk will be marked instead.
    pub total: u64,
}

/// A filter that is only partly there answers nothing.
const PARTIAL: Refusal = Refusal::of("ERR the filter is still being imported");
/// What sliding windows cannot do.
const WINDOW: Refusal = Refusal::of("ERR a sliding window forgets by itself; it cannot do this");

impl EngineValue {
    /// A value with the body that `make` makes.
    pub fn made<E>(make: impl FnOnce() -> Result<Body, E>) -> Result<Self, E> {
        let (body, allocated) = memory::measured(make);
        let (export, counted) = (Mutex::new(None), Counted::new(&metrics::ENGINE));
        Ok(Self { body: body?, allocated, told: 0, changes: 0, export, _counted: counted })
    }

    /// The first bytes of a filter that is being imported.
    #[must_use]
    pub fn partial(bytes: Pieces, total: u64) -> Self {
        let allocated = bytes.memory().cast_signed();
        let (export, counted) = (Mutex::new(None), Counted::new(&metrics::ENGINE));
        Self {
            body: Body::Partial(Partial { bytes, total }),
            allocated,
            told: 0,
            changes: 0,
            export,
            _counted: counted,
        }
    }

    /// The value with the time that another was told.
    pub(super) fn told_like(self, other: &Self) -> Self {
        Self { told: other.told, ..self }
    }

    /// What it is.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Changes it. `work` should return nothing that it has allocated: that would be counted as memory of the value.
    fn change<R>(&mut self, work: impl FnOnce(&mut Body) -> R) -> R {
        let (result, difference) = memory::measured(|| work(&mut self.body));
        self.allocated += difference;
        self.changes += 1;
        result
    }

    /// All its memory, as the server counts it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let export = self.exported().as_ref().map_or(0, |export| memory::allocated_vec(&export.bytes));
        usize::try_from(self.allocated).unwrap_or(0) + export
    }

    /// The filter, unless it is something else.
    pub fn filter(&self) -> Result<&Filter, Refusal> {
        match &self.body {
            Body::Filter(filter) => Ok(filter),
            Body::Window(_) => Err(WINDOW),
            Body::Partial(_) => Err(PARTIAL),
        }
    }

    /// Changes the filter, unless it is something else, as `change` does.
    pub fn change_filter<R>(&mut self, work: impl FnOnce(&mut Filter) -> R) -> Result<R, Refusal> {
        self.change(|body| match body {
            Body::Filter(filter) => Ok(work(filter)),
            Body::Window(_) => Err(WINDOW),
            Body::Partial(_) => Err(PARTIAL),
        })
    }

    fn hashing(&self) -> Result<(&KeyHasher, KeyFormat), Refusal> {
        match &self.body {
            Body::Filter(filter) => Ok((filter.hasher(), filter.geometry().key_format())),
            Body::Window(window) => Ok((window.hasher(), window.key_format())),
            Body::Partial(_) => Err(PARTIAL),
        }
    }

    /// The hash of one item.
    pub fn hash(&self, item: &[u8]) -> Result<KeyHash, Refusal> {
        let (hasher, format) = self.hashing()?;
        items::hash(hasher, format, item)
    }

    /// The hashes of items.
    pub fn hashes<'a>(&self, all: impl Iterator<Item = &'a [u8]>) -> Result<Vec<KeyHash>, Refusal> {
        let (hasher, format) = self.hashing()?;
        all.map(|item| items::hash(hasher, format, item)).collect()
    }

    /// Stores keys, all of them or only those that are not found.
    pub fn insert(&mut self, keys: &[KeyHash], which: Which) -> Result<Vec<Outcome>, Refusal> {
        // Made out here: what is allocated while the body changes is counted as its memory.
        let mut outcomes = vec![Ok(Inserted::Stored); keys.len()];
        self.change(|body| {
            match (body, which) {
                (Body::Filter(filter), Which::All) => insert_all(filter, keys, &mut outcomes),
                (Body::Filter(filter), Which::New) => insert_new(filter, keys, &mut outcomes),
                (Body::Window(window), Which::All) => {
                    each(keys, &mut outcomes, |key| window.insert(key).map(|()| Inserted::Stored));
                }
                (Body::Window(window), Which::New) => {
                    each(keys, &mut outcomes, |key| window.insert_unique(key));
                }
                (Body::Partial(_), _) => return Err(PARTIAL),
            }
            Ok(())
        })?;
        Ok(outcomes)
    }

    /// Whether each of these keys may be there.
    pub fn contains(&self, keys: &[KeyHash]) -> Result<Vec<bool>, Refusal> {
        match &self.body {
            Body::Filter(filter) if keys.len() == 1 => Ok(vec![filter.contains(&keys[0])]),
            Body::Filter(filter) => Ok(filter.contains_slice(keys)),
            Body::Window(window) => Ok(window.contains_slice(keys)),
            Body::Partial(_) => Err(PARTIAL),
        }
    }

    /// Tells a window of seconds the time. Returns whether it may have changed.
    pub fn advance(&mut self, second: u64) -> bool {
        if second <= self.told {
            return false;
        }
        self.told = second;
        self.change(|body| match body {
            Body::Window(window) if window.ticks().is_some() => {
                window.advance(second);
                true
            }
            _ => false,
        })
    }

    /// The bytes that are read to tell facts: those of Bloom filters, whose bits are counted.
    #[must_use]
    pub fn bytes_of_stats(&self) -> usize {
        let counted = |filter: &Filter| filter.geometry().kind().is_bloom();
        let all = match &self.body {
            Body::Filter(filter) => counted(filter),
            Body::Window(window) => window.generations().any(counted),
            Body::Partial(_) => false,
        };
        if all { self.bytes() } else { 0 }
    }

    /// Facts of this moment.
    pub fn stats(&self) -> Result<Stats, Refusal> {
        match &self.body {
            Body::Filter(filter) => Ok(filter.stats()),
            Body::Window(window) => Ok(window.stats()),
            Body::Partial(_) => Err(PARTIAL),
        }
    }

    /// Bytes as docs/FORMAT.md has them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Refusal> {
        match &self.body {
            Body::Filter(filter) => Ok(filter.to_bytes()?),
            Body::Window(window) => Ok(window.to_bytes()?),
            Body::Partial(_) => Err(PARTIAL),
        }
    }

    /// Takes part in an export of the filter as it is now, if there is one.
    pub fn join_export(&self) -> bool {
        let mut export = self.exported();
        let current = export.as_mut().filter(|export| export.changes == self.changes);
        current.map(|export| export.readers += 1).is_some()
    }

    /// Keeps bytes that were just written down, for the chunks of an export.
    pub fn begin_export(&self, bytes: Vec<u8>) {
        static SNAPSHOT: AtomicU8 = AtomicU8::new(0);
        let snapshot = SNAPSHOT.fetch_add(1, Ordering::Relaxed);
        *self.exported() = Some(Export { bytes, snapshot, changes: self.changes, readers: 1 });
    }

    /// The chunk of the export that begins at byte `offset`: of the filter as it was when the export began. `None` if
    /// the offset is no begin of a chunk of it, or if it is not the export that is asked for.
    pub fn export(&self, offset: u64, snapshot: Option<u8>) -> Option<Exported> {
        let mut exported = self.exported();
        let export =
            exported.as_mut().filter(|export| snapshot.is_none_or(|number| number == export.snapshot))?;
        let (total, snapshot) = (export.bytes.len() as u64, export.snapshot);
        let rest = usize::try_from(offset).ok().and_then(|offset| export.bytes.get(offset..))?;
        if rest.is_empty() {
            return None;
        }
        let bytes = rest[..rest.len().min(transfer::CHUNK_BYTES)].to_vec();
        if bytes.len() == rest.len() {
            export.readers -= 1;
            if export.readers == 0 {
                *exported = None;
            }
        }
        Some(Exported { bytes, total, snapshot })
    }

    fn exported(&self) -> MutexGuard<'_, Option<Export>> {
        // Nothing panics while it is locked, and nobody waits for it: commands run one at a time.
        self.export.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that have been imported so far, if the next ones begin at byte `begin` of so many in all.
    pub fn imported(&self, begin: u64, total: u64) -> Result<&Pieces, Refusal> {
        let Body::Partial(partial) = &self.body else {
            return Err(Refusal::of("ERR the filter is complete; import into a key that does not exist"));
        };
        let (have, of) = (partial.bytes.len(), partial.total);
        if begin != have || total != of {
            let text = format!("ERR the chunk does not follow: {have} bytes have been imported, of {of}");
            return Err(text.into());
        }
        Ok(&partial.bytes)
    }

    /// Adds the next bytes to a filter that is being imported. If they are refused, nothing has changed.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let appended = self.change(|body| match body {
            Body::Partial(partial) => partial.bytes.append(bytes),
            _ => None,
        });
        appended.ok_or(Refusal::of("ERR Insufficient memory"))
    }

    /// Writes these bytes, or as much of them as there is, to something that does not fail.
    pub(super) fn write(&self, out: &mut dyn Write) {
        let written = match &self.body {
            Body::Filter(filter) => filter.write_to(out).is_ok(),
            Body::Window(window) => window.to_bytes().is_ok_and(|bytes| out.write_all(&bytes).is_ok()),
            Body::Partial(partial) => partial.bytes.iter().all(|piece| out.write_all(piece).is_ok()),
        };
        debug_assert!(written, "streams of the server keep their errors to themselves");
    }

    /// The filter or window that bytes hold, which are freed while it is read. All of them are verified.
    pub fn from_all(bytes: Pieces) -> Result<Self, Error> {
        let length = bytes.len();
        // The form of what they hold is among the first bytes.
        let first = bytes.iter().next().unwrap_or_default();
        let is_filter = !matches!(Filter::from_bytes(first), Err(Error::Form { .. }));
        let freed = bytes.memory().cast_signed();
        let mut value = Self::made(|| {
            let mut from = bytes.into_read();
            Ok::<_, Error>(if is_filter {
                Body::Filter(Filter::read_sized(&mut from, length)?)
            } else {
                Body::Window(Generations::read_sized(&mut from, length)?)
            })
        })?;
        // What was freed meanwhile was none of it.
        value.allocated += freed;
        Ok(value)
    }

    /// The filter or window that bytes hold, in pieces and a last one. All of them are verified.
    pub fn from_pieces(pieces: &Pieces, last: &[u8]) -> Result<Self, Error> {
        let length = pieces.len() + last.len() as u64;
        Self::made(|| match Filter::read_sized(pieces.followed_by(last), length) {
            Ok(filter) => Ok(Body::Filter(filter)),
            // If the bytes are those of a window, damaged or not, the second attempt knows.
            Err(error) => match Generations::read_sized(pieces.followed_by(last), length) {
                Ok(window) => Ok(Body::Window(window)),
                Err(Error::Form { .. }) => Err(error),
                Err(other) => Err(other),
            },
        })
    }
}

/// Which of several keys are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// Those that are not found.
    New,
}

/// Whether bytes begin like those of a filter.
#[must_use]
pub fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89malkoha")
}

/// What became of a key.
type Outcome = Result<Inserted, Full>;

/// Does the same with each key.
fn each(keys: &[KeyHash], outcomes: &mut [Outcome], mut act: impl FnMut(&KeyHash) -> Outcome) {
    for (key, outcome) in keys.iter().zip(outcomes) {
        *outcome = act(key);
    }
}

/// Stores all keys that have room.
fn insert_all(filter: &mut Filter, keys: &[KeyHash], outcomes: &mut [Outcome]) {
    if let [key] = keys {
        // What a slice prepares takes longer than one key.
        outcomes[0] = filter.insert(key).map(|()| Inserted::Stored);
        return;
    }
    let mut tried = 0;
    while let Err(refused) = filter.insert_slice(&keys[tried..]) {
        tried += refused.first() + 1;
        outcomes[tried - 1] = Err(Full);
    }
}

/// Stores all keys that are not found and have room.
fn insert_new(filter: &mut Filter, keys: &[KeyHash], outcomes: &mut [Outcome]) {
    if let [key] = keys {
        outcomes[0] = filter.insert_unique(key);
        return;
    }
    let of_slice = filter.insert_unique_slice(keys);
    outcomes.copy_from_slice(&of_slice);
    // After the first key without room a slice is only looked up, but others may still have room.
    let first = of_slice.iter().position(Result::is_err).unwrap_or(keys.len());
    for (outcome, key) in outcomes.iter_mut().zip(keys).skip(first) {
        if outcome.is_err() {
            *outcome = filter.insert_unique(key);
        }
    }
}
