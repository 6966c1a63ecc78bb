//! Facts about filters of the engine, for `CF.STATS` and `MK.INFO`.

use crate::server::{Arguments, Call, Refusal, Reply};
use crate::values::engine::{Body, EngineValue};

/// Looks at a filter of the engine, which the command has seen, as long as counting its bits takes.
pub(super) fn look<R>(
    call: &mut Call,
    arguments: &Arguments<'_>,
    key: usize,
    look: impl FnOnce(&EngineValue) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    let bytes = call.read(arguments, key).value().map_or(0, EngineValue::bytes_of_stats);
    call.beside(arguments, &[key], bytes, |filters| look(filters.first().ok_or(Refusal::WRONG_TYPE)?))?
}

/// Facts by name.
pub(super) fn engine(filter: &EngineValue) -> Result<Vec<(&'static str, Reply)>, Refusal> {
    let text = |text: String| Reply::Bytes(text.into_bytes());
    if let Body::Partial(partial) = filter.body() {
        return Ok(vec![
            ("layout", text("partial".to_owned())),
            ("bytes imported", partial.bytes.len().into()),
            ("bytes of all", partial.total.into()),
        ]);
    }
    let stats = filter.stats()?;
    let mut facts = vec![("layout", text("malkoha".to_owned()))];
    match filter.body() {
        Body::Filter(filter) => {
            let geometry = filter.geometry();
            facts.push(("kind", text(geometry.kind().to_string())));
            facts.push(("planned items", geometry.keys().into()));
            facts.push(("value bits", u64::from(geometry.value_bits()).into()));
            if !filter.labels().is_empty() {
                let labels = filter.labels().iter().map(|label| text(label.clone())).collect();
                facts.push(("labels of value bits", Reply::Array(labels)));
            }
            facts.push(("key format", text(geometry.key_format().to_string())));
            facts.push(("seed", text(geometry.seed().to_string())));
        }
        Body::Window(window) => {
            let (unit, length) = window.ticks().map_or(("items", window.keys()), |ticks| ("seconds", ticks));
            facts.push(("window", length.into()));
            facts.push(("window of", text(unit.to_owned())));
            facts.push(("generations", window.generations().len().into()));
            facts.push(("key format", text(window.key_format().to_string())));
            facts.push(("seed", text(window.hasher().seed().to_string())));
        }
        Body::Partial(_) => {}
    }
    facts.extend([
        ("items", stats.items.into()),
        ("slots", stats.slots.into()),
        ("load", Reply::Double(stats.load)),
        ("promised rate", Reply::Double(stats.promised_rate)),
        ("predicted rate", Reply::Double(stats.predicted_rate)),
        ("bytes", stats.memory_bytes.into()),
        ("grows", Reply::Bool(stats.grows)),
        ("head room", stats.head_room.into()),
        ("level", text(stats.level.to_string())),
        ("tables", stats.links.len().max(1).into()),
        ("refused", stats.insert_failures.into()),
    ]);
    Ok(facts)
}
