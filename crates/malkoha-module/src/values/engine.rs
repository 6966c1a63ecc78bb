//! Filters of the engine: any rate, any capacity; they grow, merge, forget and carry values.

use core::cell::RefCell;
use core::ffi::CStr;
use std::io::{self, Write};

use malkoha::{Error, Filter, Full, Generations, Inserted, KeyFormat, KeyHash, KeyHasher, Spec, Stats};

use super::{items, transfer};
use crate::metrics::{self, Counted};
use crate::server::stream::{Digest, Reader, Rewriter, Unreadable, Writer};
use crate::server::{Refusal, Value};

/// A filter of the engine that a key holds.
pub struct EngineValue {
    body: Body,
    /// The second in which the window was last told the time by a command of this server.
    told: u64,
    /// The bytes that are being exported, as they were when the export began.
    export: RefCell<Option<Vec<u8>>>,
    _counted: Counted,
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
    pub bytes: Vec<u8>,
    /// How many bytes there will be; 0 if the last chunk will be marked instead.
    pub total: u64,
}

/// What a filter is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The keys that it is planned for.
    pub capacity: u64,
    /// The rate that is promised.
    pub rate: f64,
    /// Whether it takes more keys than planned.
    pub grows: bool,
    /// Bits of a value beside each key, or 0.
    pub value_bits: u32,
    /// The length of a sliding window, if it is one.
    pub window: Option<Window>,
    /// The seed of the hashes.
    pub seed: u64,
}

/// The length of a sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The last so many keys.
    Keys(u64),
    /// The last so many seconds.
    Seconds(u64),
}

/// The generations of a sliding window: a quarter more keys than asked for are kept at most.
const GENERATIONS: u32 = 5;

impl Plan {
    fn spec(&self) -> Spec {
        let mut spec = Spec::new(self.capacity, self.rate).seed(self.seed).key_format(KeyFormat::Bytes);
        if self.grows {
            spec = spec.growing();
        }
        if self.value_bits > 0 {
            spec = spec.values(self.value_bits);
        }
        spec
    }

    /// The bytes of the empty filter.
    pub fn bytes(&self) -> Result<u64, Error> {
        Ok(self.spec().plan()?.bytes())
    }

    /// The empty filter.
    pub fn build(&self) -> Result<EngineValue, Error> {
        let spec = self.spec();
        Ok(match self.window {
            None => Body::Filter(spec.build()?),
            Some(Window::Keys(_)) => Body::Window(Generations::of_keys(&spec, GENERATIONS)?),
            Some(Window::Seconds(seconds)) => {
                let most = u32::try_from(seconds.saturating_add(1)).unwrap_or(u32::MAX);
                Body::Window(Generations::of_ticks(&spec, GENERATIONS.min(most).max(2), seconds)?)
            }
        }
        .into())
    }
}

impl From<Body> for EngineValue {
    fn from(body: Body) -> Self {
        Self { body, told: 0, export: RefCell::new(None), _counted: Counted::new(&metrics::ENGINE) }
    }
}

/// A filter that is only partly there answers nothing.
const PARTIAL: Refusal = Refusal::of("ERR the filter is still being imported");
/// What sliding windows cannot do.
const WINDOW: Refusal = Refusal::of("ERR a sliding window forgets by itself; it cannot do this");

impl EngineValue {
    /// What it is.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// What it is, to be changed.
    pub fn body_mut(&mut self) -> &mut Body {
        &mut self.body
    }

    /// The filter, unless it is something else.
    pub fn filter(&self) -> Result<&Filter, Refusal> {
        match &self.body {
            Body::Filter(filter) => Ok(filter),
            Body::Window(_) => Err(WINDOW),
            Body::Partial(_) => Err(PARTIAL),
        }
    }

