//! What filters of the engine are made with.

use malkoha::{Error, Generations, KeyFormat, Spec};

use super::engine::{Body, EngineValue};

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

    /// Whether making the filter takes more than some milliseconds: a filter that grows writes to all of its memory at
    /// once, in about a millisecond for a million keys. Others get memory of zeros.
    #[must_use]
    pub fn takes_long(&self) -> bool {
        self.grows && self.capacity >= 2_000_000
    }

    /// The empty filter.
    pub fn build(&self) -> Result<EngineValue, Error> {
        EngineValue::made(|| self.body())
    }

    fn body(&self) -> Result<Body, Error> {
        let spec = self.spec();
        Ok(match self.window {
            None => Body::Filter(spec.build()?),
            Some(Window::Keys(_)) => Body::Window(Generations::of_keys(&spec, GENERATIONS)?),
            Some(Window::Seconds(seconds)) => {
                let most = u32::try_from(seconds.saturating_add(1)).unwrap_or(u32::MAX);
                Body::Window(Generations::of_ticks(&spec, GENERATIONS.min(most).max(2), seconds)?)
            }
        })
    }
}
