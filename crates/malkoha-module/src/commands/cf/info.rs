//! What a filter is, and compaction.

use malkoha::Spec;

use super::{Found, KEY, found, held};
use crate::commands::stats;
use crate::redisbloom::cuckoo::{Cuckoo, Effort};
use crate::server::{Arguments, Call, Refusal, Reply, Value};
use crate::values::cuckoo::CuckooValue;
use crate::values::engine::EngineValue;

/// The numbers of `CF.INFO`, in RedisBloom's order.
struct Info {
    size: u64,
    buckets: u64,
    filters: u64,
    items: u64,
    deletes: u64,
    bucket_size: u64,
    expansion: u64,
    max_iterations: u64,
}

impl Info {
    /// RedisBloom says 40 bytes for a filter and 16 for each of its tables.
    fn of_cuckoo(filter: &Cuckoo) -> Self {
        let (tables, shape) = (filter.tables(), filter.shape());
        Self {
            size: 40 + tables.iter().map(|table| 16 + table.len() as u64).sum::<u64>(),
            buckets: filter.buckets(),
            filters: tables.len() as u64,
            items: filter.items(),
            deletes: filter.deletes(),
            bucket_size: shape.bucket_size.into(),
            expansion: shape.expansion.into(),
            max_iterations: shape.max_iterations.into(),
        }
    }

    /// A filter of the engine is one filter for its users, and what was removed has left room.
    fn of_engine(filter: &EngineValue) -> Result<Self, Refusal> {
        let stats = filter.stats()?;
        let layout = filter.filter().ok().and_then(|filter| filter.geometry().cuckoo());
        let bucket_size = layout.map_or(1, |layout| (layout.slots() / layout.places()).max(1));
        Ok(Self {
            size: stats.memory_bytes,
            buckets: stats.slots / bucket_size,
            filters: 1,
            items: stats.items,
            deletes: 0,
            bucket_size,
            expansion: u64::from(stats.grows),
            max_iterations: Spec::DEFAULT_MAX_STEPS.into(),
        })
    }

    fn of(call: &mut Call, arguments: &Arguments<'_>) -> Result<Self, Refusal> {
        match held(&call.read(arguments, KEY))? {
            Found::Cuckoo(filter) => return Ok(Self::of_cuckoo(filter)),
            Found::Engine(_) => {}
        }
        stats::look(call, arguments, KEY, Self::of_engine)
    }
}

/// `CF.INFO key`
pub(super) fn info(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(2)?;
    let info = Info::of(call, &arguments)?;
    Ok(Reply::Info(vec![
        ("Size", info.size.into()),
        ("Number of buckets", info.buckets.into()),
        ("Number of filters", info.filters.into()),
        ("Number of items inserted", info.items.into()),
        ("Number of items deleted", info.deletes.into()),
        ("Bucket size", info.bucket_size.into()),
        ("Expansion rate", info.expansion.into()),
        ("Max iterations", info.max_iterations.into()),
    ]))
}

/// `CF.DEBUG key`
pub(super) fn debug(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(2)?;
    let Info { buckets, filters, items, deletes, bucket_size, expansion, max_iterations, .. } =
        Info::of(call, &arguments)?;
    let text = format!(
        "bktsize:{bucket_size} buckets:{buckets} items:{items} deletes:{deletes} filters:{filters} \
         max_iterations:{max_iterations} expansion:{expansion}"
    );
    Ok(Reply::Bytes(text.into_bytes()))
}

/// `CF.STATS key`
pub(super) fn stats(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(2)?;
    match held(&call.read(&arguments, KEY))? {
        Found::Cuckoo(filter) => return Ok(Reply::Map(cuckoo_stats(filter))),
        Found::Engine(_) => {}
    }
    stats::look(call, &arguments, KEY, stats::engine).map(Reply::Map)
}

/// A key of a random other item is compared with the tags in two buckets of every table, each of 255 tags.
fn cuckoo_stats(filter: &Cuckoo) -> Vec<(&'static str, Reply)> {
    let tables = filter.tables();
    let slots: u64 = tables.iter().map(|table| table.len() as u64).sum();
    let places = |table: &[u8]| table.len() as f64 / f64::from(filter.shape().bucket_size);
    // As if the items were spread over all tables evenly.
    let load = filter.items() as f64 / slots as f64;
    let compared: f64 = tables.iter().map(|table| 2.0 * load * table.len() as f64 / places(table)).sum();
    vec![
        ("layout", Reply::Bytes(b"redisbloom".to_vec())),
        ("items", filter.items().into()),
        ("slots", slots.into()),
        ("load", Reply::Double(load)),
        ("predicted rate", Reply::Double(1.0 - (1.0 - 1.0 / 255.0f64).powf(compared))),
        ("bytes", slots.into()),
        ("grows", Reply::Bool(filter.shape().expansion != 0)),
    ]
}

/// `CF.COMPACT key`
pub(super) fn compact(call: &mut Call, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.exactly(2)?;
    let key = call.read(&arguments, KEY);
    match found(&key) {
        Some(Found::Cuckoo(filter)) => {
            let bytes = filter.memory();
            drop(key);
            call.change(&arguments, KEY, bytes, |filter: &mut CuckooValue| {
                filter.compact(Effort::All);
                Ok(())
            })?;
        }
        Some(Found::Engine(filter)) => {
            let bytes = filter.bytes();
            drop(key);
            call.change(&arguments, KEY, bytes, |filter: &mut EngineValue| {
                Ok(filter.change_filter(malkoha::Filter::compact)??)
            })?;
        }
        None => return Err(Refusal::of("Cuckoo filter was not found")),
    }
    call.replicate();
    call.notify(c"cuckoo.compact", &arguments, KEY);
    Ok(Reply::Ok)
}