    /// The filter, to be changed.
    pub fn filter_mut(&mut self) -> Result<&mut Filter, Refusal> {
        match &mut self.body {
            Body::Filter(filter) => Ok(filter),
            Body::Window(_) => Err(WINDOW),
            Body::Partial(_) => Err(PARTIAL),
        }
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

    /// Stores one copy of a key.
    pub fn insert(&mut self, key: KeyHash) -> Result<Result<(), Full>, Refusal> {
        match &mut self.body {
            Body::Filter(filter) => Ok(filter.insert(&key)),
            Body::Window(window) => Ok(window.insert(&key)),
            Body::Partial(_) => Err(PARTIAL),
        }
    }

    /// Stores a key unless it is found.
    pub fn insert_unique(&mut self, key: KeyHash) -> Result<Result<Inserted, Full>, Refusal> {
        match &mut self.body {
            Body::Filter(filter) => Ok(filter.insert_unique(&key)),
            Body::Window(window) => Ok(window.insert_unique(&key)),
            Body::Partial(_) => Err(PARTIAL),
        }
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
        match &mut self.body {
            Body::Window(window) if window.ticks().is_some() && second > self.told => {
                window.advance(second);
                self.told = second;
                true
            }
            _ => false,
        }
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

    /// The chunk of an export that begins at byte `offset`, and the number of bytes of the whole. At 0 the filter is
    /// written down as it is now; the following chunks are of that, whatever happens to the filter. `None` if the offset
    /// is no begin of a chunk of it.
    pub fn export(&self, offset: u64) -> Result<Option<(Vec<u8>, u64)>, Refusal> {
        let mut export = self.export.borrow_mut();
        if offset == 0 {
            *export = None;
            *export = Some(self.to_bytes()?);
        }
        let Some(bytes) = &*export else { return Ok(None) };
        let total = bytes.len() as u64;
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
        if rest.is_empty() {
            return Ok(None);
        }
        let chunk = rest[..rest.len().min(transfer::CHUNK_BYTES)].to_vec();
        if chunk.len() == rest.len() {
            *export = None;
        }
        Ok(Some((chunk, total)))
    }

    /// Adds the next bytes to a filter that is being imported, which begin at byte `begin` of it. After the last ones it
    /// is verified as a whole, and served from then on. If anything is refused, nothing has changed.
    pub fn import(&mut self, begin: u64, bytes: &[u8], total: u64, last: bool) -> Result<(), Refusal> {
        let Body::Partial(partial) = &mut self.body else {
            return Err(Refusal::of("ERR the filter is complete; import into a key that does not exist"));
        };
        if begin != partial.bytes.len() as u64 || total != partial.total {
            return Err(format!(
                "ERR the chunk does not follow: {} bytes of {} have been imported",
                partial.bytes.len(),
                if partial.total == 0 { "the filter".to_owned() } else { partial.total.to_string() }
            )
            .into());
        }
        let memory = Refusal::of("ERR Insufficient memory");
        partial.bytes.try_reserve(bytes.len()).map_err(|_| memory)?;
        partial.bytes.extend_from_slice(bytes);
        if last {
            match Self::from_bytes(&partial.bytes) {
                Ok(whole) => *self = whole,
                Err(error) => {
                    partial.bytes.truncate(partial.bytes.len() - bytes.len());
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Writes these bytes, or as much of them as there is, to something that does not fail.
    fn write(&self, out: &mut dyn Write) {
        let written = match &self.body {
            Body::Filter(filter) => filter.write_to(out).is_ok(),
            Body::Window(window) => window.to_bytes().is_ok_and(|bytes| out.write_all(&bytes).is_ok()),
            Body::Partial(partial) => out.write_all(&partial.bytes).is_ok(),
        };
        debug_assert!(written, "streams of the server keep their errors to themselves");
    }

    /// The filter or window that bytes hold, all of which are verified.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        match Filter::from_bytes(bytes) {
            Ok(filter) => Ok(Body::Filter(filter).into()),
            // Which of the two errors says more depends on what the bytes are; damage of a window is told by the second.
            Err(error) => match Generations::from_bytes(bytes) {
                Ok(window) => Ok(Body::Window(window).into()),
                Err(Error::Form { .. }) => Err(error),
                Err(other) => Err(other),
            },
        }
    }
}

/// Whether bytes begin like those of a filter.
#[must_use]
pub fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89malkoha")
}

/// Numbers in files: which body follows.
mod kind {
    pub(super) const WHOLE: u64 = 1;
    pub(super) const PARTIAL: u64 = 2;
}

/// Writes bytes as strings of at most [`transfer::CHUNK_BYTES`].
struct Chunks<'a>(&'a mut Writer);

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bytes.chunks(transfer::CHUNK_BYTES).for_each(|chunk| self.0.bytes(chunk));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts bytes.
struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Value for EngineValue {
    const NAME: &'static CStr = c"mk-filter";
    const VERSION: i32 = 1;
    crate::registered!();

    fn save(&self, to: &mut Writer) {
        let (kind, total) = match &self.body {
            Body::Partial(partial) => (kind::PARTIAL, partial.total),
            _ => (kind::WHOLE, 0),
        };
        to.number(kind);
        to.number(total);
        self.write(&mut Chunks(to));
        // An empty string ends the chunks.
        to.bytes(&[]);
    }

    fn load(from: &mut Reader, version: i32) -> Result<Self, Unreadable> {
        if version != Self::VERSION {
            return Err(format!("version {version} of mk-filter is newer than this module").into());
        }
        let (kind, total) = (from.number()?, from.number()?);
        let mut bytes = Vec::new();
        loop {
            let chunk = from.bytes()?;
            if chunk.is_empty() {
                break;
            }
            bytes
                .try_reserve(chunk.len())
                .map_err(|_| Unreadable::from("there is no memory for the filter"))?;
            bytes.extend_from_slice(&chunk);
        }
        match kind {
            kind::WHOLE => Self::from_bytes(&bytes).map_err(|error| error.to_string().into()),
            kind::PARTIAL => Ok(Body::Partial(Partial { bytes, total }).into()),
            _ => Err("a value of a type that a newer module has written".into()),
        }
    }

    fn rewrite(&self, to: &mut Rewriter) {
        let total = match &self.body {
            Body::Partial(partial) => partial.total,
            _ => {
                let mut counted = Counting(0);
                self.write(&mut counted);
                counted.0
            }
        };
        let mut chunks = transfer::Emitter::new(to, total);
        self.write(&mut chunks);
        chunks.end();
    }

    fn memory(&self) -> usize {
        let bytes = match &self.body {
            Body::Partial(partial) => partial.bytes.capacity() as u64,
            _ => self.stats().map_or(0, |stats| stats.memory_bytes),
        };
        let export = self.export.borrow().as_ref().map_or(0, Vec::capacity);
        usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(export)
    }

    fn copy(&self) -> Option<Self> {
        let body = match &self.body {
            Body::Filter(filter) => Body::Filter(filter.clone()),
            Body::Window(window) => Body::Window(window.clone()),
            Body::Partial(Partial { bytes, total }) => Body::Partial(Partial {
                bytes: crate::server::memory::copy(bytes)?.into_vec(),
                total: *total,
            }),
        };
        Some(Self { told: self.told, ..body.into() })
    }

    fn digest(&self, to: &mut Digest) {
        match &self.body {
            Body::Partial(partial) => to.add(&partial.bytes),
            _ => {
                if let Ok(bytes) = self.to_bytes() {
                    to.add(&bytes);
                }
            }
        }
    }
}
