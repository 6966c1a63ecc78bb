//! Making cuckoo filters.

use super::{KEY, must_be_missing};
use crate::commands::parse::{self, count, is, number, option};
use crate::redisbloom::Refused;
use crate::redisbloom::cuckoo::{Cuckoo, Shape};
use crate::server::{Arguments, Call, KeyMut, Refusal, Reply};
use crate::settings::{
    CF_BUCKET_SIZE, CF_ERROR_RATE, CF_EXPANSION_FACTOR, CF_INITIAL_SIZE, CF_MAX_ITERATIONS, MOST_CAPACITY,
    SEED,
};
use crate::values::cuckoo::CuckooValue;
use crate::values::engine::EngineValue;
use crate::values::plan::Plan;

/// What a filter is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wish {
    /// One in RedisBloom's layout, for so many keys.
    Cuckoo(u64, Shape),
    /// One of the engine.
    Engine(Plan),
}

impl Wish {
    /// What the settings say about filters that are made on the way, for so many keys if that was said.
    pub(super) fn by_settings(capacity: Option<u64>) -> Self {
        let capacity = capacity.unwrap_or_else(|| CF_INITIAL_SIZE.count());
        match CF_ERROR_RATE.get() {
            0.0 => Self::Cuckoo(capacity, default_shape()),
            rate => Self::Engine(plan(capacity, rate, CF_EXPANSION_FACTOR.get() != 0)),
        }
    }

    /// Makes the filter, beside the server if that takes long. The key is empty.
    pub(super) fn make(&self, call: &mut Call, arguments: &Arguments<'_>) -> Result<Made, Refusal> {
        match self {
            Self::Cuckoo(capacity, shape) => {
                if call.can_never_hold(Cuckoo::first_bytes(*capacity, *shape)) {
                    return Err(INSUFFICIENT);
                }
                let filter = Cuckoo::new(*capacity, *shape).map_err(|refused| match refused {
                    Refused::Memory => INSUFFICIENT,
                    _ => Refusal::of("ERR Could not create filter"),
                })?;
                Ok(Made::Cuckoo(CuckooValue::from(filter)))
            }
            Self::Engine(plan) => {
                make_engine(call, arguments, plan).map(|filter| Made::Engine(Box::new(filter)))
            }
        }
    }

    /// The arguments of the `CF.RESERVE` that makes the same filter under any settings.
    pub(super) fn arguments(&self) -> Vec<String> {
        let words = |pairs: &[(&str, String)], capacity: u64| {
            let mut words = vec![capacity.to_string()];
            words.extend(pairs.iter().flat_map(|(name, value)| [(*name).to_owned(), value.clone()]));
            words
        };
        match self {
            Self::Cuckoo(capacity, shape) => words(
                &[
                    ("BUCKETSIZE", shape.bucket_size.to_string()),
                    ("MAXITERATIONS", shape.max_iterations.to_string()),
                    ("EXPANSION", shape.expansion.to_string()),
                    ("ERROR", "0".to_owned()),
                ],
                *capacity,
            ),
            Self::Engine(plan) => words(
                &[
                    ("ERROR", plan.rate.to_string()),
                    ("EXPANSION", u8::from(plan.grows).to_string()),
                    ("SEED", plan.seed.to_string()),
                ],
                plan.capacity,
            ),
        }
    }
}

const INSUFFICIENT: Refusal = Refusal::of("ERR Insufficient memory to create filter");

/// A filter that was made.
pub(super) enum Made {
    /// In RedisBloom's layout.
    Cuckoo(CuckooValue),
    /// Of the engine.
    Engine(Box<EngineValue>),
}

impl Made {
    /// Puts it at a key.
    pub(super) fn put(self, key: &mut KeyMut<'_>) {
        match self {
            Self::Cuckoo(filter) => key.put(filter),
            Self::Engine(filter) => key.put(*filter),
        }
    }
}

/// Makes a filter of the engine, beside the server if that takes long. The key is empty.
pub(in crate::commands) fn make_engine(
    call: &mut Call,
    arguments: &Arguments<'_>,
    plan: &Plan,
) -> Result<EngineValue, Refusal> {
    if call.can_never_hold(plan.bytes()?) {
        return Err(INSUFFICIENT);
    }
    if plan.takes_long() {
        return Ok(call.beside(arguments, &[KEY], usize::MAX, |_: &[&EngineValue]| plan.build())??);
    }
    Ok(plan.build()?)
}

