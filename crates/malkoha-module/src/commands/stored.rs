//! What commands that store have in common: windows are told the time, and what became of items is counted, and told to
//! replicas and subscribers.

use core::ffi::CStr;
use std::sync::atomic::Ordering;

use malkoha::{Full, Inserted};

use crate::metrics;
use crate::redisbloom::Refused;
use crate::server::{Arguments, Call, KeyMut};
use crate::values::engine::{Body, EngineValue};
use crate::values::transfer::HAS_MK;

/// The key of all these commands.
const KEY: usize = 1;

/// Tells a window of seconds the time, before items are stored, and replicas too. A command that repeats what was done
/// elsewhere has had the time before it. Without `MK.*` there is no command that says the time: then everybody goes by
/// their own clock.
pub(super) fn tell_time(key: &mut KeyMut<'_>, arguments: &Arguments<'_>) {
    let by_clock =
        |filter: &EngineValue| matches!(filter.body(), Body::Window(window) if window.ticks().is_some());
    let has_advance = HAS_MK.load(Ordering::Relaxed);
    if !key.value().is_some_and(by_clock) || has_advance && key.call().is_repeated() {
        return;
    }
    let now = key.call().milliseconds() / 1000;
    let advanced = key.value_mut().is_some_and(|filter: &mut EngineValue| filter.advance(now));
    if advanced {
        key.call().signal(arguments, KEY);
    }
    if advanced && has_advance {
        key.call().replicate_as(c"MK.ADVANCE", &[arguments.get(KEY), now.to_string().as_bytes()]);
    }
}

/// What became of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Stored,
    /// Found, and therefore not stored.
    Seen,
    /// There is no room, and the filter must not grow.
    Full,
    /// There is no memory.
    Memory,
}

impl Outcome {
    pub(super) fn is_refused(self) -> bool {
        matches!(self, Self::Full | Self::Memory)
    }
}

/// Of filters of the engine.
impl From<Result<Inserted, Full>> for Outcome {
    fn from(inserted: Result<Inserted, Full>) -> Self {
        match inserted {
            Ok(Inserted::Stored) => Self::Stored,
            Ok(Inserted::Seen) => Self::Seen,
            Err(Full) => Self::Full,
        }
    }
}

/// Of filters in RedisBloom's layout.
impl From<Result<bool, Refused>> for Outcome {
    fn from(stored: Result<bool, Refused>) -> Self {
        match stored {
            Ok(true) => Self::Stored,
            Ok(false) => Self::Seen,
            Err(Refused::Full) => Self::Full,
            Err(Refused::Memory | Refused::TooLarge) => Self::Memory,
        }
    }
}

/// How others are told.
pub(super) struct Telling {
    /// The command that stores the same items elsewhere.
    pub(super) command: &'static CStr,
    /// What it has between the key and the items.
    pub(super) words: &'static [&'static [u8]],
    pub(super) event: &'static CStr,
}

/// Counts what became of items. Replicas get the command if it has stored anything: as it is, or without items that had
/// no room here, where there may be more memory.
pub(super) fn tell(
    call: &Call,
    arguments: &Arguments<'_>,
    items: &Arguments<'_>,
    outcomes: &[Outcome],
    telling: &Telling,
) {
    let stored = outcomes.iter().filter(|outcome| **outcome == Outcome::Stored).count();
    let refused = outcomes.iter().filter(|outcome| outcome.is_refused()).count();
    metrics::STORED.add(stored);
    metrics::REFUSED.add(refused);
    if stored == 0 {
        return;
    }
    if refused == 0 {
        call.replicate();
    } else {
        let kept = items.iter().zip(outcomes).filter(|(_, outcome)| **outcome == Outcome::Stored);
        let mut all = vec![arguments.get(KEY)];
        all.extend(telling.words);
        all.extend(kept.map(|(item, _)| item));
        call.replicate_as(telling.command, &all);
    }
    call.notify(telling.event, arguments, KEY);
}
