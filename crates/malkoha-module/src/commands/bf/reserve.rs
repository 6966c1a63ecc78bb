//! Making Bloom filters.

use super::{KEY, must_be_missing};
use crate::commands::parse::{integer, is, number, unknown};
use crate::redisbloom::Refused;
use crate::redisbloom::bloom::{Bloom, Link};
use crate::server::{Arguments, Call, KeyMut, Refusal, Reply};
use crate::settings::{BF_ERROR_RATE, BF_EXPANSION_FACTOR, BF_INITIAL_SIZE, MOST_CAPACITY, RATE_CAP};
use crate::values::bloom::BloomValue;

/// What a filter is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wish {
    pub(super) error: f64,
    pub(super) capacity: u64,
    /// 0: it does not grow.
    pub(super) expansion: u32,
}

impl Wish {
    /// What the settings say about filters that are made on the way.
    pub(super) fn by_settings() -> Self {
        Self {
            error: BF_ERROR_RATE.get(),
            capacity: BF_INITIAL_SIZE.count(),
            expansion: BF_EXPANSION_FACTOR.small().into(),
        }
    }

    /// Makes the filter at a key that is empty.
    pub(super) fn put(&self, key: &mut KeyMut<'_>) -> Result<(), Refusal> {
        const INSUFFICIENT: Refusal = Refusal::of("ERR Insufficient memory to create filter");
        const IMPOSSIBLE: Refusal = Refusal::of("ERR could not create filter");
        let link = Bloom::first_link(self.capacity, self.error, self.expansion);
        let bytes = link.as_ref().and_then(Link::bytes).ok_or(IMPOSSIBLE)?;
        if key.call().can_never_hold(bytes as u64) {
            return Err(INSUFFICIENT);
        }
        let filter =
            Bloom::new(self.capacity, self.error, self.expansion).map_err(|refused| match refused {
                Refused::Memory => INSUFFICIENT,
                _ => IMPOSSIBLE,
            })?;
        key.put(BloomValue::from(filter));
        Ok(())
    }

    /// Tells replicas to make the same filter, whatever their settings are.
    pub(super) fn replicate(&self, call: &Call, arguments: &Arguments<'_>) {
        let [error, capacity, expansion] =
            [self.error.to_string(), self.capacity.to_string(), self.expansion.to_string()];
        let key = arguments.get(KEY);
        let words = [key, error.as_bytes(), capacity.as_bytes(), b"EXPANSION", expansion.as_bytes()];
        call.replicate_as(c"BF.RESERVE", &words);
    }
}

/// What is said of a value that is no number, and of one out of range.
type Texts = [&'static str; 2];

const BAD_RATE: Texts = ["ERR bad error rate", "ERR error rate must be in the range (0.000000, 1.000000)"];
const BAD_CAPACITY: Texts = ["ERR bad capacity", "ERR capacity must be in the range [1, 1073741824]"];
const BAD_EXPANSION: Texts = ["ERR bad expansion", "ERR expansion must be in the range [0, 32768]"];

/// A rate, lowered to the cap.
pub(super) fn rate(text: &[u8], [bad, outside]: Texts) -> Result<f64, Refusal> {
    let rate = number(text).ok_or(Refusal::of(bad))?;
    if rate > 0.0 && rate < 1.0 { Ok(rate.min(RATE_CAP)) } else { Err(Refusal::of(outside)) }
}

/// A capacity.
pub(super) fn capacity(text: &[u8], [bad, outside]: Texts) -> Result<u64, Refusal> {
    let number = integer(text).ok_or(Refusal::of(bad))?;
    let is_inside = (1..=MOST_CAPACITY).contains(&number);
    if is_inside { Ok(number.unsigned_abs()) } else { Err(Refusal::of(outside)) }
}

/// An expansion.
pub(super) fn expansion(text: &[u8], [bad, outside]: Texts) -> Result<u32, Refusal> {
    let number = integer(text).ok_or(Refusal::of(bad))?;
    let expansion = u32::try_from(number).ok().filter(|expansion| *expansion <= 32768);
    expansion.ok_or(Refusal::of(outside))
}

/// `BF.RESERVE key error capacity [EXPANSION e] [NONSCALING]`
pub(super) fn reserve(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    if !(4..=7).contains(&arguments.len()) {
        return Err(Refusal::Arity);
    }
    let error = rate(arguments.get(2), BAD_RATE)?;
    let capacity = capacity(arguments.get(3), BAD_CAPACITY)?;
    let (mut chosen, mut fixed) = (None, false);
    let mut index = 4;
    while index < arguments.len() {
        let name = arguments.get(index);
        if is(name, "NONSCALING") {
            fixed = true;
        } else if is(name, "EXPANSION") {
            index += 1;
            if index == arguments.len() {
                return Err(Refusal::of("ERR no expansion"));
            }
            chosen = Some(expansion(arguments.get(index), BAD_EXPANSION)?);
        } else {
            return Err(unknown(name));
        }
        index += 1;
    }
    let expansion = growth(chosen, fixed)?;
    let wish = Wish { error, capacity, expansion };
    let mut key = call.write(&arguments, KEY)?;
    must_be_missing(&key)?;
    wish.put(&mut key)?;
    drop(key);
    wish.replicate(call, &arguments);
    call.notify(c"bloom.reserve", &arguments, KEY);
    Ok(Reply::Ok)
}

/// The expansion that was chosen, if any, or that of the settings; 0 if the filter must not grow.
pub(super) fn growth(chosen: Option<u32>, fixed: bool) -> Result<u32, Refusal> {
    match (chosen, fixed) {
        (Some(chosen), true) if chosen > 0 => Err(Refusal::of("Nonscaling filters cannot expand")),
        (_, true) => Ok(0),
        (chosen, false) => Ok(chosen.unwrap_or_else(|| BF_EXPANSION_FACTOR.small().into())),
    }
}
