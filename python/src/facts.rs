//! Facts about filters, for attributes, texts and pictures.

use malkoha::{Filter, Geometry, Mapped, Sharded, Stats};
use pyo3::prelude::*;

/// What a filter was planned as.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: String,
    pub(crate) keys: u64,
    pub(crate) rate: f64,
    pub(crate) key_format: String,
    pub(crate) capacity: u64,
    pub(crate) growing: bool,
    pub(crate) shards: Option<u32>,
    pub(crate) value_bits: u32,
}

impl From<&Geometry> for Facts {
    fn from(geometry: &Geometry) -> Self {
        Self {
            kind: geometry.kind().to_string(),
            keys: geometry.keys(),
            rate: geometry.rate(),
            key_format: geometry.key_format().to_string(),
            capacity: geometry.capacity(),
            growing: geometry.is_growing(),
            shards: None,
            value_bits: geometry.value_bits(),
        }
    }
}

/// A filter of the engine that tells what it is.
pub(crate) trait Described {
    fn facts(&self) -> Facts;
}

impl Described for Filter {
    fn facts(&self) -> Facts {
        self.geometry().into()
    }
}

impl Described for Mapped {
    fn facts(&self) -> Facts {
        self.geometry().into()
    }
}

impl Described for Sharded {
    fn facts(&self) -> Facts {
        let whole = self.geometry();
        Facts {
            keys: whole.keys(),
            rate: whole.rate(),
            capacity: whole.capacity(),
            shards: Some(whole.shards()),
            ..Facts::from(whole.shard())
        }
    }
}

/// Facts about a filter at one moment, from ``stats()``.
///
/// >>> import malkoha
/// >>> birds = malkoha.Filter(1000, 0.01)
/// >>> birds.update(["cuckoo", "koel"])
/// >>> birds.stats().items
/// 2
#[pyclass(name = "Stats", module = "malkoha", frozen)]
pub(crate) struct PyStats {
    /// The number of stored copies of keys.
    #[pyo3(get)]
    items: u64,
    /// Slots; for Bloom kinds, bits.
    #[pyo3(get)]
    slots: u64,
    /// Occupied slots over slots; for Bloom kinds, set bits over bits.
    #[pyo3(get)]
    load: f64,
    /// The load that inserts cannot exceed; 1 for Bloom kinds.
    #[pyo3(get)]
    threshold: f64,
    /// Bytes of memory.
    #[pyo3(get)]
    memory_bytes: u64,
    /// Keys kept outside the table.
    #[pyo3(get)]
    stash_size: u64,
    /// Inserts refused since the filter was made.
    #[pyo3(get)]
    insert_failures: u64,
    /// The mean number of steps per insert that had to move other keys.
    #[pyo3(get)]
    steps_mean: f64,
    /// Steps of the longest such insert.
    #[pyo3(get)]
    steps_max: u64,
    /// The promised rate of false positives for the planned keys.
    #[pyo3(get)]
    promised_rate: f64,
    /// The rate that theory predicts for the keys stored now.
    #[pyo3(get)]
    predicted_rate: f64,
    /// Keys that can still be stored reliably.
    #[pyo3(get)]
    head_room: u64,
    /// ``"room"``, ``"nearly full"`` or ``"full"``.
    #[pyo3(get)]
    level: String,
    /// Whether the filter takes more memory when no head-room is left.
    #[pyo3(get)]
    grows: bool,
    text: String,
}

#[pymethods]
impl PyStats {
    fn __repr__(&self) -> &str {
        &self.text
    }
}

impl From<Stats> for PyStats {
    fn from(stats: Stats) -> Self {
        Self {
            text: stats.to_string(),
            items: stats.items,
            slots: stats.slots,
            load: stats.load,
            threshold: stats.threshold,
            memory_bytes: stats.memory_bytes,
            stash_size: stats.stash_size,
            insert_failures: stats.insert_failures,
            steps_mean: stats.steps_mean,
            steps_max: stats.steps_max,
            promised_rate: stats.promised_rate,
            predicted_rate: stats.predicted_rate,
            head_room: stats.head_room,
            level: stats.level.to_string(),
            grows: stats.grows,
        }
    }
}
