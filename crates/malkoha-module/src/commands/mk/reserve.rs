//! Making filters.

use super::KEY;
use crate::commands::cf::make_engine;
use crate::commands::parse::{self, count, is, number};
use crate::server::{Arguments, Call, Refusal, Reply};
use crate::settings::SEED;
use crate::values::engine::EngineValue;
use crate::values::plan::{Plan, Window};

/// The capacity that a filter begins with if none is said.
const DEFAULT_CAPACITY: u64 = 1000;

/// `MK.RESERVE key rate [CAPACITY n] [FIXED] [VALUES bits] [WINDOW KEYS|SECONDS n] [SEED s]`
pub(super) fn reserve(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.at_least(3)?;
    let plan = read_plan(&arguments)?;
    let key = call.read(&arguments, KEY);
    if !key.is_missing() {
        let is_filter = key.value::<EngineValue>().is_some();
        return Err(if is_filter { Refusal::of("ERR item exists") } else { Refusal::WRONG_TYPE });
    }
    drop(key);
    let filter = make_engine(call, &arguments, &plan)?;
    call.write(&arguments, KEY)?.put(filter);
    replicate(call, &arguments, &plan);
    call.notify(c"malkoha.reserve", &arguments, KEY);
    Ok(Reply::Ok)
}

/// Tells replicas to make the same filter, whatever their settings are.
fn replicate(call: &Call, arguments: &Arguments<'_>, plan: &Plan) {
    let mut words = vec![plan.rate.to_string(), "CAPACITY".to_owned(), plan.capacity.to_string()];
    if !plan.grows {
        words.push("FIXED".to_owned());
    }
    if plan.value_bits > 0 {
        words.extend(["VALUES".to_owned(), plan.value_bits.to_string()]);
    }
    if let Some(window) = plan.window {
        let (unit, length) = match window {
            Window::Keys(length) => ("KEYS", length),
            Window::Seconds(length) => ("SECONDS", length),
        };
        words.extend(["WINDOW".to_owned(), unit.to_owned(), length.to_string()]);
    }
    words.extend(["SEED".to_owned(), plan.seed.to_string()]);
    let mut all = vec![arguments.get(KEY)];
    all.extend(words.iter().map(String::as_bytes));
    call.replicate_as(c"MK.RESERVE", &all);
}

fn read_plan(arguments: &Arguments<'_>) -> Result<Plan, Refusal> {
    let rate = number(arguments.get(2)).filter(|rate| *rate > 0.0 && *rate < 1.0);
    let rate = rate.ok_or(Refusal::of("ERR rate: a number above 0 and below 1 is expected"))?;
    let (mut capacity, mut fixed, mut value_bits, mut window, mut seed) =
        (None, false, 0, None, SEED.count());
    let mut rest = arguments.from(3).iter();
    while let Some(name) = rest.next() {
        let mut value = |what: &str| {
            let value = rest.next().and_then(count);
            value.ok_or_else(|| Refusal::from(format!("ERR {what}: a whole number is expected")))
        };
        if is(name, "CAPACITY") {
            capacity = Some(value("CAPACITY")?);
        } else if is(name, "FIXED") {
            fixed = true;
        } else if is(name, "VALUES") {
            value_bits = u32::try_from(value("VALUES")?).unwrap_or(u32::MAX);
        } else if is(name, "SEED") {
            seed = value("SEED")?;
        } else if is(name, "WINDOW") {
            window = Some(read_window(rest.next(), rest.next())?);
        } else {
            return Err(parse::unknown(name));
        }
    }
    if window.is_some() && (fixed || value_bits > 0) {
        return Err(Refusal::of("ERR a WINDOW has no VALUES and is not FIXED"));
    }
    if fixed && capacity.is_none() {
        return Err(Refusal::of("ERR FIXED needs a CAPACITY"));
    }
    let capacity = match window {
        Some(Window::Keys(keys)) => keys,
        _ => capacity.unwrap_or(DEFAULT_CAPACITY),
    };
    Ok(Plan { capacity, rate, grows: !fixed, value_bits, window, seed })
}

fn read_window(unit: Option<&[u8]>, length: Option<&[u8]>) -> Result<Window, Refusal> {
    const EXPECTED: Refusal = Refusal::of("ERR WINDOW: KEYS or SECONDS and a number above 0 are expected");
    let (unit, length) = (unit.ok_or(EXPECTED)?, length.and_then(count).filter(|length| *length > 0));
    let length = length.ok_or(EXPECTED)?;
    if is(unit, "KEYS") {
        Ok(Window::Keys(length))
    } else if is(unit, "SECONDS") {
        Ok(Window::Seconds(length))
    } else {
        Err(EXPECTED)
    }
}