fn default_shape() -> Shape {
    Shape {
        bucket_size: CF_BUCKET_SIZE.small(),
        max_iterations: CF_MAX_ITERATIONS.small(),
        expansion: Shape::round_expansion(CF_EXPANSION_FACTOR.small()),
    }
}

fn plan(capacity: u64, rate: f64, grows: bool) -> Plan {
    Plan { capacity, rate, grows, value_bits: 0, window: None, seed: SEED.count() }
}

/// `CF.RESERVE key capacity [BUCKETSIZE b] [MAXITERATIONS i] [EXPANSION e] [ERROR rate [SEED s]]`
pub(super) fn reserve(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    if arguments.len().is_multiple_of(2) {
        return Err(Refusal::Arity);
    }
    let wish = read_wish(&arguments)?;
    must_be_missing(&call.read(&arguments, KEY))?;
    wish.make(call, &arguments)?.put(&mut call.write(&arguments, KEY)?);
    replicate(call, &arguments, &wish);
    call.notify(c"cuckoo.reserve", &arguments, KEY);
    Ok(Reply::Ok)
}

/// Tells replicas to make the same filter, whatever their settings are.
pub(super) fn replicate(call: &Call, arguments: &Arguments<'_>, wish: &Wish) {
    let words = wish.arguments();
    let mut all = vec![arguments.get(KEY)];
    all.extend(words.iter().map(String::as_bytes));
    call.replicate_as(c"CF.RESERVE", &all);
}

fn read_wish(arguments: &Arguments<'_>) -> Result<Wish, Refusal> {
    let capacity = parse::integer(arguments.get(2)).ok_or(Refusal::of("Bad capacity"))?;
    let mut shape = default_shape();
    let (mut expansion, mut error, mut seed, mut shaped) = (None, None, None, false);
    for index in (3..arguments.len()).step_by(2) {
        let (name, value) = (arguments.get(index), arguments.get(index + 1));
        if is(name, "BUCKETSIZE") {
            shape.bucket_size = option("BUCKETSIZE", value, (1, 255))?;
            shaped = true;
        } else if is(name, "MAXITERATIONS") {
            shape.max_iterations = option("MAXITERATIONS", value, (1, 65535))?;
            shaped = true;
        } else if is(name, "EXPANSION") {
            expansion = Some(option("EXPANSION", value, (0, 32768))?);
        } else if is(name, "ERROR") {
            error = Some(number(value).filter(|rate| (0.0..1.0).contains(rate)).ok_or(BAD_RATE)?);
        } else if is(name, "SEED") {
            seed =
                Some(count(value).ok_or(Refusal::of("ERR SEED: a number from 0 to 2^63 - 1 is expected"))?);
        } else {
            return Err(parse::unknown(name));
        }
    }
    shape.expansion = expansion.map_or(shape.expansion, Shape::round_expansion);
    // ERROR 0 says RedisBloom's layout even where another rate is the default. Its own options say so too.
    let rate = error.unwrap_or(if shaped { 0.0 } else { CF_ERROR_RATE.get() });
    if rate > 0.0 {
        if shaped {
            return Err(Refusal::of(
                "ERR BUCKETSIZE and MAXITERATIONS follow from ERROR; give one or the other",
            ));
        }
        let capacity = u64::try_from(capacity).ok().filter(|capacity| *capacity > 0);
        let capacity = capacity.ok_or(Refusal::of("ERR capacity must be at least 1"))?;
        let grows = expansion.map_or(CF_EXPANSION_FACTOR.get() != 0, |expansion| expansion != 0);
        let plan = plan(capacity, rate, grows);
        return Ok(Wish::Engine(Plan { seed: seed.unwrap_or(plan.seed), ..plan }));
    }
    if seed.is_some() {
        return Err(Refusal::of("ERR SEED belongs to filters with ERROR"));
    }
    if !(2 * i64::from(shape.bucket_size)..=MOST_CAPACITY).contains(&capacity) {
        return Err(Refusal::of("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"));
    }
    Ok(Wish::Cuckoo(capacity.unsigned_abs(), shape))
}

const BAD_RATE: Refusal =
    Refusal::of("ERR ERROR: a rate above 0 and below 1 is expected, or 0 for RedisBloom's layout");
